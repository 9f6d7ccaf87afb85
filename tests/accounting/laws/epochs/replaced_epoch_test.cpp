// Allocated epochs under replace-one, against two rounds by quadrature that shares no code with the transforms.
#include <surety/accounting/laws/epochs/replaced_epoch.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include <surety/accounting/answers/asked.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/laws/rounds/allocated_sum.h>
#include <surety/accounting/laws/rounds/replaced_sum.h>
#include <surety/base/text/error.h>

#include <support/allocated_truth.h>

namespace surety::accounting::replaced_epoch_test {
namespace {

using reference::Dealing;

/// E (A1 + A2 - a (B1 + B2))_+ / 2, a = e^epsilon: the second round in closed form, as A2 - a B2 rises in its coordinate; its place where the
/// sum is 0 solves a quadratic.
double two_rounds(double epsilon, double multiplier) {
  const long double mu = 1 / static_cast<long double>(multiplier);
  const long double a = std::exp(static_cast<long double>(epsilon));
  const long double e = std::exp(-mu * mu / 2);
  const auto tail = [](long double x) { return 0.5L * std::erfc(x * 0.707106781186547524400844362104849039L); };
  constexpr long double h = 0.01L;
  long double sum = 0;
  for (long double g = -13 - mu; g <= 13 + mu; g += h) {
    const long double first = e * (std::exp(mu * g) - a * std::exp(-mu * g));
    const long double root = std::sqrt(first * first + 4 * e * e * a);
    const long double v = first > 0 ? 2 * a * e / (first + root) : (root - first) / (2 * e);
    const long double from = std::log(v) / mu;
    sum += h * std::exp(-g * g / 2) * (first * tail(from) + tail(from - mu) - a * tail(from + mu)) / 2;
  }
  return static_cast<double>(sum * 0.39894228040143267793994605993438187L);
}

Enclosure answer(const std::string& text, double delta, double width = 1e-6) {
  Pld accountant;
  accountant.width = width;
  return epsilon(accountant, parse_event(text, Adjacency::replace_one), Delta{delta});
}

TEST(ReplacedEpoch, CostsWhatTwoRoundsCost) {
  for (const double multiplier : {2.0, 3.0, 8.0}) {
    const auto epoch = replaced_epoch(2, multiplier);
    for (const double epsilon : {0.0, 0.3 / multiplier, 1 / multiplier, 3 / multiplier}) {
      const auto found = epoch->beyond(epsilon);
      const double truth = two_rounds(epsilon, multiplier);
      EXPECT_LE(std::abs(found.delta - truth), found.delta_error + 1e-14) << multiplier << " " << epsilon;
      EXPECT_LT(found.delta_error, 1e-11) << multiplier << " " << epsilon;
      // What is beyond under the other law is minus the slope by e^epsilon.
      const double step = 1e-4 / multiplier;
      const double slope =
          (two_rounds(epsilon + step, multiplier) - two_rounds(epsilon - step, multiplier)) / (2 * std::exp(epsilon) * std::sinh(step));
      EXPECT_NEAR(found.other, -slope, 1e-6);
      EXPECT_NEAR(found.p, found.delta + std::exp(epsilon) * found.other, 1e-13);
    }
  }
}

// Both laws mirror each other: what is above 0 under one is below it under the other.
TEST(ReplacedEpoch, IsItsOwnReverse) {
  const auto found = replaced_epoch(37, 1.2)->beyond(0);
  EXPECT_NEAR(found.p + found.other, 1, 2 * (found.p_error + found.other_error) + 1e-13);
  EXPECT_LT(found.p_error + found.other_error, 1e-11);
}

// Multiples of one frequency would be tens of thousands; they say 3.2349432e-6 under P and 1.3288407e-7 under P'.
TEST(ReplacedEpoch, HasDigitsWhereThePeriodIsLong) {
  const auto found = replaced_epoch(22, 0.893)->beyond(3);
  EXPECT_LT(found.nodes, 1000);
  EXPECT_LT(found.p_error, 1e-14);
  EXPECT_NEAR(found.p, 3.23494320801477667e-6, 2e-13);
  EXPECT_NEAR(found.other, 1.328840728475e-7, 2e-14);
  EXPECT_NEAR(found.delta, found.p - std::exp(3) * found.other, found.delta_error + 1e-19);
}

TEST(ReplacedEpoch, StatesWhatItLeavesOut) {
  const auto found = replaced_epoch(100, 1)->beyond(0.3);
  EXPECT_GT(found.line, 0);
  EXPECT_LT(found.line, 1e-13);
  // Of images 2 (1 + a) e^-34 in the modulus, and 4 e^-34 in the sign, a times.
  const double images = (2 + 6 * std::exp(0.3)) * std::exp(-34);
  EXPECT_GT(found.alias, images * (1 - 1e-14));
  EXPECT_LT(found.alias, images * (1 + 1e-14));
}

/// The curve of cells whose losses are all on their places.
double curve(const LossCells& found, double epsilon, bool from_above) {
  long double delta = from_above ? found.cut_above : 0;
  for (const auto& cell : found.cells) {
    const double below = epsilon - found.step * static_cast<double>(cell.index);
    delta += std::max(0.0, cell.mass * (1 - (1 - cell.excess) * std::exp(below)));
  }
  return static_cast<double>(delta);
}

TEST(ReplacedEpoch, GivesLawsFromAboveAndBelow) {
  const auto epoch = replaced_epoch(50, 2);
  const auto above = epoch->cells(true, 1e-3);
  const auto below = epoch->cells(false, 1e-3);
  for (const double epsilon : {-0.2, 0.0, 0.05, 0.2, 0.4}) {
    // Of what lies below 0 by the mirror image.
    const double truth =
        epsilon < 0 ? 1 - std::exp(epsilon) + std::exp(epsilon) * epoch->beyond(-epsilon).delta : epoch->beyond(epsilon).delta;
    EXPECT_GE(curve(above, epsilon, true), truth * (1 - 1e-10)) << epsilon;
    EXPECT_LE(curve(below, epsilon, false), truth * (1 + 1e-10)) << epsilon;
    EXPECT_LT(curve(above, epsilon, true) - curve(below, epsilon, false), 2e-3 * truth + 1e-8) << epsilon;
  }
}

TEST(ReplacedEpoch, Answers) {
  const auto found = answer("allocated(100, record_sum(1))", 1e-5);
  EXPECT_LT(found.lower, 0.8253655);
  EXPECT_GT(found.upper, 0.8253645);
  EXPECT_LT(found.width(), 2e-6);
  const auto at = delta(Pld{}, parse_event("allocated(2, record_sum(3))", Adjacency::replace_one), Epsilon{0.4});
  EXPECT_LE(at.lower, two_rounds(0.4, 3) + 1e-14);
  EXPECT_GE(at.upper, two_rounds(0.4, 3) - 1e-14);
  // Both data sets hold the record, at twice the distance: more than without it, less than where the round is known.
  EXPECT_GT(found.lower, 0.6209396);
  EXPECT_LT(found.upper, answer("record_sum(1)", 1e-5).lower);
  // Epochs compose, also with other releases.
  const auto one = answer("allocated(50, record_sum(2))", 1e-5);
  const auto four = answer("compose(repeat(3, allocated(50, record_sum(2))), record_sum(40))", 1e-5, 1e-3);
  EXPECT_GT(four.lower, one.upper);
  EXPECT_LT(four.upper, 4 * one.upper);
  EXPECT_LT(four.width(), 0.01);
}

double truth_of(Dealing dealing, double multiplier, double epsilon) {
  return static_cast<double>(reference::replaced_delta(dealing, multiplier, epsilon));
}

// Twice as far out it has no digits. The sums share no transform with what answers.
TEST(ReplacedEpoch, IsFollowedAsFarAsItHasDigits) {
  constexpr double multiplier = 0.54;
  constexpr double at = 1e-6;
  const auto found = answer("allocated(1370, record_sum(0.54))", at, 1e-4);
  EXPECT_GE(replaced_curve_above(1370, multiplier, found.lower, at, 0.05), at);
  EXPECT_LE(replaced_curve_below(1370, multiplier, found.upper, at, 0.05), at);
  EXPECT_LE(found.width(), 1e-4);
}

// By frequencies and by sums.
TEST(ReplacedEpoch, LiesOnTheSameSideOfALevelAsItsCurve) {
  struct Case {
    const char* text;
    double at;
  };
  for (const auto& [text, at] : {Case{"allocated(100, record_sum(0.9))", 1e-6}, Case{"allocated(100, record_sum(0.5))", 1e-4}}) {
    const Event event = parse_event(text, Adjacency::replace_one);
    const auto fine = epsilon(Pld{}, event, Delta{at});
    const double delta_there = delta(Pld{}, event, Epsilon{fine.upper}).upper;
    for (const double share : {0.3, 0.97, 1.03, 4.0}) {
      const auto found = epsilon(Pld{.upper_only = true, .level = share * fine.upper}, event, Delta{at});
      EXPECT_GE(found.upper, fine.lower) << text << share;
      EXPECT_LE(found.lower, fine.upper) << text << share;
      EXPECT_EQ(found.upper <= share * fine.upper, share > 1) << text << share;
      EXPECT_NEAR(found.upper, fine.upper, (1e-2 + 0.2 * std::abs(share - 1)) * fine.upper) << text << share;
      const auto of_delta = delta(Pld{.upper_only = true, .level = share * delta_there}, event, Epsilon{fine.upper});
      EXPECT_GE(of_delta.upper, 0.98 * delta_there) << text << share;
      EXPECT_EQ(of_delta.upper <= share * delta_there, share > 1) << text << share;
    }
    EXPECT_EQ(epsilon(Pld{.upper_only = true, .level = fine.upper}, event, Delta{0.9}).upper, 0) << text;
  }
}

TEST(SumOfDifferences, LiesBelowTheCurve) {
  for (const double multiplier : {0.5, 2.0}) {
    for (const double deviations : {0.1, 1.0, 4.0}) {
      const double epsilon = deviations / multiplier;
      const auto below = [&](std::uint64_t rounds, std::uint64_t times, Dealing dealing) {
        const double truth = truth_of(dealing, multiplier, epsilon);
        double best = 0;
        for (const double rate : {0.05, 0.5}) {
          const auto law = sum_of_differences(multiplier, rounds, in_so_many_rounds(times), rate, 2e-5);
          double found = 0;
          for (const auto& atom : law.atoms) found += atom.mass * std::max(0.0, -std::expm1(epsilon - atom.loss));
          EXPECT_LE(found, truth * (1 + 1e-5)) << multiplier << " " << epsilon << " " << rounds << " " << rate;
          best = std::max(best, found);
        }
        EXPECT_GT(best, 0.45 * truth) << multiplier << " " << epsilon << " " << rounds;
      };
      below(2, 1, Dealing::one_of_two);
      below(3, 2, Dealing::two_of_three);
    }
  }
}

TEST(ReplacedEpoch, RefusesWhatItHasNoTheoremFor) {
  const auto refuses = [](const char* text, double delta) { EXPECT_THROW(static_cast<void>(answer(text, delta)), Error) << text; };
  refuses("users(2, allocated(100, record_sum(1)))", 1e-5);
  refuses("allocated(100, gaussian(1))", 1e-5);
}

}  // namespace
}  // namespace surety::accounting::replaced_epoch_test
