// Sums of values in blocks of any length against their terms.
#include <surety/accounting/laws/shuffled/sum_of_values.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

namespace surety::accounting::laws::sum_of_values_test {
namespace {

LongBall ball(long double x) { return LongExact{x}; }

/// Values and their probabilities; what is left of 1 has the value of `rest`.
struct Case {
  std::uint64_t reports;
  long double likely;
  long double likely_first;
  long double unlikely;
  long double unlikely_first;
  long double unlikely_second;
  long double rest;
  long double third;
  long double third_ratio;
  long double e;

  [[nodiscard]] SumOfValues sum(std::uint64_t blocks) const {
    const auto other = third > 0 ? std::optional{Neutral{ball(third), ball(third_ratio)}} : std::nullopt;
    return {reports,
            {ball(likely), ball(likely_first), 1},
            {ball(unlikely), ball(unlikely_first), ball(unlikely_second)},
            ball(rest),
            true,
            other,
            blocks};
  }
  /// Term by term.
  [[nodiscard]] long double exact() const {
    const int n = static_cast<int>(reports);
    const long double left = 1 - likely - unlikely - third;
    long double sum = 0;
    for (int a = 0; a <= n; ++a) {
      for (int b = 0; a + b <= n; ++b) {
        for (int c = 0; a + b + c <= n; ++c) {
          if (third == 0 && c > 0) break;
          const int d = n - a - b - c;
          const long double ways = std::exp(std::lgamma(n + 1.0L) - std::lgamma(a + 1.0L) - std::lgamma(b + 1.0L) - std::lgamma(c + 1.0L) -
                                            std::lgamma(d + 1.0L));
          const auto power = [](long double x, int k) { return k == 0 ? 1 : std::pow(x, static_cast<long double>(k)); };
          const long double chance = ways * power(likely, a) * power(unlikely, b) * power(third, c) * power(left, d);
          const long double value = static_cast<long double>(a) * (likely_first - e) +
                                    static_cast<long double>(b) * (unlikely_first - e * unlikely_second) +
                                    static_cast<long double>(c) * third_ratio * (1 - e) + static_cast<long double>(d) * rest * (1 - e);
          sum += chance * std::max(0.0L, value);
        }
      }
    }
    return sum / static_cast<long double>(n);
  }
};

TEST(SumOfValues, IsHeldByBlocksOfAnyLength) {
  for (const std::uint64_t n : {1U, 6U, 45U}) {
    // Means of active reports above and below the rest's, equal shares and others, with a third value and without.
    for (const Case& one : {Case{n, 0.2L, 3, 0.2L, 1, 3, 0, 0, 0, 1.4L}, Case{n, 0.3L, 2.5L, 0.1L, 1, 4, 1, 0, 0, 1.1L},
                            Case{n, 0.05L, 6, 0.3L, 0.5L, 1, 0.3L, 0, 0, 1.5L}, Case{n, 0.25L, 4, 0.2L, 1, 2, 3, 0, 0, 1.2L},
                            Case{n, 0.1L, 3, 0.1L, 1, 3, 0, 0.4L, 1, 1.4L}, Case{n, 0.1L, 2, 0.1L, 1, 2, 0, 0.5L, 2, 1.05L}}) {
      const long double exact = one.exact();
      long double width = 1;
      for (const std::uint64_t blocks : {1U, 2U, 5U, 20U, 0U}) {
        const auto sum = one.sum(blocks);
        const auto upper = sum.upper(ball(one.e));
        EXPECT_GE(upper.value(), exact * (1 - 1e-15L)) << n << " " << one.e << " " << blocks;
        width = upper.value() / exact - 1;
        if (one.third > 0) continue;
        const auto lower = sum.lower(ball(one.e));
        EXPECT_LE(lower.value(), exact * (1 + 1e-15L)) << n << " " << one.e << " " << blocks;
        width = std::max(width, 1 - lower.value() / exact);
      }
      EXPECT_LT(width, 1e-8L) << n << " " << one.e;
    }
  }
}

/// What is left out is counted: with the rest of the probability in blocks that are not visited.
TEST(SumOfValues, OfManyReportsNestsAsBlocksShorten) {
  const LongBall q = LongBall{1} / LongBall{4};
  const LongBall e = ball(1.02L);
  const auto of = [&](std::uint64_t blocks) {
    return SumOfValues{40'000, {q, LongBall{3}, 1}, {q, 1, LongBall{3}}, 0, true, std::nullopt, blocks};
  };
  LongUpper before = of(20).upper(e);
  LongLower below = of(20).lower(e);
  for (const std::uint64_t blocks : {100U, 500U, 20'000U}) {
    const auto sum = of(blocks);
    EXPECT_LE(sum.upper(e).value(), before.value());
    EXPECT_GE(sum.lower(e).value(), below.value());
    EXPECT_LE(sum.lower(e).value(), sum.upper(e).value());
    before = sum.upper(e);
    below = sum.lower(e);
  }
  EXPECT_LT((before.value() - below.value()) / before.value(), 3e-9L);
}

}  // namespace
}  // namespace surety::accounting::laws::sum_of_values_test
