// Whether supports() says of every accountant and kind of event what asking it says.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <surety/accounting/answers/asked.h>

#include <support/accountant_matrix.h>

namespace surety::accounting::supports_test {
namespace {

/// An accountant refuses an event by this code alone.
bool answers(AccountantPlace accountant, const Event& event, const Question& question) {
  return opinion_of(accountant, event, question, {.width = 0.05}).value.has_value();
}

bool is_among(AccountantPlace accountant, const std::vector<std::string_view>& names) {
  return std::find(names.begin(), names.end(), accountant_names()[accountant]) != names.end();
}

TEST(Supports, SaysOfEveryKindWhatAskingSays) {
  int supported = 0;
  int refused = 0;
  for (const auto adjacency : matrix::adjacencies) {
    for (const auto& row : matrix::rows) {
      const auto event = row.event(adjacency);
      if (!event) continue;
      const auto names = supporting_accountants(*event);
      for (AccountantPlace accountant = 0; accountant < accountants_asked; ++accountant) {
        const bool says = is_among(accountant, names);
        ++(says ? supported : refused);
        // Little noise in few batches: contour knows the event, and not these numbers of it.
        const bool is_out_of_range = accountant == place_of<Contour> && std::string{row.written}.ends_with("z up to 0.2");
        for (const auto& question : {Question{Epsilon{0.1}}, Question{Delta{1e-3}}}) {
          EXPECT_EQ(answers(accountant, *event, question), says && !is_out_of_range)
              << accountant_names()[accountant] << ", " << describe(*event) << ", " << name(adjacency);
        }
      }
    }
  }
  EXPECT_GT(supported, 100);
  EXPECT_GT(refused, 100);
}

TEST(Supports, NamesTheAccountantsInTheOrderInWhichTheyAreToldOf) {
  const auto best = best_epsilon(parse_event("gaussian(3)", Adjacency::replace_one), Delta{1e-6});
  const auto names = accountant_names();
  ASSERT_EQ(best.opinions.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(best.opinions[i].accountant, names[i]);
  EXPECT_EQ(names.front(), ClosedForm::name);
  EXPECT_EQ(names[place_of<Renyi>], Renyi::name);
}

TEST(Supports, IsAskedOncePerAccountantButOnlyInAnotherOrder) {
  auto order = asking_order;
  EXPECT_LT(std::find(order.begin(), order.end(), place_of<Participation>), std::find(order.begin(), order.end(), place_of<PrivacyLoss>));
  std::sort(order.begin(), order.end());
  for (AccountantPlace i = 0; i < accountants_asked; ++i) EXPECT_EQ(order[i], i);
}

TEST(Supports, OfTheBestIsWhetherAnyoneKnows) {
  EXPECT_TRUE(supports(Best{}, parse_event("exponential(1)", Adjacency::replace_one)));
  EXPECT_FALSE(supports(Best{}, parse_event("compose(approx(1, 1e-6), zcdp(0.3))", Adjacency::replace_one)));
}

TEST(Supports, TheMatrixNamesEveryAccountant) {
  const auto table = matrix::markdown();
  for (const auto name : accountant_names()) EXPECT_NE(table.find(name), std::string::npos) << name;
  EXPECT_NE(table.find("| `poisson(q, gaussian(z))` |"), std::string::npos);
}

}  // namespace
}  // namespace surety::accounting::supports_test
