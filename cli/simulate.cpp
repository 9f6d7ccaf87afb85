// surety simulate: the regret of private bandits on simulated users, charged to a ledger before the first noise is drawn.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/calibration/calibrate.h>
#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/simulations/loss_simulation.h>
#include <surety/simulations/simulation.h>

#include "algorithm_options.h"
#include "command.h"
#include "files.h"
#include "output.h"
#include "private_run.h"
#include "validators.h"

namespace surety::cli {
namespace {

using namespace optimizers;
using namespace data;
using namespace simulations;
using mechanisms::Factorization;

/// The most users that a factorized sum is made for.
constexpr std::uint64_t max_steps = std::uint64_t{1} << 24;

/// What noise needs, and what it may be given besides.
constexpr std::array needed_by_noise{"--epsilon", "--delta", "--ledger"};
constexpr std::array known_by_noise{"--adjacency", "--ledger-must-exist", "--note", "--replay-seed", "--noise", "--factorization"};

/// What every algorithm knows.
struct SimulateOptions {
  std::string instance;
  std::string algorithm;
  std::uint64_t steps = 10'000;
  std::uint64_t dimension = 50;
  std::uint64_t seeds = 10;
  std::uint64_t first_seed = 1;
  bool json = false;

  // Those with arms, with losses, and with noise.
  std::uint64_t arms = 2;
  std::optional<std::uint64_t> rank;
  bool without_noise = false;
  std::optional<std::string> factorization;
  PrivateRunOptions run;
};

/// The instances with loss functions in the place of arms.
bool has_losses(const SimulateOptions& options) {
  return options.instance == name(LossInstance::simplex) || options.instance == name(LossInstance::uniform_matroid);
}

/// What was charged, if anything.
struct Charge {
  Event event;
  Enclosure epsilon;
  std::variant<NoiseMultiplier, NoiseScale> noise;
  accounting::RunId run{0};
};

/// What one algorithm is about to do: `charge`, unless it draws no noise, and then `regret` for each seed.
struct SimulatedRun {
  std::optional<Charge> charge;
  bool is_without_needed_noise = false;  ///< NOT PRIVATE
  std::function<std::vector<double>(std::uint64_t seed, RunBits* bits)> regret;
};

/// An algorithm of surety simulate, in the table below: all that is its own.
class SimulatedAlgorithm : public NamedAlgorithm<SimulateOptions> {
 public:
  using NamedAlgorithm::NamedAlgorithm;

  /// Whether it is for the instances with losses.
  [[nodiscard]] virtual bool is_for_losses() const { return false; }
  /// Whether it draws noise, unless it is told not to.
  [[nodiscard]] virtual bool draws_noise() const { return true; }
  /// Calibrates. \throws Error{invalid_argument} for what is missing or cannot be simulated.
  [[nodiscard]] virtual SimulatedRun prepare(const SimulateOptions& shared) const = 0;
};

void add_noise_options(OptionTable& table, SimulateOptions& shared) {
  table.group("Privacy");
  shared.run.add_promise_to(table, true);
  shared.run.add_ledger_to(table);
  for (const char* needed : needed_by_noise) table.find(needed)->required(false).standard("needed");
  std::vector<std::string> words;
  for (const auto one : mechanisms::all_factorizations) words.emplace_back(mechanisms::name(one));
  table.add("--factorization", shared.factorization, fmt::format("Of the noisy sums: {}", fmt::join(words, ", ")), one_of(words))
      .standard("buffered");
  table.add("--without-noise", shared.without_noise, "The same algorithm without noise: NOT PRIVATE");
}

Factorization factorization_of(const SimulateOptions& options) {
  for (const auto factorization : mechanisms::all_factorizations) {
    if (options.factorization == mechanisms::name(factorization)) return factorization;
  }
  return Factorization::buffered;
}

// ---- Arms -------------------------------------------------------------------------------------------------------------------------------

void add_arms(OptionTable& table, SimulateOptions& shared) {
  table.group("Instance").add("--arms", shared.arms, "Of sparse and dense", whole_number(2, 1000));
}

/// Algorithms that choose among arms.
class ArmAlgorithm : public SimulatedAlgorithm {
 public:
  using SimulatedAlgorithm::SimulatedAlgorithm;

  std::vector<std::pair<std::string, std::string>> refusals() const override {
    return {{"--rank", "is for uniform-matroid, the other instances have none"}};
  }

 protected:
  [[nodiscard]] static Simulation simulation_of(const SimulateOptions& shared, BanditAlgorithm algorithm) {
    return {.instance = shared.instance == simulations::name(BanditInstance::sparse) ? BanditInstance::sparse : BanditInstance::dense,
            .algorithm = algorithm,
            .steps = Count{shared.steps},
            .features = Count{shared.dimension},
            .arms = Count{shared.arms},
            .factorization = factorization_of(shared)};
  }
};

/// Those that learn.
class LearningArmAlgorithm : public ArmAlgorithm {
 public:
  using ArmAlgorithm::ArmAlgorithm;

 protected:
  void add_learning_options(OptionTable& table, SimulateOptions& shared, std::string clip) {
    add_arms(table, shared);
    add_noise_options(table, shared);
    table.group("Algorithm");
    table.add("--clip", clip_, "Each user's contribution is clipped to this l2 norm", number()).standard(std::move(clip));
    table.add("--reward-bound", reward_bound_, "Rewards are clamped to [-bound, bound]", number());
  }

  [[nodiscard]] SimulatedRun prepared(const SimulateOptions& shared, Simulation simulation) const {
    if (clip_) simulation.clip = ClippingNorm{*clip_};
    simulation.reward_bound = RewardBound{reward_bound_};
    if (shared.without_noise) {
      static_cast<void>(event(simulation, NoiseMultiplier{1}));  // refuses what the algorithm cannot do
      return {.charge = {}, .is_without_needed_noise = true, .regret = [simulation](std::uint64_t seed, RunBits*) {
                return exact_regret(simulation, seed);
              }};
    }
    const Target target = shared.run.target();
    simulation.adjacency = target.adjacency;
    const auto noise = calibrate([&](NoiseMultiplier z) { return *event(simulation, z); }, target);
    require_possible(simulation, noise.value);
    return {.charge = Charge{.event = noise.event, .epsilon = noise.epsilon, .noise = noise.value},
            .regret = [simulation, multiplier = noise.value](std::uint64_t seed, RunBits* bits) {
              return private_regret(simulation, multiplier, seed, bits->source());
            }};
  }

 private:
  std::optional<double> clip_;
  double reward_bound_ = 1.3;
};

class Hdb final : public LearningArmAlgorithm {
 public:
  Hdb()
      : LearningArmAlgorithm{simulations::name(BanditAlgorithm::hdb), "Arms: online Frank-Wolfe on each arm's noisy sums of gradients."} {}

  void add_options(OptionTable& table, SimulateOptions& shared) override {
    add_learning_options(table, shared, "a tenth of a context's");
    table.add("--warm-up", warm_up_, "Users per arm before it chooses", whole_number(1, max_steps));
    table.add("--step-scale", step_scale_, "s of the steps s / (i + 1)", number());
    table.add("--ball", ball_, "p of the l_p ball of radius 1", number()).standard("1 + 1 / log(dimension)");
  }

  SimulatedRun prepare(const SimulateOptions& shared) const override {
    auto simulation = simulation_of(shared, BanditAlgorithm::hdb);
    simulation.warm_up = Count{warm_up_};
    simulation.step_scale = StepScaleFactor{step_scale_};
    if (ball_) simulation.ball = LpExponent{*ball_};
    return prepared(shared, simulation);
  }

 private:
  std::uint64_t warm_up_ = 200;
  double step_scale_ = 0.5;
  std::optional<double> ball_;
};

class Ucb final : public LearningArmAlgorithm {
 public:
  Ucb()
      : LearningArmAlgorithm{simulations::name(BanditAlgorithm::ucb),
                             "Arms: upper confidence bounds on noisy sums of contexts and rewards."} {}

  void add_options(OptionTable& table, SimulateOptions& shared) override {
    add_learning_options(table, shared, "1");
    table.add("--exploration", exploration_, "In units of the paper's width, 0 is greedy", number());
  }

  SimulatedRun prepare(const SimulateOptions& shared) const override {
    auto simulation = simulation_of(shared, BanditAlgorithm::ucb);
    simulation.exploration = Exploration{exploration_};
    return prepared(shared, simulation);
  }

 private:
  double exploration_ = 1;
};

class RandomPlay final : public ArmAlgorithm {
 public:
  RandomPlay() : ArmAlgorithm{simulations::name(BanditAlgorithm::random), "Arms: random play, which uses no data."} {}

  void add_options(OptionTable& table, SimulateOptions& shared) override { add_arms(table, shared); }

  std::vector<std::pair<std::string, std::string>> refusals() const override {
    auto all = ArmAlgorithm::refusals();
    for (const char* option : needed_by_noise) all.emplace_back(option, "is for noise, random play draws none");
    for (const char* option : known_by_noise) all.emplace_back(option, "is for noise, random play draws none");
    for (const char* option : {"--clip", "--reward-bound", "--without-noise"}) {
      all.emplace_back(option, "is for hdb and ucb: random play uses no data");
    }
    return all;
  }

  bool draws_noise() const override { return false; }

  SimulatedRun prepare(const SimulateOptions& shared) const override {
    return {.charge = {}, .regret = [simulation = simulation_of(shared, BanditAlgorithm::random)](std::uint64_t seed, RunBits*) {
              return exact_regret(simulation, seed);
            }};
  }
};

// ---- Losses -----------------------------------------------------------------------------------------------------------------------------

class ProjectionFree final : public SimulatedAlgorithm {
 public:
  ProjectionFree()
      : SimulatedAlgorithm{"projection-free", "Losses: one value of a loss at a point played, linear optimization, noisy sums."} {}

  void add_options(OptionTable& table, SimulateOptions& shared) override {
    table.group("Instance")
        .add("--rank", shared.rank, "uniform-matroid: elements of a base, less than the dimension", whole_number(1, 1'000'000));
    add_noise_options(table, shared);
    table
        .add("--noise", noise_, "gaussian, laplace on a tree, or paper: what it prints, Laplace for delta 0",
             one_of({"gaussian", "laplace", "paper"}))
        .standard("gaussian");
  }

  std::vector<std::pair<std::string, std::string>> refusals() const override {
    std::vector<std::pair<std::string, std::string>> all;
    for (const char* option : {"--arms", "--warm-up", "--step-scale", "--ball", "--clip", "--reward-bound", "--exploration"}) {
      all.emplace_back(option, "is for arms, projection-free has none");
    }
    return all;
  }

  bool is_for_losses() const override { return true; }

  SimulatedRun prepare(const SimulateOptions& shared) const override {
    auto simulation = simulation_of(shared);
    if (shared.without_noise) {
      require_possible(simulation);
      return {.charge = {}, .is_without_needed_noise = true, .regret = [simulation](std::uint64_t seed, RunBits*) {
                return exact_regret(simulation, seed);
              }};
    }
    const Target target = shared.run.target();
    simulation.adjacency = target.adjacency;
    const auto noise = calibrated_noise(simulation, target);
    return {.charge = Charge{.event = noise.event, .epsilon = noise.epsilon, .noise = noise.amount},
            .regret = [simulation, noise](std::uint64_t seed, RunBits* bits) {
              return private_regret(simulation, noise, seed, bits->source());
            }};
  }

 private:
  [[nodiscard]] LossSimulation simulation_of(const SimulateOptions& shared) const {
    LossSimulation simulation{
        .instance = shared.instance == simulations::name(LossInstance::simplex) ? LossInstance::simplex : LossInstance::uniform_matroid,
        .steps = Count{shared.steps},
        .dimension = Count{shared.dimension},
        .factorization = factorization_of(shared)};
    for (const auto noise : {LossNoise::laplace, LossNoise::paper}) {
      if (noise_ == simulations::name(noise)) simulation.noise = noise;
    }
    if (simulation.noise != LossNoise::gaussian && shared.factorization) {
      invalid("--factorization is for gaussian noise, the others are on a tree");
    }
    if (simulation.instance == LossInstance::simplex) {
      if (shared.rank) invalid("--rank is for uniform-matroid, a simplex has none");
    } else if (!shared.rank) {
      invalid("--rank is missing, uniform-matroid needs it");
    } else {
      simulation.rank = Count{*shared.rank};
    }
    return simulation;
  }

  std::optional<std::string> noise_;
};

std::vector<std::unique_ptr<SimulatedAlgorithm>> all_simulated_algorithms() {
  std::vector<std::unique_ptr<SimulatedAlgorithm>> all;
  all.push_back(std::make_unique<Hdb>());
  all.push_back(std::make_unique<Ucb>());
  all.push_back(std::make_unique<RandomPlay>());
  all.push_back(std::make_unique<ProjectionFree>());
  return all;
}

// ---- A simulation -----------------------------------------------------------------------------------------------------------------------

struct SimulationReport {
  std::optional<Charge> charge;
  bool not_private;
  std::vector<RegretBand> regret;
};

void print_report(const SimulateOptions& options, const SimulationReport& report) {
  const std::string size = !has_losses(options) ? fmt::format("{} arms, ", options.arms)
                           : options.rank       ? fmt::format("rank {}, ", *options.rank)
                                                : "";
  say_line("simulated", fmt::format("{} on the {} instance, {}dimension {}", options.algorithm, options.instance, size, options.dimension));
  say_line("runs", fmt::format("{} of {} users, seeds {} to {}", options.seeds, options.steps, options.first_seed,
                               options.first_seed + options.seeds - 1));
  if (report.charge) {
    say_line("adjacency", options.run.adjacency);
    say_line("unit", describe(options.run.unit));
    say_line("promise", fmt::format("epsilon = {} at delta = {}, for all {}", options.run.epsilon, options.run.delta,
                                    has_losses(options) ? "points played" : "but a user's own arm"));
    say_line("released", as_charged(report.charge->event) + (options.seeds > 1 ? ", once: a user is in one run" : ""));
    say_line("epsilon", fmt::format("in {} at delta = {}", text(report.charge->epsilon), options.run.delta));
    say_line("ledger", options.run.ledger_and(report.charge->run));
  }
  if (options.run.replay_seed) say_line("NOT PRIVATE", "the noise was replayed from a known seed");
  if (options.without_noise) say_line("NOT PRIVATE", "there is no noise");
  say("\n{:>10} {:>12} {:>12} {:>12} {:>12}\n", "users", "regret", "deviation", "least", "largest");
  for (const auto& band : report.regret) {
    say("{:>10} {:>12.2f} {:>12.2f} {:>12.2f} {:>12.2f}\n", band.users, band.mean, band.deviation, band.least, band.largest);
  }
}

void print_json(const SimulateOptions& options, const SimulationReport& report) {
  nlohmann::json object{{"instance", options.instance},     {"algorithm", options.algorithm}, {"users", options.steps},
                        {"dimension", options.dimension},   {"seeds", options.seeds},         {"first_seed", options.first_seed},
                        {"not_private", report.not_private}};
  if (!has_losses(options)) object["arms"] = options.arms;
  if (options.rank) object["rank"] = *options.rank;
  if (report.charge) {
    object["adjacency"] = options.run.adjacency;
    object["promise"] = {{"epsilon", options.run.epsilon}, {"delta", options.run.delta}};
    object["event"] = as_charged(report.charge->event);
    object["epsilon"] = json(report.charge->epsilon);
    object["delta"] = options.run.delta;
    const bool is_laplace = std::holds_alternative<NoiseScale>(report.charge->noise);
    object[is_laplace ? "noise_scale" : "noise_multiplier"] =
        std::visit([](const auto& noise) { return noise.value(); }, report.charge->noise);
    object.update(options.run.charge_json(report.charge->run));
  }
  for (const auto& band : report.regret) {
    object["regret"].push_back(
        {{"users", band.users}, {"mean", band.mean}, {"deviation", band.deviation}, {"least", band.least}, {"largest", band.largest}});
  }
  print(object);
}

void print_simulation(const SimulateOptions& options, const SimulationReport& report) {
  options.json ? print_json(options, report) : print_report(options, report);
}

/// \throws Error{invalid_argument} when an option needs noise that is not drawn, or noise needs an option that is not given.
void require_fitting_promise(const SimulateOptions& options, const OptionTable& given) {
  const auto is_given = [&](const char* option) {
    const auto* known = given.find(option);
    return known != nullptr && known->is_given();
  };
  if (!options.without_noise) {
    for (const char* option : needed_by_noise) {
      if (!is_given(option)) invalid(fmt::format("{} is missing, noise needs it; --without-noise draws none", option));
    }
    return;
  }
  const auto refuse_for_noise = [&](const char* option) {
    if (is_given(option)) invalid(fmt::format("{} is for noise, --without-noise draws none", option));
  };
  std::for_each(needed_by_noise.begin(), needed_by_noise.end(), refuse_for_noise);
  std::for_each(known_by_noise.begin(), known_by_noise.end(), refuse_for_noise);
}

/// regret(seed) for each seed.
std::vector<RegretBand> bands_of(const SimulateOptions& options, const SimulatedRun& simulated, RunBits* bits) {
  std::vector<std::vector<double>> regret;
  for (std::uint64_t k = 0; k < options.seeds; ++k) regret.push_back(simulated.regret(options.first_seed + k, bits));
  return bands(regret);
}

int simulate(SimulateOptions& options, const SimulatedAlgorithm& algorithm, const OptionTable& given) {
  if (has_losses(options) != algorithm.is_for_losses()) {
    invalid(fmt::format("--algorithm is '{}', must be {} on the {} instance", options.algorithm,
                        has_losses(options) ? "projection-free" : "hdb, ucb or random", options.instance));
  }
  if (algorithm.draws_noise()) {
    require_fitting_promise(options, given);
    if (!options.without_noise) {
      require_separate({.ledger = NamedFile{"--ledger", options.run.ledger}});
      options.run.take_ledger(given);
    }
  }
  auto simulated = algorithm.prepare(options);
  if (!simulated.charge) {
    print_simulation(options,
                     {.charge = {}, .not_private = simulated.is_without_needed_noise, .regret = bands_of(options, simulated, nullptr)});
    return exit_code::fine;
  }
  // The users of different seeds are different ones, so all runs cost a user as much as one.
  const auto planned = options.run.plan(simulated.charge->event, fmt::format("{} on {} runs of the {} instance, simulated users",
                                                                             options.algorithm, options.seeds, options.instance));
  options.run.check(planned);
  RunBits bits{options.run.replay_seed};
  auto reservation = options.run.reserve(planned);
  reservation.spend(simulated.charge->event);
  auto regret = bands_of(options, simulated, &bits);
  simulated.charge->run = reservation.id();
  const SimulationReport report{
      .charge = std::move(simulated.charge), .not_private = options.run.replay_seed.has_value(), .regret = std::move(regret)};
  return report_and_settle(reservation, options.run.ledger, [&] { print_simulation(options, report); });
}

}  // namespace

Command simulate_command(const Arguments& words) {
  const auto state = std::make_shared<AlgorithmCommand<SimulatedAlgorithm, SimulateOptions>>();
  state->algorithms = all_simulated_algorithms();
  auto& options = state->options;
  Command command{.name = "simulate", .summary = "Simulate private bandits: their regret on users drawn from seeds."};
  auto tables = options_of(state->algorithms, options);
  auto& table = command.options;
  table.group("Instance");
  table
      .add("--instance", options.instance, "Linear rewards of arms: sparse or dense; losses: simplex or uniform-matroid",
           one_of({"sparse", "dense", "simplex", "uniform-matroid"}))
      .required()
      .essential();
  table.add("--steps", options.steps, "Users of a run", whole_number(1, max_steps)).essential();
  table.add("--dimension", options.dimension, "Coordinates of a context, or of a point", whole_number(1, 1'000'000)).essential();
  table.add("--seeds", options.seeds, "Runs, each with users of its own seed", whole_number(1, 1000)).essential();
  table.add("--first-seed", options.first_seed, "The seed of the first", whole_number(0, std::uint64_t{1} << 53)).essential();
  table.group("Algorithm");
  table
      .add("--algorithm", options.algorithm, "hdb (online Frank-Wolfe), ucb or random play for arms; projection-free for losses",
           one_of(names_of(tables)))
      .required()
      .essential();
  table.group("Privacy");  // before the others, where an algorithm draws noise
  table.group("Output").add("--json", options.json, "Print one JSON object").essential();
  const auto said = value_in(words, "--algorithm");
  add_algorithm_options(command, tables, said.value_or(""), said.has_value(), state->lists_algorithms, words);

  command.footer =
      "What is promised is joint differential privacy: everything but a user's own arm. A record is a user's context with the reward that "
      "each arm would bring. For projection-free a record is a user's loss function |<a, x - x*>|, and all points played are protected. "
      "The users are simulated; the noise is what real ones would get.\n"
      "Examples:\n"
      "  surety simulate --instance sparse --algorithm hdb --epsilon 1 --delta 1e-4 --ledger bandit.db\n"
      "  surety simulate --instance dense --algorithm ucb --exploration 0 --epsilon 1 --delta 1e-4 --ledger bandit.db --replay-seed 1\n"
      "  surety simulate --instance sparse --algorithm random\n"
      "  surety simulate --instance simplex --algorithm projection-free --dimension 5 --epsilon 1 --delta 1e-5 --ledger bandit.db";
  command.run =
      list_or_run(std::move(tables), state->lists_algorithms, [state](const Command& given, const std::vector<AlgorithmOptions>& all) {
        require_own_options(given.hidden, all, state->options.algorithm);
        return simulate(state->options, algorithm_named(state->algorithms, state->options.algorithm), given.options);
      });
  return command;
}

}  // namespace surety::cli
