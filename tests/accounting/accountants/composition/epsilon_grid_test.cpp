// The optimal composition on a grid of epsilons, against all outcomes of one bit each, written out.
#include <surety/accounting/accountants/composition/epsilon_grid.h>

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <utility>
#include <vector>

namespace surety::accounting::composing::epsilon_grid_test {
namespace {

using Rounding = EpsilonGrid::Rounding;
using Counts = std::map<double, double>;

/// Every outcome of the bits: its loss, and its probability under P.
std::vector<std::pair<long double, long double>> outcomes(const Counts& counts) {
  std::vector<std::pair<long double, long double>> all{{0, 1}};
  for (const auto& [epsilon, count] : counts) {
    const long double right = 1 / (1 + std::exp(-static_cast<long double>(epsilon)));
    for (int k = 0; k < static_cast<int>(count); ++k) {
      std::vector<std::pair<long double, long double>> next;
      for (const auto& [loss, p] : all) {
        next.emplace_back(loss + static_cast<long double>(epsilon), p * right);
        next.emplace_back(loss - static_cast<long double>(epsilon), p * (1 - right));
      }
      all = std::move(next);
    }
  }
  return all;
}

long double exact_delta(const Counts& counts, double at) {
  long double sum = 0;
  for (const auto& [loss, p] : outcomes(counts)) {
    if (loss > static_cast<long double>(at)) sum += p * -std::expm1(static_cast<long double>(at) - loss);
  }
  return sum;
}

long double exact_epsilon(const Counts& counts, double target) {
  double low = 0;
  double high = 20;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (exact_delta(counts, middle) > static_cast<long double>(target) ? low : high) = middle;
  }
  return high;
}

// Whatever the grid, rounding up bounds delta and epsilon from above and rounding down from below; and a fine grid leaves little between them.
TEST(EpsilonGrid, HoldsTheExactCompositionOfDifferentEpsilons) {
  for (const Counts& counts : {Counts{{0.5, 2}, {0.8, 3}}, Counts{{0.1, 4}, {0.3, 1}, {0.7, 2}, {1.1, 1}}, Counts{{2.5, 1}, {1e-3, 6}}}) {
    for (const int points : {8, 50, 20'000}) {
      const EpsilonGrid up{counts, points, Rounding::up};
      const EpsilonGrid down{counts, points, Rounding::down};
      for (const double at : {0.0, 0.25, 0.9, 1.6, 2.4}) {
        const auto exact = static_cast<double>(exact_delta(counts, at));
        const double above = up.delta(at, +1);
        const double below = down.delta(at, -1);
        EXPECT_GE(above, exact * (1 - 1e-14)) << points << " points at " << at;
        EXPECT_LE(below, exact * (1 + 1e-14)) << points << " points at " << at;
        if (points == 20'000) {
          EXPECT_LE(above - below, 1e-3) << at;
        }
      }
      for (const double target : {1e-3, 0.02, 0.2}) {
        const auto exact = static_cast<double>(exact_epsilon(counts, target));
        const double above = up.epsilon(static_cast<long double>(target), +1);
        const double below = down.epsilon(static_cast<long double>(target), -1);
        EXPECT_GE(above, exact - 1e-12) << points << " points at " << target;
        EXPECT_LE(below, exact + 1e-12) << points << " points at " << target;
        if (points == 20'000) {
          EXPECT_LE(above - below, 2e-3) << target;
        }
      }
    }
  }
}

// One epsilon is on the grid but for its rounding to 29 bits, however coarse the grid is.
TEST(EpsilonGrid, HasOneEpsilonToItsRounding) {
  const Counts counts{{0.37, 7}};
  for (const int points : {7, 50, 1000}) {
    const EpsilonGrid up{counts, points, Rounding::up};
    const EpsilonGrid down{counts, points, Rounding::down};
    for (const double at : {0.0, 0.4, 1.2, 2.0}) {
      const auto exact = static_cast<double>(exact_delta(counts, at));
      EXPECT_NEAR(up.delta(at, +1), exact, 2e-8) << points;
      EXPECT_NEAR(down.delta(at, -1), exact, 2e-8) << points;
    }
  }
}

// Beyond the largest loss nothing is left, and where nothing may be left epsilon is the largest loss.
TEST(EpsilonGrid, EndsAtTheSumOfTheEpsilons) {
  const Counts counts{{0.5, 2}, {0.8, 3}};
  const EpsilonGrid up{counts, 100, Rounding::up};
  const EpsilonGrid down{counts, 100, Rounding::down};
  EXPECT_LE(up.delta(3.9, +1), 1e-300);
  EXPECT_EQ(down.delta(3.4, -1), 0);
  const double all = up.epsilon(0, +1);
  EXPECT_GE(all, 3.4);
  EXPECT_LE(all, 3.9);
}

}  // namespace
}  // namespace surety::accounting::composing::epsilon_grid_test
