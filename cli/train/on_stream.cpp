#include "on_stream.h"

#include <cstdio>

#include <surety/optimizers/doors/stream.h>

#include "../output.h"
#include "../validators.h"
#include "report.h"

namespace surety::cli {
namespace {

using namespace optimizers;
using namespace data;

/// What is said of a pass: how many records it read.
void add_pass(Report& report, std::uint64_t records, std::uint64_t damaged) {
  report.extent = fmt::format("{} records", records);
  report.fields = {{"records", records}};
  report.damaged = damaged;
}

class StreamRun final : public TrainingRun {
 public:
  StreamRun(const TrainOptions& options, const Source& source, StreamTraining training, bool is_shown)
      : options_{options}, source_{source}, training_{std::move(training)}, is_shown_{is_shown} {}

  CalibratedNoise calibrate() override { return training_.calibrate(); }
  const FeatureMap& read(double /*noise*/, RunBits& /*bits*/) override {
    stream_.emplace(open_stream(options_, source_));
    return stream_->features;
  }
  std::vector<double> run(double noise, accounting::Reservation* reservation, RunBits& bits) override {
    auto outcome = training_.run(stream_->records, Count{stream_->features.features()}, noise, *reservation, bits.source());
    records_ = outcome.records;
    return std::move(outcome.weights);
  }
  void add_to(Report& report) const override {
    add_pass(report, records_, stream_->records.damaged());
    report.is_one_line = is_shown_;
  }

 private:
  const TrainOptions& options_;
  const Source& source_;
  StreamTraining training_;
  bool is_shown_;
  std::optional<OpenStream> stream_;
  std::uint64_t records_ = 0;
};

class BatchRun final : public TrainingRun {
 public:
  BatchRun(const TrainOptions& options, BatchTraining training) : options_{options}, training_{std::move(training)} {}

  CalibratedNoise calibrate() override { return training_.calibrate(); }
  const FeatureMap& read(double /*noise*/, RunBits& /*bits*/) override {
    found_.emplace(training_.read(nullptr));
    if (training_.records) require_said_records(options_, found_->data.size(), *training_.records);
    if (training_.check) training_.check(found_->data.size());
    return found_->features;
  }
  std::vector<double> run(double noise, accounting::Reservation* reservation, RunBits& bits) override {
    return training_.run(found_->data, noise, *reservation, bits.source());
  }
  void add_to(Report& report) const override { add_pass(report, found_->data.size(), found_->damaged); }

 private:
  const TrainOptions& options_;
  BatchTraining training_;
  std::optional<ReadRecords> found_;
};

}  // namespace

void print_weights(std::uint64_t step, std::span<const double> weights) {
  print_line({{"step", step}, {"weights", std::vector<double>(weights.begin(), weights.end())}});
  std::fflush(stdout);
}

Radius BallAlgorithm::ball_radius(const TrainOptions& shared) const {
  if (!shared.radius) invalid(fmt::format("--radius is missing: {} keeps its weights in a ball", name()));
  require_fixed_places(shared.run.target().adjacency);
  return Radius{*shared.radius};
}

std::unique_ptr<TrainingRun> BallAlgorithm::on_batches(const TrainOptions& shared, BatchTraining training) const {
  return std::make_unique<BatchRun>(shared, std::move(training));
}

void StreamAlgorithm::add_stream_options(OptionTable& table, TrainOptions& shared, std::string clip) {
  table.group("Output");
  table.add("--every", every_, "Print the weights, a line of JSON, after each so many records; with --json that is the last line",
            whole_number(1, max_count));
  table.group("Problem and algorithm");
  table.add("--steps", steps_, "The most records to read", whole_number(1, max_count)).standard("needed");
  add_radius(table, shared, "needed");
  add_clip(table, shared, std::move(clip));
}

Count StreamAlgorithm::most_records() const {
  if (!steps_) invalid(fmt::format("--steps is missing: {} needs the most records that it may read", name()));
  return Count{*steps_};
}

std::unique_ptr<TrainingRun> StreamAlgorithm::on_stream(const TrainOptions& shared, const Source& source, StreamTraining training) const {
  return std::make_unique<StreamRun>(shared, source, std::move(training), every_.has_value());
}

}  // namespace surety::cli
