#include <surety/statistics/reading.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <support/every_statistic.h>
#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::statistics::reading_test {

using namespace data;

namespace {

const Condition condition = parse_condition("x>0");

using Values = std::vector<double>;

/// The sum that a file of so many records gives.
template <class Of>
Values values_of(const std::filesystem::path& data, std::uint64_t records, const Of& of, const char* where, Adjacency adjacency,
                 MissingCells missing) {
  auto sum = example(
      {.of = of, .where = *where == 0 ? std::nullopt : std::optional{parse_condition(where)}, .adjacency = adjacency, .missing = missing});
  EXPECT_EQ(read_statistic(data, sum), records);
  return mechanisms::to_reals(sum.sum());
}

TEST(ReadStatistic, CountsWhatMeetsTheCondition) {
  const TemporaryFolder folder;
  const auto data = folder.write("data.csv", "x,y,colour\n1,2,red\n0,5,blue\n3,-4,red\n4,-0,\n");
  const auto read = [&](const auto& of, const char* where, Adjacency adjacency) {
    return values_of(data, 4, of, where, adjacency, MissingCells::left_out);
  };
  EXPECT_EQ(read(CountOf{}, "", Adjacency::add_or_remove_one), Values{4});
  EXPECT_EQ(read(CountOf{}, "x>=1", Adjacency::replace_one), Values{3});
  EXPECT_EQ(read(CountOf{}, "x>9", Adjacency::replace_one), Values{0});
  EXPECT_EQ(read(SumOf{"y", {-1, 3}}, "x!=3", Adjacency::replace_one), Values{2 + 3 + 0});
  EXPECT_EQ(read(HistogramOf{"colour", Categories{{"red", "green"}}}, "", Adjacency::replace_one), (Values{2, 0}));
  EXPECT_EQ(read(HistogramOf{"y", Bins{{0, 4}, 2}}, "", Adjacency::replace_one), (Values{2, 2}));
}

// The value of a row comes of its own cells, and a row without one has a missing cell.
TEST(ReadStatistic, OfAnExpressionReadsTheCellsOfOneRow) {
  const TemporaryFolder folder;
  const auto data = folder.write("data.csv", "x,y\n1,2\n3,\n,4\n5,0\nred,1\n7\n-3,2\n1e200,1e-200\n");
  const auto read = [&](const std::string& text, Bounds bounds, MissingCells missing, const char* where = "") {
    auto sum = example({.of = SumOf{text, bounds},
                        .where = *where == 0 ? std::nullopt : std::optional{parse_condition(where)},
                        .adjacency = Adjacency::add_or_remove_one,
                        .missing = missing,
                        .expression = Expression::parse(text)});
    EXPECT_EQ(read_statistic(data, sum), 8U);
    return mechanisms::to_reals(sum.sum());
  };
  EXPECT_EQ(read("x * y", {-10, 10}, MissingCells::left_out), Values{2 + 0 - 6 + 1});
  EXPECT_EQ(read("x + y", {0, 4}, MissingCells::left_out), Values{3 + 4 + 0 + 4});
  EXPECT_EQ(read("x / y", {-10, 10}, MissingCells::left_out),
            Values{0 - 1});  // 1/2 and -3/2 round away from 0 to 1 and -2, and 1e400 is no number
  EXPECT_EQ(read("x + y", {2, 4}, MissingCells::promised_complete), Values{3 + 2 + 2 + 4 + 2 + 2 + 2 + 4});
  EXPECT_EQ(read("x + y", {0, 4}, MissingCells::left_out, "y>=2"), Values{3 + 0});
}

TEST(ReadStatistic, OfAnExpressionReadsDeclaredDates) {
  const TemporaryFolder folder;
  const auto data = folder.write("data.csv", "from,to\n2020-01-01,2020-01-04\n2020-12-31,2021-01-02\n2020-01-01,7\n,2020-01-01\n");
  const auto read = [&](const std::string& text, Bounds bounds) {
    auto sum = example({.of = SumOf{text, bounds},
                        .adjacency = Adjacency::add_or_remove_one,
                        .dates = {"from", "to"},
                        .expression = Expression::parse(text)});
    EXPECT_EQ(read_statistic(data, sum), 4U);
    return mechanisms::to_reals(sum.sum());
  };
  EXPECT_EQ(read("to - from", {0, 10}), Values{3 + 2});
  EXPECT_EQ(read("year(to)", {0, 3000}), Values{2020 + 2021 + 2020});
}

// Also of rows that do not meet the condition, and of the second column where the first one has told that there is no value.
TEST(ReadStatistic, OfAnExpressionOfAPublicFormRefusesEachDamagedCell) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& text) {
    auto sum = example({.of = SumOf{"x * y", {0, 4}},
                        .where = parse_condition("z>0"),
                        .adjacency = Adjacency::add_or_remove_one,
                        .expression = Expression::parse("x * y")});
    return reference::refusal_of([&] { return read_statistic(folder.write("data.csv", text), sum, {.form = RecordForm::is_public}); });
  };
  EXPECT_FALSE(refused("x,y,z\n1,2,0\n").refused);
  EXPECT_TRUE(refused("x,y,z\n1,red,0\n").says(ErrorCode::bad_data, "red"));
  EXPECT_TRUE(refused("x,z,x * y,y\n1,0,1,1\n").says(ErrorCode::bad_data, "has a column 'x * y', which is also the text of an expression"));
  EXPECT_TRUE(refused("x,z\n1,0\n").says(ErrorCode::bad_data, "'y' is missing"));
}

TEST(ReadStatistic, GivesDamagedCellsTheirStatedValues) {
  const TemporaryFolder folder;
  const auto data = folder.write("data.csv", "x,y\n1,2\nred,5\n2,1e400\n3\n\n\"4\n5\",7\n1e-400,8\n2,\"9\"\n\"2,2\n");
  auto missing = MissingCells::promised_complete;
  const auto read = [&](const auto& of, const char* where, Adjacency adjacency) {
    return values_of(data, 9, of, where, adjacency, missing);
  };
  EXPECT_EQ(read(CountOf{}, "", Adjacency::add_or_remove_one), Values{9});
  EXPECT_EQ(read(CountOf{}, "x!=1000", Adjacency::replace_one), Values{4});
  EXPECT_EQ(read(SumOf{"x", {-4, 4}}, "", Adjacency::zero_out), Values{1 + 2 + 2});
  EXPECT_EQ(read(SumOf{"x", {1, 3}}, "", Adjacency::add_or_remove_one), Values{1 + 1 + 2 + 1 + 1 + 1 + 1 + 2 + 1});
  EXPECT_EQ(read(SumOf{"x", {-3, -1}}, "y>4", Adjacency::add_or_remove_one), Values{-1 - 1 - 1 - 1});
  EXPECT_EQ(read(HistogramOf{"x", Bins{{0, 4}, 2}}, "", Adjacency::zero_out), (Values{2, 2}));
  EXPECT_EQ(read(HistogramOf{"x", Categories{{"red", "3"}}}, "", Adjacency::replace_one), (Values{1, 0}));
  missing = MissingCells::left_out;
  for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out}) {
    EXPECT_EQ(read(SumOf{"x", {1, 3}}, "", adjacency), Values{1 + 2 + 1 + 2});  // 1, 2, 1e-400 and 2 are there
    EXPECT_EQ(read(SumOf{"x", {-3, -1}}, "y>4", adjacency), Values{-1 - 1});
    // From the middle of the bounds, and the count beside it with half their width.
    EXPECT_EQ(read(MeanOf{"x", {1, 3}}, "", adjacency), (Values{-1 + 0 - 1 + 0, 4}));
  }
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
}  // namespace surety::statistics::reading_test
