// The Laplace mechanism, exact on a grid: a query on multiples of the grid step g, plus the multiple of g nearest to an ideal real Laplace
// variable of scale b >= scale * sensitivity. That is the grid point nearest to query + noise, so post-processing of the ideal mechanism.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <surety/accounting/event.h>
#include <surety/mechanisms/grid.h>
#include <surety/mechanisms/random_bits.h>
#include <surety/mechanisms/sensitivity.h>

namespace surety::mechanisms {

/// Laplace noise for a query on a grid.
class Laplace {
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
  [[nodiscard]] double scale() const noexcept { return steps_ * options_.grid.step(); }

  /// What a release is, for the accountants: laplace(scale) under the adjacency of the sensitivity.
  [[nodiscard]] Event event() const { return surety::release(Event::Laplace{options_.scale}, options_.adjacency); }

  [[nodiscard]] const Options& options() const noexcept { return options_; }

  /// One release of `query`, in the form of `Gaussian::release`: coordinate i is (query.steps[i] + round(b L_i / g)) g for independent
  /// ideal L_i, within +-(2^62 - 1) steps. Never throws on a value of the query. Draws one word for each coordinate, and with probability
  /// about 2^-60 max(1, b / g) a second one. Some 20 microseconds a coordinate. \throws Error{invalid_argument} when the query lives on
  /// another grid; Error{environment} when the bits fail.
  template <ReleaseBits Bits>
  [[nodiscard]] std::vector<double> release(const GridVector& query, Bits& bits) const {
    require_same_grid(query.grid);
    GridVector noisy{.grid = query.grid, .steps = {}};
    noisy.steps.reserve(query.steps.size());
    for (const std::int64_t steps : query.steps) noisy.steps.push_back(saturating_add(steps, draw([&bits] { return draw_word(bits); })));
    return to_reals(noisy);
  }

 private:
  void require_same_grid(const Grid& grid) const;
  /// round(b L / g), saturating at the ends of int64: P(|k| >= j) = exp(-(j - 1/2) g / b) for j >= 1, exactly.
  [[nodiscard]] std::int64_t draw(const std::function<std::uint64_t()>& next_word) const;

  Options options_;
  double steps_;  ///< b in grid steps
};

}  // namespace surety::mechanisms
