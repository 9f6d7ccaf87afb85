// The curve of shuffled reports against sums over all histograms, which know no clone, no blanket and no reference.
#include <surety/accounting/laws/shuffled/shuffled_curve.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <surety/accounting/events/event.h>

#include <support/report_histograms.h>

namespace surety::accounting::laws::shuffled_curve_test {
namespace {

using surety::testing::histograms;
using surety::testing::hockey_stick;
using surety::testing::response;

/// The largest divergence over all data of the others. Reports are alike in all inputs but the two of the record, so that only numbers of inputs count.
long double worst_data(const std::vector<std::vector<long double>>& rows, int reports, long double e) {
  long double most = 0;
  const std::size_t inputs = rows.size();
  std::vector<std::size_t> data(static_cast<std::size_t>(reports), 0);
  for (;;) {
    data[0] = 0;
    const auto p = histograms(rows, data);
    data[0] = 1;
    most = std::max(most, hockey_stick(p, histograms(rows, data), e));
    // The next nondecreasing list of inputs of the others.
    std::size_t i = data.size();
    while (--i > 0 && data[i] + 1 == inputs) {
    }
    if (i == 0) return most;
    const std::size_t value = data[i] + 1;
    std::fill(data.begin() + static_cast<std::ptrdiff_t>(i), data.end(), value);
  }
}

ShuffledCurve reports(std::uint64_t n, double epsilon0) { return {Count{n}, LocalRandomizer::of_epsilon(Epsilon{epsilon0})}; }
ShuffledCurve responses(std::uint64_t n, double truth, std::uint64_t k) {
  return {Count{n}, LocalRandomizer::of_response(Probability{truth}, Count{k})};
}

TEST(ShuffledResponses, OfTwoCategoriesAreTheWorstData) {
  for (const double truth : {0.55, 0.7, 0.95, 0.2}) {
    for (const int n : {1, 2, 3, 5, 9, 14}) {
      const auto curve = responses(static_cast<std::uint64_t>(n), truth, 2);
      const double loss = std::abs(std::log(truth / (1 - truth)));
      for (const double share : {0.0, 0.1, 0.3, 0.6, 0.97}) {
        const double epsilon = share * loss;
        const auto truth_of = static_cast<double>(worst_data(response(truth, 2), n, std::exp(static_cast<long double>(epsilon))));
        const auto found = curve.delta(epsilon);
        EXPECT_LE(found.lower, truth_of * (1 + 1e-12)) << "p " << truth << " n " << n << " epsilon " << epsilon;
        EXPECT_GE(found.upper, truth_of * (1 - 1e-12));
        EXPECT_LE(found.width(), 1e-10);
      }
    }
  }
}

/// What the reference alone says, without the bound of one report.
TEST(ShuffledResponses, HoldTheWorstData) {
  double widest = 0;
  for (const std::size_t k : {3U, 4U, 5U}) {
    for (const double truth : {0.5, 0.8, 0.1, 0.02}) {
      for (const int n : {1, 2, 3, 4, 6}) {
        if (k == 5 && n > 4) continue;
        const auto curve = responses(static_cast<std::uint64_t>(n), truth, k);
        const double loss = curve.largest_loss().upper;
        for (const double share : {0.0, 0.1, 0.3, 0.6, 0.97}) {
          const double epsilon = share * loss;
          const auto truth_of = static_cast<double>(worst_data(response(truth, k), n, std::exp(static_cast<long double>(epsilon))));
          const auto found = curve.delta(epsilon);
          EXPECT_LE(found.lower, truth_of * (1 + 1e-12)) << "p " << truth << " k " << k << " n " << n << " epsilon " << epsilon;
          EXPECT_GE(found.upper, truth_of * (1 - 1e-12)) << "p " << truth << " k " << k << " n " << n << " epsilon " << epsilon;
          if (truth >= 0.5) widest = std::max(widest, found.width());
        }
      }
    }
  }
  EXPECT_LT(widest, 0.1);
}

TEST(ShuffledResponses, OfThreeCategoriesAttainTheirLowerBound) {
  // All others have the third input: no other data are worse where truth is likely, but at the smallest epsilons.
  for (const int n : {2, 5, 8}) {
    const auto rows = response(0.6, 3);
    std::vector<std::size_t> data(static_cast<std::size_t>(n), 2);
    data[0] = 0;
    const auto p = histograms(rows, data);
    data[0] = 1;
    const auto q = histograms(rows, data);
    const auto curve = responses(static_cast<std::uint64_t>(n), 0.6, 3);
    for (const double epsilon : {0.05, 0.2, 0.5, 0.9}) {
      const auto exact = static_cast<double>(hockey_stick(p, q, std::exp(static_cast<long double>(epsilon))));
      const auto attained = curve.attained(epsilon);
      ASSERT_TRUE(attained.has_value());
      EXPECT_NEAR(attained->lower, exact, 1e-12);
      EXPECT_NEAR(attained->upper, exact, 1e-12);
      EXPECT_GE(curve.delta(epsilon).lower, exact * (1 - 1e-12));
    }
  }
}

/// (1/n) E max(A (E - e) + B (1 - E e), 0) of the counts A, B of two outcomes, each of probability 1/(E + 1), among n reports, term by term.
long double clones(int n, long double odds, long double e) {
  long double sum = 0;
  for (int a = 0; a <= n; ++a) {
    for (int b = 0; a + b <= n; ++b) {
      const long double ways =
          std::exp(std::lgamma(n + 1.0L) - std::lgamma(a + 1.0L) - std::lgamma(b + 1.0L) - std::lgamma(n - a - b + 1.0L));
      const long double q = 1 / (odds + 1);
      const long double chance =
          ways * std::pow(q, static_cast<long double>(a + b)) * std::pow(1 - 2 * q, static_cast<long double>(n - a - b));
      sum += chance * std::max(0.0L, static_cast<long double>(a) * (odds - e) + static_cast<long double>(b) * (1 - odds * e));
    }
  }
  return sum / static_cast<long double>(n);
}

TEST(ShuffledReports, AreBoundedByTheSumOfClones) {
  for (const double epsilon0 : {0.2, 1.0, 3.0, 9.0}) {
    for (const int n : {1, 2, 7, 40, 150}) {
      const auto curve = reports(static_cast<std::uint64_t>(n), epsilon0);
      for (const double share : {0.0, 0.05, 0.2, 0.5, 0.9}) {
        const double epsilon = share * epsilon0;
        const auto exact =
            static_cast<double>(clones(n, std::exp(static_cast<long double>(epsilon0)), std::exp(static_cast<long double>(epsilon))));
        EXPECT_NEAR(curve.upper(epsilon), exact, 1e-9 * exact + 1e-300) << "epsilon0 " << epsilon0 << " n " << n << " epsilon " << epsilon;
        EXPECT_GE(curve.upper(epsilon), exact * (1 - 1e-10));
        EXPECT_LE(curve.lower(epsilon), exact * (1 + 1e-10));
      }
    }
  }
}

TEST(ShuffledReports, AreNoLessThanBinaryAndTernaryResponses) {
  for (const double epsilon0 : {0.3, 1.0, 2.5}) {
    const double odds = std::exp(epsilon0);
    for (const int n : {2, 4, 7}) {
      const auto curve = reports(static_cast<std::uint64_t>(n), epsilon0);
      for (const double share : {0.0, 0.2, 0.5, 0.9}) {
        const long double e = std::exp(static_cast<long double>(share * epsilon0));
        const std::size_t last = static_cast<std::size_t>(n) - 1;
        const auto of = [&](const std::vector<std::vector<long double>>& rows, std::size_t other) {
          std::vector<std::size_t> data(last + 1, other);
          data[0] = 0;
          const auto p = histograms(rows, data);
          data[0] = 1;
          return static_cast<double>(hockey_stick(p, histograms(rows, data), e));
        };
        const auto binary = response(odds / (1 + odds), 2);
        const double best = std::max({of(binary, 0), of(binary, 1), of(response(odds / (2 + odds), 3), 2)});
        EXPECT_NEAR(curve.lower(share * epsilon0), best, 1e-9) << epsilon0 << " " << n << " " << share;
      }
    }
  }
}

TEST(ShuffledReports, CostTheKnownEpsilons) {
  const auto known = [](const ShuffledCurve& curve, double lower, double upper) {
    const auto found = curve.epsilon(1e-6);
    EXPECT_NEAR(found.lower, lower, 1e-8);
    EXPECT_NEAR(found.upper, upper, 1e-8);
  };
  // Binary: the worst of all numbers of ones, by convolutions of a Python program. At epsilon0 = 2 that is 997 ones, not 999, whose cost is .3232789601.
  known(responses(1000, 0.7310585786300049, 2), 0.12661448096, 0.12661448096);
  known(responses(1000, 0.8807970779778824, 2), 0.32332354542, 0.32332354542);
  known(responses(1000, 0.47536688648, 4), 0.11768614, 0.11788378);
  // Lower, by k = 3; upper, by clones of probability 2 / (e^epsilon0 + 1). The published clones of probability e^-epsilon0 cost .1824 and .5455.
  known(reports(1000, 1), 0.13056623915, 0.14867061636);
  known(reports(1000, 2), 0.37197280547, 0.39708705859);
}

/// Beyond the reports of which all data are looked at, the bounds go on falling.
TEST(ShuffledResponses, OfMoreReportsCostNoMore) {
  Enclosure before{1, 1};
  for (const std::uint64_t n : {900U, 1000U, 1001U, 1300U, 2000U, 2001U, 5000U}) {
    const auto found = responses(n, 0.7310585786300049, 2).epsilon(1e-6);
    EXPECT_LE(found.upper, before.upper * (1 + 1e-10)) << n;
    EXPECT_LE(found.lower, before.lower * (1 + 1e-10)) << n;
    EXPECT_EQ(found.width() < 1e-8, n <= 1000) << n;
    before = found;
  }
}

TEST(ShuffledReports, OfManyAreAnsweredOnBothSides) {
  for (const double epsilon0 : {0.5, 2.0, 6.0}) {
    Enclosure before{epsilon0, epsilon0};
    for (const double n : {1e3, 1e4, 1e6, 1e8}) {
      const auto curve = reports(static_cast<std::uint64_t>(n), epsilon0);
      const auto found = curve.epsilon(1e-6);
      // More reports never cost more.
      EXPECT_LE(found.upper, before.upper);
      EXPECT_LE(found.lower, before.lower);
      EXPECT_GT(found.lower, 0.7 * found.upper);
      EXPECT_LE(curve.upper(found.upper), 1e-6);
      EXPECT_GT(curve.lower(found.lower), 1e-6 * (1 - 1e-9));
      before = found;
    }
  }
}

/// At 10^8 reports losses are nearly normal, of the variance of (E - 1)^2 2 / ((E + 1) n), above and 2 / ((E + 2) n), below.
TEST(ShuffledReports, OfManyAreNearlyNormal) {
  const double odds = std::exp(1);
  const auto found = reports(100'000'000, 1).epsilon(1e-6);
  const double mu = (odds - 1) * std::sqrt(2 / ((odds + 1) * 1e8));
  const double lower = (odds - 1) * std::sqrt(2 / ((odds + 2) * 1e8));
  const auto delta = [](double mean, double epsilon) {
    const auto tail = [](double x) { return 0.5 * std::erfc(x / std::sqrt(2.0)); };
    return tail(epsilon / mean - mean / 2) - std::exp(epsilon) * tail(epsilon / mean + mean / 2);
  };
  EXPECT_NEAR(std::log(delta(mu, found.upper) / 1e-6), 0, 0.02);
  EXPECT_NEAR(std::log(delta(lower, found.lower) / 1e-6), 0, 0.02);
}

TEST(ShuffledReports, OfOneReportOrOfHugeLossesCostAtMostThatLoss) {
  for (const double epsilon0 : {1e-12, 0.5, 39.0, 41.0, 700.0, 1e4, 1e300}) {
    for (const double n : {1.0, 2.0, 1e5, 9007199254740992.0}) {
      const auto curve = reports(static_cast<std::uint64_t>(n), epsilon0);
      for (const double delta : {0.0, 1e-300, 1e-6, 0.3, 0.999}) {
        const auto found = curve.epsilon(delta);
        EXPECT_GE(found.lower, 0);
        EXPECT_LE(found.upper, epsilon0) << epsilon0 << " " << n << " " << delta;
        EXPECT_TRUE(delta > 0 || found == (Enclosure{epsilon0, epsilon0}));
      }
      for (const double epsilon : {0.0, 0.5 * epsilon0, epsilon0, 2 * epsilon0}) {
        const auto found = curve.delta(epsilon);
        EXPECT_GE(found.lower, 0);
        EXPECT_LE(found.upper, std::max(0.0, -std::expm1(epsilon - epsilon0) / (1 + std::exp(-epsilon0))) * (1 + 1e-12) + 1e-300);
        EXPECT_LE(found.width(), n == 1 ? 1e-9 * found.upper + 1e-18 : 1);
      }
    }
  }
  for (const double truth : {1e-300, 1e-9, 1 - 1e-16}) {
    for (const double k : {2.0, 3.0, 9007199254740992.0}) {
      const auto curve = responses(1000, truth, static_cast<std::uint64_t>(k));
      const auto found = curve.epsilon(1e-6);
      EXPECT_GE(found.lower, 0);
      EXPECT_LE(found.upper, curve.largest_loss().upper);
    }
  }
}

}  // namespace
}  // namespace surety::accounting::laws::shuffled_curve_test
