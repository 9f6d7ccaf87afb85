// The score of a model on the part of the records that is held out, as the one release about that part, and what is said of it: within the charge of the
// training, or beside what it releases, in the same charge.
#pragma once

#include <optional>
#include <span>
#include <string>

#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/jobs/algorithms/algorithm.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/optimizers/empirical_risk/held_out_score.h>

namespace surety::jobs {

/// What decides whether a score costs nothing beside a training: docs/proofs/held-out-score.md
struct ScoredTraining {
  /// All that it releases.
  Event event;
  /// The count of usable records, where the training releases one: it pays for no score.
  std::optional<Event> count = {};
  /// It releases, beside that, sums alone that a unit which leaves moves by at most 1/sqrt 2 of what one that gives way to another does.
  bool adds_up_units = false;
  /// Nothing of that is enough for one, which is charged beside; and about how many records, or units, are held out. A public number.
  std::optional<double> held_out_for_price = {};
};

class PrivateScore {
 public:
  /// `shared` outlives it. \throws PlanError for a score that the loss does not have, or of no records.
  PrivateScore(const SplitPlan& own, const TrainPlan& shared);

  /// Whether such a training has one.
  [[nodiscard]] bool is_released(const ScoredTraining& training) const { return kind_ && why_not(training).empty(); }
  /// The noise of one that is charged beside its training: a Gaussian of a twenty-fifth of the squared mu of all that is promised. Nothing where none is wanted,
  /// where it is not charged there, and where nobody names it and its standard deviation would be more than a twentieth of the largest loss. A public number.
  [[nodiscard]] std::optional<NoiseMultiplier> paid_noise(const ScoredTraining& training) const;
  /// Releases it, or keeps in mind why not. \param reservation holds `paid_noise`, where there is one
  void release(const ScoredTraining& training, const data::Dataset& held_out, optimizers::UnitEnds ends, std::span<const double> weights,
               accounting::Reservation& reservation, mechanisms::BitsRef bits);
  /// What there is to say once `release` was called; nothing before, and where none is wanted.
  void add_to(TrainingFacts& facts) const;

 private:
  [[nodiscard]] std::string why_not(const ScoredTraining& training) const;

  const TrainPlan& plan_;
  std::optional<optimizers::ScoreKind> kind_;  ///< nothing where none is wanted
  bool is_named_;
  std::optional<NoiseMultiplier> noise_;  ///< of what was released
  bool is_paid_ = false;                  ///< beside the training
  std::optional<optimizers::ReleasedScore> released_;
  std::string why_not_;
};

}  // namespace surety::jobs
