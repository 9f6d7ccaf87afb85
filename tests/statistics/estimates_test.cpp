#include <surety/statistics/estimates.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include <support/every_statistic.h>
#include <support/refusal.h>

namespace surety::statistics::estimates_test {

using namespace data;

namespace {

using mechanisms::ReplayBits;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr auto all_adjacencies = {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out};
const Condition condition = parse_condition("x>0");

/// Every kind of statistic, with and without a condition, under each adjacency, as far as it is allowed.
std::vector<Statistic> statistics() {
  return every_statistic(condition, {Bounds{0, 100}, Bounds{-1.3, 0.7}, Bounds{10, 10.1}, Bounds{-7e200, -1e-3}},
                         {HistogramOf{"x", Bins{{0, 1}, 2}}, HistogramOf{"x", Bins{{-3, 11}, 7}}, HistogramOf{"x", Categories{{"red"}}},
                          HistogramOf{"x", Categories{{"red", "green", "blue"}}}});
}

/// A reach of this distance.
NoiseReach at(const StatisticSum& sum, double distance) {
  auto reach = reach_of(sum, laplace(sum, 1), 0.9);
  reach.distance = distance;
  return reach;
}

/// How often the interval of each number holds the exact one, in `runs` replays.
std::vector<double> coverage(const StatisticSum& sum, const std::vector<double>& truth, const StatisticNoise& noise, double confidence,
                             std::uint64_t records, int runs) {
  std::vector<double> covered(truth.size());
  const auto reach = reach_of(sum, noise, confidence);
  const auto exact_sum = sum.sum();
  ReplayBits bits{20240229};
  for (int run = 0; run < runs; ++run) {
    const auto released = std::visit([&](const auto& mechanism) { return mechanism.release(exact_sum, bits); }, noise);
    const auto estimates = estimates_of(sum, released, reach, records);
    EXPECT_EQ(estimates.size(), truth.size());
    for (std::size_t k = 0; k < truth.size(); ++k) {
      EXPECT_LE(estimates[k].lower, estimates[k].value);
      EXPECT_LE(estimates[k].value, estimates[k].upper);
      covered[k] += estimates[k].lower <= truth[k] && truth[k] <= estimates[k].upper ? 1.0 / runs : 0.0;
    }
  }
  return covered;
}

// 4000 replays of a fixed seed; an honest interval of probability p lies further off p than 5 standard errors once in 1.7 million.
constexpr int runs = 4000;
double five_errors(double p) { return 5 * std::sqrt(p * (1 - p) / runs); }

TEST(Estimates, CoverAsOftenAsTheirLawSays) {
  constexpr double confidence = 0.8;
  const std::vector<double> numbers{0.5, 3, -0.25, 1.75, 2, 2, 0};  // multiples of a quarter, of which every grid here is finer
  const double total = std::accumulate(numbers.begin(), numbers.end(), 0.0);
  const Bounds bounds{-1, 3};
  struct Case {
    Statistic statistic;
    std::vector<double> truth;
  };
  const std::vector<Case> cases{
      {{.of = CountOf{}, .adjacency = Adjacency::add_or_remove_one}, {7}},
      {{.of = SumOf{"x", bounds}, .adjacency = Adjacency::replace_one}, {total}},
      {{.of = SumOf{"x", bounds}, .adjacency = Adjacency::add_or_remove_one}, {total}},
      {{.of = HistogramOf{"x", Bins{bounds, 4}}, .adjacency = Adjacency::replace_one}, {1, 2, 1, 3}},
  };
  for (const auto& [statistic, truth] : cases) {
    for (const double scale : {0.3, 2.0}) {
      auto sum = example(statistic, scale);
      for (const double number : numbers) add(sum, {.number = number});
      for (const auto& noise : {laplace(sum, scale), gaussian(sum, scale)}) {
        const double step = sum.grid().step();
        const double p = 1 - exceeds(noise, quantile(noise, 1 - confidence), step);
        EXPECT_GE(p, confidence * (1 - 1e-12));
        for (const double covered : coverage(sum, truth, noise, confidence, numbers.size(), runs)) {
          EXPECT_NEAR(covered, p, five_errors(p)) << describe(statistic) << " " << name(noise) << " " << scale;
        }
      }
    }
  }
}

int ratio_runs() {
  const char* const asked = std::getenv("SURETY_COVERAGE_RUNS");
  return asked != nullptr ? std::stoi(asked) : 60;
}

// A mean that is clamped to its bounds covers at least as often, and so does a ratio, of which ratio_test asks more: here as many replays as
// SURETY_COVERAGE_RUNS says, or few.
TEST(Estimates, OfMeansCoverAtLeastAsOften) {
  constexpr double confidence = 0.99;  // where an interval that forgets the count falls short by several standard errors
  const Bounds bounds{-1, 3};
  for (const auto adjacency : all_adjacencies) {
    for (const auto& where : {std::optional<Condition>{}, std::optional{condition}}) {
      const Statistic statistic{.of = MeanOf{"x", bounds}, .where = where, .adjacency = adjacency};
      for (const auto& numbers : {std::vector<double>{3, 3, 3}, std::vector<double>{1.5}, std::vector<double>(200, -0.75)}) {
        for (const double scale : {0.02, 2.0}) {
          auto sum = example(statistic, scale);
          for (const double number : numbers) sum.add(number);
          const int here = is_ratio(statistic) ? ratio_runs() : runs;
          for (const auto& noise : {laplace(sum, scale), gaussian(sum, scale)}) {
            const auto covered = coverage(sum, {numbers.front()}, noise, confidence, numbers.size(), here).front();
            EXPECT_GE(covered, confidence - 5 * std::sqrt(confidence * (1 - confidence) / here) - 5.0 / here)
                << describe(statistic) << " " << name(noise) << " " << scale;
          }
        }
      }
    }
  }
}

TEST(Estimates, OfACountThatMayBeNoneAreTheBounds) {
  auto sum = example({.of = MeanOf{"x", {0, 8}}, .adjacency = Adjacency::add_or_remove_one});
  const auto noise = laplace(sum, 0.01);
  const auto none = estimates_of(sum, {0, -400}, reach_of(sum, noise, 0.9), 0).front();
  EXPECT_EQ(none.lower, 0);
  EXPECT_EQ(none.upper, 8);
  EXPECT_TRUE(none.value >= 0 && none.value <= 8);
}

// The count beside a sum has an interval of its own, which holds the exact number at least as often as the confidence says.
TEST(UsedRecords, AreCoveredAtLeastAsOftenAsIsSaid) {
  constexpr double confidence = 0.8;
  constexpr int replays = 1000;
  for (const auto adjacency : all_adjacencies) {
    for (const Statistic& statistic : {Statistic{.of = MeanOf{"x", {-1, 3}}, .adjacency = adjacency},
                                       Statistic{.of = VarianceOf{"x", {-1, 3}}, .where = condition, .adjacency = adjacency}}) {
      for (const double scale : {0.02, 0.4, 3.0}) {
        for (const std::size_t records : {0U, 1U, 40U}) {
          auto sum = example(statistic, scale);
          for (std::size_t k = 0; k < records; ++k) sum.add(0.25 * static_cast<double>(k % 9));
          for (const auto& noise : {laplace(sum, scale), gaussian(sum, scale)}) {
            const auto reach = reach_of(sum, noise, confidence);
            ReplayBits bits{7};
            int covered = 0;
            for (int run = 0; run < replays; ++run) {
              const auto released = std::visit([&](const auto& mechanism) { return mechanism.release(sum.sum(), bits); }, noise);
              const auto all = used_records_of(sum, released, reach);
              ASSERT_EQ(all.size(), 1U);
              const auto& [value, lower, upper] = all.front();
              EXPECT_TRUE(0 <= lower && lower <= value && value <= upper) << value << " in [" << lower << ", " << upper << "]";
              EXPECT_TRUE(value == std::round(value) && lower == std::round(lower) && upper == std::round(upper));
              covered += lower <= static_cast<double>(records) && static_cast<double>(records) <= upper ? 1 : 0;
            }
            EXPECT_GE(covered, replays * confidence - 5 * std::sqrt(replays * confidence * (1 - confidence)))
                << describe(statistic) << " " << name(noise) << " " << scale << " " << records;
          }
        }
      }
    }
  }
}

TEST(UsedRecords, AreToldWhereTheirCountIsReleasedAlone) {
  for (const auto& statistic : statistics()) {
    const auto sum = example(statistic);
    const bool has_count = std::holds_alternative<MeanOf>(statistic.of) || std::holds_alternative<VarianceOf>(statistic.of);
    const auto used = used_records_of(sum, std::vector<double>(sum.sum().steps.size()), reach_of(sum, laplace(sum, 1), 0.9));
    EXPECT_EQ(used.size(), has_count && sum.weight() != 0 ? 1U : 0U) << describe(statistic);
  }
  const auto count = [](double used, double total) {
    return UsedRecords{.used = {used, used - 3, used + 3}, .total = Estimate{total, total - 10, total + 10}}.are_few();
  };
  EXPECT_TRUE(count(400, 2000));
  EXPECT_FALSE(count(1788, 2000));  // 1791 of at least 1990
  EXPECT_TRUE(count(1787, 2000));
  EXPECT_FALSE(count(2000, 2000));
  EXPECT_FALSE((UsedRecords{.used = {0, 0, 0}}.are_few())) << "nobody knows of how many";
}

TEST(Estimates, ReachAsFarAsTheNoise) {
  const auto sum = example({.of = CountOf{}, .adjacency = Adjacency::add_or_remove_one});
  const auto estimate = estimates_of(sum, {5}, at(sum, 5), 0).front();
  EXPECT_EQ(estimate.value, 5);
  EXPECT_EQ(estimate.upper, 10);
  EXPECT_EQ(estimate.lower, 0);
  EXPECT_FALSE(std::signbit(estimate.lower));
}

TEST(Estimates, AreInfiniteWhereASumMayHaveSaturatedAndNowhereElse) {
  for (const auto& statistic : statistics()) {
    auto sum = example(statistic);
    const auto reach = reach_of(sum, gaussian(sum, 1), 1 - 0x1p-53);
    for (const double value : {0.0, 0x1p61, -0x1p61, 0x1p62, -0x1p62}) {
      const bool is_open =
          std::abs(value) == 0x1p62 && !std::holds_alternative<MeanOf>(statistic.of) && !std::holds_alternative<VarianceOf>(statistic.of);
      const std::vector<double> released(sum.sum().steps.size(), value * sum.grid().step());
      for (const auto& estimate : estimates_of(sum, released, reach, 1)) {
        EXPECT_TRUE(std::isfinite(estimate.value));
        EXPECT_EQ(estimate.lower == -infinity, is_open && value < 0);
        EXPECT_EQ(estimate.upper == infinity, is_open && value > 0);
        EXPECT_TRUE(estimate.lower <= estimate.value && estimate.value <= estimate.upper) << describe(statistic);
      }
    }
  }
}

// Records of 2^40 steps, one after the other, until the sum is beyond what fits.
TEST(StatisticSum, OpensTheIntervalOfASumThatMayHaveSaturated) {
  const Grid finest{.log2_step = -33};
  const Bounds bounds{-1, 127};
  const double truth = 127 * 5e6;
  const StatisticSum mean{{.of = MeanOf{"x", bounds}, .adjacency = Adjacency::zero_out, .missing = MissingCells::promised_complete},
                          finest};
  StatisticSum sum{{.of = SumOf{"x", bounds}, .adjacency = Adjacency::add_or_remove_one}, finest};
  for (int k = 0; k < 5'000'000; ++k) sum.add(127);
  const double saturated = mechanisms::to_reals(sum.sum()).front();
  EXPECT_EQ(saturated, 0x1p29);
  for (const double reach : {0.0, 1.0, 1e3}) {
    for (const double noise : {-reach, 0.0, reach}) {
      const double released = std::min(saturated + noise, 0x1p29);
      const auto above = estimates_of(sum, {released}, at(sum, reach), 0).front();
      EXPECT_TRUE(above.lower <= released && above.lower <= truth);
      EXPECT_EQ(above.upper, infinity);
      const auto below = estimates_of(sum, {-released}, at(sum, reach), 0).front();
      EXPECT_EQ(below.lower, -infinity);
      EXPECT_EQ(below.upper, -above.lower);
      const auto average = estimates_of(mean, {released}, at(mean, reach), 5'000'000).front();
      EXPECT_LT(average.lower, 127);
      EXPECT_EQ(average.upper, 127);
      EXPECT_EQ(estimates_of(mean, {-released}, at(mean, reach), 5'000'000).front().lower, -1);
    }
  }
  const auto inside = estimates_of(sum, {0x1p28}, at(sum, 5), 0).front();
  EXPECT_NEAR(inside.lower, 0x1p28 - 5, 1e-6);
  EXPECT_NEAR(inside.upper, 0x1p28 + 5, 1e-6);
  // A sum and a count of which neither can be told.
  const StatisticSum ratio{{.of = MeanOf{"x", bounds}, .adjacency = Adjacency::add_or_remove_one}, finest};
  for (const auto& released : {std::vector<double>{0x1p29, 0x1p29}, {0, 0x1p29}, {0x1p29, 0x1p28}, {-0x1p29, 0x1p28}}) {
    const auto estimate = estimates_of(ratio, released, at(ratio, 1), 0).front();
    EXPECT_EQ(estimate.lower, -1);
    EXPECT_EQ(estimate.upper, 127);
  }
}

TEST(StatisticSum, NeedsTheWholeVectorThatWasReleased) {
  const StatisticSum mean{{.of = MeanOf{"x", Bounds{0, 1}}, .adjacency = Adjacency::add_or_remove_one}, Grid{.log2_step = -20}};
  const std::size_t whole = mean.sum().steps.size();
  EXPECT_TRUE(refuses([&] { static_cast<void>(estimates_of(mean, std::vector<double>(whole - 1), at(mean, 1), 0)); },
                      ErrorCode::invalid_argument, {"released vector has 1 numbers, must have 2"}));
  EXPECT_TRUE(refuses([&] { static_cast<void>(estimates_of(mean, std::vector<double>(whole + 1), at(mean, 1), 0)); },
                      ErrorCode::invalid_argument, {"released vector has 3 numbers, must have 2"}));
}

}  // namespace
}  // namespace surety::statistics::estimates_test
