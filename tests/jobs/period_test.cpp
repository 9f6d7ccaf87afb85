// What a run that protects a user's day promises to the user over several days: against closed forms.
#include <surety/jobs/run/released.h>

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/answers/best.h>

namespace surety::period_test {
namespace {

const auto unit = unit_of_columns({"user", "day"}, Count{3});

jobs::OverPeriods over(const Event& event, double delta) { return jobs::over_periods(unit, "day", event, Delta{delta}).value(); }

double epsilon_of(const Event& event, double delta) { return accounting::best_epsilon(event, Delta{delta}).value.upper; }

TEST(OverPeriods, AreThoseOfPureRunsTimesTheirNumber) {
  const auto found = over(pure(Epsilon{0.5}, Adjacency::replace_one), 0);
  EXPECT_EQ(found.user, std::vector<std::string>{"user"});
  ASSERT_EQ(found.bounds.size(), 3U);
  for (const auto& bound : found.bounds) {
    const double expected = 0.5 * static_cast<double>(bound.periods);
    EXPECT_NEAR(bound.of_one_run.value(), expected, 1e-6 * expected);
    EXPECT_NEAR(bound.of_run_each.value(), expected, 1e-6 * expected);
    EXPECT_GE(bound.of_one_run.value(), expected);
    EXPECT_GE(bound.of_run_each.value(), expected);
  }
}

// One run moves by all periods at once, so its noise is worth that much less; runs of one period each add up as roots do.
TEST(OverPeriods, OfGaussianRunsDivideTheirMultiplier) {
  constexpr double z = 60;
  const auto gaussian_of = [](double multiplier) { return gaussian(NoiseMultiplier{multiplier}, Adjacency::add_or_remove_one); };
  for (const auto& bound : over(gaussian_of(z), 1e-6).bounds) {
    const auto periods = static_cast<double>(bound.periods);
    const double at_once = epsilon_of(gaussian_of(z / periods), 1e-6);
    const double each = epsilon_of(gaussian_of(z / std::sqrt(periods)), 1e-6);
    EXPECT_NEAR(bound.of_one_run.value(), at_once, 1e-5 * at_once);
    EXPECT_NEAR(bound.of_run_each.value(), each, 1e-5 * each);
    EXPECT_LT(bound.of_run_each.value(), bound.of_one_run.value());
  }
}

TEST(OverPeriods, AreNotThereWithoutATheorem) {
  // No theorem says what several records in batches of Laplace noise cost.
  const auto batch = poisson(SamplingRate{0.01}, laplace(NoiseScale{2}, Adjacency::add_or_remove_one));
  const auto found = over(batch, 1e-6);
  for (const auto& bound : found.bounds) {
    EXPECT_FALSE(bound.of_one_run.has_value());
    EXPECT_TRUE(bound.of_run_each.has_value());
  }
  EXPECT_NE(jobs::report_lines(found).find("one user with 7 values of day: epsilon is not available, since no bound is known by this run"),
            std::string::npos)
      << jobs::report_lines(found);
  EXPECT_TRUE(jobs::to_json(found)["bounds"][0]["of_one_run"].is_null());
}

TEST(OverPeriods, AreNotBoundedAtADeltaThatIsTooSmall) {
  const auto found = over(approx(Epsilon{0.1}, Delta{1e-6}, Adjacency::add_or_remove_one), 1e-6);
  for (const auto& bound : found.bounds) EXPECT_TRUE(std::isinf(bound.of_run_each.value()));
  EXPECT_NE(jobs::report_lines(found).find("epsilon is not bounded at delta = 1e-06"), std::string::npos) << jobs::report_lines(found);
  EXPECT_EQ(jobs::to_json(found)["bounds"][2]["of_run_each"], "infinity");
}

TEST(OverPeriods, NeedAColumnOfPeriods) {
  EXPECT_FALSE(jobs::over_periods(unit, std::nullopt, pure(Epsilon{1}, Adjacency::replace_one), Delta{0}).has_value());
  const auto three = unit_of_columns({"day", "user", "a,b"}, Count{1});
  const auto found = jobs::over_periods(three, "day", pure(Epsilon{1}, Adjacency::replace_one), Delta{0}).value();
  EXPECT_EQ(found.user, (std::vector<std::string>{"user", "a,b"}));
  EXPECT_NE(jobs::report_lines(found).find("one user,\"a,b\" with 365 values of day: epsilon <= 365"), std::string::npos)
      << jobs::report_lines(found);
}

}  // namespace
}  // namespace surety::period_test
