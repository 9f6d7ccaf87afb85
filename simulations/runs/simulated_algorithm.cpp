#include <surety/simulations/runs/simulated_algorithm.h>

#include <surety/jobs/plans/factorization_choice.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include <surety/accounting/calibration/calibrate.h>
#include <surety/jobs/plans/plan_error.h>

namespace surety::jobs {

template <>
struct Choices<simulations::LossNoise> {
  static constexpr std::array all{simulations::LossNoise::gaussian, simulations::LossNoise::laplace, simulations::LossNoise::paper};
};

}  // namespace surety::jobs

namespace surety::simulations {
namespace {

using jobs::AnyNumber;
using jobs::FieldTable;
using jobs::refuse_plan;
using jobs::RefusedField;
using jobs::WholeNumber;
using namespace jobs::field_names;
using mechanisms::Factorization;

void add_noise(FieldTable& table, SimulationFields& shared) {
  table.group("Privacy");
  table.add("factorization", shared.factorization, fmt::format("Of the noisy sums: {}", fmt::join(jobs::names_of<Factorization>(), ", ")))
      .standard("buffered");
  table.add("without-noise", shared.without_noise, "The same algorithm without noise: NOT PRIVATE");
}

Factorization factorization_of(const SimulationFields& shared) { return shared.factorization.value_or(Factorization::buffered); }

// ---- Arms -------------------------------------------------------------------------------------------------------------------------------

void add_arms(FieldTable& table, SimulationFields& shared) {
  table.group("Instance").add("arms", shared.arms, "Of sparse and dense", WholeNumber{2, 1000});
}

/// Algorithms that choose among arms.
class ArmAlgorithm : public SimulatedAlgorithm {
 public:
  explicit ArmAlgorithm(BanditAlgorithm its, std::string_view summary) : SimulatedAlgorithm{simulations::name(its), summary}, its_{its} {}

  std::vector<RefusedField> refusals() const override { return {{"rank", "is for uniform-matroid, the other instances have none"}}; }

 protected:
  [[nodiscard]] Simulation simulation_of(const SimulationFields& shared) const {
    return {.instance = shared.instance == simulations::name(BanditInstance::sparse) ? BanditInstance::sparse : BanditInstance::dense,
            .algorithm = its_,
            .steps = Count{shared.steps},
            .features = Count{shared.dimension},
            .arms = Count{shared.arms},
            .factorization = factorization_of(shared)};
  }

 private:
  BanditAlgorithm its_;
};

/// Those that learn.
class LearningArmAlgorithm : public ArmAlgorithm {
 public:
  using ArmAlgorithm::ArmAlgorithm;

 protected:
  void add_learning(FieldTable& table, SimulationFields& shared, std::string clip) {
    add_arms(table, shared);
    add_noise(table, shared);
    table.group("Algorithm");
    table.add("clip", clip_, "Each user's contribution is clipped to this l2 norm", AnyNumber{}).standard(std::move(clip));
    table.add("reward-bound", reward_bound_, "Rewards are clamped to [-bound, bound]", AnyNumber{});
  }

  [[nodiscard]] SimulatedRun prepared(Simulation simulation, const std::optional<Target>& target) const {
    if (clip_) simulation.clip = ClippingNorm{*clip_};
    simulation.reward_bound = RewardBound{reward_bound_};
    if (!target) {
      static_cast<void>(event(simulation, NoiseMultiplier{1}));  // refuses what the algorithm cannot do
      return {.simulation = simulation, .is_without_needed_noise = true};
    }
    simulation.adjacency = target->adjacency;
    const auto noise = calibrate([&](NoiseMultiplier z) { return *event(simulation, z); }, *target);
    require_possible(simulation, noise.value);
    return {.simulation = simulation, .noise = {{.event = noise.event, .epsilon = noise.epsilon, .amount = noise.value}}};
  }

 private:
  std::optional<double> clip_;
  double reward_bound_ = 1.3;
};

class Hdb final : public LearningArmAlgorithm {
 public:
  Hdb() : LearningArmAlgorithm{BanditAlgorithm::hdb, "Arms: online Frank-Wolfe on each arm's noisy sums of gradients (DP-HDB)."} {}

  void add_fields(FieldTable& table, SimulationFields& shared) override {
    add_learning(table, shared, "a tenth of a context's");
    table.add("warm-up", warm_up_, "Users per arm before it chooses", WholeNumber{1, max_steps});
    table.add("step-scale", step_scale_, "s of the steps s / (i + 1)", AnyNumber{});
    table.add("ball", ball_, "p of the l_p ball of radius 1", AnyNumber{}).standard("1 + 1 / log(dimension)");
  }

  SimulatedRun prepare(const SimulationFields& shared, const std::optional<Target>& target) const override {
    auto simulation = simulation_of(shared);
    simulation.warm_up = Count{warm_up_};
    simulation.step_scale = StepScaleFactor{step_scale_};
    if (ball_) simulation.ball = LpExponent{*ball_};
    return prepared(simulation, target);
  }

 private:
  std::uint64_t warm_up_ = 200;
  double step_scale_ = 0.5;
  std::optional<double> ball_;
};

class Ucb final : public LearningArmAlgorithm {
 public:
  Ucb() : LearningArmAlgorithm{BanditAlgorithm::ucb, "Arms: upper confidence bounds on noisy sums of contexts and rewards (DP-UCB)."} {}

  void add_fields(FieldTable& table, SimulationFields& shared) override {
    add_learning(table, shared, "1");
    table.add("exploration", exploration_, "In units of the paper's width, 0 is greedy", AnyNumber{});
  }

  SimulatedRun prepare(const SimulationFields& shared, const std::optional<Target>& target) const override {
    auto simulation = simulation_of(shared);
    simulation.exploration = Exploration{exploration_};
    return prepared(simulation, target);
  }

 private:
  double exploration_ = 1;
};

class RandomPlay final : public ArmAlgorithm {
 public:
  RandomPlay() : ArmAlgorithm{BanditAlgorithm::random, "Arms: random play, which uses no data."} {}

  void add_fields(FieldTable& table, SimulationFields& shared) override { add_arms(table, shared); }

  std::vector<RefusedField> refusals() const override {
    auto all = ArmAlgorithm::refusals();
    for (const char* field :
         {"epsilon", "delta", "ledger", "adjacency", "ledger-must-exist", "note", "replay-seed", "noise", "factorization"}) {
      all.push_back({field, "is for noise, random play draws none"});
    }
    for (const char* field : {"clip", "reward-bound", "without-noise"}) {
      all.push_back({field, "is for hdb and ucb: random play uses no data"});
    }
    return all;
  }

  bool draws_noise() const override { return false; }

  SimulatedRun prepare(const SimulationFields& shared, const std::optional<Target>& /*target*/) const override {
    return {.simulation = simulation_of(shared)};
  }
};

// ---- Losses -----------------------------------------------------------------------------------------------------------------------------

class ProjectionFree final : public SimulatedAlgorithm {
 public:
  ProjectionFree()
      : SimulatedAlgorithm{
            "projection-free",
            "Losses: one value of a loss at a point played, linear optimization, noisy sums (PrivateBandit; TreeBasedAgg is --factorization tree)."} {}

  void add_fields(FieldTable& table, SimulationFields& shared) override {
    table.group("Instance")
        .add("rank", shared.rank, "uniform-matroid: elements of a base, less than the dimension", WholeNumber{1, 1'000'000});
    add_noise(table, shared);
    table.add("noise", noise_, "gaussian, laplace on a tree, or paper: what it prints, Laplace for delta 0").standard("gaussian");
  }

  std::vector<RefusedField> refusals() const override {
    std::vector<RefusedField> all;
    for (const char* field : {"arms", "warm-up", "step-scale", "ball", "clip", "reward-bound", "exploration"}) {
      all.push_back({field, "is for arms, projection-free has none"});
    }
    return all;
  }

  bool is_for_losses() const override { return true; }

  SimulatedRun prepare(const SimulationFields& shared, const std::optional<Target>& target) const override {
    auto simulation = simulation_of(shared);
    if (!target) {
      require_possible(simulation);
      return {.simulation = simulation, .is_without_needed_noise = true};
    }
    simulation.adjacency = target->adjacency;
    const auto noise = calibrated_noise(simulation, *target);
    return {.simulation = simulation,
            .noise = {{.event = noise.event, .epsilon = noise.epsilon, .amount = noise.amount}},
            .noise_of_losses = noise};
  }

 private:
  [[nodiscard]] LossSimulation simulation_of(const SimulationFields& shared) const {
    LossSimulation simulation{
        .instance = shared.instance == simulations::name(LossInstance::simplex) ? LossInstance::simplex : LossInstance::uniform_matroid,
        .steps = Count{shared.steps},
        .dimension = Count{shared.dimension},
        .factorization = factorization_of(shared)};
    simulation.noise = noise_.value_or(LossNoise::gaussian);
    if (simulation.noise != LossNoise::gaussian && shared.factorization) {
      refuse_plan("{} is for gaussian noise, the others are on a tree", "factorization"_field);
    }
    if (simulation.instance == LossInstance::simplex) {
      if (shared.rank) refuse_plan("{} is for uniform-matroid, a simplex has none", "rank"_field);
    } else if (!shared.rank) {
      refuse_plan("{} is missing, uniform-matroid needs it", "rank"_field);
    } else {
      simulation.rank = Count{*shared.rank};
    }
    return simulation;
  }

  std::optional<LossNoise> noise_;
};

}  // namespace

bool SimulationFields::has_losses() const {
  return instance == name(LossInstance::simplex) || instance == name(LossInstance::uniform_matroid);
}

std::vector<double> SimulatedRun::exact_regret(std::uint64_t seed) const {
  return std::visit([&](const auto& its) { return simulations::exact_regret(its, seed); }, simulation);
}

std::vector<double> SimulatedRun::private_regret(std::uint64_t seed, mechanisms::BitsRef bits) const {
  if (noise_of_losses) return simulations::private_regret(std::get<LossSimulation>(simulation), *noise_of_losses, seed, bits);
  return simulations::private_regret(std::get<Simulation>(simulation), std::get<NoiseMultiplier>(noise.value().amount), seed, bits);
}

std::vector<std::unique_ptr<SimulatedAlgorithm>> all_simulated_algorithms() {
  std::vector<std::unique_ptr<SimulatedAlgorithm>> all;
  all.push_back(std::make_unique<Hdb>());
  all.push_back(std::make_unique<Ucb>());
  all.push_back(std::make_unique<RandomPlay>());
  all.push_back(std::make_unique<ProjectionFree>());
  return all;
}

}  // namespace surety::simulations
