// The door of one run of a search.
//
// A search is charged as a whole, before its first run, as best_of(..., gaussian(z)) or repeat(k, gaussian(z)): each of its runs may then
// release what gaussian(z) costs, and charges nothing itself. This door holds a run to that.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/run.h>

namespace surety::optimizers {

/// Gaussians that cost no more than one gaussian(z) together, however many they are.
class RunReleaser final : public Releaser {
 public:
  /// `bits` must outlive the releaser. \pre gaussian(z) is charged for it alone
  RunReleaser(NoiseMultiplier run, Adjacency adjacency, mechanisms::BitsRef bits);

  /// As NoisyReleaser, for releases gaussian(z_i) with sum 1 / z_i^2 <= 1 / z^2, which is compared with both sides rounded against the run.
  /// \throws Error{unsupported} for an event that is not Gaussian; Error{internal} for more than that, or under another adjacency;
  ///         Error{invalid_argument} when the noise does not fit the grid. Nothing is drawn then.
  [[nodiscard]] std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override;

 private:
  NoiseMultiplier run_;
  Adjacency adjacency_;
  mechanisms::BitsRef bits_;
  double before_ = 0;        ///< at least the sum over multipliers that were used before the last one
  double multiplier_ = 0;    ///< the last one
  std::uint64_t count_ = 0;  ///< of releases with it
  std::optional<mechanisms::Gaussian> noise_;
};

/// At least the sum of 1 / z_i^2 over all of `event`, by a relative 1e-14 at most for an event of few different multipliers; nothing when not
/// all of it is Gaussian. \throws as Releases::of.
[[nodiscard]] std::optional<double> squared_mu(const Event& event);

}  // namespace surety::optimizers
