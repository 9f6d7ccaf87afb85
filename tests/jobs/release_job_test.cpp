#include <surety/jobs/release/release_job.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/format.h>
#include <surety/accounting/events/releases.h>
#include <surety/data/reading/condition.h>
#include <surety/mechanisms/bits/random_bits.h>

#include <support/failing_bits.h>
#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::release_job_test {
namespace {

using namespace statistics;
using data::Bounds;

class ReleaseJob : public ::testing::Test {
 protected:
  static jobs::ReleasePlan plan_of(std::vector<Statistic> statistics, const UnitOfPrivacy& unit = {},
                                   Adjacency adjacency = Adjacency::replace_one, Delta delta = Delta{1e-6}) {
    jobs::ReleasePlan plan{.target = {Epsilon{1}, delta, adjacency}, .queries = {}, .unit = unit};
    for (auto& statistic : statistics) {
      statistic.adjacency = adjacency;
      statistic.unit = unit;
      plan.queries.push_back({.statistic = std::move(statistic)});
    }
    return plan;
  }
  static Statistic count_above(const char* bound) {
    return {.of = CountOf{}, .where = data::parse_condition(fmt::format("y>{}", bound), "where", {}), .adjacency = {}};
  }
  static Statistic mean() { return {.of = MeanOf{"y", Bounds{0, 10}}, .adjacency = {}}; }
  static Statistic towns() { return {.of = HistogramOf{"town", data::Categories{{"Rome", "Oslo"}}}, .adjacency = {}}; }
  static UnitOfPrivacy people() { return jobs::unit_of_column("who", Count{2}, {}); }

  accounting::Ledger ledger(const jobs::ReleasePlan& plan, std::optional<accounting::Budget> budget = std::nullopt) const {
    return accounting::Ledger::create(folder_ / fmt::format("{}.db", ++ledgers_), plan.target.adjacency, budget, plan.unit);
  }
  jobs::ReleasedStatistics run(const jobs::ReleasePlan& plan, accounting::Ledger& ledger, std::uint64_t seed = 7) const {
    mechanisms::ReplayBits bits{seed};
    return jobs::run(jobs::ReleaseJob{plan}, table_, ledger, {.bits = bits, .not_private = true});
  }

  TemporaryFolder folder_;
  std::filesystem::path table_ = folder_.write("table.csv", [] {
    std::string text = "who,y,town\n";
    for (int k = 0; k < 60; ++k)
      text += fmt::format("p{},{},{}\n", k % 23, k % 7 == 0 ? "" : std::to_string(k % 11), k % 3 == 0 ? "Rome" : "Oslo");
    return text;
  }());
  mutable int ledgers_ = 0;
};

TEST_F(ReleaseJob, ReleasesWhatItsEventSaysAndChargesIt) {
  for (const auto& unit : {UnitOfPrivacy{}, people()}) {
    for (const auto adjacency : {Adjacency::replace_one, Adjacency::add_or_remove_one, Adjacency::zero_out}) {
      const auto plan = plan_of({count_above("3"), mean(), towns()}, unit, adjacency);
      auto ledger = this->ledger(plan);
      const auto released = run(plan, ledger);
      ASSERT_EQ(released.queries.size(), 3U);
      EXPECT_EQ(released.queries[2].answers.size(), 2U);
      EXPECT_EQ(released.records.has_value(), unit.is_row() && adjacency != Adjacency::add_or_remove_one);
      EXPECT_LE(released.cost.epsilon.upper, 1);
      const auto runs = ledger.runs();
      ASSERT_EQ(runs.size(), 1U);
      EXPECT_EQ(runs[0].plan.event, released.cost.event);
      EXPECT_EQ(runs[0].plan.unit, unit);
      EXPECT_TRUE(runs[0].settlement.has_value());
      EXPECT_EQ(runs[0].charged(), accounting::Releases::of(released.cost.event).event()) << "all of it";
      EXPECT_TRUE(runs[0].plan.not_private);
      EXPECT_EQ(runs[0].plan.note, "count() where y>3; mean(y); histogram(town)");
    }
  }
}

// The noise hides that; with much less of it the numbers are those of the table.
TEST_F(ReleaseJob, IsAboutTheRecordsOfTheFile) {
  auto plan = plan_of({count_above("3"), mean(), towns()});
  plan.target.epsilon = Epsilon{1e5};
  auto ledger = this->ledger(plan);
  const auto released = run(plan, ledger);
  int above = 0;
  int there = 0;
  int sum = 0;
  for (int k = 0; k < 60; ++k) {
    if (k % 7 == 0) continue;
    above += k % 11 > 3 ? 1 : 0;
    sum += k % 11;
    ++there;
  }
  EXPECT_NEAR(released.queries[0].answers[0].estimate.value, above, 0.01);
  EXPECT_NEAR(released.queries[1].answers[0].estimate.value, static_cast<double>(sum) / there, 0.01);
  EXPECT_NEAR(released.queries[2].answers[0].estimate.value, 20, 0.01);
  EXPECT_EQ(released.queries[1].missing_cells, "left out");
  EXPECT_EQ(released.records, 60U);
}

TEST_F(ReleaseJob, RepeatsItselfFromItsBitsAlone) {
  const auto plan = plan_of({count_above("3"), mean()}, people());
  const auto values = [&](std::uint64_t seed) {
    auto ledger = this->ledger(plan);
    return json_text(run(plan, ledger, seed));
  };
  EXPECT_EQ(values(7), values(7));
  EXPECT_NE(values(7), values(8));
}

TEST_F(ReleaseJob, KnowsItsNoiseAndItsCostBeforeAnyRecord) {
  const jobs::ReleaseJob job{plan_of({count_above("3")})};
  EXPECT_TRUE(job.cost().epsilon.upper <= 1 && job.cost().epsilon.upper > 0.999);
  EXPECT_EQ(job.charge(false).event, job.cost().event);
  EXPECT_FALSE(job.charge(false).not_private);
  auto named = plan_of({count_above("3")});
  named.note = "the first one";
  EXPECT_EQ(jobs::ReleaseJob{named}.charge(true).note, "the first one");
  for (const auto choice : {jobs::NoiseChoice::laplace, jobs::NoiseChoice::gaussian}) {
    auto plan = plan_of({count_above("3")});
    plan.noise = choice;
    EXPECT_NE(describe(jobs::ReleaseJob{plan}.cost().event).find(jobs::name(choice)), std::string::npos);
  }
}

// What fails before the charge has cost nothing.
// Permute-and-flip where it costs no more, and where what it misses by makes up for what it costs; many choices compose better by their range.
TEST_F(ReleaseJob, TakesTheChoiceOfQuantilesThatMissesByLess) {
  const Statistic median{.of = QuantileOf{"y", Bounds{0, 10}, Fraction::median()}, .adjacency = {}};
  const auto charged = [&](const std::vector<Statistic>& asked, double delta) {
    return describe(jobs::ReleaseJob{plan_of(asked, {}, Adjacency::replace_one, Delta{delta})}.cost().event);
  };
  const auto starts = [&](const std::string& text, const std::string& with) { EXPECT_TRUE(text.starts_with(with)) << text; };
  starts(charged({median}, 0), "pure(0.99999");
  starts(charged(std::vector<Statistic>(10, median), 0), "repeat(10, pure(0.0999999");
  starts(charged({median, count_above("1")}, 0), "compose(laplace(2.00000000000000");
  starts(charged({median}, 1e-6), "pure(1.000001");
  starts(charged({median, median}, 1e-6), "repeat(2, pure(0.500001");
  starts(charged(std::vector<Statistic>(10, median), 1e-6), "repeat(10, exponential(0.15");
  EXPECT_EQ(jobs::ReleaseJob{plan_of({count_above("1")}, {}, Adjacency::replace_one, Delta{0})}.family(), NoiseFamily::laplace);
}

TEST_F(ReleaseJob, AsksTheLedgerBeforeItReads) {
  const auto plan = plan_of({count_above("3")});
  auto ledger = this->ledger(plan, accounting::Budget{.target = {Epsilon{0.5}, Delta{1e-6}, Adjacency::replace_one}});
  mechanisms::ReplayBits bits{1};
  EXPECT_TRUE(refuses([&] { static_cast<void>(jobs::run(jobs::ReleaseJob{plan}, folder_ / "no file", ledger, {.bits = bits})); },
                      ErrorCode::budget_exceeded, {"budget"}));
  auto free = this->ledger(plan);
  EXPECT_TRUE(refuses([&] { static_cast<void>(jobs::run(jobs::ReleaseJob{plan}, folder_ / "no file", free, {.bits = bits})); },
                      ErrorCode::bad_data, {"no file"}));
  auto of_owners = this->ledger(plan_of({}, people()));
  EXPECT_TRUE(refuses([&] { static_cast<void>(run(plan, of_owners)); }, ErrorCode::invalid_argument, {"unit of the plan"}));
  EXPECT_TRUE(ledger.runs().empty() && free.runs().empty() && of_owners.runs().empty());
}

// And what fails behind it stays charged in full.
TEST_F(ReleaseJob, ChargesBeforeItDraws) {
  const auto plan = plan_of({count_above("3"), mean(), towns()});
  for (int calls = 0; calls < 3; ++calls) {
    auto ledger = this->ledger(plan);
    testing::FailingBits bits{calls};
    EXPECT_TRUE(refuses([&] { static_cast<void>(jobs::run(jobs::ReleaseJob{plan}, table_, ledger, {.bits = bits})); },
                        ErrorCode::environment, {"no bits"}));
    ASSERT_EQ(ledger.runs().size(), 1U) << calls;
    EXPECT_EQ(ledger.event(), accounting::Releases::of(jobs::ReleaseJob{plan}.cost().event).event());
  }
}

TEST_F(ReleaseJob, DrawsNothingWithoutAReservationThatHoldsIt) {
  const auto plan = plan_of({count_above("3"), mean()});
  auto ledger = this->ledger(plan);
  mechanisms::ReplayBits bits{1};
  jobs::ReleaseJob job{plan};
  auto charge = job.charge(false);
  charge.event = gaussian(NoiseMultiplier{1e6}, Adjacency::replace_one);
  auto reservation = ledger.reserve(charge);
  auto read = std::move(job).read(table_, bits);
  EXPECT_TRUE(refuses([&] { static_cast<void>(std::move(read).release(reservation, bits)); }, ErrorCode::budget_exceeded,
                      {"beyond what is left of its plan"}));
  EXPECT_FALSE(reservation.released().event().has_value());
}

TEST_F(ReleaseJob, RefusesWhatIsNoPlan) {
  const auto refused = [&](const jobs::ReleasePlan& plan, ErrorCode code, std::string_view words) {
    return refuses([&] { static_cast<void>(jobs::ReleaseJob{plan}); }, code, {words});
  };
  EXPECT_TRUE(refused(plan_of({}), ErrorCode::invalid_argument, "queries are 0, must be from 1 to 4096"));
  auto plan = plan_of({mean()});
  plan.queries.assign(4097, plan.queries.front());
  EXPECT_TRUE(refused(plan, ErrorCode::invalid_argument, "queries are 4097"));
  for (const double confidence : {0.0, 1.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    plan = plan_of({mean()});
    plan.confidence = confidence;
    EXPECT_TRUE(refused(plan, ErrorCode::invalid_argument, "confidence is"));
  }
  plan = plan_of({mean()});
  plan.queries.front().statistic.adjacency = Adjacency::zero_out;
  EXPECT_TRUE(refused(plan, ErrorCode::invalid_argument, "adjacency of 'mean(y)' is zero-out, must be the target's, replace-one"));
  plan = plan_of({mean()});
  plan.unit = people();
  EXPECT_TRUE(refused(plan, ErrorCode::invalid_argument, "unit of 'mean(y)' is one row, must be the plan's, one who of at most 2 rows"));
  plan = plan_of({mean()}, {}, Adjacency::replace_one, Delta{0});
  plan.noise = jobs::NoiseChoice::gaussian;
  EXPECT_TRUE(refused(plan, ErrorCode::unreachable, "delta = 0"));
}

TEST_F(ReleaseJob, ReleasesThePublicNumberOfRecordsExactly) {
  for (const auto adjacency : {Adjacency::replace_one, Adjacency::zero_out}) {
    const auto plan = plan_of({{.of = CountOf{}, .adjacency = {}}}, {}, adjacency);
    auto of_run = ledger(plan);
    const auto released = run(plan, of_run);
    EXPECT_EQ(released.queries.front().answers.front().estimate.value, 60);
    EXPECT_EQ(describe(of_run.runs().front().plan.event), "pure(0)");
  }
  // How many records people have is private.
  const auto plan = plan_of({{.of = CountOf{}, .adjacency = {}}}, people());
  auto of_run = ledger(plan);
  run(plan, of_run);
  EXPECT_NE(describe(of_run.runs().front().plan.event), "pure(0)");
}

TEST_F(ReleaseJob, SeesAMissingColumnInTheHeader) {
  const auto plan = plan_of({{.of = SumOf{"z", Bounds{0, 1}}, .adjacency = {}}});
  EXPECT_TRUE(refuses([&] { jobs::require_columns(plan, table_); }, ErrorCode::bad_data, {"'z' is missing"}));
  EXPECT_NO_THROW(jobs::require_columns(plan_of({mean()}), table_));
  EXPECT_NO_THROW(jobs::require_columns(plan, "-")) << "read once, later";
}

}  // namespace
}  // namespace surety::release_job_test
