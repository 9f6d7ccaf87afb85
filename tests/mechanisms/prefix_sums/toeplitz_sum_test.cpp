#include <surety/mechanisms/prefix_sums/toeplitz_sum.h>

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <surety/base/text/error.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/mechanisms/prefix_sums/continual_sum.h>

#include <support/factorized_streams.h>
#include <support/failing_bits.h>
#include <support/refusal.h>

namespace surety::mechanisms::toeplitz_sum_test {
namespace {

using Integer = boost::multiprecision::cpp_int;
using Rational = boost::multiprecision::cpp_rational;

static_assert(ContinualSum<ToeplitzSum, ReplayBits> && ContinualSum<ToeplitzSum, SystemBits>);

Stream random_stream(std::size_t steps, std::size_t dimension, std::int64_t largest, std::mt19937_64& random) {
  std::uniform_int_distribution<std::int64_t> value{-largest, largest};
  Stream stream(steps, std::vector<std::int64_t>(dimension));
  for (auto& row : stream) {
    for (auto& x : row) x = value(random);
  }
  return stream;
}

std::string refusal_of_options(const FactorizedSumOptions& wrong) {
  return refusal([&] { return ToeplitzSum{wrong}; });
}

TEST(SquareRootCoefficients, AreTheSeriesToTheLastBit) {
  const auto fixed = SquareRootCoefficients::fixed(Count{20'000});
  EXPECT_EQ(fixed[0], std::uint32_t{1} << 30);
  EXPECT_EQ(fixed[1], std::uint32_t{1} << 29);
  Rational exact = 1;  // of C(2k, k) / 4^k
  for (int k = 0; k < 200; ++k) {
    EXPECT_LE(abs(exact * (Integer{1} << 30) - fixed[static_cast<std::size_t>(k)]), Rational(501, 1000)) << k;
    exact *= Rational(2 * k + 1, 2 * k + 2);
  }
  long double c = 1;
  for (std::size_t k = 0; k < fixed.size(); ++k) {
    EXPECT_LE(std::abs(std::ldexp(c, 30) - static_cast<long double>(fixed[k])), 0.501L) << k;
    c *= 1 - 1 / (2 * static_cast<long double>(k + 1));
  }
}

TEST(ToeplitzCodec, EncodesExactly) {
  std::mt19937_64 random{1};
  constexpr std::size_t n = 300;
  const auto coefficients = SquareRootCoefficients::fixed(Count{n});
  const std::int64_t largest = std::int64_t{4} << 20;  // the clamp
  for (int kind = 0; kind < 4; ++kind) {
    Stream stream = random_stream(n, 3, largest + 5, random);  // some beyond the clamp
    if (kind == 1) stream.assign(n, {largest, -largest, largest});
    if (kind == 2) stream.assign(n, {std::int64_t{1} << 62, -(std::int64_t{1} << 62), INT64_MIN});
    const Stream encoded = encode(ToeplitzCodec{options(n, 3)}, stream);
    for (std::size_t t = 0; t < n; ++t) {
      for (std::size_t j = 0; j < 3; ++j) {
        Integer sum = 0;
        for (std::size_t k = 0; k <= t; ++k) sum += Integer{coefficients[k]} * std::clamp(stream[t - k][j], -largest, largest);
        ASSERT_EQ(sum, encoded[t][j]) << kind << ' ' << t << ' ' << j;
      }
    }
  }
}

TEST(ToeplitzCodec, DoesNotOverflowWhereItHasJustEnoughRoom) {
  // The finest grid that is accepted for this horizon, and the largest contribution at every step.
  constexpr std::size_t n = 1 << 14;
  auto finest = options(n);
  for (;; finest.grid.log2_step = finest.grid.log2_step.value() - 1) {
    auto next = finest;
    next.grid.log2_step = finest.grid.log2_step.value() - 1;
    if (refusal_of_options(next) != "no error") break;
  }
  EXPECT_EQ(finest.grid.log2_step.value(), -22);
  const auto coefficients = SquareRootCoefficients::fixed(Count{n});
  ToeplitzCodec codec{finest};
  Integer sum = 0;
  for (std::size_t t = 0; t < n; ++t) {
    sum += Integer{coefficients[t]} * (std::int64_t{4} << 22);
    ASSERT_EQ(sum, codec.encode(std::vector<std::int64_t>{INT64_MAX})[0]);
  }
  EXPECT_GT(sum, Integer{1} << 60);
}

/// Whether `charge`^2 is at least sum_k C_k^2 (in units of s = 2^20 steps), and at most a relative 2^-50 more.
bool is_norm(double charge, std::uint64_t n) {
  Integer squares = 0;
  for (const std::uint32_t c : SquareRootCoefficients::fixed(Count{n})) squares += Integer{c} * c;
  squares <<= 40;
  const Rational squared = Rational(charge) * Rational(charge);
  return squared >= squares && squared * ((Integer{1} << 50) - 1) <= Rational(squares) * (Integer{1} << 50);
}

TEST(ToeplitzCodec, ChargesTheNormOfTheFixedCoefficients) {
  bool unrounded_passes = true;
  bool off_by_one_passes = true;
  for (const std::uint64_t n : {1U, 2U, 3U, 10U, 100U, 1000U, 1024U, 4096U, 10'000U}) {
    EXPECT_TRUE(is_norm(ToeplitzCodec{options(n)}.encoded_sensitivity(), n)) << n;
    // Mutants: the norm before the coefficients are fixed, and that of c_1, ..., c_n.
    long double unrounded = 0;
    long double off_by_one = 0;
    long double c = 1;
    for (std::uint64_t k = 1; k <= n; ++k) {
      unrounded += c * c;
      c *= 1 - 1 / (2 * static_cast<long double>(k));
      off_by_one += c * c;
    }
    unrounded_passes &= is_norm(static_cast<double>(std::ldexp(std::sqrt(unrounded), 50)), n);
    off_by_one_passes &= is_norm(static_cast<double>(std::ldexp(std::sqrt(off_by_one), 50)), n);
  }
  EXPECT_FALSE(unrounded_passes);
  EXPECT_FALSE(off_by_one_passes);
}

TEST(ToeplitzCodec, NoNeighbourMovesTheEncodedStreamFurtherThanIsCharged) {
  std::mt19937_64 random{2};
  const Rational one_step = Rational(1, 1 << 20);
  Rational largest_ratio = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const std::size_t n = 1 + random() % 40;
    const std::size_t d = 1 + random() % 3;
    const auto shape = options(n, d);
    const double charge = ToeplitzCodec{shape}.encoded_sensitivity();
    Stream stream = random_stream(n, d, std::int64_t{5} << 20, random);
    Stream neighbour = stream;
    const std::size_t q = trial % 2 == 0 ? 0 : random() % n;
    // A difference of l2 norm at most 2^20 steps: along an axis, across the clamp, or anywhere.
    if (trial % 3 == 0) {
      stream[q][0] = trial % 2 == 0 ? std::int64_t{1} << 19 : (std::int64_t{4} << 20) + 7;
      neighbour[q][0] = stream[q][0] - (std::int64_t{1} << 20);
    } else {
      const std::int64_t each = (std::int64_t{1} << 20) / static_cast<std::int64_t>(d);
      for (auto& x : neighbour[q]) x += static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * each + 1)) - each;
    }
    const Stream a = encode(ToeplitzCodec{shape}, stream);
    const Stream b = encode(ToeplitzCodec{shape}, neighbour);
    Integer squares = 0;
    for (std::size_t t = 0; t < n; ++t) {
      for (std::size_t j = 0; j < d; ++j) squares += (Integer{a[t][j]} - b[t][j]) * (Integer{a[t][j]} - b[t][j]);
    }
    const Rational ratio = Rational(squares) / (Rational(charge) * Rational(charge));
    ASSERT_LE(ratio, 1) << trial;
    largest_ratio = std::max(largest_ratio, ratio);
  }
  EXPECT_GT(largest_ratio, Rational(999'999, 1'000'000));  // the bound is attained
}

TEST(ToeplitzCodec, DecodesWhatItEncodes) {
  std::mt19937_64 random{3};
  constexpr std::size_t n = 2000;
  ToeplitzCodec codec{options(n)};
  // Mutant: the inverse of the coefficients before they were fixed is not that of C.
  std::vector<double> wrong;
  for (double b = 1; wrong.size() < n; b *= 1 - 1 / (2 * static_cast<double>(wrong.size()))) wrong.push_back(b);
  std::vector<double> released;
  std::int64_t sum = 0;
  double sum_of_sizes = 0;
  double error = 0;
  double wrong_error = 0;
  const Stream stream = random_stream(n, 1, std::int64_t{1} << 20, random);
  for (const auto& row : stream) {
    sum += row[0];
    const auto encoded = codec.encode(row);
    released.push_back(static_cast<double>(encoded[0]));
    sum_of_sizes += std::abs(released.back());
    const double exact = std::ldexp(static_cast<double>(sum), 30);
    error = std::max(error, std::abs(codec.decode(encoded)[0] - exact));
    double prefix = 0;
    for (std::size_t k = 0; k < released.size(); ++k) prefix += wrong[k] * released[released.size() - 1 - k];
    wrong_error = std::max(wrong_error, std::abs(prefix - exact));
  }
  EXPECT_LE(error, (2.0 * n + 32) * 0x1p-53 * sum_of_sizes);
  EXPECT_GT(error, 0);
  EXPECT_GT(wrong_error, 10 * error);
}

TEST(ToeplitzSum, IsOneGaussianRelease) {
  const ToeplitzSum sum{options(100)};
  EXPECT_EQ(sum.event(), gaussian(NoiseMultiplier{2}, Adjacency::replace_one));
  EXPECT_EQ(sum.steps(), Count{100});
  EXPECT_GE(sum.sigma(), 2 * sum.codec().encoded_sensitivity() * sum.codec().unit());
  EXPECT_LE(sum.sigma(), 2 * sum.codec().encoded_sensitivity() * sum.codec().unit() * (1 + 0x1p-50));
}

TEST(ToeplitzSum, RefusesWhatDoesNotFit) {
  auto wrong = options(1 << 14);
  wrong.grid.log2_step = -23;
  EXPECT_EQ(
      refusal_of_options(wrong),
      "headroom * sensitivity is 33554432 grid steps, must be at most 29737067 for 16384 steps of a Toeplitz factorization: take a coarser grid");
  wrong = options((1 << 24) + 1);
  EXPECT_EQ(refusal_of_options(wrong), "number of steps is 16777217, must be at most 2^24 for a factorized sum");
  wrong = options(10);
  wrong.grid.log2_step = 3;
  EXPECT_EQ(refusal_of_options(wrong), "headroom * sensitivity is 0.5 grid steps, must be from 1 to 2^60");
  wrong = options(1);
  wrong.multiplier = NoiseMultiplier{128};
  EXPECT_EQ(refusal_of_options(wrong),
            "sigma is 1.4411518807585587e+17 units of the encoded stream, must be at most 2^56: take a coarser grid");
}

TEST(ToeplitzSum, RefusesAPushTooManyOrOfAnotherShape) {
  ToeplitzSum sum{options(2, 2)};
  ReplayBits bits{4};
  const auto what = [&](const GridVector& contribution) -> std::string {
    try {
      static_cast<void>(sum.push(contribution, bits));
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  const Grid grid{.log2_step = -20};
  EXPECT_EQ(what({.grid = {.log2_step = -21}, .steps = {0, 0}}), "the contribution's grid has log2_step -21, must be the sum's -20");
  EXPECT_EQ(what({.grid = grid, .steps = {0}}), "the contribution has 1 coordinates, must have 2");
  EXPECT_EQ(what({.grid = grid, .steps = {0, 0}}), "accepted");
  EXPECT_EQ(what({.grid = grid, .steps = {INT64_MAX, INT64_MIN}}), "accepted");
  EXPECT_EQ(what({.grid = grid, .steps = {0, 0}}), "step is 3, must be at most the horizon 2");
}

TEST(ToeplitzSum, TakesNoMoreAfterAPushThatFailedHalfWay) {
  ToeplitzSum sum{options(5)};
  testing::FailingBits none{0};
  ReplayBits bits{5};
  const GridVector contribution{.grid = {.log2_step = -20}, .steps = {1}};
  EXPECT_THROW(static_cast<void>(sum.push(contribution, none)), Error);
  EXPECT_THROW(static_cast<void>(sum.push(contribution, bits)), Error);
}

}  // namespace
}  // namespace surety::mechanisms::toeplitz_sum_test
