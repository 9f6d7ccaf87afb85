#include <surety/accounting/accountants/choices/choices.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/accountants/composition/composition.h>
#include <surety/accounting/accountants/renyi/renyi.h>
#include <surety/accounting/answers/asked.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/laws/choices/choice_game.h>

#include <support/choice_strategies.h>
#include <support/refusal.h>

namespace surety::accounting::choices_test {
namespace {

using reference::played;
using reference::refusal_of;

Event event_of(const std::string& text) { return parse_event(text, Adjacency::replace_one); }

TEST(Choices, OneCostsItsClosedForm) {
  for (const double range : {1e-6, 0.1, 1.0, 3.0, 40.0}) {
    const Event one = exponential(Epsilon{range}, Adjacency::replace_one);
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
            Choices{}, repeat(Count{static_cast<std::uint64_t>(count)}, exponential(Epsilon{range}, Adjacency::zero_out)), Epsilon{at});
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
                             compose({exponential(Epsilon{static_cast<double>(c.one)}, Adjacency::replace_one),
                                      exponential(Epsilon{static_cast<double>(c.other)}, Adjacency::replace_one)}),
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
    const auto loose = epsilon(Pld{.width = 1e-2}, event_of(c.event), Delta{c.delta});
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
  for (int i = 1; i < 20; ++i) many.push_back(exponential(Epsilon{0.1 * i}, Adjacency::replace_one));
  EXPECT_TRUE(says(compose(many), {}, "states"));
  EXPECT_TRUE(says(event_of("repeat(2, exponential(1))"), {.width = 0}, "width"));
}

// ---- the game by itself ----

}  // namespace
}  // namespace surety::accounting::choices_test
