// The door of a score on records that a model was not trained on.
//
// A record is trained on or held out. So a training, and one Gaussian release about the other part that some of the training's releases dominate, cost what the
// training does, which is charged before: this door charges nothing, and holds the score to that.
// Whether it may be opened where neighbours differ in whoever changes sides is for who opens it: docs/proofs/held-out-score.md
#pragma once

#include <optional>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/releases.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/run.h>

namespace surety::optimizers {

/// A z at which 1 / z^2 is at most the sum of count mu_i^2 over the releases of a training: mu_i is 1 / z_i of gaussian(z_i), of approx(e, d) the largest of
/// which a Gaussian is (e, d)-private, f / z_i of a last iterate that attains it, and 0 of all others. Of Gaussians it is no less by a relative 1e-14 for few different ones. Nothing where the sum is 0.
[[nodiscard]] std::optional<NoiseMultiplier> least_score_multiplier(const accounting::Releases& training);

/// One score.
class ScoreReleaser final : public Releaser {
 public:
  /// Both must outlive the releaser. \pre a record, or unit, is trained on or held out as docs/proofs/held-out-score.md asks
  ScoreReleaser(const accounting::Reservation& training, mechanisms::BitsRef bits) : training_{training}, bits_{bits} {}

  /// As NoisyReleaser, once, for an event gaussian(z) with z at least `least_score_multiplier` of what the training released by then.
  /// \throws Error{unsupported} for an event that is not Gaussian; Error{internal} for less noise, under another adjacency, beside a training that released
  ///         anything else, and the second time; Error{invalid_argument} when the noise does not fit the grid. Nothing is drawn then.
  [[nodiscard]] std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override;

 private:
  const accounting::Reservation& training_;
  mechanisms::BitsRef bits_;
  bool is_used_ = false;
};

}  // namespace surety::optimizers
