#include <surety/jobs/algorithms/on_stream.h>

#include <surety/optimizers/doors/stream.h>

namespace surety::jobs {

using namespace optimizers;
using namespace data;

void PassRun::add_to(TrainingFacts& facts, const ModelFacts& /*known*/) const {
  facts.extent = fmt::format("{} records", records());
  facts.fields = {{"records", records()}};
  facts.damaged = damaged();
  count_.add_to(facts);
}

std::vector<double> PassRun::run(double noise, accounting::Reservation* reservation, RunBits& bits) {
  auto weights = learn(noise, *reservation, bits.source());
  if (count_.is_counted()) count_.keep(release_count(count_.query(usable()), *reservation, bits.source()), records());
  return weights;
}

namespace {

CountNeeds at_most(std::uint64_t records, CountNeeds needs) {
  needs.public_records = records;
  return needs;
}

}  // namespace

StreamRun::StreamRun(const StreamPlan& own, const TrainPlan& shared, const TrainContext& context, CountNeeds needs)
    : PassRun{own, shared, at_most(own.steps.value(), std::move(needs))},
      steps_{own.steps.value()},
      every_{own.every},
      context_{context},
      progress_{context.progress_of(steps_)} {}

const FeatureMap& StreamRun::read(double /*noise*/, RunBits& /*bits*/, const RunContext& /*context*/) {
  stream_.emplace(open_stream(plan().source));
  return stream_->features;
}

void StreamRun::add_to(TrainingFacts& facts, const ModelFacts& known) const {
  PassRun::add_to(facts, known);
  facts.has_told_weights = every_.has_value();
}

void StreamRun::tell(std::uint64_t step, std::span<const double> weights) const {
  if (every_) {
    if (context_.weights && step % *every_ == 0) context_.weights(step, weights);
    return context_.run.require_going_on();
  }
  if (progress_) progress_(step);
}

const FeatureMap& BatchRun::read(double /*noise*/, RunBits& /*bits*/, const RunContext& /*context*/) {
  found_.emplace(jobs::read(plan(), objective_));
  if (said_) require_said_records(plan(), found_->data.size(), *said_);
  check(found_->data.size());
  return found_->features;
}

Count records_of_batches(const std::optional<std::uint64_t>& records) {
  if (!records) refuse_plan("{} is missing: batches of a file need its public number of records", "records"_field);
  return Count{*records};
}

Batches batches_of(const std::optional<std::uint64_t>& batch_size, Count records) {
  return {records, Count{batch_size.value_or(std::max<std::uint64_t>(records.value() / 30, 1))}};
}

Radius ball_radius(const TrainPlan& shared) {
  if (!shared.problem.radius) refuse_plan("{} is missing: {} keeps its weights in a ball", "radius"_field, shared.algorithm_name());
  require_fixed_places(shared.target.adjacency);
  return Radius{*shared.problem.radius};
}

void add_stream_fields(FieldTable& table, StreamPlan& own, TrainPlan& shared, std::string clip) {
  table.group("Output");
  table.add("every", own.every,
            field_text("Print the weights, a line of JSON, after each so many records; with {} that is the last line", "json"_field),
            WholeNumber{1, max_count});
  add_count(table, own);
  table.add("steps", own.steps, "The most records to read", WholeNumber{1, max_count}).standard("needed");
  add_radius(table, shared, "needed");
  add_clip(table, shared, std::move(clip));
}

Count most_records(const StreamPlan& own, const TrainPlan& shared) {
  if (!own.steps) refuse_plan("{} is missing: {} needs the most records that it may read", "steps"_field, shared.algorithm_name());
  return Count{*own.steps};
}

}  // namespace surety::jobs
