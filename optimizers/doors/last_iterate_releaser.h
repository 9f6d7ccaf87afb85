// The releaser of the last iterate of noisy descent, for the events `last_iterate`, `last_iterate_of_passes` and `last_iterate_of_batches`.
//
// A step on a batch of records is w <- project(w - eta (mean of clipped gradients + lambda w + noise)), from w = 0, onto an l2 ball. The theorem holds
// while w_T alone is published, so the steps run inside of the releaser: no algorithm gets an iterate. docs/proofs/last-iterate.md#releaser
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <variant>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/points.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/objective.h>
#include <surety/optimizers/problem/units.h>

namespace surety::optimizers {

/// By what share the noise exceeds that of the event: it covers the rounding errors of the maps.
inline constexpr double rounding_share_of_noise = 0x1p-10;

/// Every step uses all records.
struct AllRecords {
  Count steps;  ///< T
};
/// In each pass the records 1 .. b, b + 1 .. 2b, ... of their public order. The last batch may be smaller; its sum is divided by b, too.
struct PublicBatches {
  Count records;
  Count size;    ///< b
  Count passes;  ///< E
};
/// One pass over batches of these sizes in the public order of the records. Records behind the last batch are not used.
struct GrowingBatches {
  BatchSizes sizes;  ///< B_1, ..., B_T
};

/// All public.
struct LastIterateDescent {
  /// z: the noise of a step over how far one record moves its map; of growing batches in a batch of one record. In the mean gradient of a batch of b records
  /// its standard deviation is z s (1 + 2^-10) / b, and of growing batches z s (1 + 2^-10); s is 2C under replace-one and C under zero-out.
  NoiseMultiplier noise_multiplier;
  Adjacency adjacency;
  std::variant<AllRecords, PublicBatches, GrowingBatches> batches;
  StepSize step_size;                                ///< eta, the same in all steps
  ClippingNorm clip;                                 ///< C, of the gradient of one record
  Regularization regularization{0};                  ///< lambda
  Radius radius{100};                                ///< of the ball
  Radius row_norm{1};                                ///< R: longer rows are scaled down to it
  std::size_t threads = 1;                           ///< results do not depend on it
  std::function<void(std::uint64_t)> progress = {};  ///< called with the number of steps done, which is public, after each
};

/// c of a step: max(|1 - eta lambda|, |1 - eta (beta + lambda)|), rounded up, with beta the smoothness of the loss for rows of norm R.
/// \throws Error{invalid_argument} where it would exceed 1; Error{unsupported} for a loss that is not smooth.
[[nodiscard]] LipschitzConstant step_constant(const LastIterateDescent& descent, ConvexObjectiveRef objective);

/// What a run releases. \throws as `step_constant`; Error{invalid_argument} under add-or-remove-one. \source docs/proofs/last-iterate.md#closed-forms
[[nodiscard]] Event plan(const LastIterateDescent& descent, ConvexObjectiveRef objective);

/// Refuses what a release refuses for these numbers of records and features, which are public.
/// \throws Error{invalid_argument} for no record or another number of records than the batches are for, and where the rounding errors of a step may exceed what
///         the noise covers: too many records, or too large a ball. With rows of norm 1, clip 1, step size 1 and radius 100, ten million records of 1,000 features are covered.
void require_last_iterate(std::size_t records, std::size_t features, ConvexObjectiveRef objective, const LastIterateDescent& descent);

class LastIterateReleaser {
 public:
  virtual ~LastIterateReleaser() = default;
  /// w_T, one weight per feature, and nothing else.
  [[nodiscard]] virtual std::vector<double> release(const Dataset& data, ConvexObjectiveRef objective,
                                                    const LastIterateDescent& descent) = 0;
};

/// Spends `plan(descent, objective)`, then runs the steps. What production uses; private when the bits are cryptographic.
///
/// The guarantee needs nothing of the data: rows are scaled down to R, gradients are clipped, and records of other labels than the objective's add nothing.
/// It rests on the promise of `ConvexObjective`, and on the error of each computed map, which is checked to be below 2^-11 of s.
class NoisyLastIterateReleaser final : public LastIterateReleaser {
 public:
  /// Both must outlive the releaser.
  NoisyLastIterateReleaser(accounting::Reservation& reservation, mechanisms::BitsRef bits) : reservation_{reservation}, bits_{bits} {}

  /// \pre the rows are in memory.
  /// \throws as `plan` and `require_last_iterate`, and Error{invalid_argument} when the data have no labels, before anything is spent; Error{budget_exceeded}
  ///         when the reservation does not hold the event.
  /// \complexity O(stored values) for each use of a record and O(features) for each step; memory for a copy of the rows.
  [[nodiscard]] std::vector<double> release(const Dataset& data, ConvexObjectiveRef objective, const LastIterateDescent& descent) override;

 private:
  accounting::Reservation& reservation_;
  mechanisms::BitsRef bits_;
};

}  // namespace surety::optimizers
