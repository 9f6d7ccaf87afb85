// Masses and means of binomial counts against exact rational numbers of few trials, and against MPFR of many.
#include <surety/accounting/laws/shuffled/binomial.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <surety/base/numbers/interval.h>

namespace surety::accounting::laws::binomial_test {
namespace {

constexpr mpfr_prec_t bits = 160;

Interval number(double value) { return {value, bits}; }

/// C(n, k) p^k (1 - p)^(n - k) of a probability that is a double.
Interval mass(std::uint64_t n, double p, std::uint64_t k) {
  const auto trials = static_cast<double>(n);
  const auto hits = static_cast<double>(k);
  const auto factorial = [](double x) { return x < 1 ? number(0) : log_gamma(number(x + 1)); };
  return exp(factorial(trials) - factorial(hits) - factorial(trials - hits) + number(hits) * log(number(p)) +
             number(trials - hits) * log(number(1) - number(p)));
}

/// Whether bounds in long double hold a number of many digits, and are as narrow as claimed.
::testing::AssertionResult hold(const LongBounds& bounds, const Interval& truth, long double width) {
  const long double low = mpfr_get_ld(truth.lower(), MPFR_RNDD);
  const long double high = mpfr_get_ld(truth.upper(), MPFR_RNDU);
  if (bounds.lower.value() <= high && bounds.upper.value() >= low &&
      bounds.upper.value() - bounds.lower.value() <= width * (std::abs(high) + 1e-300L)) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "[" << bounds.lower.value() << ", " << bounds.upper.value() << "] of " << low;
}
LongBounds bounds_of(const LongBall& x) { return {x.lower(), x.upper()}; }

TEST(BinomialMass, IsThatOfManyDigits) {
  for (const double p : {0.5, 0.3, 1e-3, 0.97, 1e-15}) {
    for (const std::uint64_t n : {1U, 2U, 15U, 16U, 33U, 1000U, 1'000'000U, 100'000'000U}) {
      const double mean = p * static_cast<double>(n);
      const double spread = std::sqrt(mean * (1 - p));
      for (const double z : {-1e9, -12.0, -3.0, 0.0, 0.5, 3.0, 12.0, 1e9}) {
        const double at = std::min(static_cast<double>(n), std::max(0.0, std::round(mean + z * spread)));
        if (std::abs(z) > 1e8 && n > 1000) continue;
        const auto k = static_cast<std::uint64_t>(at);
        EXPECT_TRUE(hold(bounds_of(binomial_mass(n, LongBall{LongExact{static_cast<long double>(p)}}, k)), mass(n, p, k), 1e-9L))
            << "n " << n << " p " << p << " k " << k;
      }
    }
  }
}

TEST(ExpectedExcess, IsTheSumOfItsTerms) {
  for (const double p : {0.5, 0.2, 0.9}) {
    for (const std::uint64_t n : {1U, 7U, 60U, 300U}) {
      std::vector<long double> levels;
      for (double share = -0.1; share < 1.1; share += 0.05) levels.push_back(static_cast<long double>(share * static_cast<double>(n)));
      const auto found = expected_excess(n, LongBall{LongExact{static_cast<long double>(p)}}, levels);
      for (std::size_t i = 0; i < levels.size(); ++i) {
        Interval sum = number(0);
        for (std::uint64_t k = 0; k <= n; ++k) {
          const double over = static_cast<double>(k) - static_cast<double>(levels[i]);
          if (over > 0) sum = sum + mass(n, p, k) * (number(static_cast<double>(k)) - number(static_cast<double>(levels[i])));
        }
        EXPECT_TRUE(hold(found[i], sum, 1e-9L)) << "n " << n << " p " << p << " level " << levels[i];
      }
    }
  }
}

/// Deep tails of many trials: the terms fall like a geometric series, by which the sum is known to a few digits without it.
TEST(ExpectedExcess, OfManyTrialsIsNearAGeometricSeries) {
  constexpr std::uint64_t n = 50'000'000;
  const double middle = static_cast<double>(n) / 2;
  const double spread = std::sqrt(static_cast<double>(n)) / 2;
  for (const double z : {4.0, 12.0, 37.0}) {
    const long double level = std::floor(static_cast<long double>(middle + z * spread));
    const auto found = expected_excess(n, LongBall{1} / LongBall{2}, {level}).front();
    const auto k = static_cast<std::uint64_t>(level);
    const double ratio = static_cast<double>(n - k) / static_cast<double>(k + 1);
    const double first = mpfr_get_d(mass(n, 0.5, k).lower(), MPFR_RNDN);
    const double most = first * ratio / ((1 - ratio) * (1 - ratio));
    EXPECT_LE(static_cast<double>(found.lower.value()), most);
    EXPECT_GE(static_cast<double>(found.upper.value()), most * (1 - 4 / (z * z)));
    EXPECT_LE((found.upper.value() - found.lower.value()) / found.upper.value(), 1e-8L);
  }
}

TEST(CountBlocks, HoldAllCounts) {
  for (const double p : {0.5, 0.3, 1e-9}) {
    for (const std::uint64_t n : {5U, 300U, 3000U}) {
      for (const std::uint64_t blocks : {7U, 500U}) {
        const auto found = count_blocks(n, LongBall{LongExact{static_cast<long double>(p)}}, blocks, 3);
        EXPECT_EQ(found.front().first, 0U);
        EXPECT_EQ(found.back().last, n);
        LongUpper all{0};
        for (std::size_t i = 0; i < found.size(); ++i) {
          EXPECT_EQ(found[i].first, i == 0 ? 0 : found[i - 1].last + 1);
          Interval sum = number(0);
          for (std::uint64_t k = found[i].first; k <= found[i].last; ++k) sum = sum + mass(n, p, k);
          const bool is_end = i == 0 || i + 1 == found.size();
          EXPECT_TRUE(hold(found[i].weight, sum, is_end ? 1e300L : 1e-9L)) << "n " << n << " p " << p << " block " << i;
          all = all + found[i].weight.upper;
        }
        EXPECT_GE(all.value(), 1);
      }
    }
  }
}

}  // namespace
}  // namespace surety::accounting::laws::binomial_test
