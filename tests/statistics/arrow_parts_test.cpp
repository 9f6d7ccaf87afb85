// Statistics of every kind from a CSV file, and from Arrow streams of the same table, cut and stored in many ways: the same answers to the last bit from
// the same random bits.
#include <surety/statistics/parts.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/data/arrow/arrow_reader.h>
#include <surety/mechanisms/bits/random_bits.h>

#include <support/arrow_batches.h>
#include <support/arrow_table.h>
#include <support/temporary_folder.h>

namespace surety::statistics::arrow_parts_test {
namespace {

using data::Bounds;
using surety::testing::arrow_stream;
using surety::testing::ArrowStreamOptions;
using surety::testing::ArrowTestTable;
using surety::testing::random_table_in_both_forms;
using surety::testing::TableInBothForms;

std::vector<Statistic> all_statistics() {
  const data::ColumnKinds kinds{{"day", data::CellKind::date}, {"x", data::CellKind::number}};
  const auto where = [&](const char* text) { return data::parse_condition(text, "where", kinds); };
  const Groups towns{"t", data::Categories{{"Rome", "7", "Lima"}}};
  std::vector<Statistic> all{{.of = CountOf{}, .where = where("x>3 and not (n==2)"), .adjacency = {}},
                             {.of = CountOf{}, .where = where("day>='2017-06-01' or t==Rome"), .adjacency = {}},
                             {.of = CountOf{}, .where = where("missing(x) or present(day)"), .adjacency = {}},
                             {.of = CountOf{}, .where = where("flag==true and price<=7.25"), .adjacency = {}},
                             {.of = CountOf{}, .where = where("missing(t) or missing(flag)"), .adjacency = {}},
                             {.of = SumOf{"x", Bounds{-1, 15}}, .adjacency = {}},
                             {.of = SumOf{"n", Bounds{-1, 3}}, .where = where("t!='7'"), .adjacency = {}},
                             {.of = SumOf{"price", Bounds{0, 9}}, .adjacency = {}, .by = towns},
                             {.of = MeanOf{"x", Bounds{0, 10}}, .adjacency = {}},
                             {.of = MeanOf{"n", Bounds{-2, 2}}, .adjacency = {}, .by = towns},
                             {.of = VarianceOf{"x", Bounds{0, 20}}, .adjacency = {}},
                             {.of = HistogramOf{"x", Bins{{-5, 20}, 7}}, .adjacency = {}},
                             {.of = HistogramOf{"t", data::Categories{{"Rome", "Oslo", "7"}}}, .adjacency = {}},
                             {.of = HistogramOf{"flag", data::Categories{{"true", "false"}}}, .adjacency = {}},
                             {.of = HistogramOf{"day", data::Categories{{"2017-05-30", "2017-06-02"}}}, .adjacency = {}},
                             {.of = HistogramOf{"n", data::Categories{{"0", "1", "-1"}}}, .where = where("x<10"), .adjacency = {}},
                             {.of = CountOf{}, .adjacency = {}, .by = Groups{"n", Bins{{-2, 5}, 3}}},
                             {.of = QuantileOf{"x", Bounds{0, 20}, Fraction{0.5}, 41}, .adjacency = {}},
                             {.of = QuantileOf{"price", Bounds{0, 20}, Fraction{0.9}, 21}, .where = where("n>=0"), .adjacency = {}}};
  // Of dates that are written as texts the days are read, too.
  all.push_back({.of = MeanOf{"day", Bounds{17300, 17330}}, .adjacency = {}, .dates = {"day"}});
  all.push_back({.of = CountOf{}, .adjacency = {}, .by = Groups{"day", Bins{{17300, 17330}, 6}}, .dates = {"day"}});
  all.push_back({.of = QuantileOf{"day", Bounds{17300, 17330}, Fraction{0.5}, 31}, .adjacency = {}, .dates = {"day"}});
  all.push_back({.of = KeysOf{.column = "t", .chance = Delta{1e-7}}, .adjacency = {}});
  const auto of_expression = [&](decltype(Statistic::of) of, const std::string& text) {
    all.push_back({.of = std::move(of), .adjacency = {}});
    all.back().expression = Expression::parse(text);
  };
  of_expression(SumOf{"x * n", Bounds{-9, 15}}, "x * n");
  of_expression(MeanOf{"x / n", Bounds{-1, 15}}, "x / n");
  of_expression(QuantileOf{"log(x)", Bounds{0, 3}, Fraction{0.5}, 31}, "log(x)");
  of_expression(HistogramOf{"price - x", Bins{{-5, 20}, 7}}, "price - x");
  return all;
}

class ArrowParts : public ::testing::Test {
 protected:
  static std::vector<WeightedStatistic> queries_of(Adjacency adjacency, const UnitOfPrivacy& unit) {
    std::vector<WeightedStatistic> queries;
    for (auto& statistic : all_statistics()) {
      statistic.adjacency = adjacency;
      statistic.unit = unit;
      if (auto* const keys = std::get_if<KeysOf>(&statistic.of)) keys->owner = RowOwner{"who", false};
      const auto* const column = column_of(statistic);
      if (column != nullptr && *column == "price" && std::holds_alternative<SumOf>(statistic.of))
        statistic.missing = MissingCells::promised_complete;
      queries.push_back({.statistic = std::move(statistic)});
    }
    return queries;
  }

  /// Each number that is released, to its last bit. \param read gives the number of records
  template <class Read>
  std::string released(const std::vector<WeightedStatistic>& queries, const Read& read) const {
    const auto& first = queries.front().statistic;
    const auto parts = parts_of(queries, NoiseFamily::laplace, 2, 0.95);
    const auto records = read(parts);
    auto ledger = accounting::Ledger::create(folder_ / fmt::format("{}.db", ++ledgers_), first.adjacency, std::nullopt, first.unit);
    auto reservation = ledger.reserve({.event = event_of(queries, NoiseFamily::laplace, 2), .unit = first.unit});
    mechanisms::ReplayBits bits{3};
    std::string text = fmt::format("{} records\n", records);
    for (std::size_t k = 0; k < parts.size(); ++k) {
      text += fmt::format("{}:", k);
      for (const auto& answer : parts[k]->release(reservation, bits, records))
        text += fmt::format(" {} {} {:a}", answer.group, answer.cell, answer.estimate.value);
      text += "\n";
    }
    return text;
  }
  std::string from_csv(const std::vector<WeightedStatistic>& queries, const TableInBothForms& both, const data::DataPolicy& policy) const {
    const auto path = folder_.write("table.csv", both.csv);
    const auto& unit = queries.front().statistic.unit;
    return released(queries, [&](const Parts& parts) {
      data::CsvReader reader{path, policy};
      if (!unit.is_row()) {
        const auto kept =
            std::make_shared<const data::KeptRows>(data::select_rows(path, {.column = "who", .most = unit.most()}, policy, key));
        reader.keep_only({kept, &kept->is_kept}, "who");
      }
      return read_parts(std::move(reader), parts, true);
    });
  }
  std::string from_arrow(const std::vector<WeightedStatistic>& queries, const ArrowTestTable& table, const data::DataPolicy& policy,
                         const ArrowStreamOptions& options = {}) const {
    const auto& unit = queries.front().statistic.unit;
    std::optional<data::ArrowUnits> units;
    if (!unit.is_row()) units = {.rule = {.column = "who", .most = unit.most()}, .key = key};
    return released(queries, [&](const Parts& parts) {
      auto stream = arrow_stream(table, options);
      return read_parts(data::ArrowReader{data::ArrowStream{&stream}, policy}, parts, true, units);
    });
  }

  static constexpr data::UnitKey key{4, 5, 6};
  TemporaryFolder folder_;
  mutable int ledgers_ = 0;
};

TEST_F(ArrowParts, AreThoseOfTheCsvFileFromAnyBatches) {
  for (const auto adjacency : {Adjacency::replace_one, Adjacency::add_or_remove_one, Adjacency::zero_out}) {
    for (const std::size_t owned : {0, 4}) {
      const auto both = random_table_in_both_forms(7 + owned, 300, std::max<std::size_t>(owned, 1));
      const auto unit = owned == 0 ? UnitOfPrivacy{} : UnitOfPrivacy{"who", Count{owned}};
      for (const bool counts_missing : {false, true}) {
        if (counts_missing && adjacency != Adjacency::zero_out) continue;
        data::DataPolicy policy;
        auto queries = queries_of(adjacency, unit);
        if (counts_missing) {
          policy.csv.missing = {{"x", "4"}, {"t", "Rome"}, {"n", "1"}};
          for (auto& query : queries) {
            const auto* const column = column_of(query.statistic);
            if (column != nullptr && (*column == "x" || *column == "n")) query.statistic.missing = MissingCells::count_as_a_value;
          }
        }
        const auto expected = from_csv(queries, both, policy);
        EXPECT_EQ(from_arrow(queries, both.arrow, policy), expected) << owned;
        EXPECT_EQ(from_arrow(queries, both.arrow, policy, {.batches = surety::testing::batches_of(300, 1), .child_offset = 1}), expected)
            << owned;
        auto otherwise = both.arrow;
        otherwise.columns[0].format = "u";
        for (auto& cell : otherwise.columns[0].cells) cell = std::to_string(std::get<std::int64_t>(cell));
        for (auto& column : otherwise.columns) column.indices = "i";
        otherwise.columns[3].format = "vu";
        EXPECT_EQ(from_arrow(queries, otherwise, policy, {.batches = {7, 100}, .offset = 9}), expected) << owned;
      }
    }
  }
}

// All of them as texts, as a reader of CSV gives them that knows no types.
TEST_F(ArrowParts, OfTextsAreReadAsTheFileIs) {
  const auto both = random_table_in_both_forms(2, 200, 1);
  ArrowTestTable texts{.columns = {}, .null_rows = both.arrow.null_rows};
  for (const auto& column : both.arrow.columns) texts.columns.push_back({column.name, "U", {}});
  std::size_t begin = both.csv.find('\n') + 1;
  for (std::size_t row = 0; row < 200; ++row) {
    const std::size_t end = both.csv.find('\n', begin);
    std::string record = both.csv.substr(begin, end - begin);
    for (auto& column : texts.columns) {
      const auto comma = std::min(record.find(','), record.size());
      column.cells.emplace_back(record.substr(0, comma));
      record.erase(0, comma + 1);
    }
    begin = end + 1;
  }
  const auto queries = queries_of(Adjacency::replace_one, {});
  EXPECT_EQ(from_arrow(queries, texts, {}, {.batches = {50}}), from_csv(queries, both, {}));
}

/// The same table with other nulls, and types that the queries take, too.
ArrowTestTable with_other_nulls(ArrowTestTable table, std::mt19937_64& random) {
  const auto any = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
  for (std::size_t column = 1; column < table.columns.size(); ++column) {
    auto& cells = table.columns[column].cells;
    const std::size_t share = any(4);
    const auto whole =
        std::find_if(cells.begin(), cells.end(), [](const auto& cell) { return !std::holds_alternative<std::monostate>(cell); });
    // Of some columns none is null: they are read by other loops.
    const auto filler = whole != cells.end() ? *whole : surety::testing::ArrowCell{};
    for (auto& cell : cells) {
      if (share == 0 && std::holds_alternative<std::monostate>(cell)) cell = filler;
      if (share > 1 && any(4 * share) == 0) cell = {};
    }
    if (any(3) == 0) table.columns[column].indices = "i";
  }
  if (any(2) == 0) table.null_rows.clear();
  table.columns[1].format = any(2) == 0 ? "f" : "g";  // eighths are float32
  table.columns[2].format = std::vector<std::string>{"c", "s", "i", "l"}[any(4)];
  return table;
}

// Of nulls, batches and offsets at random, with owners of whom rows are dropped and without.
TEST_F(ArrowParts, ReadBatchByBatchAreThoseReadRowByRow) {
  std::mt19937_64 random{12};
  for (int repetition = 0; repetition < 50; ++repetition) {
    // Now and then more than a block of 4,096.
    const auto rows = static_cast<std::size_t>(1 + random() % (repetition % 12 == 0 ? 10'000 : 300));
    const std::size_t owned = 1 + random() % 6;
    const auto unit = random() % 2 == 0 ? UnitOfPrivacy{} : UnitOfPrivacy{"who", Count{1 + random() % 4}};
    const auto table = with_other_nulls(random_table_in_both_forms(random(), rows, owned).arrow, random);
    auto queries = queries_of(std::array{Adjacency::replace_one, Adjacency::add_or_remove_one, Adjacency::zero_out}[random() % 3], unit);
    // The owner's own column, where a row with nothing else in it has a number.
    queries.push_back(queries.front());
    queries.back().statistic.of = SumOf{"who", Bounds{0, 50}};
    queries.back().statistic.where.reset();
    // What they cost is of no account here, and takes longer than to read.
    std::shuffle(queries.begin(), queries.end(), random);
    queries.resize(5);
    ArrowStreamOptions options{.offset = random() % 20, .child_offset = random() % 20};
    for (std::size_t given = 0; given < rows && random() % 8 != 0;) {
      options.batches.push_back(random() % 9 == 0 ? 0 : 1 + random() % (random() % 2 == 0 ? 10 : rows));
      options.batches.back() = std::min(options.batches.back(), rows - given);
      given += options.batches.back();
    }
    std::optional<data::ArrowUnits> units;
    if (!unit.is_row()) units = {.rule = {.column = "who", .most = unit.most()}, .key = key};
    const auto batches = parts_of(queries, NoiseFamily::laplace, 2, 0.95);
    auto stream = arrow_stream(table, options);
    const auto records = read_parts(data::ArrowReader{data::ArrowStream{&stream}, {}}, batches, true, units);
    const auto row_by_row = parts_of(queries, NoiseFamily::laplace, 2, 0.95);
    stream = arrow_stream(table, options);
    Rows read{data::ArrowReader{data::ArrowStream{&stream}, {}}};
    for (const auto& part : row_by_row) part->start(read);
    if (units) read.keep_units(*units);
    EXPECT_EQ(read_rows(read, true,
                        [&](Rows& row) {
                          for (const auto& part : row_by_row) part->add(row);
                        }),
              records);
    for (std::size_t k = 0; k < queries.size(); ++k) {
      EXPECT_TRUE(batches[k]->total() == row_by_row[k]->total()) << describe(queries[k].statistic) << ", repetition " << repetition;
    }
  }
}

// Blocks of numbers make the integers that single ones make, behind the end of a block, too, and at the ends of the bounds.
TEST(NumbersAtOnce, AreTheNumbersOneByOne) {
  std::mt19937_64 random{1};
  std::vector<double> numbers;
  for (int k = 0; k < 10'000; ++k) numbers.push_back(k % 3 == 0 ? 1e300 : std::ldexp(static_cast<double>(random() % 4096), -9) - 3);
  const Bounds bounds{-1, 4};
  for (const auto& of : std::vector<decltype(Statistic::of)>{SumOf{"x", bounds}, MeanOf{"x", bounds}, VarianceOf{"x", bounds},
                                                             HistogramOf{"x", Bins{bounds, 5}}}) {
    const Statistic statistic{.of = of, .adjacency = Adjacency::add_or_remove_one};
    // The finest grid that there may be.
    const Grid grid{.log2_step = std::holds_alternative<HistogramOf>(of) ? 0 : -38};
    StatisticSum at_once{statistic, grid};
    StatisticSum single{statistic, grid};
    at_once.add(std::span<const double>{numbers});
    for (const double number : numbers) single.add(number);
    EXPECT_EQ(at_once.sum().steps, single.sum().steps);
  }
}

// As `std::llround` of the clamped distance: halves of a step and their neighbours, both zeros, and what is no number, on grids from coarse to fine.
TEST(NumbersAtOnce, AreRoundedAsTheLibraryRounds) {
  std::mt19937_64 random{2};
  for (const auto& bounds : {Bounds{-1, 4}, Bounds{-3, 1.3}, Bounds{0, 256}, Bounds{-7, -2}, Bounds{0.1, 0.7}}) {
    const double extent = std::max(std::abs(bounds.lower), std::abs(bounds.upper));
    for (const int fineness : {1, 2, 9, 30, 39, 40}) {
      const int log2_step = static_cast<int>(std::floor(std::log2(extent))) + 1 - fineness;
      const double step = std::ldexp(1.0, log2_step);
      for (const bool is_mean : {false, true}) {
        const Statistic statistic{.of = is_mean ? decltype(Statistic::of){MeanOf{"x", bounds}} : SumOf{"x", bounds},
                                  .adjacency = Adjacency::add_or_remove_one};
        const double origin = is_mean ? bounds.lower / 2 + bounds.upper / 2 : 0;
        const auto oracle = [&](double number) {
          const double clamped = number >= bounds.lower ? std::min(number, bounds.upper) : bounds.lower;
          return std::llround((clamped - origin) / step);
        };
        if (std::max(std::abs(oracle(bounds.lower)), std::abs(oracle(bounds.upper))) < 2) continue;
        std::vector<double> numbers{0, -0.0, HUGE_VAL, -HUGE_VAL, std::nan(""), 5e-324, -5e-324, bounds.lower, bounds.upper};
        for (int k = 0; k < 6000; ++k) {
          const double number = bounds.lower + (bounds.upper - bounds.lower) * (static_cast<double>(random() % 4097) / 4096 * 1.1 - 0.05);
          const double half = origin + (std::floor((number - origin) / step) + 0.5) * step;
          numbers.insert(numbers.end(), {number, half, std::nextafter(half, HUGE_VAL), std::nextafter(half, -HUGE_VAL)});
        }
        StatisticSum at_once{statistic, Grid{.log2_step = log2_step}};
        StatisticSum single{statistic, Grid{.log2_step = log2_step}};
        ExactInteger expected = 0;
        for (const double number : numbers) {
          const auto before = single.total().steps.front();
          single.add(number);
          ASSERT_EQ(static_cast<std::int64_t>(single.total().steps.front() - before), oracle(number)) << number << " by " << step;
          expected += oracle(number);
        }
        at_once.add(std::span<const double>{numbers});
        EXPECT_TRUE(at_once.total().steps.front() == expected);
        EXPECT_EQ(at_once.sum().steps, single.sum().steps);
      }
    }
  }
}

// By a search among the edges, of numbers on and beside each of them.
TEST(NumbersAtOnce, FallIntoTheCellThatTheEdgesSay) {
  for (const auto& bins :
       {Bins{{0, 1}, 10}, Bins{{-3, 7.1}, 2}, Bins{{1e-200, 3e-200}, 1000}, Bins{{-0x1p900, 0x1p900}, 77}, Bins{{1e15, 1e15 + 64}, 256}}) {
    const CellFinder finder{bins};
    const auto ends = edges(bins);
    std::vector<double> numbers{0, -0.0, HUGE_VAL, -HUGE_VAL, 1.7e308, -1.7e308, 5e-324};
    for (const double end : ends) {
      for (const double number : {end, std::nextafter(end, HUGE_VAL), std::nextafter(end, -HUGE_VAL)}) numbers.push_back(number);
    }
    for (const double number : numbers) {
      const auto expected = std::upper_bound(ends.begin() + 1, ends.end() - 1, number) - (ends.begin() + 1);
      EXPECT_EQ(finder.find(number), static_cast<std::size_t>(expected)) << number;
    }
    EXPECT_EQ(finder.find(std::nan("")), 0U);
    numbers.push_back(std::nan(""));
    const Statistic statistic{.of = HistogramOf{"x", bins}, .adjacency = Adjacency::add_or_remove_one};
    StatisticSum at_once{statistic, Grid{.log2_step = 0}};
    at_once.add(std::span<const double>{numbers});
    std::vector<std::int64_t> expected(bins.count);
    for (const double number : numbers) ++expected[finder.find(number)];
    EXPECT_EQ(at_once.sum().steps, expected);
  }
}

}  // namespace
}  // namespace surety::statistics::arrow_parts_test
