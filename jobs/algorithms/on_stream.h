// Training in one pass over records that come one at a time, or in batches of a whole file in its order: weights stay in a ball, and all is
// charged for before the first record is looked at.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <surety/jobs/algorithms/algorithm.h>

namespace surety::jobs {

/// What came of the records.
struct StreamOutcome {
  std::vector<double> weights;
  std::uint64_t records = 0;
};

/// What an algorithm on a stream does.
struct StreamTraining {
  std::function<CalibratedNoise()> calibrate;
  std::function<StreamOutcome(optimizers::RecordStream& records, Count features, double noise, accounting::Reservation& reservation,
                              mechanisms::BitsRef bits)>
      run;
};

/// What an algorithm on batches of a whole file does.
struct BatchTraining {
  std::optional<std::uint64_t> records = {};  ///< that the file must have
  Reader read;
  std::function<CalibratedNoise()> calibrate;
  std::function<std::vector<double>(const data::Dataset& data, double noise, accounting::Reservation& reservation,
                                    mechanisms::BitsRef bits)>
      run;
  /// Refuses what does not suit the number of records, which is public.
  std::function<void(std::size_t records)> check = {};
};

/// \throws PlanError without `radius`; Error{unsupported} as `require_fixed_places`.
[[nodiscard]] Radius ball_radius(const TrainPlan& shared);
[[nodiscard]] std::unique_ptr<TrainingRun> on_batches(const TrainPlan& shared, BatchTraining training);

/// Algorithms whose weights stay in a ball and whose records have public places.
template <class Own>
class BallAlgorithm : public AlgorithmOf<Own> {
 public:
  using AlgorithmOf<Own>::AlgorithmOf;

  [[nodiscard]] std::string why_no_units() const final {
    return "its records have public places in batches or in time, where a unit's rows may be anywhere, and its proof is about one record";
  }
};

// ---- Plans of algorithms that read one record at a time, until the stream or `steps` end ----------------------------------------------------

void add_stream_fields(FieldTable& table, StreamPlan& own, TrainPlan& shared, std::string clip);
/// \throws PlanError without `steps`.
[[nodiscard]] Count most_records(const StreamPlan& own, const TrainPlan& shared);
[[nodiscard]] std::unique_ptr<TrainingRun> on_stream(const StreamPlan& own, const TrainPlan& shared, StreamTraining training);

/// Feeds records to algorithm.observe(row, label, door) until they or the steps end.
class Feed {
 public:
  Feed(const StreamPlan& own, const TrainContext& context)
      : steps_{own.steps.value()},
        every_{own.every},
        progress_{every_ ? std::function<void(std::uint64_t)>{} : context.progress_of(steps_)},
        run_{context.run},
        weights_{context.weights} {}

  template <class O, class LearningAlgorithm, class Door>
  StreamOutcome operator()(const O& objective, optimizers::RecordStream& records, LearningAlgorithm algorithm, Door& door) const {
    std::uint64_t step = 0;
    while (step < steps_ && records.next(objective)) {
      algorithm.observe(records.row(), records.label(), door);
      ++step;
      if (every_ && weights_ && step % *every_ == 0) weights_(step, algorithm.weights());
      if (progress_) progress_(step);
      if (every_) run_.require_going_on();
    }
    return {.weights = {algorithm.weights().begin(), algorithm.weights().end()}, .records = step};
  }

 private:
  std::uint64_t steps_;
  std::optional<std::uint64_t> every_;
  std::function<void(std::uint64_t)> progress_;
  RunContext run_;
  std::function<void(std::uint64_t, std::span<const double>)> weights_;
};

}  // namespace surety::jobs
