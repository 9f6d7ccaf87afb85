// Descent along noisy gradients of all records: plain, accelerated, and by mirror maps.
#include <surety/optimizers/empirical_risk/accelerated_gradient_descent.h>
#include <surety/optimizers/empirical_risk/gradient_descent.h>
#include <surety/optimizers/empirical_risk/mirror_descent.h>

#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/algorithms/on_file.h>
#include <surety/jobs/algorithms/penalty.h>

namespace surety::jobs {
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
template <class Own>
class FullGradients : public FileAlgorithm<Own> {
 public:
  using FileAlgorithm<Own>::FileAlgorithm;

  [[nodiscard]] std::string why_no_units() const override { return {}; }
  [[nodiscard]] bool runs_on_ranks() const override { return true; }

 protected:
  static void add_full_gradients(FieldTable& table, FullGradientPlan& own, TrainPlan& shared, std::string radius) {
    add_split(table, own, shared);
    table.add("steps", own.steps, "Noisy gradients to take", WholeNumber{1, max_count});
    add_regularization(table, own.regularization);
    add_clip(table, shared, "the loss's bound for rows of norm 1");
    add_radius(table, shared, std::move(radius));
    add_threads(table, own.threads);
    add_tune(table, shared, "needed with @tune");
    add_timeout(table, own);
    table.group("Privacy");
    add_public_count(table, own.public_count);
    table.group("Problem and algorithm");
  }

  /// The fields that the options of all three have.
  template <class Options>
  [[nodiscard]] static Options settings(const FullGradientPlan& own, const TrainPlan& shared, const TrainContext& context,
                                        ObjectiveRef objective) {
    Options settings{.noise_multiplier = NoiseMultiplier{1}, .adjacency = shared.target.adjacency, .steps = Count{own.steps}};
    settings.regularization = Regularization{own.regularization};
    settings.clip = clip_of(shared, objective);
    if (own.public_count) settings.public_count = Count{*own.public_count};
    settings.threads = threads_of(own.threads);
    settings.progress = context.progress_of(own.steps);
    return settings;
  }

  /// `descend(data, settings with noise, releaser, bits)` returns the weights.
  template <class Options, class Descend>
  [[nodiscard]] static std::unique_ptr<TrainingRun> prepared(const FullGradientPlan& own, const TrainPlan& shared, Team& team,
                                                             const AnyObjective& objective, const Options& settings, Descend descend) {
    return on_file(own, shared,
                   {.extent = fmt::format("{} steps", own.steps),
                    .public_count = own.public_count,
                    .read = reader_for(shared, objective, KeepRows::in_their_file),
                    .calibrate = [settings, target = shared.target] { return calibrated_sum(settings, target); },
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
};

/// Plain and accelerated: both take steps, and average where they are told to.
template <class Own>
class Descent : public FullGradients<Own> {
 public:
  using FullGradients<Own>::FullGradients;

 protected:
  static void add_descent(FieldTable& table, DescentPlan& own, TrainPlan& shared, std::vector<std::string> iterates) {
    FullGradients<Own>::add_full_gradients(table, own, shared, "everywhere");
    table.add("step-size", own.step_size, "Of each step", AnyNumber{}).standard("1 / (smoothness + regularization)");
    add_l1(table, own.l1);
    auto help = fmt::format("Which is the model: {}", fmt::join(iterates, ", "));
    table.add("iterate", own.iterate, std::move(help), OneOfWords{std::move(iterates)});
  }

  template <class Options>
  [[nodiscard]] static Options descent_settings(const DescentPlan& own, const TrainPlan& shared, const TrainContext& context,
                                                ObjectiveRef objective) {
    auto result = FullGradients<Own>::template settings<Options>(own, shared, context, objective);
    result.returned = own.iterate == "average" ? ReturnedIterate{AverageIterate{}} : ReturnedIterate{LastIterate{}};
    if (own.step_size) {
      result.step_size = StepSize{*own.step_size};
    } else {
      require_default_step(objective);
    }
    return result;
  }
  /// The l2 part is in the gradient.
  [[nodiscard]] static Penalty penalty(const DescentPlan& own, const TrainPlan& shared) {
    return Penalty{own.l1, shared.problem.radius, 0};
  }
};

class GradientDescent final : public Descent<GradientDescentPlan> {
 public:
  GradientDescent() : Descent{"Descent along noisy gradients of all records."} {}

  void fields(FieldTable& table, GradientDescentPlan& own, TrainPlan& shared) const override {
    add_descent(table, own, shared, {"last", "average", "random"});
  }

  std::unique_ptr<TrainingRun> run_of(const GradientDescentPlan& own, const TrainPlan& shared, const TrainContext& context) const override {
    const AnyObjective objective = any_objective_of(shared);
    return prepared(own, shared, context.team, objective, descent_settings<GradientDescentOptions>(own, shared, context, objective),
                    [objective, penalty = penalty(own, shared), is_random = own.iterate == "random"](
                        const Dataset& data, GradientDescentOptions noisy, ReleaserRef releaser, mechanisms::BitsRef bits) {
                      if (is_random) noisy.returned = random_iterate(noisy.steps, bits);
                      return gradient_descent(data, objective, penalty, noisy, releaser).weights;
                    });
  }
};

class AcceleratedGradientDescent final : public Descent<AcceleratedGradientDescentPlan> {
 public:
  AcceleratedGradientDescent() : Descent{"Nesterov's method on noisy gradients of all records: fewer, each with less noise."} {}

  void fields(FieldTable& table, AcceleratedGradientDescentPlan& own, TrainPlan& shared) const override {
    add_descent(table, own, shared, {"last", "average"});
  }

  std::unique_ptr<TrainingRun> run_of(const AcceleratedGradientDescentPlan& own, const TrainPlan& shared,
                                      const TrainContext& context) const override {
    const AnyObjective objective = any_objective_of(shared);
    return prepared(own, shared, context.team, objective,
                    descent_settings<AcceleratedGradientDescentOptions>(own, shared, context, objective),
                    [objective, penalty = penalty(own, shared)](const Dataset& data, const AcceleratedGradientDescentOptions& noisy,
                                                                ReleaserRef releaser, mechanisms::BitsRef) {
                      return accelerated_gradient_descent(data, objective, penalty, noisy, releaser).weights;
                    });
  }
};

class MirrorDescent final : public FullGradients<MirrorDescentPlan> {
 public:
  MirrorDescent() : FullGradients{"Mirror descent in an l2 or l1 ball or a simplex, on noisy gradients of all records."} {}

  void fields(FieldTable& table, MirrorDescentPlan& own, TrainPlan& shared) const override {
    add_full_gradients(table, own, shared, "needed");
    table.add("geometry", own.geometry, "l2 or l1, the norm of the ball, or simplex", OneOfWords{{"l2", "l1", "simplex"}});
  }

  std::unique_ptr<TrainingRun> run_of(const MirrorDescentPlan& own, const TrainPlan& shared, const TrainContext& context) const override {
    const AnyObjective objective = any_objective_of(shared);
    if (!shared.problem.radius) refuse_plan("@radius is missing: mirror-descent keeps its weights in a ball or a simplex of this size");
    const Radius radius{*shared.problem.radius};
    static_cast<void>(require_smoothness(objective, 1, "mirror-descent"));
    return prepared(own, shared, context.team, objective, settings<MirrorDescentOptions>(own, shared, context, objective),
                    [objective, radius, geometry = own.geometry](const Dataset& data, const MirrorDescentOptions& noisy,
                                                                 ReleaserRef releaser, mechanisms::BitsRef) {
                      const auto descend = [&](const auto& in) { return mirror_descent(data, objective, in, noisy, releaser).weights; };
                      if (geometry == "l1") return descend(L1Geometry{radius});
                      if (geometry == "simplex") return descend(SimplexGeometry{Simplex{.scale = Quantity<ScaleRule>{radius.value()}}});
                      return descend(EuclideanGeometry{L2Ball{radius}});
                    });
  }
};

}  // namespace

std::unique_ptr<Algorithm> gradient_descent_algorithm() { return std::make_unique<GradientDescent>(); }
std::unique_ptr<Algorithm> accelerated_gradient_descent_algorithm() { return std::make_unique<AcceleratedGradientDescent>(); }
std::unique_ptr<Algorithm> mirror_descent_algorithm() { return std::make_unique<MirrorDescent>(); }

}  // namespace surety::jobs
