// Basic composition of an event's parts, against all outcomes of all of them.
#include <surety/accounting/answers/by_parts.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/answers/best.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::by_parts_test {
namespace {

struct Outcome {
  double p;
  double q;
};
using Pair = std::vector<Outcome>;

/// The larger curve of both directions.
double curve(const Pair& pair, double epsilon) {
  double with = 0;
  double without = 0;
  for (const auto& [p, q] : pair) {
    with += std::max(0.0, p - std::exp(epsilon) * q);
    without += std::max(0.0, q - std::exp(epsilon) * p);
  }
  return std::max(with, without);
}
/// The smallest epsilon at which it is at most `delta`; infinity where that is above 60.
double epsilon_of(const Pair& pair, double delta) {
  double low = 0;
  double high = 60;
  if (curve(pair, high) > delta) return infinity;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (curve(pair, middle) > delta ? low : high) = middle;
  }
  return curve(pair, 0) <= delta ? 0 : high;
}
Pair product(const Pair& x, const Pair& y) {
  Pair all;
  for (const auto& one : x) {
    for (const auto& other : y) all.push_back({one.p * other.p, one.q * other.q});
  }
  return all;
}

Pair randomized_response(double truth, int categories) {
  const double other = (1 - truth) / (categories - 1);
  return {{truth, other}, {other, truth}, {1 - truth - other, 1 - truth - other}};
}
Pair discrete_laplace(double scale) {
  constexpr int far = 12;
  Pair pair;
  double mass = 0;
  for (int i = -far; i <= far + 1; ++i) {
    pair.push_back({std::exp(-std::abs(i) / scale), std::exp(-std::abs(i - 1) / scale)});
    mass += pair.back().p;
  }
  for (auto& [p, q] : pair) {
    p /= mass;
    q /= mass;
  }
  return pair;
}
/// Shows everything with this probability.
Pair shown_with(double probability) { return {{probability, 0}, {0, probability}, {1 - probability, 1 - probability}}; }

struct Part {
  Event event;  // a name for the pair, and where it is a batch how probably that is joined
  Pair pair;
};
Event event(const std::string& text) { return parse_event(text, Adjacency::add_or_remove_one); }

std::optional<double> summed(const std::vector<Part>& parts, const Question& question) {
  std::vector<Event> events;
  for (const auto& part : parts) events.push_back(part.event);
  return by_parts(events, question, [&](const Event& asked, const Question& at) {
    const auto& found = *std::find_if(parts.begin(), parts.end(), [&](const Part& part) { return part.event == asked; });
    const auto* delta = std::get_if<Delta>(&at);
    const double value = delta != nullptr ? epsilon_of(found.pair, delta->value()) : curve(found.pair, std::get<Epsilon>(at).value());
    return Enclosure{value, value};
  });
}
Pair all_of(const std::vector<Part>& parts) {
  Pair all{{1, 1}};
  for (const auto& part : parts) all = product(all, part.pair);
  return all;
}

TEST(ByParts, LiesAboveAllOutcomesOfAll) {
  std::mt19937_64 bits{20261128};
  std::uniform_real_distribution<double> unit{0, 1};
  int finite = 0;
  for (int i = 0; i < 400; ++i) {
    const double q = 0.3 * unit(bits) * unit(bits);
    std::vector<Part> parts{{event("pure(1)"), randomized_response(0.3 + 0.65 * unit(bits), 2 + i % 5)},
                            {event("pure(2)"), discrete_laplace(0.4 + 2 * unit(bits))},
                            {event("pure(3)"), shown_with(0.3 * unit(bits) * unit(bits))}};
    if (i % 2 == 0) parts.push_back({event(fmt::format("poisson({}, pure(4))", q)), shown_with(q)});
    const Pair all = all_of(parts);
    const double delta = unit(bits) * unit(bits) * unit(bits);
    if (const auto found = summed(parts, Delta{delta}); found && *found < infinity) {
      ++finite;
      EXPECT_GE(*found, epsilon_of(all, delta) - 1e-9) << i << " " << delta;
    }
    const double epsilon = 5 * unit(bits);
    EXPECT_GE(summed(parts, Epsilon{epsilon}).value(), curve(all, epsilon) - 1e-12) << i << " " << epsilon;
  }
  EXPECT_GT(finite, 50);
}

// Attained: each shows everything with .1, and both together with .19.
TEST(ByParts, AddsUpWhatIsSpent) {
  const std::vector<Part> parts{{event("pure(1)"), shown_with(0.1)}, {event("pure(2)"), shown_with(0.1)}};
  EXPECT_EQ(summed(parts, Delta{0.1}).value(), infinity);
  EXPECT_EQ(summed(parts, Delta{0.19}).value(), infinity);
  EXPECT_EQ(summed(parts, Delta{0.2000001}).value(), 0);
  EXPECT_NEAR(summed(parts, Epsilon{1}).value(), 0.2, 1e-12);
}

// Three batches of .1 are joined with up to .3, and cost no more than that.
TEST(ByParts, SpendsOnRareBatchesWhatTheyAreJoinedWith) {
  const std::vector<Part> parts{
      {event("repeat(3, poisson(0.1, pure(4)))"),
       all_of({{event("pure(1)"), shown_with(0.1)}, {event("pure(1)"), shown_with(0.1)}, {event("pure(1)"), shown_with(0.1)}})},
      {event("pure(2)"), discrete_laplace(2)}};
  const Pair all = all_of(parts);
  for (const double delta : {0.15, 0.25, 0.301, 0.4}) {
    EXPECT_GE(summed(parts, Delta{delta}).value(), epsilon_of(all, delta) - 1e-9) << delta;
  }
  EXPECT_EQ(summed(parts, Delta{0.15}).value(), infinity);
  EXPECT_LE(summed(parts, Delta{0.301}).value(), 0.5);
  EXPECT_LE(summed(parts, Epsilon{0.5}).value(), 0.300001);
}

TEST(ByParts, OfFewDifferentReleasesAreAskedWhereWhatIsKnownIsWide) {
  EXPECT_FALSE(few_parts(event("repeat(9, gaussian(1))")));
  EXPECT_FALSE(few_parts(event("compose(gaussian(1), gaussian(2), gaussian(3), gaussian(4), gaussian(5))")));
  const auto parts = few_parts(event("compose(gaussian(1), repeat(3, laplace(2)), gaussian(1))")).value();
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0], event("repeat(2, gaussian(1))"));
  EXPECT_EQ(parts[1], event("repeat(3, laplace(2))"));
  EXPECT_FALSE(may_add_up_to_less(parts, Delta{1e-6}, {5, 9.9}));
  EXPECT_TRUE(may_add_up_to_less(parts, Delta{1e-6}, {5, 100}));
  // Each of them costs something.
  EXPECT_FALSE(may_add_up_to_less(parts, Delta{1e-6}, {0, 0.01}));
}

// No grid takes both, and Renyi divergences of the first are beyond 1e7.
TEST(ByParts, AnswersWhatNoGridTakes) {
  const Event beside = parse_event(
      "compose(without_replacement(6907160, 5, discrete_gaussian(0.3821369671803871, 5141)), repeat(4, randomized_response(0.02016272356221352, 132401)))",
      Adjacency::replace_one);
  const auto found = best_epsilon(beside, Delta{1e-6});
  EXPECT_EQ(found.accountant, "basic-composition");
  EXPECT_GT(found.value.lower, 7.8);
  EXPECT_LT(found.value.upper, 30.72);
  EXPECT_EQ(second_opinion(found), nullptr);
  const auto at_31 = best_delta(beside, Epsilon{31});
  EXPECT_LT(at_31.value.upper, 8.1e-7);
  EXPECT_GT(at_31.value.lower, 7.2e-7);
}

}  // namespace
}  // namespace surety::accounting::by_parts_test
