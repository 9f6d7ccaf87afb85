// Descent along noisy gradients of all records: plain, accelerated, and by mirror maps.
#include <surety/optimizers/empirical_risk/accelerated_gradient_descent.h>
#include <surety/optimizers/empirical_risk/gradient_descent.h>
#include <surety/optimizers/empirical_risk/mirror_descent.h>

#include "../validators.h"
#include "algorithms.h"
#include "on_file.h"
#include "penalty.h"

namespace surety::cli {
namespace {

using namespace optimizers;
using namespace data;

/// On summed gradients.
template <class Options>
CalibratedNoise calibrated_sum(const Options& settings, const Target& target) {
  auto found = calibrated_plan(settings, target);
  found.sigma = summed_sigma(NoiseMultiplier{found.value}, *settings.clip, target.adjacency);
  return found;
}

/// What the three share.
class FullGradients : public FileAlgorithm {
 public:
  FullGradients(std::string_view name, std::string_view summary, std::uint64_t steps, double regularization)
      : FileAlgorithm{name, summary}, steps_{steps}, regularization_{regularization} {}

 public:
  [[nodiscard]] std::string why_no_units() const override { return {}; }
  [[nodiscard]] bool runs_on_ranks() const override { return true; }

 protected:
  void add_shared(OptionTable& table, TrainOptions& shared, std::string radius) {
    add_split(table, shared);
    table.add("--steps", steps_, "Noisy gradients to take", whole_number(1, max_count));
    add_regularization(table, regularization_);
    add_clip(table, shared, "the loss's bound for rows of norm 1");
    add_radius(table, shared, std::move(radius));
    add_threads(table, threads_);
    add_tune(table, shared, "needed with --tune");
    add_timeout(table);
    table.group("Privacy");
    add_public_count(table, public_count_);
    table.group("Problem and algorithm");
  }

  /// The fields that the options of all three have.
  template <class Options>
  [[nodiscard]] Options settings(const TrainOptions& shared, ObjectiveRef objective) const {
    Options settings{.noise_multiplier = NoiseMultiplier{1}, .adjacency = shared.run.target().adjacency, .steps = Count{steps_}};
    settings.regularization = Regularization{regularization_};
    settings.clip = clip_of(shared, objective);
    if (public_count_) settings.public_count = Count{*public_count_};
    settings.threads = threads_of(threads_);
    if (!shared.is_candidate) settings.progress = progress_bar(steps_);
    return settings;
  }

  /// `descend(data, settings with noise, releaser, bits)` returns the weights.
  template <class Options, class Descend>
  [[nodiscard]] std::unique_ptr<TrainingRun> prepared(const TrainOptions& shared, const Source& source, Team& team,
                                                      const AnyObjective& objective, const Options& settings, Descend descend) const {
    return on_file(shared,
                   {.extent = fmt::format("{} steps", steps_),
                    .public_count = public_count_,
                    .read = reader_for(shared, source, objective, KeepRows::in_their_file),
                    .calibrate = [settings, target = shared.run.target()] { return calibrated_sum(settings, target); },
                    .tunable = TunableTraining{[settings](NoiseMultiplier z) { return plan_at(settings, z); }, objective},
                    .learn =
                        [settings, descend](Dataset&& data, const TrainingUnits& units, double noise, const TrainingDoors& doors) {
                          auto noisy = settings;
                          noisy.unit_ends = units.ends;
                          if (!noisy.public_count) noisy.public_count = units.count;
                          noisy.noise_multiplier = NoiseMultiplier{noise};
                          return doors.learn([&](ReleaserRef releaser) { return descend(data, noisy, releaser, doors.bits()); });
                        }},
                   team);
  }

 private:
  std::uint64_t steps_;
  double regularization_;
  std::optional<std::uint64_t> threads_;
  std::optional<std::uint64_t> public_count_;
};

/// Plain and accelerated: both take steps, and average where they are told to.
class Descent : public FullGradients {
 public:
  using FullGradients::FullGradients;

 protected:
  void add_descent(OptionTable& table, TrainOptions& shared, std::vector<std::string> iterates) {
    add_shared(table, shared, "everywhere");
    table.add("--step-size", step_size_, "Of each step", number()).standard("1 / (smoothness + regularization)");
    add_l1(table, l1_);
    table.add("--iterate", iterate_, fmt::format("Which is the model: {}", fmt::join(iterates, ", ")), one_of(iterates));
  }

  template <class Options>
  [[nodiscard]] Options descent_settings(const TrainOptions& shared, ObjectiveRef objective) const {
    auto result = settings<Options>(shared, objective);
    result.returned = iterate_ == "average" ? ReturnedIterate{AverageIterate{}} : ReturnedIterate{LastIterate{}};
    if (step_size_) {
      result.step_size = StepSize{*step_size_};
    } else {
      static_cast<void>(require_smoothness(objective, 1, "the default --step-size"));
    }
    return result;
  }
  /// The l2 part is in the gradient.
  [[nodiscard]] Penalty penalty(const TrainOptions& shared) const { return Penalty{l1_, shared.radius, 0}; }
  [[nodiscard]] bool is_random() const { return iterate_ == "random"; }

 private:
  std::optional<double> step_size_;
  std::optional<double> l1_;
  std::string iterate_ = "last";
};

class GradientDescent final : public Descent {
 public:
  GradientDescent() : Descent{"gradient-descent", "Descent along noisy gradients of all records.", 100, 1e-4} {}

  void add_options(OptionTable& table, TrainOptions& shared) override { add_descent(table, shared, {"last", "average", "random"}); }

  std::unique_ptr<TrainingRun> prepare(const TrainOptions& shared, const Source& source, Team& team) const override {
    const AnyObjective objective = any_objective_of(shared);
    return prepared(shared, source, team, objective, descent_settings<GradientDescentOptions>(shared, objective),
                    [objective, penalty = penalty(shared), is_random = is_random()](const Dataset& data, GradientDescentOptions noisy,
                                                                                    ReleaserRef releaser, mechanisms::BitsRef bits) {
                      if (is_random) noisy.returned = random_iterate(noisy.steps, bits);
                      return gradient_descent(data, objective, penalty, noisy, releaser).weights;
                    });
  }
};

class AcceleratedGradientDescent final : public Descent {
 public:
  AcceleratedGradientDescent()
      : Descent{"accelerated-gradient-descent", "Nesterov's method on noisy gradients of all records: fewer, each with less noise.", 30,
                1e-4} {}

  void add_options(OptionTable& table, TrainOptions& shared) override { add_descent(table, shared, {"last", "average"}); }

  std::unique_ptr<TrainingRun> prepare(const TrainOptions& shared, const Source& source, Team& team) const override {
    const AnyObjective objective = any_objective_of(shared);
    return prepared(shared, source, team, objective, descent_settings<AcceleratedGradientDescentOptions>(shared, objective),
                    [objective, penalty = penalty(shared)](const Dataset& data, const AcceleratedGradientDescentOptions& noisy,
                                                           ReleaserRef releaser, mechanisms::BitsRef) {
                      return accelerated_gradient_descent(data, objective, penalty, noisy, releaser).weights;
                    });
  }
};

class MirrorDescent final : public FullGradients {
 public:
  MirrorDescent()
      : FullGradients{"mirror-descent", "Mirror descent in an l2 or l1 ball or a simplex, on noisy gradients of all records.", 30, 0} {}

  void add_options(OptionTable& table, TrainOptions& shared) override {
    add_shared(table, shared, "needed");
    table.add("--geometry", geometry_, "l2 or l1, the norm of the ball, or simplex", one_of({"l2", "l1", "simplex"}));
  }

  std::unique_ptr<TrainingRun> prepare(const TrainOptions& shared, const Source& source, Team& team) const override {
    const AnyObjective objective = any_objective_of(shared);
    if (!shared.radius) invalid("--radius is missing: mirror-descent keeps its weights in a ball or a simplex of this size");
    const Radius radius{*shared.radius};
    static_cast<void>(require_smoothness(objective, 1, "mirror-descent"));
    return prepared(shared, source, team, objective, settings<MirrorDescentOptions>(shared, objective),
                    [objective, radius, geometry = geometry_](const Dataset& data, const MirrorDescentOptions& noisy, ReleaserRef releaser,
                                                              mechanisms::BitsRef) {
                      const auto descend = [&](const auto& in) { return mirror_descent(data, objective, in, noisy, releaser).weights; };
                      if (geometry == "l1") return descend(L1Geometry{radius});
                      if (geometry == "simplex") return descend(SimplexGeometry{Simplex{.scale = Quantity<ScaleRule>{radius.value()}}});
                      return descend(EuclideanGeometry{L2Ball{radius}});
                    });
  }

 private:
  std::string geometry_ = "l2";
};

}  // namespace

std::unique_ptr<Algorithm> gradient_descent_algorithm() { return std::make_unique<GradientDescent>(); }
std::unique_ptr<Algorithm> accelerated_gradient_descent_algorithm() { return std::make_unique<AcceleratedGradientDescent>(); }
std::unique_ptr<Algorithm> mirror_descent_algorithm() { return std::make_unique<MirrorDescent>(); }

}  // namespace surety::cli
