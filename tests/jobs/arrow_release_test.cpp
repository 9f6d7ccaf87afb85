// The same table as a CSV file and as Arrow streams, cut and stored in many ways: the same answers to the last bit from the same random bits.
#include <surety/jobs/release/release_job.h>

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <surety/data/arrow/arrow_reader.h>
#include <surety/mechanisms/bits/random_bits.h>

#include <support/arrow_batches.h>
#include <support/arrow_table.h>
#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::arrow_release_test {
namespace {

using namespace statistics;
using data::Bounds;
using surety::testing::arrow_stream;
using surety::testing::ArrowCell;
using surety::testing::ArrowCount;
using surety::testing::ArrowStreamOptions;
using surety::testing::ArrowTestTable;
using surety::testing::random_table_in_both_forms;
using surety::testing::TableInBothForms;

class ArrowRelease : public ::testing::Test {
 protected:
  void SetUp() override { ArrowCount::live = ArrowCount::twice = 0; }
  void TearDown() override {
    EXPECT_EQ(ArrowCount::live, 0);
    EXPECT_EQ(ArrowCount::twice, 0);
  }

  static std::vector<Statistic> statistics() {
    const data::ColumnKinds kinds{{"day", data::CellKind::date}};
    return {{.of = CountOf{}, .where = data::parse_condition("day>='2017-06-01' or missing(x)", "where", kinds), .adjacency = {}},
            {.of = MeanOf{"x", Bounds{0, 10}}, .adjacency = {}},
            {.of = HistogramOf{"t", data::Categories{{"Rome", "Oslo", "7"}}}, .adjacency = {}}};
  }

  static jobs::ReleasePlan plan_of(std::vector<Statistic> statistics, Adjacency adjacency, const UnitOfPrivacy& unit = {}) {
    jobs::ReleasePlan plan{.target = {Epsilon{50}, Delta{0}, adjacency}, .queries = {}, .unit = unit, .noise = jobs::NoiseChoice::laplace};
    for (auto& statistic : statistics) {
      statistic.adjacency = adjacency;
      statistic.unit = unit;
      plan.queries.push_back({.statistic = std::move(statistic)});
    }
    return plan;
  }

  template <class Source>
  std::string released(const jobs::ReleasePlan& plan, Source&& source) const {
    auto ledger = accounting::Ledger::create(folder_ / fmt::format("{}.db", ++ledgers_), plan.target.adjacency, std::nullopt, plan.unit);
    mechanisms::ReplayBits bits{7};
    return json_text(jobs::run(jobs::ReleaseJob{plan}, std::forward<Source>(source), ledger, {.bits = bits, .not_private = true}));
  }
  std::string from_arrow(const jobs::ReleasePlan& plan, const ArrowTestTable& table, const ArrowStreamOptions& options = {}) const {
    auto stream = arrow_stream(table, options);
    return released(plan, data::ArrowStream{&stream});
  }
  std::string from_csv(const jobs::ReleasePlan& plan, const TableInBothForms& both) const {
    return released(plan, folder_.write("table.csv", both.csv));
  }

  TemporaryFolder folder_;
  mutable int ledgers_ = 0;
};

TEST_F(ArrowRelease, IsThatOfTheCsvFileFromAnyBatches) {
  for (const std::size_t owned : {0, 4}) {
    const auto both = random_table_in_both_forms(7 + owned, 200, std::max<std::size_t>(owned, 1));
    const auto unit = owned == 0 ? UnitOfPrivacy{} : jobs::unit_of_column("who", Count{owned}, {});
    const auto plan = plan_of(statistics(), Adjacency::zero_out, unit);
    const auto expected = from_csv(plan, both);
    EXPECT_EQ(from_arrow(plan, both.arrow), expected) << owned;
    EXPECT_EQ(from_arrow(plan, both.arrow, {.batches = surety::testing::batches_of(200, 1), .child_offset = 1}), expected) << owned;
  }
}

// Where rows are dropped other ones are kept than of the file, but the same ones however the table is stored.
TEST_F(ArrowRelease, KeepsTheSameRowsOfOwnersFromAnyBatches) {
  const auto both = random_table_in_both_forms(5, 200, 6);
  const auto plan = plan_of(statistics(), Adjacency::add_or_remove_one, jobs::unit_of_column("who", Count{2}, {}));
  const auto expected = from_arrow(plan, both.arrow);
  EXPECT_EQ(from_arrow(plan, both.arrow, {.batches = surety::testing::batches_of(200, 1)}), expected);
  auto otherwise = both.arrow;
  std::swap(otherwise.columns[1], otherwise.columns[6]);
  for (auto& column : otherwise.columns) column.indices = "c";
  otherwise.columns.push_back({"unused", "+l", std::vector<ArrowCell>(200)});
  EXPECT_EQ(from_arrow(plan, otherwise, {.batches = surety::testing::batches_of(200, 50)}), expected);
  EXPECT_NE(from_csv(plan, both), expected) << "the rows are chosen by their bytes there";
}

TEST_F(ArrowRelease, RefusesWhatItCannotUseBeforeItCharges) {
  const auto both = random_table_in_both_forms(1, 20, 1);
  const auto refused = [&](const jobs::ReleasePlan& plan, const std::vector<std::string_view>& words) {
    auto ledger = accounting::Ledger::create(folder_ / fmt::format("{}.db", ++ledgers_), plan.target.adjacency, std::nullopt, plan.unit);
    mechanisms::ReplayBits bits{7};
    auto stream = arrow_stream(both.arrow);
    const auto result =
        refuses([&] { static_cast<void>(jobs::run(jobs::ReleaseJob{plan}, data::ArrowStream{&stream}, ledger, {.bits = bits})); },
                ErrorCode::bad_data, words);
    EXPECT_TRUE(ledger.runs().empty());
    return result;
  };
  const auto of = [&](const Statistic& statistic) { return plan_of({statistic}, Adjacency::replace_one); };
  EXPECT_TRUE(refused(of({.of = SumOf{"y", Bounds{0, 1}}, .adjacency = {}}), {"column 'y' is missing, the schema has who, x, n"}));
  const auto plan = of({.of = SumOf{"y", Bounds{0, 1}}, .adjacency = {}});
  auto given = arrow_stream(both.arrow);
  data::ArrowStream stream{&given};
  EXPECT_TRUE(refuses([&] { jobs::require_columns(plan, stream); }, ErrorCode::bad_data, {"'y' is missing"}));
  jobs::require_columns(of({.of = SumOf{"x", Bounds{0, 1}}, .adjacency = {}}), stream);
  EXPECT_TRUE(stream.next()) << "nothing was read";
}

TEST_F(ArrowRelease, OfAProducerThatFailsIsNone) {
  const auto both = random_table_in_both_forms(1, 20, 1);
  const auto plan = plan_of({{.of = SumOf{"n", Bounds{0, 1}}, .adjacency = {}}}, Adjacency::replace_one);
  for (const auto& unit : {UnitOfPrivacy{}, jobs::unit_of_column("who", Count{1}, {})}) {
    const auto refusal = reference::refusal_of([&] {
      return from_arrow(plan_of({{.of = SumOf{"n", Bounds{0, 1}}, .adjacency = {}}}, Adjacency::replace_one, unit), both.arrow,
                        {.batches = {10}, .fails_at = 1});
    });
    EXPECT_TRUE(refusal.says(ErrorCode::bad_data, "its producer fails")) << refusal;
    EXPECT_EQ(refusal.message.find("4711"), std::string::npos);
  }
  // An empty table is none where the number of records is public.
  EXPECT_TRUE(refuses(
      [&] {
        static_cast<void>(from_arrow(plan, {.columns = {{"n", "i", {}}}}));
      },
      ErrorCode::bad_data, {"Arrow stream: has no rows"}));
}

// Where the form is public damage is an error with its row, in the words for a file.
TEST_F(ArrowRelease, SaysWhereADamagedCellIsIfItsFormIsPublic) {
  auto plan = plan_of({{.of = SumOf{"x", Bounds{0, 1}}, .adjacency = {}}}, Adjacency::replace_one);
  plan.reading.form = data::RecordForm::is_public;
  const auto refused = [&](const std::string& format, const std::vector<ArrowCell>& cells, const std::vector<std::string_view>& words,
                           const std::vector<bool>& null_rows = {}) {
    return refuses(
        [&] {
          static_cast<void>(from_arrow(plan, {.columns = {{"x", format, cells}}, .null_rows = null_rows}, {.batches = {2}}));
        },
        ErrorCode::bad_data, words);
  };
  EXPECT_TRUE(refused("g", {1.0, 2.0, -HUGE_VAL}, {"Arrow stream: row 3, column 'x': '-inf' is not finite"}));
  EXPECT_TRUE(refused("g", {1.0, 2.0, std::nan("")}, {"Arrow stream: row 3, column 'x': the cell is empty, must be a number"}));
  EXPECT_TRUE(refused("g", {1.0, 2.0, 3.0, {}}, {"row 4, column 'x': the cell is empty, must be a number"}));
  EXPECT_TRUE(refused("u", {"1", "two"}, {"row 2, column 'x': 'two' is not a number"}));
  EXPECT_TRUE(refused("u", {"1", " "}, {"row 2, column 'x': the cell is empty"}));
  EXPECT_TRUE(refused("g", {1.0, 2.0}, {"row 2 is null as a whole"}, {false, true}));
}

}  // namespace
}  // namespace surety::arrow_release_test
