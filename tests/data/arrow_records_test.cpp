// Rows of Arrow streams as records of trainings. That every algorithm makes the same model of them as of a CSV file, jobs/train_job_test says.
#include <surety/data/arrow/arrow_records.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <surety/data/csv/csv.h>
#include <surety/data/features/named_records.h>

#include <support/arrow_batches.h>
#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::data::arrow_records_test {
namespace {

using testing::ArrowCell;
using testing::ArrowTestTable;

struct Made {
  std::vector<double> row;
  double label;
  bool is_damaged;
  friend bool operator==(const Made&, const Made&) = default;
};

template <class Records>
std::vector<Made> all_of(Records records) {
  std::vector<Made> all;
  for (Made one{}; records.next(one.row, one.label);) {
    one.is_damaged = records.is_damaged();
    all.push_back(one);
  }
  return all;
}

ArrowReader reader_of(ArrowTestTable table, const DataPolicy& policy = {}) {
  auto stream = testing::arrow_stream(std::move(table), {.batches = {2}, .offset = 1});
  return {ArrowStream{&stream}, policy};
}
std::vector<Made> from_arrow(const ArrowTestTable& table, const LabelRule& label, const CsvOptions& options,
                             const DataPolicy& policy = {}) {
  auto reader = reader_of(table, policy);
  const auto features = arrow_features(reader, label, options);
  return all_of(ArrowRecords{std::move(reader), features, label});
}
std::vector<Made> from_csv(const std::string& text, const LabelRule& label, const CsvOptions& options, const DataPolicy& policy = {}) {
  const TemporaryFolder folder;
  CsvReader reader{folder.write("table.csv", text), policy};
  const auto features = csv_features(reader, label, options);
  return all_of(CsvRecords{std::move(reader), features, label});
}

const ArrowCell null;
ArrowCell text(const char* it) { return std::string{it}; }
ArrowCell whole(std::int64_t it) { return it; }

const ArrowTestTable table{.columns = {{"a", "g", {1.5, null, 3.0, 4.0, 5.0}},
                                       {"n", "u", {text("1e2"), text("2"), text("x"), text(" 4 "), text("5")}},
                                       {"town", "U", {text("Ulm"), text("Bonn"), null, text("Rome"), text("Ulm")}},
                                       {"y", "u", {text("yes"), text("no"), text("yes"), text(" "), text("no")}}}};
const std::string same = "a,n,town,y\n1.5,1e2,Ulm,yes\n,2,Bonn,no\n3,x,,yes\n4, 4 ,Rome, \n5,5,Ulm,no\n";
const CsvOptions options{.bounds = {{"a", {0, 4}}}, .categories = {{"town", {"Ulm", "Bonn"}}}};

TEST(ArrowRecords, AreThoseOfACsvFileWithTheSameCells) {
  const auto label = parse_label_rule("y==yes");
  const auto found = from_arrow(table, label, options);
  EXPECT_EQ(found, from_csv(same, label, options));
  ASSERT_EQ(found.size(), 5U);
  const std::vector<bool> damaged{false, true, true, true, false};
  for (std::size_t k = 0; k < 5; ++k) {
    EXPECT_EQ(found[k].is_damaged, damaged[k]) << k;
    EXPECT_EQ(found[k].row.empty(), damaged[k]) << k;
  }
  // Of several classes, with missing cells that count as something, and with a common scale.
  const auto classes = with_classes(parse_label_rule("town"), {"Ulm", "Bonn"});
  auto others = options;
  others.categories = {{"y", {"yes"}}};
  others.rows_have_common_scale = true;
  others.bounds["n"] = {0, 10};
  const DataPolicy policy{.csv = {.missing = {{"a", "2"}, {"town", "Bonn"}}}};
  EXPECT_EQ(from_arrow(table, classes, others, policy), from_csv(same, classes, others, policy));
  EXPECT_EQ(from_arrow(table, classes, others, policy)[1].is_damaged, false);
}

TEST(ArrowRecords, WithAdditiveTermsSayWhatIsMissingAndClampWhatIsBeyondTheBounds) {
  auto additive = options;
  additive.bounds["n"] = {0, 100};
  additive.terms = Terms::additive;
  additive.pairs = {{"a", "n"}};
  additive.unit_norm = false;
  const DataPolicy policy{.csv = {.missing = {{"a", "4"}, {"town", "Bonn"}}}};
  const auto label = parse_label_rule("y==yes");
  const auto found = from_arrow(table, label, additive, policy);
  EXPECT_EQ(found, from_csv(same, label, additive, policy));
  // a is missing and counts as 4, its upper bound; n is 2. Towns are Ulm and Bonn; the last row has a = 5, beyond.
  const auto& missing = found[1].row;
  const auto& beyond = found[4].row;
  const std::size_t a = 1 + standard_knots + 1;  // features, of which the last says that it is missing
  ASSERT_EQ(missing.size(), a + 1 + standard_knots + 1 + 1 + 1);
  for (std::size_t k = 0; k + 1 < a; ++k) {
    EXPECT_EQ(missing[k], k == 0 || k == standard_knots ? 1 : 0) << k;
    EXPECT_EQ(beyond[k], missing[k]) << k;
  }
  EXPECT_EQ(missing[a - 1], 1);
  EXPECT_EQ(beyond[a - 1], 0);
  EXPECT_EQ(missing[missing.size() - 2], missing[0] * missing[a]) << "the pair";
  EXPECT_NEAR(missing[a], 2 * 0.02 - 1, 1e-15);
  auto without = additive;
  without.bounds.clear();
  without.pairs.clear();
  EXPECT_TRUE(refuses([&] { static_cast<void>(from_arrow(table, label, without)); }, ErrorCode::invalid_argument,
                      {"terms are additive, must be linear where no column has bounds"}));
}

// docs/proofs/data.md#terms, (c): whatever is missing, at a bound, between knots, beyond the bounds or of no category. The bound is reached, by cells at bounds.
TEST(RowsOfOneScale, AreNoLongerThanOneWithLinearAndAdditiveTerms) {
  const std::vector<std::string> numbers{"-inf", "-1e308", "-3", "-2.999", "-0.5", "0", "1", "1.2857142857142858", "2.9999999999999996",
                                         "3",    "9e9",    ""};
  const std::vector<std::string> towns{"Ulm", "Bonn", "Rome", ""};
  std::mt19937_64 random{7};
  const auto any = [&](const auto& of) { return of[random() % of.size()]; };
  std::string rows = "a,b,c,town,y\n3,-3,3,Ulm,1\n,3,3,Bonn,1\n";
  for (int k = 0; k < 2000; ++k) rows += fmt::format("{},{},{},{},1\n", any(numbers), any(numbers), any(numbers), any(towns));
  for (const auto terms : {Terms::linear, Terms::additive}) {
    for (const bool are_paired : {false, true}) {
      for (const bool has_intercept : {false, true}) {
        CsvOptions said{.bounds = {{"a", {-3, 3}}, {"b", {-3, 3}}, {"c", {-3, 3}}},
                        .categories = {{"town", {"Ulm", "Bonn"}}},
                        .intercept = has_intercept,
                        .rows_have_common_scale = true,
                        .terms = terms};
        if (are_paired) said.pairs = {{"a", "b"}, {"c", "a"}};
        double longest = 0;
        for (const auto& made : from_csv(rows, parse_label_rule("y"), said, {.csv = {.missing = {{"a", "3"}}}})) {
          double squares = 0;
          for (const double feature : made.row) squares += feature * feature;
          EXPECT_LE(squares, 1 + 0x1p-48);
          longest = std::max(longest, squares);
        }
        EXPECT_NEAR(longest, 1, 1e-12);
      }
    }
  }
}

TEST(ArrowRecords, OfARowThatIsNullAsAWholeAreZeros) {
  auto with_null = table;
  with_null.null_rows = {true, false, false, false, false};
  const auto found = from_arrow(with_null, parse_label_rule("y==yes"), options);
  EXPECT_TRUE(found[0].is_damaged);
  EXPECT_EQ(found[0].row, std::vector<double>{});
  EXPECT_EQ(found[0].label, 0);
  EXPECT_EQ(found[4], from_arrow(table, parse_label_rule("y==yes"), options)[4]);
}

TEST(ArrowRecords, NameTheColumnThatCannotBeUsed) {
  auto wrong = table;
  wrong.columns[0] = {"a", "z", {text("b"), text("b"), text("b"), text("b"), text("b")}};
  for (const auto& record : from_arrow(wrong, parse_label_rule("y==yes"), options)) EXPECT_TRUE(record.is_damaged) << "a type is no reason";
  auto dropped = options;
  dropped.bounds.clear();
  dropped.drop = {"a"};
  EXPECT_EQ(from_arrow(wrong, parse_label_rule("y==yes"), dropped).size(), 5U) << "what is dropped is not looked at";
  EXPECT_TRUE(
      refuses([&] { static_cast<void>(from_arrow(table, parse_label_rule("z"), options)); }, ErrorCode::bad_data, {"'z' is missing"}));
  auto twice = table;
  twice.columns[1].name = "a";
  EXPECT_TRUE(refuses([&] { static_cast<void>(from_arrow(twice, parse_label_rule("y==yes"), options)); }, ErrorCode::invalid_argument,
                      {"column 'a' is listed twice"}));
  auto two_roles = options;
  two_roles.drop = {"a"};
  EXPECT_TRUE(refuses([&] { static_cast<void>(from_arrow(table, parse_label_rule("y==yes"), two_roles)); }, ErrorCode::invalid_argument,
                      {"column 'a' has two roles"}));
}

TEST(ArrowRecords, ShowADamagedCellWhereTheFormIsPublicAlone) {
  EXPECT_TRUE(refuses([] { static_cast<void>(from_arrow(table, parse_label_rule("y==yes"), options, public_form)); }, ErrorCode::bad_data,
                      {"Arrow stream: row 2, column 'a': the cell is empty"}));
  ArrowTestTable label_alone{.columns = {{"a", "l", {whole(1), whole(2)}}, {"y", "u", {text("yes"), null}}}};
  EXPECT_TRUE(refuses([&] { static_cast<void>(from_arrow(label_alone, parse_label_rule("y==yes"), {}, public_form)); }, ErrorCode::bad_data,
                      {"row 2, column 'y': the cell is empty, must be a text"}));
}

/// Columns of every kind of number and of texts, with nulls, damaged cells and dictionaries, of some rows of some owners.
ArrowTestTable any_table(std::mt19937_64& random, std::size_t rows) {
  const auto any = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
  const std::vector<std::string> formats{"g", "f", "l", "i", "s", "c", "u", "g", "U"};
  ArrowTestTable made;
  for (std::size_t k = 0; k <= formats.size(); ++k) {
    const bool is_owner = k == formats.size();
    auto& column = made.columns.emplace_back();
    column.name = is_owner ? "who" : fmt::format("x{}", k);
    column.format = is_owner ? "s" : formats[k];
    if (any(4) == 0) column.indices = "i";
    const std::size_t one_in = any(2) == 0 ? 9 : 0;  // of some columns none is null: they are read by other loops
    for (std::size_t row = 0; row < rows; ++row) {
      auto& cell = column.cells.emplace_back();
      if (one_in != 0 && any(one_in) == 0) continue;
      const double number = static_cast<double>(any(64)) / 8 - 4;
      if (is_owner || (column.format.find_first_of("lisc") != std::string::npos)) {
        cell.emplace<std::int64_t>(is_owner ? static_cast<std::int64_t>(any(rows / 4 + 1)) : std::int64_t(number));
      } else if (column.format == "u" || column.format == "U") {
        cell.emplace<std::string>(any(9) == 0 ? "none" : fmt::format("{}", number));
      } else {
        cell.emplace<double>(any(30) == 0 ? std::numeric_limits<double>::infinity() : number);
      }
    }
  }
  if (any(2) == 0) {
    for (std::size_t row = 0; row < rows; ++row) made.null_rows.push_back(any(10) == 0);
  }
  return made;
}

// Bits, not numbers: a training sees nothing else of a row. Of more rows than a block has, however they are cut.
TEST(ArrowRecords, ReadInBlocksAreThoseReadCellByCell) {
  std::mt19937_64 random{5};
  const auto any = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
  std::size_t seen = 0;
  std::size_t damaged = 0;
  for (int repetition = 0; repetition < 60; ++repetition) {
    const std::size_t rows = 1 + any(repetition % 6 == 0 ? 700 : 40);
    const auto made = any_table(random, rows);
    const LabelRule label = parse_label_rule(any(2) == 0 ? "x7>0" : "x7");
    CsvOptions how{.drop = {"who"},
                   .bounds = {{"x0", Bounds{-3, 3}}, {"x2", Bounds{-1, 4}}, {"x6", Bounds{0, 2}}},
                   .categories = {{"x8", {"1", "0.5", "none"}}},
                   .rows_have_common_scale = any(2) == 0};
    if (any(2) == 0) how.terms = Terms::additive;
    if (any(2) == 0) how.pairs = {{"x6", "x0"}, {"x0", "x2"}};
    DataPolicy policy;
    if (any(2) == 0) policy.csv.missing = {{"x1", "0.25"}, {"x2", "1.5"}, {"x3", "7"}, {"x8", "1"}};
    testing::ArrowStreamOptions cut{.offset = any(20), .child_offset = any(20)};
    for (std::size_t given = 0; given < rows && any(6) != 0;) {
      cut.batches.push_back(std::min(rows - given, any(9) == 0 ? 0 : 1 + any(any(2) == 0 ? 10 : rows)));
      given += cut.batches.back();
    }
    const bool has_units = any(2) == 0;
    const ArrowUnits units{.rule = {.column = "who", .most = Count{1 + any(4)}}, .key = {4, 5, 6}};
    const auto reader_of_it = [&] {
      auto stream = testing::arrow_stream(made, cut);
      return ArrowReader{ArrowStream{&stream}, policy};
    };
    auto reader = reader_of_it();
    const auto features = arrow_features(reader, label, how);
    ArrowRecords records{std::move(reader), features, label};
    if (has_units) records.keep_units(units);
    auto cells = reader_of_it();
    const NamedRecord record{cells, features, label};
    if (has_units) cells.keep_units(units);
    Made expected{};
    Made found{};
    while (cells.next()) {
      expected = {};
      expected.is_damaged = cells.is_damaged() || !record.make(cells, expected.row, expected.label);
      if (expected.is_damaged) expected = {.row = {}, .label = 0, .is_damaged = true};
      ASSERT_TRUE(records.next(found.row, found.label));
      found.is_damaged = records.is_damaged();
      ASSERT_EQ(found, expected) << "repetition " << repetition << ", row " << cells.row();
      ++seen;
      damaged += found.is_damaged ? 1 : 0;
    }
    EXPECT_FALSE(records.next(found.row, found.label));
  }
  EXPECT_GT(damaged, seen / 20);
  EXPECT_GT(seen - damaged, seen / 20);
}

}  // namespace
}  // namespace surety::data::arrow_records_test
