#include <surety/optimizers/problem/conditional_gradient.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <surety/optimizers/problem/matroid.h>

#include <support/drawn_records.h>
#include <support/refusal.h>

namespace surety::optimizers::conditional_gradient_test {
namespace {

double squared_distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += (a[j] - b[j]) * (a[j] - b[j]);
  return sum;
}

// Against the projection, which another algorithm finds: within 4 D^2 / (k + 2), D^2 = 2 on the simplex.
TEST(ConditionalGradient, ComesAsNearAsItsRateSays) {
  std::mt19937_64 random{1};
  const Simplex simplex{Quantity<ScaleRule>{1}};
  double worst = 0;
  for (int c = 0; c < 3000; ++c) {
    const std::size_t size = 1 + random() % 12;
    const auto target = normal_vector(size, std::exp2(static_cast<double>(random() % 9) - 4), random);
    auto nearest = target;
    simplex.project(nearest);
    const Count calls{1 + random() % 60};
    const auto found = nearest_by_conditional_gradient(simplex, target, simplex.minimize_linear(normal_vector(size, 1, random)), calls);
    ASSERT_LE(found.calls, calls.value());
    const double error = squared_distance(found.point, nearest);
    ASSERT_LE(error, 8.0 / static_cast<double>(calls.value() + 2) + 1e-14) << "case " << c;
    ASSERT_LE(error, found.gap + 1e-14);
    worst = std::max(worst, error * static_cast<double>(calls.value() + 2));
  }
  EXPECT_GT(worst, 0.1);  // else the rate was never put to a test
}

TEST(ConditionalGradient, StopsWhereItsGapSaysThatItIsNear) {
  std::mt19937_64 random{2};
  const Simplex simplex{Quantity<ScaleRule>{1}};
  for (int c = 0; c < 300; ++c) {
    const auto target = normal_vector(6, 0.3, random);
    auto nearest = target;
    simplex.project(nearest);
    const auto found = nearest_by_conditional_gradient(simplex, target, {1, 0, 0, 0, 0, 0}, Count{100'000}, 1e-4);
    ASSERT_LE(found.gap, 1e-4);
    std::vector<double> slope(6);
    for (std::size_t j = 0; j < 6; ++j) slope[j] = found.point[j] - target[j];
    const auto vertex = simplex.minimize_linear(slope);
    double gap = 0;
    for (std::size_t j = 0; j < 6; ++j) gap += slope[j] * (found.point[j] - vertex[j]);
    ASSERT_NEAR(found.gap, std::max(gap, 0.0), 1e-15);
    ASSERT_LE(squared_distance(found.point, nearest), 1e-4);
  }
  // A vertex that is the nearest point is known as such by one call.
  const auto vertex = nearest_by_conditional_gradient(simplex, std::vector<double>{3, 0}, {1, 0}, Count{100});
  EXPECT_EQ(vertex.point, (std::vector<double>{1, 0}));
  EXPECT_EQ(vertex.calls, 1U);
  EXPECT_EQ(vertex.gap, 0);
}

TEST(ConditionalGradient, StaysInABasePolytope) {
  std::mt19937_64 random{3};
  const BasePolytope polytope{UniformMatroid{{.size = 7, .rank = 3}}};
  for (int c = 0; c < 300; ++c) {
    const auto target = normal_vector(7, 2, random);
    const auto found = nearest_by_conditional_gradient(polytope, target, polytope.minimize_linear(target), Count{50});
    double sum = 0;
    for (const double x : found.point) {
      ASSERT_GE(x, 0);
      ASSERT_LE(x, 1 + 1e-15);
      sum += x;
    }
    ASSERT_NEAR(sum, 3, 1e-13);
  }
}

TEST(ConditionalGradient, TakesAnyTarget) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Simplex simplex{Quantity<ScaleRule>{1}};
  EXPECT_EQ(nearest_by_conditional_gradient(simplex, std::vector<double>{infinity, 0, nan}, {0, 0, 1}, Count{10}).point,
            (std::vector<double>{1, 0, 0}));
  EXPECT_EQ(nearest_by_conditional_gradient(simplex, std::vector<double>{-infinity, 1e308, -1e308}, {0, 0, 1}, Count{10}).point,
            (std::vector<double>{0, 1, 0}));
  EXPECT_TRUE(refuses(
      [&] {
        static_cast<void>(nearest_by_conditional_gradient(simplex, std::vector<double>{1, 2}, {1, 0, 0}, Count{1}));
      },
      ErrorCode::invalid_argument, {"a start has 3 coordinates", "must have 2"}));
}

}  // namespace
}  // namespace surety::optimizers::conditional_gradient_test
