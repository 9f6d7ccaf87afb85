#include <surety/accounting/laws/choices/choice_game.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <support/choice_strategies.h>

namespace surety::accounting::choice_game_test {
namespace {

using reference::played;

/// The recursion for strategies on the grid alone, in extended precision.
std::vector<long double> on_the_grid(long double step, int cells, int count, int points) {
  const int margin = cells * count;
  std::vector<long double> values;
  for (int i = -margin; i <= points + margin; ++i) values.push_back(std::max(0.0L, -std::expm1(step * i)));
  const long double all = -std::expm1(-step * cells);
  for (int k = 0; k < count; ++k) {
    auto next = values;
    for (int i = cells; i + cells < static_cast<int>(values.size()); ++i) {
      long double best = 0;
      for (int j = 0; j <= cells; ++j) {
        const long double hit = -std::expm1(-step * (cells - j)) / all;
        const long double miss = std::exp(-step * (cells - j)) * -std::expm1(-step * j) / all;
        best = std::max(best, hit * values[static_cast<std::size_t>(i - j)] + miss * values[static_cast<std::size_t>(i - j + cells)]);
      }
      next[static_cast<std::size_t>(i)] = best;
    }
    values = next;
  }
  return {values.begin() + margin, values.begin() + margin + points};
}

TEST(ChoiceGame, EncloseStrategiesOnTheirGridAndLittleMore) {
  constexpr int cells = 16;
  const ChoiceGame game{{{1.0, 4, cells}}, {4 * cells + 1, 4 * cells + 16}};
  const auto truth = on_the_grid(1.0L / cells, cells, 4, 4 * cells);
  for (std::size_t i = 0; i < truth.size(); ++i) {
    EXPECT_GE(game.above(i), static_cast<double>(truth[i]) * (1 - 1e-15)) << i;
    EXPECT_LE(game.above(i), static_cast<double>(truth[i]) * 1.5 + 2e-5) << i;
    // The first choices are made by their closed form, so that these are worth a little more than moves on the grid.
    EXPECT_GE(game.below(i), static_cast<double>(truth[i]) * (1 - 1e-12)) << i;
    EXPECT_LE(game.below(i), game.above(i)) << i;
  }
}

TEST(ChoiceGame, IsNoLessWhereLessOfItIsKnown) {
  constexpr std::size_t cells = 64;
  const ChoiceGame whole{{{1.0, 6, cells}}, {6 * cells + 1, 6 * cells + 16}};
  const ChoiceGame part{{{1.0, 6, cells}}, {6 * cells + 1, 2 * cells}};
  const ChoiceGame cut{{{1.0, 6, cells}}, {3 * cells, 6 * cells + 16}};
  for (std::size_t i = 4 * cells; i < 6 * cells; ++i) {
    EXPECT_NEAR(part.above(i), whole.above(i), 1e-4 * whole.above(i)) << i;
    EXPECT_NEAR(part.below(i), whole.below(i), 1e-4 * whole.below(i)) << i;
  }
  for (std::size_t i = 0; i < cut.points(); ++i) {
    EXPECT_GE(cut.above(i), whole.below(i)) << i;
    EXPECT_LE(cut.below(i), whole.above(i)) << i;
  }
}

// Each term left out in turn.
TEST(ChoiceGame, NeedsEveryTerm) {
  const auto upper_escapes = [](const GameTerms& terms, double range, std::size_t cells, std::size_t points) {
    const ChoiceGame game{{{range, 2, cells}}, {points, points + 16}, terms};
    int found = 0;
    for (double x = 0.01 * range; x < 1.9 * range; x += 0.0617 * range) {
      found += static_cast<long double>(game.upper(x)) < played({range, range}, x, 1000) * (1 - 1e-12L) ? 1 : 0;
    }
    return found;
  };
  EXPECT_EQ(upper_escapes({}, 1.0, 8, 17), 0);
  EXPECT_GT(upper_escapes({.between = false}, 1.0, 8, 17), 0);
  EXPECT_GT(upper_escapes({.chord = false}, 1.0, 8, 17), 0);

  // What is beyond the last point: a game that ends far below its largest loss.
  const auto cut_escapes = [](const GameTerms& terms) {
    const ChoiceGame whole{{{1.0, 60, 16}}, {60 * 16 + 1, 60 * 16 + 16}};
    const ChoiceGame cut{{{1.0, 60, 16}}, {192, 60 * 16 + 16}, terms};
    int found = 0;
    for (std::size_t i = 0; i < cut.points(); ++i) found += cut.above(i) < whole.below(i) ? 1 : 0;
    return found;
  };
  EXPECT_EQ(cut_escapes({}), 0);
  EXPECT_GT(cut_escapes({.beyond = false}), 0);

  // Two ranges that fit no common grid, on a coarse one.
  const auto ranges_escape = [](const GameTerms& terms) {
    const ChoiceGame game{{{1.0, 1, 64}, {0.33, 1, 20}}, {100, 116}, terms};
    int found = 0;
    for (double x = 0.05; x < 1.3; x += 0.05) {
      const long double value = std::max(played({1.0L, 0.33L}, x, 2000), played({0.33L, 1.0L}, x, 2000));
      found += static_cast<long double>(game.upper(x)) < value * (1 - 1e-12L) ? 1 : 0;
      found += static_cast<long double>(game.lower(x)) > value * (1 + 1e-5L) ? 1 : 0;
    }
    return found;
  };
  EXPECT_EQ(ranges_escape({}), 0);
  EXPECT_GT(ranges_escape({.ranges = false}), 0);

  // Rounding: one choice after the other moves what plain doubles say above what the moves are worth.
  const auto rounding_escapes = [](const GameTerms& terms) {
    constexpr int cells = 2;
    const ChoiceGame game{{{1.0, 40, cells}}, {80, 96}, terms};
    // From the closed form of the first choice on, which on two cells only its middle attains.
    std::vector<long double> values(400, 0.0L);
    const long double step = 0.5L;
    const auto at = [&](int i) -> long double {
      if (i >= 200 + 2) return 0;
      if (i <= 200 - 2) return -std::expm1(step * (i - 200));
      const long double root = std::exp(0.5L) - std::exp(step * (i - 200) / 2);
      return root * root / std::expm1(1.0L);
    };
    for (int i = 0; i < 400; ++i) values[static_cast<std::size_t>(i)] = at(i);
    const long double all = -std::expm1(-1.0L);
    for (int k = 1; k < 40; ++k) {
      auto next = values;
      for (std::size_t i = 2; i + 2 < values.size(); ++i) {
        next[i] = 0;
        for (std::size_t j = 0; j <= 2; ++j) {
          const long double hit = -std::expm1(-step * static_cast<long double>(2 - j)) / all;
          const long double miss =
              std::exp(-step * static_cast<long double>(2 - j)) * -std::expm1(-step * static_cast<long double>(j)) / all;
          next[i] = std::max(next[i], hit * values[i - j] + miss * values[i - j + 2]);
        }
      }
      values = next;
    }
    int found = 0;
    for (std::size_t i = 0; i < 60; ++i) found += static_cast<long double>(game.below(i)) > values[200 + i] ? 1 : 0;
    return found;
  };
  EXPECT_EQ(rounding_escapes({}), 0);
  EXPECT_GT(rounding_escapes({.rounding = false}), 0);
}

}  // namespace
}  // namespace surety::accounting::choice_game_test
