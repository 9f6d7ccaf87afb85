#include <surety/optimizers/streams/online_learner.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numbers>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <surety/mechanisms/queries/record_sum.h>

#include <support/refusal.h>

namespace surety::optimizers::online_learner_test {
namespace {

constexpr double radius = 2;
constexpr double diameter = 2 * radius;
const L2Ball ball{Radius{radius}};

double norm(std::span<const double> v) { return mechanisms::l2_norm(v); }
double inner(std::span<const double> a, std::span<const double> b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }
double squared_norm(std::span<const double> v) { return inner(v, v); }

/// The round's gradient, by round (from 1) and point played.
using Adversary = std::function<std::vector<double>(std::uint64_t, std::span<const double>)>;

std::vector<double> gaussian_vector(std::size_t dimension, std::mt19937_64& random) {
  std::vector<double> v(dimension);
  for (auto& x : v) x = std::normal_distribution<double>{}(random);
  return v;
}

std::vector<double> scaled(std::vector<double> v, double length) {
  const double size = norm(v);
  for (auto& x : v) x *= size > 0 ? length / size : 0;
  return v;
}

struct NamedAdversary {
  std::string name;
  Adversary next;
};

/// Linear losses of gradients of length at most 1: independent, with a drift, against the learner, oscillating, growing, late, none.
std::vector<NamedAdversary> adversaries(std::size_t dimension, std::uint64_t seed) {
  auto random = std::make_shared<std::mt19937_64>(seed);
  const auto axis = [=](double length) {
    std::vector<double> v(dimension, 0.0);
    v[0] = length;
    return v;
  };
  return {
      {"independent", [=](std::uint64_t, std::span<const double>) { return scaled(gaussian_vector(dimension, *random), 1); }},
      {"drift",
       [=](std::uint64_t, std::span<const double>) {
         auto v = gaussian_vector(dimension, *random);
         v[0] += 1;
         return scaled(v, std::uniform_real_distribution<double>{0, 1}(*random));
       }},
      {"against",
       [=](std::uint64_t, std::span<const double> w) {
         return norm(w) > 0 ? scaled({w.begin(), w.end()}, 1) : axis(1);
       }},
      {"outwards",
       [=](std::uint64_t, std::span<const double> w) {
         return norm(w) > 0 ? scaled({w.begin(), w.end()}, -1) : axis(1);
       }},
      {"oscillating", [=](std::uint64_t t, std::span<const double>) { return axis(t % 2 == 0 ? 1 : -1); }},
      {"slow turns", [=](std::uint64_t t, std::span<const double>) { return axis((t / 20) % 2 == 0 ? 1 : -1); }},
      {"growing",
       [=](std::uint64_t t, std::span<const double>) { return axis(std::min(1.0, std::pow(1.1, static_cast<double>(t)) * 1e-9)); }},
      {"shrinking", [=](std::uint64_t t, std::span<const double>) { return axis(std::pow(0.7, static_cast<double>(t))); }},
      {"late", [=](std::uint64_t t, std::span<const double>) { return axis(t > 150 ? -1 : 0); }},
      {"none", [=](std::uint64_t, std::span<const double>) { return axis(0); }},
  };
}

struct Played {
  double loss = 0;             ///< sum of <g_t, w_t>
  std::vector<double> sum;     ///< of gradients
  double squares = 0;          ///< sum of ||g_t||^2
  double squared_changes = 0;  ///< sum of ||g_t - g_{t-1}||^2
  bool feasible = true;
};

template <std::derived_from<OnlineLearner> L>
Played play(L& learner, const Adversary& next, std::uint64_t rounds, double scale) {
  Played played;
  std::vector<double> last;
  for (std::uint64_t t = 1; t <= rounds; ++t) {
    const std::vector<double> w(learner.predict().begin(), learner.predict().end());
    played.feasible = played.feasible && norm(w) <= radius * (1 + 1e-12);
    auto g = next(t, w);
    for (auto& x : g) x *= scale;
    if (played.sum.empty()) played.sum.resize(g.size());
    if (last.empty()) last.resize(g.size());
    for (std::size_t j = 0; j < g.size(); ++j) {
      played.loss += g[j] * w[j];
      played.sum[j] += g[j];
      played.squares += g[j] * g[j];
      played.squared_changes += (g[j] - last[j]) * (g[j] - last[j]);
    }
    last = g;
    learner.update({.gradient = g});
  }
  return played;
}

/// Against the best point of the ball.
double regret(const Played& played) { return played.loss + radius * norm(played.sum); }

/// The largest regret over its bound, over all adversaries, dimensions, scales and starts.
template <class Make, class Bound>
double largest_ratio(Make make, Bound bound) {
  double largest = 0;
  std::mt19937_64 random{7};
  for (const std::size_t dimension : {1U, 3U, 10U}) {
    for (const double scale : {1.0, 1e-8, 1e9}) {
      for (const auto& adversary : adversaries(dimension, random())) {
        auto start = random() % 2 == 0 ? std::vector<double>(dimension, 0.0) : scaled(gaussian_vector(dimension, random), radius);
        auto learner = make(std::move(start));
        const Played played = play(learner, adversary.next, 300, scale);
        EXPECT_TRUE(played.feasible) << adversary.name;
        const double most = bound(played);
        EXPECT_LE(regret(played), most * (1 + 1e-9)) << adversary.name << ", dimension " << dimension << ", scale " << scale;
        if (most > 0) largest = std::max(largest, regret(played) / most);
      }
    }
  }
  return largest;
}

template <class Make, class Bound>
void expect_regret_within_bound(const Make& make, const Bound& bound, double at_least) {
  const double ratio = largest_ratio(make, bound);
  EXPECT_GT(ratio, at_least);
  ::testing::Test::RecordProperty("largest_ratio", std::to_string(ratio));
}

TEST(SubgradientDescent, RegretIsWithinItsBoundAtAnyScale) {
  expect_regret_within_bound(
      [](std::vector<double> start) {
        return SubgradientDescent{ball, std::move(start)};
      },
      [](const Played& played) { return std::sqrt(2 * played.squares) * diameter; }, 0.5);
}

TEST(DualAveraging, RegretIsWithinItsBoundAtAnyScale) {
  expect_regret_within_bound(
      [](std::vector<double> start) {
        return DualAveraging<L2Ball>{ball, std::move(start)};
      },
      [](const Played& played) { return 4 * diameter * std::sqrt(played.squares); }, 0.2);
}

TEST(OptimisticAveraging, RegretIsWithinItsBoundAtAnyScale) {
  expect_regret_within_bound(
      [](std::vector<double> start) {
        return OptimisticAveraging<L2Ball>{ball, std::move(start)};
      },
      [](const Played& played) { return 4 * diameter * std::sqrt(played.squared_changes); }, 0.2);
}

// Counted before the first gradient, it is counted in the bound.
TEST(InitialAccumulator, KeepsTheBoundsOfTheLearnersThatTakeOne) {
  for (const double accumulator : {1e-3, 1.0, 1e4}) {
    largest_ratio(
        [=](std::vector<double> start) {
          return SubgradientDescent{ball, std::move(start), InitialAccumulator{accumulator}};
        },
        [=](const Played& played) { return std::sqrt(2 * (accumulator + played.squares)) * diameter; });
    largest_ratio(
        [=](std::vector<double> start) {
          return DualAveraging<L2Ball>{ball, std::move(start), InitialAccumulator{accumulator}};
        },
        [=](const Played& played) { return 4 * diameter * std::sqrt(accumulator + played.squares); });
    largest_ratio(
        [=](std::vector<double> start) {
          return OptimisticAveraging<L2Ball>{ball, std::move(start), InitialAccumulator{accumulator}};
        },
        [=](const Played& played) { return 4 * diameter * std::sqrt(accumulator + played.squared_changes); });
  }
}

TEST(InitialAccumulator, BoundsTheFirstStep) {
  SubgradientDescent learner{ball, {0, 0}, InitialAccumulator{4999}};
  learner.update({.gradient = std::vector<double>{1, 0}});
  EXPECT_NEAR(learner.predict()[0], -diameter / 100, 1e-15);
}

TEST(OptimisticAveraging, GainsFromGradientsThatChangeSlowly) {
  // A direction that turns ten times in 10,000 rounds.
  const Adversary steady = [](std::uint64_t t, std::span<const double>) {
    const double angle = static_cast<double>(t) * 1e-3 * 2 * std::numbers::pi;
    return std::vector<double>{std::cos(angle), std::sin(angle)};
  };
  OptimisticAveraging<L2Ball> optimistic{ball, {0, 0}};
  DualAveraging<L2Ball> averaging{ball, {0, 0}};
  const double with_guess = regret(play(optimistic, steady, 10'000, 1));
  const double without = regret(play(averaging, steady, 10'000, 1));
  EXPECT_LT(with_guess, without / 4) << without;
}

// loss_t(w) = <a_t, w> + (m_t / 2) ||w - c_t||^2, against the exact minimum of their sum.
TEST(StronglyConvexDescent, RegretIsWithinItsBound) {
  std::mt19937_64 random{11};
  double largest = 0;
  for (int c = 0; c < 300; ++c) {
    const std::size_t dimension = 1 + random() % 5;
    StronglyConvexDescent learner{ball, std::vector<double>(dimension, 0.0)};
    const double power = std::uniform_real_distribution<double>{0, 3}(random);
    double bound = 0;
    double convexity = 0;
    double loss = 0;
    std::vector<double> linear(dimension, 0.0);  // of the sum of all losses
    double constant = 0;
    for (int t = 1; t <= 100; ++t) {
      const double m = std::pow(t, power);
      auto a = scaled(gaussian_vector(dimension, random), m);
      if (c % 3 == 0) a = scaled({learner.predict().begin(), learner.predict().end()}, m);
      const auto centre = scaled(gaussian_vector(dimension, random), radius);
      std::vector<double> g(dimension);
      for (std::size_t j = 0; j < dimension; ++j) {
        const double w = learner.predict()[j];
        g[j] = a[j] + m * (w - centre[j]);
        loss += a[j] * w + m / 2 * (w - centre[j]) * (w - centre[j]);
        linear[j] += a[j] - m * centre[j];
        constant += m / 2 * centre[j] * centre[j];
      }
      convexity += m;
      bound += squared_norm(g) / (2 * convexity);
      learner.update({.gradient = g, .strong_convexity = m});
    }
    std::vector<double> best(dimension);
    for (std::size_t j = 0; j < dimension; ++j) best[j] = -linear[j] / convexity;
    ball.project(best);
    const double least = constant + inner(linear, best) + convexity / 2 * squared_norm(best);
    ASSERT_LE(loss - least, bound * (1 + 1e-9)) << c;
    largest = std::max(largest, (loss - least) / bound);
  }
  EXPECT_GT(largest, 0.5);
  EXPECT_TRUE(refuses(
      [] {
        StronglyConvexDescent learner{ball, {0.0}};
        learner.update({.gradient = std::vector<double>{1.0}});
      },
      ErrorCode::invalid_argument, {"strong convexity is 0"}));
}

TEST(CoinBetting, RegretIsWithinItsBoundForEveryDistanceAtOnce) {
  std::mt19937_64 random{13};
  double largest = 0;
  const std::uint64_t rounds = 300;
  for (const std::size_t dimension : {1U, 3U, 10U}) {
    for (const double wealth : {1e-3, 1.0, 100.0}) {
      for (const auto& adversary : adversaries(dimension, random())) {
        const double bound = 3.5;
        const auto start = random() % 2 == 0 ? std::vector<double>(dimension, 0.0) : scaled(gaussian_vector(dimension, random), 1);
        CoinBetting learner{ball, start, {.gradient_bound = GradientBound{bound}, .wealth = InitialWealth{wealth}}};
        const Played played = play(learner, adversary.next, rounds, bound);
        EXPECT_TRUE(played.feasible) << adversary.name;
        for (const double distance : {0.0, 1e-3, 0.1, 0.5, 1.0, 2.0}) {
          // The best point at this distance from the start, if it is in the ball: <sum, start> - distance ||sum||.
          auto u = scaled(played.sum, -distance);
          for (std::size_t j = 0; j < dimension; ++j) u[j] += start[j];
          if (norm(u) > radius) continue;
          const double found = played.loss - inner(played.sum, u);
          const double squares = played.squares / (bound * bound);
          const double least = wealth / (1.06 * std::pow(1 + 4 * squares, 1.11));
          const double betting = std::max(std::sqrt(2 * squares * std::log1p(2 * squares * distance * distance / (least * least))),
                                          4 * std::max(0.0, std::log(4 * distance / least) - 1));
          const double most = bound * (wealth + distance * betting + std::sqrt(8 * squares) * distance);
          ASSERT_LE(found, most * (1 + 1e-9)) << adversary.name << ", distance " << distance << ", wealth " << wealth;
          if (distance > 0) largest = std::max(largest, found / most);
        }
      }
    }
  }
  EXPECT_GT(largest, 0.5);
  RecordProperty("largest_ratio", std::to_string(largest));
}

// A bet that ran away beyond the boundary would take a hundred rounds to come back.
TEST(CoinBetting, StaysCloseToTheDomainThatItPlaysIn) {
  CoinBetting learner{ball, {0}, {.gradient_bound = GradientBound{1}, .wealth = InitialWealth{1}}};
  for (int t = 0; t < 200; ++t) learner.update({.gradient = std::vector<double>{-1}});
  EXPECT_EQ(learner.predict()[0], radius);
  for (int t = 0; t < 5; ++t) learner.update({.gradient = std::vector<double>{1}});
  EXPECT_LT(learner.predict()[0], radius / 2);
}

TEST(CoinBetting, TakesGradientsBeyondItsBoundForTheBound) {
  const auto after = [](double length) {
    CoinBetting learner{ball, {0, 0}, {.gradient_bound = GradientBound{1}, .wealth = InitialWealth{1}}};
    for (int t = 0; t < 3; ++t) learner.update({.gradient = std::vector<double>{0.6 * length, -0.8 * length}});
    return std::vector<double>(learner.predict().begin(), learner.predict().end());
  };
  EXPECT_NEAR(after(1e300)[0], after(1)[0], 1e-15);
  EXPECT_NEAR(after(1e300)[1], after(1)[1], 1e-15);
  EXPECT_GT(std::abs(after(0.5)[0] - after(1)[0]), 0.01);
}

TEST(OnlineLearner, StartsInTheDomainAndRefusesAGradientOfAnotherLength) {
  SubgradientDescent learner{ball, {30, 40}};
  EXPECT_NEAR(learner.predict()[0], 1.2, 1e-12);
  EXPECT_NEAR(learner.predict()[1], 1.6, 1e-12);
  EXPECT_TRUE(refuses([&] { learner.update({.gradient = std::vector<double>{1.0}}); }, ErrorCode::invalid_argument,
                      {"gradient has 1 coordinates, must have 2"}));
  EXPECT_TRUE(refuses([] { SubgradientDescent{ball, {}}; }, ErrorCode::invalid_argument, {"no coordinates"}));
}

// ---- Planted mistakes, which the same bounds catch. ----

/// Steps that do not shrink.
class ConstantSteps final : public OnlineLearner {
 public:
  explicit ConstantSteps(std::vector<double> start) : weights_{std::move(start)} {}
  [[nodiscard]] std::span<const double> predict() const noexcept override { return weights_; }
  void update(const Feedback& feedback) override {
    for (std::size_t j = 0; j < weights_.size(); ++j) weights_[j] -= sign_ * feedback.gradient[j];
    ball.project(weights_);
  }
  double sign_ = 1;

 private:
  std::vector<double> weights_;
};

TEST(OnlineLearner, PlantedMistakesExceedTheBounds) {
  const auto exceeds = [](auto learner, std::size_t which) {
    const Played played = play(learner, adversaries(2, 3)[which].next, 300, 1);
    return regret(played) > std::sqrt(2 * played.squares) * diameter;
  };
  EXPECT_TRUE(exceeds(ConstantSteps{{2, 0}}, 2));
  ConstantSteps upwards{{0, 0}};
  upwards.sign_ = -1;
  EXPECT_TRUE(exceeds(upwards, 1));
  EXPECT_FALSE(exceeds(SubgradientDescent{ball, {2, 0}}, 2));
}

}  // namespace
}  // namespace surety::optimizers::online_learner_test
