#include <surety/accounting/events/points.h>
#include <surety/accounting/laws/cells/dominating_pair.h>
#include <surety/accounting/laws/finite/finite_law.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <variant>
#include <vector>

namespace surety::accounting::laws::finite_law_test {
namespace {

using Words = std::mt19937_64;
double uniform(Words& words) { return static_cast<double>(words() >> 11) * 0x1p-53; }
constexpr double infinite = std::numeric_limits<double>::infinity();

/// delta at odds a, of the masses that are given.
long double given_curve(const std::vector<NumberPair>& atoms, bool reversed, long double odds) {
  long double sum = 0;
  long double q_sum = 0;
  for (const auto& [loss, mass] : atoms) {
    const long double p = mass;
    const long double q = loss == infinite ? 0 : p * std::exp(-static_cast<long double>(loss));
    q_sum += q;
    sum += std::max(0.0L, reversed ? q - odds * p : p - odds * q);
  }
  return reversed ? sum + std::max(0.0L, 1 - q_sum) : sum;
}
long double curve_of(const LossLaw& law, long double odds) {
  const auto& base = std::get<AtomsBase>(law.base);
  long double sum = 0;
  for (const auto& [loss, mass] : base.atoms) {
    sum += std::max(0.0L, static_cast<long double>(mass) * (1 - odds * std::exp(-static_cast<long double>(loss))));
  }
  return law.infinite_mass + (1 - law.infinite_mass) * sum;
}

/// Of up to `most` outcomes: masses e^-loss sum to at most 1.
std::vector<NumberPair> drawn(Words& words, std::size_t most) {
  std::vector<NumberPair> atoms(2 + words() % (most - 1));
  std::vector<double> q(atoms.size());
  double p_sum = 0;
  double q_sum = 0;
  for (std::size_t i = 0; i < atoms.size(); ++i) {
    atoms[i].second = 0.01 + uniform(words);
    q[i] = words() % 5 == 0 ? atoms[i].second : 0.01 + uniform(words);
    p_sum += atoms[i].second;
    q_sum += q[i];
  }
  const double alone = words() % 3 == 0 ? 0.1 * uniform(words) : 0;
  const double rest = words() % 3 == 0 ? 0.1 * uniform(words) : 0;
  for (std::size_t i = 0; i < atoms.size(); ++i) {
    const double p = atoms[i].second * (1 - alone) / p_sum;
    atoms[i] = {std::log(p / (q[i] * (1 - rest) / q_sum)), p};
  }
  if (alone > 0) atoms.push_back({infinite, alone});
  return atoms;
}

TEST(OrdersOfALaw, HaveTheLargerCurveAndTheSmaller) {
  Words words{1};
  for (int i = 0; i < 300; ++i) {
    const auto given = drawn(words, i % 10 == 0 ? 200 : 5);
    const LawAtoms atoms{given};
    const LossLaw above = larger_of_orders(atoms, +1);
    const LossLaw below = larger_of_orders(atoms, -1);
    const LossLaw least = smaller_of_orders(atoms);
    for (const auto* law : {&above, &below, &least}) EXPECT_TRUE(is_symmetric(*law));
    EXPECT_LE(std::get<AtomsBase>(above.base).atoms.size(), 2 * (3 * given.size() + 1));
    for (int k = 0; k < 40; ++k) {
      const long double odds = std::exp(static_cast<long double>(4 * uniform(words) - 2));
      const long double one = given_curve(given, false, odds);
      const long double other = given_curve(given, true, odds);
      // What the digits of the given losses are worth.
      constexpr long double slack = 2e-12L;
      EXPECT_GE(curve_of(above, odds), std::max(one, other) - slack);
      EXPECT_LE(curve_of(above, odds), std::max(one, other) + slack);
      EXPECT_LE(curve_of(below, odds), std::max(one, other) + slack);
      EXPECT_GE(curve_of(below, odds), std::max(one, other) - slack);
      EXPECT_LE(curve_of(least, odds), std::min(one, other) + slack);
    }
  }
}

TEST(OrdersOfALaw, KeepTheAtomsOfOneThatIsAboveTheOther) {
  // Optimized unary encoding: from epsilon 0 on one order is above the other.
  const LossLaw law = larger_of_orders(LawAtoms{{std::log(5.0), 0.5}, {std::log(5.0 / 9), 0.5}}, +1);
  const auto& atoms = std::get<AtomsBase>(law.base).atoms;
  ASSERT_EQ(atoms.size(), 3U);
  EXPECT_NEAR(atoms[0].loss, -std::log(5.0), 1e-15);
  EXPECT_NEAR(atoms[0].mass, 0.1, 1e-15);
  EXPECT_EQ(atoms[1].loss, 0);
  EXPECT_NEAR(atoms[1].mass, 0.4, 1e-15);
  EXPECT_NEAR(atoms[2].loss, std::log(5.0), 1e-15);
  EXPECT_NEAR(atoms[2].mass, 0.5, 1e-15);
}

TEST(OrdersOfALaw, AreOneWhereItIsItsOwnReverse) {
  const LossLaw law = larger_of_orders(LawAtoms{{std::log(3.0), 0.75}, {-std::log(3.0), 0.25}}, +1);
  const auto& atoms = std::get<AtomsBase>(law.base).atoms;
  ASSERT_EQ(atoms.size(), 2U);
  EXPECT_NEAR(atoms[0].mass, 0.25, 1e-15);
  EXPECT_NEAR(atoms[1].mass, 0.75, 1e-15);
}

TEST(OrdersOfALaw, KeepLossesFarApart) {
  // e^-700 of mass has no digits beside the rest, and what is infinite stays so.
  const std::vector<NumberPair> given{{700, 0.25}, {infinite, 0.125}, {0, 0.5}, {-1, 0.125}};
  const LawAtoms atoms{given};
  for (const int direction : {-1, +1}) {
    const LossLaw law = larger_of_orders(atoms, direction);
    for (const double epsilon : {0.0, 0.5, 1.0, 10.0, 699.0, 701.0}) {
      const long double odds = std::exp(static_cast<long double>(epsilon));
      const long double truth = std::max(given_curve(given, false, odds), given_curve(given, true, odds));
      EXPECT_NEAR(static_cast<double>(curve_of(law, odds)), static_cast<double>(truth), 1e-12) << epsilon;
    }
  }
}

}  // namespace
}  // namespace surety::accounting::laws::finite_law_test
