#include <surety/jobs/train/train_job.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/base/text/safe_text.h>
#include <surety/data/reading/called_off.h>
#include <surety/data/reading/text_reader.h>
#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/plans/choice_text.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/jobs/search/candidates.h>

namespace surety::jobs {
namespace {

/// Nobody who says how a search is done is left without one.
void require_no_search(const SearchPlan& search, const SaidFields& said) {
  const SearchPlan usual;
  const auto refuse_said = [&](std::string_view field, bool is_another) {
    if (is_another || said.contains(field))
      refuse_plan("{} is missing: {} says how a search would be done", "tune"_field, FieldName{field});
  };
  refuse_said("tune-over", search.tune_over != usual.tune_over);
  refuse_said("tune-by", search.tune_by != usual.tune_by);
  refuse_said("tune-most", search.tune_most != usual.tune_most);
  refuse_said("answer-at", search.answer_at != usual.answer_at);
}

/// \throws PlanError, Error{unsupported} where private ranges cannot be released before such a training.
void require_ranges(const TrainPlan& plan, const Algorithm& algorithm) {
  if (!algorithm.takes_private_ranges()) {
    std::vector<std::string> known;
    for (const auto& one : all_algorithms()) {
      if (one->takes_private_ranges()) known.push_back(one->name());
    }
    refuse(ErrorCode::unsupported, "{} releases no ranges of columns; give {}, or one of the algorithms {}", algorithm.name(),
           "bounds"_field, fmt::format("{}", fmt::join(known, ", ")));
  }
  if (plan.search.tune)
    refuse(ErrorCode::unsupported, "cannot combine private ranges of columns with {}; give {}", "tune"_field, "bounds"_field);
}

/// \throws PlanError, Error{unsupported} for weights of records that are not two fields of a CSV file, or where the algorithm has no theorem for them.
void require_weights(const TrainPlan& plan, const Algorithm& algorithm) {
  const auto& source = plan.source;
  if (!algorithm.takes_weights()) {
    std::vector<std::string> known;
    for (const auto& one : all_algorithms()) {
      if (one->takes_weights()) known.push_back(one->name());
    }
    refuse(ErrorCode::unsupported, "{} is not for {}; choose one of {}", "weight"_field, algorithm.name(),
           fmt::format("{}", fmt::join(known, ", ")));
  }
  if (!source.weight) refuse_plan("{} is missing: {} bounds the weights of its column", "weight"_field, "weight-bound"_field);
  if (!source.weight_bound)
    refuse_plan("{} is missing, must be the largest weight of {}, known without looking at the data", "weight-bound"_field, "weight"_field);
  if (!(*source.weight_bound > 0 && std::isfinite(*source.weight_bound)))
    refuse_plan("{} is {}, must be greater than 0 and finite", "weight-bound"_field, *source.weight_bound);
  if (!is_utf8(*source.weight))
    refuse_plan("{} is {}, must be UTF-8, since the model names it", "weight"_field, data::in_quotes(*source.weight));
  if (!std::holds_alternative<data::CsvOptions>(source.inputs))
    refuse_plan("{} is for CSV files, whose columns have names", "weight"_field);
  if (source.label && source.label->column == *source.weight)
    refuse_plan("{} is {}, must be another column than the label's", "weight"_field, data::in_quotes(*source.weight));
  if (plan.has_unit())
    refuse(ErrorCode::unsupported, "cannot combine {} with {}: weights are of records; remove one", "weight"_field, "unit"_field);
  if (plan.search.tune)
    refuse(ErrorCode::unsupported, "cannot combine {} with {}: scores of candidates have no weights; remove one", "weight"_field,
           "tune"_field);
}

std::unique_ptr<TrainingRun> run_of(const TrainPlan& plan, const TrainContext& context, const SaidFields& said) {
  const auto algorithm = algorithm_of(plan);
  require_lengths_of_a_grid(plan.problem);
  if (said.contains("classes") && plan.problem.classes.empty()) refuse_plan("{} is '', must list at least 2 texts", "classes"_field);
  require_label_of_loss(plan);
  if (plan.has_unit()) {
    if (const auto why = algorithm->why_no_units(plan); !why.empty()) {
      refuse(ErrorCode::unsupported, "{} is not for {}: {}", "unit"_field, algorithm->name(), why);
    }
  }
  if (plan.source.weight || plan.source.weight_bound) require_weights(plan, *algorithm);
  if (plan.source.has_private_ranges()) require_ranges(plan, *algorithm);
  if (!plan.search.tune) require_no_search(plan.search, said);
  return plan.search.tune ? search_of(plan, *algorithm, said, context) : algorithm->prepare(plan, context);
}

/// Whether a calibration failed since the promise has no delta.
bool needs_delta(const Error& error, const Target& target) {
  const auto code = error.code();
  return target.delta.value() == 0 && (code == ErrorCode::unreachable || code == ErrorCode::unsupported);
}

/// Noise of so many times what a record moves tells nothing, and is as much as grids of sums hold: a promise that it does not keep is refused before anything
/// is made or charged.
void require_useful(const Target& target) {
  constexpr double most_noise = 0x1p32;
  const Event most = target.delta.value() > 0 ? gaussian(NoiseMultiplier{most_noise}, target.adjacency)
                                              : laplace(NoiseScale{most_noise}, target.adjacency);
  if (accounting::epsilon(accounting::ClosedForm{}, most, target.delta).upper <= target.epsilon.value()) return;
  refuse(ErrorCode::unreachable, "epsilon = {} at delta = {} is out of reach: noise of 2^32 times what one record moves does not keep it",
         target.epsilon.value(), target.delta.value());
}

}  // namespace

TrainJob::TrainJob(TrainPlan plan)
    : alone_{std::make_unique<Alone>()},
      plan_{std::make_unique<TrainPlan>(std::move(plan))},
      run_{run_of(*plan_, TrainContext{.team = *alone_}, {})} {}

TrainJob::TrainJob(TrainPlan plan, const TrainContext& context, const SaidFields& said)
    : context_{context.run},
      print_name_{context.print_name},
      tells_weights_{context.weights != nullptr},
      plan_{std::make_unique<TrainPlan>(std::move(plan))},
      run_{run_of(*plan_, context, said)} {}

TrainJob::TrainJob(TrainJob&&) noexcept = default;
TrainJob& TrainJob::operator=(TrainJob&&) noexcept = default;
TrainJob::~TrainJob() = default;

const CalibratedNoise& TrainJob::calibrate() {
  if (noise_) return *noise_;
  require_useful(plan_->target);
  context_.begin(Phase::calibrating);
  try {
    until_called_off(context_, [&] { noise_ = std::make_unique<CalibratedNoise>(run_->calibrate()); });
  } catch (const Error& error) {
    if (!needs_delta(error, plan_->target)) throw;
    refuse(
        error.code(),
        "delta is 0, must be greater than 0 for {}{}, whose noise keeps no promise there; choose less than one over the number of records, such as 1e-6 for 100,000, or {} auto, shaped-descent, constant or gossip{}",
        plan_->algorithm_name(), plan_->search.tune ? fmt::format(" in a search") : "", "algorithm"_field,
        plan_->search.tune ? " without a search" : "");
  }
  return *noise_;
}

accounting::Plan TrainJob::charge(bool not_private, const std::string& note) const {
  return {.event = noise_->event,
          .unit = plan_->unit,
          .promise = plan_->target,
          .note = !note.empty() ? note
                                : fmt::format("{}, {} loss{}{}", plan_->algorithm_name(), plan_->problem.loss,
                                              plan_->search.tune ? ", tuned" : "", run_->releases_score(noise_->event) ? ", scored" : ""),
          .not_private = not_private};
}

void TrainJob::take_records(std::string path) {
  if (std::holds_alternative<std::shared_ptr<const data::RecordFile>>(plan_->source.inputs)) {
    refuse_plan("{} is records: such a plan names its file, must not be given other records", "format"_field);
  }
  plan_->source.path = std::move(path);
  plan_->source.rows.reset();
  run_->take_records(plan_->source);
}

void TrainJob::take_records(data::ArrowStream rows) {
  if (!std::holds_alternative<data::CsvOptions>(plan_->source.inputs)) {
    refuse_plan("{} is not csv: rows of an Arrow stream have named columns, as those of CSV files", "format"_field);
  }
  if (plan_->search.answer_at) {
    refuse(ErrorCode::unsupported, "{} is for files: how long another program takes for its rows is not known to be public",
           "answer-at"_field);
  }
  take_rows(std::move(rows));
}

void TrainJob::take_records(data::SparseMatrix rows) {
  const auto* const features = std::get_if<data::SparseFeatures>(&plan_->source.inputs);
  if (features == nullptr)
    refuse_plan("{} is not libsvm: rows of a sparse matrix have features without names, as those of LIBSVM text", "format"_field);
  if (rows.columns != features->count) {
    refuse_plan("{} is {}, must be {}, the number of columns of the sparse matrix", "features"_field, features->count, rows.columns);
  }
  rows.validate();
  if (rows.labels.empty() && rows.rows() > 0) invalid("sparse matrix: it has no labels, must have one for each row");
  take_rows(std::move(rows));
}

void TrainJob::take_rows(GivenRows::Rows rows) {
  plan_->source.rows = std::make_shared<GivenRows>(std::move(rows));
  plan_->source.path = plan_->source.rows->name();
  run_->take_records(plan_->source);
}

const data::FeatureMap& TrainJob::read(double noise, RunBits& bits) {
  if (plan_->source.path.empty()) refuse_plan("{} is missing, must name the records, or others must be given", "data"_field);
  context_.begin(Phase::reading);
  const data::CalledOff may_be_called_off{context_.should_stop};
  features_ = &run_->read(noise, bits, context_);
  return *features_;
}

std::vector<std::string> TrainJob::notes() const { return notes_of(*plan_, features_ == nullptr ? std::nullopt : run_->public_records()); }

std::string TrainJob::identity(double noise) const { return run_->identity(noise); }

std::vector<double> TrainJob::learn(double noise, accounting::Reservation* reservation, RunBits& bits) {
  context_.begin(Phase::releasing);
  const auto learned = [&] { return run_->run(noise, reservation, bits); };
  return reservation == nullptr ? learned() : release_unless_stopped(*reservation, context_, tells_weights_, learned);
}

optimizers::Model TrainJob::model(std::vector<double> weights, bool not_private) const {
  const auto labels = label_range(plan_->problem);
  optimizers::Model model{.loss = std::string{name_of(plan_->problem.loss)},
                          .label = plan_->source.label,
                          .label_centre = labels ? labels->centre : 0,
                          .record_weights = plan_->source.weight_rule(),
                          .features = *features_,
                          .weights = std::move(weights),
                          .classes_by = classes_by_of(plan_->problem),
                          .guarantee = {.target = plan_->target, .event = noise_->event, .not_private = not_private, .unit = plan_->unit}};
  run_->complete(model);
  return model;
}

TrainedModel TrainJob::trained(optimizers::Model model, const accounting::Reservation& reservation) const {
  TrainingFacts facts{.print_name = print_name_};
  run_->add_to(facts, {.model = model, .noise = *noise_});
  facts.notes = notes();
  return {.plan = *plan_,
          .model = std::move(model),
          .noise = *noise_,
          .released = released_by(reservation, noise_->event, noise_->epsilon, plan_->target.delta),
          .run = reservation.id(),
          .facts = std::make_shared<const TrainingFacts>(std::move(facts))};
}

}  // namespace surety::jobs
