#include <surety/jobs/plans/other_words.h>

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/plans/fields.h>
#include <surety/jobs/release/release_fields.h>
#include <surety/jobs/train/train_fields.h>

namespace surety::other_words_test {
namespace {

/// Every field of a plan.
std::set<std::string, std::less<>> fields_of_plans() {
  std::set<std::string, std::less<>> names;
  const auto add = [&](const jobs::FieldTable& table) {
    for (const auto& group : table.groups()) {
      for (const auto& field : group.fields) names.insert(field.name());
    }
  };
  jobs::ReleaseFields release;
  add(release.table());
  for (const auto& algorithm : jobs::all_algorithms()) {
    jobs::TrainFields train{*algorithm};
    add(train.table());
  }
  return names;
}

TEST(OtherWords, NameFieldsThatExist) {
  auto known = fields_of_plans();
  // Options of the command that no plan has.
  for (const char* option : {"event", "explain", "first-seed", "json", "output", "plan", "ledger", "data", "model", "algorithm", "epsilon",
                             "delta", "adjacency"}) {
    known.insert(option);
  }
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const auto& [word, field, says] : jobs::other_words()) {
    EXPECT_TRUE(known.contains(field)) << word << " is named as " << field;
    EXPECT_NE(word, field);
    EXPECT_TRUE(seen.insert({word, field}).second) << word << " is twice named as " << field;
    EXPECT_TRUE(says.empty() || !jobs::meaning_of(word, std::vector{field}).plain().ends_with("{}")) << word;
    EXPECT_EQ(word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string_view::npos) << word;
  }
  EXPECT_GE(jobs::other_words().size(), 20U);
}

TEST(OtherWords, AreNamedAsTheFirstFieldThatIsThere) {
  const std::vector<std::string_view> train{"noise-multiplier", "step-size", "clip", "epsilon"};
  const std::vector<std::string_view> release{"by", "epsilon"};
  EXPECT_EQ(jobs::meaning_of("sigma", train).plain(), "Surety calls it noise-multiplier");
  EXPECT_EQ(jobs::meaning_of("sigma", release).plain(), "Surety computes the noise from epsilon and the other options");
  EXPECT_EQ(jobs::meaning_of("Max_Grad_Norm", train).plain(), "Surety calls it clip");
  EXPECT_EQ(jobs::meaning_of("accountant", std::vector<std::string_view>{"adjacency"}).plain(),
            "every accountant is computed, and the best bound holds; remove the option");
  EXPECT_EQ(jobs::meaning_of("step_size", train).plain(), "Surety calls it step-size");
  EXPECT_EQ(jobs::meaning_of("max-grad-norm", release).plain(), "");
  EXPECT_EQ(jobs::meaning_of("step-size", train).plain(), "");
  EXPECT_EQ(jobs::meaning_of(std::string(1'000'000, 's'), train).plain(), "");
  EXPECT_EQ(jobs::meaning_of("sigma", train).printed([](const std::string& name) { return "--" + name; }),
            "Surety calls it --noise-multiplier");
}

TEST(OtherWords, LeaveMisspelledFieldsToTheNearest) {
  const std::vector<std::string_view> known{"epsilon", "clip"};
  EXPECT_EQ(jobs::advice_on("epsilom", known).plain(), "; did you mean 'epsilon'?");
  EXPECT_EQ(jobs::advice_on("target-epsilon", known).plain(), "; Surety calls it epsilon");
  EXPECT_EQ(jobs::advice_on("frobnicate", known).plain(), "");
}

}  // namespace
}  // namespace surety::other_words_test
