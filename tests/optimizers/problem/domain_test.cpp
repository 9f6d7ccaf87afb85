#include <surety/optimizers/problem/domain.h>

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <surety/mechanisms/queries/record_sum.h>

#include <support/refusal.h>

namespace surety::optimizers::domain_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double subnormal = std::numeric_limits<double>::denorm_min();
constexpr double largest = std::numeric_limits<double>::max();

// ---- What the tests know of norms, in long double and by other formulas than the code.

long double norm(const std::vector<long double>& x, long double p) {
  long double top = 0;
  for (const long double v : x) top = std::max(top, std::abs(v));
  if (std::isinf(p) || top == 0) return top;
  long double sum = 0;
  for (const long double v : x) {
    if (v != 0) sum += std::exp(p * std::log(std::abs(v) / top));
  }
  return top * std::exp(std::log(sum) / p);
}

std::vector<long double> widened(std::span<const double> x) { return {x.begin(), x.end()}; }
long double norm(std::span<const double> x, long double p) { return norm(widened(x), p); }
long double dual_of(long double p) { return p == 1 ? static_cast<long double>(infinity) : std::isinf(p) ? 1 : p / (p - 1); }

long double dot(std::span<const double> u, std::span<const double> v) {
  long double sum = 0;
  for (std::size_t i = 0; i < u.size(); ++i) sum += static_cast<long double>(u[i]) * v[i];
  return sum;
}

std::vector<long double> difference(std::span<const double> u, std::span<const double> v) {
  std::vector<long double> result(u.size());
  for (std::size_t i = 0; i < u.size(); ++i) result[i] = static_cast<long double>(u[i]) - v[i];
  return result;
}

long double distance(std::span<const double> u, std::span<const double> v) { return norm(difference(u, v), 2); }

// ---- Random inputs: of every size, with zeros, ties and magnitudes far apart.

double any_exponent() {
  return *rc::gen::element(1.0, 1 + 0x1p-52, 1.0001, 1.1, 1.5, 1.9, 2.0, 2.5, 3.0, 7.0, 1e3, 1e9, 1e17, 1e300, infinity);
}

double any_scale() { return *rc::gen::element(1e-310, 1e-200, 1e-4, 1.0, 1.0, 10.0, 1e6, 1e100, 1e300); }

/// Each coordinate is 0, one of few values, any of many, or one of another order of magnitude.
std::vector<double> any_vector(std::size_t size, double scale) {
  const auto few = rc::gen::map(rc::gen::inRange(-2, 3), [](int i) { return 0.5 * i; });
  const auto many = rc::gen::map(rc::gen::inRange(-1'000'000, 1'000'001), [](int i) { return 1e-6 * i; });
  const auto small = rc::gen::map(rc::gen::inRange(0, 40), [](int i) { return std::pow(10.0, -i); });
  auto result = *rc::gen::container<std::vector<double>>(size, rc::gen::oneOf(few, many, small));
  for (double& x : result) x *= scale;
  return result;
}

std::size_t any_size() { return *rc::gen::inRange<std::size_t>(1, 20); }

/// A point of the l_p ball, often on its surface.
std::vector<double> point_of_ball(std::size_t size, double p, double radius) {
  auto point = any_vector(size, 1);
  const auto length = static_cast<double>(norm(point, p));
  const double wanted = *rc::gen::element(1.0, 0.999, 0.3) * radius;
  if (length > 0) {
    for (double& x : point) x = wanted * (x / length);
  }
  return point;
}

std::vector<double> point_of_simplex(std::size_t size, double scale) {
  auto point = any_vector(size, 1);
  double sum = 0;
  for (double& x : point) sum += x = std::abs(x);
  if (sum == 0) {
    point[0] = scale;
    return point;
  }
  for (double& x : point) x = scale * (x / sum);
  return point;
}

std::vector<double> any_direction(std::size_t size, std::mt19937& random) {
  std::normal_distribution<double> coordinate;
  std::vector<double> direction(size);
  for (double& x : direction) x = coordinate(random);
  return direction;
}

// ---- Norms.

RC_GTEST_PROP(LpNorm, IsTheNorm, ()) {
  const double p = any_exponent();
  const auto x = any_vector(any_size(), any_scale());
  const auto exact = norm(x, p);
  RC_ASSERT(std::abs(lp_norm(x, LpExponent{p}) - exact) <= (static_cast<double>(x.size()) + 8) * 0x1p-53L * exact + 2 * subnormal);
}

TEST(LpNorm, NeitherOverflowsNorUnderflowsOnTheWay) {
  for (const double p : {1.5, 2.0, 3.0, 40.0}) {
    for (const double x : {1e300, 1.5e-300, 4 * subnormal}) {
      EXPECT_NEAR(lp_norm(std::vector{x, -x}, LpExponent{p}) / x, std::pow(2, 1 / p), x < 1e-310 ? 0.25 : 1e-15) << p << ' ' << x;
    }
  }
  EXPECT_EQ(lp_norm(std::vector{largest, largest}, LpExponent{1}), infinity);
  EXPECT_EQ(lp_norm(std::vector{largest, largest}, LpExponent{infinity}), largest);
  EXPECT_EQ(lp_norm(std::vector<double>{}, LpExponent{1.5}), 0);
}

TEST(LpNorm, PassesOnWhatIsNotFinite) {
  for (const double p : {1.0, 1.5, 2.0, 3.0, infinity}) {
    EXPECT_TRUE(std::isnan(lp_norm(std::vector{1.0, nan, infinity}, LpExponent{p})));
    EXPECT_TRUE(std::isnan(lp_norm(std::vector{infinity, nan}, LpExponent{p})));
    EXPECT_EQ(lp_norm(std::vector{1.0, -infinity}, LpExponent{p}), infinity);
  }
}

TEST(LpExponent, HasADual) {
  EXPECT_EQ(dual(LpExponent{1}).value(), infinity);
  EXPECT_EQ(dual(LpExponent{infinity}).value(), 1);
  EXPECT_EQ(dual(LpExponent{2}).value(), 2);
  EXPECT_EQ(dual(LpExponent{1.5}).value(), 3);
  EXPECT_EQ(dual(LpExponent{5}).value(), 1.25);
  EXPECT_EQ(dual(LpExponent{1 + 0x1p-52}).value(), 0x1p52 + 1);
  EXPECT_EQ(dual(LpExponent{1e300}).value(), 1);
  EXPECT_EQ(exponent(Norm::l1).value(), 1);
  EXPECT_EQ(exponent(Norm::l2).value(), 2);
  EXPECT_EQ(exponent(Norm::linf).value(), infinity);
}

TEST(LpExponent, RefusesWhatIsNoNorm) {
  const auto says = [](double p) {
    return refuses([=] { LpExponent{p}; }, ErrorCode::invalid_argument, {"p of an l_p norm", "at least 1"});
  };
  EXPECT_TRUE(says(0.999));
  EXPECT_TRUE(says(nan));
  EXPECT_TRUE(says(-infinity));
}

// ---- l_p balls.

/// 0 for the exact projection x of w, and at least ||x - projection||_2^2 for every x: the largest <w - x, v - x> over points v.
long double projection_gap(std::span<const double> w, std::span<const double> x, long double p, long double radius) {
  const auto residual = difference(w, x);
  long double at_x = 0;
  for (std::size_t i = 0; i < x.size(); ++i) at_x += residual[i] * x[i];
  return radius * norm(residual, dual_of(p)) - at_x;
}

RC_GTEST_PROP(LpBall, ProjectsToTheNearestPoint, ()) {
  const double p = any_exponent();
  const double radius = *rc::gen::element(1e-300, 1e-3, 1.5, 1e8, 1e290);
  const LpBall ball{LpExponent{p}, Radius{radius}};
  const auto start = any_vector(any_size(), any_scale());
  auto projected = start;
  ball.project(projected);
  RC_ASSERT(lp_norm(projected, ball.p) <= radius);
  if (lp_norm(start, ball.p) <= radius) RC_ASSERT(projected == start);
  for (std::size_t i = 0; i < start.size(); ++i) RC_ASSERT(std::abs(projected[i]) <= std::abs(start[i]) && projected[i] * start[i] >= 0);
  auto twice = projected;
  ball.project(twice);
  RC_ASSERT(twice == projected);

  const long double away = distance(start, projected);
  RC_ASSERT(projection_gap(start, projected, p, radius) <= 1e-13L * radius * (away + radius));
  const auto other = point_of_ball(start.size(), p, radius);
  RC_ASSERT(away <= distance(start, other) + 1e-13L * radius);
}

/// The projection to the unit ball by bisections alone, on sum x^p = 1 outside and on x + lambda x^(p-1) = y inside.
std::vector<long double> bisected_projection(std::span<const double> y, long double p) {
  std::vector<long double> x(y.size());
  long double low = -120;  // of log lambda
  long double high = std::log(norm(y, 1)) + 1;
  for (int outer = 0; outer < 90; ++outer) {
    const long double lambda = std::exp((low + high) / 2);
    long double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      long double below = 0;
      long double above = y[i];
      for (int inner = 0; inner < 80; ++inner) {
        const long double middle = (below + above) / 2;
        (middle + lambda * std::pow(middle, p - 1) > y[i] ? above : below) = middle;
      }
      x[i] = (below + above) / 2;
      sum += std::pow(x[i], p);
    }
    (sum > 1 ? low : high) = (low + high) / 2;
  }
  return x;
}

TEST(LpBall, AgreesWithBisectionInLongDouble) {
  std::mt19937 random{20};
  std::normal_distribution<double> coordinate;
  for (const double p : {1 + 1e-6, 1.01, 1.2, 1.5, 1.8, 2.2, 3.0, 4.0, 9.0, 300.0, 1e6}) {
    for (const double times : {1 + 1e-9, 1.2, 3.0, 1e4}) {
      std::vector<double> y(1 + random() % 6);
      for (double& value : y) value = std::abs(coordinate(random));
      if (random() % 3 == 0) y[0] *= 1e-8;
      const double scale = times / lp_norm(y, LpExponent{p});
      for (double& value : y) value *= scale;
      const auto exact = bisected_projection(y, p);
      auto x = y;
      LpBall{LpExponent{p}, Radius{1}}.project(x);
      // A relative error 2^-53 of y alone moves the projection by 2^-53 times the condition.
      const double condition = 1 + std::min(times, p < 2 ? 1 / (p - 1) : 1);
      for (std::size_t i = 0; i < y.size(); ++i) {
        EXPECT_LE(std::abs(x[i] - exact[i]), 8 * 0x1p-53 * condition) << "p = " << p << ", " << times << " radii away, coordinate " << i;
      }
    }
  }
}

RC_GTEST_PROP(LpBall, MinimizesLinearFunctions, ()) {
  const double p = any_exponent();
  const double radius = *rc::gen::element(1e-300, 1e-3, 1.5, 1e8, 1e290);
  const LpBall ball{LpExponent{p}, Radius{radius}};
  const auto costs = any_vector(any_size(), any_scale());
  const auto vertex = ball.minimize_linear(costs);
  RC_ASSERT(lp_norm(vertex, ball.p) <= radius);
  // No point is better, by Hoelder's inequality; and by trial.
  const long double smallest = -radius * norm(costs, dual_of(p));
  const auto size = static_cast<double>(costs.size());
  RC_ASSERT(std::abs(dot(costs, vertex) - smallest) <= (size + 16) * 0x1p-53L * -smallest);
  const auto other = point_of_ball(costs.size(), p, radius);
  RC_ASSERT(dot(costs, vertex) <= dot(costs, other) - 1e-13L * smallest);
}

TEST(LpBall, MinimizesAtAVertexOfTheFirstLargestCost) {
  const LpBall ball{LpExponent{1}, Radius{3}};
  EXPECT_EQ(ball.minimize_linear(std::vector{1.0, -2.0, 2.0, -2.0}), (std::vector{0.0, 3.0, 0.0, 0.0}));
  EXPECT_EQ(ball.minimize_linear(std::vector{1.0, 2.0, -2.0}), (std::vector{0.0, -3.0, 0.0}));
  EXPECT_EQ(ball.minimize_linear(std::vector{-subnormal, 0.0}), (std::vector{3.0, 0.0}));
}

TEST(LpBall, MinimizesAtACornerOfTheCube) {
  const LpBall ball{LpExponent{infinity}, Radius{3}};
  EXPECT_EQ(ball.minimize_linear(std::vector{1.0, -1e-300, 0.0, 1e300}), (std::vector{-3.0, 3.0, 0.0, -3.0}));
}

TEST(LpBall, MinimizesZeroCostsAtTheOrigin) {
  for (const double p : {1.0, 1.5, 2.0, 1e9, infinity}) {
    EXPECT_EQ((LpBall{LpExponent{p}, Radius{3}}.minimize_linear(std::vector{0.0, -0.0, nan})), (std::vector{0.0, 0.0, 0.0}));
  }
}

// p -> 1 leaves the largest coordinate alone, p -> infinity makes all equal; where ties are broken by a factor e^-1, p = 1 + 1e-12 does so.
TEST(LpBall, MinimizesNearTheEndsOfTheScale) {
  const auto near_one = LpBall{LpExponent{1 + 0x1p-40}, Radius{1}}.minimize_linear(std::vector{1.0, 1 - 0x1p-40, 0.5});
  EXPECT_NEAR(near_one[1] / near_one[0], std::exp(-1.0), 1e-3);
  EXPECT_EQ(near_one[2], 0);
  const auto near_infinity = LpBall{LpExponent{1e15}, Radius{1}}.minimize_linear(std::vector{1.0, 1e-300, -0.5});
  EXPECT_NEAR(near_infinity[0], -1, 1e-14);
  EXPECT_NEAR(near_infinity[1], -1, 1e-12);
  EXPECT_NEAR(near_infinity[2], 1, 1e-14);
}

RC_GTEST_PROP(LpBall, NoTwoPointsAreFurtherApart, ()) {
  const double p = any_exponent();
  const double r = any_exponent();
  const auto size = any_size();
  const LpBall ball{LpExponent{p}, Radius{1.5}};
  const auto diameter = ball.diameter(LpExponent{r}, size);
  const auto apart = norm(difference(point_of_ball(size, p, 1.5), point_of_ball(size, p, 1.5)), r);
  RC_ASSERT(apart <= diameter * (1 + 1e-13L));
  // Opposite points on an axis or on the diagonal are as far apart.
  const std::vector<double> diagonal(size, 1.0);
  const long double along_diagonal = 3 / norm(diagonal, p) * norm(diagonal, r);
  RC_ASSERT(std::abs(std::max(3.0L, along_diagonal) - diameter) <= 1e-14L * diameter);
}

TEST(LpBall, TakesAnyDoubles) {
  for (const double p : {1.0, 1 + 1e-9, 1.5, 2.0, 3.0, 50.0, 1e20, infinity}) {
    const LpBall ball{LpExponent{p}, Radius{2}};
    const LpExponent q{p};
    for (const auto& extreme : std::vector<std::vector<double>>{{nan, nan},
                                                                {infinity, 1},
                                                                {infinity, -infinity},
                                                                {largest, -largest, nan},
                                                                {1e300, 1e300, 1e300},
                                                                {subnormal, -subnormal},
                                                                {}}) {
      auto projected = extreme;
      ball.project(projected);
      EXPECT_LE(lp_norm(projected, q), 2) << p;
      EXPECT_LE(lp_norm(ball.minimize_linear(extreme), q), 2) << p;
    }
    std::vector<double> far{largest, -largest};
    ball.project(far);
    EXPECT_NEAR(far[0], 2 / std::pow(2, 1 / p), 1e-14) << p;
    EXPECT_EQ(far[0], -far[1]) << p;
    std::vector<double> zero{nan, infinity};
    ball.project(zero);
    EXPECT_EQ(zero[0], 0);
    EXPECT_NEAR(zero[1], 2, 1e-15);
    const LpBall tiny{LpExponent{p}, Radius{subnormal}};
    std::vector<double> weights{1.0, 1.0, 1.0};
    tiny.project(weights);
    EXPECT_LE(lp_norm(weights, q), subnormal);
  }
}

TEST(LpBall, KeepsItsTypedL2CompanionInStep) {
  const std::vector<double> w{3, -4, 1};
  auto a = w;
  auto b = w;
  L2Ball{Radius{1.5}}.project(a);
  LpBall{LpExponent{2}, Radius{1.5}}.project(b);
  EXPECT_EQ(a, b);
  const L2Ball ball{Radius{1.5}};
  EXPECT_EQ(ball.minimize_linear(w), (LpBall{LpExponent{2}, Radius{1.5}}.minimize_linear(w)));
  EXPECT_EQ(ball.diameter(Norm::l2, 9), 3);
  EXPECT_EQ(ball.diameter(Norm::linf, 9), 3);
  EXPECT_EQ(ball.diameter(Norm::l1, 9), 9);
  EXPECT_EQ(ball.diameter(LpExponent{1}, 9), 9);
  EXPECT_EQ(ball.inner_ball(9).radius, 1.5);
}

/// Points at the radius are in the set, to within rounding; for some direction those a little further are not.
template <class D, class Contains>
void check_inner_ball(const D& domain, std::size_t dimension, const Contains& contains, std::vector<double> way_out) {
  const InnerBall ball = domain.inner_ball(dimension);
  const auto moved = [&](std::vector<double> direction, double length) {
    ball.project_direction(direction);
    const double unit = mechanisms::l2_norm(direction);
    for (std::size_t i = 0; i < dimension; ++i) direction[i] = ball.centre[i] + (unit > 0 ? length * direction[i] / unit : 0);
    return direction;
  };
  std::mt19937 random{7};
  for (int trial = 0; trial < 300; ++trial) EXPECT_TRUE(contains(moved(any_direction(dimension, random), ball.radius)));
  if (ball.dimension() == 0) return;
  EXPECT_TRUE(contains(moved(way_out, ball.radius)));
  EXPECT_FALSE(contains(moved(way_out, ball.radius * (1 + 1e-6))));
}

TEST(LpBall, HasAnInnerBall) {
  for (const double p : {1.0, 1.3, 2.0, 5.0, infinity}) {
    for (const std::size_t size : {1U, 2U, 7U}) {
      std::vector<double> axis(size, 0.0);
      axis[0] = 1;
      check_inner_ball(
          LpBall{LpExponent{p}, Radius{1.5}}, size, [&](const auto& x) { return norm(x, p) <= 1.5 * (1 + 1e-9); },
          p < 2 ? std::vector<double>(size, 1.0) : axis);
    }
  }
}

// ---- The simplex.

long double sum(std::span<const double> x) {
  long double result = 0;
  for (const double v : x) result += v;
  return result;
}

RC_GTEST_PROP(Simplex, ProjectsToTheNearestPoint, ()) {
  const double scale = *rc::gen::element(1e-300, 1e-3, 1.5, 1e8);
  const Simplex simplex{Quantity<ScaleRule>{scale}};
  const auto start = any_vector(any_size(), any_scale());
  const auto size = static_cast<double>(start.size());
  auto projected = start;
  simplex.project(projected);
  for (const double x : projected) RC_ASSERT(x >= 0);
  RC_ASSERT(std::abs(sum(projected) - scale) <= (size + 16) * 0x1p-53L * scale);
  auto twice = projected;
  simplex.project(twice);
  RC_ASSERT(distance(projected, twice) <= (size + 16) * 0x1p-52L * scale);

  // The nearest point is max(0, w - t) for one t: where it is positive w - x is t, elsewhere at most t.
  std::size_t top = 0;
  for (std::size_t i = 0; i < start.size(); ++i) top = projected[i] > projected[top] ? i : top;
  for (std::size_t i = 0; i < start.size(); ++i) {
    const long double more = (static_cast<long double>(start[i]) - start[top]) - (static_cast<long double>(projected[i]) - projected[top]);
    RC_ASSERT(more <= 0x1p-51L * scale);
    if (projected[i] > 0) RC_ASSERT(more >= -0x1p-51L * scale);
  }
  RC_ASSERT(distance(start, projected) <= distance(start, point_of_simplex(start.size(), scale)) * (1 + 1e-13L) + 1e-13L * scale);
}

TEST(Simplex, ProjectsFarPointsAsAccurately) {
  std::vector<double> weights{1e15 + 0.25, 1e15, 1e15 - 0.5, -1e300};
  Simplex{Quantity<ScaleRule>{1}}.project(weights);
  EXPECT_EQ(weights, (std::vector{0.625, 0.375, 0.0, 0.0}));
  std::vector<double> signs{1e15 + 0.25, -1e15, 1e15 - 0.5};
  LpBall{LpExponent{1}, Radius{1}}.project(signs);
  EXPECT_EQ(signs, (std::vector{0.625, -0.375, 0.0}));
}

RC_GTEST_PROP(Simplex, MinimizesAtTheFirstBestVertex, ()) {
  const auto costs = any_vector(any_size(), any_scale());
  const auto vertex = Simplex{Quantity<ScaleRule>{2.5}}.minimize_linear(costs);
  std::size_t best = 0;
  for (std::size_t i = 1; i < costs.size(); ++i) best = costs[i] < costs[best] ? i : best;
  for (std::size_t i = 0; i < costs.size(); ++i) RC_ASSERT(vertex[i] == (i == best ? 2.5 : 0));
  RC_ASSERT(dot(costs, vertex) <= dot(costs, point_of_simplex(costs.size(), 2.5)) + 1e-14L * norm(costs, 1));
}

RC_GTEST_PROP(Simplex, NoTwoPointsAreFurtherApart, ()) {
  const double r = any_exponent();
  const auto size = any_size();
  const double diameter = Simplex{Quantity<ScaleRule>{2.5}}.diameter(LpExponent{r}, size);
  RC_ASSERT(norm(difference(point_of_simplex(size, 2.5), point_of_simplex(size, 2.5)), r) <= diameter * (1 + 1e-14L) + 1e-15L);
  if (size == 1) RC_ASSERT(diameter == 0);
  if (size > 1) RC_ASSERT(std::abs(norm(std::vector<long double>{2.5, -2.5}, r) - diameter) <= 1e-14L);
}

TEST(Simplex, TakesAnyDoubles) {
  const Simplex simplex{Quantity<ScaleRule>{2}};
  for (const auto& extreme : std::vector<std::vector<double>>{{nan, nan},
                                                              {infinity, 1, nan},
                                                              {-infinity, infinity},
                                                              {-infinity, -infinity},
                                                              {largest, -largest, subnormal},
                                                              {1e300, 1e300, 1e300},
                                                              {-0.0}}) {
    auto projected = extreme;
    simplex.project(projected);
    for (const double x : projected) EXPECT_GE(x, 0);
    EXPECT_NEAR(static_cast<double>(sum(projected)), 2, 1e-15);
    EXPECT_EQ(sum(simplex.minimize_linear(extreme)), 2);
  }
  EXPECT_EQ(simplex.minimize_linear(std::vector{1.0, nan, -infinity}), (std::vector{0.0, 0.0, 2.0}));
  EXPECT_EQ(simplex.minimize_linear(std::vector{1.0, nan, infinity}), (std::vector{0.0, 2.0, 0.0}));
}

TEST(Simplex, HasAnInnerBall) {
  const Simplex simplex{Quantity<ScaleRule>{2.5}};
  for (const std::size_t size : {1U, 2U, 3U, 8U}) {
    std::vector<double> to_a_facet(size, 0.0);
    to_a_facet[0] = -1;
    const auto contains = [](const auto& x) { return *std::min_element(x.begin(), x.end()) >= -1e-9 && std::abs(sum(x) - 2.5) < 1e-9; };
    check_inner_ball(simplex, size, contains, to_a_facet);
    EXPECT_EQ(simplex.inner_ball(size).dimension(), size - 1);
  }
}

// ---- Boxes.

Box any_box(std::size_t size) {
  auto lower = any_vector(size, 1);
  auto upper = any_vector(size, 1);
  for (std::size_t i = 0; i < size; ++i) {
    if (lower[i] > upper[i]) std::swap(lower[i], upper[i]);
  }
  return Box{{.lower = lower, .upper = upper}};
}

/// Each coordinate is at a bound or between both.
std::vector<double> point_of_box(const Box& box) {
  std::vector<double> point = box.bounds().lower;
  for (std::size_t i = 0; i < point.size(); ++i) {
    const double upper = box.bounds().upper[i];
    point[i] = *rc::gen::element(point[i], upper, point[i] / 2 + upper / 2);
  }
  return point;
}

RC_GTEST_PROP(Box, ProjectsToTheNearestPointAndMinimizesAtACorner, ()) {
  const auto size = any_size();
  const Box box = any_box(size);
  const auto& [lower, upper] = box.bounds();
  const auto start = any_vector(size, any_scale());
  auto projected = start;
  box.project(projected);
  const auto corner = box.minimize_linear(start);
  for (std::size_t i = 0; i < size; ++i) {
    RC_ASSERT(projected[i] >= lower[i] && projected[i] <= upper[i]);
    RC_ASSERT(corner[i] == lower[i] || corner[i] == upper[i]);
  }
  auto twice = projected;
  box.project(twice);
  RC_ASSERT(twice == projected);
  const auto other = point_of_box(box);
  RC_ASSERT(distance(start, projected) <= distance(start, other));
  RC_ASSERT(dot(start, corner) <= dot(start, other) + 1e-16L * norm(start, 1));
  const double r = any_exponent();
  const double diameter = box.diameter(LpExponent{r}, size);
  RC_ASSERT(norm(difference(other, point_of_box(box)), r) <= diameter * (1 + 1e-14L));
  RC_ASSERT(std::abs(norm(difference(upper, lower), r) - diameter) <= 1e-14L * diameter);
}

TEST(Box, TakesAnyDoubles) {
  const Box box{{.lower = {-1, 2, -largest / 2}, .upper = {1, 2, largest / 2}}};
  std::vector<double> weights{nan, infinity, -infinity};
  box.project(weights);
  EXPECT_EQ(weights, (std::vector{0.0, 2.0, -largest / 2}));
  EXPECT_EQ(box.minimize_linear(std::vector{nan, infinity, -infinity}), (std::vector{-1.0, 2.0, largest / 2}));
  EXPECT_EQ(box.minimize_linear(std::vector{0.0, 0.0, -subnormal}), (std::vector{-1.0, 2.0, largest / 2}));
}

TEST(Box, HasAnInnerBall) {
  const Box box{{.lower = {-1, 2, 0, 5}, .upper = {1, 2.5, 7, 5}}};
  const auto contains = [&](const auto& x) {
    bool inside = true;
    for (std::size_t i = 0; i < 4; ++i) inside = inside && x[i] >= box.bounds().lower[i] - 1e-9 && x[i] <= box.bounds().upper[i] + 1e-9;
    return inside;
  };
  check_inner_ball(box, 4, contains, {0, 1, 0, 0});
  EXPECT_EQ(box.inner_ball(4).fixed_sums, (std::vector<std::vector<std::size_t>>{{3}}));
  EXPECT_EQ(box.inner_ball(4).radius, 0.25);
  EXPECT_EQ((Box{{.lower = {3}, .upper = {3}}}.inner_ball(1).radius), 0);
}

TEST(Box, RefusesBoundsThatAreNone) {
  const auto says = [](std::vector<double> lower, std::vector<double> upper, const std::vector<std::string_view>& words) {
    return refuses([&] { Box{{.lower = lower, .upper = upper}}; }, ErrorCode::invalid_argument, words);
  };
  EXPECT_TRUE(says({}, {}, {"dimension is 0", "at least 1"}));
  EXPECT_TRUE(says({1, 2}, {3}, {"upper bound", "has 1 coordinates", "must have 2"}));
  EXPECT_TRUE(says({0, 2}, {1, 1.5}, {"coordinate 1", "2 and 1.5", "in order"}));
  EXPECT_TRUE(says({nan}, {1}, {"coordinate 0", "nan and 1", "finite"}));
  EXPECT_TRUE(says({0}, {infinity}, {"coordinate 0", "0 and inf", "finite"}));
  EXPECT_TRUE(says({-largest}, {largest}, {"coordinate 0", "finite difference"}));
}

// ---- All of them.

TEST(Domains, RefuseDimensionsThatDoNotFit) {
  const auto empty = [](auto action) { return refuses(action, ErrorCode::invalid_argument, {"dimension is 0", "must be at least 1"}); };
  const auto wrong = [](auto action) { return refuses(action, ErrorCode::invalid_argument, {"coordinates, must have 2"}); };
  const Simplex simplex{Quantity<ScaleRule>{1}};
  const LpBall ball{LpExponent{1.5}, Radius{1}};
  const Box box{{.lower = {0, 0}, .upper = {1, 1}}};
  std::vector<double> none;
  std::vector<double> three(3, 1.0);
  EXPECT_TRUE(empty([&] { simplex.project(none); }));
  EXPECT_TRUE(empty([&] { (void)simplex.minimize_linear(none); }));
  EXPECT_TRUE(empty([&] { (void)simplex.diameter(Norm::l1, 0); }));
  EXPECT_TRUE(empty([&] { (void)simplex.inner_ball(0); }));
  EXPECT_TRUE(empty([&] { (void)ball.diameter(Norm::l1, 0); }));
  EXPECT_TRUE(empty([&] { (void)ball.inner_ball(0); }));
  EXPECT_TRUE(wrong([&] { box.project(three); }));
  EXPECT_TRUE(wrong([&] { (void)box.minimize_linear(three); }));
  EXPECT_TRUE(wrong([&] { (void)box.diameter(Norm::l2, 3); }));
  EXPECT_TRUE(wrong([&] { (void)box.inner_ball(3); }));
  EXPECT_TRUE(wrong([&] { simplex.inner_ball(2).project_direction(three); }));
}

TEST(Domains, RefuseSizesThatAreNone) {
  const auto says = [](auto action, std::string_view name) {
    return refuses(action, ErrorCode::invalid_argument, {name, "greater than 0"});
  };
  EXPECT_TRUE(says([] { Radius{0}; }, "radius is 0"));
  EXPECT_TRUE(says([] { Quantity<ScaleRule>{-2}; }, "scale of the simplex is -2"));
}

TEST(WholeSpace, LeavesWeightsAlone) {
  std::vector<double> weights{1e300, -2};
  WholeSpace{}.project(weights);
  EXPECT_EQ(weights, (std::vector<double>{1e300, -2}));
}

}  // namespace
}  // namespace surety::optimizers::domain_test
