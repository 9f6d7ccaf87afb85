#include <surety/accounting/accountants/best.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include <surety/accounting/accountants/privacy_loss/privacy_loss.h>
#include <surety/accounting/accountants/renyi.h>

#include <support/refusal.h>

namespace surety::accounting::best_test {
namespace {

using reference::refusal_of;

Event event(const char* text, Adjacency adjacency = Adjacency::add_or_remove_one) { return parse_event(text, adjacency); }

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

TEST(Best, SaysWhyAnAccountantHasNoOpinion) {
  const auto best = best_delta(event("compose(repeat(9, laplace(4)), laplace(2))"), Epsilon{1});
  for (const auto& opinion : best.opinions) EXPECT_NE(opinion.value.has_value(), !opinion.refusal.empty()) << opinion.accountant;
  EXPECT_FALSE(best.opinions.front().value);
  EXPECT_NE(best.opinions.front().refusal.find("laplace(4)"), std::string::npos);
}

// A wider answer of the privacy-loss accountant beats the next accountant's by far.
TEST(Quick, IsWiderWhereMemoryDoesNotAllowTheWidthAskedFor) {
  const Event long_run = event("repeat(75000, without_replacement(200000, 100, gaussian(1.05)))", Adjacency::replace_one);
  constexpr double width = 1.6e-3;  // needs half a gigabyte
  EXPECT_THROW(static_cast<void>(delta(PrivacyLoss{.width = width}, long_run, Epsilon{0.5})), Error);
  const Enclosure found = quick_delta(long_run, Epsilon{0.5}, Effort{.width = width});
  EXPECT_LT(found.upper, 0.5 * delta(Renyi{}, long_run, Epsilon{0.5}).upper);
  EXPECT_GT(found.lower, 0);
  const Enclosure wide = delta(PrivacyLoss{.width = 0.05}, long_run, Epsilon{0.5});
  EXPECT_TRUE(overlap(found, wide));
}

TEST(Best, OfAPureEventIsFiniteAtDeltaZero) {
  const auto best = best_epsilon(event("repeat(3, pure(0.25))"), Delta{0});
  EXPECT_TRUE(best.value.contains(0.75));
  EXPECT_LT(best.value.width(), 1e-15);
}

TEST(Best, OfAGaussianIsInfiniteAtDeltaZero) {
  EXPECT_EQ(best_epsilon(event("gaussian(3)"), Delta{0}).value.upper, std::numeric_limits<double>::infinity());
}

TEST(Best, RefusesByNameWhatNobodyKnows) {
  const auto refusal = refusal_of([] { return best_epsilon(event("compose(approx(1, 1e-6), zcdp(0.3))"), Delta{1e-5}); });
  EXPECT_TRUE(refusal.says(ErrorCode::unsupported, "no accountant has a theorem for compose(approx(1, 1e-06), zcdp(0.3))")) << refusal;
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

TEST(Quick, OverlapsBest) {
  for (const char* text : {"repeat(50, gaussian(12))", "repeat(300, poisson(0.02, gaussian(1.1)))", "repeat(20, laplace(7))"}) {
    EXPECT_TRUE(overlap(quick_epsilon(event(text), Delta{1e-6}), best_epsilon(event(text), Delta{1e-6}).value)) << text;
    EXPECT_TRUE(overlap(quick_delta(event(text), Epsilon{0.9}), best_delta(event(text), Epsilon{0.9}).value)) << text;
  }
}

}  // namespace
}  // namespace surety::accounting::best_test
