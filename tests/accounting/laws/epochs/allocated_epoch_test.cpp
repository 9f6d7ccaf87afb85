// Epochs of random allocation, against quadrature over the log-normal variables themselves, which shares no code with the transforms.
#include <surety/accounting/laws/epochs/allocated_epoch.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include <surety/accounting/answers/asked.h>
#include <surety/accounting/answers/best.h>
#include <surety/base/text/error.h>

namespace surety::accounting::allocated_epoch_test {
namespace {

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

/// Of a log-normal variable Y = exp(mu g - mu^2 / 2): P(Y >= k), E[Y; Y >= k], P(Y < k), E[Y; Y < k].
struct Parts {
  double mass_above;
  double mean_above;
  double mass_below;
  double mean_below;
};
Parts parts_at(double k, double mu) {
  if (k <= 0) return {1, 1, 0, 0};
  const double d = (-std::log(k) - 0.5 * mu * mu) / mu;
  return {normal_cdf(d), normal_cdf(d + mu), normal_cdf(-d), normal_cdf(-d - mu)};
}

/// The same of R, the mean of t of them: all but one by the trapezoid rule, each half (Y below or above k) in relative precision.
Parts ratio_at(double x, int t, double mu) {
  const double h = t == 2 ? 0.002 : 0.08;
  const double reach = 11;
  Parts sum{0, 0, 0, 0};
  const auto add = [&](double weight, double taken) {
    const auto at = parts_at(t * x - taken, mu);
    sum.mass_above += weight * at.mass_above;
    sum.mean_above += weight * (at.mean_above + taken * at.mass_above) / t;
    sum.mass_below += weight * at.mass_below;
    sum.mean_below += weight * (at.mean_below + taken * at.mass_below) / t;
  };
  const auto y = [&](double g) { return std::exp(mu * g - 0.5 * mu * mu); };
  const auto density = [&](double g) { return h * std::exp(-0.5 * g * g) / std::sqrt(2 * 3.14159265358979323846); };
  for (double g = -reach; g <= reach + mu; g += h) {
    if (t == 2) {
      add(density(g), y(g));
      continue;
    }
    for (double other = -reach; other <= reach + mu; other += h) add(density(g) * density(other), y(g) + y(other));
  }
  return sum;
}

/// Between two ratios, from whichever tail is the smaller.
struct Masses {
  double q;
  double p;
};
Masses between(double from, double to, int t, double mu) {
  const auto a = ratio_at(from, t, mu);
  const auto b = ratio_at(to, t, mu);
  if (from > 1) return {a.mass_above - b.mass_above, a.mean_above - b.mean_above};
  return {b.mass_below - a.mass_below, b.mean_below - a.mean_below};
}

constexpr Cut cut{-50, -45};

/// What a cell says of its masses, and what they are.
struct Compared {
  double off;      // of the mass from the truth
  double allowed;  // by the cell's error
  double excess_off;
  double excess_allowed;
};
Compared compared(const LossCells& found, const LossCell& cell, bool reversed, int t, double mu) {
  const double least = static_cast<double>(cell.index) * found.step;
  const double most = static_cast<double>(cell.index + 1) * found.step;
  const auto truth = reversed ? between(std::exp(-most), std::exp(-least), t, mu) : between(std::exp(least), std::exp(most), t, mu);
  const double own = reversed ? truth.q : truth.p;
  const double other = reversed ? truth.p : truth.q;
  const double excess = 1 - std::exp(least) * other / own;
  return {std::abs(cell.mass - own), cell.mass * cell.mass_error, std::abs(cell.excess - excess), cell.excess_error};
}

struct Case {
  int rounds;
  double multiplier;
  double step;
  int stride;
};

// Cells hold the masses that quadrature finds, within their errors, both directions. Quadrature itself has some 12 digits.
TEST(AllocatedEpoch, CellsHoldWhatQuadratureFinds) {
  for (const auto& c : {Case{2, 2, 0.11, 1}, Case{2, 2, 0.37, 1}, Case{2, 10, 0.01, 3}, Case{3, 3, 0.19, 4}}) {
    const double mu = 1 / c.multiplier;
    const auto epoch = allocated_epoch(c.rounds, c.multiplier);
    for (const bool reversed : {false, true}) {
      const auto found = epoch->cells(reversed, c.step, cut);
      ASSERT_GT(found.cells.size(), 10U);
      int sharp = 0;
      // The outermost cells are cut somewhere inside.
      for (std::size_t i = 1; i + 1 < found.cells.size(); i += static_cast<std::size_t>(c.stride)) {
        const auto& cell = found.cells[i];
        const auto one = compared(found, cell, reversed, c.rounds, mu);
        const auto told = std::to_string(c.rounds) + " rounds, " + std::to_string(reversed) + ", cell " + std::to_string(cell.index);
        EXPECT_LE(one.off, one.allowed + 1e-11 * cell.mass) << told;
        EXPECT_LE(one.excess_off, one.excess_allowed + 1e-11 / c.step) << told;
        EXPECT_LE(cell.mass_error, 1 + 1e-12) << told;
        if (cell.mass_error < 1e-9 && cell.excess_error < 1e-7) ++sharp;
      }
      EXPECT_GT(sharp * c.stride * 4, static_cast<int>(found.cells.size()));
    }
  }
}

// Far out in the tail the masses are noise of the size of the error: without it the cells would be wrong.
TEST(AllocatedEpoch, ErrorsAreNeeded) {
  const auto epoch = allocated_epoch(2, 2);
  int wrong = 0;
  for (const bool reversed : {false, true}) {
    const auto found = epoch->cells(reversed, 0.02, cut);
    for (std::size_t i = 1; i + 1 < found.cells.size(); ++i) {
      const auto& cell = found.cells[i];
      if (cell.mass_error < 1e-4 || cell.mass_error > 0.5) continue;
      const auto one = compared(found, cell, reversed, 2, 0.5);
      EXPECT_LE(one.off, one.allowed) << cell.index;
      if (one.off > 1e-4 * one.allowed + 1e-11 * cell.mass) ++wrong;
    }
  }
  EXPECT_GT(wrong, 0);
}

TEST(AllocatedEpoch, HasMassOneUnderBoth) {
  for (const auto& c : {Case{2, 2, 0.01, 1}, Case{100, 1, 1e-3, 1}, Case{1000, 2, 1e-4, 1}, Case{100000, 5, 1e-5, 1}}) {
    const auto epoch = allocated_epoch(c.rounds, c.multiplier);
    for (const bool reversed : {false, true}) {
      const auto found = epoch->cells(reversed, c.step, cut);
      long double p = 0;
      long double q = 0;
      long double error = found.cut_above + found.cut_below;
      for (const auto& cell : found.cells) {
        const long double mass = cell.mass;
        const long double scaled = mass * std::exp(-static_cast<long double>(cell.index) * found.step);
        p += mass;
        q += scaled * (1 - static_cast<long double>(cell.excess));
        error += mass * cell.mass_error + scaled * (cell.mass_error + cell.excess_error);
      }
      // Of what is cut, Q has the less the larger the loss; at the smallest losses it has e^-loss times more.
      const long double below = found.cut_below * std::exp(-static_cast<long double>(found.cells.front().index) * found.step);
      EXPECT_LE(std::abs(p - 1), error) << c.rounds;
      EXPECT_LE(std::abs(q - 1), error + below + 1e-12) << c.rounds;
      EXPECT_LT(error, 1e-7) << c.rounds;
    }
  }
}

TEST(AllocatedEpoch, BoundsItsTails) {
  for (const double multiplier : {0.8, 2.0, 10.0}) {
    const double mu = 1 / multiplier;
    const auto epoch = allocated_epoch(2, multiplier);
    for (const double log_mass : {-2.0, -10.0, -30.0, -45.0}) {
      const double high = ratio_at(epoch->highest(log_mass), 2, mu).mean_above;
      const double low = ratio_at(epoch->lowest(log_mass), 2, mu).mass_below;
      EXPECT_LE(high, std::exp(log_mass));
      EXPECT_LE(low, std::exp(log_mass));
      // Not by far: a tail bound is within a few powers of e of what it bounds.
      EXPECT_GE(std::log(high), 1.7 * log_mass - 6);
      EXPECT_GE(std::log(low), 1.7 * log_mass - 6);
    }
  }
}

// Against a trapezoid sum over the normal variable, which is exact to all digits that a long double has: by at least that, and by little more.
TEST(AllocatedEpoch, BoundsItsLaplaceTransform) {
  for (const long double multiplier : {0.3L, 1.0L, 4.0L}) {
    const long double mu = 1 / multiplier;
    const auto epoch = allocated_epoch(2, static_cast<double>(multiplier));
    for (const double v : {1e-3, 0.3, 0.9, 1.5, 4.0, 40.0}) {
      long double less = 0;  // 1 - E e^(-v Y)
      const long double h = 1 / 64.0L;
      for (long double g = -16; g <= 16; g += h) {
        less -= h / std::sqrt(2 * std::numbers::pi_v<long double>) * std::exp(-g * g / 2) * std::expm1(-v * std::exp(mu * (g - mu / 2)));
      }
      const auto truth = static_cast<double>(std::log1p(-less));
      const double bound = epoch->log_laplace(v);
      EXPECT_GE(bound, truth * (1 + 1e-12)) << multiplier << " " << v;
      EXPECT_LE(bound, truth * 0.8) << multiplier << " " << v;
    }
  }
}

// Of an epoch with hardly any noise nearly all that is cut lies at the threshold's own side: the bounds of its mass count.
TEST(AllocatedEpoch, CountsWhatItCuts) {
  for (const double multiplier : {0.9, 2.0}) {
    const auto epoch = allocated_epoch(100, multiplier);
    for (const bool reversed : {false, true}) {
      const auto found = epoch->cells(reversed, 0.01, {-1.5, -1.5});
      double most = static_cast<double>(found.cut_above + found.cut_below);
      for (const auto& cell : found.cells) most += cell.mass * (1 + cell.mass_error);
      EXPECT_GE(most, 1) << multiplier;
      EXPECT_LE(most, 1.6) << multiplier;
    }
  }
}

Enclosure answer(const std::string& text, double delta) {
  return epsilon(Best{}, parse_event(text, Adjacency::add_or_remove_one), Delta{delta});
}

// By the put E_Q (x - R)_+ as a Laplace inversion far to the right in 40 digits, which shares neither line nor densities; 100 epochs by a
// convolution of a Fourier density.
TEST(AllocatedEpoch, AgreesWithKnownValues) {
  struct Known {
    const char* text;
    double epsilon;
    double digits;  ///< half a unit of the last one that is known
    double width;   ///< asked for
  };
  for (const auto& known : {Known{"allocated(100, gaussian(1))", 0.6209396716, 1e-10, 1e-8},
                            Known{"repeat(100, allocated(100, gaussian(1)))", 6.0435303, 1e-7, 1e-6},
                            Known{"allocated(1000, gaussian(2))", 0.048669726, 5e-10, 1e-8}}) {
    Pld accountant;
    accountant.width = known.width;
    const auto found = epsilon(accountant, parse_event(known.text, Adjacency::add_or_remove_one), Delta{1e-5});
    EXPECT_LE(found.lower, known.epsilon + known.digits) << known.text;
    EXPECT_GE(found.upper, known.epsilon - known.digits) << known.text;
    EXPECT_LT(found.width(), 2 * known.width) << known.text;
  }
  const auto found = delta(Best{}, parse_event("allocated(100, gaussian(1))", Adjacency::zero_out), Epsilon{0.3});
  EXPECT_LE(found.lower, 9.688358636657e-4);
  EXPECT_GE(found.upper, 9.688358636657e-4);
}

// The reverse direction, as the sum over cells at a grid point: E_P (1 - e^(epsilon - L))_+ is the mass above, less e^epsilon times Q's.
TEST(AllocatedEpoch, KnowsBothDirections) {
  const auto epoch = allocated_epoch(100, 1);
  for (const bool reversed : {false, true}) {
    const double truth = reversed ? 3.523752100544302e-4 : 9.688358636665721e-4;
    const auto found = epoch->cells(reversed, 0.3 / 64, cut);
    double sum = 0;
    double error = static_cast<double>(found.cut_above + found.cut_below);
    for (const auto& cell : found.cells) {
      if (cell.index < 64) continue;
      const double scaled = std::exp(0.3 - static_cast<double>(cell.index) * found.step);
      sum += cell.mass * (1 - (1 - cell.excess) * scaled);
      error += cell.mass * (cell.mass_error * (1 + scaled) + cell.excess_error);
    }
    EXPECT_LE(std::abs(sum - truth), error + 1e-16);
    EXPECT_LT(error, 1e-11);
  }
}

/// delta of two rounds by quadrature: E_Q (R - e^epsilon)_+ and E_Q (1 - e^epsilon R)_+.
double two_rounds(double epsilon, double mu) {
  const auto removed = ratio_at(std::exp(epsilon), 2, mu);
  const auto added = ratio_at(std::exp(-epsilon), 2, mu);
  return std::max(removed.mean_above - std::exp(epsilon) * removed.mass_above, added.mass_below - std::exp(epsilon) * added.mean_below);
}

TEST(AllocatedEpoch, CostsWhatTwoRoundsCost) {
  for (const double multiplier : {2.0, 6.0}) {
    const Event event = parse_event("allocated(2, gaussian(" + std::to_string(multiplier) + "))", Adjacency::zero_out);
    for (const double epsilon : {0.0, 0.1, 0.5, 1.0, 2.0}) {
      const double truth = two_rounds(epsilon, 1 / multiplier);
      if (truth < 1e-10) continue;
      const auto found = delta(Best{}, event, Epsilon{epsilon});
      EXPECT_LE(found.lower, truth * (1 + 1e-9) + 1e-15) << multiplier << " " << epsilon;
      EXPECT_GE(found.upper, truth * (1 - 1e-9) - 1e-15) << multiplier << " " << epsilon;
      EXPECT_LT(found.upper - found.lower, 1e-3 * truth) << multiplier << " " << epsilon;
    }
  }
}

TEST(AllocatedEpoch, IsWhatIsInsideForOneRoundAndLessForMore) {
  const auto inside = answer("compose(gaussian(2), gaussian(3))", 1e-6);
  const auto one = answer("allocated(1, compose(gaussian(2), gaussian(3)))", 1e-6);
  EXPECT_EQ(inside.lower, one.lower);
  EXPECT_EQ(inside.upper, one.upper);
  EXPECT_LT(answer("allocated(3, compose(gaussian(2), gaussian(3)))", 1e-6).upper, inside.lower);
  // Both events of one round are one Gaussian.
  const auto four = answer("allocated(50, repeat(4, gaussian(4)))", 1e-6);
  const auto two = answer("allocated(50, gaussian(2))", 1e-6);
  EXPECT_LE(std::max(four.lower, two.lower), std::min(four.upper, two.upper));
  // With other events, and of different lengths.
  const auto mixed = answer("compose(allocated(50, gaussian(2)), allocated(70, gaussian(3)), laplace(20))", 1e-6);
  EXPECT_GT(mixed.lower, two.upper);
  EXPECT_LT(mixed.width(), 1e-3);
}

/// What is done after the first of two rounds showed `first`: a release of one bit, for which the record speaks, against which, or not at all;
/// and whether the record adds anything to the second round, after each bit.
struct Reaction {
  enum class Bit { for_record, against, silent } bit;
  std::array<bool, 2> takes_part;
};
using Strategy = std::function<Reaction(double first)>;

const std::vector<Strategy>& strategies() {
  using enum Reaction::Bit;
  static const std::vector<Strategy> all{[](double) {
                                           return Reaction{for_record, {true, true}};
                                         },  // the one that attains the cost
                                         [](double) {
                                           return Reaction{for_record, {false, true}};
                                         },
                                         [](double first) {
                                           return Reaction{first > 0.5 ? for_record : against, {true, true}};
                                         },
                                         [](double first) {
                                           return Reaction{first > 0 ? for_record : silent, {true, true}};
                                         },
                                         [](double first) {
                                           return Reaction{first < 1 ? against : for_record, {first > 0, true}};
                                         },
                                         [](double first) {
                                           return Reaction{std::sin(7 * first) > 0 ? for_record : against, {true, first > 0.25}};
                                         }};
  return all;
}

/// The mean over the first round's noise, and over the bit: `last(base, p, q, takes_part)`, base the first round's noise, p and q the bit's
/// probabilities with and without the record.
template <class Last>
double over_first_round_and_bit(const Strategy& strategy, double truth, double mu, const Last& last) {
  const double h = 0.01;
  double sum = 0;
  for (double g = -11; g <= 11 + mu; g += h) {
    const auto reaction = strategy(g);
    for (const bool bit : {false, true}) {
      const bool speaks = bit == (reaction.bit == Reaction::Bit::for_record);
      const double p = reaction.bit == Reaction::Bit::silent ? 0.5 : speaks ? truth : 1 - truth;
      sum += h * std::exp(-0.5 * g * g) / std::sqrt(2 * 3.14159265358979323846) * last(g, p, 1 - p, reaction.takes_part.at(bit ? 1 : 0));
    }
  }
  return sum;
}

/// Delta of an allocated epoch of two rounds with a bit between them, a record present against absent.
double delta_with_bit_between(const Strategy& strategy, double truth, double mu, double epsilon, bool reversed) {
  const double factor = std::exp(epsilon);
  return over_first_round_and_bit(strategy, truth, mu, [&](double g, double p, double q, bool takes_part) {
    const double first = std::exp(mu * g - 0.5 * mu * mu);
    // (p (first + Y) / 2 - factor q)_+, or (q - factor p (first + Y) / 2)_+; without the record Y is 1.
    const double up = reversed ? factor * p / 2 : p / 2;
    const double limit = (reversed ? q : factor * q) / up - first;
    if (!takes_part) return up * std::max(0.0, reversed ? limit - 1 : 1 - limit);
    const auto y = parts_at(limit, mu);
    return up * (reversed ? limit * y.mass_below - y.mean_below : y.mean_above - limit * y.mass_above);
  });
}

/// The same of a record that adds the opposite after it was replaced. \pre it takes part in the second round
double delta_of_replaced_with_bit_between(const Strategy& strategy, double truth, double mu, double epsilon) {
  const double factor = std::exp(epsilon);
  return over_first_round_and_bit(strategy, truth, mu, [&](double g, double p, double q, bool takes_part) {
    // p (a + A) / 2 - factor q (b + B) / 2 with B = e^(-mu^2) / A, or with A = B = 1: it rises with A, and is 0 at a root of a quadratic.
    const double a = std::exp(mu * g - 0.5 * mu * mu);
    const double b = std::exp(-mu * g - 0.5 * mu * mu);
    if (!takes_part) return std::max(0.0, p * (a + 1) - factor * q * (b + 1)) / 2;
    const double linear = p * a - factor * q * b;
    const double product = factor * q * std::exp(-mu * mu);
    const double root = (-linear + std::sqrt(linear * linear + 4 * p * product)) / (2 * p);
    const double w = (std::log(root) + 0.5 * mu * mu) / mu;
    return (p * (a * normal_cdf(-w) + normal_cdf(mu - w)) - factor * q * (b * normal_cdf(-w) + normal_cdf(-mu - w))) / 2;
  });
}

// Runs interleave: another release between two rounds may follow from the first, and the second from its answer.
TEST(AllocatedEpoch, CostsNoMoreWhereOtherReleasesHappenBetweenItsRounds) {
  for (const double z : {4.0}) {
    for (const double bit : {0.2, 1.0}) {
      for (const double epsilon : {0.1, 1.5}) {
        const double truth = std::exp(bit) / (1 + std::exp(bit));
        const auto cost = [&](const char* round, Adjacency adjacency) {
          return delta(Pld{}, parse_event(fmt::format("compose(allocated(2, {}({})), pure({}))", round, z, bit), adjacency),
                       Epsilon{epsilon});
        };
        const auto added = cost("gaussian", Adjacency::add_or_remove_one);
        const auto replaced = cost("record_sum", Adjacency::replace_one);
        double dearest = 0;
        double dearest_replaced = 0;
        for (const auto& strategy : strategies()) {
          for (const bool reversed : {false, true}) {
            const double found = delta_with_bit_between(strategy, truth, 1 / z, epsilon, reversed);
            EXPECT_LE(found, added.upper * (1 + 1e-9)) << z << " " << bit << " " << epsilon << " " << reversed;
            dearest = std::max(dearest, found);
          }
          const double found = delta_of_replaced_with_bit_between(strategy, truth, 1 / z, epsilon);
          EXPECT_LE(found, replaced.upper * (1 + 1e-9)) << z << " " << bit << " " << epsilon;
          dearest_replaced = std::max(dearest_replaced, found);
        }
        // Attained, so a charge that is smaller by more than the answer's width is exceeded.
        EXPECT_GE(dearest, added.lower * (1 - 1e-9)) << z << " " << bit << " " << epsilon;
        EXPECT_GE(dearest_replaced, replaced.lower * (1 - 1e-9)) << z << " " << bit << " " << epsilon;
      }
    }
  }
}

TEST(AllocatedEpoch, RefusesWhatItHasNoDigitsOrNoTheoremFor) {
  EXPECT_THROW(static_cast<void>(parse_event("allocated(10, gaussian(1))", Adjacency::replace_one)), Error);
  EXPECT_THROW(static_cast<void>(parse_event("allocated(10, laplace(1))", Adjacency::zero_out)), Error);
  EXPECT_THROW(static_cast<void>(parse_event("allocated(10, poisson(0.5, gaussian(1)))", Adjacency::zero_out)), Error);
  // Densities do not reach it; sums of ratios do (ratio_law_test).
  EXPECT_FALSE(allocated_epoch(10, 0.1)->has_density());
  EXPECT_TRUE(allocated_epoch(100, 1)->has_density());
  try {
    static_cast<void>(allocated_epoch(10, 0.1)->cells(false, 0.1, cut));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string{error.what()}.find("too little noise, or too few rounds"), std::string::npos) << error.what();
  }
  // So little noise that the cells of one normal would fill the memory.
  for (const double z : {0.0199, 1e-3, 1e-9, 1e-300}) {
    EXPECT_THROW(static_cast<void>(AllocatedEpoch(3, z)), Error) << z;
    // Under replace-one a single round answers: means 2 / z apart, and 6.4 deviations.
    if (z > 1e-100) {
      const Event replaced = parse_event(fmt::format("allocated(3, record_sum({}))", z), Adjacency::replace_one);
      EXPECT_LE(epsilon(Pld{}, replaced, Delta{1e-10}).upper, 1.002 * (2 / z / z + 12.8 / z)) << z;
    }
  }
}

}  // namespace
}  // namespace surety::accounting::allocated_epoch_test
