#include <surety/data/csv/csv.h>

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::data::csv_test {
namespace {

/// The cells as they are, without intercept and normalisation.
CsvOptions plain() { return {.otherwise = Unchanged{}, .intercept = false, .unit_norm = false}; }

std::vector<std::vector<std::string>> read_cells(const std::filesystem::path& path) {
  CsvReader reader{path, public_form};
  std::vector<std::vector<std::string>> rows{reader.header()};
  for (std::vector<std::string> cells; reader.next(cells);) rows.push_back(cells);
  return rows;
}

std::vector<double> row(const Dataset& data, std::size_t index) {
  const auto values = data.row(index).values;
  return {values.begin(), values.end()};
}

TEST(CsvReader, ReadsWhatTheStandardAllows) {
  const TemporaryFolder folder;
  const std::vector<std::vector<std::string>> expected{{"a", "b c"}, {"1", ""}, {"x,\"y\"\nz", " 2"}};
  const std::string text = "a,\"b c\"\n1,\n\"x,\"\"y\"\"\nz\", 2";
  EXPECT_EQ(read_cells(folder.write("plain.csv", text)), expected);
  EXPECT_EQ(read_cells(folder.write("ended.csv", text + "\n")), expected);
  EXPECT_EQ(read_cells(folder.write("marked.csv", "\xef\xbb\xbf" + text)), expected);
  EXPECT_EQ(read_cells(folder.write("compressed.csv", gzip(text))), expected);
  EXPECT_EQ(read_cells(folder.write("windows.csv", "a,\"b c\"\r\n1,\r\n\"x,\"\"y\"\"\nz\", 2\r\n")), expected);
}

TEST(CsvReader, SaysWhatElseAFileIs) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& text, std::string_view word) {
    return refuses(
        [&] {
          static_cast<void>(CsvReader{folder.write("data.csv", text), DataPolicy{}});
        },
        ErrorCode::bad_data, {word, "must be CSV"});
  };
  const std::string parquet = "PAR1\x15\x04\x15\n" + std::string(40, '\1') + "PAR1";
  const std::string archive = "PK\x03\x04\x14" + std::string(26, '\0') + "xl/workbook.xml\n";
  EXPECT_TRUE(refused(parquet, "is a Parquet file"));
  EXPECT_TRUE(refused(archive, "is a ZIP archive"));
  EXPECT_TRUE(refused(gzip(archive), "is a ZIP archive"));
  EXPECT_TRUE(refused(std::string{"\xff\xfe"
                                  "a\0,\0b\0\n\0",
                                  10},
                      "is UTF-16 text"));
  EXPECT_TRUE(refused(std::string{"\xfe\xff"
                                  "\0a\0,\0b\0\n",
                                  10},
                      "is UTF-16 text"));
  EXPECT_TRUE(refused(std::string{"a\0,\0b\0\n\0", 8}, "is UTF-16 text"));
  EXPECT_TRUE(refused(std::string{"\0a\0,\0b\0\n", 8}, "is UTF-16 text"));
  EXPECT_TRUE(refused(std::string{"\xff\xfe\0\0"
                                  "a\0\0\0,\0\0\0b\0\0\0\n\0\0\0",
                                  20},
                      "is UTF-32 text"));
  EXPECT_TRUE(refused(std::string{"\0\0\xfe\xff"
                                  "\0\0\0a\0\0\0,\0\0\0b\0\0\0\n",
                                  20},
                      "is UTF-32 text"));
  EXPECT_TRUE(refused("7z\xbc\xaf\x27\x1c\x02\x01\n", "is a 7z archive"));
  EXPECT_TRUE(
      refused("\xfd"
              "7zXZ\x01\n",
              "is a file compressed by xz"));
  EXPECT_TRUE(refused("ARROW1\x01\x01\n", "is an Arrow file"));
  EXPECT_TRUE(refused(std::string{"SQLite format 3\0\n", 17}, "is an SQLite database"));
  // Names may begin so, and so may a record, which nobody hears of.
  EXPECT_EQ((CsvReader{folder.write("named.csv", "PAR1,PK\n1,2\n"), DataPolicy{}}.header()), (std::vector<std::string>{"PAR1", "PK"}));
  DataPolicy named;
  named.csv.columns = {"a"};
  CsvReader reader{folder.write("record.csv", parquet + "\n"), named};
  std::vector<std::string> cells;
  EXPECT_TRUE(reader.next(cells));
}

// Any cells, quoted, come back; the first column is never empty, so that no row looks like an empty line.
RC_GTEST_PROP(CsvReader, InvertsQuoting, (std::vector<std::pair<std::string, std::string>> rows)) {
  const TemporaryFolder folder;
  std::string text = "first,second\n";
  std::vector<std::vector<std::string>> expected{{"first", "second"}};
  const auto quote = [](const std::string& cell) {
    std::string result = "\"";
    for (const char c : cell) result += c == '"' ? "\"\"" : std::string{c};
    return result + "\"";
  };
  for (const auto& [a, b] : rows) {
    RC_PRE(a.find('\0') == std::string::npos && b.find('\0') == std::string::npos);
    text += quote(a) + "," + quote(b) + *rc::gen::element<std::string>("\n", "\r\n");
    expected.push_back({a, b});
  }
  RC_ASSERT(read_cells(folder.write("data.csv", text)) == expected);
}

std::vector<std::vector<std::string>> read_with(const std::string& text, const CsvFormat& format, RecordForm form = RecordForm::is_public) {
  const TemporaryFolder folder;
  CsvReader reader{folder.write("data.csv", text), {.form = form, .csv = format}};
  std::vector<std::vector<std::string>> rows{reader.header()};
  for (std::vector<std::string> cells; reader.next(cells);) rows.push_back(cells);
  return rows;
}

bool refuses_format(const std::string& text, const CsvFormat& format, ErrorCode code, const std::vector<std::string_view>& words) {
  return refuses([&] { read_with(text, format); }, code, words);
}

TEST(CsvFormat, CutsCellsAtEveryDelimiter) {
  const std::vector<std::vector<std::string>> expected{{"a", "b c"}, {"1,5", ""}, {"x;\t| \n", " 2"}};
  for (const char delimiter : {';', '\t', '|', ' ', ':', '1'}) {
    const std::string d(1, delimiter);
    if (delimiter == '1' || delimiter == ' ') {
      EXPECT_EQ(read_with("a" + d + "b\n3" + d + "\"" + d + "\"\n", {.delimiter = delimiter}),
                (std::vector<std::vector<std::string>>{{"a", "b"}, {"3", d}}));
      continue;
    }
    EXPECT_EQ(read_with("a" + d + "\"b c\"\n1,5" + d + "\n\"x;\t| \n\"" + d + " 2\n", {.delimiter = delimiter}), expected) << delimiter;
    EXPECT_EQ(read_with("a" + d + "b\n\"x\n" + d + "\"" + d + "\r\n", {.delimiter = delimiter}).size(), 2U);
  }
  // A quote opens at the start of a cell, which is behind the delimiter and not behind a comma.
  EXPECT_TRUE(refuses_format("a;b\n1,\"2\";3\n", {.delimiter = ';'}, ErrorCode::bad_data, {"quote inside"}));
  EXPECT_EQ(read_with("a;b\n1,\"2\n3;4\n", {.delimiter = ';'}, RecordForm::is_private).size(), 3U);
  for (const char delimiter : {'"', '\n', '\r', '\0', '\xff'}) {
    EXPECT_TRUE(refuses_format("a\n", {.delimiter = delimiter}, ErrorCode::invalid_argument, {"delimiter"}));
  }
}

TEST(CsvFormat, NamesTheColumnsOfAFileWithoutHeader) {
  EXPECT_EQ(read_with("1,2\n3,4\n", {.columns = {" a ", "b"}}),
            (std::vector<std::vector<std::string>>{{"a", "b"}, {"1", "2"}, {"3", "4"}}));
  EXPECT_EQ(read_with("", {.columns = {"a", "b"}}).size(), 1U);
  EXPECT_TRUE(
      refuses_format("1,2\n3\n", {.columns = {"a", "b"}}, ErrorCode::bad_data, {"row 2 (line 2)", "1 cells, must have 2 as columns"}));
  EXPECT_TRUE(refuses_format("1,2\n", {.columns = {"a", "a"}}, ErrorCode::invalid_argument, {"'a' is named twice"}));
  EXPECT_TRUE(refuses_format("1,2\n", {.columns = {"a", " "}}, ErrorCode::invalid_argument, {"no name"}));
  const TemporaryFolder folder;
  const CsvReader reader{folder.write("data.csv", "secret,2\n"), {.csv = {.columns = {"a", "b"}}}};
  EXPECT_TRUE(refuses([&] { static_cast<void>(reader.position("c")); }, ErrorCode::bad_data, {"'c' is missing, the names given are a, b"}));
}

/// The numbers of column x and the texts of column t in a file, by row: "-" where there is none.
std::string cells_of(const std::string& text, const CsvFormat& format) {
  const TemporaryFolder folder;
  CsvReader reader{folder.write("data.csv", text), {.csv = format}};
  const auto x = reader.position("x", CellUse::number);
  const auto t = reader.position("t");
  std::string result;
  for (std::vector<std::string> cells; reader.next(cells);) {
    const auto number = reader.number(cells, x);
    result += (number ? fmt::format("{}", *number) : "-") + "/" + reader.text(cells, t) + " ";
  }
  return result;
}

TEST(CsvFormat, SaysWhatAMissingCellCountsAs) {
  const std::string text = "x,t\n1,a\n,\n nan, \nred,b\n1e999,c\n\n1\n1,2,3\n\"1,2\n";
  EXPECT_EQ(cells_of(text, {}), "1/a -/ -/  -/b -/c -/ -/ -/ -/ ");
  EXPECT_EQ(cells_of(text, {.missing = {{"x", "40"}, {"t", "none"}}}), "1/a 40/none 40/none 40/b 40/c -/ -/ -/ -/ ")
      << "a damaged record, as an empty line is, keeps none of its cells";
  EXPECT_EQ(cells_of(text, {.missing = {{"t", "3"}}}), "1/a -/3 -/3 -/b -/c -/ -/ -/ -/ ");
  // An empty line of a file with one column is a damaged record, too, or the zeroed record would not be one of zeros.
  const TemporaryFolder folder;
  CsvReader reader{folder.write("one.csv", "x\n\n \n\"\"\n"), {.csv = {.missing = {{"x", "40"}}}}};
  std::vector<std::string> cells;
  std::string found;
  while (reader.next(cells)) found += reader.number(cells, 0) ? '1' : '0';
  EXPECT_EQ(found, "011");

  EXPECT_TRUE(refuses_format("x,t\n", {.missing = {{"y", "1"}}}, ErrorCode::bad_data, {"'y' is missing"}));
  EXPECT_TRUE(refuses_format("x,t\n", {.missing = {{"x", " "}}}, ErrorCode::invalid_argument, {"'x' counts as nothing"}));
  EXPECT_TRUE(refuses([&] { cells_of(text, {.missing = {{"x", "forty"}}}); }, ErrorCode::invalid_argument, {"'x'", "'forty'", "a number"}));
}

TEST(CsvFormat, LeavesOtherDamageAnErrorWhereTheFormIsPublic) {
  const TemporaryFolder folder;
  CsvReader reader{folder.write("data.csv", "x\n\"\"\nred\n"), {.form = RecordForm::is_public, .csv = {.missing = {{"x", "40"}}}}};
  std::vector<std::string> cells;
  ASSERT_TRUE(reader.next(cells));
  EXPECT_EQ(reader.number(cells, 0), 40);
  ASSERT_TRUE(reader.next(cells));
  EXPECT_TRUE(refuses([&] { static_cast<void>(reader.number(cells, 0)); }, ErrorCode::bad_data, {"row 2", "red"}));
}

TEST(ReadCsv, KeepsWhatMissingCellsCountAsInTheFeatureMap) {
  const TemporaryFolder folder;
  const auto path = folder.write("data.csv", "age,town,y\n,b,1\n10,,\n");
  CsvReader reader{path, {.csv = {.missing = {{"age", "20"}, {"town", "a"}, {"y", "3"}}}}};
  CsvOptions options = plain();
  options.categories = {{"town", {"a", "b"}}};
  const auto label = parse_label_rule("y");
  const FeatureMap features = csv_features(reader, label, options);
  EXPECT_EQ(
      features.inputs,
      (std::variant<NamedColumns, SparseFeatures>{NamedColumns{{"age", Unchanged{}, "20"}, {"town", Categories{{"a", "b"}, true}, "a"}}}));
  EXPECT_EQ(feature_map_from_json(to_json(features)), features);
  // The map alone says it to another reader, as a model does.
  const Dataset data = read_csv(path, features, std::nullopt);
  EXPECT_EQ(row(data, 0), (std::vector<double>{20, 1}));
  EXPECT_EQ(row(data, 1), (std::vector<double>{10, -1}));
  CsvRecords records{std::move(reader), features, label};
  std::vector<double> values;
  double value = 0;
  ASSERT_TRUE(records.next(values, value) && records.next(values, value));
  EXPECT_EQ(value, 3);
  FeatureMap wrong = features;
  std::get<NamedColumns>(wrong.inputs)[0].missing = "old";
  EXPECT_TRUE(refuses([&] { wrong.validate(); }, ErrorCode::invalid_argument, {"'age'", "'old'", "a number"}));
}

TEST(ReadCsv, MakesLabelsOfTexts) {
  const TemporaryFolder folder;
  const auto path = folder.write("data.csv", "x,class\n1,yes\n2,no\n3,\"New York, NY\"\n4,\n");
  CsvReader reader{path, {}};
  const auto label = parse_label_rule("class!=yes");
  const FeatureMap features = csv_features(reader, label, plain());
  CsvRecords records{std::move(reader), features, label};
  std::vector<double> values;
  double value = 0;
  std::string found;
  while (records.next(values, value)) found += records.is_damaged() ? 'd' : value > 0 ? '+' : '-';
  EXPECT_EQ(found, "-++d");
  EXPECT_TRUE(
      refuses([&] { static_cast<void>(read_csv(path, label, plain())); }, ErrorCode::bad_data, {"row 4", "'class'", "must be a text"}));
}

TEST(ReadCsv, MakesFeaturesAndLabels) {
  const TemporaryFolder folder;
  const auto path = folder.write("data.csv", "age,visits,town,income,id\n30,2,b,0,x\n150, 0 ,\"d\",-1e6,y\n");
  const CsvOptions options{
      .drop = {"id"}, .bounds = {{"age", {0, 120}}}, .categories = {{"town", {"a", "b"}}}, .intercept = true, .unit_norm = false};
  const auto [data, features] = read_csv(path, parse_label_rule("visits>0"), options);
  ASSERT_EQ(data.size(), 2U);
  EXPECT_EQ(row(data, 0), (std::vector<double>{-0.5, 1, 0, 1}));
  EXPECT_EQ(row(data, 1), (std::vector<double>{1, 0, std::asinh(-1e6), 1})) << "d is not listed";
  EXPECT_EQ(data.label(0), 1);
  EXPECT_EQ(data.label(1), -1);
  EXPECT_EQ(
      features,
      (FeatureMap{.inputs = NamedColumns{{"age", Bounds{0, 120}}, {"town", Categories{{"a", "b"}, true}}, {"income", SignedLogarithm{}}},
                  .intercept = true,
                  .unit_norm = false}));
}

TEST(ReadCsv, TheDefaultGivesRowsOfUnitNorm) {
  const TemporaryFolder folder;
  const auto [data, features] = read_csv(folder.write("data.csv", "a,b,y\n1e300,-3,1\n0,0,0\n"), parse_label_rule("y"), CsvOptions{});
  EXPECT_EQ(data.features(), 3U);
  EXPECT_NEAR(data.row(0).norm, 1, 1e-15);
  EXPECT_EQ(row(data, 1), (std::vector<double>{0, 0, 1}));
}

TEST(ReadCsv, BoundsMayBeAsWideAsDoubleAllows) {
  const TemporaryFolder folder;
  const double largest = std::numeric_limits<double>::max();
  auto options = plain();
  options.bounds = {{"a", {-largest, largest}}};
  EXPECT_EQ(row(read_csv(folder.write("data.csv", "a,y\n0,1\n"), parse_label_rule("y"), options).data, 0), std::vector<double>{0});
}

TEST(ReadCsv, AFeatureMapOfBeforeMapsBoundsAsItDid) {
  const TemporaryFolder folder;
  const auto path = folder.write("data.csv", "age\n30\n150\n-3\n");
  const FeatureMap before{.inputs = NamedColumns{{"age", BoundsToUnitInterval{0, 120}}}, .intercept = true, .unit_norm = false};
  const Dataset data = read_csv(path, before, std::nullopt);
  EXPECT_EQ(row(data, 0), (std::vector<double>{0.25, 1}));
  EXPECT_EQ(row(data, 1), (std::vector<double>{1, 1}));
  EXPECT_EQ(row(data, 2), (std::vector<double>{0, 1}));
}

TEST(ReadCsv, AModelReadsOtherColumnsAndOrders) {
  const TemporaryFolder folder;
  const auto training = read_csv(folder.write("train.csv", "a,b,y\n1,2,1\n"), parse_label_rule("y"), plain());
  const auto path = folder.write("new.csv", "extra,b,a\ntext,2,1\n");
  const Dataset data = read_csv(path, training.features, std::nullopt);
  EXPECT_EQ(row(data, 0), row(training.data, 0));
  EXPECT_FALSE(data.has_labels());
}

TEST(ReadCsv, RefusesBadFiles) {
  const TemporaryFolder folder;
  const auto refused = [&](std::string_view content, std::vector<std::string_view> words) {
    words.emplace_back("data.csv");
    const auto path = folder.write("data.csv", content);
    return refuses([&] { static_cast<void>(read_csv(path, parse_label_rule("y>0"), plain())); }, ErrorCode::bad_data, words);
  };
  EXPECT_TRUE(refused("", {"empty"}));
  EXPECT_TRUE(refused("\n\n", {"empty"}));
  EXPECT_TRUE(refused("a,y", {"no records"}));
  EXPECT_TRUE(refused("a,y\n\n", {"row 1 (line 2) is empty"}));
  EXPECT_TRUE(refused("a,y\n1,2\n\r\n", {"row 2 (line 3) is empty"}));
  EXPECT_TRUE(refused("a,y\n1,2\n1\n", {"row 2 (line 3) has 1 cells, must have 2"}));
  EXPECT_TRUE(refused("a,y\n1,2,3\n", {"row 1 (line 2) has 3 cells"}));
  EXPECT_TRUE(refused("a,y\n1,2\n\n1,2\n", {"row 2 (line 3) is empty"}));
  EXPECT_TRUE(refused("a,y\n\"1\n\",2\n1,2,3", {"row 1 (line 2)", "'1 ' is not a number"}));
  EXPECT_TRUE(refused("a,y\n1,2\nred,2\n", {"row 2 (line 3), column 'a': 'red' is not a number", "categories"}));
  EXPECT_TRUE(refused("a,y\n,2\n", {"row 1 (line 2), column 'a': the cell is empty"}));
  EXPECT_TRUE(refused("a,y\nnan,2\n", {"column 'a'", "not finite"}));
  EXPECT_TRUE(refused("a,y\n1e400,2\n", {"column 'a'", "range of double"}));
  EXPECT_TRUE(refused("a,y\n1,many\n", {"row 1 (line 2), column 'y': 'many' is not a number"}));
  EXPECT_TRUE(refused("a,b\n1,2\n", {"column 'y' is missing", "a, b"}));
  EXPECT_TRUE(refused("a,a,y\n1,2,3\n", {"'a' appears twice"}));
  EXPECT_TRUE(refused("a,,y\n1,2,3\n", {"column 2", "no name"}));
  EXPECT_TRUE(refused("a,y\n\"1,2\n", {"never closed"}));
  EXPECT_TRUE(refused("a,y\n\"1\"x,2\n", {"after a closing quote"}));
  EXPECT_TRUE(refused("a,y\n1\"x\",2\n", {"quote inside"}));
  EXPECT_TRUE(refused("a,y\n1\r,2\n", {"carriage return"}));
  EXPECT_TRUE(refused(std::string("a,y\n1\0,2\n", 9), {"zero byte"}));
  EXPECT_TRUE(refused(gzip("a,y\n1,2\n").substr(0, 20), {"truncated"}));
}

TEST(CsvReader, LimitsWhatIsPublicByErrorsAndRecordsByTheirCells) {
  const TemporaryFolder folder;
  const DataPolicy narrow{.limits = {.header_bytes = 10, .columns = 3, .record_bytes = 6}};
  const auto read = [&](const std::string& text, DataPolicy policy) {
    CsvReader reader{folder.write("data.csv", text), policy};
    std::vector<std::vector<std::string>> rows;
    for (std::vector<std::string> cells; reader.next(cells);) rows.push_back(cells);
    return rows;
  };
  const auto refused = [&](const std::string& text, const DataPolicy& policy, std::vector<std::string_view> words) {
    words.emplace_back("--no-limits");
    return refuses([&] { read(text, policy); }, ErrorCode::bad_data, words);
  };
  EXPECT_EQ(read("abcdefg,hi\n1,2\n1234,6\n1234,67\n\"1\n3\",7\n1,2\n", narrow),
            (std::vector<std::vector<std::string>>{{"1", "2"}, {"1234", "6"}, {"", ""}, {"", ""}, {"1", "2"}}));
  EXPECT_TRUE(refused("abcdefgh,ij\n1,2\n", narrow, {"header (line 1) has more than 10 bytes"}));
  EXPECT_TRUE(refused("a,b,c,d\n1,2\n", narrow, {"header (line 1) has 4 columns, must have at most 3"}));
  auto strict = narrow;
  strict.form = RecordForm::is_public;
  EXPECT_TRUE(refused("a,b\n1,2\n1234,67\n", strict, {"row 2 (line 3) has more than 6 bytes"}));
  const DataPolicy unlimited{.limits = DataLimits::none()};
  EXPECT_EQ(read("abcdefgh,i,j,k\n1,2,3,4\n", unlimited), (std::vector<std::vector<std::string>>{{"1", "2", "3", "4"}}));
}

// A hundred thousand columns, each looked up by its name, as the command does.
TEST(CsvReader, FindsEveryColumnOfAWideHeader) {
  const TemporaryFolder folder;
  std::string text = "y";
  for (int k = 0; k < 100'000; ++k) text += ",column" + std::to_string(k);
  text += "\n1";
  for (int k = 0; k < 100'000; ++k) text += ",1";
  const auto read = read_csv(folder.write("wide.csv", text), parse_label_rule("y"), {});
  EXPECT_EQ(read.data.features(), 100'001U);
  EXPECT_EQ(read.data.size(), 1U);
}

TEST(ReadCsv, RefusesOptionsThatDoNotFit) {
  const TemporaryFolder folder;
  const auto path = folder.write("data.csv", "a,y\n1,2\n");
  const auto refused = [&](const CsvOptions& options, ErrorCode code, std::string_view words) {
    return refuses([&] { static_cast<void>(read_csv(path, parse_label_rule("y"), options)); }, code, {words});
  };
  EXPECT_TRUE(refused({.drop = {"b"}}, ErrorCode::bad_data, "'b' is missing"));
  EXPECT_TRUE(refused({.bounds = {{"b", {0, 1}}}}, ErrorCode::bad_data, "'b' is missing"));
  EXPECT_TRUE(refused({.categories = {{"b", {"x"}}}}, ErrorCode::bad_data, "'b' is missing"));
  EXPECT_TRUE(refused({.drop = {"y"}}, ErrorCode::invalid_argument, "'y' has two roles"));
  EXPECT_TRUE(refused({.drop = {"a"}}, ErrorCode::invalid_argument, "no column is left"));
  EXPECT_TRUE(refused({.bounds = {{"a", {1, 0}}}}, ErrorCode::invalid_argument, "bounds"));
  const FeatureMap sparse{.inputs = SparseFeatures{3}};
  EXPECT_TRUE(refuses([&] { static_cast<void>(read_csv(path, sparse, std::nullopt)); }, ErrorCode::invalid_argument, {"column names"}));
}

}  // namespace
}  // namespace surety::data::csv_test
