// The law of a sum of replaced rounds on a grid, against quadrature of two and three rounds and values of other programs.
#include <surety/accounting/laws/pairs/replaced_sum.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include <support/allocated_truth.h>
#include <support/gaussian_truth.h>

namespace surety::accounting::replaced_sum_test {
namespace {

using reference::Dealing;

// Also where nearly everything lies outside the grid and its window, since it was told that the curve is large, and on few points.
TEST(ReplacedSum, EnclosesTheCurveOfTwoAndThreeRounds) {
  struct Case {
    Dealing dealing;
    std::uint64_t rounds;
  };
  for (const auto& [dealing, rounds] : {Case{Dealing::one_of_two, 2}, Case{Dealing::one_of_three, 3}}) {
    for (const double multiplier : {0.4, 0.8, 3.0}) {
      for (const double deviations : {0.0, 0.5, 2.0, 4.0}) {
        const double epsilon = deviations / multiplier;
        const double truth = static_cast<double>(reference::replaced_delta(dealing, multiplier, epsilon));
        const double error = dealing == Dealing::one_of_two ? 1e-9 : multiplier > 0.5 ? 1e-6 : 5e-4;  // of the quadrature
        for (const double scale : {1e4, 1e-2 * truth}) {
          for (const std::size_t size : {std::size_t{1} << 10, std::size_t{1} << 15}) {
            const auto found = replaced_curve(rounds, multiplier, epsilon, scale, size);
            EXPECT_LE(found.lower, truth * (1 + error)) << rounds << " " << multiplier << " " << epsilon << " " << scale << " " << size;
            EXPECT_GE(found.upper, truth * (1 - error)) << rounds << " " << multiplier << " " << epsilon << " " << scale << " " << size;
            EXPECT_GE(one_replaced_round(multiplier, epsilon), truth);
            const double above = replaced_curve_above(rounds, multiplier, epsilon, scale, size);
            EXPECT_GE(above, truth * (1 - error)) << rounds << " " << multiplier << " " << epsilon << " " << scale << " " << size;
            EXPECT_LE(above, found.upper * (1 + 1e-6)) << rounds << " " << multiplier << " " << epsilon << " " << scale << " " << size;
            if (size > 1024 && scale < 1 && multiplier > 0.5) {
              EXPECT_LT(found.upper / found.lower, 1.01) << rounds << " " << multiplier << " " << epsilon;
            }
          }
        }
      }
    }
  }
}

// Values that two other programs enclose; also where the grid ends early.
TEST(ReplacedSum, EnclosesManyRounds) {
  struct Case {
    std::uint64_t rounds;
    double multiplier;
    double epsilon;
    double least;
    double most;
  };
  for (const auto& [rounds, multiplier, epsilon, least, most] :
       {Case{100, 0.8, 1.9837, 9.99901e-7, 1.0000366e-6}, Case{200, 0.7, 1.6659, 9.9995e-6, 1.004e-5},
        Case{100, 0.5, 4.566, 9.9991e-5, 1.03e-4}}) {
    const auto found = replaced_curve(rounds, multiplier, epsilon, least, std::size_t{1} << 15);
    EXPECT_LE(found.lower, most);
    EXPECT_GE(found.upper, least);
    EXPECT_LT(found.upper / found.lower, 1.02);
    const auto cut = replaced_curve(rounds, multiplier, epsilon, 1e4, std::size_t{1} << 15);
    EXPECT_LE(cut.lower, most);
    EXPECT_GE(cut.upper, least);
  }
}

TEST(ReplacedSum, OfOneRoundIsAGaussianReleaseOfTwiceTheBound) {
  for (const double multiplier : {0.3, 1.0, 7.0, 300.0}) {
    for (const double deviations : {0.0, 0.3, 2.0, 9.0}) {
      const double mu = 2 / multiplier;
      const double x = mu * (deviations + 0.5 * mu);
      const double truth =
          reference::gaussian_delta(reference::Real{2.0} / reference::Real{multiplier}, reference::Real{x}).nearest_double();
      const double found = one_replaced_round(multiplier, x);
      EXPECT_GE(found, truth) << multiplier << " " << x;
      EXPECT_LE(found, truth * (1 + 1e-9 * (1 + x)) + 1e-13 * std::erfc(0.7 * deviations)) << multiplier << " " << x;
    }
  }
}

// Whoever knows that a record is in one of more rounds knows less; and the curve falls in x.
TEST(ReplacedSum, FallsWithTheNumberOfRoundsAndWithTheLoss) {
  constexpr double multiplier = 0.7;
  constexpr std::size_t size = std::size_t{1} << 13;
  double before = 1;
  for (const std::uint64_t rounds : {2, 3, 5, 9, 30}) {
    double nearer = 1;
    for (const double x : {0.3, 1.2, 2.0}) {
      const auto found = replaced_curve(rounds, multiplier, x, 1e-3, size);
      EXPECT_LE(found.lower, found.upper) << rounds << " " << x;
      EXPECT_LE(found.upper, one_replaced_round(multiplier, x)) << rounds << " " << x;
      EXPECT_LT(found.lower, nearer) << rounds << " " << x;
      nearer = found.upper;
    }
    const auto here = replaced_curve(rounds, multiplier, 1.2, 1e-3, size);
    EXPECT_LT(here.lower, before) << rounds;
    before = here.upper;
  }
  EXPECT_LT(before, 0.05);
}

// Where a grid has no room or no digits, one round answers.
TEST(ReplacedSum, IsOneRoundWhereItHasNoGrid) {
  for (const auto& [rounds, multiplier, x, scale] : {std::tuple{std::uint64_t{1} << 30, 1.0, 0.5, 1e-3},
                                                     {std::uint64_t{4}, 0.05, 3.0, 1e-3},
                                                     {std::uint64_t{4}, 1.0, 400.0, 1e-3},
                                                     {std::uint64_t{4}, 1.0, 0.5, 1e-70},
                                                     {std::uint64_t{1} << 12, 1.0, 0.5, 1e-3}}) {
    const auto found = replaced_curve(rounds, multiplier, x, scale, std::size_t{1} << 10);
    EXPECT_EQ(found.lower, 0) << rounds << " " << multiplier << " " << x;
    EXPECT_EQ(found.upper, one_replaced_round(multiplier, x)) << rounds << " " << multiplier << " " << x;
    EXPECT_EQ(replaced_curve_above(rounds, multiplier, x, scale, std::size_t{1} << 10), found.upper);
  }
}

}  // namespace
}  // namespace surety::accounting::replaced_sum_test
