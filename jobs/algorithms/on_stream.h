// Training in one pass over records that come one at a time, or in batches of a whole file in its order: weights stay in a ball, and all is
// charged for before the first record is looked at.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <surety/jobs/algorithms/algorithm.h>
#include <surety/jobs/algorithms/usable_count.h>

namespace surety::jobs {

/// What both are.
class PassRun : public TrainingRun {
 public:
  /// How many records it read.
  void add_to(TrainingFacts& facts, const ModelFacts& known) const override;
  /// Learns, and then counts: how many records are usable is known at the end of the pass. \throws Error{bad_data} where they are too few.
  [[nodiscard]] std::vector<double> run(double noise, accounting::Reservation* reservation, RunBits& bits) final;

 protected:
  /// `shared` outlives the run.
  PassRun(const CountPlan& own, const TrainPlan& shared, CountNeeds needs) : plan_{shared}, count_{own, shared, std::move(needs)} {}
  [[nodiscard]] virtual std::vector<double> learn(double noise, accounting::Reservation& reservation, mechanisms::BitsRef bits) = 0;
  [[nodiscard]] virtual std::uint64_t records() const = 0;
  [[nodiscard]] virtual std::uint64_t damaged() const = 0;
  /// How many of `records()` are not zero. Private.
  [[nodiscard]] virtual std::uint64_t usable() const = 0;
  [[nodiscard]] const UsableCount& usable_count() const { return count_; }
  [[nodiscard]] const TrainPlan& plan() const { return plan_; }
  [[nodiscard]] const Target& target() const { return plan_.target; }

 private:
  const TrainPlan& plan_;
  UsableCount count_;
};

/// On a stream. Algorithms `learn` from records that they `feed` to what observes them.
class StreamRun : public PassRun {
 public:
  [[nodiscard]] const data::FeatureMap& read(double noise, RunBits& bits, const RunContext& context) final;
  void add_to(TrainingFacts& facts, const ModelFacts& known) const final;

 protected:
  StreamRun(const StreamPlan& own, const TrainPlan& shared, const TrainContext& context, CountNeeds needs = {});
  /// \pre `read` was called
  [[nodiscard]] Count features() const { return Count{stream_->features.features()}; }

  /// Feeds records to algorithm.observe(row, label, door) until they or the steps end. \return the weights
  template <class O, class LearningAlgorithm, class Door>
  [[nodiscard]] std::vector<double> feed(const O& objective, LearningAlgorithm algorithm, Door& door) {
    auto& records = stream_->records;
    while (step_ < steps_ && records.next(objective)) {
      const auto values = records.row().values;
      if (std::any_of(values.begin(), values.end(), [](double value) { return value != 0; })) ++usable_;
      algorithm.observe(records.row(), records.label(), door);
      tell(++step_, algorithm.weights());
    }
    return {algorithm.weights().begin(), algorithm.weights().end()};
  }

 private:
  void tell(std::uint64_t step, std::span<const double> weights) const;
  [[nodiscard]] std::uint64_t records() const final { return step_; }
  [[nodiscard]] std::uint64_t damaged() const final { return stream_->records.damaged(); }
  [[nodiscard]] std::uint64_t usable() const final { return usable_; }

  std::uint64_t steps_;
  std::optional<std::uint64_t> every_;
  TrainContext context_;
  decltype(context_.progress_of(0)) progress_;
  std::optional<OpenStream> stream_;
  std::uint64_t step_ = 0;
  std::uint64_t usable_ = 0;
};

/// On batches of a whole file.
class BatchRun : public PassRun {
 public:
  [[nodiscard]] const data::FeatureMap& read(double noise, RunBits& bits, const RunContext& context) final;

 protected:
  /// \param said how many records the file must have
  BatchRun(const CountPlan& own, const TrainPlan& shared, AnyObjective objective, std::optional<std::uint64_t> said)
      : PassRun{own, shared, {.public_records = said}}, objective_{std::move(objective)}, said_{said} {}
  /// Refuses what does not suit the number of records, which is public.
  virtual void check(std::size_t /*records*/) const {}
  [[nodiscard]] const AnyObjective& objective() const { return objective_; }
  /// \pre `read` was called
  [[nodiscard]] const data::Dataset& data() const { return found_->data; }

 private:
  [[nodiscard]] std::uint64_t records() const final { return found_->data.size(); }
  [[nodiscard]] std::uint64_t damaged() const final { return found_->damaged; }
  [[nodiscard]] std::uint64_t usable() const final { return usable_units(data()); }

  AnyObjective objective_;
  std::optional<std::uint64_t> said_;
  std::optional<ReadRecords> found_;
};

/// \throws PlanError without `radius`; Error{unsupported} as `require_fixed_places`.
[[nodiscard]] Radius ball_radius(const TrainPlan& shared);

/// The public number of records of a whole file in batches. \throws PlanError where it is not given.
[[nodiscard]] Count records_of_batches(const std::optional<std::uint64_t>& records);
/// Batches of so many records, by default of a thirtieth of all.
[[nodiscard]] Batches batches_of(const std::optional<std::uint64_t>& batch_size, Count records);

/// Algorithms whose weights stay in a ball and whose records have public places.
template <class Own>
class BallAlgorithm : public AlgorithmOf<Own> {
 public:
  using AlgorithmOf<Own>::AlgorithmOf;

  [[nodiscard]] FieldText why_no_units(const TrainPlan& /*plan*/) const final {
    return "its records have public places in batches or in time, where a unit's rows may be anywhere, and its proof is about one record";
  }
};

// ---- Plans of algorithms that read one record at a time, until the stream or `steps` end ----------------------------------------------------

void add_stream_fields(FieldTable& table, StreamPlan& own, TrainPlan& shared, std::string clip);
/// \throws PlanError without `steps`.
[[nodiscard]] Count most_records(const StreamPlan& own, const TrainPlan& shared);

}  // namespace surety::jobs
