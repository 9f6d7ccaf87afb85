#include <surety/jobs/algorithms/algorithm.h>

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include <surety/base/text/safe_text.h>
#include <surety/data/reading/condition.h>
#include <surety/jobs/plans/choice_text.h>
#include <surety/jobs/plans/text_lists.h>
#include <surety/jobs/run/promise_notes.h>

namespace surety::jobs {

using namespace optimizers;
using namespace data;

namespace {

template <class Ref, class O>
Owned<Ref> owned(O objective) {
  return Owned<Ref>{std::make_shared<const O>(std::move(objective))};
}

template <class Ref>
Owned<Ref> named_objective(const TrainPlan& plan) {
  if (plan.problem.loss != Loss::smoothed_hinge) {
    return with_objective(plan, [](auto objective) { return owned<Ref>(std::move(objective)); });
  }
  require_options_of_loss(plan);
  return owned<Ref>(SmoothedHingeLoss{.width = SmoothingWidth{plan.problem.smoothing.value_or(0.5)}});
}

}  // namespace

AnyObjective objective_of(const TrainPlan& plan) {
  return with_objective(plan, [](auto objective) { return owned<ObjectiveRef>(std::move(objective)); });
}

AnyObjective any_objective_of(const TrainPlan& plan) {
  if (plan.problem.loss != Loss::hinge) return named_objective<ObjectiveRef>(plan);
  require_options_of_loss(plan);
  return owned<ObjectiveRef>(HingeLoss{});
}

AnyConvexObjective smooth_objective_of(const TrainPlan& plan) {
  if (plan.problem.loss != Loss::hinge) return named_objective<ConvexObjectiveRef>(plan);
  require_options_of_loss(plan);
  refuse_plan("{} is {}, must be smooth for {}", "loss"_field, plan.problem.loss, plan.algorithm_name());
}

void require_default_step(ObjectiveRef objective) {
  const double smoothness = objective.smoothness(1);
  if (std::isfinite(smoothness)) return;
  refuse(ErrorCode::unsupported, "smoothness of {} loss is {}, must be finite for the default {}", objective.name(), smoothness,
         "step-size"_field);
}

double label_unit(const TrainPlan& plan) {
  return plan.problem.loss == Loss::squared ? label_range(plan.problem).value().bound.value() : 1;
}

double mean_gradient_length(Count rows) { return std::pow(static_cast<double>(rows.value()), -0.25); }

ClippingNorm clip_of(const TrainPlan& plan, ObjectiveRef objective) {
  return ClippingNorm{plan.problem.clip ? *plan.problem.clip : objective.gradient_bound(1)};
}

std::chrono::milliseconds timeout_of(const std::optional<double>& seconds) {
  if (!seconds) return default_timeout;
  constexpr double most = 86'400;
  if (!(*seconds >= 0.001 && *seconds <= most)) {
    refuse_plan("{} is {}, must be at least 0.001 and at most {} seconds", "timeout"_field, *seconds, most);
  }
  return std::chrono::milliseconds{static_cast<std::int64_t>(std::ceil(*seconds * 1000))};
}

void require_options_of_loss(const TrainPlan& plan) {
  const bool is_squared = plan.problem.loss == Loss::squared;
  if (plan.problem.label_bound && !is_squared)
    refuse_plan("{} is for squared loss, labels of {} loss are classes", "label-bound"_field, plan.problem.loss);
  if (plan.problem.label_bounds && !is_squared)
    refuse_plan("{} is for squared loss, labels of {} loss are classes", "label-bounds"_field, plan.problem.loss);
  if (plan.problem.smoothing && plan.problem.loss != Loss::smoothed_hinge) {
    refuse_plan("{} is for smoothed-hinge loss, not for {} loss", "smoothing"_field, plan.problem.loss);
  }
  if (!is_squared) return;
  if (!label_range(plan.problem)) {
    refuse_plan("{} is missing: squared loss needs a public bound on the labels' magnitude, or {}, from where to where they lie",
                "label-bound"_field, "label-bounds"_field);
  }
  if (!plan.problem.radius && !plan.problem.clip)
    refuse_plan("{} or {} is missing: the gradient of squared loss is bounded only where the weights are", "radius"_field, "clip"_field);
}

bool has_number_for_two_classes(const TrainPlan& plan) {
  const auto& label = plan.source.label;
  return label && !label->test && label->classes.empty() && plan.problem.classes.empty() && plan.problem.loss != Loss::squared;
}

void require_label_of_loss(const TrainPlan& plan) {
  if (!has_number_for_two_classes(plan) || plan.problem.has_number_of_class) return;
  // Bounds of labels show that the loss is what was forgotten.
  if (plan.problem.label_bound || plan.problem.label_bounds) require_options_of_loss(plan);
  const auto name = column_text(plan.source.label->column);
  const auto& loss = plan.problem.loss;
  if (std::holds_alternative<std::shared_ptr<const RecordFile>>(plan.source.inputs)) {
    refuse_plan(
        "the label of the record file is {}, a column without a comparison, but {} loss has two classes: convert it again with a comparison such as '{}>0' or '{}==yes'",
        one_line(name), loss, one_line(name), one_line(name));
  }
  refuse_plan(
      "{} is {}, a column without a comparison, but {} loss has two classes: must be a comparison such as '{}>0' or '{}==yes', or {} must list them, such as 0,1 (with {} auto or shaped-descent)",
      "label"_field, one_line(name), loss, one_line(name), one_line(name), "classes"_field, "algorithm"_field);
}

namespace {

/// The number of records or units that a plan gives.
std::optional<std::uint64_t> given_records(const TrainPlan& plan) {
  return std::visit(
      [](const auto& own) -> std::optional<std::uint64_t> {
        if constexpr (requires { own.records; })
          return own.records;
        else if constexpr (requires { own.public_count; })
          return own.public_count;
        else
          return std::nullopt;
      },
      plan.algorithm);
}

}  // namespace

std::vector<std::string> notes_of(const TrainPlan& plan, std::optional<std::uint64_t> records) {
  std::vector<std::string> notes;
  if (plan.problem.has_number_of_class) {
    notes.push_back(fmt::format(
        "the plan is of version 1: its label {} is a column without a comparison, and records with other numbers than the two classes of {} loss count as damaged; write a comparison such as '{}>0' in a plan of version 2",
        one_line(column_text(plan.source.label->column)), plan.problem.loss, one_line(column_text(plan.source.label->column))));
  }
  for (auto& note : notes_of(plan.target, records ? records : given_records(plan))) notes.push_back(std::move(note));
  return notes;
}

std::optional<LabelRange> label_range(const Problem& problem) {
  if (!problem.label_bounds) {
    if (!problem.label_bound) return std::nullopt;
    return LabelRange{.bound = LabelBound{*problem.label_bound}};
  }
  if (problem.label_bound) refuse_plan("{} and {} are both given, must be one of them", "label-bound"_field, "label-bounds"_field);
  const auto [lower, upper] = parse_ends(*problem.label_bounds, "label-bounds");
  const double centre = lower / 2 + upper / 2;
  const double bound = std::max(upper - centre, centre - lower);
  if (!(lower < upper && bound > 0 && std::isfinite(bound))) {
    refuse_plan("{} is {},{}, must be two finite numbers, the lower one first", "label-bounds"_field, lower, upper);
  }
  return LabelRange{.bound = LabelBound{bound}, .centre = centre};
}

void require_lengths_of_a_grid(const Problem& problem) {
  constexpr int power = 400;
  const auto has_grid = [](double value) { return value >= std::ldexp(1.0, -power) && value <= std::ldexp(1.0, power); };
  // Those that are no lengths at all are refused by who makes them of these numbers.
  const auto is_length = [](double value) { return value > 0 && std::isfinite(value); };
  if (problem.label_bounds && !has_grid(label_range(problem)->bound.value())) {
    refuse_plan("{} is {}, must be two numbers at least 2^-{} and at most 2^{} apart", "label-bounds"_field, *problem.label_bounds,
                power - 1, power + 1);
  }
  for (const auto& [field, value] : {std::pair{"label-bound", problem.label_bound}, {"clip", problem.clip}, {"radius", problem.radius}}) {
    if (value && is_length(*value) && !has_grid(*value)) {
      refuse_plan("{} is {}, must be at least 2^-{} and at most 2^{}", FieldName{field}, *value, power, power);
    }
  }
}

std::function<void(std::uint64_t)> TrainContext::progress_of(std::uint64_t steps) const {
  if (!run.progress && !run.should_stop) return {};
  return [its = run, steps](std::uint64_t done) {
    if (its.progress) its.progress(Phase::releasing, done, steps);
    its.require_going_on();
  };
}

std::vector<ReadFile> Algorithm::inputs(const TrainPlan& plan) const { return {{"the data file", plan.source.path}}; }

optimizers::ClassesBy classes_by_of(const Problem& problem) {
  return problem.classes_by == ClassScores::softmax ? optimizers::ClassesBy::softmax : optimizers::ClassesBy::one_against_the_rest;
}

void add_problem(FieldTable& table, Problem& problem) {
  table.add("loss", problem.loss, "logistic, squared, smoothed-hinge or hinge");
  table.add("label-bound", problem.label_bound, "Squared loss: labels are clamped to [-bound, bound]", AnyNumber{});
  table.add("label-bounds", problem.label_bounds,
            "Squared loss: lower,upper; labels are clamped to these, and what is learnt and predicted is how far they are from the middle");
  table.add("smoothing", problem.smoothing, "Smoothed hinge: the half width of its parabola", AnyNumber{}).standard("0.5");
}

void add_form(FieldTable& table, bool& form_is_public) { table.add("form-is-public", form_is_public, std::string{form_is_public_help}); }

void add_weight(FieldTable& table, TrainPlan& shared) {
  table.group("Data");
  table.add(
      "weight", shared.source.weight,
      field_text(
          "CSV: the column of the weights of records, from 0 to {}, which is no feature. What a record adds is multiplied by its weight over {}; a record with another weight counts as damaged",
          "weight-bound"_field, "weight-bound"_field));
  table.add("weight-bound", shared.source.weight_bound,
            field_text("With {}: the largest weight, known without looking at the data", "weight"_field), AnyNumber{});
  table.group("Problem and algorithm");
}

void add_clip(FieldTable& table, TrainPlan& shared, FieldText standard) {
  table.add("clip", shared.problem.clip, "What one record adds is clipped to this norm", AnyNumber{}).standard(std::move(standard));
}

void add_radius(FieldTable& table, TrainPlan& shared, FieldText standard) {
  table.add("radius", shared.problem.radius, "Keep the weights in a ball of this radius", AnyNumber{}).standard(std::move(standard));
}

void add_records(FieldTable& table, std::optional<std::uint64_t>& records, FieldText standard) {
  table
      .add(
          "records", records,
          "The public number of records in the file, checked; under add-or-remove-one, or of units, a public guess of it that nothing checks",
          WholeNumber{1, max_count})
      .standard(std::move(standard));
}

void add_threads(FieldTable& table, std::optional<std::uint64_t>& threads) {
  table.add("threads", threads, "For gradients of all records; the result is the same for every number", WholeNumber{1, 1024})
      .standard("as many as there are processors");
}

void add_public_count(FieldTable& table, std::optional<std::uint64_t>& count) {
  table.add("public-count", count, "The number that divides summed gradients", WholeNumber{1, max_count})
      .standard("that of records, which add-or-remove-one keeps private");
}

void add_regularization(FieldTable& table, double& regularization) {
  table.add("regularization", regularization, "lambda of (lambda / 2) ||w||^2", AnyNumber{});
}

void add_l1(FieldTable& table, std::optional<double>& l1) {
  table.add("l1", l1, "The factor of ||w||_1, met by soft thresholding", AnyNumber{}).standard("0");
}

void add_tune(FieldTable& table, TrainPlan& shared, FieldText standard) {
  table.group("Private tuning");
  table
      .add(
          "tune", shared.search.tune,
          "Run candidates, so many as are expected of a secret random number, and keep the one of the best noisy score on the held-out part",
          WholeNumber{2, most_tuned_candidates})
      .standard("no search");
  table
      .add("tune-over", shared.search.tune_over, "option=value,value,...: what candidates differ in; may be repeated, for all combinations")
      .standard(std::move(standard));
  table.add(
      "tune-by", shared.search.tune_by,
      "random: a secret number of runs, of which the best alone is seen; split: the budget, among as many candidates; cheapest: what needs less noise");
  table
      .add("tune-most", shared.search.tune_most,
           field_text("Of a random number of runs: no more than these, a public number that is above {}", "tune"_field),
           WholeNumber{3, most_capped_runs})
      .standard(field_text("any number; with {} 5 times {}", "answer-at"_field, "tune"_field));
  table
      .add(
          "answer-at", shared.search.answer_at,
          field_text(
              "Publish the model then, and neither before nor after: a time, as 2026-11-24T06:00Z, or how long from now, as +90m. How long the search took would show how many runs it had. Refused before the charge where {} runs of made-up records do not fit; a search that is late all the same publishes nothing, and stays charged",
              "tune-most"_field))
      .standard("as soon as the search is done");
  table.group("Problem and algorithm");
}

std::size_t threads_of(const std::optional<std::uint64_t>& threads) {
  return threads.value_or(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace surety::jobs
