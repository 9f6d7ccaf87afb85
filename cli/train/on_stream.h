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

#include "algorithm.h"

namespace surety::cli {

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

/// Writes a line of JSON, at once: the reader may be waiting for it.
void print_weights(std::uint64_t step, std::span<const double> weights);

/// Algorithms whose weights stay in a ball and whose records have public places.
class BallAlgorithm : public Algorithm {
 public:
  using Algorithm::Algorithm;

  [[nodiscard]] std::string why_no_units() const override {
    return "its records have public places in batches or in time, where a unit's rows may be anywhere, and its proof is about one record";
  }

 protected:
  /// \throws Error{invalid_argument} without --radius.
  [[nodiscard]] Radius ball_radius(const TrainOptions& shared) const;
  [[nodiscard]] std::unique_ptr<TrainingRun> on_batches(const TrainOptions& shared, BatchTraining training) const;
};

/// Those that read one record at a time, until the stream or --steps ends.
class StreamAlgorithm : public BallAlgorithm {
 public:
  using BallAlgorithm::BallAlgorithm;

 protected:
  void add_stream_options(OptionTable& table, TrainOptions& shared, std::string clip);
  /// \throws Error{invalid_argument} without --steps.
  [[nodiscard]] Count most_records() const;
  [[nodiscard]] std::unique_ptr<TrainingRun> on_stream(const TrainOptions& shared, const Source& source, StreamTraining training) const;

  /// Feeds the records to algorithm.observe(row, label, door) until they or the steps end.
  template <class O, class LearningAlgorithm, class Door>
  StreamOutcome feed(const O& objective, optimizers::RecordStream& records, LearningAlgorithm algorithm, Door& door) const {
    const auto progress = every_ ? std::function<void(std::uint64_t)>{} : progress_bar(*steps_);
    std::uint64_t step = 0;
    while (step < *steps_ && records.next(objective)) {
      algorithm.observe(records.row(), records.label(), door);
      ++step;
      if (every_ && step % *every_ == 0) print_weights(step, algorithm.weights());
      if (progress) progress(step);
    }
    return {.weights = {algorithm.weights().begin(), algorithm.weights().end()}, .records = step};
  }

 private:
  std::optional<std::uint64_t> steps_;
  std::optional<std::uint64_t> every_;
};

}  // namespace surety::cli
