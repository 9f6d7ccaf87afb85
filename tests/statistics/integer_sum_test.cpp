#include <surety/statistics/integer_sum.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <support/every_statistic.h>
#include <support/refusal.h>

namespace surety::statistics::integer_sum_test {

using namespace data;

namespace {

const Condition condition = parse_condition("x>0");
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr auto all_adjacencies = {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out};

/// Every kind of statistic, with and without a condition, under each adjacency, as far as it is allowed.
std::vector<Statistic> statistics() {
  return every_statistic(condition, {Bounds{0, 100}, Bounds{-1.3, 0.7}, Bounds{10, 10.1}, Bounds{-7e200, -1e-3}},
                         {HistogramOf{"x", Bins{{0, 1}, 2}}, HistogramOf{"x", Bins{{-3, 11}, 7}}, HistogramOf{"x", Edges{{-1, 0, 0.5, 9}}},
                          HistogramOf{"x", Categories{{"red"}}}, HistogramOf{"x", Categories{{"red", "green", "blue"}}}});
}

/// Some of them for each of several groups.
std::vector<Statistic> grouped_statistics() {
  std::vector<Statistic> result;
  for (const auto& statistic : every_statistic(condition, {Bounds{0, 100}, Bounds{-1.3, 0.7}, Bounds{10, 10.1}},
                                               {HistogramOf{"x", Bins{{0, 1}, 2}}, HistogramOf{"x", Categories{{"red"}}}})) {
    for (const Cells& keys :
         {Cells{Categories{{"a"}}}, Cells{Categories{{"a", "b", "d"}}}, Cells{Bins{{0, 1}, 2}}, Cells{Edges{{0, 0.25, 1}}}}) {
      result.push_back(statistic);
      result.back().by = {"y", keys};
    }
  }
  for (const auto adjacency : all_adjacencies) {
    result.push_back({.of = CountOf{}, .adjacency = adjacency, .by = Groups{"y", Categories{{"a", "b"}}}});
  }
  return result;
}

/// Records that reach every corner of a statistic, and cells that no statistic likes.
std::vector<Record> corners(const Statistic& statistic) {
  std::vector<double> numbers{-infinity, -1e308, -0.0, 5e-324, 0.5, 1, 6, 1e308, infinity, nan};
  if (statistic.by) numbers = {-infinity, 0.25, 6};
  if (const auto* const bounds = bounds_of(statistic)) {
    const double width = bounds->upper - bounds->lower;
    // The two last ones are where a change from the upper bound moves the parts of a variance most.
    numbers.insert(numbers.end(), {bounds->lower, bounds->upper, (bounds->lower + bounds->upper) / 2,
                                   bounds->lower + 0.4267766952966369 * width, bounds->lower + 0.375 * width});
  }
  std::vector<Record> result;
  for (const double number : numbers) result.push_back({.meets = true, .number = number, .text = number > 0 ? "red" : "none"});
  result.push_back({.meets = true, .number = 3, .text = "blue"});
  result.push_back({.is_damaged = true});
  if (statistic.where) result.push_back({.meets = false});
  if (!statistic.by) return result;
  std::vector<Record> in_groups;
  for (const char* group : {"a", "b", "c"}) {
    for (auto record : result) {
      record.group = group;
      record.group_number = record.group == "a" ? 0 : 6;
      in_groups.push_back(record);
    }
  }
  return in_groups;
}

struct Reach {
  double l1 = 0;
  double l2 = 0;
};

using Vector = std::vector<std::int64_t>;

/// What a unit may add to a sum: the sums over every choice of at most `most` of the records, or of exactly as many.
std::vector<Vector> sums_of_units(const Statistic& statistic, Grid grid, NoiseLaw law, std::size_t most, bool exactly = false) {
  std::set<Vector> of_records;
  for (const auto& record : corners(statistic)) of_records.insert(exact(statistic, grid, {record}, law));
  std::set<Vector> all{exact(statistic, grid, {})};
  for (std::size_t records = 0; records < most; ++records) {
    std::set<Vector> more = exactly ? std::set<Vector>{} : all;
    for (const auto& sum : all) {
      for (const auto& record : of_records) {
        Vector together = sum;
        for (std::size_t i = 0; i < sum.size(); ++i) together[i] += record[i];
        more.insert(std::move(together));
      }
    }
    all = std::move(more);
  }
  return {all.begin(), all.end()};
}

/// The largest change over all neighbours, in data units, from the meaning of the adjacency: all rows of one unit come, or give way to zeros,
/// or to any others; where a unit is a row, to one row.
Reach reach(const Statistic& statistic, Grid grid, NoiseLaw law) {
  Reach result;
  const auto meet = [&](const Vector& left, const Vector& right) {
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
  const auto most = statistic.unit.most().value();
  const Vector none = exact(statistic, grid, {});
  if (statistic.adjacency == Adjacency::add_or_remove_one) {
    for (const auto& unit : sums_of_units(statistic, grid, law, most)) meet(none, unit);
  } else if (statistic.adjacency == Adjacency::zero_out) {
    // A zeroed record contributes zero, or it stands in the file as one without cells: it meets no condition and is in no group, but it is there.
    Vector zeroed = none;
    const Vector one = statistic.where || statistic.by ? none : exact(statistic, grid, {{.is_damaged = true}}, law);
    for (std::size_t records = 1; records <= most; ++records) {
      for (std::size_t i = 0; i < zeroed.size(); ++i) zeroed[i] += one[i];
      for (const auto& unit : sums_of_units(statistic, grid, law, records, true)) {
        meet(none, unit);
        meet(zeroed, unit);
      }
    }
  } else if (most == 1) {
    const auto records = corners(statistic);
    for (const auto& one : records) {
      for (const auto& another : records) meet(exact(statistic, grid, {one}, law), exact(statistic, grid, {another}, law));
    }
  } else {
    const auto units = sums_of_units(statistic, grid, law, most);
    for (const auto& one : units) {
      for (const auto& another : units) meet(one, another);
    }
  }
  return result;
}

void expect_tight(Statistic statistic, std::uint64_t most, const std::vector<double>& noises) {
  statistic.unit = most == 1 ? UnitOfPrivacy{} : UnitOfPrivacy{"patient", Count{most}};
  for (const double noise : noises) {
    const Grid grid = grid_for(statistic, NoiseMultiplier{noise});
    for (const auto law : {NoiseLaw::laplace, NoiseLaw::gaussian}) {
      const StatisticSum sum{statistic, grid, law};
      if (law == NoiseLaw::gaussian && sum.weight() == StatisticSum{statistic, grid}.weight()) break;
      const auto found = reach(statistic, grid, law);
      const double l1 = sum.l1_sensitivity().value();
      const double l2 = sum.l2_sensitivity().value();
      const std::string said =
          fmt::format("{} in {} groups under {} of {}, missing cells {}, weight {}", describe(statistic), sum.groups(),
                      name(statistic.adjacency), describe(statistic.unit), static_cast<int>(statistic.missing), sum.weight());
      EXPECT_LE(found.l1, l1) << said;
      EXPECT_LE(found.l2, l2) << said;
      EXPECT_GE(found.l1, 0.99 * l1) << said;
      EXPECT_GE(found.l2, 0.99 * l2) << said;
    }
    if (std::holds_alternative<CountOf>(statistic.of) || std::holds_alternative<HistogramOf>(statistic.of)) break;
  }
}

TEST(StatisticSum, MovesAtMostByItsSensitivityAndReachesIt) {
  for (const auto& statistic : statistics()) {
    expect_tight(statistic, 1, {1e-3, 1, 1e9});
    for (const std::uint64_t most : {2U, 3U}) expect_tight(statistic, most, {1});
  }
}

TEST(StatisticSum, OfGroupsMovesAtMostByItsSensitivityAndReachesIt) {
  for (const auto& statistic : grouped_statistics()) {
    for (const std::uint64_t most : {1U, 2U, 3U}) expect_tight(statistic, most, {1});
  }
}

// Records are added in integers, so what other records there are, and in which order, moves no neighbours.
RC_GTEST_PROP(StatisticSum, IsTheSumOfItsRecords, (std::vector<double> numbers)) {
  const Statistic statistic{.of = MeanOf{"x", {-2, 5}}, .where = condition, .adjacency = Adjacency::replace_one};
  const Grid grid = grid_for(statistic, NoiseMultiplier{0.1});
  std::vector<Record> records;
  Vector expected(2);
  for (const double number : numbers) {
    records.push_back({.number = number});
    const auto one = exact(statistic, grid, {records.back()});
    for (std::size_t i = 0; i < one.size(); ++i) expected[i] += one[i];
  }
  RC_ASSERT(exact(statistic, grid, records) == expected);
}

TEST(StatisticSum, HasAPrivateCountOfAUnitOfSeveralRows) {
  const UnitOfPrivacy patient{"patient", Count{5}};
  for (const auto adjacency : all_adjacencies) {
    const auto of = [&](const auto& asked) { return example({.of = asked, .adjacency = adjacency, .unit = patient}); };
    EXPECT_FALSE(of(MeanOf{"x", {20, 100}}).statistic().has_public_count());
    EXPECT_NEAR(of(SumOf{"x", {20, 100}}).l2_sensitivity().value(), 500, 1e-6);
    EXPECT_EQ(of(MeanOf{"x", {20, 100}}).sum().steps.size(), 2U);
  }
  Statistic of_one{.of = MeanOf{"x", {20, 100}}, .adjacency = Adjacency::replace_one, .unit = {"patient", Count{1}}};
  EXPECT_FALSE(of_one.has_public_count());
  of_one.missing = MissingCells::promised_complete;
  EXPECT_TRUE(of_one.has_public_count());
}

// Of every unit at least one row is used, also of one that takes another's place.
TEST(StatisticSum, CountsAllRowsAndMovesByOneLessThanAUnitMayHave) {
  const auto of = [](Adjacency adjacency, std::uint64_t most, std::optional<Condition> where, std::optional<Groups> by) {
    return example({.of = CountOf{}, .where = where, .adjacency = adjacency, .by = by, .unit = {"patient", Count{most}}});
  };
  const Groups all_but_one_row{"y", Categories{{"a"}}};
  for (const std::uint64_t most : {2U, 3U, 7U}) {
    const auto rows = static_cast<double>(most);
    double farthest = 0;
    for (std::uint64_t before = 1; before <= most; ++before) {
      for (std::uint64_t after = 1; after <= most; ++after) {
        auto one = of(Adjacency::replace_one, most, {}, {});
        auto other = one;
        for (std::uint64_t k = 0; k < before; ++k) one.add_to_count();
        for (std::uint64_t k = 0; k < after; ++k) other.add_to_count();
        farthest = std::max(farthest, std::abs(static_cast<double>(one.sum().steps[0] - other.sum().steps[0])));
      }
    }
    EXPECT_EQ(of(Adjacency::replace_one, most, {}, {}).l1_sensitivity().value(), farthest);
    EXPECT_EQ(of(Adjacency::replace_one, most, {}, {}).l2_sensitivity().value(), farthest);
    // Where a row may not be counted, all of a unit may come.
    EXPECT_EQ(of(Adjacency::replace_one, most, condition, {}).l1_sensitivity().value(), rows);
    EXPECT_EQ(of(Adjacency::replace_one, most, {}, all_but_one_row).l1_sensitivity().value(), rows);
    EXPECT_EQ(of(Adjacency::add_or_remove_one, most, {}, {}).l1_sensitivity().value(), rows);
    EXPECT_EQ(of(Adjacency::zero_out, most, condition, {}).l1_sensitivity().value(), rows);
    // A zeroed unit may keep one of its rows, or all.
    EXPECT_EQ(of(Adjacency::zero_out, most, {}, {}).l1_sensitivity().value(), farthest);
  }
}

TEST(StatisticSum, HasTheDocumentedSensitivities) {
  auto missing = MissingCells::promised_complete;
  const auto of = [&](const auto& asked, Adjacency adjacency, bool has_condition) {
    const auto sum = example(
        {.of = asked, .where = has_condition ? std::optional{condition} : std::nullopt, .adjacency = adjacency, .missing = missing});
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
  // Where records with a missing cell are left out, one may cease to be there; for a mean that is no larger a move than another number.
  missing = MissingCells::left_out;
  expect_near(of(sum, Adjacency::replace_one, false), 100, 100);
  expect_near(of(SumOf{"x", {300, 600}}, Adjacency::replace_one, false), 600, 600);
  expect_near(of(mean, Adjacency::replace_one, false), 80, 80);
  expect_near(of(mean, Adjacency::zero_out, false), 80, 40 * std::sqrt(2.0));
  expect_near(of(VarianceOf{"x", {20, 100}}, Adjacency::replace_one, false), 3.125 * 40, 40 * std::sqrt((71 + 8 * std::sqrt(2.0)) / 16));
}

// The count beside a mean under replace-one: M, and beside Gaussian noise sqrt 3 M, the most that does not widen the noise on the sum.
TEST(StatisticSum, WeighsTheCountAsFarAsItIsFree) {
  const Statistic mean{.of = MeanOf{"x", {20, 100}}, .adjacency = Adjacency::replace_one};
  const auto of = [](const Statistic& statistic, NoiseLaw law) { return example(statistic, 1, law); };
  const auto half = of(mean, NoiseLaw::laplace).farthest();
  EXPECT_EQ(of(mean, NoiseLaw::laplace).weight(), half);
  const auto weight = of(mean, NoiseLaw::gaussian).weight();
  EXPECT_EQ(weight, static_cast<std::int64_t>(std::sqrt(3.0) * static_cast<double>(half)));
  EXPECT_EQ(of(mean, NoiseLaw::gaussian).l2_sensitivity().value(), 80);
  // A record that leaves one group for another moves two counts, so there it is not free.
  Statistic grouped = mean;
  grouped.by = {"y", Categories{{"a", "b"}}};
  EXPECT_EQ(of(grouped, NoiseLaw::gaussian).weight(), half);
  for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::zero_out}) {
    Statistic other = mean;
    other.adjacency = adjacency;
    EXPECT_EQ(of(other, NoiseLaw::gaussian).weight(), half);
  }
}

TEST(StatisticSum, ClampsAndCountsFromTheOrigin) {
  const Statistic statistic{.of = SumOf{"x", {-1, 3}}, .adjacency = Adjacency::add_or_remove_one};
  StatisticSum sum{statistic, Grid{-4}};
  for (const double number : {5.0, -7.0, 0.5, nan, -0.0, 5e-324}) sum.add(number);
  EXPECT_EQ(sum.sum().steps, (std::vector<std::int64_t>{3 * 16 - 16 + 8 - 16}));
  StatisticSum centred{{.of = SumOf{"x", {-1, 3}}, .adjacency = Adjacency::replace_one, .missing = MissingCells::promised_complete},
                       Grid{-4}};
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

}  // namespace
}  // namespace surety::statistics::integer_sum_test
