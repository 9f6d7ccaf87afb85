#include <surety/optimizers/empirical_risk/column_ranges.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <surety/accounting/events/event_kinds.h>
#include <surety/testing/releaser.h>

namespace surety::optimizers::column_ranges_test {
namespace {

/// Rows of numbers with the constant 1 behind them; a row without numbers is that of a damaged record.
Dataset data_of(const std::vector<std::vector<double>>& rows, std::size_t columns) {
  std::vector<double> values;
  for (const auto& row : rows) {
    values.insert(values.end(), row.begin(), row.end());
    values.resize(values.size() + columns - row.size(), 0.0);
    values.push_back(row.empty() ? 0 : 1);
  }
  return Dataset::dense(columns + 1, values, std::vector<double>(rows.size(), 0.0));
}

RangeOptions options_of(std::size_t columns, double count, Adjacency adjacency, double noise = 1) {
  RangeOptions options{.columns = {}, .adjacency = adjacency, .noise_multiplier = NoiseMultiplier{noise}, .count = count};
  for (std::size_t k = 0; k < columns; ++k) options.columns.push_back(k);
  return options;
}

std::vector<double> column_of(std::size_t count, std::uint64_t seed, double (*made)(double)) {
  std::mt19937_64 random{seed};
  std::normal_distribution<double> normal;
  std::vector<double> column(count);
  for (double& value : column) value = made(normal(random));
  return column;
}

/// With an exact releaser the shares outside of a range are those of the rank, but for records within one step of the resolution.
TEST(ColumnRanges, LieAtTheQuantilesOfEveryScale) {
  constexpr std::size_t count = 2000;
  const std::vector<std::vector<double>> columns{
      column_of(count, 1, [](double z) { return std::round(1990 + 6 * z); }),
      column_of(count, 2, [](double z) { return std::exp(10 + z); }),
      column_of(count, 3, [](double z) { return std::ldexp(z, -40); }),
      column_of(count, 4, [](double z) { return std::ldexp(z, 40); }),
      column_of(count, 5, [](double z) { return z > 1 ? 1.0 : 0.0; }),
      column_of(count, 6, [](double) { return -7.0; }),
      column_of(count, 7, [](double z) { return -std::exp(z); }),
  };
  std::vector<std::vector<double>> rows(count);
  for (const auto& column : columns) {
    for (std::size_t i = 0; i < count; ++i) rows[i].push_back(column[i]);
  }
  rows.resize(count + 100);  // damaged records count nowhere
  const auto options = options_of(columns.size(), count, Adjacency::replace_one);
  testing::ExactReleaser exact;
  const auto ranges = release_ranges(data_of(rows, columns.size()), options, exact);
  const double rank = range_rank(options) * count;
  EXPECT_NEAR(rank, 0.06 * count, 1e-9);
  for (std::size_t k = 0; k < columns.size(); ++k) {
    auto sorted = columns[k];
    std::sort(sorted.begin(), sorted.end());
    const auto [lower, upper] = ranges[k];
    ASSERT_LT(lower, upper) << k;
    const auto below = static_cast<double>(std::lower_bound(sorted.begin(), sorted.end(), lower) - sorted.begin());
    const auto above = static_cast<double>(sorted.end() - std::lower_bound(sorted.begin(), sorted.end(), upper));
    EXPECT_LE(below, rank) << k;
    EXPECT_LE(above, rank) << k;
    // No boundary of the resolution is further inside.
    const double quantile = sorted[static_cast<std::size_t>(rank)];
    const double other = sorted[count - 1 - static_cast<std::size_t>(rank)];
    const auto step = [](double at) { return std::max(std::ldexp(1.0, std::ilogb(at) - 7), 0x1p-71); };
    EXPECT_GE(lower, quantile - 2 * step(quantile == 0 ? 0x1p-64 : quantile)) << k;
    EXPECT_LE(upper, other + 2 * step(other == 0 ? 0x1p-64 : other)) << k;
  }
}

// Whatever is released, thresholds lie somewhere, and ranges ascend.
TEST(ColumnRanges, AscendWhateverTheNoiseIs) {
  std::mt19937_64 random{11};
  const auto data = data_of({{1.0}, {2.0}}, 1);
  for (int repetition = 0; repetition < 300; ++repetition) {
    std::vector<std::vector<double>> released(16, std::vector<double>(2));
    for (auto& pair : released) {
      for (double& value : pair) value = random() % 2 == 0 ? -1e9 : 1e9;
    }
    testing::ScriptedReleaser scripted{released};
    const auto range = release_ranges(data, options_of(1, 2, Adjacency::zero_out), scripted).front();
    ASSERT_TRUE(std::isfinite(range.lower) && std::isfinite(range.upper) && range.lower < range.upper);
    EXPECT_EQ(scripted.log().size(), 16U);
  }
}

/// The largest move of a query between neighbours with the same releases, over the sensitivity that is charged.
class Moves {
 public:
  void compare(const Dataset& one, const Dataset& other, const RangeOptions& options, const std::vector<std::vector<double>>& released) {
    testing::ScriptedReleaser first{released};
    testing::ScriptedReleaser second{released};
    const auto ranges = release_ranges(one, options, first);
    EXPECT_EQ(ranges, release_ranges(other, options, second));
    for (std::size_t round = 0; round < first.log().size(); ++round) {
      const auto& a = first.log()[round];
      const auto& b = second.log()[round];
      ASSERT_EQ(a.event, gaussian(options.noise_multiplier, options.adjacency));
      ASSERT_EQ(a.sensitivity.value(), b.sensitivity.value());
      double squared = 0;
      for (std::size_t k = 0; k < a.query.steps.size(); ++k) {
        const auto move = static_cast<double>(a.query.steps[k] - b.query.steps[k]) * a.query.grid.step();
        squared += move * move;
      }
      largest_ = std::max(largest_, std::sqrt(squared) / a.sensitivity.value());
    }
  }
  [[nodiscard]] double largest() const { return largest_; }

 private:
  double largest_ = 0;
};

TEST(ColumnRanges, MoveByTheSensitivityThatIsChargedAndNoMore) {
  std::mt19937_64 random{13};
  constexpr std::size_t columns = 3;
  const std::vector<double> numbers{-1e300, -5, -0x1p-64, 0, 0x1p-70, 0.5, 3, 3.5, 1e18, std::numeric_limits<double>::max()};
  const auto any_row = [&] {
    std::vector<double> row(random() % 8 == 0 ? 0 : columns);
    for (double& value : row) value = numbers[random() % numbers.size()];
    return row;
  };
  for (const auto adjacency : {Adjacency::replace_one, Adjacency::zero_out, Adjacency::add_or_remove_one}) {
    Moves moves;
    const auto options = options_of(columns, 6, adjacency);
    for (int repetition = 0; repetition < 2000; ++repetition) {
      std::vector<std::vector<double>> rows(5);
      for (auto& row : rows) row = any_row();
      auto others = rows;
      const std::size_t place = random() % rows.size();
      if (adjacency == Adjacency::add_or_remove_one) {
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(place));
      } else {
        others[place] = adjacency == Adjacency::zero_out ? std::vector<double>{} : any_row();
      }
      std::vector<std::vector<double>> released(16, std::vector<double>(2 * columns));
      for (auto& one : released) {
        for (double& value : one) value = static_cast<double>(random() % 7);
      }
      moves.compare(data_of(rows, columns), data_of(others, columns), options, released);
      if (HasFatalFailure()) return;
    }
    EXPECT_LE(moves.largest(), 1) << name(adjacency);
    EXPECT_GT(moves.largest(), 1 - 1e-12) << name(adjacency);
  }
}

}  // namespace
}  // namespace surety::optimizers::column_ranges_test
