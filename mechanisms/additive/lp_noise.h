// Noise for vectors, shaped like a norm, exact on a grid.
//
//   KNorm                density proportional to exp(-||x|| / b), for l1, l2 and l-infinity          pure(1 / scale), any dimension
//   GeneralizedGaussian  density proportional to exp(-||x||_r^2 / (2 sigma^2)), r >= 2               zero-concentrated
//
// l1 noise is independent Laplace noise, l2 noise is normal noise times the root of a chi-square variable, and l-infinity noise is a uniform point of a cube of
// random size. Otherwise a vector is a radius times an independent direction g / ||g||_r with independent g_j of density proportional to exp(-|g|^r).
// All of these are functions of ideal reals of which digits are drawn (ideal_reals.h). Integers decide the rounding, in a time that is independent of the
// values (vector_rounding.h). Derivations: docs/proofs/vector-noise.md#lp-noise.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/additive/vector_law.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/mechanisms/samplers/trial.h>

namespace surety {

struct LrSensitivityRule : Positive {
  static constexpr std::string_view name = "l_r sensitivity";
};
/// In the norm l_r whose r is said beside it.
using LrSensitivity = Quantity<LrSensitivityRule>;

namespace mechanisms {

class VectorRounding;

/// The nearest integers to an ideal random vector, in a time that is independent of them. For use by the mechanisms below.
///
/// Time per coordinate: about 0.1 microseconds, and one microsecond for the generalized Gaussian with r > 2. A vector that integers leave undecided takes some
/// 10 microseconds more for every coordinate. Memory: 50 to 100 bytes per coordinate.
class RoundedVector {
 public:
  using Law = VectorLaw;

  explicit RoundedVector(const Law& law);

  [[nodiscard]] std::vector<std::int64_t> operator()(BitsRef bits) const;
  /// The same integers by the instructions of `path`. \pre it is one of available_paths() (trial_loops.h).
  [[nodiscard]] std::vector<std::int64_t> operator()(BitsRef bits, TrialPath path) const;
  /// The same from the same bits, with all decisions about trials of directions and all roundings by interval arithmetic: slow, and an oracle.
  [[nodiscard]] std::vector<std::int64_t> by_definition(BitsRef bits) const;

  /// b, sigma or the radius in grid steps, to nearest.
  [[nodiscard]] double scale() const noexcept { return law_.scale[0] * law_.scale[1] * law_.scale[2]; }
  [[nodiscard]] const Law& law() const noexcept { return law_; }

 private:
  Law law_;
  std::shared_ptr<const VectorRounding> rounding_;
};

/// As after_rounding of sensitivity.h, in l_r: g dimension^(1/r) more.
[[nodiscard]] LrSensitivity after_rounding(LrSensitivity sensitivity, NormExponent r, Grid grid, std::size_t dimension);

namespace detail {
/// \throws Error{invalid_argument} when the query is not on `grid` or has not `dimension` coordinates.
void require_grid_and_dimension(const GridVector& query, const Grid& grid, std::size_t dimension);
}  // namespace detail

/// What mechanisms have in common that add a vector of noise, rounded to the grid, to a vector on it.
class VectorNoise {
 public:
  /// One release of `query`: every coordinate plus the nearest integer to its noise in steps, saturating as `Gaussian::release`. Never
  /// throws on a value. \throws Error{invalid_argument} when the query has another grid or dimension; Error{environment} when the bits
  /// fail.
  [[nodiscard]] std::vector<double> release(const GridVector& query, BitsRef bits) const;

  [[nodiscard]] const Grid& grid() const noexcept { return grid_; }
  [[nodiscard]] std::size_t dimension() const noexcept { return noise_.law().dimension; }
  /// Near the root of the mean square of one coordinate of the noise, in grid steps: for who chooses a grid.
  [[nodiscard]] double coordinate_in_steps() const noexcept;

 protected:
  VectorNoise(Grid grid, RoundedVector noise) : grid_{grid}, noise_{std::move(noise)} {}

 private:
  Grid grid_;
  RoundedVector noise_;
};

/// A vector on a grid plus noise of density proportional to exp(-||x|| / b), b = scale x sensitivity, rounded to the grid.
class KNorm : public VectorNoise {
 public:
  struct Options {
    NoiseScale scale;                                                         ///< b over sensitivity: 1 / epsilon
    std::variant<L1Sensitivity, L2Sensitivity, LinfSensitivity> sensitivity;  ///< its type is the norm; under `adjacency`
    Grid grid;
    Count dimension;
    Adjacency adjacency;
  };

  /// \throws Error{invalid_argument} when b is more than 2^56 grid steps or the dimension more than 2^32.
  explicit KNorm(Options options);

  [[nodiscard]] NormName norm() const noexcept { return static_cast<NormName>(options_.sensitivity.index()); }
  /// k_norm(norm, dimension, scale).
  [[nodiscard]] Event event() const;
  [[nodiscard]] const Options& options() const noexcept { return options_; }

 private:
  Options options_;
};

/// A vector on a grid plus noise of density proportional to exp(-||x||_r^2 / (2 sigma^2)), sigma = multiplier x sensitivity, rounded to the
/// grid.
class GeneralizedGaussian : public VectorNoise {
 public:
  static constexpr double largest_r = 0x1p20;

  struct Options {
    NormExponent r;  ///< at most largest_r
    NoiseMultiplier multiplier;
    LrSensitivity sensitivity;  ///< under `adjacency`
    Grid grid;
    Count dimension;
    Adjacency adjacency;
  };

  /// \throws Error{invalid_argument} when sigma is more than 2^56 grid steps, the dimension more than 2^32 or r too large.
  explicit GeneralizedGaussian(Options options);

  /// generalized_gaussian(r, dimension, multiplier).
  [[nodiscard]] Event event() const;
  [[nodiscard]] const Options& options() const noexcept { return options_; }

 private:
  Options options_;
};

namespace detail {
void release_vector_in_place(const VectorNoise& mechanism, std::span<double> query, BitsRef bits);
void release_vector_in_place(const VectorNoise& mechanism, std::span<float> query, BitsRef bits);
}  // namespace detail

/// `Mechanism` (a `VectorNoise` with the sensitivity after rounding) for a query that arrives as real numbers, already summed; as `OnReals` of
/// grid_noise.h, whose premise is the same.
template <class Mechanism>
class VectorOnReals {
 public:
  [[nodiscard]] Event event() const { return rounded_.event(); }
  [[nodiscard]] const Mechanism& rounded() const noexcept { return rounded_; }

  /// One release of `query`, rounded to nearest, in its place; untouched when the bits fail. Never throws on a value.
  /// \throws Error{invalid_argument} when the query does not have the mechanism's dimension; Error{environment} when the bits fail.
  void release_in_place(std::span<double> query, BitsRef bits) const { detail::release_vector_in_place(rounded_, query, bits); }
  /// The same of floats, as `OnReals::release_in_place`. \throws as above, and before a value is looked at as `require_floats`.
  void release_in_place(std::span<float> query, BitsRef bits) const { detail::release_vector_in_place(rounded_, query, bits); }

 protected:
  explicit VectorOnReals(Mechanism rounded) : rounded_{std::move(rounded)} {}

 private:
  Mechanism rounded_;
};

class KNormOnReals : public VectorOnReals<KNorm> {
 public:
  /// The sensitivity is that of the query as computed, before rounding. \throws Error{invalid_argument} as `after_rounding` and `KNorm` do.
  explicit KNormOnReals(const KNorm::Options& options);
};

class GeneralizedGaussianOnReals : public VectorOnReals<GeneralizedGaussian> {
 public:
  /// The sensitivity is that of the query as computed, before rounding. \throws Error{invalid_argument} as `after_rounding` and
  /// `GeneralizedGaussian` do.
  explicit GeneralizedGaussianOnReals(const GeneralizedGaussian::Options& options);
};

/// The grid points nearest to uniform points of the l2 sphere or ball of this radius around 0. For algorithms that need random directions
/// (these are not noise and hide nothing). \throws Error{invalid_argument} as `KNorm`, and for a sphere of dimension 1.
[[nodiscard]] GridVector uniform_on_sphere(Count dimension, Radius radius, Grid grid, BitsRef bits);
[[nodiscard]] GridVector uniform_in_ball(Count dimension, Radius radius, Grid grid, BitsRef bits);

}  // namespace mechanisms
}  // namespace surety
