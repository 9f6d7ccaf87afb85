// Choices of plans: each has names of its own, and where another module names the same values, the same ones.
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>

#include <surety/accounting/events/unit.h>
#include <surety/base/text/error.h>
#include <surety/data/features.h>
#include <surety/jobs/plans/factorization_choice.h>
#include <surety/jobs/plans/fields.h>
#include <surety/jobs/plans/plan_json.h>
#include <surety/optimizers/problem/loss.h>

namespace surety::choices_test {
namespace {

template <class Choice>
void expect_round_trips() {
  std::set<std::string> names;
  for (const auto& one : jobs::Choices<Choice>::all) {
    EXPECT_EQ(jobs::choice_of<Choice>(one.name), one.value);
    EXPECT_EQ(jobs::name_of(one.value), one.name);
    names.emplace(one.name);
  }
  EXPECT_EQ(names.size(), jobs::Choices<Choice>::all.size());
  EXPECT_EQ(jobs::choice_of<Choice>("frobnicate"), std::nullopt);
}

TEST(Choices, HaveNamesThatTellThemApart) {
  expect_round_trips<jobs::DataFormat>();
  expect_round_trips<jobs::Loss>();
  expect_round_trips<jobs::Score>();
  expect_round_trips<jobs::Sampling>();
  expect_round_trips<jobs::Topology>();
  expect_round_trips<jobs::OnlineLearner>();
  expect_round_trips<mechanisms::Factorization>();
}

TEST(Choices, AreNamedAsElsewhere) {
  for (const auto& one : jobs::Choices<mechanisms::Factorization>::all) EXPECT_EQ(mechanisms::name(one.value), one.name);
  EXPECT_EQ(jobs::Choices<mechanisms::Factorization>::all.size(), mechanisms::all_factorizations.size());
  for (const auto& one : jobs::Choices<EmptyUnit>::all) EXPECT_EQ(name(one.value), one.name);
  for (const auto& one : jobs::Choices<data::Terms>::all) EXPECT_EQ(data::name(one.value), one.name);
  EXPECT_EQ(jobs::name_of(jobs::Loss::logistic), optimizers::LogisticLoss::name);
  EXPECT_EQ(jobs::name_of(jobs::Loss::squared), optimizers::SquaredLoss::name);
  EXPECT_EQ(jobs::name_of(jobs::Loss::smoothed_hinge), optimizers::SmoothedHingeLoss::name);
  EXPECT_EQ(jobs::name_of(jobs::Loss::hinge), optimizers::HingeLoss::name);
}

TEST(Choices, AreFieldsThatTakeTheirNamesAlone) {
  auto schedule = jobs::Schedule::inverse;
  std::optional<jobs::Iterate> iterate;
  jobs::FieldTable table;
  table.add("schedule", schedule, "");
  table.add("iterate", iterate, "", {jobs::Iterate::last, jobs::Iterate::average});
  EXPECT_EQ(jobs::held_by(*table.find("schedule")), "inverse");
  EXPECT_TRUE(jobs::held_by(*table.find("iterate")).is_null());
  table.find("schedule")->set("inverse-root");
  table.find("iterate")->set("average");
  EXPECT_EQ(schedule, jobs::Schedule::inverse_root);
  EXPECT_EQ(iterate, jobs::Iterate::average);
  EXPECT_EQ(jobs::held_by(*table.find("iterate")), "average");
  for (const char* wrong : {"", "inverse_root", "Inverse"}) EXPECT_THROW(table.find("schedule")->set(wrong), Error);
  // One of the values that there are, but not of this field.
  EXPECT_THROW(table.find("iterate")->set("random"), Error);
  EXPECT_EQ(schedule, jobs::Schedule::inverse_root);
  EXPECT_EQ(iterate, jobs::Iterate::average);
}

}  // namespace
}  // namespace surety::choices_test
