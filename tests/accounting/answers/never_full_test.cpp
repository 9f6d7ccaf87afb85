// Poisson batches whose largest size is practically never reached.
#include <surety/accounting/answers/never_full.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include <support/random.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/event_text.h>

namespace surety::accounting::never_full_test {
namespace {

Event written(const char* text, Adjacency adjacency) { return parse_event(text, adjacency); }
const Event& any_event() {
  static const auto& event = *new Event{parse_event("gaussian(1)", Adjacency::zero_out)};
  return event;
}

/// delta(epsilon) of two outcomes with the masses (p, 1 - p) against (q, 1 - q), p > q.
double two_outcomes(double p, double q, double epsilon) {
  return std::max({0.0, p - std::exp(epsilon) * q, 1 - p - std::exp(epsilon) * (1 - q)});
}

TEST(NeverFull, BoundsPairsWhoseMassesAreMoved) {
  std::mt19937_64 words{7};
  int needed = 0;
  for (int i = 0; i < 300; ++i) {
    const double q = reference::log_uniform(words, 1e-3, 0.2);
    const double p = q * reference::log_uniform(words, 2, 4);
    const double tau = reference::log_uniform(words, 1e-7, 1e-4);
    const double epsilon = reference::log_uniform(words, 0.01, 0.5);
    const auto curve = [&](const Question& at) {
      const double found = two_outcomes(p, q, std::get<Epsilon>(at).value());
      return Enclosure{found, found};
    };
    for (const bool few : {false, true}) {
      const NeverFull moved{any_event(), tau, few};
      const auto bounds = with_full_batches(moved, Epsilon{epsilon}, curve);
      ASSERT_TRUE(bounds);
      const double most = two_outcomes(p + tau, q - tau, epsilon);
      const double least = two_outcomes(p - tau, q + tau, epsilon);
      EXPECT_GE(bounds->upper * (1 + 1e-12), most);
      EXPECT_LE(bounds->lower, (few ? curve(Epsilon{epsilon}).lower : least) * (1 + 1e-12));
      needed += with_full_batches(moved, Epsilon{epsilon}, curve, {.both_sides = false})->upper < most;
    }
  }
  EXPECT_EQ(needed, 600);
}

TEST(NeverFull, TurnsDeltaIntoEpsilon) {
  const auto epsilon_of = [](const Question& at) {
    const double found = std::log(1e-3 / std::get<Delta>(at).value());
    return Enclosure{found - 1e-9, found};
  };
  const double tau = 1e-9;
  const auto found = with_full_batches({any_event(), tau, false}, Delta{1e-5}, epsilon_of);
  ASSERT_TRUE(found);
  // delta_P is 1e-3 e^-epsilon.
  EXPECT_GE(1e-5, 1e-3 * std::exp(-found->upper) + (1 + std::exp(found->upper)) * tau);
  EXPECT_LE(1e-5, 1e-3 * std::exp(-found->lower) - (1 + std::exp(found->lower)) * tau);
  EXPECT_LT(found->width(), 0.1);
  EXPECT_FALSE(with_full_batches({any_event(), 1e-6, false}, Delta{1e-5}, epsilon_of));
}

TEST(NeverFull, KnowsTheTailOfTheBinomial) {
  for (const auto& [rate, largest, records] : {std::tuple{0.1, 13, 20}, std::tuple{0.02, 40, 500}, std::tuple{0.5, 45, 50}}) {
    long double tail = 0;
    const long double q = rate;
    for (int k = largest; k <= records - 1; ++k) {
      tail += std::exp(std::lgamma(static_cast<long double>(records)) - std::lgamma(k + 1.0L) -
                       std::lgamma(static_cast<long double>(records - k)) + k * std::log(q) + (records - 1 - k) * std::log1p(-q));
    }
    const auto whole = [](int number) { return Count{static_cast<std::uint64_t>(number)}; };
    const auto noise = gaussian(NoiseMultiplier{1}, Adjacency::add_or_remove_one);
    const auto event = repeat(Count{10}, truncated_poisson(SamplingRate{rate}, whole(largest), whole(records), noise));
    const auto found = find_never_full(event);
    ASSERT_TRUE(found) << rate;
    EXPECT_GE(static_cast<long double>(found->share), 10 * tail);
    EXPECT_LE(static_cast<long double>(found->share), 200 * tail);
  }
}

TEST(NeverFull, LeavesOutWhatFixesTheNumberOfRecords) {
  constexpr auto adjacency = Adjacency::replace_one;
  EXPECT_TRUE(find_never_full(written("truncated_poisson(0.01, 900, 60000, record_sum(1))", adjacency)));
  EXPECT_FALSE(find_never_full(
      written("compose(truncated_poisson(0.01, 900, 60000, record_sum(1)), without_replacement(70000, 700, gaussian(1)))", adjacency)));
  EXPECT_FALSE(find_never_full(written("truncated_poisson(0.01, 650, 60000, record_sum(1))", adjacency)));
}

TEST(NeverFull, AnswersNextToADeltaOfOne) {
  const auto found = best_epsilon(written("truncated_poisson(0.1, 25, 100, gaussian(0.05))", Adjacency::zero_out), Delta{0.9999});
  EXPECT_EQ(found.value.upper, 0);
}

TEST(NeverFull, AnswersAsPoissonBatches) {
  for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::zero_out}) {
    const auto found = best_epsilon(written("repeat(100000, truncated_poisson(0.00004, 600000, 12900000000, gaussian(0.614)))", adjacency),
                                    Delta{1.1e-10}, {}, Bounds::needed);
    EXPECT_GT(found.value.lower, 1.690098);
    EXPECT_LT(found.value.upper, 1.690103);
  }
}

}  // namespace
}  // namespace surety::accounting::never_full_test
