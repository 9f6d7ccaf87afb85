#include <surety/jobs/train/train_job.h>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <surety/accounting/events/json.h>
#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/jobs/run/order.h>
#include <surety/jobs/search/candidates.h>
#include <surety/jobs/train/trained_json.h>

namespace surety::jobs {
namespace {

/// Nobody who says how a search is done is left without one.
void require_no_search(const SearchPlan& search, const SaidFields& said) {
  const SearchPlan usual;
  const auto refuse_said = [&](std::string_view field, bool is_another) {
    if (is_another || said.contains(field)) refuse_plan("@tune is missing: @{} says how a search would be done", field);
  };
  refuse_said("tune-over", search.tune_over != usual.tune_over);
  refuse_said("tune-by", search.tune_by != usual.tune_by);
  refuse_said("tune-most", search.tune_most != usual.tune_most);
  refuse_said("answer-at", search.answer_at != usual.answer_at);
}

std::unique_ptr<TrainingRun> run_of(const TrainPlan& plan, const TrainContext& context, const SaidFields& said) {
  const auto algorithm = algorithm_of(plan);
  if (plan.has_unit() && !algorithm->why_no_units().empty()) {
    refuse(ErrorCode::unsupported, "@unit is not for {}: {}", algorithm->name(), algorithm->why_no_units());
  }
  if (!plan.search.tune) require_no_search(plan.search, said);
  return plan.search.tune ? search_of(plan, *algorithm, said, context) : algorithm->prepare(plan, context);
}

}  // namespace

TrainJob::TrainJob(TrainPlan plan)
    : alone_{std::make_unique<Alone>()},
      plan_{std::make_unique<TrainPlan>(std::move(plan))},
      run_{run_of(*plan_, TrainContext{.team = *alone_}, {})} {}

TrainJob::TrainJob(TrainPlan plan, const TrainContext& context, const SaidFields& said)
    : context_{context.run},
      tells_weights_{context.weights != nullptr},
      plan_{std::make_unique<TrainPlan>(std::move(plan))},
      run_{run_of(*plan_, context, said)} {}

TrainJob::TrainJob(TrainJob&&) noexcept = default;
TrainJob& TrainJob::operator=(TrainJob&&) noexcept = default;
TrainJob::~TrainJob() = default;

const CalibratedNoise& TrainJob::calibrate() {
  if (noise_) return *noise_;
  context_.begin(Phase::calibrating);
  until_called_off(context_, [&] { noise_ = std::make_unique<CalibratedNoise>(run_->calibrate()); });
  return *noise_;
}

accounting::Plan TrainJob::charge(bool not_private, const std::string& note) const {
  return {.event = noise_->event,
          .unit = plan_->unit,
          .promise = plan_->target,
          .note = !note.empty()
                      ? note
                      : fmt::format("{}, {} loss{}", plan_->algorithm_name(), plan_->problem.loss, plan_->search.tune ? ", tuned" : ""),
          .not_private = not_private};
}

void TrainJob::take_records(std::string path) {
  if (std::holds_alternative<std::shared_ptr<const data::RecordFile>>(plan_->source.inputs)) {
    refuse_plan("@format is records: such a plan names its file, must not be given other records");
  }
  plan_->source.path = std::move(path);
  plan_->source.rows.reset();
}

void TrainJob::take_records(data::ArrowStream rows) {
  if (!std::holds_alternative<data::CsvOptions>(plan_->source.inputs)) {
    refuse_plan("@format is not csv: rows of an Arrow stream have named columns, as those of CSV files");
  }
  if (plan_->search.answer_at) {
    refuse(ErrorCode::unsupported, "@answer-at is for files: how long another program takes for its rows is not known to be public");
  }
  plan_->source.rows = std::make_shared<GivenRows>(std::move(rows));
  plan_->source.path = "Arrow stream";
}

const data::FeatureMap& TrainJob::read(double noise, RunBits& bits) {
  if (plan_->source.path.empty()) refuse_plan("@data is missing, must name the records, or others must be given");
  context_.begin(Phase::reading);
  features_ = &run_->read(noise, bits, context_);
  return *features_;
}

std::string TrainJob::identity(double noise) const { return run_->identity(noise); }

std::vector<double> TrainJob::learn(double noise, accounting::Reservation* reservation, RunBits& bits) {
  context_.begin(Phase::releasing);
  const auto learned = [&] { return run_->run(noise, reservation, bits); };
  return reservation == nullptr ? learned() : release_unless_stopped(*reservation, context_, tells_weights_, learned);
}

optimizers::Model TrainJob::model(std::vector<double> weights, bool not_private) const {
  return {.loss = plan_->problem.loss,
          .label = plan_->source.label,
          .features = *features_,
          .weights = std::move(weights),
          .guarantee = {.target = plan_->target, .event = noise_->event, .not_private = not_private, .unit = plan_->unit}};
}

TrainedModel TrainJob::trained(optimizers::Model model, const accounting::Reservation& reservation) const {
  TrainingFacts facts;
  run_->add_to(facts, {.model = model, .noise = *noise_});
  return {.plan = *plan_,
          .model = std::move(model),
          .noise = *noise_,
          .released = released_by(reservation, noise_->event, noise_->epsilon, plan_->target.delta),
          .run = reservation.id(),
          .facts = std::make_shared<const TrainingFacts>(std::move(facts))};
}

namespace {

class TrainSteps final : public RunSteps {
 public:
  TrainSteps(TrainJob& job, accounting::Ledger& ledger, RunBits& bits, const std::string& note)
      : job_{job}, ledger_{ledger}, bits_{bits}, note_{note} {}

  accounting::Plan calibrate() override {
    noise_ = job_.calibrate().value;
    return job_.charge(bits_.not_private(), note_);
  }
  void ask(const accounting::Plan& charge) override { ledger_.check(charge); }
  void read() override {
    static_cast<void>(job_.read(noise_, bits_));
    job_.context().require_going_on();
  }
  accounting::Reservation reserve(const accounting::Plan& charge) override { return ledger_.reserve(charge); }
  void release(accounting::Reservation& reservation) override {
    auto weights = job_.learn(noise_, &reservation, bits_);
    trained.emplace(job_.trained(job_.model(std::move(weights), bits_.not_private()), reservation));
  }

  std::optional<TrainedModel> trained;

 private:
  TrainJob& job_;
  accounting::Ledger& ledger_;
  RunBits& bits_;
  const std::string& note_;
  double noise_ = 0;
};

}  // namespace

TrainedModel run(TrainJob job, accounting::Ledger& ledger, RunBits& bits, const std::string& note) {
  TrainSteps steps{job, ledger, bits, note};
  run_in_order(steps);
  return *std::move(steps.trained);
}

nlohmann::json to_json(const TrainedModel& trained) {
  const auto& [plan, model, noise, released, run, facts] = trained;
  const double delta = plan.target.delta.value();
  nlohmann::json object{{"algorithm", plan.algorithm_name()},
                        {"loss", plan.problem.loss},
                        {"adjacency", name(plan.target.adjacency)},
                        {"promise", {{"epsilon", plan.target.epsilon.value()}, {"delta", delta}}},
                        {"event", released.event},
                        {"epsilon", accounting::to_json(released.epsilon)},
                        {"delta", delta},
                        {"not_private", model.guarantee.not_private},
                        {"damaged_records_not_private", facts->damaged},
                        {"run", run.value},
                        {"unit", to_json(plan.unit)}};
  if (facts->in_place_of.empty()) {
    object["planned"] = released.planned;
    object["noise_multiplier"] = noise.value;
  }
  object.update(facts->fields);
  return object;
}

std::string json_text(const TrainedModel& trained) {
  return to_json(trained).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace surety::jobs
