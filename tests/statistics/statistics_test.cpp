#include <surety/statistics/statistics.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <support/every_statistic.h>
#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::statistics::statistics_test {

using namespace data;

namespace {

using mechanisms::ReplayBits;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr auto all_adjacencies = {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out};
const LabelRule condition = parse_label_rule("x>0");

/// What a test knows of a record: whether it meets the condition, and its cell as a number or as a text.
struct Record {
  bool meets = true;
  double number = 0;
  std::string text = {};
  bool is_damaged = false;
};

void add(StatisticSum& sum, const Record& record) {
  if (!record.meets) return;
  const auto* const histogram = std::get_if<HistogramOf>(&sum.statistic().of);
  if (std::holds_alternative<CountOf>(sum.statistic().of)) {
    sum.add();
  } else if (record.is_damaged) {
    sum.add_damaged();
  } else if (histogram != nullptr && std::holds_alternative<Categories>(histogram->cells)) {
    sum.add(record.text);
  } else {
    sum.add(record.number);
  }
}

std::vector<std::int64_t> exact(const Statistic& statistic, Grid grid, const std::vector<Record>& records) {
  StatisticSum sum{statistic, grid};
  for (const auto& record : records) add(sum, record);
  return sum.sum().steps;
}

StatisticSum example(const Statistic& statistic, double noise = 1) { return {statistic, grid_for(statistic, NoiseMultiplier{noise})}; }

StatisticNoise laplace(const StatisticSum& sum, double scale) {
  return noise_for(sum, surety::release(Event::Laplace{NoiseScale{scale}}, sum.statistic().adjacency));
}
StatisticNoise gaussian(const StatisticSum& sum, double multiplier) {
  return noise_for(sum, surety::gaussian(NoiseMultiplier{multiplier}, sum.statistic().adjacency));
}

/// Every kind of statistic, with and without a condition, under each adjacency, as far as it is allowed.
std::vector<Statistic> statistics() {
  return every_statistic(condition, {Bounds{0, 100}, Bounds{-1.3, 0.7}, Bounds{10, 10.1}, Bounds{-7e200, -1e-3}},
                         {HistogramOf{"x", Bins{{0, 1}, 2}}, HistogramOf{"x", Bins{{-3, 11}, 7}}, HistogramOf{"x", Categories{{"red"}}},
                          HistogramOf{"x", Categories{{"red", "green", "blue"}}}});
}

/// Records that reach every corner of a statistic, and cells that no statistic likes.
std::vector<Record> corners(const Statistic& statistic) {
  std::vector<double> numbers{-infinity, -1e308, -0.0, 5e-324, 0.5, 1, 6, 1e308, infinity, nan};
  for (const auto* bounds : {std::get_if<SumOf>(&statistic.of) != nullptr    ? &std::get<SumOf>(statistic.of).bounds
                             : std::get_if<MeanOf>(&statistic.of) != nullptr ? &std::get<MeanOf>(statistic.of).bounds
                                                                             : nullptr}) {
    if (bounds != nullptr) numbers.insert(numbers.end(), {bounds->lower, bounds->upper, (bounds->lower + bounds->upper) / 2});
  }
  std::vector<Record> result;
  for (const double number : numbers) result.push_back({.meets = true, .number = number, .text = number > 0 ? "red" : "none"});
  result.push_back({.meets = true, .number = 3, .text = "blue"});
  result.push_back({.is_damaged = true});
  if (statistic.where) result.push_back({.meets = false});
  return result;
}

struct Reach {
  double l1 = 0;
  double l2 = 0;
};

/// The largest change over all neighbours of small data sets, in data units.
Reach reach(const Statistic& statistic, Grid grid) {
  Reach result;
  const auto meet = [&](const std::vector<Record>& a, const std::vector<Record>& b) {
    const auto left = exact(statistic, grid, a);
    const auto right = exact(statistic, grid, b);
    double l1 = 0;
    double squares = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      const auto change = static_cast<double>(std::abs(left[i] - right[i]));
      l1 += change;
      squares += change * change;
    }
    result.l1 = std::max(result.l1, l1 * grid.step());
    result.l2 = std::max(result.l2, std::sqrt(squares) * grid.step());
  };
  const auto records = corners(statistic);
  for (const auto& other : {std::vector<Record>{}, std::vector<Record>{records.front(), records.back(), records[3]}}) {
    for (const auto& one : records) {
      auto with_one = other;
      with_one.insert(with_one.begin() + std::ssize(other) / 2, one);
      // Under zero-out the record that takes its place contributes nothing: to a sum that is the same as no record.
      if (statistic.adjacency != Adjacency::replace_one) meet(other, with_one);
      if (statistic.adjacency == Adjacency::replace_one) {
        for (const auto& another : records) {
          auto with_another = other;
          with_another.push_back(another);
          meet(with_one, with_another);
        }
      }
    }
  }
  return result;
}

TEST(StatisticSum, MovesAtMostByItsSensitivityAndReachesIt) {
  for (const auto& statistic : statistics()) {
    const bool counts = example(statistic).counts();
    for (const double noise : {1e-3, 1.0, 1e9}) {
      const Grid grid = grid_for(statistic, NoiseMultiplier{noise});
      const StatisticSum sum{statistic, grid};
      const auto found = reach(statistic, grid);
      const double l1 = sum.l1_sensitivity().value();
      const double l2 = sum.l2_sensitivity().value();
      const std::string said = describe(statistic) + " under " + std::string{name(statistic.adjacency)};
      EXPECT_LE(found.l1, l1) << said;
      EXPECT_LE(found.l2, l2) << said;
      EXPECT_GE(found.l1, 0.99 * l1) << said;
      EXPECT_GE(found.l2, 0.99 * l2) << said;
      if (counts) break;
    }
  }
}

TEST(StatisticSum, HasTheDocumentedSensitivities) {
  const auto of = [](const auto& asked, Adjacency adjacency, bool has_condition) {
    const auto sum = example({.of = asked, .where = has_condition ? std::optional{condition} : std::nullopt, .adjacency = adjacency});
    return std::pair{sum.l1_sensitivity().value(), sum.l2_sensitivity().value()};
  };
  const double root = std::nextafter(std::sqrt(2.0), 2);
  const auto expect_near = [](std::pair<double, double> found, double l1, double l2) {
    EXPECT_NEAR(found.first, l1, 1e-6 * l1);
    EXPECT_NEAR(found.second, l2, 1e-6 * l2);
  };
  const SumOf sum{"x", {20, 100}};
  const MeanOf mean{"x", {20, 100}};
  const HistogramOf histogram{"x", Bins{{0, 1}, 3}};
  for (const bool has_condition : {false, true}) {
    for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::zero_out}) {
      expect_near(of(sum, adjacency, has_condition), 100, 100);
      EXPECT_EQ(of(histogram, adjacency, has_condition), (std::pair{1.0, 1.0}));
    }
    EXPECT_EQ(of(histogram, Adjacency::replace_one, has_condition).first, 2);
    EXPECT_LE(of(histogram, Adjacency::replace_one, has_condition).second, root);
    EXPECT_GE(of(histogram, Adjacency::replace_one, has_condition).second, std::sqrt(2.0));
  }
  expect_near(of(sum, Adjacency::replace_one, false), 80, 80);
  expect_near(of(sum, Adjacency::replace_one, true), 100, 100);
  expect_near(of(mean, Adjacency::replace_one, false), 80, 80);
  expect_near(of(mean, Adjacency::replace_one, true), 80, 80);
  expect_near(of(mean, Adjacency::zero_out, false), 100, 100);
  expect_near(of(mean, Adjacency::zero_out, true), 80, 40 * std::sqrt(2.0));
  expect_near(of(mean, Adjacency::add_or_remove_one, false), 80, 40 * std::sqrt(2.0));
  for (const auto adjacency : all_adjacencies) EXPECT_EQ(of(CountOf{}, adjacency, true), (std::pair{1.0, 1.0}));
}

RC_GTEST_PROP(StatisticSum, DoesNotDependOnTheOrder, (std::vector<double> numbers)) {
  const Statistic statistic{.of = MeanOf{"x", {-2, 5}}, .where = condition, .adjacency = Adjacency::replace_one};
  std::vector<Record> records;
  for (const double number : numbers) records.push_back({.number = number});
  const Grid grid = grid_for(statistic, NoiseMultiplier{0.1});
  const auto forward = exact(statistic, grid, records);
  std::reverse(records.begin(), records.end());
  RC_ASSERT(exact(statistic, grid, records) == forward);
}

TEST(StatisticSum, ClampsAndCountsFromTheOrigin) {
  const Statistic statistic{.of = SumOf{"x", {-1, 3}}, .adjacency = Adjacency::add_or_remove_one};
  StatisticSum sum{statistic, Grid{-4}};
  for (const double number : {5.0, -7.0, 0.5, nan, -0.0, 5e-324}) sum.add(number);
  EXPECT_EQ(sum.sum().steps, (std::vector<std::int64_t>{3 * 16 - 16 + 8 - 16}));
  StatisticSum centred{{.of = SumOf{"x", {-1, 3}}, .adjacency = Adjacency::replace_one}, Grid{-4}};
  for (const double number : {5.0, -7.0, 0.5}) centred.add(number);
  EXPECT_EQ(centred.sum().steps, (std::vector<std::int64_t>{2 * 16 - 2 * 16 - 8}));
}

TEST(StatisticSum, PutsEachNumberIntoOneBin) {
  const Statistic statistic{.of = HistogramOf{"x", Bins{{0, 10}, 5}}, .adjacency = Adjacency::replace_one};
  StatisticSum sum{statistic, Grid{0}};
  for (const double number : {-infinity, nan, 0.0, 1.9, 2.0, 4.0, 7.9, 8.0, 10.0, 11.0, infinity}) sum.add(number);
  EXPECT_EQ(sum.sum().steps, (std::vector<std::int64_t>{4, 1, 1, 1, 4}));
  EXPECT_EQ(sum.names(), (std::vector<std::string>{"[0, 2)", "[2, 4)", "[4, 6)", "[6, 8)", "[8, 10]"}));
  EXPECT_EQ(edges({{0, 1}, 10})[7], 0.7);
}

TEST(StatisticSum, DropsTextsThatAreNotListed) {
  const Statistic statistic{.of = HistogramOf{"x", Categories{{"1", "2"}}}, .adjacency = Adjacency::replace_one};
  StatisticSum sum{statistic, Grid{0}};
  for (const char* text : {"1", "2", "1.0", " 1", "", "1"}) sum.add(std::string{text});
  EXPECT_EQ(sum.sum().steps, (std::vector<std::int64_t>{2, 1}));
}

/// P(|noise| > t) for rounded noise of step g.
double exceeds(const StatisticNoise& noise, double t, double step) {
  const double x = t + step / 2;
  if (name(noise) == "gaussian") return std::erfc(x / (standard_deviation(noise) * std::sqrt(2.0)));
  return std::exp(-x * std::sqrt(2.0) / standard_deviation(noise));
}

TEST(Quantile, IsTheSmallestMultipleOfTheStepThatSuffices) {
  const auto count = example({.of = CountOf{}, .adjacency = Adjacency::add_or_remove_one});
  const auto mean = example({.of = MeanOf{"x", {-3, 4}}, .adjacency = Adjacency::replace_one}, 7);
  for (const StatisticSum* sum : {&count, &mean}) {
    const double step = sum->grid().step();
    for (const double scale : {0.01, 0.4, 3.0, 1234.5}) {
      for (const auto& noise : {laplace(*sum, scale), gaussian(*sum, scale)}) {
        for (const double exceeded : {0.5, 0.05, 1e-9}) {
          const double t = quantile(noise, exceeded);
          EXPECT_EQ(std::fmod(t, step), 0);
          EXPECT_LE(exceeds(noise, t, step), exceeded * (1 + 1e-12));
          if (t > 0) {
            EXPECT_GT(exceeds(noise, t - step, step), exceeded * (1 - 1e-12)) << scale << " " << exceeded;
          }
        }
      }
    }
  }
}

/// How often the interval of each number holds the exact one, in `runs` replays.
std::vector<double> coverage(const StatisticSum& sum, const std::vector<double>& truth, const StatisticNoise& noise, double confidence,
                             std::uint64_t records, int runs) {
  std::vector<double> covered(truth.size());
  const double reach = sum.reach(noise, confidence);
  const auto exact_sum = sum.sum();
  ReplayBits bits{20240229};
  for (int run = 0; run < runs; ++run) {
    const auto released = std::visit([&](const auto& mechanism) { return mechanism.release(exact_sum, bits); }, noise);
    const auto estimates = sum.estimates(released, reach, records);
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

// A mean that is clamped to its bounds, and a ratio whose interval is a union bound, cover at least as often.
TEST(Estimates, OfMeansCoverAtLeastAsOften) {
  constexpr double confidence = 0.99;  // where an interval that forgets the count falls short by several standard errors
  const Bounds bounds{-1, 3};
  for (const auto adjacency : all_adjacencies) {
    for (const auto& where : {std::optional<LabelRule>{}, std::optional{condition}}) {
      const Statistic statistic{.of = MeanOf{"x", bounds}, .where = where, .adjacency = adjacency};
      for (const auto& numbers : {std::vector<double>{3, 3, 3}, std::vector<double>{1.5}, std::vector<double>(200, -0.75)}) {
        for (const double scale : {0.02, 2.0}) {
          auto sum = example(statistic, scale);
          for (const double number : numbers) sum.add(number);
          for (const auto& noise : {laplace(sum, scale), gaussian(sum, scale)}) {
            const auto covered = coverage(sum, {numbers.front()}, noise, confidence, numbers.size(), runs).front();
            EXPECT_GE(covered, confidence - five_errors(confidence)) << describe(statistic) << " " << name(noise) << " " << scale;
          }
        }
      }
    }
  }
}

TEST(Estimates, OfACountThatMayBeNoneAreTheBounds) {
  auto sum = example({.of = MeanOf{"x", {0, 8}}, .adjacency = Adjacency::add_or_remove_one});
  const auto noise = laplace(sum, 0.01);
  const auto none = sum.estimates({0, -400}, sum.reach(noise, 0.9), 0).front();
  EXPECT_EQ(none.lower, 0);
  EXPECT_EQ(none.upper, 8);
  EXPECT_TRUE(none.value >= 0 && none.value <= 8);
}

TEST(Estimates, ReachAsFarAsTheNoise) {
  const auto sum = example({.of = CountOf{}, .adjacency = Adjacency::add_or_remove_one});
  const auto estimate = sum.estimates({5}, 5, 0).front();
  EXPECT_EQ(estimate.value, 5);
  EXPECT_EQ(estimate.upper, 10);
  EXPECT_EQ(estimate.lower, 0);
  EXPECT_FALSE(std::signbit(estimate.lower));
}

TEST(Estimates, AreInfiniteWhereASumMayHaveSaturatedAndNowhereElse) {
  for (const auto& statistic : statistics()) {
    auto sum = example(statistic);
    const double reach = sum.reach(gaussian(sum, 1), 1 - 0x1p-53);
    for (const double value : {0.0, 0x1p61, -0x1p61, 0x1p62, -0x1p62}) {
      const bool is_open = std::abs(value) == 0x1p62 && !std::holds_alternative<MeanOf>(statistic.of);
      const std::vector<double> released(sum.sum().steps.size(), value * sum.grid().step());
      for (const auto& estimate : sum.estimates(released, reach, 1)) {
        EXPECT_TRUE(std::isfinite(estimate.value));
        EXPECT_EQ(estimate.lower == -infinity, is_open && value < 0);
        EXPECT_EQ(estimate.upper == infinity, is_open && value > 0);
        EXPECT_TRUE(estimate.lower <= estimate.value && estimate.value <= estimate.upper) << describe(statistic);
      }
    }
  }
}

TEST(Release, SpendsBeforeItDraws) {
  const TemporaryFolder folder;
  auto sum = example({.of = CountOf{}, .adjacency = Adjacency::add_or_remove_one});
  for (int i = 0; i < 1000; ++i) sum.add();
  const auto noise = laplace(sum, 2);
  auto ledger = accounting::Ledger::create(folder / "run.db", Adjacency::add_or_remove_one);
  auto reservation = ledger.reserve({.event = event_of(noise)});
  ReplayBits bits{7};
  EXPECT_NEAR(release(sum, noise, reservation, bits).front(), 1000, 100);
  EXPECT_TRUE(refuses([&] { return release(sum, noise, reservation, bits); }, ErrorCode::internal, {"laplace(2)"}));
  EXPECT_EQ(reservation.released().event(), event_of(noise));
}

TEST(Noise, IsItsEventAndNoOther) {
  auto sum = example({.of = HistogramOf{"x", Bins{{0, 1}, 3}}, .adjacency = Adjacency::replace_one});
  EXPECT_EQ(describe(event_of(laplace(sum, 0.75))), "laplace(0.75)");
  EXPECT_EQ(describe(event_of(gaussian(sum, 4))), "gaussian(4)");
  EXPECT_NEAR(standard_deviation(laplace(sum, 0.75)), 0.75 * 2 * std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(standard_deviation(gaussian(sum, 4)), 4 * std::sqrt(2.0), 1e-12);
  EXPECT_TRUE(refuses([&] { return noise_for(sum, surety::release(Event::Pure{Epsilon{1}}, Adjacency::replace_one)); },
                      ErrorCode::unsupported, {"pure(1)"}));
}

TEST(Statistic, RefusesWhatHasNoMeaning) {
  const auto refused = [](const auto& of, const std::vector<std::string_view>& words) {
    return refuses([&] { Statistic{.of = of, .adjacency = Adjacency::replace_one}.validate(); }, ErrorCode::invalid_argument, words);
  };
  for (const Bounds bounds : {Bounds{1, 1}, Bounds{2, 1}, Bounds{nan, 1}, Bounds{0, nan}, Bounds{-infinity, 0}, Bounds{0, infinity},
                              Bounds{-1e308, 1e308}, Bounds{0, 5e-324}}) {
    EXPECT_TRUE(refused(SumOf{"x", bounds}, {"bounds are", "must ascend"}));
    EXPECT_TRUE(refused(MeanOf{"x", bounds}, {"bounds are"}));
    EXPECT_TRUE(refused(HistogramOf{"x", Bins{bounds, 2}}, {"bounds are"}));
  }
  EXPECT_TRUE(refused(HistogramOf{"x", Bins{{0, 1}, 1}}, {"bins is 1", "from 2"}));
  EXPECT_TRUE(refused(HistogramOf{"x", Bins{{1, 1 + 0x1p-50}, 1000}}, {"1000 bins", "fewer"}));
  EXPECT_TRUE(refused(HistogramOf{"x", Categories{}}, {"empty"}));
  EXPECT_TRUE(refused(HistogramOf{"x", Categories{{"a", ""}}}, {"empty"}));
  EXPECT_TRUE(refused(HistogramOf{"x", Categories{{"a", "b", "a"}}}, {"twice"}));
  EXPECT_TRUE(refused(CountOf{}, {"public under replace-one", "add-or-remove-one"}));
  EXPECT_TRUE(refuses([] { Statistic{.of = CountOf{}, .adjacency = Adjacency::zero_out}.validate(); }, ErrorCode::invalid_argument,
                      {"public under zero-out"}));
  EXPECT_TRUE(refuses([] { Statistic{.of = CountOf{}, .where = parse_label_rule("x"), .adjacency = Adjacency::zero_out}.validate(); },
                      ErrorCode::invalid_argument, {"'x'", "comparison"}));
  EXPECT_TRUE(refuses(
      [] {
        return StatisticSum{{.of = SumOf{"x", {0, 1}}, .adjacency = Adjacency::replace_one}, Grid{-60}};
      },
      ErrorCode::invalid_argument, {"grid steps", "2^40"}));
}

using Values = std::vector<double>;

/// The sum that a file of so many records gives.
template <class Of>
Values values_of(const std::filesystem::path& data, std::uint64_t records, const Of& of, const char* where, Adjacency adjacency) {
  auto sum = example({.of = of, .where = *where == 0 ? std::nullopt : std::optional{parse_label_rule(where)}, .adjacency = adjacency});
  EXPECT_EQ(read_statistic(data, sum), records);
  return mechanisms::to_reals(sum.sum());
}

TEST(ReadStatistic, CountsWhatMeetsTheCondition) {
  const TemporaryFolder folder;
  const auto data = folder.write("data.csv", "x,y,colour\n1,2,red\n0,5,blue\n3,-4,red\n4,-0,\n");
  const auto read = [&](const auto& of, const char* where, Adjacency adjacency) { return values_of(data, 4, of, where, adjacency); };
  EXPECT_EQ(read(CountOf{}, "", Adjacency::add_or_remove_one), Values{4});
  EXPECT_EQ(read(CountOf{}, "x>=1", Adjacency::replace_one), Values{3});
  EXPECT_EQ(read(CountOf{}, "x>9", Adjacency::replace_one), Values{0});
  EXPECT_EQ(read(SumOf{"y", {-1, 3}}, "x!=3", Adjacency::replace_one), Values{2 + 3 + 0});
  EXPECT_EQ(read(HistogramOf{"colour", Categories{{"red", "green"}}}, "", Adjacency::replace_one), (Values{2, 0}));
  EXPECT_EQ(read(HistogramOf{"y", Bins{{0, 4}, 2}}, "", Adjacency::replace_one), (Values{2, 2}));
}

// Records of 2^40 steps, one after the other, until the sum is beyond what fits.
TEST(StatisticSum, OpensTheIntervalOfASumThatMayHaveSaturated) {
  const Grid finest{.log2_step = -33};
  const Bounds bounds{-1, 127};
  const double truth = 127 * 5e6;
  const StatisticSum mean{{.of = MeanOf{"x", bounds}, .adjacency = Adjacency::zero_out}, finest};
  StatisticSum sum{{.of = SumOf{"x", bounds}, .adjacency = Adjacency::add_or_remove_one}, finest};
  for (int k = 0; k < 5'000'000; ++k) sum.add(127);
  const double saturated = mechanisms::to_reals(sum.sum()).front();
  EXPECT_EQ(saturated, 0x1p29);
  for (const double reach : {0.0, 1.0, 1e3}) {
    for (const double noise : {-reach, 0.0, reach}) {
      const double released = std::min(saturated + noise, 0x1p29);
      const auto above = sum.estimates({released}, reach, 0).front();
      EXPECT_TRUE(above.lower <= released && above.lower <= truth);
      EXPECT_EQ(above.upper, infinity);
      const auto below = sum.estimates({-released}, reach, 0).front();
      EXPECT_EQ(below.lower, -infinity);
      EXPECT_EQ(below.upper, -above.lower);
      const auto average = mean.estimates({released}, reach, 5'000'000).front();
      EXPECT_LT(average.lower, 127);
      EXPECT_EQ(average.upper, 127);
      EXPECT_EQ(mean.estimates({-released}, reach, 5'000'000).front().lower, -1);
    }
  }
  const auto inside = sum.estimates({0x1p28}, 5, 0).front();
  EXPECT_NEAR(inside.lower, 0x1p28 - 5, 1e-6);
  EXPECT_NEAR(inside.upper, 0x1p28 + 5, 1e-6);
  // A sum and a count of which neither can be told.
  const StatisticSum ratio{{.of = MeanOf{"x", bounds}, .adjacency = Adjacency::add_or_remove_one}, finest};
  for (const auto& released : {std::vector<double>{0x1p29, 0x1p29}, {0, 0x1p29}, {0x1p29, 0x1p28}, {-0x1p29, 0x1p28}}) {
    const auto estimate = ratio.estimates(released, 1, 0).front();
    EXPECT_EQ(estimate.lower, -1);
    EXPECT_EQ(estimate.upper, 127);
  }
}

TEST(ReadStatistic, GivesDamagedCellsTheirStatedValues) {
  const TemporaryFolder folder;
  const auto data = folder.write("data.csv", "x,y\n1,2\nred,5\n2,1e400\n3\n\n\"4\n5\",7\n1e-400,8\n2,\"9\"\n\"2,2\n");
  const auto read = [&](const auto& of, const char* where, Adjacency adjacency) { return values_of(data, 9, of, where, adjacency); };
  EXPECT_EQ(read(CountOf{}, "", Adjacency::add_or_remove_one), Values{9});
  EXPECT_EQ(read(CountOf{}, "x!=1000", Adjacency::replace_one), Values{4});
  EXPECT_EQ(read(SumOf{"x", {-4, 4}}, "", Adjacency::zero_out), Values{1 + 2 + 2});
  EXPECT_EQ(read(SumOf{"x", {1, 3}}, "", Adjacency::add_or_remove_one), Values{1 + 1 + 2 + 1 + 1 + 1 + 1 + 2 + 1});
  EXPECT_EQ(read(SumOf{"x", {-3, -1}}, "y>4", Adjacency::add_or_remove_one), Values{-1 - 1 - 1 - 1});
  EXPECT_EQ(read(HistogramOf{"x", Bins{{0, 4}, 2}}, "", Adjacency::zero_out), (Values{2, 2}));
  EXPECT_EQ(read(HistogramOf{"x", Categories{{"red", "3"}}}, "", Adjacency::replace_one), (Values{1, 0}));
}

TEST(ReadStatistic, ReadsEveryRowStrictlyWhereTheFormIsPublic) {
  const TemporaryFolder folder;
  const auto expect_bad = [&](const std::string& text, const std::vector<std::string_view>& words) {
    const auto data = folder.write("bad.csv", text);
    auto sum = example({.of = SumOf{"y", {0, 1}}, .where = condition, .adjacency = Adjacency::replace_one});
    EXPECT_TRUE(refuses([&] { return read_statistic(data, sum, public_form); }, ErrorCode::bad_data, words)) << text;
  };
  expect_bad("x,z\n1,1\n", {"'y' is missing"});
  expect_bad("x,y\n", {"no records"});
  for (const std::string cell : {"nan", "inf", "1e999", "red"}) {
    expect_bad("x,y\n1,1\n0," + cell + "\n", {"row 2", "'y'", cell});  // also where the condition is not met
    expect_bad("x,y\n1,1\n" + cell + ",1\n", {"row 2", "'x'", cell});
  }
  expect_bad("x,y\n1,1\n0,\n", {"row 2", "empty"});
  expect_bad("x,y\n1,1\n\n", {"row 2 (line 3) is empty"});
  // An empty file is a neighbour of one with one record, where the number of records is private.
  const auto empty = folder.write("empty.csv", "x,y\n");
  auto sum = example({.of = MeanOf{"y", {0, 1}}, .adjacency = Adjacency::add_or_remove_one});
  EXPECT_EQ(read_statistic(empty, sum), 0U);
}

}  // namespace
}  // namespace surety::statistics::statistics_test
