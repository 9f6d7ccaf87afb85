#include <surety/mechanisms/queries/second_moment_sum.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <support/refusal.h>

namespace surety::mechanisms::second_moment_sum_test {
namespace {

using Record = std::vector<double>;
using Steps = std::vector<std::int64_t>;

__extension__ using Wide = __int128;

SecondMomentSum::Options options_of(double clip, int log2_step, std::size_t dimension) {
  return {.clip = ClippingNorm{clip}, .grid = {.log2_step = log2_step}, .dimension = dimension};
}

Steps contribution(const SecondMomentSum::Options& options, const Record& record) {
  SecondMomentSum sum{options};
  sum.add(record);
  return sum.sum().steps;
}

Wide squared_distance(const Steps& a, const Steps& b) {
  Wide result = 0;
  for (std::size_t i = 0; i < a.size(); ++i) result += Wide{a[i] - b[i]} * (a[i] - b[i]);
  return result;
}

/// Every vector of integers of norm at most 4, from outside of the ball, too: what is clipped is one of them.
std::vector<Record> all_records() {
  std::vector<Record> records;
  for (int x = -5; x <= 5; ++x) {
    for (int y = -5; y <= 5; ++y) {
      for (int z = -5; z <= 5; ++z) records.push_back({x * 0.25, y * 0.25, z * 0.25});
    }
  }
  return records;
}

// Brute force: all pairs of records on a coarse grid, in exact arithmetic. C = 1 is four steps, C^2 sixteen.
TEST(SecondMomentSum, NoPairOfRecordsIsFurtherApartThanItsSensitivity) {
  const auto options = options_of(1, -2, 3);
  std::vector<Steps> moments;
  for (const auto& record : all_records()) moments.push_back(contribution(options, record));
  Wide alone = 0;
  Wide replaced = 0;
  for (const auto& a : moments) {
    alone = std::max(alone, squared_distance(a, Steps(9)));
    for (const auto& b : moments) replaced = std::max(replaced, squared_distance(a, b));
  }
  EXPECT_TRUE(alone == 16 * 16);
  EXPECT_TRUE(replaced == 2 * 16 * 16);  // reached by (4, 0, 0) and (0, 4, 0)
  const SecondMomentSum sum{options};
  EXPECT_EQ(sum.sensitivity(Adjacency::zero_out).value(), 1);
  EXPECT_EQ(sum.sensitivity(Adjacency::add_or_remove_one).value(), 1);
  const double root = sum.sensitivity(Adjacency::replace_one).value();
  EXPECT_GE(root * root, 2);
  EXPECT_LE(root, std::sqrt(2.0) * (1 + 0x1p-51));
  EXPECT_EQ(sum.sum().grid.log2_step.value(), -4);
}

// Finer grids, hostile numbers, sparse rows: in exact arithmetic again.
TEST(SecondMomentSum, HostileRecordsStayWithinTheSensitivity) {
  std::mt19937_64 random{3};
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> odd{infinity, -infinity, std::nan(""), 1e308, -1e300, 5e-324, 0.0, -0.0, 1, -1, 0.7, 1e-9};
  for (int k = 0; k < 4000; ++k) {
    const std::size_t d = 1 + random() % 5;
    const double clip = std::ldexp(1 + static_cast<double>(random() % 1024) / 1024, static_cast<int>(random() % 9) - 4);
    const auto options = options_of(clip, std::ilogb(clip) - static_cast<int>(random() % 22), d);
    const auto draw = [&] {
      Record record(d);
      for (double& x : record) {
        x = random() % 4 == 0 ? odd[random() % odd.size()] : std::normal_distribution<double>{0, 2 * clip}(random);
      }
      return record;
    };
    const Steps a = contribution(options, draw());
    const Steps b = contribution(options, draw());
    const double ratio = clip / options.grid.step();
    const auto most = static_cast<Wide>(std::floor(ratio * ratio));  // |m|^2 is an integer
    EXPECT_TRUE(squared_distance(a, Steps(d * d)) <= most * most) << k;
    EXPECT_TRUE(squared_distance(a, b) <= 2 * most * most) << k;
    // Symmetric and of rank one: the product of two diagonal entries is the square of the one between.
    for (std::size_t i = 0; i < d; ++i) {
      for (std::size_t j = 0; j < d; ++j) {
        EXPECT_EQ(a[i * d + j], a[j * d + i]);
        EXPECT_TRUE(Wide{a[i * d + i]} * a[j * d + j] == Wide{a[i * d + j]} * a[i * d + j]);
      }
    }
  }
}

Steps contribution_of_unit(const SecondMomentSum::Options& options, const std::vector<Record>& rows) {
  SecondMomentSum sum{options};
  sum.begin_unit(rows.size());
  for (const auto& row : rows) sum.add(row);
  return sum.sum().steps;
}

// Brute force: all pairs of units of one and two rows.
TEST(SecondMomentSum, NoPairOfUnitsIsFurtherApartThanItsSensitivity) {
  const auto options = options_of(1, -2, 2);
  std::vector<Record> rows;
  for (int x = -5; x <= 5; ++x) {
    for (int y = -5; y <= 5; ++y) rows.push_back({x * 0.25, y * 0.25});
  }
  std::set<Steps> moments;
  std::set<Steps> of_rows;  // which are clipped each for itself: what this test is there to find
  for (const auto& row : rows) {
    moments.insert(contribution_of_unit(options, {row}));
    for (const auto& other : rows) {
      moments.insert(contribution_of_unit(options, {row, other}));
      SecondMomentSum apart{options};
      apart.add(row);
      apart.add(other);
      of_rows.insert(apart.sum().steps);
    }
  }
  const auto farthest = [](const std::set<Steps>& all) {
    Wide alone = 0;
    Wide replaced = 0;
    for (const auto& a : all) {
      alone = std::max(alone, squared_distance(a, Steps(4)));
      for (const auto& b : all) replaced = std::max(replaced, squared_distance(a, b));
    }
    return std::pair{alone, replaced};
  };
  const auto [alone, replaced] = farthest(moments);
  EXPECT_TRUE(alone == 16 * 16);
  EXPECT_TRUE(replaced == 2 * 16 * 16);
  const auto [alone_apart, replaced_apart] = farthest(of_rows);
  EXPECT_TRUE(alone_apart > 16 * 16);
  EXPECT_TRUE(replaced_apart > 2 * 16 * 16);
}

// Of many rows, on finer grids, with hostile numbers; units of more rows than squares of steps fit add nothing.
TEST(SecondMomentSum, HostileUnitsStayWithinTheSensitivity) {
  std::mt19937_64 random{5};
  const std::vector<double> odd{std::numeric_limits<double>::infinity(), std::nan(""), 1e308, -1e300, 5e-324, 0.0, 1, -1, 1e-9};
  std::size_t nothing = 0;
  for (int k = 0; k < 2000; ++k) {
    const std::size_t d = 1 + random() % 4;
    const double clip = std::ldexp(1 + static_cast<double>(random() % 1024) / 1024, static_cast<int>(random() % 9) - 4);
    const auto options = options_of(clip, std::ilogb(clip) - static_cast<int>(random() % 20), d);
    const auto draw = [&] {
      std::vector<Record> rows(1 + random() % 20, Record(d));
      for (auto& row : rows) {
        for (double& x : row) x = random() % 4 == 0 ? odd[random() % odd.size()] : std::normal_distribution<double>{0, 2 * clip}(random);
      }
      return rows;
    };
    const auto rows = draw();
    const Steps a = contribution_of_unit(options, rows);
    const Steps b = contribution_of_unit(options, draw());
    const double ratio = clip / options.grid.step();
    const auto most = static_cast<Wide>(std::floor(ratio * ratio));
    EXPECT_TRUE(squared_distance(a, Steps(d * d)) <= most * most) << k;
    EXPECT_TRUE(squared_distance(a, b) <= 2 * most * most) << k;
    nothing += ratio * ratio < static_cast<double>(rows.size()) && a == Steps(d * d) ? 1 : 0;
  }
  EXPECT_GT(nothing, 0U);
}

TEST(SecondMomentSum, UnitsAddTheMeanOfTheirRows) {
  const auto options = options_of(1, -20, 2);
  const std::vector<Record> rows{{0.5, 0.25}, {-0.75, 0.5}, {0, 1}, {0.125, -0.5}};  // four: halves are exact
  SecondMomentSum sum{options};
  sum.begin_unit(rows.size());
  Steps by_hand(4);
  for (const auto& row : rows) {
    sum.add(row);
    const Steps one = contribution(options, row);
    for (std::size_t i = 0; i < 4; ++i) by_hand[i] += one[i];
  }
  // The row of norm 1 is shrunk by the margin.
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(static_cast<double>(sum.sum().steps[i]), static_cast<double>(by_hand[i]) / 4, 0x1p20);
  EXPECT_TRUE(refuses([&] { sum.add(rows.front()); }, ErrorCode::invalid_argument, {"one more row"}));
  EXPECT_TRUE(refuses([&] { sum.begin_unit(0); }, ErrorCode::invalid_argument, {"0 rows"}));
  // One row is a record, whatever came before.
  SecondMomentSum one{options};
  one.begin_unit(3);
  one.add({{0, 0}});
  one.begin_unit(1);
  one.add(rows.front());
  EXPECT_EQ(one.sum().steps, contribution(options, rows.front()));
}

TEST(SecondMomentSum, SparseRowsAreDenseOnesAndNoCoordinateCountsTwice) {
  const auto options = options_of(2, -10, 4);
  SecondMomentSum dense{options};
  dense.add({{0, 1.5, 0, -0.75}});
  SecondMomentSum sparse{options};
  const std::vector<std::uint32_t> indices{1, 3};
  const std::vector<double> values{1.5, -0.75};
  sparse.add_scaled(1, std::span{indices}, values, l2_norm(values));
  EXPECT_EQ(dense.sum(), sparse.sum());
  // Twice the same coordinate would have a product that the checked norm does not bound.
  SecondMomentSum twice{options};
  const std::vector<std::uint32_t> same{1, 1, 9};
  const std::vector<double> many{1.4, 1.4, 0.1};
  twice.add_scaled(1, std::span{same}, many, l2_norm(many));
  SecondMomentSum once{options};
  const std::vector<std::uint32_t> first{1};
  const std::vector<double> one{1.4};
  once.add_scaled(1, std::span{first}, one, l2_norm(one));
  EXPECT_EQ(twice.sum(), once.sum());
}

TEST(SecondMomentSum, AddsExactlyInAnyOrderAndPart) {
  std::mt19937_64 random{4};
  const auto options = options_of(1, -21, 3);
  std::vector<Record> records;
  for (int i = 0; i < 3000; ++i) {  // more than are kept as doubles
    records.push_back({std::normal_distribution<double>{}(random), std::normal_distribution<double>{}(random), 1});
  }
  std::vector<Wide> exact(9);
  SecondMomentSum all{options};
  for (const auto& record : records) {
    all.add(record);
    const Steps one = contribution(options, record);
    for (std::size_t i = 0; i < 9; ++i) exact[i] += one[i];
  }
  SecondMomentSum parts{options};
  SecondMomentSum second{options};
  std::shuffle(records.begin(), records.end(), random);
  for (std::size_t i = 0; i < records.size(); ++i) (i % 3 == 0 ? parts : second).add(records[i]);
  parts.merge(second);
  EXPECT_EQ(all.sum(), parts.sum());
  for (std::size_t i = 0; i < 9; ++i) EXPECT_TRUE(exact[i] == all.sum().steps[i]);
}

TEST(SecondMomentSum, ItsGridHoldsThePublicNumberOfRecords) {
  for (const double clip : {0.3, 1.0, 1.9}) {
    for (const std::uint64_t records : {1ULL, 1000ULL, 262'144ULL, 10'000'000ULL, 10'000'000'000ULL}) {
      for (const double noise : {0.1, 100.0, 0x1p12, 0x1p34}) {
        const Grid grid = second_moment_grid(ClippingNorm{clip}, Count{records}, NoiseMultiplier{noise});
        const double steps = clip * grid.steps_per_unit();
        EXPECT_LE(steps, SecondMomentSum::largest_ratio);
        EXPECT_GE(steps, 0x1p9);
        EXPECT_LT(static_cast<double>(records) * steps * steps, 0x1p62);
        EXPECT_LE(noise * std::sqrt(2) * steps * steps, 0x1p56);
        // No coarser than it must be.
        if (noise == 100.0) {
          EXPECT_EQ(grid, second_moment_grid(ClippingNorm{clip}, Count{records}, NoiseMultiplier{0.1}));
        }
      }
    }
  }
}

TEST(SecondMomentSum, RefusesWhatItCannotHold) {
  const auto refused = [](const SecondMomentSum::Options& options, const char* words) {
    return reference::refusal_of([&] { return SecondMomentSum{options}; }).says(ErrorCode::invalid_argument, words);
  };
  EXPECT_TRUE(refused(options_of(1, -23, 2), "2^22"));
  EXPECT_TRUE(refused(options_of(1, 1, 2), "2^22"));
  EXPECT_TRUE(refused(options_of(1, -4, 0), "dimension is 0"));
  EXPECT_TRUE(refused(options_of(1, -4, 4097), "dimension is 4097"));
  SecondMomentSum sum{options_of(1, -4, 2)};
  EXPECT_TRUE(reference::refusal_of([&] {
                sum.add({{1, 2, 3}});
                return 0;
              }).says(ErrorCode::invalid_argument, "3 coordinates"));
}

/// The same by definition, in 128 bits: of records that need no clipping and are on the grid.
Steps by_definition(const std::vector<std::vector<double>>& records, std::size_t dimension, double step) {
  Steps sum(dimension * dimension, 0);
  for (const auto& record : records) {
    for (std::size_t j = 0; j < dimension; ++j) {
      for (std::size_t k = 0; k < dimension; ++k) {
        sum[j * dimension + k] += static_cast<std::int64_t>(record[j] / step) * static_cast<std::int64_t>(record[k] / step);
      }
    }
  }
  return sum;
}

RC_GTEST_PROP(SecondMomentSum, IsTheSumOfProductsInAnyOrderAndInAnyParts, ()) {
  const auto dimension = *rc::gen::inRange<std::size_t>(1, 7);
  const SecondMomentSum::Options options{.clip = ClippingNorm{4}, .grid = {-9}, .dimension = dimension};
  const auto coordinate = rc::gen::map(rc::gen::inRange(-700, 701), [](int k) { return k * 0x1p-9; });  // |x| <= 1.4 sqrt 6 < 4
  auto records = *rc::gen::container<std::vector<std::vector<double>>>(rc::gen::container<std::vector<double>>(dimension, coordinate));
  SecondMomentSum whole{options};
  for (const auto& record : records) whole.add(record);
  SecondMomentSum parts{options};
  SecondMomentSum other{options};
  std::reverse(records.begin(), records.end());
  for (std::size_t i = 0; i < records.size(); ++i) (i % 3 == 0 ? other : parts).add(records[i]);
  parts.merge(other);
  RC_ASSERT(whole.sum().steps == by_definition(records, dimension, 0x1p-9));
  RC_ASSERT(whole.sum().grid.log2_step.value() == -18);
  RC_ASSERT(parts.sum() == whole.sum());
}

TEST(SecondMomentSum, ItsSensitivityIsRoundedUp) {
  EXPECT_EQ(sensitivity_of_second_moment(ClippingNorm{3}, Adjacency::add_or_remove_one).value(), 9);
  const double replaced = sensitivity_of_second_moment(ClippingNorm{1}, Adjacency::replace_one).value();
  EXPECT_GE(static_cast<long double>(replaced) * static_cast<long double>(replaced), 2.0L);
  EXPECT_EQ(std::nextafter(replaced, 0), 1.4142135623730949);  // the double below the square root of 2
  const double tenth = sensitivity_of_second_moment(ClippingNorm{0.1}, Adjacency::zero_out).value();
  EXPECT_GE(static_cast<long double>(tenth), 0.1 * static_cast<long double>(0.1));
  EXPECT_TRUE(refuses([] { static_cast<void>(sensitivity_of_second_moment(ClippingNorm{1e200}, Adjacency::zero_out)); },
                      ErrorCode::invalid_argument, {}));
}

TEST(SecondMomentSum, Saturates) {
  SecondMomentSum sum{{.clip = ClippingNorm{1}, .grid = {-22}, .dimension = 2}};
  const double diagonal = std::sqrt(0.5);
  SecondMomentSum one{sum.options()};
  for (int i = 0; i < 1024; ++i) one.add(std::array{diagonal, -diagonal});
  SecondMomentSum many{sum.options()};
  for (int i = 0; i < 1024; ++i) many.merge(one);  // 2^20 records, each of about 2^43 in every entry
  EXPECT_EQ(many.sum().steps, (Steps{largest_sum, -largest_sum, -largest_sum, largest_sum}));
}

}  // namespace
}  // namespace surety::mechanisms::second_moment_sum_test
