// The door for data that are dealt to the rounds of an epoch: a `SamplingReleaser` that charges epochs.
//
// Each record is in one round of an epoch, which one is secret, and what that costs is known of a whole epoch alone (docs/proofs/allocated.md).
// So an epoch is charged before its first release, its further rounds cost nothing more, and who stops inside it has paid for all of it.
// A round serves one release; one that serves none has lost nothing but its records' turn. The deal is kept until all rounds were drawn, then
// it is dealt anew: to deal again before, with the outputs seen, would give a record a second turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/base/system/home_process.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/choices/allocation.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/sampled_releaser.h>

namespace surety::optimizers {

/// The rounds of one epoch after the other.
class EpochRounds {
 public:
  explicit EpochRounds(mechanisms::Allocation allocation) : allocation_{allocation} {}

  /// The records of the next round; those of a new deal's first round when all rounds of the last one were drawn.
  /// \throws Error{internal} inside an epoch of another number of records; as Allocation::deal.
  [[nodiscard]] std::vector<std::size_t> next(std::size_t records, mechanisms::BitsRef bits);

  [[nodiscard]] const mechanisms::Allocation& allocation() const noexcept { return allocation_; }
  /// No round of the present deal was drawn but the first one.
  [[nodiscard]] bool has_just_begun() const noexcept { return drawn_ == 1; }
  /// Some rounds of the present deal were drawn, and others were not.
  [[nodiscard]] bool is_within() const noexcept { return epoch_ && drawn_ < epoch_->rounds(); }

 private:
  mechanisms::Allocation allocation_;
  std::optional<mechanisms::DealtEpoch> epoch_;
  std::size_t records_ = 0;
  std::uint64_t drawn_ = 0;  ///< rounds of this epoch
};

/// Deals epochs, spends allocated(t, event) from a reservation before the first release of each, then draws the noise of every round. What
/// production uses; private when the bits are cryptographic. In a process made by fork it refuses: an epoch is spent for one process.
class NoisyEpochReleaser final : public SamplingReleaser {
 public:
  /// Reservation and bits must outlive the releaser.
  NoisyEpochReleaser(accounting::Reservation& reservation, mechanisms::BitsRef bits, mechanisms::Allocation allocation)
      : reservation_{reservation}, bits_{bits}, rounds_{allocation} {}

  /// The records of the next round. \throws as EpochRounds::next; Error{invalid_argument} in a process made by fork.
  [[nodiscard]] std::span<const std::size_t> draw_batch(std::size_t records) override;

  /// As NoisySamplingReleaser::release_sampled, charged an epoch at a time.
  /// \throws as that; Error{internal} when `event` is not what the first release of the epoch was; Error{invalid_argument} in a process
  ///         made by fork.
  [[nodiscard]] std::vector<double> release_sampled(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override;

  /// The same for a query of all records, charged as `event` itself. \throws Error{internal} inside an epoch.
  [[nodiscard]] std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override;

 private:
  HomeProcess home_;
  accounting::Reservation& reservation_;
  mechanisms::BitsRef bits_;
  EpochRounds rounds_;
  SecretBatch batch_;
  std::optional<Event> charged_;  ///< what each round of the present epoch releases, from when it was charged
};

}  // namespace surety::optimizers
