// The door for an algorithm that minimises a randomised objective: a `Releaser` that also draws the noise inside.
//
// What `perturb` returns is secret: the minimiser of the objective that holds it is private because nobody sees the noise
// (docs/proofs/objective-perturbation.md). It must never leave the algorithm.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/run.h>

namespace surety::optimizers {

/// perturb(dimension, sigma, event): N(0, sigma^2) per coordinate, rounded to a grid of step at most 2^-28 sigma, which must never leave the
/// algorithm.
template <class R>
concept PerturbingReleaser = Releaser<R> && requires(R& releaser, std::size_t dimension, L2Sensitivity sigma, const Event& event) {
  { releaser.perturb(dimension, sigma, event) } -> std::same_as<std::vector<double>>;
};

/// Any `PerturbingReleaser`, which must outlive the reference.
class PerturbingReleaserRef {
 public:
  template <class R>
  requires(!std::same_as<std::remove_const_t<R>, PerturbingReleaserRef>) &&
      PerturbingReleaser<R> PerturbingReleaserRef(
          R& releaser) noexcept  // NOLINT(google-explicit-constructor): callers pass the releaser itself
      : releaser_{&releaser},
  release_{releaser}, perturb_{[](const void* r, std::size_t dimension, L2Sensitivity sigma, const Event& event) {
    return static_cast<R*>(const_cast<void*>(r))->perturb(dimension, sigma, event);
  }} {}

  [[nodiscard]] std::vector<double> perturb(std::size_t dimension, L2Sensitivity sigma, const Event& event) const {
    return perturb_(releaser_, dimension, sigma, event);
  }
  [[nodiscard]] std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) const {
    return release_.release(query, sensitivity, event);
  }

 private:
  const void* releaser_;
  ReleaserRef release_;
  std::vector<double> (*perturb_)(const void*, std::size_t, L2Sensitivity, const Event&);
};

/// Spends each event, then draws. What production uses; private when the bits are cryptographic.
class NoisyPerturbingReleaser {
 public:
  /// Both must outlive the releaser.
  NoisyPerturbingReleaser(accounting::Reservation& reservation, mechanisms::BitsRef bits)
      : reservation_{reservation}, bits_{bits}, output_{reservation, bits} {}

  /// \throws Error{internal} when the reservation does not hold the event.
  [[nodiscard]] std::vector<double> perturb(std::size_t dimension, L2Sensitivity sigma, const Event& event);

  /// As `NoisyReleaser`.
  [[nodiscard]] std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) {
    return output_.release(query, sensitivity, event);
  }

 private:
  accounting::Reservation& reservation_;
  mechanisms::BitsRef bits_;
  NoisyReleaser output_;
  std::optional<mechanisms::Gaussian> noise_;  ///< inside the objective; its tables take milliseconds to make
};

static_assert(PerturbingReleaser<NoisyPerturbingReleaser> && PerturbingReleaser<PerturbingReleaserRef>);

}  // namespace surety::optimizers
