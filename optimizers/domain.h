// Where the weights live: a closed convex set, public. An algorithm asks only for what it needs.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <surety/accounting/units.h>
#include <surety/mechanisms/record_sum.h>

namespace surety::optimizers {

enum class Norm { l1, l2, linf };

/// project(w): moves w to the nearest point of the set in l2, to within rounding.
template <class D>
concept Projectable = requires(const D& domain, std::span<double> weights) {
  domain.project(weights);
};

/// minimize_linear(c): a point v of the set with <c, v> smallest.
template <class D>
concept LinearlyMinimizable = requires(const D& domain, std::span<const double> costs) {
  { domain.minimize_linear(costs) } -> std::same_as<std::vector<double>>;
};

/// diameter(norm, dimension): sup ||u - v|| over points u, v of the set in R^dimension.
template <class D>
concept Bounded = requires(const D& domain, Norm norm, std::size_t dimension) {
  { domain.diameter(norm, dimension) } -> std::same_as<double>;
};

/// A set offers at least one way to keep weights inside it.
template <class D>
concept Domain = Projectable<D> || LinearlyMinimizable<D>;

/// All weight vectors; the projection is the identity.
struct WholeSpace {
  void project(std::span<double> /*weights*/) const noexcept {}
};

struct RadiusRule : Positive {
  static constexpr std::string_view name = "radius";
};
using Radius = Quantity<RadiusRule>;

/// {w : ||w||_2 <= radius}.
struct L2Ball {
  Radius radius;

  void project(std::span<double> weights) const {
    const double norm = mechanisms::l2_norm(weights);
    if (!(norm > radius.value())) return;
    for (double& weight : weights) weight *= radius.value() / norm;
  }

  /// -radius c / ||c||_2; the origin for c = 0, where every point is a minimum.
  [[nodiscard]] std::vector<double> minimize_linear(std::span<const double> costs) const {
    const double norm = mechanisms::l2_norm(costs);
    std::vector<double> vertex(costs.size(), 0.0);
    if (norm > 0) std::transform(costs.begin(), costs.end(), vertex.begin(), [&](double c) { return -radius.value() * (c / norm); });
    return vertex;
  }

  [[nodiscard]] double diameter(Norm norm, std::size_t dimension) const {
    // ||u - v|| is largest at opposite points: along an axis in l2 and l-infinity, along the diagonal in l1.
    const double width = 2 * radius.value();
    return norm == Norm::l1 ? width * std::sqrt(static_cast<double>(dimension)) : width;
  }
};

static_assert(Domain<WholeSpace> && Projectable<L2Ball> && LinearlyMinimizable<L2Ball> && Bounded<L2Ball>);

}  // namespace surety::optimizers
