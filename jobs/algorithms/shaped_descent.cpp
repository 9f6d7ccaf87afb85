// Descent in coordinates that fit the data, and the same answer for every record.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include <surety/jobs/plans/choice_text.h>
#include <surety/optimizers/empirical_risk/constant_learner.h>
#include <surety/optimizers/empirical_risk/shaped_descent.h>

#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/algorithms/on_file.h>
#include <surety/jobs/plans/text_lists.h>

namespace surety::jobs {
namespace {

using namespace optimizers;
using namespace data;

/// Whether the last feature is an intercept that is the same number in all rows but those of damaged records: not so in rows of unit norm.
bool has_constant_intercept(const TrainingSource& source) {
  if (const auto* const csv = std::get_if<CsvOptions>(&source.inputs)) return csv->rows_have_common_scale && csv->intercept;
  if (const auto* const file = std::get_if<std::shared_ptr<const RecordFile>>(&source.inputs)) {
    const auto& map = (*file)->description().features;
    return map.intercept && !map.unit_norm;
  }
  return false;
}

bool has_intercept(const TrainingSource& source) {
  if (const auto* const csv = std::get_if<CsvOptions>(&source.inputs)) return csv->intercept;
  const auto* const file = std::get_if<std::shared_ptr<const RecordFile>>(&source.inputs);
  return file == nullptr || (*file)->description().features.intercept;
}

/// Labels are the places of classes, as the reader makes them; each model is one of logistic loss.
struct LossOfClasses : LogisticLoss {
  static constexpr std::string_view label_constraint = "must be one of the classes";
  [[nodiscard]] std::optional<double> encode_label(double label) const noexcept { return label; }
};

/// The places of the hat functions of all columns.
std::vector<std::size_t> hat_features(const FeatureMap& map) {
  std::vector<std::size_t> places;
  const auto* const columns = std::get_if<NamedColumns>(&map.inputs);
  if (columns == nullptr) return places;
  std::size_t first = 0;
  for (const auto& column : *columns) {
    for (std::size_t k = 0; k < column.knots; ++k) places.push_back(first + 1 + k);  // behind the number itself
    first += column.features();
  }
  return places;
}

class ShapedDescentRun final : public OptionsRun<TunableRun, ShapedDescentOptions> {
 public:
  using OptionsRun::OptionsRun;

 protected:
  std::vector<double> learn(Dataset&& data, const TrainingUnits& units, double noise, const TrainingDoors& doors) override {
    auto its = noisy(noise, units);
    its.unit_ends = units.ends;
    if (its.shrinks && !its.class_weights.empty()) its.curves = hat_features(features());  // of two classes it changed nothing
    if (settings().constant_feature) its.constant_feature = features().row_scale;
    if (releases_intercept()) its.residual_clip->intercept = features().row_scale;
    return doors.learn([&](Releaser& releaser) { return shaped_descent(std::move(data), objective(), its, releaser).weights; });
  }
  void check(const TrainedNumbers& numbers) const override { require_shapeable(numbers.features); }
  [[nodiscard]] bool adds_up_units() const override { return true; }

 private:
  [[nodiscard]] bool releases_intercept() const { return settings().residual_clip && settings().residual_clip->intercept; }
};

void add_classes(FieldTable& table, Problem& problem) {
  table.add(
      "classes", problem.classes,
      "Several texts of the label's column, as text,text,..., one with a comma in quotes: a score for each, under one charge; a record of another text counts as damaged");
  table.add("classes-by", problem.classes_by,
            "What scores of several classes are: one-against-the-rest, log-odds of each, or softmax, of all together");
}

AnyObjective objective_of_classes(const TrainPlan& shared) {
  if (shared.problem.loss != Loss::logistic)
    refuse_plan("{} is {}, must be logistic for several classes", "loss"_field, shared.problem.loss);
  require_options_of_loss(shared);
  return AnyObjective{std::make_shared<const LossOfClasses>()};
}

/// \throws PlanError for softmax of one model.
void require_classes_of_softmax(const Problem& problem) {
  if (problem.classes_by == ClassScores::softmax && problem.classes.empty()) {
    refuse_plan("{} is {}, must be said of several {}", "classes-by"_field, problem.classes_by, "classes"_field);
  }
}

class ShapedDescent final : public FileAlgorithm<ShapedDescentPlan> {
 public:
  ShapedDescent() : FileAlgorithm{"Descent on noisy gradients in coordinates that a release of the features' second moment gives."} {}

  [[nodiscard]] bool takes_private_ranges() const override { return true; }
  [[nodiscard]] bool runs_on_ranks() const override { return true; }
  [[nodiscard]] bool takes_weights() const override { return true; }
  [[nodiscard]] FieldText why_no_units(const TrainPlan& /*plan*/) const override { return {}; }
  [[nodiscard]] std::vector<std::string> tuned_over() const override { return {"steps=10,20,30", "clip-share=0.3,1"}; }

 protected:
  void fields(FieldTable& table, ShapedDescentPlan& own, TrainPlan& shared) const override {
    add_split(table, own, shared);
    table.add("steps", own.steps, "Noisy gradients to take", WholeNumber{1, max_count})
        .standard("30, with regularization 15; with a chosen clip 12");
    add_regularization(table, own.regularization);
    table
        .add("clip", shared.problem.clip,
             "The largest derivative of the loss at one record that is not clipped; the clip of gradients follows from it", AnyNumber{})
        .standard("the loss's bound for rows of norm 1; of squared loss without radius chosen from released residuals");
    table.add("clip-share", own.clip_share, "Of what a record's gradient is expected to be at most, in the new coordinates", AnyNumber{})
        .standard("from the size of the noise; with a chosen clip 1");
    add_classes(table, shared.problem);
    table.add("class-weight", own.class_weights, "text=number: what a record of this class weighs; may be repeated").standard("1");
    table.add("shape", own.shape, "The power of the second moment that coordinates are divided by; 0 for none", AnyNumber{});
    table.add("start", own.start,
              "Where the descent begins, and a ridge pulls to: zero, or share, the share of the class of two, which is released first");
    table.add("shrink", own.shrink,
              "What the end is: none, the weights of the descent, or stein, weights of classes shrunk by an estimate of their risk");
    table.add("matrix-share", own.matrix_share, "Of the budget, for the second moment", AnyNumber{});
    table.add("ridge", own.ridge, "Ridge over the size of the noise", AnyNumber{}).standard("0.03, with regularization 0");
    table.add("damping", own.damping, "Damping of steps over the size of the noise", AnyNumber{}).standard("0.5, with regularization 0");
    add_threads(table, own.threads);
    add_tune(table, shared, fmt::format("{}", fmt::join(tuned_over(), " and ")));
    add_timeout(table, own);
    table.group("Privacy");
    add_public_count(table, own.public_count);
    table.group("Problem and algorithm");
  }

  std::unique_ptr<TrainingRun> run_of(const ShapedDescentPlan& own, const TrainPlan& shared, const TrainContext& context) const override {
    const auto labels = shared.problem.loss == Loss::squared ? label_range(shared.problem) : std::nullopt;
    const bool chooses_clip = labels && !shared.problem.clip && !shared.problem.radius;
    TrainPlan with_clip = shared;
    if (chooses_clip) with_clip.problem.clip = labels->bound.value();  // in its place a clip is chosen from released residuals
    const AnyObjective objective = shared.problem.classes.empty() ? any_objective_of(with_clip) : objective_of_classes(shared);
    static_cast<void>(require_smoothness(objective, 1, name()));
    ShapedDescentOptions settings{.noise_multiplier = NoiseMultiplier{1},
                                  .adjacency = shared.target.adjacency,
                                  .is_pure = is_pure(shared),
                                  .regularization = Regularization{own.regularization},
                                  .matrix_share = MatrixShare{own.matrix_share},
                                  .shape = ShapeExponent{own.shape}};
    if (own.steps) settings.steps = Count{*own.steps};
    settings.class_weights = class_weights_of(own, shared.source);
    require_classes_of_softmax(shared.problem);
    settings.classes_by = classes_by_of(shared.problem);
    if (own.clip_share && !(*own.clip_share > 0 && *own.clip_share <= 1)) {
      refuse_plan("{} is {}, must be greater than 0 and at most 1", "clip-share"_field, *own.clip_share);
    }
    settings.clip_share = own.clip_share;
    if (shared.problem.clip) settings.derivative_bound = ClippingNorm{*shared.problem.clip}.value();
    if (chooses_clip) {
      settings.residual_clip = ResidualClip{.label_bound = labels->bound};
      if (has_constant_intercept(shared.source))
        settings.residual_clip->intercept = 1;  // times the scale of rows, which follows from the header
    }
    if (shared.source.weight && has_constant_intercept(shared.source)) settings.constant_feature = 1;  // likewise
    settings.starts_at_class_share = own.start == Start::share;
    if (settings.starts_at_class_share) require_share(own, shared);
    settings.shrinks = own.shrink == Shrink::stein;
    if (settings.shrinks && shared.problem.loss != Loss::logistic) {
      refuse_plan("{} is {}, must be none unless the loss is logistic", "shrink"_field, own.shrink);
    }
    settings.label_unit = label_unit(shared);
    if (own.ridge) settings.ridge = NoiseFactor{*own.ridge};
    if (own.damping) settings.damping = NoiseFactor{*own.damping};
    if (own.public_count) settings.public_count = Count{*own.public_count};
    settings.threads = threads_of(own.threads);
    const std::uint64_t steps = steps_of(settings);
    settings.progress = context.progress_of(steps);
    return std::make_unique<ShapedDescentRun>(settings, own, shared,
                                              FileNeeds{.objective = objective,
                                                        .extent = fmt::format("the second moment and {} steps", steps),
                                                        .public_count = own.public_count,
                                                        .count = {.is_pure = is_pure(shared)},
                                                        .keep = KeepRows::in_their_file},
                                              context.team);
  }

 private:
  static bool is_of_two_classes(const TrainPlan& shared) { return shared.problem.loss == Loss::logistic && shared.problem.classes.empty(); }
  /// \throws PlanError where there is no share of a class, or no intercept that says it.
  static void require_share(const ShapedDescentPlan& own, const TrainPlan& shared) {
    const bool has_share = is_of_two_classes(shared);
    if (has_share && has_intercept(shared.source)) return;
    refuse_plan("{} is {}, must be zero {}", "start"_field, own.start,
                has_share ? "for features without an intercept" : "unless the loss is logistic and the label has two classes");
  }
  /// In the order of the classes; none where there are none.
  [[nodiscard]] static std::vector<double> class_weights_of(const ShapedDescentPlan& own, const TrainingSource& source) {
    const auto known = source.label ? source.label->classes : std::vector<std::string>{};
    std::vector<double> weights(known.size(), 1.0);
    std::set<std::string> said;
    for (const auto& text : own.class_weights) {
      const auto [one, number] = split_at_column(text, "class-weight", "class=number", true);
      const auto at = std::find(known.begin(), known.end(), one);
      if (at == known.end()) refuse_plan("{} names {}, must name one of {}", "class-weight"_field, in_quotes(one), "classes"_field);
      if (!said.insert(one).second) refuse_plan("{} names {} twice", "class-weight"_field, in_quotes(one));
      double& weight = weights[static_cast<std::size_t>(at - known.begin())];
      weight = parse_double(number, "class-weight");
      if (!(weight > 0)) refuse_plan("{} of {} is {}, must be greater than 0", "class-weight"_field, in_quotes(one), weight);
      if (weight > 0x1p400) refuse_plan("{} of {} is {}, must be at most 2^400", "class-weight"_field, in_quotes(one), weight);
    }
    return weights;
  }
};

class ConstantRun final : public OptionsRun<RankRun, ConstantLearnerOptions> {
 public:
  using OptionsRun::OptionsRun;

 protected:
  [[nodiscard]] bool adds_up_units() const override { return true; }
  std::vector<double> learn(Dataset&& data, const TrainingUnits& units, double noise, const TrainingDoors& doors) override {
    auto its = noisy(noise, units);
    its.unit_ends = units.ends;
    const auto& problem = shared().problem;
    const std::size_t classes = problem.classes.empty() ? 1 : shared().source.label->classes.size();
    std::vector<double> weights(data.features() * classes, 0.0);
    return doors.learn([&](Releaser& releaser) {
      if (classes == 1) {
        weights.back() = constant_learner(data, its, releaser);
        return std::move(weights);
      }
      const auto shares = constant_class_shares(data, classes, its, releaser);
      for (std::size_t k = 0; k < classes; ++k) {
        const double share = shares[k];
        const bool is_softmax = problem.classes_by == ClassScores::softmax;
        weights[(k + 1) * data.features() - 1] = is_softmax ? std::log(share) : std::log(share / (1 - share));
      }
      return std::move(weights);
    });
  }
};

/// Classes, or numbers: what the label of a record is.
class Constant final : public FileAlgorithm<ConstantPlan> {
 public:
  Constant() : FileAlgorithm{"The same answer for every record: the share of a class, or the mean label, from one release."} {}

  [[nodiscard]] bool takes_private_ranges() const override { return true; }
  [[nodiscard]] bool runs_on_ranks() const override { return true; }
  [[nodiscard]] bool takes_weights() const override { return true; }
  [[nodiscard]] FieldText why_no_units(const TrainPlan& /*plan*/) const override { return {}; }

 protected:
  void fields(FieldTable& table, ConstantPlan& own, TrainPlan& shared) const override {
    add_split(table, own, shared);
    add_classes(table, shared.problem);
    add_timeout(table, own);
    table.group("Privacy");
    add_public_count(table, own.public_count);
    table.group("Problem and algorithm");
  }

  std::unique_ptr<TrainingRun> run_of(const ConstantPlan& own, const TrainPlan& shared, const TrainContext& context) const override {
    ConstantLearnerOptions settings{
        .noise_multiplier = NoiseMultiplier{1}, .adjacency = shared.target.adjacency, .is_pure = is_pure(shared)};
    TrainPlan with_clip = shared;
    if (shared.problem.loss == Loss::squared) {
      if (const auto labels = label_range(shared.problem)) {
        if (!with_clip.problem.clip) with_clip.problem.clip = labels->bound.value();  // no gradient is taken, so none is clipped
        settings.label_bound = labels->bound;
      }
    } else if (shared.problem.loss != Loss::logistic) {
      refuse_plan("{} is {}, must be logistic or squared for {}", "loss"_field, shared.problem.loss, name());
    }
    require_classes_of_softmax(shared.problem);
    const AnyObjective objective = shared.problem.classes.empty() ? any_objective_of(with_clip) : objective_of_classes(shared);
    if (own.public_count) settings.public_count = Count{*own.public_count};
    return std::make_unique<ConstantRun>(settings, own, shared,
                                         FileNeeds{.objective = objective,
                                                   .extent = "one release",
                                                   .public_count = own.public_count,
                                                   .count = {.is_pure = is_pure(shared)},
                                                   .keep = KeepRows::in_their_file,
                                                   .sees_the_intercept_alone = true},
                                         context.team);
  }
};

}  // namespace

std::unique_ptr<Algorithm> shaped_descent_algorithm() { return std::make_unique<ShapedDescent>(); }
std::unique_ptr<Algorithm> constant_algorithm() { return std::make_unique<Constant>(); }

}  // namespace surety::jobs
