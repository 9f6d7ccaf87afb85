#include <surety/accounting/laws/cells/tilted_law.h>

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace surety::accounting::tilted_law_test {
namespace {

/// The tilted mass of a whole law.
double total(const TiltedLaw& law) { return std::exp(law.log_scale) * std::accumulate(law.weights.begin(), law.weights.end(), 0.0); }

// Mass below all cells is at the least loss of them from above, and nowhere from below.
TEST(TiltedLaw, HasTheMassBelowItsCellsFromAboveAlone) {
  const LossCells cells{{{0, 0, 0.5, 0, 0, 0}, {1, 0, 0.25, 0, 0, 0}}, 0, 0.125, 0, 0, 0.25L};
  TiltedGrid grid{};
  grid.s = 2;
  grid.step = 0.125;
  const double exact = 0.5 + 0.25 * std::exp(0.25);
  for (const double shift : {0.0, 3.0}) {
    EXPECT_GE(total(spread(cells, grid, shift)), (exact + 0.25) * (1 - 1e-15));
    EXPECT_LE(total(spread(cells, grid, shift)), (exact + 0.25) * (1 + 1e-12));
    EXPECT_LE(total(merge(cells, grid, shift)), exact * (1 + 1e-15));
    EXPECT_GE(total(merge(cells, grid, shift)), exact * (1 - 1e-2));
  }
}

}  // namespace
}  // namespace surety::accounting::tilted_law_test
