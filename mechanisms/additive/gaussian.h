// The Gaussian mechanism, exact on a grid. How time depends on what is drawn: grid_noise.h.
//
// The query is a vector of multiples of the grid step g. Each coordinate is released plus the multiple of g nearest to Z, where Z is an
// ideal real Gaussian of standard deviation sigma >= multiplier * sensitivity. Since the query is itself on the grid, that is the grid
// point nearest to query + Z: post-processing of the Gaussian mechanism of the proofs, so nothing is lost by being computed on a machine.
#pragma once

#include <cstddef>

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/mechanisms/samplers/exact_rounding.h>
#include <surety/mechanisms/samplers/grid_noise.h>

namespace surety::mechanisms {

/// A public grid for a Gaussian mechanism: the finest with sigma below 2^30 steps, but one with 2^10 to 2^39
/// steps in `sensitivity`, so that `RecordSum` accepts clipping norms near it. Rounding a record toward zero then moves it per coordinate
/// by less than the larger of 2^-29 sigma and 2^-38 sensitivity. Depends on public parameters alone. \throws Error{invalid_argument} where
/// no grid has such a step.
[[nodiscard]] Grid grid_for(L2Sensitivity sensitivity, NoiseMultiplier multiplier);

/// Gaussian noise for a query on a grid, as `RecordSum::sum` is: `release` (grid_noise.h) adds round(sigma N_i / g) steps to coordinate i,
/// for independent ideal N_i.
class Gaussian : public GridNoise<RoundedGaussian> {
 public:
  struct Options {
    NoiseMultiplier multiplier;  ///< sigma over sensitivity
    L2Sensitivity sensitivity;   ///< of the query on the grid, under `adjacency`
    Grid grid;
    Adjacency adjacency;
    friend bool operator==(const Options&, const Options&) = default;
  };

  /// \throws Error{invalid_argument} when sigma is more than 2^56 grid steps: results, which saturate at 2^62, would show it.
  explicit Gaussian(Options options);

  /// Standard deviation of the ideal noise in data units: at least multiplier * sensitivity, and at most one rounding above it.
  [[nodiscard]] double sigma() const noexcept { return noise().sigma().value() * options_.grid.step(); }

  /// What a release is, for the accountants: gaussian(multiplier) under the adjacency of the sensitivity.
  [[nodiscard]] Event event() const { return surety::gaussian(options_.multiplier, options_.adjacency); }

  [[nodiscard]] const Options& options() const noexcept { return options_; }

 private:
  Options options_;
};

/// Gaussian noise for a query that arrives as real numbers, already summed. Rounding it to the grid is charged to the sensitivity.
/// `release` and `release_in_place`: grid_noise.h.
class GaussianOnReals : public OnReals<Gaussian> {
 public:
  struct Options {
    NoiseMultiplier multiplier;  ///< sigma over the sensitivity after rounding
    L2Sensitivity sensitivity;   ///< of the query as computed, before rounding, under `adjacency`
    Grid grid;
    std::size_t dimension;  ///< coordinates of the query
    Adjacency adjacency;
  };

  /// \throws Error{invalid_argument} as `after_rounding` and `Gaussian` do.
  explicit GaussianOnReals(Options options);

  /// As of `Gaussian`, with the sensitivity after rounding: multiplier * (sensitivity + g sqrt(dimension)) or slightly more.
  [[nodiscard]] double sigma() const noexcept { return rounded().sigma(); }
  [[nodiscard]] const Options& options() const noexcept { return options_; }

 private:
  Options options_;
};

}  // namespace surety::mechanisms
