// The door for data in batches that no record shares: a `Releaser` whose releases are charged a pass at a time.
//
// A pass splits the records into batches by their public places and makes one release of each. A record is in one batch, and given
// everything released before, no other release of the pass depends on it: the pass costs what its dearest release costs
// (docs/proofs/frank-wolfe.md#batches).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/base/system/home_process.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/run.h>

namespace surety::optimizers {

/// One pass over disjoint batches.
struct BatchPass {
  Count batches;  ///< releases in a pass
  Event release;  ///< what each release is: a Gaussian
  Event pass;     ///< what they are together, for the ledger
};

/// Spends `pass` before the first of every `batches` releases, then draws the noise of each. What production uses; private when the bits are
/// cryptographic and no record is in two batches of a pass. In a process made by fork it refuses: a pass is spent for one process.
class NoisyBatchReleaser final : public Releaser {
 public:
  /// Reservation and bits must outlive the releaser.
  NoisyBatchReleaser(accounting::Reservation& reservation, mechanisms::BitsRef bits, BatchPass pass)
      : reservation_{reservation}, bits_{bits}, pass_{std::move(pass)} {}

  /// The query plus N(0, (z sensitivity)^2) per coordinate, rounded exactly to the query's grid, for the event gaussian(z).
  /// \throws Error{internal} when `event` is not the release of this pass; Error{budget_exceeded} when the reservation does not hold it;
  ///         Error{unsupported} for an event that is not Gaussian; Error{invalid_argument} when the noise does not fit the grid, and in a
  ///         process made by fork.
  [[nodiscard]] std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override;

 private:
  HomeProcess home_;
  accounting::Reservation& reservation_;
  mechanisms::BitsRef bits_;
  BatchPass pass_;
  std::uint64_t done_ = 0;  ///< releases so far
};

}  // namespace surety::optimizers
