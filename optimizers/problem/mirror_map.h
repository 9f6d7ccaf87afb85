// Mirror maps: the regularised linear minimum over a domain that lazy mirror descent and accelerated mirror descent step by.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <span>
#include <utility>
#include <vector>

#include <surety/accounting/events/units.h>
#include <surety/optimizers/problem/conditional_gradient.h>
#include <surety/optimizers/problem/domain.h>

namespace surety::optimizers {

/// map(costs, previous): a point of the domain near argmin omega(x) + <costs, x> for the map's own strongly convex omega; `previous` is the
/// last such point, a place to start from, or empty. Results are finite for any costs.
template <class M>
concept MirrorMap = requires(const M& map, std::span<const double> costs, std::span<const double> previous) {
  { map(costs, previous) } -> std::same_as<std::vector<double>>;
};

/// omega = ||x||_2^2 / 2 by linear minimisation: at most `calls` calls of the oracle, from `previous` or a first minimum.
template <std::derived_from<LinearlyMinimizable> D>
struct ConditionalGradientMap {
  D domain;
  Count calls;

  [[nodiscard]] std::vector<double> operator()(std::span<const double> costs, std::span<const double> previous) const {
    std::vector<double> target(costs.begin(), costs.end());
    for (double& x : target) x = -x;
    std::vector<double> start = previous.empty() ? domain.minimize_linear(costs) : std::vector<double>(previous.begin(), previous.end());
    return nearest_by_conditional_gradient(domain, target, std::move(start), calls).point;
  }
};

/// omega = ||x||_2^2 / 2 by projection.
template <std::derived_from<Projectable> D>
struct ProjectionMap {
  D domain;

  [[nodiscard]] std::vector<double> operator()(std::span<const double> costs, std::span<const double> /*previous*/) const {
    std::vector<double> point(costs.begin(), costs.end());
    for (double& x : point) x = -x;
    domain.project(point);
    return point;
  }
};

/// omega = sum x_j log x_j on the simplex: x_j proportional to exp(-costs_j), the exponential weights.
struct EntropicMap {
  Simplex domain;

  [[nodiscard]] std::vector<double> operator()(std::span<const double> costs, std::span<const double> /*previous*/) const {
    std::vector<double> point(costs.begin(), costs.end());
    for (double& x : point) x = completed(x);
    const double least = *std::min_element(point.begin(), point.end());
    double sum = 0;
    for (double& x : point) sum += x = std::exp(least - x);
    for (double& x : point) x *= domain.scale.value() / sum;
    return point;
  }
};

}  // namespace surety::optimizers
