// Choices of plans: each has names of its own, and where another module names the same values, the same ones.
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <surety/accounting/events/unit.h>
#include <surety/base/text/error.h>
#include <surety/data/features/features.h>
#include <surety/jobs/plans/factorization_choice.h>
#include <surety/jobs/plans/fields.h>
#include <surety/jobs/plans/plan_json.h>
#include <surety/optimizers/problem/loss.h>

namespace surety::choices_test {
namespace {

template <class Choice>
void expect_round_trips() {
  std::set<std::string_view> names;
  for (const auto value : jobs::all_of<Choice>()) {
    EXPECT_EQ(jobs::choice_of<Choice>(jobs::name_of(value)), value);
    names.insert(jobs::name_of(value));
  }
  EXPECT_EQ(names.size(), jobs::Choices<Choice>::all.size());
  EXPECT_FALSE(names.contains(""));
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
  const auto names = [](auto choice) { return jobs::names_of<decltype(choice)>(); };
  EXPECT_EQ(names(mechanisms::Factorization{}), (std::vector<std::string>{"tree", "streaming-tree", "toeplitz", "buffered"}));
  EXPECT_EQ(names(EmptyUnit{}), (std::vector<std::string>{"one", "each"}));
  EXPECT_EQ(names(data::Terms{}), (std::vector<std::string>{"linear", "additive", "auto"}));
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
