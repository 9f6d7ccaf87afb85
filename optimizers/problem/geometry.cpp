#include <surety/optimizers/problem/geometry.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <surety/optimizers/problem/mirror_map.h>

namespace surety::optimizers {
namespace {

/// E max_j b_j^2 <= 2 log d + 2 for b ~ N(0, I): the integral over t of the lesser of 1 and d P(b_1^2 > t) <= d exp(-t / 2).
double squared_largest_normal(std::size_t dimension) { return 2 * std::log(static_cast<double>(dimension)) + 2; }

/// Indices 0 .. size - 1 by falling key.
template <class Key>
std::vector<std::size_t> by_falling(std::size_t size, const Key& key) {
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) > key(b); });
  return order;
}

}  // namespace

std::vector<double> EuclideanGeometry::mirror(std::span<const double> costs) const { return ProjectionMap<L2Ball>{domain}(costs, {}); }

void EuclideanGeometry::descend(std::span<double> point, std::span<const double> gradient, double smoothness) const {
  for (std::size_t j = 0; j < point.size(); ++j) point[j] -= gradient[j] / smoothness;
  domain.project(point);
}

double EuclideanGeometry::range(std::size_t /*dimension*/) const { return domain.radius.value() * domain.radius.value() / 2; }

double EuclideanGeometry::squared_dual_noise(std::size_t dimension) const { return static_cast<double>(dimension); }

std::vector<double> SimplexGeometry::mirror(std::span<const double> costs) const {
  std::vector<double> scaled(costs.begin(), costs.end());
  for (double& cost : scaled) cost /= domain.scale.value();
  return EntropicMap{domain}(scaled, {});
}

void SimplexGeometry::descend(std::span<double> point, std::span<const double> gradient, double smoothness) const {
  const auto order = by_falling(point.size(), [&](std::size_t j) { return gradient[j]; });
  const std::size_t cheapest = order.back();
  double moved = 0;
  for (const std::size_t j : order) {
    // The next bit of mass gains g_j - g_cheapest and costs 4 M moved: ||y - x||_1 is 2 moved.
    const double worthwhile = (gradient[j] - gradient[cheapest]) / (4 * smoothness) - moved;
    if (!(worthwhile > 0)) break;
    const double mass = std::min(point[j], worthwhile);
    point[j] -= mass;
    moved += mass;
  }
  point[cheapest] += moved;
}

double SimplexGeometry::range(std::size_t dimension) const {
  return domain.scale.value() * domain.scale.value() * std::log(static_cast<double>(dimension));
}

double SimplexGeometry::squared_dual_noise(std::size_t dimension) const { return squared_largest_normal(dimension); }

std::vector<double> L1Geometry::mirror(std::span<const double> costs) const {
  std::vector<double> point(costs.begin(), costs.end());
  double largest = 0;
  for (double& x : point) {
    x = completed(x) / radius.value();
    largest = std::max(largest, std::abs(x));
  }
  double sum = 0;
  for (double& x : point) {
    // The vertices +R e_j and -R e_j cost x and -x.
    const double plus = std::exp(-x - largest);
    const double minus = std::exp(x - largest);
    sum += plus + minus;
    x = plus - minus;
  }
  for (double& x : point) x *= radius.value() / sum;
  return point;
}

void L1Geometry::descend(std::span<double> point, std::span<const double> gradient, double smoothness) const {
  const auto steepest = static_cast<std::size_t>(
      std::max_element(gradient.begin(), gradient.end(), [](double a, double b) { return std::abs(a) < std::abs(b); }) - gradient.begin());
  const double slope = std::abs(gradient[steepest]);
  const double sign = gradient[steepest] > 0 ? -1 : 1;
  double others = 0;
  for (std::size_t j = 0; j < point.size(); ++j) others += j == steepest ? 0 : std::abs(point[j]);
  // No direction gains more per length than the steepest axis, as long as the ball has room there.
  const double room = std::max(0.0, radius.value() - others - sign * point[steepest]);
  const double along = std::min(room, slope / smoothness);
  point[steepest] += sign * along;
  if (along < room) return;
  // From there on length along the axis must be taken from other coordinates: h + slope for a length of 2.
  const auto falling = [&](std::size_t j) { return std::copysign(gradient[j], gradient[j] * point[j]); };
  double moved = 0;
  for (const std::size_t j : by_falling(point.size(), falling)) {
    if (j == steepest) continue;
    const double worthwhile = (falling(j) + slope) / (4 * smoothness) - along / 2 - moved;
    if (!(worthwhile > 0)) break;
    const double length = std::min(std::abs(point[j]), worthwhile);
    point[j] -= std::copysign(length, point[j]);
    moved += length;
  }
  point[steepest] += sign * moved;
}

double L1Geometry::range(std::size_t dimension) const {
  return radius.value() * radius.value() * std::log(2 * static_cast<double>(dimension));
}

double L1Geometry::squared_dual_noise(std::size_t dimension) const { return squared_largest_normal(dimension); }

}  // namespace surety::optimizers
