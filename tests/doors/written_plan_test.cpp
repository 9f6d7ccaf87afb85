// A plan that the command wrote is the same training for a program: event, noise, and the model to the byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <support/command_in_process.h>
#include <support/temporary_folder.h>
#include <support/train_command.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/release/written_release.h>
#include <surety/jobs/train/written_plan.h>
#include <surety/optimizers/models/model.h>

namespace surety_test::written_plan_test {
namespace {

using namespace surety;

class WrittenPlan : public ::testing::TestWithParam<std::string> {
 protected:
  /// Runs it by the command, and by a program that reads the plan which the command prints.
  void expect_the_same(const TrainCommand::Question& question, const TrainCommand::Records& records, std::size_t count) {
    std::string defect;
    if (!command_.accepts(question, records, count, defect)) {
      ASSERT_EQ(defect, "");
      return;
    }
    const auto seen = command_.run(question, records, count);
    ASSERT_EQ(seen.said.code, 0) << seen.said.err;
    auto words = command_.words(question, count);
    words.emplace_back("--print-plan");
    const auto printed = command_in_process(words, (folder_ / "").string());
    ASSERT_EQ(printed.code, 0) << printed.err;

    const auto written = jobs::read_train_plan(printed.out);
    ASSERT_TRUE(written.replay_seed && written.ledger && written.model);
    jobs::Alone alone;
    jobs::TrainJob job{written.plan, jobs::TrainContext{.team = alone}, written.said};
    jobs::require_follows(written, job.calibrate());
    auto ledger = accounting::Ledger::create(folder_ / fmt::format("{}.db", compared_), written.plan.target.adjacency, std::nullopt,
                                             written.plan.unit);
    jobs::RunBits bits{written.replay_seed};
    const auto trained = jobs::run(std::move(job), ledger, bits);
    EXPECT_EQ(optimizers::write_model(trained.model), seen.model) << printed.out;
    auto report = without_what_is_not_private(nlohmann::json::parse(jobs::json_text(trained)));
    for (const auto& [field, value] : report.items()) {
      EXPECT_TRUE(field == "run" || value == seen.report.value(field, nlohmann::json{})) << field;
    }
    ++compared_;
  }

  TrainCommand command_;
  TemporaryFolder folder_;
  std::size_t compared_ = 0;
};

TEST_P(WrittenPlan, IsTheSameTrainingForAProgram) {
  for (const char* adjacency : {"replace-one", "zero-out", "add-or-remove-one"}) {
    for (const char* loss : {"logistic", "squared"}) {
      expect_the_same({.algorithm = GetParam(), .loss = loss, .adjacency = adjacency}, ordinary_records(64), 64);
    }
  }
  expect_the_same({.algorithm = GetParam(), .loss = "logistic", .adjacency = "replace-one", .has_units = true}, rows_of_units(), 10);
  EXPECT_GE(compared_, 1U) << "some question is answered";
}

TEST_F(WrittenPlan, OfASearchHasItsCandidates) {
  expect_the_same({.algorithm = "shaped-descent",
                   .loss = "logistic",
                   .adjacency = "replace-one",
                   .more = {"--tune", "3", "--tune-over", "steps=5,10", "--clip-share", "0.5", "--tune-by", "split"}},
                  ordinary_records(64), 64);
  EXPECT_EQ(compared_, 1U);
}

// Statistics, too: each command is asked for its plan, and a program that reads it releases the same numbers from the same bits.
TEST(WrittenRelease, IsTheSameReleaseForAProgram) {
  const TemporaryFolder folder;
  std::string table = "who,age,town,day\n";
  for (int i = 0; i < 90; ++i) {
    table += fmt::format("p{},{},{},2020-0{}-11\n", i % 31, i % 13 == 0 ? std::string{} : std::to_string(i * 7 % 60),
                         i % 3 == 0 ? "Rome" : "Oslo", 1 + i % 9);
  }
  const auto data = folder.write("a.csv", table).string();
  const auto schema =
      folder.write("s.json", R"({"surety_schema": 1, "columns": [{"name": "age", "bounds": [0, 60]}, {"name": "day", "type": "date"}]})")
          .string();
  const auto list = folder
                        .write("q.json", R"json([{"query": "mean(age)", "bounds": [0, 60]
}, {"query": "keys(town)", "weight": 4}])json")
                        .string();
  const std::vector<std::vector<std::string>> asked{
      {"--query", "mean(age)", "--bounds", "0,60"},
      {"--query", "count()", "--query", "sum(age) where town==Rome", "--bounds", "0,60", "--by", "town", "--keys", "Rome,Oslo", "--missing",
       "age=7"},
      {"--query", "median(age)", "--schema", schema, "--where", "day>=2020-03-01", "--noise", "gaussian"},
      {"--queries", list, "--unit", "who", "--most", "2", "--empty-unit", "each"},
      {"--query", "histogram(age)", "--bounds", "0,60", "--bins", "7", "--confidence", "0.5", "--note", "some", "--adjacency",
       "add-or-remove-one"},
      {"--query", R"json({"query": "variance(age)", "bounds": [0, 60], "where": "day<2020-05-01", "types": {"day": "date"}})json",
       "--no-limits"}};
  for (std::size_t k = 0; k < asked.size(); ++k) {
    SCOPED_TRACE(asked[k][1]);
    const auto ledger = (folder / fmt::format("run-{}.db", k)).string();
    std::vector<std::string> words{"release", data, "--epsilon", "1", "--delta", "1e-5", "--ledger", ledger, "--replay-seed", "9"};
    words.insert(words.end(), asked[k].begin(), asked[k].end());
    auto planned = words;
    planned.emplace_back("--print-plan");
    words.emplace_back("--json");
    const auto printed = command_in_process(planned, (folder / "").string());
    ASSERT_EQ(printed.code, 0) << printed.err;
    const auto said = command_in_process(words, (folder / "").string());
    ASSERT_EQ(said.code, 0) << said.err;

    const auto written = jobs::read_release_plan(printed.out);
    ASSERT_TRUE(written.replay_seed && written.ledger && written.data);
    jobs::ReleaseJob job{written.plan};
    jobs::require_follows(written, job.cost());
    EXPECT_EQ(jobs::read_release_plan(jobs::plan_text(written.plan)).plan, written.plan);
    auto own =
        accounting::Ledger::create(folder / fmt::format("own-{}.db", k), written.plan.target.adjacency, std::nullopt, written.plan.unit);
    jobs::RunBits bits{written.replay_seed};
    const auto released = jobs::run(std::move(job), *written.data, own, {.bits = bits.source(), .not_private = true});
    const auto report = nlohmann::json::parse(said.out);
    const auto own_report = nlohmann::json::parse(jobs::json_text(released));
    EXPECT_GT(own_report.size(), 5U);
    for (const auto& [field, value] : own_report.items()) EXPECT_EQ(value, report.value(field, nlohmann::json{})) << field;
  }
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const auto& algorithm : jobs::all_algorithms()) names.push_back(algorithm->name());
  return names;
}

std::string as_identifier(const ::testing::TestParamInfo<std::string>& algorithm) {
  std::string name = algorithm.param;
  for (auto& c : name) c = c == '-' ? '_' : c == '+' ? 'p' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, WrittenPlan, ::testing::ValuesIn(all_names()), as_identifier);

}  // namespace
}  // namespace surety_test::written_plan_test
