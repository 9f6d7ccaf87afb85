#include <surety/data/arrow/arrow_stream.h>

#include <gtest/gtest.h>

#include <cerrno>
#include <cmath>
#include <cstdint>
#include <limits>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <support/arrow_batches.h>
#include <support/refusal.h>

namespace surety::data::arrow_stream_test {
namespace {

using surety::testing::arrow_stream;
using surety::testing::ArrowCell;
using surety::testing::ArrowCount;
using surety::testing::ArrowStreamOptions;
using surety::testing::ArrowTestColumn;
using surety::testing::ArrowTestTable;

/// Nothing is left over, and nothing was released twice.
class ArrowStreams : public ::testing::Test {
 protected:
  void SetUp() override { ArrowCount::live = ArrowCount::twice = 0; }
  void TearDown() override {
    EXPECT_EQ(ArrowCount::live, 0);
    EXPECT_EQ(ArrowCount::twice, 0);
  }

  static ArrowStream opened(const ArrowTestTable& table, const ArrowStreamOptions& options = {}) {
    auto stream = arrow_stream(table, options);
    ArrowStream result{&stream};
    EXPECT_EQ(stream.release, nullptr) << "taken over";
    return result;
  }

  /// What each cell of a column is, batch by batch: its number, its text and its date where it can be such, and how it is encoded.
  static std::vector<std::string> seen(const ArrowTestColumn& column, const ArrowStreamOptions& options = {},
                                       const std::vector<bool>& null_rows = {}) {
    auto stream = opened({.columns = {column}, .null_rows = null_rows}, options);
    std::vector<std::string> result;
    std::string buffer;
    while (const auto batch = stream.next()) {
      const auto cells = batch->cells(0);
      EXPECT_EQ(cells.size(), batch->rows());
      for (std::size_t row = 0; row < cells.size(); ++row) {
        std::vector<unsigned char> bytes;
        cells.encode(row, bytes);
        std::string all;
        if (cells.is_null(row)) {
          EXPECT_EQ(bytes, std::vector<unsigned char>{0});
          result.emplace_back("null");
          continue;
        }
        const auto number = cells.number(row);
        all += number.fault == NumberFault::none ? fmt::format("{}", number.value) : "damaged";
        all += fmt::format("|{}", cells.text(row, buffer));
        if (const auto date = cells.date(row)) all += "|" + describe(*date);
        if (const auto truth = cells.truth(row)) all += *truth ? "|is true" : "|is false";
        result.push_back(all);
      }
    }
    return result;
  }
  static std::vector<ArrowCell> wholes(std::initializer_list<std::int64_t> values) { return {values.begin(), values.end()}; }
};

constexpr auto nan = std::numeric_limits<double>::quiet_NaN();
constexpr auto infinity = std::numeric_limits<double>::infinity();
const ArrowCell null{};

using Seen = std::vector<std::string>;

TEST_F(ArrowStreams, CountEachTypeAsTheirHeaderSays) {
  for (const std::string format : {"c", "s", "i", "l"}) {
    EXPECT_EQ(seen({"x", format, {std::int64_t{-128}, null, std::int64_t{127}}}), (Seen{"-128|-128", "null", "127|127"})) << format;
  }
  for (const std::string format : {"C", "S", "I", "L"}) {
    EXPECT_EQ(seen({"x", format, {std::int64_t{255}, null, std::int64_t{7}}}), (Seen{"255|255", "null", "7|7"})) << format;
  }
  EXPECT_EQ(seen({"x", "L", wholes({-1})}), Seen{"1.8446744073709552e+19|18446744073709551615"});
  EXPECT_EQ(seen({"x", "l", wholes({std::numeric_limits<std::int64_t>::min()})}), Seen{"-9.223372036854776e+18|-9223372036854775808"});
  EXPECT_EQ(seen({"x", "g", {0.1, nan, -infinity, null, -0.0, 7.0, 0x1p53, 0x1p53 + 2, -1e-7, 1e15 + 0.5}}),
            (Seen{"0.1|0.1", "null", "damaged|", "null", "-0|0", "7|7", "9007199254740992|9007199254740992", "9007199254740994|",
                  "-1e-07|-1e-07", "1000000000000000.5|1000000000000000.5"}));
  EXPECT_EQ(seen({"x", "f", {0.5, nan, infinity, null, 3.0}}), (Seen{"0.5|0.5", "null", "damaged|", "null", "3|3"}));
  EXPECT_EQ(seen({"x", "e", {0.5, -2048.0, 65504.0, 0x1p-24, 0x1.ffcp-15, nan, -infinity, null}}),
            (Seen{"0.5|0.5", "-2048|-2048", "65504|65504", "5.960464477539063e-08|5.960464477539063e-08",
                  "6.097555160522461e-05|6.097555160522461e-05", "null", "damaged|", "null"}));
  EXPECT_EQ(seen({"x", "b", {std::int64_t{1}, std::int64_t{0}, null}}), (Seen{"1|true|is true", "0|false|is false", "null"}));
  const std::vector<ArrowCell> texts{"7",   " 1.5 ", "", null, "2017-06-01", "2017-06-01 13:30", "a text that is longer than twelve bytes",
                                     "0x10"};
  const Seen of_texts{"7|7",
                      "1.5| 1.5 ",
                      "damaged|",
                      "null",
                      "damaged|2017-06-01|2017-06-01",
                      "damaged|2017-06-01 13:30|2017-06-01",
                      "damaged|a text that is longer than twelve bytes",
                      "damaged|0x10"};
  for (const std::string format : {"u", "U", "vu", "z", "Z", "vz"}) EXPECT_EQ(seen({"x", format, texts}), of_texts) << format;
  EXPECT_EQ(seen({"x", "w:3", {"abc", null, "1.5"}}), (Seen{"damaged|abc", "null", "1.5|1.5"}));
  EXPECT_EQ(seen({"x", "tdD", {std::int64_t{17318}, std::int64_t{-1}, null, std::int64_t{2'932'897}}}),
            (Seen{"17318|2017-06-01|2017-06-01", "-1|1969-12-31|1969-12-31", "null", "2932897|"}));
  EXPECT_EQ(seen({"x", "tdm", wholes({17318 * 86'400'000LL, -1})}), (Seen{"17318|2017-06-01|2017-06-01", "-1|1969-12-31|1969-12-31"}));
  EXPECT_EQ(seen({"x", "tts", wholes({21'600, -1, 86'400})}), (Seen{"0.25|06:00:00", "-1.1574074074074073e-05|", "1|"}));
  EXPECT_EQ(seen({"x", "ttm", wholes({21'600'500})}), Seen{"0.250005787037037|06:00:00.5"});
  EXPECT_EQ(seen({"x", "ttu", wholes({21'600'000'000})}), Seen{"0.25|06:00:00"});
  EXPECT_EQ(seen({"x", "ttn", wholes({21'600'000'000'000})}), Seen{"0.25|06:00:00"});
  // One number and one text of a point of time, in whatever unit it comes, and a day where dates are compared.
  for (const auto& [unit, of_second] :
       std::vector<std::pair<std::string, std::int64_t>>{{"s", 1}, {"m", 1000}, {"u", 1'000'000}, {"n", 1'000'000'000}}) {
    for (const std::string zone : {"", "Europe/Rome"}) {
      EXPECT_EQ(
          seen({"x", "ts" + unit + ":" + zone, wholes({17318 * 86'400 * of_second, (17318 * 86'400 + 21'601) * of_second, -of_second})}),
          (Seen{"17318|2017-06-01|2017-06-01", "17318.250011574073|2017-06-01 06:00:01|2017-06-01",
                "-1.1574074074074073e-05|1969-12-31 23:59:59|1969-12-31"}))
          << unit;
    }
    EXPECT_EQ(seen({"x", "tD" + unit, wholes({30 * 86'400 * of_second, -21'600 * of_second})}), (Seen{"30|30", "-0.25|-0.25"})) << unit;
  }
  EXPECT_EQ(seen({"x", "tsn:", wholes({1'500'000'000})}), Seen{"1.736111111111111e-05|1970-01-01 00:00:01.5|1970-01-01"});
  EXPECT_EQ(seen({"x", "tss:", wholes({253'402'300'800})}), Seen{"2932897|"}) << "the year 10000";
  EXPECT_EQ(seen({"x", "d:19,2", {std::int64_t{-150}, std::int64_t{5}, std::int64_t{0}, null, std::int64_t{700}}}),
            (Seen{"-1.5|-1.5", "0.05|0.05", "0|0", "null", "7|7"}));
  for (const std::string format : {"d:9,1,32", "d:18,1,64", "d:38,1,128", "d:76,1,256"}) {
    EXPECT_EQ(seen({"x", format, wholes({-1'234'567'891, 1})}), (Seen{"-123456789.1|-123456789.1", "0.1|0.1"})) << format;
  }
  EXPECT_EQ(seen({"x", "d:19,-3", wholes({-9'223'372'036'854'775'807, 0})}),
            (Seen{"-9.223372036854776e+21|-9223372036854775807000", "0|0"}));
  EXPECT_EQ(seen({"x", "_pli128", {std::int64_t{-7}, null}}), (Seen{"-7|-7", "null"}));
  EXPECT_EQ(seen({"x", "_plu128", wholes({7, -1})}), (Seen{"7|7", "3.402823669209385e+38|340282366920938463463374607431768211455"}));
  EXPECT_EQ(seen({"x", "n", {null, null}}), (Seen{"null", "null"}));
  for (const auto* const format : {surety::testing::dense_union, surety::testing::sparse_union}) {
    for (const std::size_t offset : {0, 5}) {
      EXPECT_EQ(
          seen({"x", format, {std::int64_t{7}, null, 7.0, "7", nan, 1.5, "", "x"}}, {.batches = {3}, .offset = offset, .child_offset = 2}),
          (Seen{"7|7", "null", "7|7", "7|7", "null", "1.5|1.5", "damaged|", "damaged|x"}));
    }
  }
}

// What nobody can read is a missing cell, and no reason to refuse: another package may have chosen the type by one cell.
TEST_F(ArrowStreams, CountWhatTheyCannotReadAsMissing) {
  const std::vector<ArrowCell> cells(3, ArrowCell{"what nobody sees"});
  for (const std::string format :
       {"+l", "+L", "+vl", "+s", "+m", "+r", "+w:3", "tiM", "tin", "tiD", "d:99,1", "w:0", "+ud:0,0", "+us:128", "?"}) {
    auto column = ArrowTestColumn{"x", "l", cells};
    auto stream =
        arrow_stream({.columns = {column}}, {.change_schema = [&](ArrowSchema& schema) { schema.children[0]->format = format.c_str(); }});
    ArrowStream opened{&stream};
    EXPECT_EQ(opened.position("x"), 0U);
    const auto batch = opened.next();
    const auto read = batch->cells(0);
    std::string buffer;
    for (std::size_t row = 0; row < 3; ++row) {
      EXPECT_TRUE(read.is_null(row) && read.is_blank(row)) << format;
      EXPECT_EQ(read.text(row, buffer), "");
    }
    std::vector<double> numbers(3);
    EXPECT_EQ(read.numbers(0, 3, numbers.data()), 0U);
  }
  EXPECT_EQ(seen({"x", "u", {"a", "b"}, "g"}), (Seen{"null", "null"})) << "a dictionary whose indices are floats";
}

// A slice, a dictionary and a batch are ways to store a table, and no part of it.
TEST_F(ArrowStreams, ReadTheSameHoweverCellsAreStored) {
  const std::vector<ArrowCell> numbers{0.25, null, -3.0, nan, 8.0, null, 1e300, -0.0, 12.0, null, 0.5};
  const std::vector<ArrowCell> integers{std::int64_t{1}, null, std::int64_t{-3}, std::int64_t{5}, null, std::int64_t{100}};
  const std::vector<ArrowCell> texts{"one", null, "", "three and something more", "one", "x", null, "y", "zzzzzzzzzzzz", "zzzzzzzzzzzzz"};
  for (const auto& [format, cells] : std::vector<std::pair<std::string, std::vector<ArrowCell>>>{{"g", numbers},
                                                                                                 {"f", numbers},
                                                                                                 {"e", numbers},
                                                                                                 {"l", integers},
                                                                                                 {"c", integers},
                                                                                                 {"b", integers},
                                                                                                 {"u", texts},
                                                                                                 {"U", texts},
                                                                                                 {"vu", texts},
                                                                                                 {"d:9,1", integers},
                                                                                                 {"tdD", integers}}) {
    const auto expected = seen({"x", format, cells});
    for (const std::string indices : {"", "c", "I", "l"}) {
      for (const std::size_t each : {1, 3, 100}) {
        for (const std::size_t offset : {0, 1, 9}) {
          for (const std::size_t child_offset : {0, 1, 8}) {
            EXPECT_EQ(seen({"x", format, cells, indices},
                           {.batches = surety::testing::batches_of(cells.size(), each), .offset = offset, .child_offset = child_offset}),
                      expected)
                << format << " " << indices;
          }
        }
      }
    }
    // Rows that are null as a whole are null in every column.
    std::vector<bool> null_rows(cells.size());
    auto nulled = expected;
    for (std::size_t k = 0; k < cells.size(); k += 2) {
      null_rows[k] = true;
      nulled[k] = "null";
    }
    for (const std::string indices : {"", "s"}) {
      EXPECT_EQ(seen({"x", format, cells, indices}, {.batches = {3, 0, 1}, .offset = 5, .child_offset = 2}, null_rows), nulled) << format;
    }
  }
}

TEST_F(ArrowStreams, GiveNumbersInBlocksAsOneByOne) {
  std::vector<ArrowCell> reals;
  std::vector<ArrowCell> wholes;
  std::vector<ArrowCell> texts;
  for (int k = 0; k < 100; ++k) {
    reals.push_back(k % 7 == 0 ? ArrowCell{} : k % 11 == 0 ? ArrowCell{nan} : k % 13 == 0 ? ArrowCell{infinity} : ArrowCell{k / 8.0});
    wholes.push_back(k % 7 == 0 ? ArrowCell{} : ArrowCell{std::int64_t{k}});
    texts.push_back(k % 7 == 0 ? ArrowCell{} : k % 5 == 0 ? ArrowCell{"x"} : ArrowCell{std::to_string(k)});
  }
  auto without_nulls = reals;
  for (auto& cell : without_nulls) {
    if (std::holds_alternative<std::monostate>(cell)) cell = 3.0;
  }
  std::vector<ArrowTestColumn> columns{{"g", "g", reals},     {"h", "g", without_nulls}, {"f", "f", reals},
                                       {"e", "e", reals},     {"l", "l", wholes},        {"i", "i", wholes},
                                       {"c", "c", wholes},    {"C", "C", wholes},        {"b", "b", wholes},
                                       {"u", "u", texts},     {"vu", "vu", texts},       {"d", "d:9,1", wholes},
                                       {"t", "ttm", wholes},  {"D", "g", reals, "i"},    {"n", "n", std::vector<ArrowCell>(100)},
                                       {"S", "tsm:", wholes}, {"T", "tDs", wholes},      {"+", surety::testing::dense_union, reals}};
  for (const bool has_null_rows : {false, true}) {
    std::vector<bool> null_rows(has_null_rows ? 100 : 0);
    for (std::size_t k = 0; k < null_rows.size(); k += 3) null_rows[k] = true;
    auto stream = opened({.columns = columns, .null_rows = null_rows}, {.batches = {40}, .offset = 3, .child_offset = 1});
    while (const auto batch = stream.next()) {
      for (std::size_t k = 0; k < columns.size(); ++k) {
        const auto cells = batch->cells(k);
        std::vector<double> expected;
        for (std::size_t row = 5; row < cells.size(); ++row) {
          if (cells.is_null(row)) continue;
          const auto number = cells.number(row);
          if (number.fault == NumberFault::none) expected.push_back(number.value);
        }
        std::vector<double> found(cells.size() - 5);
        found.resize(cells.numbers(5, found.size(), found.data()));
        EXPECT_EQ(found, expected) << columns[k].name;
      }
    }
  }
}

TEST_F(ArrowStreams, LetGoOfWhatIsNotKept) {
  const ArrowTestTable table{.columns = {{"a", "l", wholes({1, 2})}, {"b", "u", {"x", "y"}}, {"c", "l", wholes({3, 4})}},
                             .null_rows = {false, true}};
  auto stream = opened(table, {.offset = 11});
  auto batch = *stream.next();
  EXPECT_EQ(ArrowCount::live, 1 + 4) << "the stream, a batch and its columns";
  const std::array<std::size_t, 2> kept{2, 0};
  batch.keep_only(kept);
  EXPECT_EQ(ArrowCount::live, 1 + 2);
  const ArrowBatch moved = std::move(batch);
  EXPECT_EQ(moved.cells(2).number(0).value, 3);
  EXPECT_EQ(moved.cells(0).number(0).value, 1);
  EXPECT_TRUE(moved.cells(0).is_null(1) && moved.is_null(1) && !moved.is_null(0));
  EXPECT_TRUE(refuses([&] { static_cast<void>(moved.cells(1)); }, ErrorCode::internal, {"let go"}));
}

// What is read to be counted is read once, and is there to be read by whoever comes next.
TEST_F(ArrowStreams, CountTheirRowsAndKeepThem) {
  const ArrowTestTable table{.columns = {{"x", "l", wholes({1, 2, 3, 4, 5})}}};
  for (const bool is_counted : {false, true}) {
    auto stream = opened(table, {.batches = {2, 0, 3}});
    if (is_counted) {
      EXPECT_EQ(stream.count_rows(), 5U);
      EXPECT_EQ(stream.count_rows(), 5U);
    }
    std::vector<std::size_t> rows;
    std::vector<double> numbers;
    auto moved = std::move(stream);
    while (const auto batch = moved.next()) {
      rows.push_back(batch->rows());
      const auto cells = batch->cells(0);
      for (std::size_t row = 0; row < cells.size(); ++row) numbers.push_back(cells.number(row).value);
    }
    EXPECT_EQ(rows, (std::vector<std::size_t>{2, 0, 3}));
    EXPECT_EQ(numbers, (std::vector<double>{1, 2, 3, 4, 5}));
    EXPECT_FALSE(moved.next());
  }
  // A producer that knows the number is not read for it.
  auto producer = arrow_stream(table);
  ArrowStream known{&producer, {}, 7};
  EXPECT_EQ(known.count_rows(), 7U);
  EXPECT_EQ(known.next()->rows(), 5U);
  // What is left over is let go.
  auto unread = opened(table, {.batches = {1, 4}});
  EXPECT_EQ(unread.count_rows(), 5U);
}

TEST_F(ArrowStreams, FindColumnsByTheirNames) {
  const auto stream = opened({.columns = {{"x", "g", {}}, {"b\n", "z", {}}, {"twice", "l", {}}, {"twice", "l", {}}}});
  EXPECT_EQ(stream.position("x"), 0U);
  const auto refused = [&](const char* column, const std::vector<std::string_view>& words) {
    return refuses([&] { static_cast<void>(stream.position(column)); }, ErrorCode::bad_data, words);
  };
  EXPECT_TRUE(refused("twice", {"'twice' appears twice"}));
  EXPECT_TRUE(refused("y", {"'y' is missing, the schema has x, b , twice, twice"}));
}

TEST_F(ArrowStreams, RefuseWhatIsNoStream) {
  EXPECT_TRUE(refuses([] { ArrowStream{nullptr}; }, ErrorCode::invalid_argument, {"no Arrow stream"}));
  auto stream = arrow_stream({.columns = {{"x", "g", {1.0}}}});
  { const ArrowStream taken{&stream}; }
  EXPECT_TRUE(refuses([&] { ArrowStream{&stream}; }, ErrorCode::invalid_argument, {"was released"}));
  stream = arrow_stream({.columns = {{"x", "g", {1.0}}}});
  stream.get_next = nullptr;
  EXPECT_TRUE(refuses([&] { ArrowStream{&stream}; }, ErrorCode::bad_data, {"neither a schema nor batches"}));
  EXPECT_EQ(stream.release, nullptr);
}

// Its words may hold data.
TEST_F(ArrowStreams, RepeatAProducersWordsOnlyWhereTheFormIsPublic) {
  for (const auto form : {RecordForm::is_private, RecordForm::is_public}) {
    auto stream = opened({.columns = {{"x", "g", {1.0, 2.0}}}}, {.batches = {1}, .fails_at = 1, .words = "row 7:\n4711"});
    EXPECT_TRUE(stream.next(form));
    const auto refusal = reference::refusal_of([&] { return stream.next(form).has_value(); });
    EXPECT_TRUE(refusal.says(ErrorCode::bad_data, "Arrow stream: its producer fails")) << refusal;
    EXPECT_EQ(refusal.message.find("4711") != std::string::npos, form == RecordForm::is_public) << refusal;
    EXPECT_EQ(refusal.message.find('5') != std::string::npos, form == RecordForm::is_public) << refusal;
    EXPECT_EQ(refusal.message.find('\n'), std::string::npos);
    EXPECT_FALSE(stream.next(form)) << "at its end";
  }
}

TEST_F(ArrowStreams, CarryOverThatAProducerHasNoMemory) {
  for (const auto form : {RecordForm::is_private, RecordForm::is_public}) {
    auto stream = opened({.columns = {{"x", "g", {1.0, 2.0}}}}, {.batches = {1}, .fails_at = 1, .code = ENOMEM});
    EXPECT_TRUE(stream.next(form));
    EXPECT_THROW(static_cast<void>(stream.next(form)), std::bad_alloc);
    EXPECT_FALSE(stream.next(form)) << "at its end";
  }
  auto given = arrow_stream({.columns = {{"x", "g", {1.0}}}});
  given.get_schema = [](ArrowArrayStream*, ArrowSchema*) { return ENOMEM; };
  EXPECT_THROW(ArrowStream{&given}, std::bad_alloc);
  EXPECT_EQ(given.release, nullptr);
}

TEST_F(ArrowStreams, RefuseASchemaThatIsNone) {
  const auto refused = [&](const std::function<void(ArrowSchema&)>& change, const std::vector<std::string_view>& words,
                           const DataLimits& limits = {}) {
    auto stream = arrow_stream({.columns = {{"x", "g", {1.0}}, {"y", "u", {"a"}, "i"}}}, {.change_schema = change});
    return refuses([&] { ArrowStream(&stream, limits); }, ErrorCode::bad_data, words);
  };
  EXPECT_TRUE(refused([](ArrowSchema& schema) { schema.format = "g"; }, {"none of a table"}));
  EXPECT_TRUE(refused([](ArrowSchema& schema) { schema.format = nullptr; }, {"none of a table"}));
  EXPECT_TRUE(refused([](ArrowSchema& schema) { schema.release(&schema); }, {"none of a table"}));
  EXPECT_TRUE(refused([](ArrowSchema& schema) { schema.n_children = -1; }, {"has -1 columns"}));
  EXPECT_TRUE(refused([](ArrowSchema& schema) { schema.children = nullptr; }, {"column 1 of its schema is nowhere"}));
  EXPECT_TRUE(refused([](ArrowSchema& schema) { schema.children[0] = nullptr; }, {"column 1 of its schema is nowhere"}));
  EXPECT_TRUE(refused([](ArrowSchema& schema) { schema.children[1]->format = nullptr; }, {"column 2 has no format"}));
  EXPECT_TRUE(refused([](ArrowSchema& schema) { schema.children[1]->dictionary->format = nullptr; },
                      {"the dictionary of column 'y' has no format"}));
  EXPECT_TRUE(refused([](ArrowSchema&) {}, {"has 2 columns, must have at most 1"}, {.columns = 1}));
}

// Each union was read within the one around it, until the stack was full.
TEST_F(ArrowStreams, TakeASchemaOfAnyDepth) {
  constexpr std::size_t depth = 200'000;
  ArrowSchema one{};
  one.format = "+us:0";
  one.name = "";
  one.n_children = 1;
  one.release = [](ArrowSchema*) {};
  std::vector<ArrowSchema> unions(depth, one);
  std::vector<ArrowSchema*> places;
  for (auto& its : unions) places.push_back(&its);
  for (std::size_t k = 0; k + 1 < depth; ++k) unions[k].children = &places[k + 1];
  unions.back().format = "g";
  unions.back().n_children = 0;
  const auto nest = [&](ArrowSchema& schema) {
    schema.children[0]->format = "+us:0";
    schema.children[0]->n_children = 1;
    schema.children[0]->children = places.data();
  };
  auto stream = arrow_stream({.columns = {{"x", "g", {1.0}}}}, {.change_schema = nest});
  const ArrowStream opened{&stream};
  EXPECT_EQ(opened.columns().size(), 1U);
}

TEST_F(ArrowStreams, RefuseABatchThatLies) {
  const auto refused = [&](const std::function<void(ArrowArray&)>& change, const std::vector<std::string_view>& words) {
    const ArrowTestTable table{.columns = {{"g", "g", {1.0, null, 3.0}},
                                           {"u", "u", {"one", "two", "three"}},
                                           {"v", "vu", {"one", "a text of more than twelve bytes", null}},
                                           {"d", "l", wholes({1, 2, 3}), "c"},
                                           {"m", surety::testing::dense_union, {std::int64_t{1}, 2.0, "three"}}}};
    auto stream = opened(table, {.change_batch = change});
    return refuses(
        [&] {
          const auto batch = stream.next();
          for (std::size_t k = 0; k < 5; ++k) static_cast<void>(batch->cells(k));
        },
        ErrorCode::bad_data, words);
  };
  const auto write = [](const void* buffer, std::size_t place, auto value) {
    std::memcpy(static_cast<unsigned char*>(const_cast<void*>(buffer)) + place, &value, sizeof(value));
  };
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  for (const auto wrong : {std::int64_t{-1}, least, largest}) {
    EXPECT_TRUE(refused([&](ArrowArray& batch) { batch.length = wrong; }, {"a batch has a length or an offset that is none"}));
    EXPECT_TRUE(refused([&](ArrowArray& batch) { batch.offset = wrong; }, {"a batch has a length or an offset that is none"}));
    EXPECT_TRUE(refused([&](ArrowArray& batch) { batch.n_children = wrong; }, {"another number of columns"}));
    EXPECT_TRUE(refused([&](ArrowArray& batch) { batch.children[0]->offset = wrong; }, {"column 'g' has a length or an offset"}));
    EXPECT_TRUE(refused([&](ArrowArray& batch) { batch.children[0]->n_buffers = wrong; }, {"column 'g' has another number of buffers"}));
    EXPECT_TRUE(refused([&](ArrowArray& batch) { batch.children[2]->n_buffers = wrong; }, {"column 'v' has another number of buffers"}));
    EXPECT_TRUE(
        refused([&](ArrowArray& batch) { batch.children[3]->dictionary->length = wrong; }, {"column 'd' has a dictionary of a length"}));
    EXPECT_TRUE(
        refused([&](ArrowArray& batch) { batch.children[3]->dictionary->offset = wrong; }, {"column 'd' has a length or an offset"}));
  }
  for (const auto wrong : {std::int64_t{-2}, std::int64_t{4}, least, largest}) {
    EXPECT_TRUE(refused([&](ArrowArray& batch) { batch.null_count = wrong; }, {"a batch has a number of nulls"}));
    EXPECT_TRUE(refused([&](ArrowArray& batch) { batch.children[0]->null_count = wrong; }, {"column 'g' has a number of nulls"}));
  }
  EXPECT_TRUE(refused([&](ArrowArray& batch) { batch.null_count = 1; }, {"rows that are null and says not which"}));
  EXPECT_TRUE(refused([&](ArrowArray& batch) { batch.dictionary = batch.children[3]->dictionary; }, {"a dictionary of rows"}));
  EXPECT_TRUE(refused([&](ArrowArray& batch) { batch.length = 4; }, {"is longer than its column 'g'"}));
  EXPECT_TRUE(refused([&](ArrowArray& batch) { batch.offset = 1; }, {"is longer than its column 'g'"}));
  EXPECT_TRUE(refused([&](ArrowArray& batch) { batch.children = nullptr; }, {"another number of columns"}));
  EXPECT_TRUE(refused([&](ArrowArray& batch) { batch.children[1]->release(batch.children[1]); }, {"no column 'u', or a released one"}));
  EXPECT_TRUE(refused([&](ArrowArray& batch) { batch.children[1]->buffers = nullptr; }, {"column 'u' has another number of buffers"}));
  EXPECT_TRUE(refused([&](ArrowArray& batch) { batch.children[0]->buffers[0] = nullptr; }, {"column 'g' has nulls and says not where"}));
  EXPECT_TRUE(refused([&](ArrowArray& batch) { batch.children[0]->buffers[1] = nullptr; }, {"column 'g' has no values"}));
  EXPECT_TRUE(refused([&](ArrowArray& batch) { batch.children[1]->buffers[2] = nullptr; }, {"column 'u' has texts that are nowhere"}));
  EXPECT_TRUE(refused([&](ArrowArray& batch) { write(batch.children[1]->buffers[1], 0, std::int32_t{-1}); },
                      {"'u' has a text that begins before"}));
  EXPECT_TRUE(
      refused([&](ArrowArray& batch) { write(batch.children[1]->buffers[1], 4, std::int32_t{7}); }, {"'u' has a text that ends before"}));
  EXPECT_TRUE(
      refused([&](ArrowArray& batch) { write(batch.children[2]->buffers[1], 0, std::int32_t{-1}); }, {"'v' has a text that ends before"}));
  EXPECT_TRUE(
      refused([&](ArrowArray& batch) { write(batch.children[2]->buffers[1], 16, std::int32_t{33}); }, {"'v' has a text that ends behind"}));
  EXPECT_TRUE(
      refused([&](ArrowArray& batch) { write(batch.children[2]->buffers[1], 24, std::int32_t{1}); }, {"'v' has a text in no buffer"}));
  EXPECT_TRUE(
      refused([&](ArrowArray& batch) { write(batch.children[2]->buffers[1], 28, std::int32_t{-1}); }, {"'v' has a text in no buffer"}));
  EXPECT_TRUE(refused([&](ArrowArray& batch) { batch.children[2]->buffers[3] = nullptr; }, {"'v' has texts whose lengths are nowhere"}));
  EXPECT_TRUE(refused([&](ArrowArray& batch) { write(batch.children[3]->buffers[1], 1, std::int8_t{4}); },
                      {"'d' has an index beyond its dictionary"}));
  EXPECT_TRUE(refused([&](ArrowArray& batch) { write(batch.children[3]->buffers[1], 1, std::int8_t{-1}); },
                      {"'d' has an index beyond its dictionary"}));
  EXPECT_TRUE(refused([&](ArrowArray& batch) { batch.children[4]->n_children = 3; }, {"'m' has another number of members"}));
  EXPECT_TRUE(refused([&](ArrowArray& batch) { batch.children[4]->children = nullptr; }, {"'m' has another number of members"}));
  EXPECT_TRUE(refused([&](ArrowArray& batch) { batch.children[4]->children[1]->release(batch.children[4]->children[1]); },
                      {"'m' has a member that is nowhere"}));
  EXPECT_TRUE(refused([&](ArrowArray& batch) { batch.children[4]->children[1]->length = -1; }, {"'m' has a member of a length"}));
  EXPECT_TRUE(refused([&](ArrowArray& batch) { batch.children[4]->n_buffers = 3; }, {"'m' has another number of buffers"}));
  EXPECT_TRUE(refused([&](ArrowArray& batch) { batch.children[4]->buffers[1] = nullptr; }, {"'m' has no values"}));
  EXPECT_TRUE(
      refused([&](ArrowArray& batch) { write(batch.children[4]->buffers[0], 1, std::int8_t{-1}); }, {"'m' has a cell of no member"}));
  EXPECT_TRUE(
      refused([&](ArrowArray& batch) { write(batch.children[4]->buffers[0], 1, std::int8_t{4}); }, {"'m' has a cell of no member"}));
  EXPECT_TRUE(
      refused([&](ArrowArray& batch) { write(batch.children[4]->buffers[1], 4, std::int32_t{2}); }, {"'m' has a cell beyond its member"}));
  EXPECT_TRUE(
      refused([&](ArrowArray& batch) { write(batch.children[4]->buffers[1], 4, std::int32_t{-1}); }, {"'m' has a cell beyond its member"}));
  EXPECT_TRUE(refused([&](ArrowArray& batch) { batch.children[3]->dictionary = nullptr; },
                      {"'d' has a dictionary in its schema or in a batch alone"}));
  EXPECT_TRUE(refused([&](ArrowArray& batch) { batch.children[0]->dictionary = batch.children[3]->dictionary; },
                      {"'g' has a dictionary in its schema"}));
}

}  // namespace
}  // namespace surety::data::arrow_stream_test
