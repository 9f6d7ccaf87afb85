// Jobs that are called off: what was released is charged, and no more; what was told on the way decides how.
#include <surety/jobs/run/run_context.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/events/format.h>
#include <surety/accounting/events/releases.h>
#include <surety/data/reading/condition.h>
#include <surety/jobs/release/release_job.h>
#include <surety/jobs/train/train_job.h>

#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::run_context_test {
namespace {

using jobs::Phase;
using reference::refusal_of;

class CalledOff : public ::testing::Test {
 protected:
  [[nodiscard]] accounting::Ledger ledger() const {
    return accounting::Ledger::create(folder_ / fmt::format("{}.db", ++ledgers_), Adjacency::replace_one);
  }
  [[nodiscard]] static jobs::ReleasePlan three_sums() {
    jobs::ReleasePlan plan{.target = {Epsilon{1}, Delta{1e-6}, Adjacency::replace_one}, .queries = {}};
    for (const double largest : {1, 2, 3}) {
      plan.queries.push_back({.statistic = {.of = statistics::SumOf{"y", {0, largest}}, .adjacency = Adjacency::replace_one}});
    }
    return plan;
  }
  [[nodiscard]] jobs::TrainPlan training(jobs::AlgorithmPlan algorithm) const {
    return {.target = {Epsilon{1}, Delta{1e-5}, Adjacency::replace_one},
            .source = {.path = table_, .label = data::parse_label_rule("y>0"), .inputs = data::CsvOptions{}},
            .algorithm = std::move(algorithm)};
  }
  /// Of a run that was called off.
  static std::string charged_by(const accounting::Ledger& ledger, accounting::Stopping stopping) {
    const auto runs = ledger.runs();
    if (runs.size() != 1 || !runs.front().settlement) return "no settled run";
    EXPECT_EQ(runs.front().settlement->stopping, stopping);
    const auto charged = runs.front().charged();
    return charged ? jobs::as_charged(*charged) : "nothing";
  }

  TemporaryFolder folder_;
  std::string table_ = folder_
                           .write("table.csv",
                                  [] {
                                    std::string text = "a,y\n";
                                    for (int k = 0; k < 60; ++k) text += fmt::format("{},{}\n", k % 7, k % 3);
                                    return text;
                                  }())
                           .string();
  mutable int ledgers_ = 0;
};

TEST_F(CalledOff, AReleaseTellsItsPhasesAndWhatIsPublic) {
  std::vector<std::string> told;
  const jobs::RunContext context{.progress = [&](Phase phase, std::uint64_t done, std::uint64_t all) {
    told.push_back(fmt::format("{} {} {}", name(phase), done, all));
  }};
  auto own = ledger();
  jobs::RunBits bits{3};
  static_cast<void>(jobs::run(jobs::ReleaseJob{three_sums(), context}, table_, own, {bits.source(), true}, context));
  EXPECT_EQ(told, (std::vector<std::string>{"calibrating 0 0", "reading 0 0", "releasing 0 0", "releasing 1 3", "releasing 2 3",
                                            "releasing 3 3"}));
}

TEST_F(CalledOff, AReleaseIsChargedForWhatWasReleased) {
  auto whole = ledger();
  jobs::RunBits bits{3};
  const auto all = jobs::run(jobs::ReleaseJob{three_sums()}, table_, whole, {bits.source(), true});
  for (const std::size_t most : {1, 2}) {
    std::size_t released = 0;
    const jobs::RunContext context{.progress = [&](Phase, std::uint64_t done, std::uint64_t) { released = done; },
                                   .should_stop = [&] { return released >= most; }};
    auto own = ledger();
    const auto refused = refusal_of([&] {
      return jobs::run(jobs::ReleaseJob{three_sums(), context}, table_, own, {bits.source(), true}, context);
    });
    EXPECT_TRUE(refused.says(ErrorCode::stopped, "called off")) << refused;
    accounting::Releases expected{Adjacency::replace_one};
    for (std::size_t k = 0; k < most; ++k) expected.add(accounting::Releases::of(all.queries[k].event));
    EXPECT_EQ(charged_by(own, accounting::Stopping::data_independent), jobs::as_charged(*expected.event()));
  }
}

TEST_F(CalledOff, NothingIsChargedBeforeTheFirstRelease) {
  for (const auto phase : {Phase::calibrating, Phase::reading}) {
    bool is_there = false;
    const jobs::RunContext context{.progress = [&](Phase now, std::uint64_t, std::uint64_t) { is_there = now == phase; },
                                   .should_stop = [&] { return is_there; }};
    auto own = ledger();
    jobs::RunBits bits{3};
    EXPECT_TRUE(refusal_of([&] {
                  return jobs::run(jobs::ReleaseJob{three_sums(), context}, table_, own, {bits.source(), true}, context);
                }).says(ErrorCode::stopped, "called off"));
    EXPECT_TRUE(refusal_of([&] {
                  jobs::Alone alone;
                  return jobs::run(jobs::TrainJob{training(jobs::GradientDescentPlan{}), {.team = alone, .run = context}}, own, bits);
                }).says(ErrorCode::stopped, "called off"));
    EXPECT_TRUE(own.runs().empty());
  }
  // At the first question between releases nothing is spent.
  bool reads = false;
  const jobs::RunContext context{.progress = [&](Phase now, std::uint64_t, std::uint64_t) { reads = now == Phase::releasing; },
                                 .should_stop = [&] { return reads; }};
  auto own = ledger();
  jobs::RunBits bits{3};
  EXPECT_TRUE(refusal_of([&] {
                return jobs::run(jobs::ReleaseJob{three_sums(), context}, table_, own, {bits.source(), true}, context);
              }).refused);
  EXPECT_EQ(charged_by(own, accounting::Stopping::data_independent), "nothing");
}

TEST_F(CalledOff, ATrainingIsChargedForTheStepsThatWereDone) {
  jobs::GradientDescentPlan steps;
  steps.steps = 10;
  steps.no_count_records = true;
  std::uint64_t released = 0;
  jobs::Alone alone;
  const jobs::TrainContext context{.team = alone,
                                   .run = {.progress = [&](Phase, std::uint64_t done, std::uint64_t) { released = done; },
                                           .should_stop = [&] { return released >= 4; }}};
  auto own = ledger();
  jobs::RunBits bits{3};
  jobs::TrainJob job{training(steps), context};
  const double noise = job.calibrate().value;
  const auto refused = refusal_of([&] { return jobs::run(std::move(job), own, bits); });
  EXPECT_TRUE(refused.says(ErrorCode::stopped, "called off")) << refused;
  EXPECT_EQ(charged_by(own, accounting::Stopping::data_independent),
            jobs::as_charged(repeat(Count{4}, gaussian(NoiseMultiplier{noise}, Adjacency::replace_one))));
}

// Who was told weights may have stopped for what they are.
TEST_F(CalledOff, AfterWordOfReleasedNumbersTheWholePlanStaysCharged) {
  jobs::OnePassSgdPlan stream;
  stream.steps = 60;
  stream.every = 10;
  stream.batch_size = 10;
  std::uint64_t told = 0;
  jobs::Alone alone;
  const jobs::TrainContext context{.team = alone,
                                   .run = {.should_stop = [&] { return told >= 20; }},
                                   .weights = [&](std::uint64_t step, std::span<const double>) { told = step; }};
  auto own = ledger();
  jobs::RunBits bits{3};
  auto plan = training(stream);
  plan.problem.radius = 1;
  jobs::TrainJob job{std::move(plan), context};
  const auto event = job.calibrate().event;
  const auto refused = refusal_of([&] { return jobs::run(std::move(job), own, bits); });
  EXPECT_TRUE(refused.says(ErrorCode::stopped, "called off")) << refused;
  EXPECT_EQ(charged_by(own, accounting::Stopping::adaptive), jobs::as_charged(event));
}

}  // namespace
}  // namespace surety::run_context_test
