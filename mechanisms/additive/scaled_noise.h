// Noise whose scale is said at each release, because the sensitivity changes from one to the next: nothing is set up anew for a new scale.
//
//   ScaledGaussian             N(0, (multiplier x sensitivity)^2) in each coordinate                     gaussian(multiplier)
//   ScaledKNorm                density proportional to exp(-||x|| / b), b = scale x sensitivity          k_norm(norm, d, scale)
//   ScaledGeneralizedGaussian  density proportional to exp(-||x||_r^2 / (2 (multiplier x sensitivity)^2))
//
// The event of one release does not depend on its sensitivity. Sensitivities are public or functions of released values.
//
// Gaussian: N is drawn as an ideal real of which 159 digits are known (ideal_reals.h), by one table whatever the scale. The nearest integer to sigma N is nearly
// always decided by integers, in a time that is independent of it (docs/proofs/samplers.md#scaled).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/additive/lp_noise.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/mechanisms/samplers/trial.h>

namespace surety::mechanisms {

/// The nearest integers to sigma times independent ideal normals, for any sigma, in a time that is independent of them. For use by `ScaledGaussian`. All of them
/// share one table, which the first draw of a process makes in milliseconds.
class ScaledNormal {
 public:
  static constexpr std::size_t block = trial_block;

  /// Draws `count` samples for sigma = the exact product of `scale`, at most 2^56, saturating at the ends of int64, in blocks, and hands
  /// each block and its place to `use(std::size_t first, std::span<const std::int64_t>)`.
  template <class Use>
  void for_each_block(std::size_t count, const std::array<double, 3>& scale, BitsRef bits, Use use) const {
    std::array<std::int64_t, block> samples;
    for (std::size_t first = 0; first < count; first += block) {
      const auto drawn = std::span{samples}.first(std::min(block, count - first));
      draw(scale, drawn, bits);
      use(first, std::span<const std::int64_t>{drawn});
    }
  }

  /// At most a block. \pre as above
  static void draw(const std::array<double, 3>& scale, std::span<std::int64_t> samples, BitsRef bits);
  /// The same samples from the same bits, rounded by interval arithmetic alone: slow, and an oracle.
  static void draw_by_definition(const std::array<double, 3>& scale, std::span<std::int64_t> samples, BitsRef bits);
};

/// Gaussian noise for a query on a grid, of another sensitivity at each release. As `Gaussian` otherwise.
class ScaledGaussian {
 public:
  using Sensitivity = L2Sensitivity;
  struct Options {
    NoiseMultiplier multiplier;  ///< sigma over the sensitivity of the release
    Grid grid;
    Adjacency adjacency;
  };

  /// Costs nothing, so that a grid that follows the sensitivity is another `ScaledGaussian`.
  explicit ScaledGaussian(Options options) : options_{options} {}

  /// gaussian(multiplier), whatever the sensitivity of a release.
  [[nodiscard]] Event event() const { return surety::gaussian(options_.multiplier, options_.adjacency); }
  [[nodiscard]] const Options& options() const noexcept { return options_; }

  /// As `Gaussian::release` for sigma = multiplier x sensitivity, the exact product of the two doubles. O(dimension).
  /// \throws Error{invalid_argument} when the query lives on another grid or sigma is more than 2^56 grid steps;
  ///         Error{environment} when the bits fail.
  [[nodiscard]] std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, BitsRef bits) const;

 private:
  [[nodiscard]] std::array<double, 3> scale_of(L2Sensitivity sensitivity) const;

  Options options_;
  ScaledNormal normal_;
};

/// K-norm noise of another sensitivity at each release, in the norm of `S`. As `KNorm` otherwise.
template <class S>
class ScaledKNorm {
 public:
  using Sensitivity = S;
  struct Options {
    NoiseScale scale;  ///< b over the sensitivity of the release: 1 / epsilon
    Grid grid;
    Count dimension;
    Adjacency adjacency;
  };

  explicit ScaledKNorm(Options options) : options_{options} {}

  /// k_norm(norm, dimension, scale), whatever the sensitivity of a release.
  [[nodiscard]] Event event() const {
    constexpr auto norm = std::is_same_v<S, L1Sensitivity>   ? NormName::l1
                          : std::is_same_v<S, L2Sensitivity> ? NormName::l2
                                                             : NormName::linf;
    return surety::k_norm(norm, options_.dimension, options_.scale, options_.adjacency);
  }
  [[nodiscard]] const Options& options() const noexcept { return options_; }

  /// As `KNorm::release`. \throws as `KNorm`, its constructor included.
  [[nodiscard]] std::vector<double> release(const GridVector& query, S sensitivity, BitsRef bits) const {
    const KNorm noise{{.scale = options_.scale,
                       .sensitivity = sensitivity,
                       .grid = options_.grid,
                       .dimension = options_.dimension,
                       .adjacency = options_.adjacency}};
    return noise.release(query, bits);
  }

 private:
  Options options_;
};

/// Generalized Gaussian noise of another sensitivity, in l_r, at each release. As `GeneralizedGaussian` otherwise.
class ScaledGeneralizedGaussian {
 public:
  using Sensitivity = LrSensitivity;
  struct Options {
    NormExponent r;
    NoiseMultiplier multiplier;  ///< sigma over the sensitivity of the release
    Grid grid;
    Count dimension;
    Adjacency adjacency;
  };

  explicit ScaledGeneralizedGaussian(Options options) : options_{options} {}

  /// generalized_gaussian(r, dimension, multiplier), whatever the sensitivity of a release.
  [[nodiscard]] Event event() const {
    return surety::generalized_gaussian(options_.r, options_.dimension, options_.multiplier, options_.adjacency);
  }
  [[nodiscard]] const Options& options() const noexcept { return options_; }

  /// As `GeneralizedGaussian::release`. \throws as `GeneralizedGaussian`, its constructor included.
  [[nodiscard]] std::vector<double> release(const GridVector& query, LrSensitivity sensitivity, BitsRef bits) const;

 private:
  Options options_;
};

}  // namespace surety::mechanisms
