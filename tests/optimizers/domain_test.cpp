#include <surety/optimizers/domain.h>

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace surety::optimizers {
namespace {

const L2Ball ball{Radius{1.5}};

std::vector<double> any_vector(std::size_t size, double scale) {
  const auto coordinate = rc::gen::map(rc::gen::inRange(-1000, 1001), [=](int i) { return scale * i; });
  return *rc::gen::container<std::vector<double>>(size, coordinate);
}

double distance(std::span<const double> u, std::span<const double> v) {
  std::vector<double> difference(u.size());
  for (std::size_t i = 0; i < u.size(); ++i) difference[i] = u[i] - v[i];
  return mechanisms::l2_norm(difference);
}

/// A point of the ball.
std::vector<double> any_point(std::size_t size) {
  auto point = any_vector(size, 1);
  const double norm = mechanisms::l2_norm(point);
  const double length = *rc::gen::inRange(0, 1001) / 1000.0 * ball.radius.value();
  if (norm > 0) {
    for (double& x : point) x *= length / norm;
  }
  return point;
}

RC_GTEST_PROP(L2Ball, ProjectsToTheNearestPoint, ()) {
  const auto size = *rc::gen::inRange<std::size_t>(1, 20);
  const auto start = any_vector(size, *rc::gen::element(1e-4, 1.0, 1e200));
  auto projected = start;
  ball.project(projected);
  RC_ASSERT(mechanisms::l2_norm(projected) <= 1.5 * (1 + 1e-14));
  const auto other = any_point(size);
  RC_ASSERT(distance(start, projected) <= distance(start, other) * (1 + 1e-12));
  auto twice = projected;
  ball.project(twice);
  RC_ASSERT(distance(projected, twice) <= 1e-14);
  if (mechanisms::l2_norm(start) <= 1.5) RC_ASSERT(projected == start);
}

RC_GTEST_PROP(L2Ball, MinimizesLinearFunctions, ()) {
  const auto size = *rc::gen::inRange<std::size_t>(1, 20);
  const auto costs = any_vector(size, *rc::gen::element(1e-200, 1.0, 1e200));
  const auto vertex = ball.minimize_linear(costs);
  RC_ASSERT(mechanisms::l2_norm(vertex) <= 1.5 * (1 + 1e-14));
  const auto other = any_point(size);
  const double at_vertex = std::inner_product(costs.begin(), costs.end(), vertex.begin(), 0.0);
  const double at_other = std::inner_product(costs.begin(), costs.end(), other.begin(), 0.0);
  RC_ASSERT(at_vertex <= at_other + 1e-12 * std::abs(at_vertex));
}

RC_GTEST_PROP(L2Ball, NoTwoPointsAreFurtherApart, ()) {
  const auto size = *rc::gen::inRange<std::size_t>(1, 20);
  const auto u = any_point(size);
  const auto v = any_point(size);
  double l1 = 0;
  double linf = 0;
  for (std::size_t i = 0; i < size; ++i) {
    l1 += std::abs(u[i] - v[i]);
    linf = std::max(linf, std::abs(u[i] - v[i]));
  }
  RC_ASSERT(l1 <= ball.diameter(Norm::l1, size) * (1 + 1e-14));
  RC_ASSERT(distance(u, v) <= ball.diameter(Norm::l2, size) * (1 + 1e-14));
  RC_ASSERT(linf <= ball.diameter(Norm::linf, size) * (1 + 1e-14));
}

TEST(L2Ball, DiametersAreReached) {
  EXPECT_EQ(ball.diameter(Norm::l2, 9), 3);
  EXPECT_EQ(ball.diameter(Norm::linf, 9), 3);
  EXPECT_EQ(ball.diameter(Norm::l1, 9), 9);
}

TEST(WholeSpace, LeavesWeightsAlone) {
  std::vector<double> weights{1e300, -2};
  WholeSpace{}.project(weights);
  EXPECT_EQ(weights, (std::vector<double>{1e300, -2}));
}

}  // namespace
}  // namespace surety::optimizers
