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
