// The score of a model on the part of the records that is held out, as the one release about that part, and what is said of it.
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

/// What a training with these releases needs so that a score costs nothing beside it: docs/proofs/held-out-score.md
struct ScoredTraining {
  /// All that it releases.
  Event event;
  /// A count of what is trained on is in it, at a hundredth of the squared mu of the rest.
  bool is_counted = false;
  /// It releases, beside that, sums alone that a unit which leaves moves by at most 1/sqrt 2 of what one that gives way to another does.
  bool adds_up_units = false;
};

class PrivateScore {
 public:
  /// `shared` outlives it. \throws PlanError for a score that the loss does not have, or of no records.
  PrivateScore(const SplitPlan& own, const TrainPlan& shared);

  /// Whether such a training has one.
  [[nodiscard]] bool is_released(const ScoredTraining& training) const { return kind_ && why_not(training).empty(); }
  /// Releases it, or keeps in mind why not.
  void release(const ScoredTraining& training, const data::Dataset& held_out, optimizers::UnitEnds ends, std::span<const double> weights,
               const accounting::Reservation& reservation, mechanisms::BitsRef bits);
  /// What there is to say once `release` was called; nothing before, and where none is wanted.
  void add_to(TrainingFacts& facts) const;

 private:
  [[nodiscard]] std::string why_not(const ScoredTraining& training) const;

  const TrainPlan& plan_;
  std::optional<optimizers::ScoreKind> kind_;  ///< nothing where none is wanted
  std::optional<NoiseMultiplier> noise_;       ///< of what was released
  std::optional<optimizers::ReleasedScore> released_;
  std::string why_not_;
};

}  // namespace surety::jobs
