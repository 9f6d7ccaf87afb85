// Likelihood ratios on a grid, against quadrature of epochs of two and three rounds that shares no code with them, far into the tail.
#include <surety/accounting/laws/epochs/ratio_law.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/answers/asked.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/laws/rounds/allocated_sum.h>
#include <surety/accounting/laws/rounds/shuffled_epoch.h>
#include <surety/base/numbers/ball.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/text/error.h>

#include <support/allocated_truth.h>

namespace surety::accounting::ratio_law_test {
namespace {

using laws::allocated_ratio;
using laws::allocated_users_ratio;
using laws::RatioLaw;
using reference::Dealing;

struct Read {
  double delta;
  double p;  // mass under P, with what is cut
};
/// The curve of cells at epsilon, each cell in one place: from above with its errors, from below without them.
Read read(const LossCells& found, double epsilon, bool from_above) {
  long double delta = from_above ? found.cut_above : 0;
  long double p = found.cut_above;
  for (const auto& cell : found.cells) {
    const long double mass = cell.mass * std::exp(static_cast<long double>(cell.log_scale));
    const long double other =
        mass * (1 - static_cast<long double>(cell.excess)) * std::exp(-found.step * static_cast<long double>(cell.index));
    p += mass;
    delta += std::max(0.0L, mass - std::exp(static_cast<long double>(epsilon)) * other);
    if (from_above && static_cast<double>(cell.index) * found.step > epsilon)
      delta += mass * static_cast<long double>(cell.mass_error + found.loss_error);
  }
  return {static_cast<double>(delta), static_cast<double>(p)};
}
/// The larger of both directions.
double curve(const RatioLaw& law, double epsilon, bool from_above) {
  return std::max(read(law.cells(false), epsilon, from_above).delta, read(law.cells(true), epsilon, from_above).delta);
}

constexpr double cut = -285;

TEST(RatioLaw, EnclosesTheCurveOfTwoRoundsToItsFarTail) {
  for (const double multiplier : {0.25, 0.6, 1.0, 4.0}) {
    const auto above = allocated_ratio(RatioLaw::Bound::above, multiplier, 2, 0.02 / multiplier, cut);
    const auto below = allocated_ratio(RatioLaw::Bound::below, multiplier, 2, 0.02 / multiplier, cut);
    // The density of losses is some e^-(epsilon multiplier)^2 / 2, so the last delta is about 1e-87.
    for (const double deviations : {0.0, 0.5, 2.0, 6.0, 12.0, 18.0}) {
      const double epsilon = deviations / multiplier;
      const auto truth = static_cast<double>(reference::allocated_delta(Dealing::one_of_two, multiplier, epsilon));
      const double upper = curve(above, epsilon, true);
      const double lower = curve(below, epsilon, false);
      EXPECT_LE(lower, truth * (1 + 1e-7)) << multiplier << " " << epsilon << " " << lower / truth - 1;
      EXPECT_GE(upper, truth * (1 - 1e-7)) << multiplier << " " << epsilon;
      EXPECT_LT(upper / lower - 1, deviations < 7 ? 0.02 : 0.1) << multiplier << " " << epsilon;
    }
  }
}

TEST(RatioLaw, EnclosesTheCurveOfThreeRounds) {
  for (const double multiplier : {0.5, 2.0}) {
    const auto above = allocated_ratio(RatioLaw::Bound::above, multiplier, 3, 0.02, -60);
    const auto below = allocated_ratio(RatioLaw::Bound::below, multiplier, 3, 0.02, -60);
    const double epsilon = 1 / multiplier;
    const auto truth = static_cast<double>(reference::allocated_delta(Dealing::one_of_three, multiplier, epsilon, 0.2L));
    EXPECT_LE(curve(below, epsilon, false), truth * (1 + 1e-5));
    EXPECT_GE(curve(above, epsilon, true), truth * (1 - 1e-5));
  }
}

// Spreading and merging keep masses and means, and cost the square of the step: an error of the first order would not fall fourfold.
TEST(RatioLaw, KeepsMassAndMeanAndConvergesQuadratically) {
  for (const auto bound : {RatioLaw::Bound::above, RatioLaw::Bound::below}) {
    const bool from_above = bound == RatioLaw::Bound::above;
    std::array<double, 3> off{};
    for (std::size_t i = 0; i < off.size(); ++i) {
      const auto law = allocated_ratio(bound, 1, 37, 0.04 / static_cast<double>(1U << i), -80);
      // A grid point of all three.
      for (const bool reversed : {false, true}) EXPECT_NEAR(read(law.cells(reversed), 0.48, from_above).p, 1, 1e-11);
      off[i] = read(law.cells(false), 0.48, from_above).delta;
    }
    const double truth = off[2] + (off[2] - off[1]) / 3;
    EXPECT_NEAR((off[0] - truth) / (off[1] - truth), 4, 0.5) << from_above;
    EXPECT_GT((off[1] - truth) * (from_above ? 1 : -1), 0) << from_above;
  }
}

// Nothing is lost: what is cut is at ratio 0 or at infinity, with its mass.
TEST(RatioLaw, CountsWhatItCuts) {
  for (const std::uint64_t rounds : {2U, 37U}) {
    const auto law = allocated_ratio(RatioLaw::Bound::above, 1, rounds, 0.04, -6);
    for (const bool reversed : {false, true}) {
      EXPECT_GT(law.cells(reversed).cut_above, reversed ? 1e-12 : 1e-5);
      EXPECT_GT(read(law.cells(reversed), 0.5, true).p, 1 - 1e-9);
      EXPECT_LT(read(law.cells(reversed), 0.5, true).p, 1.2);
    }
  }
}

// From below, what is cut is in no cell, and counted: whatever is missing of either mass is at most that.
TEST(RatioLaw, CountsWhatItDrops) {
  for (const std::uint64_t rounds : {2U, 3U, 37U}) {
    const auto law = allocated_ratio(RatioLaw::Bound::below, 1, rounds, 0.04, -6);
    for (const bool reversed : {false, true}) {
      const auto found = law.cells(reversed);
      double least = 0;
      double most = 0;
      for (const auto& cell : found.cells) {
        const double mass = cell.mass * std::exp(cell.log_scale);
        least += mass * (1 - cell.mass_error);
        most += mass * (1 + cell.mass_error);
      }
      EXPECT_LT(least, 1 - 1e-6);
      EXPECT_GE(most + static_cast<double>(found.cut_above), 1);
    }
  }
}

// 100 rounds by the density of their ratio; and their tail, in nine digits.
TEST(RatioLaw, AgreesWithTheDensity) {
  const double truth = 9.688358636665721e-4;
  const double upper = read(allocated_ratio(RatioLaw::Bound::above, 1, 100, 0.01, -60).cells(false), 0.3, true).delta;
  const double lower = read(allocated_ratio(RatioLaw::Bound::below, 1, 100, 0.01, -60).cells(false), 0.3, false).delta;
  EXPECT_LE(lower, truth);
  EXPECT_GE(upper, truth);
  EXPECT_LT(upper - lower, 0.01 * truth);
  const double far_upper = read(allocated_ratio(RatioLaw::Bound::above, 1, 100, 0.01, cut).cells(false), 18, true).delta;
  const double far_lower = read(allocated_ratio(RatioLaw::Bound::below, 1, 100, 0.01, cut).cells(false), 18, false).delta;
  EXPECT_LT(far_lower, far_upper);
  EXPECT_LT(far_upper / far_lower - 1, 1e-7);
  EXPECT_NEAR(far_lower, 6.0765787e-110, 1e-117);
}

// Three times a ratio has three times the mass under P, of what is cut as well; between two points of the grid, at no other mean.
TEST(RatioLaw, IsMultipliedByANumber) {
  for (const double number : {3.0, 0.2}) {
    const auto law = allocated_ratio(RatioLaw::Bound::above, 1, 37, 0.04, -6);
    const auto found = law.times(Ball{Exact{number}});
    EXPECT_GT(law.cells(false).cut_above, 1e-5);
    EXPECT_NEAR(read(found.cells(false), 0.5, true).p, number * read(law.cells(false), 0.5, true).p, 1e-9);
    EXPECT_NEAR(static_cast<double>(found.cells(false).cut_above / law.cells(false).cut_above), number, 1e-12);
    EXPECT_NEAR(read(found.cells(true), 0.5, true).p, read(law.cells(true), 0.5, true).p, 1e-12);
    // It is a spread of the product, and no more than a cell of it.
    const double at = 0.5 + std::log(number);
    EXPECT_GE(read(found.cells(false), at, true).delta, number * read(law.cells(false), 0.5, true).delta * (1 - 1e-9));
    EXPECT_LT(read(found.cells(false), at, true).delta, number * read(law.cells(false), 0.46, true).delta);
  }
}

// Both in one round cost as much as half the noise; otherwise two different rounds are told apart.
TEST(RatioLaw, BoundsAUsersRecordsFromAbove) {
  for (const double multiplier : {0.5, 1.0, 3.0}) {
    const auto law = allocated_users_ratio(multiplier, 2, 2, 0.02, -100);
    for (const double epsilon : {0.0, 0.5 / multiplier, 2 / multiplier}) {
      const auto truth = static_cast<double>(reference::allocated_delta(Dealing::two_records_in_two, multiplier, epsilon));
      EXPECT_GE(curve(law, epsilon, true), truth * (1 - 2e-9)) << multiplier << " " << epsilon;
      EXPECT_LT(curve(law, epsilon, true), 1.2 * truth) << multiplier << " " << epsilon;
    }
    EXPECT_NEAR(read(law.cells(false), 0.5, true).p, 1, 1e-9);
  }
  // Whatever is told without the user, both directions are bounds and nothing is lost; in the tail it counts.
  for (const double multiplier : {0.5, 1.0}) {
    for (const double tilt : {0.5, 1.0, 4.0}) {
      const auto law = allocated_users_ratio(multiplier, 2, 2, 0.02, -100, tilt);
      for (const double epsilon : {0.0, 0.5 / multiplier, 2 / multiplier, 8 / multiplier}) {
        const auto truth = static_cast<double>(reference::allocated_delta(Dealing::two_records_in_two, multiplier, epsilon));
        EXPECT_GE(curve(law, epsilon, true), truth * (1 - 2e-9)) << multiplier << " " << epsilon << " " << tilt;
      }
      EXPECT_NEAR(read(law.cells(false), 0.5, true).p, 1, 1e-9);
      EXPECT_NEAR(read(law.cells(true), 0.5, true).p, 1, 1e-9);
    }
  }
  // The mixture's weights are probabilities, whatever the number of records.
  for (const std::uint64_t records : {3U, 4U})
    EXPECT_NEAR(read(allocated_users_ratio(2, records, 5, 0.05, -60).cells(true), 0.5, true).p, 1, 1e-9);
}

Enclosure answer(const std::string& text, double delta, double width = 1e-3) {
  Pld accountant;
  accountant.width = width;
  return epsilon(accountant, parse_event(text, Adjacency::add_or_remove_one), Delta{delta});
}

TEST(AllocatedRatio, AnswersLittleNoiseAndFarTails) {
  struct Case {
    double multiplier;
    double target;
  };
  for (const auto& [multiplier, target] : {Case{0.1, 1e-5}, Case{0.3, 1e-30}, Case{1, 1e-5}, Case{1, 1e-80}}) {
    const auto found = answer(fmt::format("allocated(2, gaussian({}))", multiplier), target, 1e-2);
    EXPECT_LT(found.width(), 2e-2) << multiplier << " " << target;
    const auto at = [noise = multiplier](double epsilon) {
      return static_cast<double>(reference::allocated_delta(Dealing::one_of_two, noise, epsilon));
    };
    EXPECT_LE(at(found.upper), target * (1 + 2e-9)) << multiplier << " " << target;
    EXPECT_GE(at(found.lower), target * (1 - 2e-9)) << multiplier << " " << target;
  }
  // Epochs compose, also with what is known by its density.
  const auto one = answer("allocated(10, gaussian(0.4))", 1e-5, 1e-2);
  const auto three = answer("compose(allocated(10, gaussian(0.4)), allocated(100, gaussian(2)), gaussian(5))", 1e-5, 1e-2);
  EXPECT_LT(one.width(), 2e-2);
  EXPECT_LT(three.width(), 2e-2);
  EXPECT_GT(three.lower, one.upper);
}

TEST(AllocatedRatio, EnclosesSeveralOfTheRounds) {
  for (const double multiplier : {0.5, 2.0}) {
    const Event event = parse_event(fmt::format("allocated(3, 2, gaussian({}))", multiplier), Adjacency::zero_out);
    for (const double epsilon : {0.1 / multiplier, 1 / multiplier}) {
      const auto truth = static_cast<double>(reference::allocated_delta(Dealing::two_of_three, multiplier, epsilon, 0.2L));
      const auto found = delta(Pld{.width = 1e-2}, event, Epsilon{epsilon});
      EXPECT_LE(found.lower, truth * (1 + 1e-5));
      EXPECT_GE(found.upper, truth * (1 - 1e-5));
      EXPECT_GT(found.lower, 0.3 * truth);
      EXPECT_LT(found.upper, 2 * truth);
    }
  }
  const auto all = answer("allocated(5, 5, gaussian(3))", 1e-5);
  const auto repeated = answer("repeat(5, gaussian(3))", 1e-5);
  EXPECT_EQ(all.lower, repeated.lower);
  EXPECT_EQ(all.upper, repeated.upper);
  // More of the rounds cost more, and less than each of them alone.
  const auto one = answer("allocated(60, gaussian(2))", 1e-5);
  const auto two = answer("allocated(60, 2, gaussian(2))", 1e-5, 1e-2);
  const auto blocks = answer("repeat(2, allocated(30, gaussian(2)))", 1e-5);
  EXPECT_GT(two.upper, one.upper);
  EXPECT_LE(two.upper, blocks.upper * 1.01);
  EXPECT_GT(two.lower, 0.5 * two.upper);
}

TEST(AllocatedRatio, EnclosesUsersWithSeveralRecords) {
  for (const double multiplier : {0.7, 3.0}) {
    const Event event = parse_event(fmt::format("users(2, allocated(2, gaussian({})))", multiplier), Adjacency::add_or_remove_one);
    for (const double epsilon : {0.2 / multiplier, 2 / multiplier}) {
      const auto truth = static_cast<double>(reference::allocated_delta(Dealing::two_records_in_two, multiplier, epsilon));
      const auto found = delta(Pld{.width = 1e-2}, event, Epsilon{epsilon});
      EXPECT_LE(found.lower, truth * (1 + 2e-9));
      EXPECT_GE(found.upper, truth * (1 - 2e-9));
      EXPECT_GT(found.lower, 0.3 * truth);
      EXPECT_LT(found.upper, 1.3 * truth);
    }
  }
  // Where few records share a round and that costs much, it is told without the user as well.
  const auto rare = answer("users(2, allocated(100, gaussian(0.57)))", 1e-6, 1e-2);
  EXPECT_LT(rare.width(), 0.03 * rare.upper);
  // One record is no user; more of them cost more, and less than all in one round.
  const auto one = answer("users(1, allocated(40, gaussian(2)))", 1e-5);
  const auto alone = answer("allocated(40, gaussian(2))", 1e-5);
  EXPECT_EQ(one.lower, alone.lower);
  const auto three = answer("users(3, allocated(40, gaussian(2)))", 1e-5, 1e-2);
  const auto nine = answer("users(9, allocated(40, gaussian(2)))", 1e-5, 0.1);
  EXPECT_GT(three.upper, alone.lower);
  EXPECT_LE(three.lower, three.upper);
  EXPECT_LT(three.upper, answer("allocated(40, gaussian(0.6666))", 1e-5).upper);
  EXPECT_GT(nine.upper, three.lower);
  EXPECT_LE(nine.lower, nine.upper);
}

/// The curve of atoms.
double curve(const AtomsBase& law, double epsilon) {
  double delta = 0;
  for (const auto& atom : law.atoms) delta += atom.mass * std::max(0.0, -std::expm1(epsilon - atom.loss));
  return delta;
}

// At no epsilon, also below 0, above the truth of its own direction, whatever the rate; and at the best of them next to it.
TEST(SumOfLogarithms, LiesBelowTheCurveInBothDirections) {
  struct Case {
    Dealing dealing;
    std::uint64_t rounds;
    std::vector<DealtRecords> ways;
    long double step;
  };
  for (const auto& [dealing, rounds, ways, step] : {Case{Dealing::two_of_three, 3, in_so_many_rounds(2), 0.2L},
                                                    Case{Dealing::two_records_in_two, 2, each_in_some_round(2, 2), 0.125L}}) {
    for (const double multiplier : {0.5, 2.0}) {
      for (const double deviations : {-1.0, 0.1, 1.0, 3.0}) {
        for (const bool removed : {true, false}) {
          const double epsilon = deviations / multiplier;
          const auto truth = static_cast<double>(reference::allocated_delta(dealing, multiplier, epsilon, removed, step));
          double best = 0;
          for (const double rate : {0.02, 0.3, 0.6}) {
            const auto laws = sum_of_logarithms(multiplier, rounds, ways, rate, 2e-5);
            const double found = curve(removed ? laws.removed : laws.added, epsilon);
            EXPECT_LE(found, truth * (1 + 1e-5)) << multiplier << " " << epsilon << " " << removed << " " << rate;
            best = std::max(best, found);
          }
          EXPECT_GT(best, 0.86 * truth) << multiplier << " " << epsilon << " " << removed;
        }
      }
    }
  }
}

// Values from two other programs, one of which takes the elementary symmetric functions themselves by simulation.
TEST(SumOfLogarithms, IsNearlyAllThatAnEpochShows) {
  struct Case {
    const char* event;
    double delta;
    double truth;
  };
  for (const auto& [event, target, truth] :
       {Case{"allocated(1000, 10, gaussian(1))", 1e-6, 1.9464}, Case{"allocated(60, 3, gaussian(1))", 1e-3, 1.4333}}) {
    const auto found = answer(event, target, 1e-2);
    EXPECT_LT(found.lower, truth + 1e-4) << event;
    EXPECT_GT(found.lower, 0.99 * truth) << event;
  }
}

// Sums of the smaller rates would take most of the question's work, and show less.
TEST(SumOfLogarithms, AreLongOnlyWhileTheyShowMore) {
  EXPECT_GT(points_of_sum(0.57, 1130, each_in_some_round(2, 1130), 0.2 * 2 / 1130, 1e-3, false), 2e5);
  const Limit work{{}};
  const auto found = answer("users(2, allocated(1130, gaussian(0.57)))", 1e-6, 1e-2);
  EXPECT_LT(work.polls(), 85000U);
  EXPECT_GT(found.lower, 3.955);
}

// Bounds from below are laws of what the epoch shows: their masses under both distributions are at most 1.
TEST(AllocatedRatio, LargestRoundIsALaw) {
  for (const auto& atoms : {largest_coordinate(1, 20, 3), largest_coordinate_of_user(1, 20, 3), largest_coordinate_of_user(0.5, 2, 4)}) {
    double p = 0;
    double q = 0;
    for (const auto& atom : atoms.atoms) {
      p += atom.mass;
      q += atom.mass * std::exp(-atom.loss);
    }
    EXPECT_NEAR(p, 1, 1e-12);
    EXPECT_NEAR(q, 1, 1e-12);
  }
}

}  // namespace
}  // namespace surety::accounting::ratio_law_test
