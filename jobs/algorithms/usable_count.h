// The private count of the records, or units, that a training can use: released beside the training, in the same charge.
// docs/proofs/held-out-score.md#count
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/jobs/algorithms/algorithm.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/problem/unit_rows.h>

namespace surety::jobs {

/// What an algorithm knows of such a count before anything is read.
struct CountNeeds {
  std::string why_not = {};  ///< why the training cannot count, behind "count-records is "; empty where it can
  bool is_standard = true;   ///< whether it counts without --count-records
  bool is_pure = false;      ///< whether the noise is Laplace noise: where delta is 0, and where basic composition prices the training
  std::optional<std::uint64_t> public_records = {};  ///< about how many records, or units, are trained on, where the plan holds it
  std::uint64_t parts = 1;                           ///< of the records, each counted by itself with noise of its own
};

/// The count of one part, and the event as which a releaser adds its noise.
struct CountQuery {
  GridVector sum;
  L2Sensitivity sensitivity;
  Event event;
};

class UsableCount {
 public:
  /// `shared` outlives it. By default usable records are counted where the training can have a count, the number of records is public, damaged records are no
  /// error, and the noise is less than half of the number that the plan says, if any.
  /// \throws PlanError where the plan asks for a count that cannot be.
  UsableCount(const CountPlan& own, const TrainPlan& shared, CountNeeds needs);

  [[nodiscard]] bool is_counted() const noexcept { return event_.has_value(); }
  /// Gaussian of a hundredth of the squared mu of the promise, or Laplace of a hundredth of its epsilon; nothing where nothing is counted.
  [[nodiscard]] const std::optional<Event>& event() const noexcept { return event_; }
  /// An upper bound of what pure noise costs at delta = 0; 0 where nothing is counted.
  [[nodiscard]] double pure_epsilon() const;
  /// All that is released: the event of the count and the training, or the training alone.
  [[nodiscard]] Event with_count(const Event& training) const { return event_ ? compose({*event_, training}) : training; }
  /// \param usable how many records of one part are usable. \pre is_counted()
  [[nodiscard]] CountQuery query(std::uint64_t usable) const;

  /// Keeps a released count. \param released summed over the parts. \param known how many records there are, a public number
  /// \throws Error{bad_data} where with confidence .999 fewer than half of `known` are usable, unless the noise may hide half of them.
  void keep(double released, std::uint64_t known);
  /// What there is to say once `keep` was called; nothing before.
  void add_to(TrainingFacts& facts) const;

 private:
  [[nodiscard]] std::string_view whose() const { return plan_.has_unit() ? "units" : "records"; }

  const TrainPlan& plan_;
  std::optional<Event> event_;
  double noise_ = 0;  ///< the multiplier or the scale
  double reach_ = 0;  ///< exceeded by the noise of all parts, in one direction, with probability at most .001
  std::optional<double> usable_;
  std::uint64_t known_ = 0;
};

/// The count of all records with its noise, spent from the reservation before it is drawn. \throws as the doors.
[[nodiscard]] double release_count(const CountQuery& query, accounting::Reservation& reservation, mechanisms::BitsRef bits);

/// P[the sum of so many independent draws of Laplace noise of scale 1 exceeds t]. \pre parts is from 1 to 256, t is from 0 to 500. \complexity O(parts)
[[nodiscard]] double laplace_tail(std::uint64_t parts, double t);
/// What that sum exceeds with probability at most .001, for any number of parts.
[[nodiscard]] double laplace_reach(std::uint64_t parts);

/// How many rows of a data set, or units of several rows, have a row that is not zero. Private. Damaged records are rows of zeros.
[[nodiscard]] std::uint64_t usable_units(const data::Dataset& data, optimizers::UnitEnds ends = {});

/// `count-records` and `no-count-records`.
void add_count(FieldTable& table, CountPlan& own);

}  // namespace surety::jobs
