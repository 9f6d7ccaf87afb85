// A `Releaser` whose noise is Gaussian, or of density exp(-||x||_2 / b).
#pragma once

#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/run.h>

namespace surety::optimizers {

/// Spends, then draws. What production uses; private when the bits are cryptographic.
class NoisyVectorReleaser final : public Releaser {
 public:
  /// Both must outlive the releaser.
  NoisyVectorReleaser(accounting::Reservation& reservation, mechanisms::BitsRef bits)
      : reservation_{reservation}, bits_{bits}, gaussian_{reservation, bits} {}

  /// Noise of density exp(-||x||_2 / (b sensitivity)), rounded exactly to the query's grid, for k_norm(l2, dimension of the query, b), for laplace(b) of one number,
  /// and with b = 1 / epsilon, rounded up, for pure(epsilon); of a Gaussian event as `NoisyReleaser`.
  /// \throws Error{unsupported} for every other event; Error{budget_exceeded}
  ///         when the reservation does not hold it; Error{invalid_argument} when the noise does not fit the grid.
  [[nodiscard]] std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override;

 private:
  accounting::Reservation& reservation_;
  mechanisms::BitsRef bits_;
  NoisyReleaser gaussian_;
};

}  // namespace surety::optimizers
