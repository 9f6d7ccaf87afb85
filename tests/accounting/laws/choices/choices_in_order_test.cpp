// Choices in one order against strategies enumerated by a program of its own, and against the game on a multiset.
#include <surety/accounting/laws/choices/choices_in_order.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include <support/choice_strategies.h>
#include <surety/accounting/accountants/choices/choices.h>
#include <surety/accounting/events/event.h>

namespace surety::accounting::choices_in_order_test {
namespace {

using reference::played;

// Steps that fit the ranges, and steps that fit none: below what any strategy of that order is worth at the ranges themselves, and near.
TEST(ChoicesInOrder, LieBelowTheStrategiesOfTheirOrder) {
  for (const auto& [small, large] : {std::pair{0.2, 1.0}, {0.31, 0.77}, {1.1, 1.9}}) {
    const std::vector<long double> ranges{small, large};
    for (const std::size_t points : {60, 1500}) {
      const ChoicesInOrder game{{{small, 1}, {large, 1}}, small + large, points};
      for (double x = 0; x < small + large; x += 0.0737) {
        const auto truth = static_cast<double>(played(ranges, x, 1000));
        EXPECT_LE(game.delta(x), truth + 1e-6) << small << ' ' << points << ' ' << x;
        if (points > 1000) {
          EXPECT_GE(game.delta(x), 0.99 * truth - 2e-4) << small << ' ' << x;
        }
      }
    }
  }
}

TEST(ChoicesInOrder, LieBelowTheGameAndNear) {
  const ChoiceCounts counts{{0.05, 3}, {0.11, 4}, {0.2, 2}};
  const Event event = parse_event("compose(repeat(3, exponential(0.05)), repeat(4, exponential(0.11)), repeat(2, exponential(0.2)))",
                                  Adjacency::replace_one);
  const ChoicesInOrder game{counts, 0.9, 4000};
  for (const double delta : {1e-2, 1e-4, 1e-6}) {
    const auto truth = epsilon(Choices{}, event, Delta{delta});
    EXPECT_LE(game.epsilon(delta), truth.upper) << delta;
    EXPECT_GE(game.epsilon(delta), 0.999 * truth.lower) << delta;
    EXPECT_LE(game.delta(truth.upper), delta) << delta;
  }
  EXPECT_EQ(game.delta(100), 0);
}

// A range of fewer than two steps shows nothing, and a huge one nothing that overflows.
TEST(ChoicesInOrder, SayLittleOfRangesBesideWhichTheyAreTiny) {
  const ChoicesInOrder game{{{1e-9, 5}, {1, 1}}, 1, 1000};
  const double alone = std::pow(std::exp(0.5) - std::exp(0.25), 2) / std::expm1(1);
  EXPECT_LE(game.delta(0.5), alone);
  EXPECT_GE(game.delta(0.5), 0.99 * alone);
  const ChoicesInOrder huge{{{1, 2}, {1e300, 2}}, 2e300, 500};
  EXPECT_LE(huge.epsilon(1e-6), 2e300);
  EXPECT_GE(huge.epsilon(1e-6), 1e300);
}

}  // namespace
}  // namespace surety::accounting::choices_in_order_test
