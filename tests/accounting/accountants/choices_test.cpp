#include <surety/accounting/accountants/choices.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <surety/accounting/accountants/best.h>
#include <surety/accounting/accountants/choice_game.h>
#include <surety/accounting/accountants/closed_form.h>
#include <surety/accounting/accountants/composition.h>
#include <surety/accounting/accountants/privacy_loss/privacy_loss.h>
#include <surety/accounting/accountants/renyi.h>

#include <support/refusal.h>

namespace surety::accounting::choices_test {
namespace {

using reference::refusal_of;

Event event_of(const std::string& text) { return parse_event(text, Adjacency::replace_one); }

/// What the best of strategies on a fine grid is worth: `ranges` are chosen one after the other, first to last, each loss t among
/// 0, range / moves, ..., range, and the last by its closed form. No more than the truth, and less by about 1 / moves^2.
long double played(const std::vector<long double>& ranges, long double x, int moves, std::size_t first = 0) {
  long double left = 0;
  for (std::size_t i = first; i < ranges.size(); ++i) left += ranges[i];
  if (x >= left) return 0;
  if (x <= -left) return -std::expm1(x);
  const long double e = ranges[first];
  if (first + 1 == ranges.size()) {
    const long double root = std::exp(e / 2) - std::exp(x / 2);
    return root * root / std::expm1(e);
  }
  const auto worth = [&](long double t) {
    const long double p = (std::exp(e) - std::exp(t)) / std::expm1(e);
    return p * played(ranges, x - t, moves, first + 1) + (1 - p) * played(ranges, x - t + e, moves, first + 1);
  };
  long double best = 0;
  for (int j = 0; j <= moves; ++j) best = std::max(best, worth(e * j / moves));
  return best;
}

TEST(Choices, OneCostsItsClosedForm) {
  for (const double range : {1e-6, 0.1, 1.0, 3.0, 40.0}) {
    const Event one = release(Event::Exponential{Epsilon{range}}, Adjacency::replace_one);
    for (const double share : {0.0, 0.3, 0.9, 0.999}) {
      const double at = range * share;
      const long double root = -std::expm1(static_cast<long double>(at - range) / 2);
      const long double truth = root * root / -std::expm1(-static_cast<long double>(range));
      const auto found = delta(Choices{}, one, Epsilon{at});
      EXPECT_LE(found.lower, truth * (1 + 1e-14L));
      EXPECT_GE(found.upper, truth * (1 - 1e-14L));
      EXPECT_LE(found.width(), 1e-15 * found.upper);
      if (share == 0 || share > 0.99) continue;
      const auto back = epsilon(Choices{}, one, Delta{found.upper});
      EXPECT_NEAR(back.lower, at, 1e-11 * range);
      EXPECT_LE(back.width(), 1e-13 * range);
    }
    EXPECT_EQ(delta(Choices{}, one, Epsilon{range}), (Enclosure{0, 0}));
    EXPECT_EQ(epsilon(Choices{}, one, Delta{0}), (Enclosure{range, range}));
  }
}

TEST(Choices, HoldWhatAFewAreWorthToStrategies) {
  for (const double range : {0.3, 1.0, 4.0}) {
    for (const double share : {0.1, 0.5, 0.8}) {
      for (const int count : {2, 3}) {
        const double at = share * range * count;
        const int moves = count == 2 ? 1000 : 100;
        const long double value = played(std::vector<long double>(static_cast<std::size_t>(count), range), at, moves);
        const auto found = delta(
            Choices{}, repeat(Count{static_cast<std::uint64_t>(count)}, release(Event::Exponential{Epsilon{range}}, Adjacency::zero_out)),
            Epsilon{at});
        const long double short_of = 8 * static_cast<long double>(range * range + 1) / moves / moves;
        EXPECT_GE(found.upper, value) << range << ", " << at << ", " << count;
        EXPECT_LE(found.lower, value * (1 + short_of)) << range << ", " << at << ", " << count;
        EXPECT_LE(found.upper - found.lower, 2e-4 * found.upper);
      }
    }
  }
}

TEST(Choices, AreMadeInTheOrderThatCostsMost) {
  const struct {
    long double one, other;
    double at;
  } cases[] = {{1, 0.2L, 0.62}, {0.7L, 0.31L, 0.4}, {2, 1.999L, 1.5}, {0.05L, 3, 2.7}};
  for (const auto& c : cases) {
    const long double first = played({c.one, c.other}, c.at, 4000);
    const long double second = played({c.other, c.one}, c.at, 4000);
    const auto found = delta(Choices{},
                             compose({release(Event::Exponential{Epsilon{static_cast<double>(c.one)}}, Adjacency::replace_one),
                                      release(Event::Exponential{Epsilon{static_cast<double>(c.other)}}, Adjacency::replace_one)}),
                             Epsilon{c.at});
    const long double value = std::max(first, second);
    EXPECT_GE(found.upper, value * (1 - 1e-15L)) << c.at;
    EXPECT_LE(found.lower, value * (1 + 2e-6L)) << c.at;
    EXPECT_LE(found.width(), 1e-4 * found.upper) << c.at;
  }
  // The larger range first is worth less, so that the order counts.
  EXPECT_NEAR(static_cast<double>(played({1, 0.2L}, 0.62L, 4000)), 0.0474110, 5e-8);
  EXPECT_NEAR(static_cast<double>(played({0.2L, 1}, 0.62L, 4000)), 0.0506365, 5e-8);
}

TEST(Choices, HoldTheValuesThatOtherProgramsFound) {
  const struct {
    const char* event;
    double delta, low, high;
  } cases[] = {
      {"repeat(10, exponential(1))", 1e-6, 7.7163927, 7.7163951},
      {"repeat(100, exponential(0.1))", 1e-6, 2.2508, 2.2509},
  };
  for (const auto& c : cases) {
    const auto found = epsilon(Choices{}, event_of(c.event), Delta{c.delta});
    EXPECT_LE(found.width(), 1e-5) << c.event;
    EXPECT_LE(found.lower, c.high) << c.event;
    EXPECT_GE(found.upper, c.low) << c.event;
    // The best that one t for all choices can do is a lower bound, and so is nothing that is above.
    const auto loose = epsilon(PrivacyLoss{.width = 1e-2}, event_of(c.event), Delta{c.delta});
    EXPECT_TRUE(overlap(found, loose)) << c.event;
    EXPECT_LT(found.upper, epsilon(Renyi{}, event_of(c.event), Delta{c.delta}).upper) << c.event;
  }
}

TEST(Choices, DeltaAndEpsilonSayTheSame) {
  const Choices accountant{.width = 1e-3};
  for (const auto* text :
       {"repeat(7, exponential(0.8))", "compose(repeat(4, exponential(0.5)), deterministic(10, 5, exponential(1.25)))"}) {
    const Event event = event_of(text);
    for (const double at : {0.1, 0.7, 1.9, 2.4}) {
      const auto found = delta(accountant, event, Epsilon{at});
      ASSERT_GT(found.lower, 0);
      EXPECT_LE(epsilon(accountant, event, Delta{found.upper}).lower, at) << text << ", " << at;
      EXPECT_GE(epsilon(accountant, event, Delta{found.lower * (1 - 1e-12)}).upper, at) << text << ", " << at;
    }
    for (const double at : {0.9, 1e-3, 1e-12}) {
      const auto found = epsilon(accountant, event, Delta{at});
      EXPECT_LE(found.width(), 1e-2) << text << ", " << at;
      if (found.lower > 0) {
        EXPECT_GE(delta(accountant, event, Epsilon{found.lower}).upper, at) << text << ", " << at;
      }
      EXPECT_LE(delta(accountant, event, Epsilon{found.upper}).lower, at) << text << ", " << at;
    }
    // All at once.
    const auto most = epsilon(accountant, event, Delta{0});
    EXPECT_LE(most.width(), 1e-15 * most.upper);
    EXPECT_EQ(delta(accountant, event, Epsilon{most.upper}), (Enclosure{0, 0}));
  }
}

TEST(Choices, ThatShowNothingCostNothing) {
  EXPECT_EQ(epsilon(Choices{}, event_of("repeat(5, exponential(0))"), Delta{1e-6}), (Enclosure{0, 0}));
  EXPECT_EQ(delta(Choices{}, event_of("repeat(5, exponential(0))"), Epsilon{0}), (Enclosure{0, 0}));
  EXPECT_EQ(delta(Choices{}, event_of("compose(exponential(0), exponential(1))"), Epsilon{0.25}),
            delta(Choices{}, event_of("exponential(1)"), Epsilon{0.25}));
  EXPECT_EQ(delta(Choices{}, event_of("parallel(exponential(0.5), exponential(1))"), Epsilon{0.25}),
            delta(Choices{}, event_of("exponential(1)"), Epsilon{0.25}));
}

TEST(Choices, AreAskedByTheBest) {
  const auto best = best_epsilon(event_of("repeat(10, exponential(1))"), Delta{1e-6});
  EXPECT_EQ(best.accountant, Choices::name);
  EXPECT_LE(best.value.width(), 1e-5);
}

TEST(Choices, RefuseByNameWhatIsNoChoice) {
  const auto says = [](const Event& event, const Choices& accountant, const std::string& what) {
    const auto refusal = refusal_of([&] { static_cast<void>(epsilon(accountant, event, Delta{1e-6})); });
    return refusal.message.find(what) != std::string::npos;
  };
  EXPECT_TRUE(says(event_of("compose(exponential(1), gaussian(2))"), {}, "gaussian(2)"));
  EXPECT_TRUE(says(event_of("repeat(2, exponential(300))"), {}, "256"));
  std::vector<Event> many;
  for (int i = 1; i < 20; ++i) many.push_back(release(Event::Exponential{Epsilon{0.1 * i}}, Adjacency::replace_one));
  EXPECT_TRUE(says(compose(many), {}, "states"));
  EXPECT_TRUE(says(event_of("repeat(2, exponential(1))"), {.width = 0}, "width"));
}

// ---- the game by itself ----

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
}  // namespace surety::accounting::choices_test
