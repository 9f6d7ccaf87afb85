#include <surety/statistics/parts.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <support/every_statistic.h>
#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::statistics::parts_test {

using namespace data;

namespace {

using mechanisms::ReplayBits;

constexpr auto adjacency = Adjacency::add_or_remove_one;

WeightedStatistic count_of(const char* condition, double weight = 1) {
  return {.statistic = {.of = CountOf{}, .where = parse_condition(condition), .adjacency = adjacency}, .weight = weight};
}

TEST(EventOfQueries, IsThatOfOneQueryOrTheCompositionOfAll) {
  const std::vector<WeightedStatistic> one{count_of("x>0")};
  EXPECT_EQ(describe(event_of(one, NoiseFamily::gaussian, 3)), "gaussian(3)");
  EXPECT_EQ(describe(event_of(one, NoiseFamily::laplace, 3)), "laplace(3)");
  const std::vector<WeightedStatistic> three{count_of("x>0"), count_of("x>1", 4), count_of("x>2")};
  EXPECT_EQ(describe(event_of(three, NoiseFamily::gaussian, 3)), "compose(gaussian(1.5), repeat(2, gaussian(3)))");
  EXPECT_EQ(describe(event_of(three, NoiseFamily::laplace, 3)), "compose(laplace(1.5), repeat(2, laplace(3)))");
}

TEST(WeightedStatistic, RefusesAWeightOutOfRange) {
  for (const double bad : {0.0, -1.0, 1e-7, 1e7, std::nan("")}) {
    EXPECT_TRUE(refuses([&] { count_of("x>0", bad).validate(); }, ErrorCode::invalid_argument, {"weight"})) << bad;
  }
}

TEST(PartFacts, NameTheUnitOfDeclaredDates) {
  const auto units = [](const auto& of, const std::vector<std::string>& dates) {
    const WeightedStatistic query{.statistic = {.of = of, .adjacency = adjacency, .by = Groups{"d", Bins{{0, 9}, 3}}, .dates = dates}};
    return parts_of({query}, NoiseFamily::laplace, 1, 0.95).front()->facts().column_units;
  };
  using Units = std::map<std::string, std::string>;
  const Units days{{"d", "days since 1970-01-01"}};
  for (const auto& dates : {std::vector<std::string>{}, {"d"}}) {
    const auto& expected = dates.empty() ? Units{} : days;
    EXPECT_EQ(units(CountOf{}, dates), expected);
    EXPECT_EQ(units(SumOf{"d", {0, 9}}, dates), expected);
    EXPECT_EQ(units(MeanOf{"d", {0, 9}}, dates), expected);
    EXPECT_EQ(units(QuantileOf{"d", {0, 9}, Fraction::median(), 11}, dates), expected);
    EXPECT_EQ(units(HistogramOf{"d", Bins{{0, 9}, 3}}, dates), expected);
  }
  EXPECT_EQ(units(VarianceOf{"x", {0, 9}}, {"d"}), days);
  EXPECT_EQ(units(VarianceOf{"d", {0, 9}}, {"d"}), (Units{{"d", "days since 1970-01-01; a variance is in square days"}}));
}

/// Answers that are as near as noise of scale 1e-3 leaves them, of a file that is read once.
std::vector<std::vector<Answer>> answers(const std::filesystem::path& data, const std::vector<WeightedStatistic>& queries,
                                         accounting::Ledger& ledger, ReplayBits& bits) {
  constexpr double scale = 1e-3;
  const auto parts = parts_of(queries, NoiseFamily::laplace, scale, 0.95);
  static_cast<void>(read_parts(CsvReader{data, {}}, parts, false));
  auto reservation = ledger.reserve({.event = event_of(queries, NoiseFamily::laplace, scale)});
  std::vector<std::vector<Answer>> result;
  for (const auto& part : parts) result.push_back(part->release(reservation, bits, 0));
  // All that was planned is spent, and no more can be.
  EXPECT_EQ(reservation.released().event(), event_of(queries, NoiseFamily::laplace, scale));
  EXPECT_TRUE(refuses([&] { return parts.front()->release(reservation, bits, 0); }, ErrorCode::budget_exceeded, {"laplace"}));
  return result;
}

TEST(Parts, ReadEachRowForAllQueries) {
  const TemporaryFolder folder;
  const auto data = folder.write("data.csv", "x,g,h\n1,a,0\n2,b,5\nred,a,7\n4,c,9\n5,a,none\n\n7,b,3\n");
  auto ledger = accounting::Ledger::create(folder / "run.db", adjacency);
  ReplayBits bits{3};
  const Groups keys{"g", Categories{{"a", "b"}}};
  const Groups bins{"h", Bins{{0, 10}, 2}};
  const auto found = answers(data,
                             {count_of("x>1"),
                              {.statistic = {.of = SumOf{"x", {0, 10}}, .adjacency = adjacency, .by = keys}, .weight = 2},
                              {.statistic = {.of = MeanOf{"x", {0, 10}}, .adjacency = adjacency, .by = bins}},
                              {.statistic = {.of = HistogramOf{"g", Categories{{"a", "c"}}}, .adjacency = adjacency, .by = bins}}},
                             ledger, bits);
  const auto expect = [](const Answer& answer, const std::string& group, const std::string& cell, double value) {
    EXPECT_EQ(answer.group, group);
    EXPECT_EQ(answer.cell, cell);
    EXPECT_NEAR(answer.estimate.value, value, 0.25);
    EXPECT_LE(answer.estimate.lower, answer.estimate.value);
    EXPECT_GE(answer.estimate.upper, answer.estimate.value);
  };
  ASSERT_EQ(found[0].size(), 1U);
  expect(found[0][0], "", "", 4);
  ASSERT_EQ(found[1].size(), 2U);
  expect(found[1][0], "a", "", 1 + 5);  // a record without a number is none
  expect(found[1][1], "b", "", 2 + 7);
  ASSERT_EQ(found[2].size(), 2U);
  expect(found[2][0], "[0, 5)", "", (1 + 7) / 2.0);
  expect(found[2][1], "[5, 10]", "", (2 + 4) / 2.0);
  ASSERT_EQ(found[3].size(), 4U);
  expect(found[3][0], "[0, 5)", "a", 1);
  expect(found[3][1], "[0, 5)", "c", 0);
  expect(found[3][2], "[5, 10]", "a", 1);
  expect(found[3][3], "[5, 10]", "c", 1);
}

TEST(Parts, RefuseAFileWithoutRowsWhereTheirNumberIsPublic) {
  const TemporaryFolder folder;
  const auto empty = folder.write("empty.csv", "x\n");
  const auto parts = parts_of({count_of("x>0")}, NoiseFamily::laplace, 1, 0.95);
  EXPECT_EQ(read_parts(CsvReader{empty, {}}, parts, false), 0U);
  EXPECT_TRUE(refuses([&] { return read_parts(CsvReader{empty, {}}, parts, true); }, ErrorCode::bad_data, {"no records"}));
  const auto other = folder.write("other.csv", "y\n1\n");
  EXPECT_TRUE(refuses([&] { return read_parts(CsvReader{other, {}}, parts, false); }, ErrorCode::bad_data, {"'x' is missing"}));
}

// Where records are replaced or come and go an empty line is a record like any, of a 0; where they are zeroed it is one that was.
TEST(Parts, CountAZeroedRecordNowhere) {
  const TemporaryFolder folder;
  const auto data = folder.write("data.csv", "x\n10\n10\n\n\n\n");
  for (const auto each : {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out}) {
    const UnitOfPrivacy unit{"owner", Count{2}};  // whose number of rows is private
    std::vector<WeightedStatistic> queries;
    const Bounds bounds{0, 10};
    queries.push_back({.statistic = {.of = MeanOf{"x", bounds}, .adjacency = each, .unit = unit}});
    queries.push_back({.statistic = {.of = VarianceOf{"x", bounds}, .adjacency = each, .unit = unit}});
    queries.push_back({.statistic = {.of = QuantileOf{"x", bounds, Fraction::median()}, .adjacency = each, .unit = unit}});
    queries.push_back({.statistic = {.of = SumOf{"x", bounds}, .adjacency = each, .unit = unit}});
    for (auto& query : queries) query.statistic.missing = MissingCells::promised_complete;
    auto ledger = accounting::Ledger::create(folder / (std::string{name(each)} + ".db"), each);
    ReplayBits bits{5};
    const auto found = answers(data, queries, ledger, bits);
    const bool is_zero_out = each == Adjacency::zero_out;
    EXPECT_NEAR(found[0][0].estimate.value, is_zero_out ? 10 : 4, 0.25) << name(each);
    EXPECT_NEAR(found[1][0].estimate.value, is_zero_out ? 0 : 24, 1) << name(each);
    EXPECT_NEAR(found[2][0].estimate.value, is_zero_out ? 10 : 0, 0.25) << name(each);
    EXPECT_NEAR(found[3][0].estimate.value, 20, 0.25) << name(each);
  }
}

// Under every adjacency a cell without a number is no record, unless the statistic says that it counts.
TEST(Parts, LeaveOutMissingCells) {
  const TemporaryFolder folder;
  const auto data = folder.write("data.csv", "x,y\n500,1\n400,1\n,1\nNA,1\n600,1\n\n\"1,5\",1\n");
  const Bounds bounds{300, 600};
  for (const auto each : {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out}) {
    for (const auto missing : {MissingCells::left_out, MissingCells::promised_complete}) {
      std::vector<WeightedStatistic> queries;
      for (const auto& of : std::vector<decltype(Statistic::of)>{MeanOf{"x", bounds}, VarianceOf{"x", bounds}, SumOf{"x", bounds},
                                                                 QuantileOf{"x", bounds, Fraction{0.3}}}) {
        queries.push_back({.statistic = {.of = of, .adjacency = each, .missing = missing}});
      }
      const auto parts = parts_of(queries, NoiseFamily::laplace, 1e-4, 0.95);
      const auto records = read_parts(CsvReader{data, {}}, parts, true);
      EXPECT_EQ(records, 7U);
      auto ledger = accounting::Ledger::create(folder / fmt::format("{}{}.db", name(each), missing == MissingCells::left_out), each);
      auto reservation = ledger.reserve({.event = event_of(queries, NoiseFamily::laplace, 1e-4)});
      ReplayBits bits{5};
      std::vector<double> values;
      for (const auto& part : parts) values.push_back(part->release(reservation, bits, records).front().estimate.value);
      const bool is_left_out = missing == MissingCells::left_out;
      const std::string said = fmt::format("{} {}", name(each), is_left_out);
      const bool is_zero_out = each == Adjacency::zero_out;
      if (is_left_out) {
        EXPECT_NEAR(values[0], 500, 1) << said;
        EXPECT_NEAR(values[1], 20000 / 3.0, 50) << said;
        EXPECT_NEAR(values[2], 1500, 1) << said;
        EXPECT_NEAR(values[3], 400, 1) << said;
      } else {
        // Four more of 300; of a quantile a zeroed record is none.
        EXPECT_NEAR(values[0], 2700 / 7.0, 1) << said;
        EXPECT_NEAR(values[2], 2700, 1) << said;
        EXPECT_NEAR(values[3], is_zero_out ? 400 : 300, 1) << said;
      }
      EXPECT_EQ(parts[0]->facts().missing_cells, missing);
      EXPECT_EQ(parts[0]->facts().column, "x");
      EXPECT_EQ(parts[0]->facts().other_cells, "numbers are clamped to [300, 600]");
    }
  }
}

// A missing cell that counts as a text is none of a quantile, as of a sum.
TEST(Parts, RefuseATextInThePlaceOfANumber) {
  const TemporaryFolder folder;
  const auto data = folder.write("data.csv", "x\n1\n\n");
  const Bounds bounds{0, 5};
  for (const auto& of : std::vector<decltype(Statistic::of)>{MeanOf{"x", bounds}, SumOf{"x", bounds}, VarianceOf{"x", bounds},
                                                             HistogramOf{"x", Bins{bounds, 2}}, QuantileOf{"x", bounds, Fraction{0.3}},
                                                             QuantileOf{"x", bounds, Fraction::median()}}) {
    const auto parts = parts_of({{.statistic = {.of = of, .adjacency = adjacency}}}, NoiseFamily::laplace, 1, 0.95);
    const DataPolicy policy{.csv = {.missing = {{"x", "foo"}}}};
    EXPECT_TRUE(refuses(
        [&] {
          return read_parts(CsvReader{data, policy}, parts, false);
        },
        ErrorCode::invalid_argument, {"'x'", "'foo'", "must count as a number"}));
  }
}

}  // namespace
}  // namespace surety::statistics::parts_test
