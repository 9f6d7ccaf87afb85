#include <surety/optimizers/problem/geometry.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <string_view>
#include <vector>

namespace surety::optimizers::geometry_test {
namespace {

double l1(std::span<const double> x) {
  double sum = 0;
  for (const double value : x) sum += std::abs(value);
  return sum;
}
double l2(std::span<const double> x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return std::sqrt(sum);
}
double largest(std::span<const double> x) {
  double most = 0;
  for (const double value : x) most = std::max(most, std::abs(value));
  return most;
}
std::vector<double> minus(std::span<const double> a, std::span<const double> b) {
  std::vector<double> difference(a.size());
  for (std::size_t j = 0; j < a.size(); ++j) difference[j] = a[j] - b[j];
  return difference;
}
double inner(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
  return sum;
}

using Length = double (*)(std::span<const double>);

/// A geometry with its norm, the dual one, and points of its domain: inside, on the boundary, at vertices.
template <class G>
struct Case {
  std::string_view name;
  G geometry;
  Length norm;
  Length dual_norm;
  double radius;
};

const Case<EuclideanGeometry> ball{"ball", EuclideanGeometry{L2Ball{Radius{1.3}}}, l2, l2, 1.3};
const Case<SimplexGeometry> simplex{"simplex", SimplexGeometry{Simplex{Quantity<ScaleRule>{1.3}}}, l1, largest, 1.3};
const Case<L1Geometry> l1_ball{"l1 ball", L1Geometry{Radius{1.3}}, l1, largest, 1.3};

template <class Check>
void with_each(const Check& check) {
  check(ball);
  check(simplex);
  check(l1_ball);
}

template <class G>
std::vector<double> point_of(const Case<G>& c, std::size_t size, std::mt19937_64& random) {
  std::vector<double> point(size);
  for (double& x : point) x = random() % 4 == 0 ? 0 : std::normal_distribution<double>{}(random);
  if (random() % 5 == 0) {
    point.assign(size, 0.0);
    point[random() % size] = random() % 2 == 0 ? 1 : -1;
  }
  if constexpr (std::is_same_v<G, SimplexGeometry>) {
    for (double& x : point) x = std::abs(x);
  }
  const double length = c.norm(point);
  if (length == 0) {
    point[0] = c.radius;
    return point;
  }
  // Half of the points of balls are inside.
  const double share = std::is_same_v<G, SimplexGeometry> || random() % 2 == 0 ? 1 : std::uniform_real_distribution<double>{}(random);
  for (double& x : point) x *= share * c.radius / length;
  return point;
}

template <class G>
bool holds_point(const Case<G>& c, std::span<const double> point) {
  if constexpr (std::is_same_v<G, SimplexGeometry>) {
    double sum = 0;
    for (const double x : point) {
      if (x < 0) return false;
      sum += x;
    }
    return std::abs(sum - c.radius) <= 1e-14;
  }
  return c.norm(point) <= c.radius * (1 + 1e-14);
}

std::vector<double> drawn(std::size_t size, double scale, std::mt19937_64& random) {
  std::vector<double> values(size);
  for (double& x : values) x = random() % 5 == 0 ? 0 : scale * std::normal_distribution<double>{}(random);
  return values;
}

// A convex function on a convex set: no point is better, neither far nor a little way toward any.
TEST(Geometry, DescendsToTheMinimum) {
  std::mt19937_64 random{1};
  for (int trial = 0; trial < 4000; ++trial) {
    const std::size_t size = 1 + random() % 6;
    const double smoothness = std::exp(std::uniform_real_distribution<double>{-3, 3}(random));
    const auto gradient = drawn(size, 1, random);
    with_each([&](const auto& c) {
      const auto start = point_of(c, size, random);
      auto found = start;
      c.geometry.descend(found, gradient, smoothness);
      ASSERT_TRUE(holds_point(c, found)) << c.name;
      const auto cost = [&](std::span<const double> y) {
        const double distance = c.norm(minus(y, start));
        return inner(gradient, y) + smoothness / 2 * distance * distance;
      };
      const double least = cost(found);
      for (int k = 0; k < 12; ++k) {
        const auto other = point_of(c, size, random);
        const double share = k % 3 == 0 ? 1 : k % 3 == 1 ? 0.1 : 1e-3;
        std::vector<double> mixture(size);
        for (std::size_t j = 0; j < size; ++j) mixture[j] = (1 - share) * found[j] + share * other[j];
        ASSERT_GE(cost(mixture), least - 1e-13) << c.name << " size " << size << " trial " << trial;
      }
    });
  }
}

// Two coordinates, where a fine grid of the domain is all that there is.
TEST(Geometry, DescendsToTheMinimumFoundByEnumeration) {
  std::mt19937_64 random{2};
  for (int trial = 0; trial < 30; ++trial) {
    const double smoothness = std::exp(std::uniform_real_distribution<double>{-2, 2}(random));
    const auto gradient = drawn(2, 1, random);
    const auto start = point_of(l1_ball, 2, random);
    const auto cost = [&](std::span<const double> y) {
      const double distance = l1(minus(y, start));
      return inner(gradient, y) + smoothness / 2 * distance * distance;
    };
    auto found = start;
    l1_ball.geometry.descend(found, gradient, smoothness);
    double best = cost(start);
    constexpr int grid = 200;
    for (int a = -grid; a <= grid; ++a) {
      for (int b = -grid + std::abs(a); b <= grid - std::abs(a); ++b) {
        best = std::min(best, cost(std::vector<double>{1.3 * a / grid, 1.3 * b / grid}));
      }
    }
    EXPECT_LE(cost(found), best + 1e-13);
    EXPECT_GE(cost(found), best - 0.0065 * (largest(gradient) + 4 * smoothness));  // a point of the grid is that near
  }
}

// omega is 1-strongly convex in the norm exactly where its minima move no further than the costs do in the dual norm.
TEST(Geometry, MirrorsCostsWithoutExpansion) {
  std::mt19937_64 random{3};
  double most = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    const std::size_t size = 1 + random() % 6;
    const double scale = std::exp(std::uniform_real_distribution<double>{-4, 4}(random));
    const auto a = drawn(size, scale, random);
    auto b = drawn(size, scale, random);
    if (trial % 2 == 0) {
      for (std::size_t j = 0; j < size; ++j) b[j] = a[j] + 0.01 * b[j];
    }
    with_each([&](const auto& c) {
      const auto at_a = c.geometry.mirror(a);
      const auto at_b = c.geometry.mirror(b);
      ASSERT_TRUE(holds_point(c, at_a)) << c.name;
      ASSERT_LE(c.norm(minus(at_a, at_b)), c.dual_norm(minus(a, b)) * (1 + 1e-12) + 1e-14) << c.name;
      if (c.dual_norm(minus(a, b)) > 0) most = std::max(most, c.norm(minus(at_a, at_b)) / c.dual_norm(minus(a, b)));
      // Minima of linear functions plus omega: monotone.
      ASSERT_LE(inner(minus(a, b), minus(at_a, at_b)), 1e-12 * scale) << c.name;
    });
  }
  EXPECT_GT(most, 0.9);
}

// With all the weight on the costs, the minimum is a vertex or a point of the sphere; and omega differs by no more than the range: between
// the minimum z of omega + <c, .> and any v, omega(z) + <c, z> <= omega(v) + <c, v>, so <c, z - v> <= range.
TEST(Geometry, MirrorsLargeCostsToTheBoundary) {
  std::mt19937_64 random{4};
  for (int trial = 0; trial < 500; ++trial) {
    const std::size_t size = 1 + random() % 6;
    const auto costs = drawn(size, std::exp(std::uniform_real_distribution<double>{-2, 5}(random)), random);
    with_each([&](const auto& c) {
      const auto found = c.geometry.mirror(costs);
      double best = inner(costs, found);
      for (int k = 0; k < 20; ++k) best = std::min(best, inner(costs, point_of(c, size, random)));
      ASSERT_LE(inner(costs, found) - best, c.geometry.range(size) * (1 + 1e-12) + 1e-12) << c.name;
    });
  }
  EXPECT_NEAR(l1_ball.geometry.mirror(std::vector<double>{1e6, -3e6, 2e6})[1], 1.3, 1e-15);
  EXPECT_NEAR(simplex.geometry.mirror(std::vector<double>{1e6, -3e6, 2e6})[1], 1.3, 1e-15);
}

// d = 1: z = R (e^-c/R - e^c/R) / (e^-c/R + e^c/R) = -R tanh(c / R). And the simplex by its definition.
TEST(Geometry, MirrorsByItsFormula) {
  EXPECT_NEAR(l1_ball.geometry.mirror(std::vector<double>{0.7})[0], -1.3 * std::tanh(0.7 / 1.3), 1e-15);
  const auto weights = simplex.geometry.mirror(std::vector<double>{0.7, -0.2});
  EXPECT_NEAR(weights[0] / weights[1], std::exp(-0.9 / 1.3), 1e-15);
  EXPECT_EQ(ball.geometry.mirror(std::vector<double>{3, -4}), (std::vector<double>{-1.3 * 0.6, 1.3 * 0.8}));
  EXPECT_EQ(l1_ball.geometry.mirror(std::vector<double>{0, 0, 0}), (std::vector<double>{0, 0, 0}));
}

// Of ||x||^2 / 2 in a ball, and of the entropy of a simplex of d corners, and of the 2d corners of an l1 ball, all of size s.
TEST(Geometry, RangesAreThoseOfItsMirrors) {
  EXPECT_DOUBLE_EQ((EuclideanGeometry{L2Ball{Radius{1.7}}}).range(5), 1.7 * 1.7 / 2);
  EXPECT_DOUBLE_EQ((SimplexGeometry{Simplex{Quantity<ScaleRule>{1.7}}}).range(5), 1.7 * 1.7 * std::log(5.0));
  EXPECT_DOUBLE_EQ((L1Geometry{Radius{1.7}}).range(5), 1.7 * 1.7 * std::log(10.0));
}

TEST(Geometry, BoundsTheDualNormOfNoise) {
  std::mt19937_64 random{5};
  for (const std::size_t size : {std::size_t{1}, std::size_t{2}, std::size_t{10}, std::size_t{300}}) {
    double mean_l2 = 0;
    double mean_largest = 0;
    constexpr int draws = 4000;
    for (int k = 0; k < draws; ++k) {
      std::vector<double> noise(size);
      for (double& b : noise) b = std::normal_distribution<double>{}(random);
      mean_l2 += l2(noise) * l2(noise) / draws;
      mean_largest += largest(noise) * largest(noise) / draws;
    }
    EXPECT_NEAR(ball.geometry.squared_dual_noise(size), mean_l2, 0.15 * mean_l2);
    for (const double bound : {simplex.geometry.squared_dual_noise(size), l1_ball.geometry.squared_dual_noise(size)}) {
      EXPECT_GE(bound, mean_largest);
      EXPECT_LE(bound, 2.2 * mean_largest);
    }
  }
}

}  // namespace
}  // namespace surety::optimizers::geometry_test
