// Geometries of mirror descent: a bounded domain, a norm, and the two kinds of steps that go with them.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <surety/optimizers/problem/domain.h>

namespace surety::optimizers {

/// A bounded domain with a norm and a function omega that is 1-strongly convex in it.
///   mirror(costs)                         argmin over the domain of omega(z) + <costs, z>
///   descend(point, gradient, smoothness)  point <- argmin over y in the domain of <gradient, y> + (smoothness / 2) ||y - point||^2, for a
///                                         point of the domain
///   range(dimension)                      Theta, at least the difference of any two values of omega
///   squared_dual_noise(dimension)         at least E ||b||_*^2 for b ~ N(0, I), in the dual norm
/// The norm is at least the l2 norm, so a constant of smoothness in l2 holds in it as well. Numbers are finite, smoothness is greater than
/// 0; results are in the domain to within (size + 16) 2^-51 of its size.
template <class G>
concept Geometry = requires(const G& geometry, std::span<const double> numbers, std::span<double> point, double smoothness,
                            std::size_t dimension) {
  { geometry.mirror(numbers) } -> std::same_as<std::vector<double>>;
  geometry.descend(point, numbers, smoothness);
  { geometry.range(dimension) } -> std::same_as<double>;
  { geometry.squared_dual_noise(dimension) } -> std::same_as<double>;
};

/// Any `Geometry`, which must outlive the reference: called twice a step.
class GeometryRef {
 public:
  template <class G>
  requires(!std::same_as<G, GeometryRef>) &&
      Geometry<G> GeometryRef(const G& geometry) noexcept  // NOLINT(google-explicit-constructor): callers pass the geometry itself
      : geometry_{std::addressof(geometry)},
  calls_{&calls_of<G>} {}

  [[nodiscard]] std::vector<double> mirror(std::span<const double> costs) const { return calls_->mirror(geometry_, costs); }
  void descend(std::span<double> point, std::span<const double> gradient, double smoothness) const {
    calls_->descend(geometry_, point, gradient, smoothness);
  }
  [[nodiscard]] double range(std::size_t dimension) const { return calls_->range(geometry_, dimension); }
  [[nodiscard]] double squared_dual_noise(std::size_t dimension) const { return calls_->squared_dual_noise(geometry_, dimension); }

 private:
  struct Calls {
    std::vector<double> (*mirror)(const void*, std::span<const double>);
    void (*descend)(const void*, std::span<double>, std::span<const double>, double);
    double (*range)(const void*, std::size_t);
    double (*squared_dual_noise)(const void*, std::size_t);
  };
  template <class G>
  static constexpr Calls calls_of{
      .mirror = [](const void* o, std::span<const double> costs) { return static_cast<const G*>(o)->mirror(costs); },
      .descend = [](const void* o, std::span<double> point, std::span<const double> gradient,
                    double smoothness) { static_cast<const G*>(o)->descend(point, gradient, smoothness); },
      .range = [](const void* o, std::size_t dimension) { return static_cast<const G*>(o)->range(dimension); },
      .squared_dual_noise = [](const void* o, std::size_t dimension) { return static_cast<const G*>(o)->squared_dual_noise(dimension); }};

  const void* geometry_;
  const Calls* calls_;
};

/// An l2 ball around the origin, the l2 norm, omega = ||z||_2^2 / 2. Both steps are projections.
struct EuclideanGeometry {
  L2Ball domain;

  [[nodiscard]] std::vector<double> mirror(std::span<const double> costs) const;
  void descend(std::span<double> point, std::span<const double> gradient, double smoothness) const;
  [[nodiscard]] double range(std::size_t dimension) const;
  [[nodiscard]] double squared_dual_noise(std::size_t dimension) const;
};

/// A simplex of scale R, the l1 norm, omega = R sum z_j log z_j. The z-step is exponential weights, and the y-step moves mass from the
/// dearest coordinates to the cheapest one.
struct SimplexGeometry {
  Simplex domain;

  [[nodiscard]] std::vector<double> mirror(std::span<const double> costs) const;

  /// O(d log d). \source docs/proofs/empirical-risk.md#descend
  void descend(std::span<double> point, std::span<const double> gradient, double smoothness) const;

  [[nodiscard]] double range(std::size_t dimension) const;
  [[nodiscard]] double squared_dual_noise(std::size_t dimension) const;
};

/// An l1 ball of radius R around the origin, the l1 norm, and the entropy of the 2d vertices: z = p - q where (p, q) is in the simplex of
/// scale R in R^2d, omega(z) the least R sum p_j log p_j + R sum q_j log q_j. The z-step is exponential weights of the vertices.
struct L1Geometry {
  Radius radius;

  [[nodiscard]] std::vector<double> mirror(std::span<const double> costs) const;

  /// O(d log d). \source docs/proofs/empirical-risk.md#descend
  void descend(std::span<double> point, std::span<const double> gradient, double smoothness) const;

  [[nodiscard]] double range(std::size_t dimension) const;
  [[nodiscard]] double squared_dual_noise(std::size_t dimension) const;
};

static_assert(Geometry<EuclideanGeometry> && Geometry<SimplexGeometry> && Geometry<L1Geometry>);

}  // namespace surety::optimizers
