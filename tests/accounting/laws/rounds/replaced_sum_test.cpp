// Curves of allocated epochs under replace-one by sums on grids, against quadrature and closed forms that share no code with them.
#include <surety/accounting/laws/rounds/replaced_sum.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/answers/asked.h>
#include <surety/accounting/answers/best.h>

#include <support/allocated_truth.h>

namespace surety::accounting::replaced_sum_test {
namespace {

using reference::Dealing;

Enclosure answer(const std::string& text, double delta, double width = 1e-4) {
  return epsilon(Pld{.width = width}, parse_event(text, Adjacency::replace_one), Delta{delta});
}

double truth_of(Dealing dealing, double multiplier, double epsilon) {
  return static_cast<double>(reference::replaced_delta(dealing, multiplier, epsilon));
}

// Also where nearly everything lies beyond the grid, since it was told that the curve is large, and on few points.
TEST(ReplacedSum, EnclosesTheCurveOfThreeRounds) {
  for (const double multiplier : {0.4, 0.8, 3.0}) {
    for (const double deviations : {0.0, 0.5, 2.0, 4.0}) {
      const double x = deviations / multiplier;
      const double truth = truth_of(Dealing::one_of_three, multiplier, x);
      const double error = multiplier > 0.5 ? 1e-6 : 5e-4;  // of the quadrature
      for (const double scale : {1e5, 1e-2 * truth}) {
        for (const double step : {0.5, 0.02}) {
          const double below = replaced_curve_below(3, multiplier, x, scale, step);
          const double above = replaced_curve_above(3, multiplier, x, scale, step);
          EXPECT_LE(below, truth * (1 + error)) << multiplier << " " << x << " " << scale << " " << step;
          EXPECT_GE(above, truth * (1 - error)) << multiplier << " " << x << " " << scale << " " << step;
          if (step < 0.1 && scale < 1) {
            EXPECT_LT(above / below, 1.01) << multiplier << " " << x;
          }
        }
      }
    }
  }
}

/// Three rounds by cubes of what is drawn: the record's round, and the two others.
double by_cubes(double multiplier, double x) {
  const double mu = 1 / multiplier;
  const auto density = [](double t) { return std::exp(-0.5 * t * t) / std::sqrt(2 * 3.14159265358979); };
  constexpr double step = 0.02;
  constexpr double wide = 0.2;
  constexpr int places = 25;
  double sum = 0;
  for (int i = -places; i <= places; ++i) {
    // The two others are alike.
    for (int j = -places; j <= i; ++j) {
      const double one = wide * i;
      const double other = wide * j;
      double inner = 0;
      for (double own = -2; own <= 8; own += step) {
        const double mean = mu * (mu + own);
        const double up = std::log1p(std::exp(mu * one - mean) + std::exp(mu * other - mean)) + mean;
        const double least = std::min({mu + own, one, other}) * mu;
        const double down = std::log(std::exp(least - mean) + std::exp(least - mu * one) + std::exp(least - mu * other)) - least;
        inner += density(own) * std::max(0.0, -std::expm1(x - (up - down)));
      }
      sum += (i == j ? 1 : 2) * density(one) * density(other) * inner;
    }
  }
  return sum * step * wide * wide;
}

// Where e^x, and a round's largest value, are beyond the square root of all that double holds.
TEST(ReplacedSum, OfLittleNoiseHasRoom) {
  constexpr double error = 2e-3;  // of the cubes, and less
  for (const auto& [multiplier, x] : {std::pair{0.0625, 330.0}, {0.0556, 390.0}}) {
    const double truth = by_cubes(multiplier, x);
    const double below = replaced_curve_below(3, multiplier, x, truth, 0.05);
    const double above = replaced_curve_above(3, multiplier, x, truth, 0.05);
    EXPECT_LE(below, truth * (1 + error)) << multiplier << " " << x;
    EXPECT_GE(above, truth * (1 - error)) << multiplier << " " << x;
    EXPECT_LT(above / below, 1.05) << multiplier << " " << x;
    const auto test = replaced_test(3, multiplier, x, truth, 0.05);
    EXPECT_GT(test.delta, 0.9 * truth) << multiplier << " " << x;
    for (const double y : {x - 3}) {
      const double line = test.delta - std::exp(x) * std::expm1(y - x) * test.other;
      EXPECT_LE(line, by_cubes(multiplier, y) * (1 + error)) << multiplier << " " << x << " " << y;
    }
  }
}

// The line of a test lies below the curve everywhere, and touches it nearly where the test was made.
TEST(ReplacedSum, GivesTestsBelowTheCurve) {
  constexpr double error = 1e-6;  // of the quadrature
  for (const double multiplier : {0.6, 2.0}) {
    for (const double deviations : {0.0, 1.0, 4.0}) {
      const double x = deviations / multiplier;
      for (const double step : {0.5, 0.02}) {
        const auto test = replaced_test(3, multiplier, x, 1e-3, step);
        EXPECT_LE(test.delta, replaced_curve_below(3, multiplier, x, 1e-3, step));
        for (const double shift : {-0.5, -0.05, 0.0, 0.05, 0.5}) {
          const double y = std::max(0.0, x + shift);
          const double truth = truth_of(Dealing::one_of_three, multiplier, y);
          const double line = test.delta - std::exp(x) * std::expm1(y - x) * test.other;
          EXPECT_LE(line, truth * (1 + error)) << multiplier << " " << x << " " << y << " " << step;
          if (step < 0.1 && std::abs(y - x) < 0.1) {
            EXPECT_GT(line, 0.9 * truth) << multiplier << " " << x << " " << y;
          }
        }
      }
    }
  }
}

// Of two rounds the curve is that of one Gaussian release; by sums, as if nothing were known of two, it is enclosed.
TEST(ReplacedSum, OfTwoRoundsIsAGaussianRelease) {
  for (const double multiplier : {0.2, 0.4, 0.8, 3.0}) {
    for (const double deviations : {0.0, 0.5, 2.0, 4.0}) {
      const double x = deviations / multiplier;
      const auto found = two_replaced_rounds(multiplier, x);
      const double error = multiplier > 0.3 ? 1e-9 : 1e-6;
      const double truth = truth_of(Dealing::one_of_two, multiplier, x);
      EXPECT_LE(found.lower, truth * (1 + error)) << multiplier << " " << x;
      EXPECT_GE(found.upper, truth * (1 - error)) << multiplier << " " << x;
      EXPECT_LT(found.width(), 1e-9 * truth + 1e-14);
      EXPECT_GE(found.upper, truth_of(Dealing::one_of_three, multiplier, x) * (1 - 5e-4));
      EXPECT_EQ(replaced_curve_above(2, multiplier, x, truth, 0.1), found.upper);
      EXPECT_EQ(replaced_curve_below(2, multiplier, x, truth, 0.1), found.lower);
    }
  }
  const auto two = answer("allocated(2, record_sum(0.5))", 1e-6);
  const auto one = answer(fmt::format("record_sum({:.17g})", std::sqrt(0.5)), 1e-6);
  EXPECT_NEAR(two.lower, one.lower, 1e-4);
  EXPECT_NEAR(two.upper, one.upper, 1e-4);
  const auto composed = answer("repeat(3, allocated(2, record_sum(0.5)))", 1e-6);
  const auto plain = answer(fmt::format("repeat(3, record_sum({:.17g}))", std::sqrt(0.5)), 1e-6);
  EXPECT_NEAR(composed.lower, plain.lower, 1e-4);
  EXPECT_NEAR(composed.upper, plain.upper, 1e-4);
}

// Values that two other programs enclose, one by simulation, that of a Gaussian release; also where the grid ends early.
TEST(ReplacedSum, EnclosesManyRounds) {
  struct Case {
    std::uint64_t rounds;
    double multiplier;
    double x;
    double least;
    double most;
  };
  for (const auto& [rounds, multiplier, x, least, most] :
       {Case{100, 0.8, 1.9837, 9.99901e-7, 1.0000366e-6}, Case{200, 0.7, 1.6659, 9.9995e-6, 1.004e-5},
        Case{100, 0.5, 4.566, 9.9991e-5, 1.03e-4}, Case{100, 0.3, 16, 1.044e-5, 1.092e-5}}) {
    const double below = replaced_curve_below(rounds, multiplier, x, least, 0.04);
    const double above = replaced_curve_above(rounds, multiplier, x, least, 0.04);
    EXPECT_LE(below, most);
    EXPECT_GE(above, least);
    EXPECT_LT(above / below, 1.03);
    EXPECT_LE(replaced_curve_below(rounds, multiplier, x, 1e5, 0.2), most);
    EXPECT_GE(replaced_curve_above(rounds, multiplier, x, 1e5, 0.2), least);
  }
}

// The more rounds the less it costs, whatever sum of powers of two they are.
TEST(ReplacedSum, FallsWithTheRounds) {
  double before = two_replaced_rounds(0.35, 12).lower;
  for (std::uint64_t rounds = 3; rounds < 20; ++rounds) {
    const double below = replaced_curve_below(rounds, 0.35, 12, 1e-4, 0.1);
    const double above = replaced_curve_above(rounds, 0.35, 12, 1e-4, 0.1);
    EXPECT_LT(above, before) << rounds;
    EXPECT_LT(above / below, 1.03) << rounds;
    before = below;
  }
}

// Too little noise for Fourier sums: alone, beside another release that hardly tells anything, and in two of three rounds.
TEST(ReplacedSum, Answers) {
  const auto at = [](const char* text, double epsilon) {
    return delta(Pld{.width = 1e-2}, parse_event(text, Adjacency::replace_one), Epsilon{epsilon});
  };
  const double truth = truth_of(Dealing::one_of_three, 0.5, 5);
  const auto three = at("allocated(3, record_sum(0.5))", 5);
  EXPECT_LE(three.lower, truth * (1 + 1e-3));
  EXPECT_GE(three.upper, truth * (1 - 1e-3));
  EXPECT_LT(three.width(), 0.02 * truth);
  const double two = truth_of(Dealing::two_of_three, 0.8, 3);
  const auto found = at("allocated(3, 2, record_sum(0.8))", 3);
  EXPECT_LE(found.lower, two * (1 + 1e-5));
  EXPECT_GE(found.upper, two * (1 - 1e-5));
  EXPECT_GT(found.lower, 0.8 * two);
  const auto hundred = answer("allocated(100, record_sum(0.5))", 1e-4, 1e-2);
  EXPECT_LT(hundred.lower, 4.5661);
  EXPECT_GT(hundred.upper, 4.5659);
  for (const auto* text : {"allocated(10, record_sum(0.3))", "allocated(1000, record_sum(0.3))"}) {
    const auto narrow = answer(text, 1e-5);
    EXPECT_LT(narrow.width(), 1e-3 * narrow.upper) << text;
  }
  const auto beside = answer("compose(allocated(3, record_sum(0.35)), gaussian(2))", 1e-5, 1e-3);
  EXPECT_LT(beside.width(), 1e-2 * beside.upper);
  // Two rounds are a bound at every noise and every delta.
  EXPECT_LE(answer("allocated(100, record_sum(0.05))", 1e-5, 1).upper, answer("allocated(2, record_sum(0.05))", 1e-5).upper * 1.01);
}

}  // namespace
}  // namespace surety::accounting::replaced_sum_test
