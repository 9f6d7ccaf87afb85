#include <surety/optimizers/problem/domain.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include <surety/base/numbers/hypotenuse.h>
#include <surety/base/text/error.h>
#include <surety/mechanisms/queries/record_sum.h>

namespace surety::optimizers {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double largest_magnitude(std::span<const double> values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

/// base^exponent; square roots and products are several times faster than the general power, and as accurate.
double power(double base, double exponent) {
  if (exponent == 0.5) return std::sqrt(base);
  if (exponent == 1.5) return base * std::sqrt(base);
  if (exponent == 2) return base * base;
  if (exponent == 3) return base * base * base;
  return std::pow(base, exponent);
}

/// Rounding may have left the norm a few units in the last place too long. Ever faster shrinking ends, at the latest at 0.
void pull_inside(std::span<double> weights, const LpBall& ball) {
  for (double shrink = 0x1p-53; lp_norm(weights, ball.p) > ball.radius.value(); shrink *= 2) {
    for (double& weight : weights) weight *= 1 - shrink;
  }
}

void project_l2(std::span<double> weights, double radius) {
  double norm = mechanisms::l2_norm(weights);
  if (norm == infinity) {
    for (double& weight : weights) weight *= 0x1p-64;
    norm = mechanisms::l2_norm(weights);
  }
  for (double& weight : weights) weight = radius * (weight / norm);
}

/// max(0, x_i - t) with sum `total`, for x that has a t; O(n log n). In distances d_i = max x - x_i the answer is max(0, s - d_i), where s
/// = (total + d_1 + .. + d_k) / k for the k smallest distances that are below it: all numbers are at most `total`, however large x is.
class Threshold {
 public:
  template <class Values>
  Threshold(const Values& values, double total) : largest_{*std::max_element(values.begin(), values.end())} {
    std::vector<double> distances;
    for (const double value : values) {
      if (largest_ - value < total) distances.push_back(largest_ - value);
    }
    std::sort(distances.begin(), distances.end());
    double sum = total;
    std::size_t count = 0;
    for (const double distance : distances) {
      if (count > 0 && !(distance < sum / static_cast<double>(count))) break;
      sum += distance;
      ++count;
    }
    at_largest_ = sum / static_cast<double>(count);
  }

  [[nodiscard]] double operator()(double value) const { return std::max(0.0, at_largest_ - (largest_ - value)); }

 private:
  double largest_;
  double at_largest_;
};

void project_l1(std::span<double> weights, double radius) {
  std::vector<double> magnitudes(weights.size());
  std::transform(weights.begin(), weights.end(), magnitudes.begin(), [](double w) { return std::abs(w); });
  const Threshold shrunk{magnitudes, radius};
  for (double& weight : weights) weight = std::copysign(std::min(shrunk(std::abs(weight)), std::abs(weight)), weight);
}

/// x >= 0 with slope x + multiplier x^(p-1) = y, for y > 0, slope >= 0 and multiplier > 0.
double stationary_point(double y, double slope, double multiplier, double p) {
  // Two quadratics, in sqrt(x) and in x.
  if (p == 1.5) {
    const double root = 2 * y / (multiplier + hypotenuse(multiplier, 2 * std::sqrt(slope) * std::sqrt(y)));
    return root * root;
  }
  if (p == 3) return 2 * y / (slope + hypotenuse(slope, 2 * std::sqrt(multiplier) * std::sqrt(y)));
  // In s = log x the logarithm of the left side is convex and increasing, so Newton's method descends to the root from any point
  // above it. Here each term alone is at most y and one of them is y: the left side is at most 2 y.
  const double highest = std::min(y / slope, std::pow(y / multiplier, 1 / (p - 1)));
  double x = highest;
  for (int step = 0; step < 64 && x > 0; ++step) {
    const double linear = slope * x;
    const double other = multiplier * power(x, p - 1);
    const double next = x * std::pow((linear + other) / y, -(linear + other) / (linear + (p - 1) * other));
    const bool done = !(next < x * (1 - 0x1p-52));
    x = std::min(next, highest);
    if (done) break;
  }
  return x;
}

/// The nearest point in units of the radius, for 1 < p < infinity and y outside the ball, y >= 0 in units of its largest coordinate, which
/// is 1/slope radii.
///
/// Stationarity is slope x_i + multiplier x_i^(p-1) = y_i, where multiplier = ||y - slope x||_q <= ||y||_q. Newton's method on
/// ||x(multiplier)||_p^(1-p) - 1, which is linear for p = 2 and for every p once the multiplier is large, inside a bracket. From multiplier
/// 1 - slope on, no x_i exceeds 1.
void project_general(std::span<double> y, double slope, double p) {
  double low = std::max(0.0, 1 - slope);
  double high = lp_norm(y, dual(LpExponent{p}));
  double multiplier = high;
  std::vector<double> x(y.size());
  for (int step = 0; step < 200; ++step) {
    double power_sum = 0;  // ||x||_p^p
    double fall = 0;       // -d log ||x||_p / d log multiplier, times power_sum
    for (std::size_t i = 0; i < y.size(); ++i) {
      x[i] = y[i] > 0 ? stationary_point(y[i], slope, multiplier, p) : 0;
      if (x[i] == 0) continue;
      const double other = multiplier * power(x[i], p - 1);
      const double term = x[i] * (other / multiplier);
      power_sum += term;
      fall += term * (other / (slope * x[i] + (p - 1) * other));
    }
    (power_sum > 1 ? low : high) = multiplier;
    const double log_norm = std::log(power_sum) / p;
    double next = multiplier * (1 + std::expm1((p - 1) * log_norm) / ((p - 1) * (fall / power_sum)));
    // What the rounding of each x_i may do to the norm, and to the multiplier.
    if (std::abs(log_norm) <= 0x1p-51 || std::abs(next - multiplier) <= 0x1p-51 * multiplier) break;
    if (!(next > low && next < high)) next = low + (high - low) / 2;
    if (!(next > low && next < high)) break;
    multiplier = next;
  }
  // Far away and for p near 1 the last digits of the multiplier are too coarse for the norm.
  const double norm = lp_norm(x, LpExponent{p});
  std::transform(x.begin(), x.end(), y.begin(), [&](double value) { return norm > 0 ? value / norm : value; });
}

}  // namespace

void require_dimension(std::string_view what, std::size_t size, std::size_t wanted) {
  if (size == wanted) return;
  throw Error{ErrorCode::invalid_argument, fmt::format("{} has {} coordinates, must have {}", what, size, wanted)};
}

std::vector<double> start_in(const Projectable& domain, std::vector<double> start) {
  if (start.empty()) throw Error{ErrorCode::invalid_argument, "the start has no coordinates, must have at least 1"};
  domain.project(start);
  return start;
}

void require_positive_dimension(std::size_t dimension) {
  if (dimension < 1) throw Error{ErrorCode::invalid_argument, "dimension is 0, must be at least 1"};
}

LpExponent exponent(Norm norm) {
  switch (norm) {
    case Norm::l1: return LpExponent{1};
    case Norm::l2: return LpExponent{2};
    case Norm::linf: break;
  }
  return LpExponent{infinity};
}

LpExponent dual(LpExponent p) {
  if (p.value() == infinity) return LpExponent{1};
  return LpExponent{p.value() / (p.value() - 1)};
}

double lp_norm(std::span<const double> values, LpExponent p) {
  double largest = 0;
  for (const double value : values) {
    if (std::isnan(value)) return value;
    largest = std::max(largest, std::abs(value));
  }
  if (p.value() == infinity || largest == 0 || largest == infinity) return largest;
  if (p.value() == 2) return mechanisms::l2_norm(values);
  double sum = 0;
  if (p.value() == 1) {
    for (const double value : values) sum += std::abs(value);
    return sum;
  }
  // A relative error of a ratio becomes p times that in its power, and 1/p of this in the norm.
  for (const double value : values) {
    if (value != 0) sum += power(std::abs(value) / largest, p.value());
  }
  return largest * std::pow(sum, 1 / p.value());
}

void InnerBall::project_direction(std::span<double> direction) const {
  require_dimension("a direction", direction.size(), centre.size());
  for (const auto& group : fixed_sums) {
    double sum = 0;
    for (const std::size_t i : group) sum += direction[i];
    const double mean = sum / static_cast<double>(group.size());
    for (const std::size_t i : group) direction[i] -= mean;
  }
}

void LpBall::project(std::span<double> weights) const {
  for (double& weight : weights) weight = completed(weight);
  if (lp_norm(weights, p) <= radius.value()) return;
  // Beyond p = 2^60 the ball is the cube to within rounding: size^(1/p) < 1 + 2^-54.
  if (p.value() >= 0x1p60) {
    for (double& weight : weights) weight = std::clamp(weight, -radius.value(), radius.value());
  } else if (p.value() == 2) {
    project_l2(weights, radius.value());
  } else if (p.value() == 1) {
    project_l1(weights, radius.value());
  } else {
    const double largest = largest_magnitude(weights);
    std::vector<double> magnitudes(weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i) magnitudes[i] = std::abs(weights[i]) / largest;
    project_general(magnitudes, radius.value() / largest, p.value());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] = std::copysign(std::min(radius.value() * magnitudes[i], std::abs(weights[i])), weights[i]);
    }
  }
  pull_inside(weights, *this);
}

std::vector<double> LpBall::minimize_linear(std::span<const double> costs) const {
  std::vector<double> vertex(costs.size(), 0.0);
  double largest = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const double magnitude = std::abs(completed(costs[i]));
    if (magnitude > largest) {
      largest = magnitude;
      first = i;
    }
  }
  if (largest == 0) return vertex;
  if (p.value() == 1) {
    vertex[first] = std::copysign(radius.value(), -costs[first]);
    return vertex;
  }
  // In units of the largest cost, so that nothing overflows, and what underflows does not matter. q - 1 = 1 / (p - 1) straight from p: q
  // itself has lost these digits when p is large.
  const double q_minus_1 = 1 / (p.value() - 1);
  double power_sum = 0;  // ||vertex||_p^p
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const double magnitude = std::abs(completed(costs[i]));
    if (magnitude == 0) continue;
    const double cost = magnitude / largest;
    vertex[i] = power(cost, q_minus_1);
    power_sum += cost * vertex[i];
  }
  const double norm = p.value() == infinity ? 1 : std::pow(power_sum, 1 / p.value());
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (vertex[i] != 0) vertex[i] = std::copysign(radius.value() * (vertex[i] / norm), -costs[i]);
  }
  pull_inside(vertex, *this);
  return vertex;
}

double LpBall::diameter(LpExponent r, std::size_t dimension) const {
  require_positive_dimension(dimension);
  return 2 * radius.value() * std::pow(static_cast<double>(dimension), std::max(0.0, 1 / r.value() - 1 / p.value()));
}

InnerBall LpBall::inner_ball(std::size_t dimension) const {
  require_positive_dimension(dimension);
  const double shrink = std::pow(static_cast<double>(dimension), std::max(0.0, 1 / p.value() - 0.5));
  return {.centre = std::vector<double>(dimension, 0.0), .radius = radius.value() / shrink};
}

void Simplex::project(std::span<double> weights) const {
  require_positive_dimension(weights.size());
  for (double& weight : weights) weight = completed(weight);
  const Threshold shrunk{weights, scale.value()};
  for (double& weight : weights) weight = shrunk(weight);
}

std::vector<double> Simplex::minimize_linear(std::span<const double> costs) const {
  require_positive_dimension(costs.size());
  std::vector<double> vertex(costs.size(), 0.0);
  const auto smallest = std::min_element(costs.begin(), costs.end(), [](double a, double b) { return completed(a) < completed(b); });
  vertex[static_cast<std::size_t>(std::distance(costs.begin(), smallest))] = scale.value();
  return vertex;
}

double Simplex::diameter(LpExponent r, std::size_t dimension) const {
  require_positive_dimension(dimension);
  return dimension == 1 ? 0 : scale.value() * std::pow(2, 1 / r.value());
}

InnerBall Simplex::inner_ball(std::size_t dimension) const {
  require_positive_dimension(dimension);
  const auto d = static_cast<double>(dimension);
  std::vector<std::size_t> all(dimension);
  for (std::size_t i = 0; i < dimension; ++i) all[i] = i;
  return {.centre = std::vector<double>(dimension, scale.value() / d),
          .radius = dimension == 1 ? 0 : scale.value() / std::sqrt(d * (d - 1)),
          .fixed_sums = {std::move(all)}};
}

Box::Box(Options bounds) : bounds_{std::move(bounds)} {
  const auto& [lower, upper] = bounds_;
  require_positive_dimension(lower.size());
  require_dimension("the upper bound of a box", upper.size(), lower.size());
  for (std::size_t i = 0; i < lower.size(); ++i) {
    if (!(std::isfinite(upper[i] - lower[i]) && lower[i] <= upper[i])) {
      throw Error{ErrorCode::invalid_argument,
                  fmt::format("bounds of coordinate {} of a box are {} and {}, must be finite, in order, and of finite difference", i,
                              lower[i], upper[i])};
    }
  }
}

void Box::project(std::span<double> weights) const {
  require_dimension("a weight vector", weights.size(), bounds_.lower.size());
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = std::clamp(completed(weights[i]), bounds_.lower[i], bounds_.upper[i]);
}

std::vector<double> Box::minimize_linear(std::span<const double> costs) const {
  require_dimension("a cost vector", costs.size(), bounds_.lower.size());
  std::vector<double> vertex = bounds_.lower;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (costs[i] < 0) vertex[i] = bounds_.upper[i];
  }
  return vertex;
}

double Box::diameter(LpExponent r, std::size_t dimension) const {
  require_dimension("a box's space", dimension, bounds_.lower.size());
  std::vector<double> widths(dimension);
  for (std::size_t i = 0; i < dimension; ++i) widths[i] = bounds_.upper[i] - bounds_.lower[i];
  return lp_norm(widths, r);
}

InnerBall Box::inner_ball(std::size_t dimension) const {
  require_dimension("a box's space", dimension, bounds_.lower.size());
  InnerBall ball{.centre = std::vector<double>(dimension), .radius = infinity};
  for (std::size_t i = 0; i < dimension; ++i) {
    const double half_width = (bounds_.upper[i] - bounds_.lower[i]) / 2;
    ball.centre[i] = bounds_.lower[i] + half_width;
    if (half_width > 0) {
      ball.radius = std::min(ball.radius, half_width);
    } else {
      ball.fixed_sums.push_back({i});
    }
  }
  if (ball.dimension() == 0) ball.radius = 0;
  return ball;
}

}  // namespace surety::optimizers
