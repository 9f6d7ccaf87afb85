// The door for an algorithm that minimises a randomised objective: a `Releaser` that also draws the noise inside.
//
// What `perturb` returns is secret: the minimiser of the objective that holds it is private because nobody sees the noise
// (docs/proofs/objective-perturbation.md). It must never leave the algorithm.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/run.h>

namespace surety::optimizers {

/// A `Releaser` that also perturbs.
class PerturbingReleaser : public Releaser {
 public:
  /// N(0, sigma^2) per coordinate, rounded to a grid of step at most 2^-28 sigma, which must never leave the algorithm.
  [[nodiscard]] virtual std::vector<double> perturb(std::size_t dimension, L2Sensitivity sigma, const Event& event) = 0;
};

/// Spends each event, then draws. What production uses; private when the bits are cryptographic.
class NoisyPerturbingReleaser final : public PerturbingReleaser {
 public:
  /// Both must outlive the releaser.
  NoisyPerturbingReleaser(accounting::Reservation& reservation, mechanisms::BitsRef bits)
      : reservation_{reservation}, bits_{bits}, output_{reservation, bits} {}

  /// \throws Error{budget_exceeded} when the reservation does not hold the event.
  [[nodiscard]] std::vector<double> perturb(std::size_t dimension, L2Sensitivity sigma, const Event& event) override;

  /// As `NoisyReleaser`.
  [[nodiscard]] std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override {
    return output_.release(query, sensitivity, event);
  }

 private:
  accounting::Reservation& reservation_;
  mechanisms::BitsRef bits_;
  NoisyReleaser output_;
  std::optional<mechanisms::Gaussian> noise_;  ///< inside the objective; its tables take milliseconds to make
};

}  // namespace surety::optimizers
