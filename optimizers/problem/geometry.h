// Geometries of mirror descent: a bounded domain, a norm, and the two kinds of steps that go with them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <surety/optimizers/problem/domain.h>

namespace surety::optimizers {

/// A bounded domain with a norm and a function omega that is 1-strongly convex in it.
///
/// The norm is at least the l2 norm, so a constant of smoothness in l2 holds in it as well. Numbers are finite, smoothness is greater than
/// 0; results are in the domain to within (size + 16) 2^-51 of its size. Asked twice a step.
class Geometry {
 public:
  virtual ~Geometry() = default;

  /// argmin over the domain of omega(z) + <costs, z>.
  [[nodiscard]] virtual std::vector<double> mirror(std::span<const double> costs) const = 0;
  /// point <- argmin over y in the domain of <gradient, y> + (smoothness / 2) ||y - point||^2, for a point of the domain.
  virtual void descend(std::span<double> point, std::span<const double> gradient, double smoothness) const = 0;
  /// Theta, at least the difference of any two values of omega.
  [[nodiscard]] virtual double range(std::size_t dimension) const = 0;
  /// At least E ||b||_*^2 for b ~ N(0, I), in the dual norm.
  [[nodiscard]] virtual double squared_dual_noise(std::size_t dimension) const = 0;
};

/// An l2 ball around the origin, the l2 norm, omega = ||z||_2^2 / 2. Both steps are projections.
struct EuclideanGeometry final : Geometry {
  explicit EuclideanGeometry(L2Ball set) : domain{set} {}

  L2Ball domain;

  [[nodiscard]] std::vector<double> mirror(std::span<const double> costs) const override;
  void descend(std::span<double> point, std::span<const double> gradient, double smoothness) const override;
  [[nodiscard]] double range(std::size_t dimension) const override;
  [[nodiscard]] double squared_dual_noise(std::size_t dimension) const override;
};

/// A simplex of scale R, the l1 norm, omega = R sum z_j log z_j. The z-step is exponential weights, and the y-step moves mass from the
/// dearest coordinates to the cheapest one.
struct SimplexGeometry final : Geometry {
  explicit SimplexGeometry(Simplex set) : domain{set} {}

  Simplex domain;

  [[nodiscard]] std::vector<double> mirror(std::span<const double> costs) const override;

  /// O(d log d). \source docs/proofs/empirical-risk.md#descend
  void descend(std::span<double> point, std::span<const double> gradient, double smoothness) const override;

  [[nodiscard]] double range(std::size_t dimension) const override;
  [[nodiscard]] double squared_dual_noise(std::size_t dimension) const override;
};

/// An l1 ball of radius R around the origin, the l1 norm, and the entropy of the 2d vertices: z = p - q where (p, q) is in the simplex of
/// scale R in R^2d, omega(z) the least R sum p_j log p_j + R sum q_j log q_j. The z-step is exponential weights of the vertices.
struct L1Geometry final : Geometry {
  explicit L1Geometry(Radius within) : radius{within} {}

  Radius radius;

  [[nodiscard]] std::vector<double> mirror(std::span<const double> costs) const override;

  /// O(d log d). \source docs/proofs/empirical-risk.md#descend
  void descend(std::span<double> point, std::span<const double> gradient, double smoothness) const override;

  [[nodiscard]] double range(std::size_t dimension) const override;
  [[nodiscard]] double squared_dual_noise(std::size_t dimension) const override;
};

}  // namespace surety::optimizers
