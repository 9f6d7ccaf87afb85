// Where the weights live: a closed convex set, public. An algorithm asks only for what it needs.
//
// Every set here follows the same rules.
//   * Weights and costs may be any doubles: a NaN counts as 0, an infinity as the largest double of its sign. Results are finite.
//   * A result lies in the set to within the tolerance that its function states, whatever the input.
//   * A length that does not fit the set throws Error{invalid_argument}; so does dimension 0.
#pragma once

#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include <surety/accounting/events/units.h>
#include <surety/mechanisms/queries/sensitivity.h>

namespace surety::optimizers {

enum class Norm { l1, l2, linf };

struct LpExponentRule {
  static constexpr std::string_view name = "p of an l_p norm";
  static constexpr std::string_view constraint = "at least 1, or infinity";
  static bool holds(double p) { return p >= 1; }
};
/// p of ||x||_p = (sum |x_i|^p)^(1/p), where p = infinity is the largest magnitude.
using LpExponent = Quantity<LpExponentRule>;

[[nodiscard]] LpExponent exponent(Norm norm);

/// q with 1/p + 1/q = 1, within 2^-52 relative: sup <x, y> over ||y||_p <= 1 is ||x||_q.
[[nodiscard]] LpExponent dual(LpExponent p);

/// ||x||_p within a relative (size / p + 6) 2^-53 unless it exceeds the range of double (then infinity) or is subnormal; no intermediate
/// overflow or underflow. NaN when a value is, else infinite when a value is. O(size).
[[nodiscard]] double lp_norm(std::span<const double> values, LpExponent p);

/// A set onto which one can project. Asked once a step.
class Projectable {
 public:
  virtual ~Projectable() = default;
  /// Moves w to the nearest point of the set in l2, to within rounding.
  virtual void project(std::span<double> weights) const = 0;
};

/// A set over which one can minimise. Asked once a step.
class LinearlyMinimizable {
 public:
  virtual ~LinearlyMinimizable() = default;
  /// A point v of the set with <costs, v> smallest.
  [[nodiscard]] virtual std::vector<double> minimize_linear(std::span<const double> costs) const = 0;
};

/// diameter(norm, dimension): sup ||u - v|| over points u, v of the set in R^dimension.
template <class D>
concept Bounded = requires(const D& domain, Norm norm, std::size_t dimension) {
  { domain.diameter(norm, dimension) } -> std::same_as<double>;
};

/// The same in every l_r norm.
template <class D>
concept BoundedInEveryNorm = Bounded<D> && requires(const D& domain, LpExponent r, std::size_t dimension) {
  { domain.diameter(r, dimension) } -> std::same_as<double>;
};

/// A ball inside a set, within the set's affine hull: the points x of the set satisfy sum of x over S = constant for each S of
/// `fixed_sums`, and every such x within `radius` of `centre` in l2 is in the set, to within rounding. These sets are disjoint, so the hull
/// has dimension centre.size() - fixed_sums.size(); they are empty for a set with an interior.
struct InnerBall {
  std::vector<double> centre;
  double radius;  ///< 0 where the set is a single point
  std::vector<std::vector<std::size_t>> fixed_sums = {};

  [[nodiscard]] std::size_t dimension() const { return centre.size() - fixed_sums.size(); }

  /// Moves a direction to the nearest one along the hull, in l2: takes from each S its mean. A standard normal vector becomes a standard
  /// normal vector of the hull. \throws Error{invalid_argument} when the length is not that of the centre.
  void project_direction(std::span<double> direction) const;
};

/// inner_ball(dimension): a ball inside the set, for algorithms that look around a point and must not leave the set.
template <class D>
concept HasInnerBall = requires(const D& domain, std::size_t dimension) {
  { domain.inner_ball(dimension) } -> std::same_as<InnerBall>;
};

/// All weight vectors; the projection is the identity.
struct WholeSpace final : Projectable {
  void project(std::span<double> /*weights*/) const noexcept override {}
};

using surety::Radius;

/// {w : ||w||_p <= radius}, 1 <= p <= infinity, in any dimension.
///
/// Results v have lp_norm(v, p) <= radius as computed, so projecting twice is projecting once, bit for bit.
/// \source docs/proofs/domains.md#lp-ball
struct LpBall final : Projectable, LinearlyMinimizable {
  LpBall(LpExponent norm, Radius within) : p{norm}, radius{within} {}

  LpExponent p;
  Radius radius;

  /// Within (size + 16) 2^-53 (1 + min(||w|| / radius, 1 / (p - 1))) radius per coordinate for p < 2, without the factor in parentheses for
  /// p = 1 and p >= 2. For p other than 1, 2 and infinity coordinates below 2^-1074 of the largest count as 0.
  /// \complexity O(size) for p = 2 and infinity, O(size log size) for p = 1, else O(size) times the steps of a root search, 5 to 20.
  void project(std::span<double> weights) const override;

  /// -radius sign(c_i) (|c_i| / ||c||_q)^(q - 1), q the dual exponent: <c, v> is within (size + 16) 2^-53 radius ||c||_q of the smallest.
  /// For p = 1 a vertex on the first axis of largest |c_i|; for p = infinity 0 where c_i is 0; the origin for c = 0, where every
  /// point is a minimum. O(size).
  [[nodiscard]] std::vector<double> minimize_linear(std::span<const double> costs) const override;

  /// In l_r: 2 radius dimension^max(0, 1/r - 1/p), within a relative 2^-50.
  [[nodiscard]] double diameter(LpExponent r, std::size_t dimension) const;
  [[nodiscard]] double diameter(Norm norm, std::size_t dimension) const { return diameter(exponent(norm), dimension); }

  /// Around the origin, of radius dimension^-max(0, 1/p - 1/2) radius, the largest there is.
  [[nodiscard]] InnerBall inner_ball(std::size_t dimension) const;
};

/// {w : ||w||_2 <= radius}.
struct L2Ball final : Projectable, LinearlyMinimizable {
  explicit L2Ball(Radius within) : radius{within} {}

  Radius radius;

  void project(std::span<double> weights) const override { as_lp_ball().project(weights); }
  /// -radius c / ||c||_2; the origin for c = 0, where every point is a minimum.
  [[nodiscard]] std::vector<double> minimize_linear(std::span<const double> costs) const override {
    return as_lp_ball().minimize_linear(costs);
  }
  [[nodiscard]] double diameter(LpExponent r, std::size_t dimension) const { return as_lp_ball().diameter(r, dimension); }
  [[nodiscard]] double diameter(Norm norm, std::size_t dimension) const { return as_lp_ball().diameter(norm, dimension); }
  [[nodiscard]] InnerBall inner_ball(std::size_t dimension) const { return as_lp_ball().inner_ball(dimension); }

 private:
  [[nodiscard]] LpBall as_lp_ball() const { return {LpExponent{2}, radius}; }
};

struct ScaleRule : Positive {
  static constexpr std::string_view name = "scale of the simplex";
};

/// {w : w_i >= 0, sum w_i = scale}, in any dimension from 1.
///
/// Results have no negative coordinate, and their sum is within (size + 16) 2^-53 scale of the scale.
/// \source docs/proofs/domains.md#simplex
struct Simplex final : Projectable, LinearlyMinimizable {
  explicit Simplex(Quantity<ScaleRule> sum) : scale{sum} {}

  Quantity<ScaleRule> scale;

  /// Within (size + 16) 2^-53 scale per coordinate, however far the weights are. O(size log size).
  void project(std::span<double> weights) const override;

  /// The vertex of the first smallest cost. Exact. O(size).
  [[nodiscard]] std::vector<double> minimize_linear(std::span<const double> costs) const override;

  /// In l_r: 2^(1/r) scale, between two vertices; 0 in dimension 1.
  [[nodiscard]] double diameter(LpExponent r, std::size_t dimension) const;
  [[nodiscard]] double diameter(Norm norm, std::size_t dimension) const { return diameter(exponent(norm), dimension); }

  /// Around the point of equal coordinates, of radius scale / sqrt(d (d - 1)), the largest there is.
  [[nodiscard]] InnerBall inner_ball(std::size_t dimension) const;
};

/// {w : lower_i <= w_i <= upper_i}. Results lie in it exactly.
/// \source docs/proofs/domains.md#box
class Box final : public Projectable, public LinearlyMinimizable {
 public:
  struct Options {
    std::vector<double> lower;
    std::vector<double> upper;
  };

  /// \throws Error{invalid_argument} unless there are as many lower bounds as upper ones, at least 1, each finite and lower <= upper, and
  /// no
  ///         width upper - lower overflows.
  explicit Box(Options bounds);

  /// Exact. O(size).
  void project(std::span<double> weights) const override;

  /// lower_i where c_i > 0, upper_i where c_i < 0, and lower_i where c_i = 0. Exact. O(size).
  [[nodiscard]] std::vector<double> minimize_linear(std::span<const double> costs) const override;

  /// In l_r: ||upper - lower||_r, within the error of `lp_norm` and a relative 2^-53.
  [[nodiscard]] double diameter(LpExponent r, std::size_t dimension) const;
  [[nodiscard]] double diameter(Norm norm, std::size_t dimension) const { return diameter(exponent(norm), dimension); }

  /// Around the middle, of half the smallest width that is not 0, the largest there is; coordinates of width 0 are fixed sums.
  [[nodiscard]] InnerBall inner_ball(std::size_t dimension) const;

  [[nodiscard]] const Options& bounds() const noexcept { return bounds_; }

 private:
  Options bounds_;
};

/// Throws Error{invalid_argument} unless `size` is `wanted`: "<what> has 3 coordinates, must have 2".
void require_dimension(std::string_view what, std::size_t size, std::size_t wanted);
/// The point of the set nearest to `start`. \throws Error{invalid_argument} when it has no coordinates.
[[nodiscard]] std::vector<double> start_in(const Projectable& domain, std::vector<double> start);
/// Throws Error{invalid_argument} when `dimension` is 0.
void require_positive_dimension(std::size_t dimension);

/// What a weight or cost counts as: itself, 0 for a NaN, the largest double of its sign for an infinity.
[[nodiscard]] inline double completed(double value) noexcept {
  constexpr double largest = std::numeric_limits<double>::max();
  return value >= -largest && value <= largest ? value : value > 0 ? largest : value < 0 ? -largest : 0;
}

static_assert(BoundedInEveryNorm<L2Ball> && HasInnerBall<L2Ball> && BoundedInEveryNorm<LpBall> && HasInnerBall<LpBall>);
static_assert(BoundedInEveryNorm<Simplex> && HasInnerBall<Simplex> && BoundedInEveryNorm<Box> && HasInnerBall<Box>);

}  // namespace surety::optimizers
