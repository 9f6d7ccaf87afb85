// The discrete Laplace mechanism, also called two-sided geometric: integers plus independent k with probability proportional to
// exp(-|k| / b), exactly.
//
// On a vector of integers that one record moves by at most s in l1 norm, a release is discrete_laplace(b, s): to move one coordinate by all
// of s costs at least as much as to share it among several (docs/proofs/samplers.md#discrete-laplace-vectors). b is in steps of the
// integers, not in units of the sensitivity: b = s / epsilon gives a pure epsilon. For results in a public range see truncated_geometric.h.
#pragma once

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/mechanisms/samplers/integer_noise.h>
#include <surety/mechanisms/samplers/lattice_noise.h>

namespace surety::mechanisms {

/// `release` and `release_in_place`: integer_noise.h. `event()` is discrete_laplace(scale, sensitivity).
class DiscreteLaplace : public IntegerMechanism<DiscreteLaplaceNoise> {
 public:
  struct Options {
    NoiseScale scale;           ///< b, in steps of the integers
    L1Sensitivity sensitivity;  ///< of the query, under `adjacency`: a whole number
    Adjacency adjacency;
  };

  static constexpr double least_scale = 0x1p-10;
  static constexpr double largest_scale = 0x1p56;

  /// Takes milliseconds; copies share their tables. \throws Error{invalid_argument} unless least_scale <= scale <= largest_scale, which
  /// makes every double an exact quotient of 64-bit integers, and the sensitivity is a whole number from 1 to 2^53.
  explicit DiscreteLaplace(Options options);

  /// b of the noise and of the event.
  [[nodiscard]] double scale() const noexcept { return options_.scale.value(); }
  [[nodiscard]] const Options& options() const noexcept { return options_; }

 private:
  Options options_;
};

}  // namespace surety::mechanisms
