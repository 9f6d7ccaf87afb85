#include <surety/jobs/algorithms/on_stream.h>

#include <surety/optimizers/doors/stream.h>

namespace surety::jobs {
namespace {

using namespace optimizers;
using namespace data;

/// What is said of a pass: how many records it read.
void add_pass(TrainingFacts& facts, std::uint64_t records, std::uint64_t damaged) {
  facts.extent = fmt::format("{} records", records);
  facts.fields = {{"records", records}};
  facts.damaged = damaged;
}

class StreamRun final : public TrainingRun {
 public:
  StreamRun(const TrainPlan& plan, StreamTraining training, bool tells_weights)
      : plan_{plan}, training_{std::move(training)}, tells_weights_{tells_weights} {}

  CalibratedNoise calibrate() override { return training_.calibrate(); }
  const FeatureMap& read(double /*noise*/, RunBits& /*bits*/, const RunContext& /*context*/) override {
    stream_.emplace(open_stream(plan_.source));
    return stream_->features;
  }
  std::vector<double> run(double noise, accounting::Reservation* reservation, RunBits& bits) override {
    auto outcome = training_.run(stream_->records, Count{stream_->features.features()}, noise, *reservation, bits.source());
    records_ = outcome.records;
    return std::move(outcome.weights);
  }
  void add_to(TrainingFacts& facts, const ModelFacts& /*known*/) const override {
    add_pass(facts, records_, stream_->records.damaged());
    facts.has_told_weights = tells_weights_;
  }

 private:
  const TrainPlan& plan_;
  StreamTraining training_;
  bool tells_weights_;
  std::optional<OpenStream> stream_;
  std::uint64_t records_ = 0;
};

class BatchRun final : public TrainingRun {
 public:
  BatchRun(const TrainPlan& plan, BatchTraining training) : plan_{plan}, training_{std::move(training)} {}

  CalibratedNoise calibrate() override { return training_.calibrate(); }
  const FeatureMap& read(double /*noise*/, RunBits& /*bits*/, const RunContext& /*context*/) override {
    found_.emplace(training_.read(nullptr));
    if (training_.records) require_said_records(plan_, found_->data.size(), *training_.records);
    if (training_.check) training_.check(found_->data.size());
    return found_->features;
  }
  std::vector<double> run(double noise, accounting::Reservation* reservation, RunBits& bits) override {
    return training_.run(found_->data, noise, *reservation, bits.source());
  }
  void add_to(TrainingFacts& facts, const ModelFacts& /*known*/) const override { add_pass(facts, found_->data.size(), found_->damaged); }

 private:
  const TrainPlan& plan_;
  BatchTraining training_;
  std::optional<ReadRecords> found_;
};

}  // namespace

Radius ball_radius(const TrainPlan& shared) {
  if (!shared.problem.radius) refuse_plan("@radius is missing: {} keeps its weights in a ball", shared.algorithm_name());
  require_fixed_places(shared.target.adjacency);
  return Radius{*shared.problem.radius};
}

std::unique_ptr<TrainingRun> on_batches(const TrainPlan& shared, BatchTraining training) {
  return std::make_unique<BatchRun>(shared, std::move(training));
}

void add_stream_fields(FieldTable& table, StreamPlan& own, TrainPlan& shared, std::string clip) {
  table.group("Output");
  table.add("every", own.every, "Print the weights, a line of JSON, after each so many records; with @json that is the last line",
            WholeNumber{1, max_count});
  table.group("Problem and algorithm");
  table.add("steps", own.steps, "The most records to read", WholeNumber{1, max_count}).standard("needed");
  add_radius(table, shared, "needed");
  add_clip(table, shared, std::move(clip));
}

Count most_records(const StreamPlan& own, const TrainPlan& shared) {
  if (!own.steps) refuse_plan("@steps is missing: {} needs the most records that it may read", shared.algorithm_name());
  return Count{*own.steps};
}

std::unique_ptr<TrainingRun> on_stream(const StreamPlan& own, const TrainPlan& shared, StreamTraining training) {
  return std::make_unique<StreamRun>(shared, std::move(training), own.every.has_value());
}

}  // namespace surety::jobs
