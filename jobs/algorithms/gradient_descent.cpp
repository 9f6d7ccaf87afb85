// Descent along noisy gradients of all records: plain, accelerated, and by mirror maps.
#include <surety/optimizers/empirical_risk/accelerated_gradient_descent.h>
#include <surety/optimizers/empirical_risk/gradient_descent.h>
#include <surety/optimizers/empirical_risk/mirror_descent.h>

#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/algorithms/last_iterate.h>
#include <surety/jobs/algorithms/on_file.h>
#include <surety/jobs/algorithms/penalty.h>

namespace surety::jobs {
namespace {

using namespace optimizers;
using namespace data;

/// What the three share: `learn` descends with these options.
template <class Options>
class FullGradientRun : public OptionsRun<TunableRun, Options> {
 public:
  FullGradientRun(Options settings, const FullGradientPlan& own, const TrainPlan& shared, Team& team, AnyObjective objective)
      : OptionsRun<TunableRun, Options>{std::move(settings), own, shared,
                                        FileNeeds{.objective = std::move(objective),
                                                  .extent = fmt::format("{} steps", own.steps),
                                                  .public_count = own.public_count,
                                                  .keep = KeepRows::in_their_file},
                                        team} {}

  CalibratedNoise calibrate() final {
    auto found = TunableRun::calibrate();
    found.sigma = summed_sigma(NoiseMultiplier{found.value}, *this->settings().clip, this->target().adjacency);
    return found;
  }

 protected:
  [[nodiscard]] bool adds_up_units() const final { return true; }
  std::vector<double> learn(Dataset&& data, const TrainingUnits& units, double noise, const TrainingDoors& doors) final {
    auto its = this->noisy(noise, units);
    its.unit_ends = units.ends;
    return doors.learn([&](Releaser& releaser) { return descend(data, its, releaser, doors.bits()); });
  }
  [[nodiscard]] virtual std::vector<double> descend(const Dataset& data, Options& noisy, Releaser& releaser,
                                                    mechanisms::BitsRef bits) const = 0;
};

/// What the three share.
template <class Own>
class FullGradients : public FileAlgorithm<Own> {
 public:
  using FileAlgorithm<Own>::FileAlgorithm;

  [[nodiscard]] FieldText why_no_units(const TrainPlan& /*plan*/) const override { return {}; }
  [[nodiscard]] bool takes_private_ranges() const override { return true; }
  [[nodiscard]] bool runs_on_ranks() const override { return true; }
  [[nodiscard]] bool takes_weights() const override { return true; }

 protected:
  static void add_full_gradients(FieldTable& table, FullGradientPlan& own, TrainPlan& shared, std::string radius) {
    add_split(table, own, shared);
    table.add("steps", own.steps, "Noisy gradients to take", WholeNumber{1, max_count});
    add_regularization(table, own.regularization);
    add_clip(table, shared, "the loss's bound for rows of norm 1");
    add_radius(table, shared, std::move(radius));
    add_threads(table, own.threads);
    add_tune(table, shared, field_text("needed with {}", "tune"_field));
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
};

/// The l2 part is in the gradient.
[[nodiscard]] Penalty penalty_of(const DescentPlan& own, const TrainPlan& shared) { return Penalty{own.l1, shared.problem.radius, 0}; }

/// Plain and accelerated: both take steps, and average where they are told to.
template <class Own>
class Descent : public FullGradients<Own> {
 public:
  using FullGradients<Own>::FullGradients;

 protected:
  static void add_descent(FieldTable& table, DescentPlan& own, TrainPlan& shared, const std::vector<Iterate>& iterates) {
    FullGradients<Own>::add_full_gradients(table, own, shared, "everywhere");
    table.add("step-size", own.step_size, "Of each step", AnyNumber{}).standard("1 / (smoothness + regularization)");
    add_l1(table, own.l1);
    auto help = fmt::format("Which is the model: {}", fmt::join(names_of(iterates), ", "));
    table.add("iterate", own.iterate, std::move(help), iterates);
  }

  template <class Options>
  [[nodiscard]] static Options descent_settings(const DescentPlan& own, const TrainPlan& shared, const TrainContext& context,
                                                ObjectiveRef objective) {
    static_cast<void>(penalty_of(own, shared));
    auto result = FullGradients<Own>::template settings<Options>(own, shared, context, objective);
    result.returned = own.iterate == Iterate::average ? ReturnedIterate{AverageIterate{}} : ReturnedIterate{LastIterate{}};
    if (own.step_size) {
      result.step_size = StepSize{*own.step_size};
    } else {
      require_default_step(objective);
    }
    return result;
  }
};

class GradientDescentRun final : public FullGradientRun<GradientDescentOptions> {
 public:
  using FullGradientRun::FullGradientRun;

 protected:
  std::vector<double> descend(const Dataset& data, GradientDescentOptions& noisy, Releaser& releaser,
                              mechanisms::BitsRef bits) const override {
    const auto& its = own<GradientDescentPlan>();
    if (its.iterate == Iterate::random) noisy.returned = random_iterate(noisy.steps, bits);
    return gradient_descent(data, objective(), penalty_of(its, shared()), noisy, releaser).weights;
  }
};

class GradientDescent final : public Descent<GradientDescentPlan> {
 public:
  GradientDescent() : Descent{"Descent along noisy gradients of all records (DP-GD)."} {}

  [[nodiscard]] FieldText why_no_units(const TrainPlan& plan) const override {
    if (std::get<GradientDescentPlan>(plan.algorithm).publish == Publish::all) return {};
    return unless_records(plan, "the clipped mean gradient of a unit's rows has no known Lipschitz constant, which the last iterate needs");
  }

  void fields(FieldTable& table, GradientDescentPlan& own, TrainPlan& shared) const override {
    add_descent(table, own, shared, {Iterate::last, Iterate::average, Iterate::random});
    add_publish(table, own.publish);
  }

  std::unique_ptr<TrainingRun> run_of(const GradientDescentPlan& own, const TrainPlan& shared, const TrainContext& context) const override {
    if (own.publish == Publish::last && shared.source.weight) {
      refuse(ErrorCode::unsupported, "cannot combine {} with {} last: the last iterate is for gradients without weights; remove one",
             "weight"_field, "publish"_field);
    }
    if (own.publish == Publish::last) return last_iterate_of_file(own, shared, context);
    const AnyObjective objective = any_objective_of(shared);
    return std::make_unique<GradientDescentRun>(descent_settings<GradientDescentOptions>(own, shared, context, objective), own, shared,
                                                context.team, objective);
  }
};

class AcceleratedRun final : public FullGradientRun<AcceleratedGradientDescentOptions> {
 public:
  using FullGradientRun::FullGradientRun;

 protected:
  std::vector<double> descend(const Dataset& data, AcceleratedGradientDescentOptions& noisy, Releaser& releaser,
                              mechanisms::BitsRef /*bits*/) const override {
    const auto penalty = penalty_of(own<AcceleratedGradientDescentPlan>(), shared());
    return accelerated_gradient_descent(data, objective(), penalty, noisy, releaser).weights;
  }
};

class AcceleratedGradientDescent final : public Descent<AcceleratedGradientDescentPlan> {
 public:
  AcceleratedGradientDescent() : Descent{"Nesterov's method on noisy gradients of all records: fewer, each with less noise."} {}

  void fields(FieldTable& table, AcceleratedGradientDescentPlan& own, TrainPlan& shared) const override {
    add_descent(table, own, shared, {Iterate::last, Iterate::average});
  }

  std::unique_ptr<TrainingRun> run_of(const AcceleratedGradientDescentPlan& own, const TrainPlan& shared,
                                      const TrainContext& context) const override {
    if (own.iterate == Iterate::random) refuse_plan("{} is random, must be last or average for {}", "iterate"_field, own.name);
    const AnyObjective objective = any_objective_of(shared);
    return std::make_unique<AcceleratedRun>(descent_settings<AcceleratedGradientDescentOptions>(own, shared, context, objective), own,
                                            shared, context.team, objective);
  }
};

class MirrorDescentRun final : public FullGradientRun<MirrorDescentOptions> {
 public:
  using FullGradientRun::FullGradientRun;

 protected:
  std::vector<double> descend(const Dataset& data, MirrorDescentOptions& noisy, Releaser& releaser,
                              mechanisms::BitsRef /*bits*/) const override {
    const auto in = [&](const auto& geometry) { return mirror_descent(data, objective(), geometry, noisy, releaser).weights; };
    const Radius radius{*shared().problem.radius};
    const auto geometry = own<MirrorDescentPlan>().geometry;
    if (geometry == Geometry::l1) return in(L1Geometry{radius});
    if (geometry == Geometry::simplex) return in(SimplexGeometry{Simplex{Quantity<ScaleRule>{radius.value()}}});
    return in(EuclideanGeometry{L2Ball{radius}});
  }
};

class MirrorDescent final : public FullGradients<MirrorDescentPlan> {
 public:
  MirrorDescent() : FullGradients{"Mirror descent in an l2 or l1 ball or a simplex, on noisy gradients of all records (DP-AccMD)."} {}

  void fields(FieldTable& table, MirrorDescentPlan& own, TrainPlan& shared) const override {
    add_full_gradients(table, own, shared, "needed");
    table.add("geometry", own.geometry, "l2 or l1, the norm of the ball, or simplex");
  }

  std::unique_ptr<TrainingRun> run_of(const MirrorDescentPlan& own, const TrainPlan& shared, const TrainContext& context) const override {
    const AnyObjective objective = any_objective_of(shared);
    if (!shared.problem.radius)
      refuse_plan("{} is missing: mirror-descent keeps its weights in a ball or a simplex of this size", "radius"_field);
    static_cast<void>(Radius{*shared.problem.radius});
    static_cast<void>(require_smoothness(objective, 1, "mirror-descent"));
    return std::make_unique<MirrorDescentRun>(settings<MirrorDescentOptions>(own, shared, context, objective), own, shared, context.team,
                                              objective);
  }
};

}  // namespace

std::unique_ptr<Algorithm> gradient_descent_algorithm() { return std::make_unique<GradientDescent>(); }
std::unique_ptr<Algorithm> accelerated_gradient_descent_algorithm() { return std::make_unique<AcceleratedGradientDescent>(); }
std::unique_ptr<Algorithm> mirror_descent_algorithm() { return std::make_unique<MirrorDescent>(); }

}  // namespace surety::jobs
