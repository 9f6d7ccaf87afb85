// The Laplace mechanism, exact on a grid: a query on multiples of the grid step g, plus the multiple of g nearest to an ideal real Laplace
// variable of scale b >= scale * sensitivity. That is the grid point nearest to query + noise, so post-processing of the ideal mechanism.
// How time depends on what is drawn: grid_noise.h.
#pragma once

#include <cstddef>

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/mechanisms/samplers/exact_rounding.h>
#include <surety/mechanisms/samplers/grid_noise.h>

namespace surety::mechanisms {

/// Laplace noise for a query on a grid: `release` (grid_noise.h) adds round(b L_i / g) steps to coordinate i, for independent ideal L_i.
class Laplace : public GridNoise<RoundedLaplace> {
 public:
  struct Options {
    NoiseScale scale;           ///< b over sensitivity
    L1Sensitivity sensitivity;  ///< of the query on the grid, under `adjacency`
    Grid grid;
    Adjacency adjacency;
  };

  /// \throws Error{invalid_argument} when b is more than 2^56 grid steps: results, which saturate at 2^62, would show it.
  explicit Laplace(Options options);

  /// b of the ideal noise, of density exp(-|x| / b) / 2b, in data units: at least scale * sensitivity, and at most one rounding above it.
  /// The standard deviation is sqrt(2) times that.
  [[nodiscard]] double scale() const noexcept { return noise().scale().value() * options_.grid.step(); }

  /// What a release is, for the accountants: laplace(scale) under the adjacency of the sensitivity.
  [[nodiscard]] Event event() const { return surety::laplace(options_.scale, options_.adjacency); }

  [[nodiscard]] const Options& options() const noexcept { return options_; }

 private:
  Options options_;
};

/// Laplace noise for a query that arrives as real numbers, already summed. Rounding it to the grid is charged to the sensitivity.
/// `release` and `release_in_place`: grid_noise.h.
class LaplaceOnReals : public OnReals<Laplace> {
 public:
  struct Options {
    NoiseScale scale;           ///< b over the sensitivity after rounding
    L1Sensitivity sensitivity;  ///< of the query as computed, before rounding, under `adjacency`
    Grid grid;
    std::size_t dimension;  ///< coordinates of the query
    Adjacency adjacency;
  };

  /// \throws Error{invalid_argument} as `after_rounding` and `Laplace` do.
  explicit LaplaceOnReals(Options options);

  /// As of `Laplace`, with the sensitivity after rounding: scale * (sensitivity + g dimension) or slightly more.
  [[nodiscard]] double scale() const noexcept { return rounded().scale(); }
  [[nodiscard]] const Options& options() const noexcept { return options_; }

 private:
  Options options_;
};

}  // namespace surety::mechanisms
