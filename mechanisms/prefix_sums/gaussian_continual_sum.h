// Private prefix sums with Gaussian noise, by a factorization chosen at run time.
//
//   factorization    error, max / rms, of 1024 steps    memory                    one push
//   tree             10.5 / 7.4                         dimension log n           2 additions and one release
//   streaming_tree    8.0 / 5.7                         dimension log n           two releases on average
//   toeplitz          3.3 / 3.1                         dimension n               dimension t
//   buffered          3.3 / 3.1                         dimension buffers         dimension buffers
//
// in units of sensitivity / mu: `prefix_error` computes it for any horizon, docs/results/continual.md measures it. `buffered` is what to
// take unless there is a reason.
#pragma once

#include <array>
#include <string_view>
#include <variant>
#include <vector>

#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/prefix_sums/buffered_sum.h>
#include <surety/mechanisms/prefix_sums/continual_sum.h>
#include <surety/mechanisms/prefix_sums/toeplitz_sum.h>

namespace surety::mechanisms {

enum class Factorization {
  tree,            ///< the binary tree, plain estimate
  streaming_tree,  ///< Honaker's streaming estimate on the same tree
  toeplitz,        ///< the square-root Toeplitz factorization
  buffered         ///< a buffered linear Toeplitz factorization
};

inline constexpr std::array all_factorizations{Factorization::tree, Factorization::streaming_tree, Factorization::toeplitz,
                                               Factorization::buffered};

/// "tree", "streaming-tree", "toeplitz", "buffered".
[[nodiscard]] std::string_view name(Factorization factorization);

/// What a Gaussian continual sum releases in all, before there is one: tree(steps, gaussian(multiplier)) for the trees,
/// gaussian(multiplier) for the others. To calibrate: `calibrate([&](NoiseMultiplier z) { return continual_event(factorization, steps, z,
/// adjacency); }, target)`.
[[nodiscard]] Event continual_event(Factorization factorization, Count steps, NoiseMultiplier multiplier, Adjacency adjacency);

/// A public grid for contributions of that sensitivity, as `grid_for`: at most 2^38 steps in the sensitivity, and as many as the encoded
/// stream has room for in 64 bits. Rounding contributions to it moves each coordinate of a sum of t by less than t steps.
/// \throws Error{invalid_argument} where fewer than 2^10 steps would fit.
[[nodiscard]] Grid continual_grid(Factorization factorization, Count steps, L2Sensitivity sensitivity, NoiseMultiplier multiplier,
                                  Headroom headroom = Headroom{4}, Buffers buffers = Buffers{4});

/// Standard deviation of a coordinate's error in the prefix sums of steps 1 .. n, in units of sensitivity / mu for a sum whose event is
/// mu-GDP (mu = 1 / multiplier for the factorizations, sqrt(levels) / multiplier for the trees).
struct PrefixError {
  double max;  ///< over the steps
  double rms;  ///< root mean square over the steps
};

/// Of the ideal noise, without the sampler's rounding to the grid and the rounding charge of `buffered`. Relative error 1e-9; for
/// `toeplitz` 1e-3, since the decoder is taken to be (1 - x)^(-1/2), the encoder's coefficients before they were fixed.
/// O(log^2 n) for the trees, O(n) for toeplitz, O(buffers n) for buffered. \throws Error{invalid_argument} as the sum of that horizon.
[[nodiscard]] PrefixError prefix_error(Factorization factorization, Count steps, Buffers buffers = Buffers{4});

/// A lower bound on the rms error of every factorization with Gaussian noise, in the same units: the nuclear norm of the matrix of prefix
/// sums over n, (1/n) sum_i 1 / (2 sin((2i - 1) pi / (4n + 2))). O(n).
[[nodiscard]] double least_rms_prefix_error(Count steps);

/// Prefix sums by any of them.
class GaussianContinualSum {
 public:
  struct Options {
    Factorization factorization;
    Count steps;                 ///< the horizon
    Count dimension;             ///< coordinates of a contribution
    L2Sensitivity sensitivity;   ///< of one push on the grid, under `adjacency`
    NoiseMultiplier multiplier;  ///< as in `continual_event`
    Grid grid;                   ///< as from `continual_grid`
    Adjacency adjacency;
    Headroom headroom{4};  ///< for toeplitz and buffered, see `FactorizedSumOptions`
    Buffers buffers{4};    ///< for buffered
  };

  /// \throws Error{invalid_argument} as `TreeSum` and `Gaussian`, or `FactorizedSum`.
  explicit GaussianContinualSum(Options options);

  [[nodiscard]] Event event() const;
  [[nodiscard]] Count steps() const noexcept { return options_.steps; }
  [[nodiscard]] Grid grid() const noexcept { return options_.grid; }
  [[nodiscard]] const Options& options() const noexcept { return options_; }

  /// As the sum that was chosen.
  [[nodiscard]] std::vector<double> push(const GridVector& contribution, BitsRef bits);

 private:
  using Sum = std::variant<TreeSum<Gaussian>, ToeplitzSum, BufferedSum>;
  [[nodiscard]] static Sum make(const Options& options);

  Options options_;
  Sum sum_;
};

}  // namespace surety::mechanisms
