// Descent in coordinates that fit the data, and the same answer for every record.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include <surety/optimizers/empirical_risk/constant_learner.h>
#include <surety/optimizers/empirical_risk/shaped_descent.h>

#include "../validators.h"
#include "algorithms.h"
#include "on_file.h"

namespace surety::cli {
namespace {

using namespace optimizers;
using namespace data;

/// Labels are the places of classes, as the reader makes them; each model is one of logistic loss.
struct LossOfClasses : LogisticLoss {
  static constexpr std::string_view label_constraint = "must be one of --classes";
  [[nodiscard]] std::optional<double> encode_label(double label) const noexcept { return label; }
};

class ShapedDescent final : public FileAlgorithm {
 public:
  ShapedDescent()
      : FileAlgorithm{"shaped-descent", "Descent on noisy gradients in coordinates that a release of the features' second moment gives."} {}

  [[nodiscard]] bool runs_on_ranks() const override { return true; }
  [[nodiscard]] std::string why_no_units() const override { return "its second moment is a sum over rows, of which a unit has several"; }
  [[nodiscard]] std::vector<std::string> tuned_over() const override { return {"steps=10,20,30", "clip-share=0.3,1"}; }

  void add_options(OptionTable& table, TrainOptions& shared) override {
    add_split(table, shared);
    table.add("--steps", steps_, "Noisy gradients to take", whole_number(1, max_count)).standard("30, with regularization 15");
    add_regularization(table, regularization_);
    table
        .add("--clip", shared.clip, "What the derivative of the loss at one record is thought to be at most; the clip follows from it",
             number())
        .standard("the loss's bound for rows of norm 1");
    table.add("--clip-share", clip_share_, "Of what a record's gradient is expected to be at most, in the new coordinates", number())
        .standard("from the size of the noise");
    table.add("--classes", shared.classes,
              "Several texts of the label's column, as text,text,..., one with a comma in quotes: one model for each against the rest, "
              "under one charge; a record of another text "
              "counts as damaged");
    table.add("--class-weight", class_weights_, "text=number: what a record of this class weighs; may be repeated").standard("1");
    table.add("--shape", shape_, "The power of the second moment that coordinates are divided by; 0 for none", number());
    table.add("--matrix-share", matrix_share_, "Of the budget, for the second moment", number());
    table.add("--ridge", ridge_, "Ridge over the size of the noise", number()).standard("0.03, with regularization 0");
    table.add("--damping", damping_, "Damping of steps over the size of the noise", number()).standard("0.5, with regularization 0");
    add_threads(table, threads_);
    add_tune(table, shared, fmt::format("{}", fmt::join(tuned_over(), " and ")));
    add_timeout(table);
    table.group("Privacy");
    add_public_count(table, public_count_);
    table.group("Problem and algorithm");
  }

  std::unique_ptr<TrainingRun> prepare(const TrainOptions& shared, const Source& source, Team& team) const override {
    const AnyObjective objective = shared.classes.empty() ? any_objective_of(shared) : objective_of_classes(shared);
    static_cast<void>(require_smoothness(objective, 1, name()));
    ShapedDescentOptions settings{.noise_multiplier = NoiseMultiplier{1},
                                  .adjacency = shared.run.target().adjacency,
                                  .regularization = Regularization{regularization_},
                                  .matrix_share = MatrixShare{matrix_share_},
                                  .shape = ShapeExponent{shape_}};
    if (steps_) settings.steps = Count{*steps_};
    settings.class_weights = class_weights_of(source);
    if (clip_share_ && !(*clip_share_ > 0 && *clip_share_ <= 1)) {
      invalid(fmt::format("--clip-share is {}, must be greater than 0 and at most 1", *clip_share_));
    }
    settings.clip_share = clip_share_;
    if (shared.clip) settings.derivative_bound = ClippingNorm{*shared.clip}.value();
    if (ridge_) settings.ridge = NoiseFactor{*ridge_};
    if (damping_) settings.damping = NoiseFactor{*damping_};
    if (public_count_) settings.public_count = Count{*public_count_};
    settings.threads = threads_of(threads_);
    const std::uint64_t steps = steps_of(settings);
    if (!shared.is_candidate) settings.progress = progress_bar(steps);
    return on_file(shared,
                   {.extent = fmt::format("the second moment and {} steps", steps),
                    .public_count = public_count_,
                    .read = reader_for(shared, source, objective, KeepRows::in_their_file),
                    .calibrate = [settings, target = shared.run.target()] { return calibrated_plan(settings, target); },
                    .tunable = TunableTraining{[settings](NoiseMultiplier z) { return plan_at(settings, z); }, objective},
                    .learn =
                        [settings, objective](Dataset&& data, const TrainingUnits& units, double noise, const TrainingDoors& doors) {
                          auto noisy = settings;
                          if (!noisy.public_count) noisy.public_count = units.count;
                          noisy.noise_multiplier = NoiseMultiplier{noise};
                          return doors.learn(
                              [&](ReleaserRef releaser) { return shaped_descent(std::move(data), objective, noisy, releaser).weights; });
                        },
                    .check = [](const Dataset& data) { require_shapeable(data.features()); }},
                   team);
  }

 private:
  static AnyObjective objective_of_classes(const TrainOptions& shared) {
    if (shared.loss != LogisticLoss::name) invalid(fmt::format("--loss is {}, must be logistic for several classes", shared.loss));
    require_options_of_loss(shared);
    return AnyObjective{std::make_shared<const LossOfClasses>()};
  }

  /// In the order of the classes; none where there are none.
  [[nodiscard]] std::vector<double> class_weights_of(const Source& source) const {
    const auto known = source.label ? source.label->classes : std::vector<std::string>{};
    std::vector<double> weights(known.size(), 1.0);
    std::set<std::string> said;
    for (const auto& text : class_weights_) {
      const auto [one, number] = split_at_column(text, "--class-weight", "class=number", true);
      const auto at = std::find(known.begin(), known.end(), one);
      if (at == known.end()) invalid(fmt::format("--class-weight names {}, must name one of --classes", in_quotes(one)));
      if (!said.insert(one).second) invalid(fmt::format("--class-weight names {} twice", in_quotes(one)));
      double& weight = weights[static_cast<std::size_t>(at - known.begin())];
      weight = parse_double(number, "--class-weight");
      if (!(weight > 0)) invalid(fmt::format("--class-weight of {} is {}, must be greater than 0", in_quotes(one), weight));
    }
    return weights;
  }

  std::vector<std::string> class_weights_;
  std::optional<std::uint64_t> steps_;
  double regularization_ = 0;
  std::optional<double> clip_share_;
  double shape_ = 0.5;
  double matrix_share_ = 0.1;
  std::optional<double> ridge_;
  std::optional<double> damping_;
  std::optional<std::uint64_t> threads_;
  std::optional<std::uint64_t> public_count_;
};

/// Classes, or numbers: what the label of a record is.
class Constant final : public FileAlgorithm {
 public:
  Constant() : FileAlgorithm{"constant", "The same answer for every record: the share of a class, or the mean label, from one release."} {}

  [[nodiscard]] bool runs_on_ranks() const override { return true; }
  [[nodiscard]] std::string why_no_units() const override { return "its sum is over rows, of which a unit has several"; }

  void add_options(OptionTable& table, TrainOptions& shared) override {
    add_split(table, shared);
    add_timeout(table);
    table.group("Privacy");
    add_public_count(table, public_count_);
    table.group("Problem and algorithm");
  }

  std::unique_ptr<TrainingRun> prepare(const TrainOptions& shared, const Source& source, Team& team) const override {
    ConstantLearnerOptions settings{.noise_multiplier = NoiseMultiplier{1}, .adjacency = shared.run.target().adjacency};
    TrainOptions with_clip = shared;
    if (shared.loss == SquaredLoss::name) {
      if (!with_clip.clip) with_clip.clip = shared.label_bound;  // no gradient is taken, so none is clipped
      if (shared.label_bound) settings.label_bound = LabelBound{*shared.label_bound};
    } else if (shared.loss != LogisticLoss::name) {
      invalid(fmt::format("--loss is {}, must be logistic or squared for {}", shared.loss, name()));
    }
    const AnyObjective objective = any_objective_of(with_clip);
    if (public_count_) settings.public_count = Count{*public_count_};
    return on_file(shared,
                   {.extent = "one release",
                    .public_count = public_count_,
                    .read = reader_for(shared, source, objective, KeepRows::in_their_file),
                    .calibrate = [settings, target = shared.run.target()] { return calibrated_plan(settings, target); },
                    .learn =
                        [settings](Dataset&& data, const TrainingUnits& units, double noise, const TrainingDoors& doors) {
                          auto noisy = settings;
                          if (!noisy.public_count) noisy.public_count = units.count;
                          noisy.noise_multiplier = NoiseMultiplier{noise};
                          return doors.learn([&](ReleaserRef releaser) {
                            std::vector<double> weights(data.features(), 0.0);
                            weights.back() = constant_learner(data, noisy, releaser);
                            return weights;
                          });
                        },
                    .sees_the_intercept_alone = true},
                   team);
  }

 private:
  std::optional<std::uint64_t> public_count_;
};

}  // namespace

std::unique_ptr<Algorithm> shaped_descent_algorithm() { return std::make_unique<ShapedDescent>(); }
std::unique_ptr<Algorithm> constant_algorithm() { return std::make_unique<Constant>(); }

}  // namespace surety::cli
