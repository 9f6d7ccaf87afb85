// An algorithm of trainings: its name, the fields of plans that it knows, and the run that they make. Each is one file here, and one line of
// algorithms.cpp: options, help, the refusal of other algorithms' fields and the table of the documents come from that.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/base/numbers/enclosure.h>
#include <surety/jobs/algorithms/noise.h>
#include <surety/jobs/algorithms/reading.h>
#include <surety/jobs/algorithms/train_context.h>
#include <surety/jobs/plans/choice_text.h>
#include <surety/jobs/plans/field_text.h>
#include <surety/jobs/plans/fields.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/jobs/plans/train_plan.h>
#include <surety/jobs/run/run_bits.h>
#include <surety/jobs/run/team.h>
#include <surety/optimizers/gossip/exchange.h>
#include <surety/optimizers/models/model.h>
#include <surety/optimizers/problem/loss.h>

namespace surety::jobs {

/// What a training says of itself at its end, beside its model and its cost.
struct TrainingFacts {
  PrintName print_name = plain_name;                                  ///< of fields, in the lines below: JSON has plain names
  std::string extent = {};                                            ///< for people: "100 steps"
  std::vector<std::pair<std::string, std::string>> lines = {};        ///< for people, behind the extent
  std::vector<std::pair<std::string, std::string>> in_place_of = {};  ///< for people, in the place of what was planned and released
  nlohmann::json fields = {};
  std::uint64_t damaged = 0;            ///< records: private
  std::vector<std::string> notes = {};  ///< about the promise and the plan: public, and known before the charge

  /// Scores on held-out records, which are not private.
  struct HeldOut {
    nlohmann::json scores = {};
    std::size_t records = 0;
    bool is_nothing = false;              ///< as public numbers say
    bool chose_among_candidates = false;  ///< a search, on this part
  };
  std::optional<HeldOut> held_out = {};
  bool has_told_weights = false;  ///< on the way
};

/// Whoever comes to a model knows these of it.
struct ModelFacts {
  const optimizers::Model& model;
  const CalibratedNoise& noise;
};

/// What one training is about to do, and does, in this order: calibrate, read, run, report. A later rank is told the noise.
class TrainingRun {
 public:
  TrainingRun() = default;
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;
  virtual ~TrainingRun() = default;

  /// Told that its plan reads other records from now on: for who has copies of it. \pre `read` was not called
  virtual void take_records(const TrainingSource& /*source*/) {}
  /// The least noise that keeps the promise. Knows nothing of records.
  [[nodiscard]] virtual CalibratedNoise calibrate() = 0;
  /// Reads what is read before the charge, and refuses what does not fit the plan. \return the features; they stay where they are.
  [[nodiscard]] virtual const data::FeatureMap& read(double noise, RunBits& bits, const RunContext& context) = 0;
  /// How many records or units there are, or are trained on, where that is public. \pre `read` was called
  [[nodiscard]] virtual std::optional<std::uint64_t> public_records() const { return std::nullopt; }
  /// What must be equal on all ranks, as a text.
  [[nodiscard]] virtual std::string identity(double /*noise*/) const { return {}; }
  /// Learns. \param reservation of the first rank; the others have none.
  [[nodiscard]] virtual std::vector<double> run(double noise, accounting::Reservation* reservation, RunBits& bits) = 0;
  /// Whether a training of this event ends with a score on what it held out, beside that event and within its charge.
  [[nodiscard]] virtual bool releases_score(const Event& /*event*/) const { return false; }
  /// Gives the model what it holds beside weights. \pre `run` returned these
  virtual void complete(optimizers::Model& /*model*/) const {}
  /// Adds what only this kind of run can say.
  virtual void add_to(TrainingFacts& facts, const ModelFacts& known) const = 0;
};

/// A file that a training reads: what it is in a refusal, and where it is.
struct ReadFile {
  FieldText what;
  std::string path;
};

/// One algorithm by its name: the fields of plans that it knows, and the run that a plan makes.
class Algorithm {
 public:
  Algorithm(std::string_view name, std::string_view summary) : name_{name}, summary_{summary} {}
  Algorithm(const Algorithm&) = delete;
  Algorithm& operator=(const Algorithm&) = delete;
  virtual ~Algorithm() = default;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// One sentence.
  [[nodiscard]] const std::string& summary() const noexcept { return summary_; }

  /// What holds where nothing is said.
  [[nodiscard]] virtual AlgorithmPlan standard() const = 0;
  /// The fields that it knows beside those of all: where they are in `own`, which is for the algorithm of `plan`, and in `plan`.
  /// \pre `own` is of this algorithm
  virtual void add_fields(FieldTable& table, AlgorithmPlan& own, TrainPlan& plan) const = 0;
  /// Fields of others that need a reason of their own. Without one, the refusal names the algorithms that have the field.
  [[nodiscard]] virtual std::vector<RefusedField> refusals() const { return {}; }

  /// Whether it runs on several ranks, and how long one waits for the others.
  [[nodiscard]] virtual bool runs_on_ranks() const { return false; }
  [[nodiscard]] virtual std::chrono::milliseconds timeout(const TrainPlan& /*plan*/) const { return optimizers::default_timeout; }
  /// Whether a plan may ask for private ranges: it trains on a file in memory with Gaussian noise, or uses no column.
  [[nodiscard]] virtual bool takes_private_ranges() const { return false; }
  /// Whether records may have weights: all that it computes of records are sums of clipped vectors, which take them.
  [[nodiscard]] virtual bool takes_weights() const { return false; }
  /// Why it has no theorem for the units of a plan, as a text that follows "is not for NAME: "; empty where it has one.
  /// \pre plan.has_unit(), and it is for this algorithm
  [[nodiscard]] virtual FieldText why_no_units(const TrainPlan& plan) const = 0;
  /// What candidates of a search differ in where nobody says it: "steps=10,30". Public.
  [[nodiscard]] virtual std::vector<std::string> tuned_over() const { return {}; }
  /// The files that it reads.
  [[nodiscard]] virtual std::vector<ReadFile> inputs(const TrainPlan& plan) const;
  /// The run that a plan makes. Reads no records. \throws PlanError for what is missing or does not fit together.
  /// `plan` and what `context` refers to outlive the run. \pre plan.algorithm is of this algorithm
  [[nodiscard]] virtual std::unique_ptr<TrainingRun> prepare(const TrainPlan& plan, const TrainContext& context) const = 0;

 private:
  std::string name_;
  std::string summary_;
};

/// `weight` and `weight-bound`.
void add_weight(FieldTable& table, TrainPlan& shared);

/// An algorithm whose own fields are `Own`.
template <class Own>
class AlgorithmOf : public Algorithm {
 public:
  explicit AlgorithmOf(std::string_view summary) : Algorithm{Own::name, summary} {}

  [[nodiscard]] AlgorithmPlan standard() const final { return AlgorithmPlan{std::in_place_type<Own>}; }
  void add_fields(FieldTable& table, AlgorithmPlan& own, TrainPlan& plan) const final {
    fields(table, std::get<Own>(own), plan);
    if (takes_weights()) add_weight(table, plan);
  }
  [[nodiscard]] std::unique_ptr<TrainingRun> prepare(const TrainPlan& plan, const TrainContext& context) const final {
    return run_of(std::get<Own>(plan.algorithm), plan, context);
  }

 protected:
  virtual void fields(FieldTable& table, Own& own, TrainPlan& shared) const = 0;
  [[nodiscard]] virtual std::unique_ptr<TrainingRun> run_of(const Own& own, const TrainPlan& shared, const TrainContext& context) const = 0;
};

/// A loss that lasts as long as any copy of this, as algorithms see it: a `Ref`.
template <class Ref>
class Owned : public Ref {
 public:
  template <class O>
  explicit Owned(std::shared_ptr<const O> objective) : Ref{*objective}, objective_{std::move(objective)} {}
  /// Of a loss that promises more.
  template <class More>
  requires std::derived_from<More, Ref> Owned(const Owned<More>& other)  // NOLINT(google-explicit-constructor): it is one of these
      : Ref{static_cast<const More&>(other)}, objective_{other.objective_} {}

 private:
  template <class>
  friend class Owned;
  std::shared_ptr<const void> objective_;
};
using AnyObjective = Owned<optimizers::ObjectiveRef>;
using AnyConvexObjective = Owned<optimizers::ConvexObjectiveRef>;

/// The loss that a plan names, for algorithms that know logistic and squared loss, for those that know all of them, and for those that
/// need a smooth one. \throws Error{invalid_argument} for fields that do not suit it, and for a loss that the algorithm does not know.
[[nodiscard]] AnyObjective objective_of(const TrainPlan& plan);
[[nodiscard]] AnyObjective any_objective_of(const TrainPlan& plan);
[[nodiscard]] AnyConvexObjective smooth_objective_of(const TrainPlan& plan);

/// \throws Error{invalid_argument} for a field of another loss than the one that is asked for.
void require_options_of_loss(const TrainPlan& plan);

/// Whether the label is the number of a column, where the loss has two classes: all other numbers would be damaged records.
[[nodiscard]] bool has_number_for_two_classes(const TrainPlan& plan);
/// \throws PlanError for such a label, unless the plan is of version 1.
void require_label_of_loss(const TrainPlan& plan);

/// Notes about the promise and the label of a plan. \param records that are public, once they are read; else the number that the plan gives, if any
[[nodiscard]] std::vector<std::string> notes_of(const TrainPlan& plan, std::optional<std::uint64_t> records);

/// Where labels of squared loss lie, as is publicly known.
struct LabelRange {
  optimizers::LabelBound bound;  ///< how far from the centre at most; those beyond are clamped
  double centre = 0;             ///< is taken from each label, and added to what is predicted
};
/// Of `label-bound`, around 0, or of `label-bounds`; nothing where neither is said.
/// \throws PlanError where both are said, and for bounds that are not two finite numbers, the lower one first.
[[nodiscard]] std::optional<LabelRange> label_range(const Problem& problem);
/// \throws PlanError for a clip, radius or label bound so long or short that sums of such lengths, or of their squares, would have no grid
/// (`Log2Step`): before anything is charged.
void require_lengths_of_a_grid(const Problem& problem);

/// prepare(objective) with the loss of `objective_of` itself, for algorithms that are compiled for each loss.
template <class Prepare>
auto with_objective(const TrainPlan& plan, Prepare prepare) {
  using namespace optimizers;
  using namespace data;
  require_options_of_loss(plan);
  if (plan.problem.loss == Loss::logistic) return prepare(LogisticLoss{});
  if (plan.problem.loss != Loss::squared) {
    refuse_plan("{} is {}, must be logistic or squared for {}", "loss"_field, plan.problem.loss, plan.algorithm_name());
  }
  // Without a radius every record is clipped to `clip`, and the loss's own bound is not used.
  const auto labels = label_range(plan.problem).value();
  return prepare(
      SquaredLoss{.label_bound = labels.bound, .weight_radius = Radius{plan.problem.radius.value_or(1)}, .label_centre = labels.centre});
}

/// How long a rank waits for others: the 30 s that hold where nothing is said. \throws Error{invalid_argument} for less than a millisecond or more
/// than a day.
[[nodiscard]] std::chrono::milliseconds timeout_of(const std::optional<double>& seconds);

/// That the default `step-size`, which follows from a smoothness, is one. \throws PlanError{unsupported}.
void require_default_step(optimizers::ObjectiveRef objective);

/// What labels and derivatives of the loss are measured in: the bound on labels of squared loss, and 1 of classes. What holds where nothing is said, and would
/// be in that unit, is multiplied by it. \pre the options of the loss are there
[[nodiscard]] double label_unit(const TrainPlan& plan);

/// About how long the mean gradient of K rows of one unit is beside that of one row: K^(-1/4), the middle between 1, where rows are alike, and K^(-1/2), where
/// they are independent. What is chosen where nobody says it rests on this, and no guarantee.
[[nodiscard]] double mean_gradient_length(Count rows);

/// The clip of one record, or what the loss says for rows of norm 1.
[[nodiscard]] ClippingNorm clip_of(const TrainPlan& plan, optimizers::ObjectiveRef objective);

// ---- Fields that several algorithms know -----------------------------------------------------------------------------------------------

/// What scores of several classes are.
[[nodiscard]] optimizers::ClassesBy classes_by_of(const Problem& problem);
/// The loss, and what some losses need.
void add_problem(FieldTable& table, Problem& problem);
/// `form-is-public`.
void add_form(FieldTable& table, bool& form_is_public);
void add_clip(FieldTable& table, TrainPlan& shared, FieldText standard);
void add_radius(FieldTable& table, TrainPlan& shared, FieldText standard);
void add_records(FieldTable& table, std::optional<std::uint64_t>& records, FieldText standard = "needed");
void add_threads(FieldTable& table, std::optional<std::uint64_t>& threads);
void add_public_count(FieldTable& table, std::optional<std::uint64_t>& count);
void add_regularization(FieldTable& table, double& regularization);
void add_l1(FieldTable& table, std::optional<double>& l1);
/// For those whose releases are Gaussian, all in proportion to one multiplier. \param standard what is tuned where nothing is said
void add_tune(FieldTable& table, TrainPlan& shared, FieldText standard);

/// For gradients of all records. Results do not depend on them.
[[nodiscard]] std::size_t threads_of(const std::optional<std::uint64_t>& threads);

}  // namespace surety::jobs
