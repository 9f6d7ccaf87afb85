#include <surety/accounting/answers/best.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/accountants/renyi/renyi.h>
#include <surety/accounting/answers/asked.h>
#include <surety/accounting/answers/asking.h>
#include <surety/accounting/answers/registry.h>

#include <support/refusal.h>

namespace surety::accounting::best_test {
namespace {

using reference::refusal_of;

Event event(const char* text, Adjacency adjacency = Adjacency::add_or_remove_one) { return parse_event(text, adjacency); }

TEST(Best, IsInfiniteWhereMoreThanDeltaIsAtInfiniteLoss) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const auto* text :
       {"law(inf, 0.125, 0, 0.875)", "repeat(1000, law(inf, 0.125, 0, 0.875))", "compose(law(inf, 0.125, 0, 0.875), laplace(3))"}) {
    EXPECT_EQ(best_epsilon(event(text), Delta{0.0625}).value, (Enclosure{infinity, infinity})) << text;
  }
  // As much as delta, or less, is allowed: then a loss of 0 is left, or that of the Laplace release.
  const auto alone = best_epsilon(event("law(inf, 0.125, 0, 0.875)"), Delta{0.13}).value;
  EXPECT_EQ(alone.lower, 0);
  EXPECT_LT(alone.upper, 1e-9);
  const auto beside = best_epsilon(event("compose(law(inf, 0.125, 0, 0.875), laplace(3))"), Delta{0.13}).value;
  EXPECT_GT(beside.lower, 0.2);
  EXPECT_LT(beside.upper, 1.0 / 3 + 1e-9);
}

TEST(Best, LiesInEveryOpinion) {
  const auto best = best_epsilon(event("repeat(700, poisson(0.02, gaussian(1.3)))"), Delta{1e-6});
  int answers = 0;
  for (const auto& opinion : best.opinions) {
    if (!opinion.value) continue;
    ++answers;
    EXPECT_LE(opinion.value->lower, best.value.lower) << opinion.accountant;
    EXPECT_GE(opinion.value->upper, best.value.upper) << opinion.accountant;
  }
  EXPECT_GE(answers, 3);
  EXPECT_EQ(best.accountant, "contour");
}

/// Python and C request the needed bounds alone, the command all of them.
TEST(Best, IsTheSameWhicheverBoundsAreRequested) {
  for (const char* text :
       {"gaussian(1)", "repeat(1000, poisson(0.01, gaussian(1)))", "repeat(10000, poisson(0.00001, gaussian(0.7)))", "laplace(2)",
        "repeat(3, exponential(0.5))", "compose(gaussian(2), laplace(1))", "repeat(10, poisson(0.1, laplace(2)))", "zcdp(0.1)"}) {
    const auto event = parse_event(text, Adjacency::add_or_remove_one);
    const auto all = best_epsilon(event, Delta{1e-6});
    const auto needed = best_epsilon(event, Delta{1e-6}, {}, Bounds::needed);
    EXPECT_EQ(needed.value, all.value) << text;
    EXPECT_EQ(needed.accountant, all.accountant) << text;
    EXPECT_EQ(best_delta(event, Epsilon{0.3}, {}, Bounds::needed).value, best_delta(event, Epsilon{0.3}).value) << text;
    EXPECT_LE(needed.opinions.size(), all.opinions.size()) << text;
  }
}

TEST(Best, SaysWhyAnAccountantHasNoOpinion) {
  const auto best = best_delta(event("compose(repeat(9, laplace(4)), laplace(2))"), Epsilon{1});
  for (const auto& opinion : best.opinions) EXPECT_NE(opinion.value.has_value(), !opinion.refusal.empty()) << opinion.accountant;
  EXPECT_FALSE(best.opinions.front().value);
  EXPECT_NE(best.opinions.front().refusal.find("laplace(4)"), std::string::npos);
}

// A wider answer of the PLD accountant beats the next accountant's by far.
TEST(Quick, IsWiderWhereMemoryDoesNotAllowTheWidthAskedFor) {
  const Event long_run = event("repeat(75000, without_replacement(200000, 100, gaussian(1.05)))", Adjacency::replace_one);
  constexpr double width = 1.6e-3;  // needs half a gigabyte
  EXPECT_THROW(static_cast<void>(delta(Pld{.width = width}, long_run, Epsilon{0.5})), Error);
  const Enclosure found = quick_delta(long_run, Epsilon{0.5}, Effort{.width = width});
  EXPECT_LT(found.upper, 0.5 * delta(Renyi{}, long_run, Epsilon{0.5}).upper);
  EXPECT_GT(found.lower, 0);
  const Enclosure wide = delta(Pld{.width = 0.05}, long_run, Epsilon{0.5});
  EXPECT_TRUE(overlap(found, wide));
}

TEST(Best, OfAPureEventIsFiniteAtDeltaZero) {
  const auto best = best_epsilon(event("repeat(3, pure(0.25))"), Delta{0});
  EXPECT_TRUE(best.value.contains(0.75));
  EXPECT_LT(best.value.width(), 1e-15);
}

// Of events whose curve the closed form does not know.
TEST(Best, IsTheSumOfLargestLossesAtDeltaZero) {
  for (const auto& [text, adjacency, sum] : {std::tuple{"repeat(3, k_norm(l2, 3, 2))", Adjacency::zero_out, 1.5},
                                             {"compose(laplace(1), k_norm(l1, 4, 2))", Adjacency::add_or_remove_one, 1.5},
                                             {"repeat(8, shuffled_reports(1000, 0.25))", Adjacency::replace_one, 2}}) {
    const auto found = best_epsilon(parse_event(text, adjacency), Delta{0});
    EXPECT_EQ(found.value, (Enclosure{sum, sum})) << text;
    EXPECT_EQ(found.accountant, ClosedForm::name) << text;
  }
}
// Wide grids took six seconds to say less.
TEST(Best, LeavesOutTheGridWhereDeltaIsBelowAllNumbers) {
  const auto found = best_delta(event("compose(discrete_gaussian(1e9, 1), discrete_gaussian(1.5e9, 1))"), Epsilon{1e-7});
  EXPECT_LE(found.value.upper, 1e-323);
  const auto& grid = found.opinions.at(place_of<Pld>);
  EXPECT_FALSE(grid.value);
  EXPECT_NE(grid.refusal.find("left out"), std::string::npos) << grid.refusal;
}

TEST(Best, OfAGaussianIsInfiniteAtDeltaZero) {
  EXPECT_EQ(best_epsilon(event("gaussian(3)"), Delta{0}).value.upper, std::numeric_limits<double>::infinity());
}

TEST(Best, RefusesByNameWhatNobodyKnows) {
  const auto refusal = refusal_of([] { return best_epsilon(event("compose(approx(1, 1e-6), zcdp(20000))"), Delta{1e-5}); });
  EXPECT_TRUE(refusal.says(ErrorCode::unsupported, "no accountant has a theorem for compose(approx(1, 1e-06), zcdp(20000))")) << refusal;
}

// One sentence: which part, why, and where there is a theorem. The whole event is repeated once, and not for each accountant.
TEST(Best, RefusesInOneSentence) {
  const auto sentence = [](const char* text) {
    try {
      static_cast<void>(best_epsilon(event(text, Adjacency::replace_one), Delta{1e-5}));
    } catch (const NoTheorem& refused) {
      EXPECT_EQ(refused.opinions().size(), accountants_asked) << text;
      for (const auto& opinion : refused.opinions()) EXPECT_FALSE(opinion.refusal.empty()) << text << ": " << opinion.accountant;
      return std::string{refused.what()};
    }
    return std::string{"an answer"};
  };
  EXPECT_EQ(
      sentence("users(2, allocated(100, 2, record_sum(0.3)))"),
      "no accountant has a theorem for users(2, allocated(100, 2, record_sum(0.3))): privacy-loss: it has no dominating pair here under replace-one; there is one under add-or-remove-one and zero-out");
  EXPECT_EQ(
      sentence("compose(gaussian(1), users(2, allocated(100, 2, record_sum(0.3))))"),
      "no accountant has a theorem for compose(gaussian(1), users(2, allocated(100, 2, record_sum(0.3)))): privacy-loss: users(2, allocated(100, 2, record_sum(0.3))) has no dominating pair here under replace-one; there is one under add-or-remove-one and zero-out");
  EXPECT_EQ(
      sentence("best_of(geometric_runs, 10, users(2, allocated(100, 2, record_sum(0.3))))"),
      "no accountant has a theorem for best_of(geometric_runs, 10, users(2, allocated(100, 2, record_sum(0.3)))): no accountant has a theorem for users(2, allocated(100, 2, record_sum(0.3))): privacy-loss: it has no dominating pair here under replace-one; there is one under add-or-remove-one and zero-out");
  // Which part of parallel ones is wrong, and where it may stand. Of a search alone another accountant has the answer.
  const std::string search = "best_of(geometric_runs, 5, gaussian(1))";
  for (const std::string around : {"", "compose(laplace(3), ", "repeat(2, "}) {
    const std::string text = around + "parallel(" + search + ", gaussian(2))" + (around.empty() ? "" : ")");
    EXPECT_EQ(sentence(text.c_str()),
              "no accountant has a theorem for " + text + ": privacy-loss: " + search +
                  " is a whole part of parallel, must be repeated, composed with other releases, or outside of parallel");
  }
  EXPECT_EQ(sentence(("parallel(repeat(2, " + search + "), gaussian(2))").c_str()), "an answer");
  EXPECT_EQ(sentence(("repeat(2, parallel(" + search + ", " + search + "))").c_str()), "an answer") << "as before: it is repeated";
  std::string many = "gaussian(1)";
  for (int i = 1; i < 100; ++i) many += fmt::format(", gaussian({})", i);
  EXPECT_LE(sentence(fmt::format("compose({}, users(2, allocated(100, 2, record_sum(0.3))))", many).c_str()).size(), 600U);
}

/// A width of 1e-4 is much of an epsilon of 0.06.
TEST(Best, KnowsASmallEpsilonAsAShareOfItself) {
  for (const char* text : {"allocated(50, gaussian(8))", "repeat(20, laplace(1000))", "compose(gaussian(100), laplace(300))"}) {
    const Event small = event(text);
    const auto found = best_epsilon(small, Delta{1e-6});
    EXPECT_LT(found.value.upper, 0.2) << text;
    EXPECT_LE(found.value.width(), 1e-4 * found.value.upper) << text;
    // Nothing but narrower than what was said before.
    EXPECT_TRUE(overlap(found.value, epsilon(Pld{}, small, Delta{1e-6}))) << text;
  }
  EXPECT_EQ(width_at(0.5, {.width = 1e-4}), 0.5e-4);
  EXPECT_EQ(width_at(0.5, {.width = 1e-6}), 1e-6);
  EXPECT_DOUBLE_EQ(width_at(1e-3, {.width = 1e-6}), 1e-7);
  EXPECT_EQ(width_at(0.5, {.width = 1e-2}), 0.5e-2);
  EXPECT_EQ(width_at(3, {.width = 1e-4}), 1e-4);
  EXPECT_EQ(width_at(0, {.width = 1e-4}), 1e-4);
}

TEST(Best, LeavesOutTheGridWhereManyLawsAreKnownNarrowly) {
  std::string parts;
  for (int i = 0; i < 80; ++i) parts += (i == 0 ? "" : ", ") + std::string{"poisson(0.02, gaussian("} + std::to_string(1 + 0.01 * i) + "))";
  const auto found = best_epsilon(event(("repeat(20, compose(" + parts + "))").c_str()), Delta{1e-6});
  EXPECT_EQ(found.accountant, "contour");
  const auto grid =
      std::find_if(found.opinions.begin(), found.opinions.end(), [](const Opinion& o) { return o.accountant == "privacy-loss"; });
  EXPECT_FALSE(grid->value);
  EXPECT_NE(grid->refusal.find("left out"), std::string::npos);
}

TEST(Best, AsksTheCompositionTheoremsWhereTheyApply) {
  const auto value_of = [](const BestAnswer& best, std::string_view accountant) {
    const auto found =
        std::find_if(best.opinions.begin(), best.opinions.end(), [&](const Opinion& opinion) { return opinion.accountant == accountant; });
    return found == best.opinions.end() ? std::nullopt : found->value;
  };
  const auto pure = best_epsilon(event("compose(repeat(40, pure(0.1)), repeat(20, pure(0.25)))"), Delta{1e-6});
  const auto optimal = value_of(pure, "optimal-composition");
  ASSERT_TRUE(optimal);
  EXPECT_TRUE(overlap(*optimal, *value_of(pure, "privacy-loss")));
  EXPECT_LT(optimal->width(), 0.05);
  // sqrt(2 log(1/d) sum e_i^2) + sum e_i (e^e_i - 1)
  const double advanced =
      std::sqrt(2 * std::log(1e6) * (40 * 0.01 + 20 * 0.0625)) + 40 * 0.1 * std::expm1(0.1) + 20 * 0.25 * std::expm1(0.25);
  EXPECT_NEAR(value_of(pure, "advanced-composition")->upper, advanced, 1e-12);
  EXPECT_NEAR(value_of(pure, "basic-composition")->upper, 9, 1e-12);
  const auto gaussian = best_epsilon(event("gaussian(3)"), Delta{1e-6});
  for (const char* name : {"optimal-composition", "advanced-composition", "basic-composition"})
    EXPECT_FALSE(value_of(gaussian, name)) << name;
}

TEST(SecondOpinion, IsTheTightestOfTheOthers) {
  const auto best = best_epsilon(event("repeat(50, gaussian(12))"), Delta{1e-6});
  const auto* second = second_opinion(best);
  ASSERT_NE(second, nullptr);
  EXPECT_NE(second->accountant, best.accountant);
  for (const auto& opinion : best.opinions) {
    if (!opinion.value || opinion.accountant == best.accountant) continue;
    EXPECT_GE(opinion.value->upper, second->value->upper) << opinion.accountant;
  }
}

/// A tighter bound that shares a computation with the answer's confirms nothing: planted, it is not the second opinion.
TEST(SecondOpinion, SharesNothingWithTheAnswer) {
  BestAnswer planted{.value = {1, 2}, .accountant = "one", .opinions = {}};
  planted.opinions = {{"one", Enclosure{1, 2}, "", {"cells", "shares"}},
                      {"akin", Enclosure{0, 2.1}, "", {"moments", "shares"}},
                      {"other", Enclosure{0, 2.2}, "", {"moments"}},
                      {"wider", Enclosure{0, 3}, "", {"promises"}}};
  ASSERT_NE(second_opinion(planted), nullptr);
  EXPECT_EQ(second_opinion(planted)->accountant, "other");
  planted.opinions[2].rests_on.emplace_back("cells");
  planted.opinions[3].rests_on.emplace_back("shares");
  EXPECT_EQ(second_opinion(planted), nullptr);
}

TEST(SecondOpinion, OfATruncatedBatchIsNobodyWhoTakesTheSameProbabilities) {
  const Event batch = parse_event("truncated_poisson(0.01, 70, 6000, gaussian(1))", Adjacency::zero_out);
  const auto best = best_epsilon(batch, Delta{1e-6});
  EXPECT_EQ(best.accountant, "privacy-loss");
  const auto renyi = std::find_if(best.opinions.begin(), best.opinions.end(), [](const Opinion& o) { return o.accountant == "renyi"; });
  ASSERT_TRUE(renyi->value);  // it answers, by the same shares
  const auto* second = second_opinion(best);
  EXPECT_TRUE(second == nullptr || second->accountant != "renyi");
}

/// Every accountant says what it rests on, and a search rests on all that may be asked about its run.
TEST(SecondOpinion, EveryAccountantNamesWhatItRestsOn) {
  for (const char* text : {"gaussian(3)", "users(3, poisson(0.1, gaussian(2)))", "best_of(geometric_runs, 3, repeat(2, exponential(0.2)))",
                           "compose(zcdp(0.1), exponential(1))"}) {
    for (const auto accountant : accountant_names()) EXPECT_FALSE(rests_on(accountant, event(text)).empty()) << accountant << text;
  }
  const auto meet = [](const char* one, const char* other, const char* text, Adjacency adjacency = Adjacency::add_or_remove_one) {
    const auto a = rests_on(one, event(text, adjacency));
    const auto b = rests_on(other, event(text, adjacency));
    return std::any_of(a.begin(), a.end(), [&](std::string_view name) { return std::find(b.begin(), b.end(), name) != b.end(); });
  };
  EXPECT_FALSE(meet("contour", "privacy-loss", "repeat(10, poisson(0.1, gaussian(2)))"));
  EXPECT_FALSE(meet("renyi", "privacy-loss", "repeat(10, poisson(0.1, gaussian(2)))"));
  EXPECT_FALSE(meet("renyi", "privacy-loss", "users(3, allocated(9, gaussian(2)))"));
  EXPECT_TRUE(meet("renyi", "privacy-loss", "users(3, poisson(0.1, gaussian(2)))"));
  EXPECT_TRUE(meet("choices", "privacy-loss", "compose(gaussian(2), repeat(3, exponential(0.2)))"));
  EXPECT_TRUE(meet("tuning", "privacy-loss", "best_of(geometric_runs, 3, gaussian(2))"));
  EXPECT_TRUE(meet("tuning", "contour", "best_of(geometric_runs, 3, repeat(10, poisson(0.1, gaussian(2))))"));
  EXPECT_TRUE(meet("participation", "closed-form", "gaussian(2)"));
  EXPECT_FALSE(meet("contour", "closed-form", "repeat(2, gaussian(2))"));
  EXPECT_TRUE(meet("contour", "closed-form", "repeat(2, last_iterate(9, 1, gaussian(2)))", Adjacency::zero_out));
  EXPECT_THROW(static_cast<void>(rests_on("nobody", event("gaussian(2)"))), Error);
}

/// A mistake in one law is contradicted by an opinion that does not rest on it: the answer is then a defect report, and no number. The mutants of
/// tests/mutation/laws.txt are seen here.
TEST(SecondOpinion, ContradictsALawThatIsWrong) {
  struct Case {
    const char* text;
    std::string_view law;    ///< that is told of
    std::string_view other;  ///< who does not rest on it
  };
  for (const auto& [text, law, other] : {Case{"repeat(20, laplace(7))", "privacy-loss", "closed-form"},
                                         Case{"repeat(300, poisson(0.02, gaussian(1.1)))", "privacy-loss", "contour"},
                                         Case{"allocated(50, gaussian(1))", "privacy-loss", "renyi"},
                                         Case{"repeat(3, exponential(0.5))", "choices", "optimal-composition"}}) {
    const auto best = best_epsilon(event(text), Delta{1e-6});
    const auto opinion = [&](std::string_view name) {
      return *std::find_if(best.opinions.begin(), best.opinions.end(), [&](const Opinion& one) { return one.accountant == name; });
    };
    ASSERT_TRUE(opinion(law).value && opinion(other).value) << text;
    EXPECT_LE(std::max(opinion(law).value->lower, opinion(other).value->lower),
              std::min(opinion(law).value->upper, opinion(other).value->upper))
        << text;
    for (const auto basis : opinion(law).rests_on) {
      const auto others = opinion(other).rests_on;
      EXPECT_EQ(std::find(others.begin(), others.end(), basis), others.end()) << text << ": both rest on " << basis;
    }
  }
}

TEST(Quick, OverlapsBest) {
  for (const char* text : {"repeat(50, gaussian(12))", "repeat(300, poisson(0.02, gaussian(1.1)))", "repeat(20, laplace(7))"}) {
    EXPECT_TRUE(overlap(quick_epsilon(event(text), Delta{1e-6}), best_epsilon(event(text), Delta{1e-6}).value)) << text;
    EXPECT_TRUE(overlap(quick_delta(event(text), Epsilon{0.9}), best_delta(event(text), Epsilon{0.9}).value)) << text;
  }
}

}  // namespace
}  // namespace surety::accounting::best_test
