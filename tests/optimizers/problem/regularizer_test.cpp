#include <surety/optimizers/problem/regularizer.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string_view>
#include <vector>

namespace surety::optimizers::regularizer_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<double> drawn(std::size_t size, double scale, std::mt19937_64& random) {
  std::vector<double> values(size);
  for (double& value : values) value = random() % 5 == 0 ? 0 : scale * std::uniform_real_distribution<double>{-1, 1}(random);
  return values;
}

template <std::derived_from<Regularizer> H>
std::vector<double> mapped(const H& h, double step, std::vector<double> target) {
  h.proximal(step, target);
  return target;
}

/// step h(v) + ||v - target||^2 / 2.
template <std::derived_from<Regularizer> H>
double cost(const H& h, double step, std::span<const double> point, std::span<const double> target) {
  double sum = 0;
  for (std::size_t j = 0; j < point.size(); ++j) sum += (point[j] - target[j]) * (point[j] - target[j]);
  return step * h.value(point) + sum / 2;
}

/// Calls `check(name, h)` with every regularizer, at settings without symmetry.
template <class Check>
void with_each(std::size_t size, const Check& check) {
  check("none", NoRegularizer{});
  check("l2", L2Regularizer{Regularization{0.7}});
  check("l1", L1Regularizer{Regularization{0.4}});
  check("elastic net", ElasticNet{{.l1 = Regularization{0.3}, .l2 = Regularization{1.1}}});
  check("ball", Indicator{L2Ball{Radius{1.3}}});
  check("l1 ball", Indicator{LpBall{LpExponent{1}, Radius{1.3}}});
  check("simplex", Indicator{Simplex{Quantity<ScaleRule>{1.5}}});
  std::vector<double> lower(size);
  std::vector<double> upper(size);
  for (std::size_t j = 0; j < size; ++j) {
    lower[j] = j % 2 == 0 ? -0.5 : 0.25;  // 0 is not in it
    upper[j] = 0.75;
  }
  const Box box{{.lower = lower, .upper = upper}};
  check("box", Indicator{box});
  check("l2 on a ball", L2RegularizerOn{Regularization{0.7}, L2Ball{Radius{1.3}}});
  check("l2 on an l1 ball", L2RegularizerOn{Regularization{0.7}, LpBall{LpExponent{1}, Radius{1.3}}});
  check("l2 on a simplex", L2RegularizerOn{Regularization{2.5}, Simplex{Quantity<ScaleRule>{1.5}}});
  check("l2 on a box", L2RegularizerOn{Regularization{0.7}, box});
}

// One coordinate, where a grid of a million points is all that there is.
TEST(Regularizer, MapsToTheMinimumFoundByEnumeration) {
  std::mt19937_64 random{1};
  for (int trial = 0; trial < 8; ++trial) {
    const double step = 0.2 + 0.4 * trial;
    const std::vector<double> target = drawn(1, 3, random);
    with_each(1, [&](std::string_view name, const auto& h) {
      const auto found = mapped(h, step, target);
      double best = infinity;
      std::vector<double> at(1);
      std::vector<double> point(1);
      for (int k = -20'000; k <= 20'000; ++k) {
        point[0] = k / 5000.0;
        const double here = cost(h, step, point, target);
        if (here < best) {
          best = here;
          at = point;
        }
      }
      EXPECT_NEAR(found[0], at[0], 1.1e-4) << name << ' ' << target[0];
      EXPECT_LE(cost(h, step, found, target), best + 1e-12) << name;
    });
  }
}

/// Calls check(random, step, target) with drawn targets of one to six coordinates and steps whose logarithms are uniform.
template <class Check>
void in_trials(std::uint64_t seed, int trials, std::uniform_real_distribution<double> log_step, const Check& check) {
  std::mt19937_64 random{seed};
  for (int trial = 0; trial < trials; ++trial) {
    const std::size_t size = 1 + random() % 6;
    const double step = std::exp(log_step(random));
    check(random, step, drawn(size, 4, random));
  }
}

// No point is better, neither near nor far: points of the domain are images of the map with step 0, or mixtures with the minimum.
TEST(Regularizer, NoPointIsBetter) {
  in_trials(2, 200, std::uniform_real_distribution{-4.0, 3.0}, [](std::mt19937_64& random, double step, const std::vector<double>& target) {
    const std::size_t size = target.size();
    with_each(size, [&](std::string_view name, const auto& h) {
      const auto found = mapped(h, step, target);
      const double least = cost(h, step, found, target);
      ASSERT_TRUE(std::isfinite(least)) << name;
      for (int k = 0; k < 20; ++k) {
        // step 0 leaves the projection on the domain of h.
        const auto other = mapped(h, 0, drawn(size, 4, random));
        const double share = k % 2 == 0 ? 1 : 1e-3;
        std::vector<double> mixture(size);
        for (std::size_t j = 0; j < size; ++j) mixture[j] = (1 - share) * found[j] + share * other[j];
        ASSERT_GE(cost(h, step, mixture, target), least - 1e-12 * (1 + least)) << name;
      }
    });
  });
}

// The minimum is a fixed point of the optimality condition: (target - v) / step is a subgradient of h at v, so that for every u
//   h(u) >= h(v) + <target - v, u - v> / step + (m / 2) ||u - v||^2.
TEST(Regularizer, LeavesASubgradientAndIsAsStronglyConvexAsItSays) {
  in_trials(3, 300, std::uniform_real_distribution{-2.0, 2.0}, [](std::mt19937_64& random, double step, const std::vector<double>& target) {
    const std::size_t size = target.size();
    with_each(size, [&](std::string_view name, const auto& h) {
      const auto v = mapped(h, step, target);
      const auto u = mapped(h, 0, drawn(size, 4, random));
      double inner = 0;
      double distance = 0;
      for (std::size_t j = 0; j < size; ++j) {
        inner += (target[j] - v[j]) * (u[j] - v[j]);
        distance += (u[j] - v[j]) * (u[j] - v[j]);
      }
      ASSERT_GE(h.value(u) - h.value(v) - inner / step - h.strong_convexity() / 2 * distance, -1e-9) << name << " step " << step;
    });
  });
}

// Two targets move no further apart, and closer by 1 + step m.
TEST(Regularizer, Contracts) {
  in_trials(4, 300, std::uniform_real_distribution{-2.0, 2.0}, [](std::mt19937_64& random, double step, const std::vector<double>& a) {
    const std::size_t size = a.size();
    const auto b = drawn(size, 4, random);
    const auto distance = [](std::span<const double> x, std::span<const double> y) {
      double sum = 0;
      for (std::size_t j = 0; j < x.size(); ++j) sum += (x[j] - y[j]) * (x[j] - y[j]);
      return std::sqrt(sum);
    };
    with_each(size, [&](std::string_view name, const auto& h) {
      EXPECT_LE(distance(mapped(h, step, a), mapped(h, step, b)) * (1 + step * h.strong_convexity()), distance(a, b) + 1e-12) << name;
    });
  });
}

TEST(Regularizer, TheValueIsThatOfTheFormula) {
  const std::vector<double> w{3, -4, 0};
  EXPECT_EQ(NoRegularizer{}.value(w), 0);
  EXPECT_DOUBLE_EQ(L2Regularizer{Regularization{0.2}}.value(w), 2.5);
  EXPECT_DOUBLE_EQ(L1Regularizer{Regularization{0.2}}.value(w), 1.4);
  EXPECT_DOUBLE_EQ((ElasticNet{{.l1 = Regularization{0.2}, .l2 = Regularization{0.4}}}.value(w)), 1.4 + 5);
  EXPECT_EQ(Indicator{L2Ball{Radius{5}}}.value(w), 0);
  EXPECT_EQ(Indicator{L2Ball{Radius{4.999}}}.value(w), infinity);
  EXPECT_DOUBLE_EQ((L2RegularizerOn{Regularization{0.2}, L2Ball{Radius{5}}}.value(w)), 2.5);
  EXPECT_EQ((L2RegularizerOn{Regularization{0.2}, L2Ball{Radius{4.999}}}.value(w)), infinity);
  EXPECT_EQ(Indicator{L2Ball{Radius{5}}}.value(std::vector<double>{std::nan(""), 1}), infinity);
}

// Whatever the target is, the point is finite, in the domain, and what completing the target first gives.
TEST(Regularizer, AnyDoubleIsATarget) {
  const double largest = std::numeric_limits<double>::max();
  const std::vector<std::vector<double>> targets{
      {std::nan(""), 1, -1}, {infinity, 0, -infinity}, {largest, -largest, 1e-320}, {-std::nan(""), infinity, largest}};
  for (const auto& target : targets) {
    std::vector<double> complete = target;
    for (double& w : complete) w = completed(w);
    for (const double step : {0.0, 1e-300, 1.0, 1e300}) {
      with_each(3, [&](std::string_view name, const auto& h) {
        const auto found = mapped(h, step, target);
        for (const double w : found) EXPECT_TRUE(std::isfinite(w)) << name << ' ' << step;
        EXPECT_EQ(found, mapped(h, step, complete)) << name << ' ' << step;
        EXPECT_FALSE(std::isnan(h.value(found))) << name;
      });
    }
  }
}

// The harness above sees the mistakes that are easily made: plant them.
template <class Map>
struct Planted final : Regularizer {
  Planted(ElasticNet net, Map wrong) : h{net}, map{std::move(wrong)} {}
  ElasticNet h;
  Map map;
  [[nodiscard]] double value(std::span<const double> weights) const override { return h.value(weights); }
  void proximal(double step, std::span<double> target) const override { map(h, step, target); }
  [[nodiscard]] double strong_convexity() const override { return h.strong_convexity(); }
};

TEST(Regularizer, AWrongMapIsWorseThanTheRightOne) {
  const ElasticNet h{{.l1 = Regularization{0.3}, .l2 = Regularization{1.1}}};
  const double step = 0.6;
  const std::vector<double> target{2, -0.9, 0.1};
  const double least = cost(h, step, mapped(h, step, target), target);
  const auto swapped = [](const ElasticNet& net, double s, std::span<double> w) {
    L2Regularizer{net.l2}.proximal(s, w);
    L1Regularizer{net.l1}.proximal(s, w);
  };
  const auto gradient = [](const ElasticNet& net, double s, std::span<double> w) {
    L1Regularizer{net.l1}.proximal(s, w);
    for (double& x : w) x *= 1 - s * net.l2.value();
  };
  const auto unscaled = [](const ElasticNet& net, double /*s*/, std::span<double> w) { net.proximal(1, w); };
  EXPECT_GT(cost(h, step, mapped(Planted{h, swapped}, step, target), target), least + 1e-3);
  EXPECT_GT(cost(h, step, mapped(Planted{h, gradient}, step, target), target), least + 1e-3);
  EXPECT_GT(cost(h, step, mapped(Planted{h, unscaled}, step, target), target), least + 1e-3);
}

}  // namespace
}  // namespace surety::optimizers::regularizer_test
