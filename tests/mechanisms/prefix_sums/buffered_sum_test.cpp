#include <surety/mechanisms/prefix_sums/buffered_sum.h>

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <surety/base/numbers/interval.h>
#include <surety/base/text/error.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/mechanisms/prefix_sums/continual_sum.h>

#include <support/factorized_streams.h>
#include <support/refusal.h>

namespace surety::mechanisms::buffered_sum_test {
namespace {

using Integer = boost::multiprecision::cpp_int;
using Rational = boost::multiprecision::cpp_rational;
using Row = std::vector<std::int64_t>;

static_assert(ContinualSum<BufferedSum, ReplayBits> && ContinualSum<BufferedSum, SystemBits>);

/// A sensitivity of `sensitivity` units of the encoded stream, each a grid step: so much noise that no finer unit has room. Rounding shows.
FactorizedSumOptions coarse(std::uint64_t steps, double sensitivity, std::uint64_t dimension = 1) {
  auto result = options(steps, dimension);
  result.grid.log2_step = 0;
  result.sensitivity = L2Sensitivity{sensitivity};
  result.multiplier = NoiseMultiplier{0x1p53 / sensitivity};
  return result;
}

/// c_0, ..., c_(n-1), exactly.
std::vector<Rational> coefficients(const std::vector<BufferTerm>& terms, std::size_t n) {
  std::vector<Rational> result{1};
  std::vector<Rational> parts;
  for (const auto& term : terms) parts.emplace_back(term.weight);
  while (result.size() < n) {
    Rational c = 0;
    for (std::size_t j = 0; j < terms.size(); ++j) {
      c += parts[j];
      parts[j] *= Rational(terms[j].theta);
    }
    result.push_back(c);
  }
  return result;
}

/// rho_0, ..., rho_(n-1), exactly.
std::vector<Rational> deviations(const std::vector<BufferTerm>& terms, std::size_t n) {
  std::vector<Rational> result{0};
  std::vector<Rational> lasting(terms.size(), 0);
  while (result.size() < n) {
    Rational rho = 1;
    for (std::size_t j = 0; j < terms.size(); ++j) {
      rho += Rational(terms[j].weight) * lasting[j];
      lasting[j] = lasting[j] * Rational(terms[j].theta) + 1;
    }
    result.push_back(rho);
  }
  return result;
}

Rational squared_norm(const std::vector<Rational>& values) {
  Rational sum = 0;
  for (const auto& value : values) sum += value * value;
  return sum;
}

/// The squared distance of two encoded streams, exactly.
Integer squared_distance(const Stream& a, const Stream& b) {
  Integer sum = 0;
  for (std::size_t t = 0; t < a.size(); ++t) {
    for (std::size_t j = 0; j < a[t].size(); ++j) sum += (Integer{a[t][j]} - b[t][j]) * (Integer{a[t][j]} - b[t][j]);
  }
  return sum;
}

double ratio(const Integer& squared, double charge) {
  return static_cast<double>(Rational(squared) / (Rational(charge) * Rational(charge)));
}

TEST(BufferTerms, AreFixedPointNumbersInTheirRange) {
  for (const int buffers : {2, 3, 4, 5, 6}) {
    for (std::uint64_t n = 1; n <= std::uint64_t{1} << 24; n = 2 * n + 1) {
      const auto terms = buffer_terms(Count{n}, Buffers{static_cast<double>(buffers)});
      ASSERT_EQ(terms.size(), static_cast<std::size_t>(buffers));
      double last = 1;
      double weights = 0;
      for (const auto& term : terms) {
        EXPECT_TRUE(term.theta > 0 && term.theta < last && term.weight > 0) << n;
        EXPECT_EQ(std::ldexp(term.theta, 53), std::round(std::ldexp(term.theta, 53)));
        EXPECT_EQ(std::ldexp(term.weight, 53), std::round(std::ldexp(term.weight, 53)));
        last = term.theta;
        weights += term.weight;
      }
      EXPECT_LT(weights, 1);
    }
  }
  EXPECT_THROW(static_cast<void>(Buffers{7}), Error);
  EXPECT_THROW(static_cast<void>(buffer_terms(Count{(1U << 24) + 1}, Buffers{4})), Error);
}

TEST(BufferedCodec, ChargesTheNormsOfItsCoefficients) {
  for (const std::uint64_t n : {1U, 2U, 3U, 40U}) {
    for (const double buffers : {2.0, 4.0, 6.0}) {
      for (const std::uint64_t d : {1U, 5U}) {
        const BufferedCodec codec{options(n, d), Buffers{buffers}};
        const double units = 1 / codec.unit();  // per sensitivity
        const auto is_norm = [](double charge, const Rational& squared) {
          const Rational bound = Rational(charge) * Rational(charge);
          return bound >= squared && bound <= squared * (1 + Rational(1, Integer{1} << 50));
        };
        const Rational linear = squared_norm(coefficients(codec.terms(), n)) * Rational(units) * Rational(units);
        EXPECT_TRUE(is_norm(codec.linear_sensitivity(), linear)) << n << ' ' << buffers;
        EXPECT_TRUE(is_norm(codec.rounding_charge(), squared_norm(deviations(codec.terms(), n)) * d)) << n << ' ' << buffers;
        // Of the two terms up to their own rounding.
        const Rational below = 1 - Rational(1, Integer{1} << 52);
        EXPECT_GE(Rational(codec.encoded_sensitivity()),
                  (Rational(codec.linear_sensitivity()) + Rational(codec.rounding_charge())) * below);
        if (n == 1) continue;
        // Mutants: powers of theta one too high, and the norm without c_0.
        auto off_by_one = coefficients(codec.terms(), n + 1);
        off_by_one.erase(off_by_one.begin() + 1);
        EXPECT_FALSE(is_norm(codec.linear_sensitivity(), squared_norm(off_by_one) * Rational(units) * Rational(units)));
        EXPECT_FALSE(is_norm(codec.linear_sensitivity(), linear - Rational(units) * Rational(units)));
      }
    }
  }
}

TEST(BufferedCodec, IsItsRecurrenceInExactIntegers) {
  // Also with the largest contribution at every step, where 64 bits are all but full.
  std::mt19937_64 random{1};
  constexpr std::size_t n = 4096;
  const std::int64_t largest = std::int64_t{4} << 20;
  for (int kind = 0; kind < 3; ++kind) {
    BufferedCodec codec{options(n)};
    const int shift = -20 - std::ilogb(codec.unit());
    std::vector<Integer> buffers(codec.terms().size(), 0);
    const Integer half = Integer{1} << 52;
    Integer extreme = 0;
    for (std::size_t t = 0; t < n; ++t) {
      std::int64_t raw = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * largest + 10)) - largest - 5;
      if (kind == 1) raw = INT64_MAX;
      if (kind == 2) raw = INT64_MIN;
      const Integer x = Integer{std::clamp(raw, -largest, largest)} << shift;
      const auto rounded = [&](const Integer& product) -> Integer {  // floor((product + half) / 2^53)
        const Integer sum = product + half;
        Integer quotient = sum / (Integer{1} << 53);
        if (quotient * (Integer{1} << 53) > sum) --quotient;
        return quotient;
      };
      Integer sum = 0;
      for (std::size_t j = 0; j < buffers.size(); ++j) {
        sum += buffers[j] * static_cast<std::int64_t>(std::ldexp(codec.terms()[j].weight, 53));
        buffers[j] = rounded(buffers[j] * static_cast<std::int64_t>(std::ldexp(codec.terms()[j].theta, 53))) + x;
        extreme = std::max(extreme, Integer{abs(buffers[j])});
      }
      ASSERT_EQ(codec.encode(Row{raw})[0], x + rounded(sum)) << kind << ' ' << t;
    }
    EXPECT_LE(extreme, Integer{1} << 62);
    if (kind > 0) {
      EXPECT_GE(extreme, Integer{1} << 58);  // room is used
    }
  }
}

TEST(BufferedCodec, StaysNearTheLinearEncoder) {
  std::mt19937_64 random{2};
  constexpr std::size_t n = 60;
  const auto shape = coarse(n, 256);
  const BufferedCodec codec{shape};
  ASSERT_EQ(codec.unit(), 1);
  const auto c = coefficients(codec.terms(), n);
  const auto c_off_by_one = [&] {
    auto longer = coefficients(codec.terms(), n + 1);
    longer.erase(longer.begin() + 1);
    return longer;
  }();
  const auto rho = deviations(codec.terms(), n);
  double nearest = 0;  // the largest deviation, relative to what is allowed
  double off_by_one = 0;
  for (int trial = 0; trial < 5; ++trial) {
    Stream stream(n, Row(1));
    for (auto& row : stream) row[0] = static_cast<std::int64_t>(random() % 513) - 256;
    const Stream encoded = encode(codec, stream);
    for (std::size_t t = 1; t < n; ++t) {
      Rational linear = 0;
      Rational wrong = 0;
      for (std::size_t k = 0; k <= t; ++k) {
        linear += c[k] * stream[t - k][0];
        wrong += c_off_by_one[k] * stream[t - k][0];
      }
      // One stream's roundings are each at most 1/2, where those of a pair differ by at most 1.
      const Rational allowed = rho[t] / 2;
      nearest = std::max(nearest, static_cast<double>(abs(encoded[t][0] - linear) / allowed));
      off_by_one = std::max(off_by_one, static_cast<double>(abs(encoded[t][0] - wrong) / allowed));
    }
  }
  EXPECT_LE(nearest, 1);
  EXPECT_GT(nearest, 0.4);
  EXPECT_GT(off_by_one, 1);
}

TEST(BufferedCodec, NoPairOfShortStreamsIsFurtherApartThanIsCharged) {
  // All streams of 5 steps in {0, ..., 8} and all neighbours, which differ by at most 8 in one step.
  constexpr std::size_t n = 5;
  constexpr std::size_t values = 9;
  const auto shape = coarse(n, 8);
  const BufferedCodec codec{shape};
  ASSERT_EQ(codec.unit(), 1);
  std::size_t count = 1;
  for (std::size_t t = 0; t < n; ++t) count *= values;
  std::vector<std::array<std::int64_t, n>> encoded(count);
  for (std::size_t index = 0; index < count; ++index) {
    BufferedCodec fresh = codec;
    std::size_t rest = index;
    for (auto& y : encoded[index]) {
      y = fresh.encode(Row{static_cast<std::int64_t>(rest % values)})[0];
      rest /= values;
    }
  }
  double largest = 0;
  std::size_t place = 1;  // of the digit of the differing step
  for (std::size_t q = 0; q < n; ++q, place *= values) {
    for (std::size_t index = 0; index < count; ++index) {
      for (std::size_t other = index / place % values + 1; other < values; ++other) {
        const auto& neighbour = encoded[index + (other - index / place % values) * place];
        double squares = 0;
        for (std::size_t t = 0; t < n; ++t) {
          const auto difference = static_cast<double>(encoded[index][t] - neighbour[t]);
          squares += difference * difference;
        }
        largest = std::max(largest, std::sqrt(squares));
      }
    }
  }
  EXPECT_LE(largest, codec.encoded_sensitivity());
  EXPECT_GT(largest, codec.linear_sensitivity());  // mutant: without the rounding charge this would be a violation
  EXPECT_GT(largest, 0.7 * codec.encoded_sensitivity());
}

TEST(BufferedCodec, NoNeighbourMovesTheEncodedStreamFurtherThanIsCharged) {
  std::mt19937_64 random{3};
  double largest_fine = 0;
  double largest_coarse = 0;
  bool linear_suffices = true;
  for (int trial = 0; trial < 3000; ++trial) {
    const bool is_coarse = trial % 2 == 0;
    const std::size_t n = 2 + random() % 60;
    const std::size_t d = 1 + random() % 3;
    const Buffers buffers{static_cast<double>(2 + random() % 5)};
    const auto shape = is_coarse ? coarse(n, 256, d) : options(n, d);
    const auto s = static_cast<std::int64_t>(shape.sensitivity.value() * shape.grid.steps_per_unit());
    const BufferedCodec codec{shape, buffers};
    Stream stream(n, Row(d));
    for (auto& row : stream) {
      for (auto& x : row) x = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(10 * s)) - 5 * s;  // some beyond the clamp
    }
    Stream neighbour = stream;
    const std::size_t q = trial % 3 == 0 ? 0 : random() % n;
    if (trial % 5 < 3) {
      stream[q][0] = trial % 5 == 0 ? s / 2 : trial % 5 == 1 ? 4 * s + 3 : s;
      neighbour[q][0] = stream[q][0] - s;
    } else {
      const std::int64_t each = s / static_cast<std::int64_t>(d);
      for (auto& x : neighbour[q]) x += static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * each + 1)) - each;
    }
    const Integer squared = squared_distance(encode(codec, stream), encode(codec, neighbour));
    const double reached = ratio(squared, codec.encoded_sensitivity());
    ASSERT_LE(reached, 1) << trial;
    (is_coarse ? largest_coarse : largest_fine) = std::max(is_coarse ? largest_coarse : largest_fine, reached);
    linear_suffices &= ratio(squared, codec.linear_sensitivity()) <= 1;
  }
  EXPECT_GT(largest_fine, 0.999999);
  EXPECT_GT(largest_coarse, 0.8);
  EXPECT_FALSE(linear_suffices);  // mutant: no rounding charge
}

TEST(BufferedCodec, DecodesWhatItEncodes) {
  std::mt19937_64 random{4};
  constexpr std::size_t n = 4096;
  for (const double buffers : {2.0, 4.0, 6.0}) {
    BufferedCodec codec{options(n), Buffers{buffers}};
    BufferedCodec other{options(n / 2), Buffers{buffers}};  // mutant: the inverse of another encoder
    std::int64_t sum = 0;
    double error = 0;
    double other_error = 0;
    double largest = 0;
    for (std::size_t t = 0; t < n; ++t) {
      const auto x = static_cast<std::int64_t>(random() % (1U << 20)) - (t % 1000 < 500 ? 0 : 1 << 20);
      sum += x;
      const auto encoded = codec.encode(Row{x});
      const double exact = std::ldexp(static_cast<double>(sum), -20);
      largest = std::max(largest, std::abs(exact));
      error = std::max(error, std::abs(codec.decode(encoded)[0] * codec.unit() - exact));
      other_error = std::max(other_error, std::abs(other.decode(encoded)[0] * codec.unit() - exact));
    }
    EXPECT_LE(error, 1e-11 * largest) << buffers;  // roundings of the encoder among them
    EXPECT_GT(other_error, 1e-3 * largest) << buffers;
  }
}

TEST(BufferedCodec, RefusesWhatDoesNotFit) {
  const auto refused = [](const FactorizedSumOptions& wrong) { return refusal([&] { return BufferedSum{wrong}; }); };
  auto wrong = options(1024);
  wrong.grid.log2_step = -50;
  EXPECT_EQ(refused(wrong).substr(0, 71), "headroom * sensitivity is 4503599627370496 grid steps, must be at most ") << refused(wrong);
  wrong = coarse(1000, 16, 1000);
  EXPECT_EQ(refused(wrong).substr(0, 14), "rounding adds ") << refused(wrong);
  wrong = options((1 << 24) + 1);
  EXPECT_EQ(refused(wrong), "number of steps is 16777217, must be at most 2^24 for a factorized sum");
}

}  // namespace
}  // namespace surety::mechanisms::buffered_sum_test
