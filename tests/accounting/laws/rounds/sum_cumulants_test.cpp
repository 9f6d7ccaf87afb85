// Where a sum of terms is looked at: what is known in closed form, and what every place must have.
#include <surety/accounting/laws/rounds/sum_cumulants.h>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace surety::accounting::sums_of_terms::sum_cumulants_test {
namespace {

TEST(Term, IsWhereItSays) {
  for (const bool is_odd : {false, true}) {
    for (const double mu : {0.1, 1.0, 5.0}) {
      for (const double rate : {0.01, 0.3, 0.9}) {
        const Term term{mu, rate, is_odd};
        for (const double g : {-3.0, -0.4, 0.1, 0.9, 6.0}) {
          const double y = std::exp(mu * g - mu * mu / 2);
          const double other = std::exp(-mu * g - mu * mu / 2);
          const double value = std::log(1 - rate + rate * y) - (is_odd ? std::log(1 - rate + rate * other) : 0);
          EXPECT_NEAR(term.at(g), value, 1e-9 * (1 + std::abs(value))) << mu << ' ' << rate << ' ' << g;
          // Where the term is flat its place is known less well.
          if (std::abs(value) > 1e-3 && y > 1e-3) {
            EXPECT_NEAR(term.place(value), g, 1e-7) << mu << ' ' << rate << ' ' << g;
          }
        }
      }
    }
  }
  EXPECT_EQ((Term{1, 0.3, false}.place(std::log(0.5))), -Term::infinity) << "no g is so low";
}

// With rate 1 a term is mu g - mu^2 / 2, so the sum is Gaussian: with b records in a round its g has the mean b mu.
TEST(Cumulants, AreThoseOfAGaussianWhereTheRateIsOne) {
  const double mu = 0.8;
  const double rounds = 12;
  const std::vector<DealtRecords> dealt{{Ball{1}, {5, 2}}};
  const Cumulants found{Term{mu, 1, false}, rounds, dealt};
  for (const double theta : {-1.5, 0.0, 0.7, 2.0}) {
    const double variance = rounds * mu * mu;
    const double q_mean = -rounds * mu * mu / 2;
    const double p_mean = q_mean + (5 + 2 * 2) * mu * mu;
    for (const auto& [at, mean] : {std::pair{found.of_q(theta), q_mean}, {found.of_p(theta), p_mean}}) {
      EXPECT_NEAR(at.value, theta * mean + theta * theta * variance / 2, 1e-8) << theta;
      EXPECT_NEAR(at.slope, mean + theta * variance, 1e-8) << theta;
      EXPECT_NEAR(at.variance, variance, 1e-8) << theta;
    }
  }
}

// Of two ways to take part the sum is a mixture, of two means here.
TEST(Cumulants, OfTwoWaysAreThoseOfTheMixture) {
  const double mu = 0.8;
  const double rounds = 12;
  const std::vector<DealtRecords> dealt{{Ball{1} / Exact{4}, {2}}, {Ball{3} / Exact{4}, {6}}};
  const Cumulants found{Term{mu, 1, false}, rounds, dealt};
  const double variance = rounds * mu * mu;
  const double low = -variance / 2 + 2 * mu * mu;
  const double high = -variance / 2 + 6 * mu * mu;
  for (const double theta : {-0.5, 0.0, 0.9}) {
    const double weight = 3 * std::exp(theta * (high - low)) / (1 + 3 * std::exp(theta * (high - low)));
    const auto at = found.of_p(theta);
    EXPECT_NEAR(at.value, std::log(0.25 * std::exp(theta * low) + 0.75 * std::exp(theta * high)) + theta * theta * variance / 2, 1e-8);
    EXPECT_NEAR(at.slope, (1 - weight) * low + weight * high + theta * variance, 1e-8);
    EXPECT_NEAR(at.variance, variance + weight * (1 - weight) * (high - low) * (high - low), 1e-8);
  }
}

// Of odd terms the law with the record in the other's place is mirrored.
TEST(Cumulants, OfOddTermsAreMirrored) {
  const std::vector<DealtRecords> dealt{{Ball{1}, {9}}};
  const Cumulants odd{Term{0.7, 0.2, true}, 9, dealt};
  for (const double theta : {-1.0, 0.0, 0.4, 1.3}) {
    EXPECT_NEAR(odd.of_p(theta).value, odd.of_q(-theta).value, 1e-8) << theta;
    EXPECT_NEAR(odd.of_p(theta).slope, -odd.of_q(-theta).slope, 1e-8) << theta;
    EXPECT_NEAR(odd.of_p(theta).variance, odd.of_q(-theta).variance, 1e-8) << theta;
  }
}

// Both laws are tilted to one mean, and outside the window hardly anything is left of P.
TEST(Centres, TiltBothLawsToOneMean) {
  for (const bool is_odd : {false, true}) {
    const std::vector<DealtRecords> dealt{{Ball{1}, {1}}};
    const Cumulants found{Term{0.8, 0.05, is_odd}, 20, dealt};
    const auto all = centres(found, 1000);
    ASSERT_GE(all.size(), 4U);
    // The first two are the means of both laws as they are.
    EXPECT_NEAR(all[0].p_tilt, 0, 1e-6);
    EXPECT_NEAR(all[1].q_tilt, 0, 1e-6);
    for (const auto& one : all) {
      const auto p = found.of_p(one.p_tilt);
      EXPECT_NEAR(p.slope, found.of_q(one.q_tilt).slope, 1e-4 * (1 + std::abs(p.slope)));
      EXPECT_NEAR(one.deviation, std::sqrt(p.variance), 1e-8);
      EXPECT_LT(one.least, p.slope);
      EXPECT_GT(one.least + one.span, p.slope);
      // Chernoff's bound at either end, with the tilts that are said: e^-40.
      EXPECT_NEAR(found.of_p(one.p_tilt + one.right).value - p.value - one.right * (one.least + one.span), -40, 1e-5);
      EXPECT_NEAR(found.of_p(one.p_tilt - one.left).value - p.value + one.left * one.least, -40, 1e-5);
    }
  }
}

}  // namespace
}  // namespace surety::accounting::sums_of_terms::sum_cumulants_test
