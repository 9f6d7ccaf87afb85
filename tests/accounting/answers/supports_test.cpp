// Whether supports() says of every accountant and kind of event what asking it says.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <surety/accounting/answers/asked.h>
#include <surety/base/numbers/limit.h>

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
        for (const bool asks_delta : {false, true}) {
          // Answers are dear, refusals are not: the accountant of an answer is asked the one question, and the other one under the next adjacency.
          if (says && asks_delta != ((static_cast<std::size_t>(adjacency) + accountant) % 2 == 0)) continue;
          EXPECT_EQ(answers(accountant, *event, asks_delta ? Question{Epsilon{0.1}} : Question{Delta{1e-3}}), says && !is_out_of_range)
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
  EXPECT_LT(std::find(order.begin(), order.end(), place_of<Participation>), std::find(order.begin(), order.end(), place_of<Pld>));
  std::sort(order.begin(), order.end());
  for (AccountantPlace i = 0; i < accountants_asked; ++i) EXPECT_EQ(order[i], i);
}

TEST(Supports, OfTheBestIsWhetherAnyoneKnows) {
  EXPECT_TRUE(supports(Best{}, parse_event("exponential(1)", Adjacency::replace_one)));
  EXPECT_FALSE(supports(Best{}, parse_event("compose(approx(1, 1e-6), zcdp(20000))", Adjacency::replace_one)));
}

/// What takes long in a law looks at the limit, and nothing here does.
TEST(WhyNot, MakesNoLaw) {
  const auto polls_of = [](const auto& ask) {
    const Limit limit{{}};
    ask();
    return limit.polls();
  };
  std::vector<Event> events;
  for (const auto adjacency : matrix::adjacencies) {
    for (const auto& row : matrix::rows) {
      if (const auto event = row.event(adjacency)) events.push_back(*event);
    }
    for (const char* text : {"truncated_poisson(0.01, 701, 60000, gaussian(1))", "users(4, allocated(101, gaussian(2)))",
                             "allocated(1001, gaussian(1))", "compose(best_of(geometric_runs, 7, gaussian(3)), laplace(2))",
                             "poisson(0.1, compose(laplace(3), gaussian(3), zcdp(0.2)))", "users(300, poisson(0.01, gaussian(2)))"}) {
      try {
        events.push_back(parse_event(text, adjacency));
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      }
    }
  }
  for (const auto& event : events) {
    for (AccountantPlace accountant = 0; accountant < accountants_asked; ++accountant) {
      EXPECT_EQ(polls_of([&] { static_cast<void>(why_not(accountant, event, curves_of_all())); }), 0U)
          << accountant_names()[accountant] << ", " << describe(event);
    }
  }
  const auto batch = parse_event("truncated_poisson(0.01, 701, 60000, gaussian(1))", Adjacency::zero_out);
  EXPECT_GT(polls_of([&] { static_cast<void>(delta(Pld{.width = 0.1}, batch, Epsilon{1})); }), 100U);
}

TEST(WhyNot, NamesThePartThatIsRefused) {
  const auto event = [](const char* text) { return parse_event(text, Adjacency::replace_one); };
  const auto of_grid = why_not(Pld{}, event("compose(gaussian(2), repeat(3, zcdp(20000)), laplace(1))"));
  ASSERT_TRUE(of_grid);
  EXPECT_EQ(of_grid->part(), event("zcdp(20000)"));
  EXPECT_NE(of_grid->sentence().find("zcdp(20000)"), std::string::npos);
  EXPECT_EQ(of_grid->sentence().find("laplace"), std::string::npos);
  const auto of_moments = why_not(Renyi{}, event("compose(gaussian(2), approx(0.5, 1e-6))"));
  ASSERT_TRUE(of_moments);
  EXPECT_EQ(of_moments->part(), event("approx(0.5, 1e-6)"));
  const auto of_all = why_not(Best{}, event("compose(approx(1, 1e-6), repeat(3, zcdp(20000)))"));
  ASSERT_TRUE(of_all);
  EXPECT_EQ(of_all->part(), event("zcdp(20000)"));
  EXPECT_FALSE(why_not(Best{}, event("compose(gaussian(2), laplace(1))")));
}

TEST(Supports, TheMatrixNamesEveryAccountant) {
  const auto table = matrix::markdown();
  for (const auto name : accountant_names()) EXPECT_NE(table.find(name), std::string::npos) << name;
  EXPECT_NE(table.find("| `poisson(q, gaussian(z))` |"), std::string::npos);
}

}  // namespace
}  // namespace surety::accounting::supports_test
