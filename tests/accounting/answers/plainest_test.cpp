// What one release costs does not depend on which of its names it is written under.
#include <gtest/gtest.h>

#include <string>

#include <surety/accounting/answers/asked.h>

namespace surety::accounting::plainest_test {
namespace {

TEST(OtherNames, CostWhatTheKnownNameCostsByEveryAccountant) {
  for (const auto& [written, plain] :
       {std::pair<std::string, std::string>{"generalized_gaussian(2, 5, 2)", "gaussian(2)"},
        {"k_norm(l1, 5, 2)", "laplace(2)"},
        {"repeat(3, compose(generalized_gaussian(2, 5, 4), gaussian(9)))", "repeat(3, compose(gaussian(4), gaussian(9)))"},
        {"repeat(20, poisson(0.1, generalized_gaussian(2, 5, 2)))", "repeat(20, poisson(0.1, gaussian(2)))"},
        {"poisson(0.1, k_norm(l1, 5, 2))", "poisson(0.1, laplace(2))"},
        {"parallel(generalized_gaussian(2, 5, 2), laplace(1))", "parallel(gaussian(2), laplace(1))"}}) {
    const auto one = parse_event(written, Adjacency::add_or_remove_one);
    const auto other = parse_event(plain, Adjacency::add_or_remove_one);
    for (AccountantPlace accountant = 0; accountant < accountants_asked; ++accountant) {
      for (const auto& question : {Question{Epsilon{0.4}}, Question{Delta{1e-3}}}) {
        const auto found = opinion_of(accountant, one, question, {.width = 1e-2});
        const auto known = opinion_of(accountant, other, question, {.width = 1e-2});
        EXPECT_EQ(found.value, known.value) << accountant_names()[accountant] << ", " << written;
      }
    }
  }
}

TEST(OtherNames, AGeneralizedGaussianOfTheEuclideanNormIsAGaussian) {
  const auto found = best_epsilon(parse_event("generalized_gaussian(2, 5, 2)", Adjacency::replace_one), Delta{1e-3});
  EXPECT_EQ(found.accountant, ClosedForm::name);
  EXPECT_NEAR(found.value.upper, 1.352276, 1e-6);
}

TEST(OtherNames, OnlyADivergenceOfZeroIsThatOfEqualLaws) {
  const auto upper = [](const char* text) { return best_epsilon(parse_event(text, Adjacency::zero_out), Delta{1e-6}).value.upper; };
  EXPECT_EQ(upper("repeat(7, renyi(1.5, 0))"), 0);
  EXPECT_GT(upper("renyi(1.5, 1e-9)"), 0.1);
  EXPECT_GT(upper("compose(renyi(1.5, 0), gaussian(2))"), 2);
}

}  // namespace
}  // namespace surety::accounting::plainest_test
