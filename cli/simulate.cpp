// surety simulate: the regret of private bandits on simulated users, charged to a ledger before the first noise is drawn.
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <surety/accounting/events/format.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/simulations/loss_simulation.h>
#include <surety/simulations/simulation.h>

#include "command.h"
#include "files.h"
#include "output.h"
#include "private_run.h"
#include "validators.h"

namespace surety::cli {
namespace {

using namespace optimizers;
using mechanisms::Factorization;

struct SimulateOptions {
  std::string instance;
  std::string algorithm;
  std::uint64_t steps = 10'000;
  std::uint64_t arms = 2;
  CLI::Option* given_arms = nullptr;
  std::uint64_t dimension = 50;
  std::uint64_t seeds = 10;
  std::uint64_t first_seed = 1;

  std::optional<std::uint64_t> warm_up;
  std::optional<double> step_scale;
  std::optional<double> ball;
  std::optional<double> clip;
  std::optional<double> reward_bound;
  std::optional<double> exploration;
  std::optional<std::uint64_t> rank;

  bool without_noise = false;
  std::optional<std::string> noise;
  std::optional<std::string> factorization;
  PrivateRunOptions run;
  std::vector<CLI::Option*> promise;   ///< options that need noise, of which the first two and the ledger are required then
  std::vector<CLI::Option*> required;  ///< with noise
  bool json = false;
};

/// The most users that a factorized sum is made for.
constexpr std::uint64_t max_steps = std::uint64_t{1} << 24;

/// Names the first of `options` that was given though `reason` forbids it.
void refuse(const std::vector<std::pair<bool, const char*>>& options, const std::string& reason) {
  for (const auto& [given, option] : options) {
    if (given) throw usage(fmt::format("{} is {}", option, reason));
  }
}

/// The instances with loss functions in the place of arms, and the algorithm for them.
bool has_losses(const SimulateOptions& options) {
  return options.instance == name(LossInstance::simplex) || options.instance == name(LossInstance::uniform_matroid);
}
bool is_projection_free(const SimulateOptions& options) { return options.algorithm == "projection-free"; }

Factorization factorization_of(const SimulateOptions& options) {
  for (const auto factorization : mechanisms::all_factorizations) {
    if (options.factorization == name(factorization)) return factorization;
  }
  return Factorization::buffered;
}

LossSimulation loss_simulation_of(const SimulateOptions& options) {
  refuse({{options.given_arms->count() > 0, "--arms"},
          {options.warm_up.has_value(), "--warm-up"},
          {options.step_scale.has_value(), "--step-scale"},
          {options.ball.has_value(), "--ball"},
          {options.clip.has_value(), "--clip"},
          {options.reward_bound.has_value(), "--reward-bound"},
          {options.exploration.has_value(), "--exploration"}},
         "for arms, projection-free has none");
  LossSimulation simulation{
      .instance = options.instance == name(LossInstance::simplex) ? LossInstance::simplex : LossInstance::uniform_matroid,
      .steps = Count{options.steps},
      .dimension = Count{options.dimension},
      .factorization = factorization_of(options)};
  for (const auto noise : {LossNoise::laplace, LossNoise::paper}) {
    if (options.noise == name(noise)) simulation.noise = noise;
  }
  if (simulation.noise != LossNoise::gaussian) {
    refuse({{options.factorization.has_value(), "--factorization"}}, "for gaussian noise, the others are on a tree");
  }
  if (simulation.instance == LossInstance::simplex) {
    refuse({{options.rank.has_value(), "--rank"}}, "for uniform-matroid, a simplex has none");
  } else if (!options.rank) {
    throw usage("--rank is missing, uniform-matroid needs it");
  } else {
    simulation.rank = Count{*options.rank};
  }
  return simulation;
}

Simulation simulation_of(const SimulateOptions& options) {
  refuse({{options.rank.has_value(), "--rank"}}, "for uniform-matroid, the other instances have none");
  refuse({{options.noise.has_value(), "--noise"}}, "for projection-free, the other algorithms have no choice");
  const bool is_hdb = options.algorithm == name(BanditAlgorithm::hdb);
  const bool is_ucb = options.algorithm == name(BanditAlgorithm::ucb);
  if (!is_hdb) {
    refuse({{options.warm_up.has_value(), "--warm-up"},
            {options.step_scale.has_value(), "--step-scale"},
            {options.ball.has_value(), "--ball"}},
           "for hdb, the other algorithms have no such option");
  }
  if (!is_ucb) refuse({{options.exploration.has_value(), "--exploration"}}, "for ucb, the other algorithms have no such option");
  if (!is_hdb && !is_ucb) {
    refuse({{options.clip.has_value(), "--clip"},
            {options.reward_bound.has_value(), "--reward-bound"},
            {options.without_noise, "--without-noise"}},
           "for hdb and ucb: random play uses no data");
  }
  Simulation simulation{.instance = options.instance == name(BanditInstance::sparse) ? BanditInstance::sparse : BanditInstance::dense,
                        .algorithm = is_hdb   ? BanditAlgorithm::hdb
                                     : is_ucb ? BanditAlgorithm::ucb
                                              : BanditAlgorithm::random,
                        .steps = Count{options.steps},
                        .features = Count{options.dimension},
                        .arms = Count{options.arms},
                        .factorization = factorization_of(options)};
  if (options.warm_up) simulation.warm_up = Count{*options.warm_up};
  if (options.step_scale) simulation.step_scale = StepScaleFactor{*options.step_scale};
  if (options.ball) simulation.ball = LpExponent{*options.ball};
  if (options.clip) simulation.clip = ClippingNorm{*options.clip};
  if (options.reward_bound) simulation.reward_bound = RewardBound{*options.reward_bound};
  if (options.exploration) simulation.exploration = Exploration{*options.exploration};
  return simulation;
}

/// What was charged, if anything.
struct Charge {
  Event event;
  Enclosure epsilon;
  std::variant<NoiseMultiplier, NoiseScale> noise;
  accounting::RunId run{0};
};

struct Report {
  std::optional<Charge> charge;
  bool not_private;
  std::vector<RegretBand> regret;
};

void print_report(const SimulateOptions& options, const Report& report) {
  const auto line = [](std::string_view field, const std::string& value) { fmt::print("{:<12} {}\n", field, value); };
  const std::string size = !has_losses(options) ? fmt::format("{} arms, ", options.arms)
                           : options.rank       ? fmt::format("rank {}, ", *options.rank)
                                                : "";
  line("simulated", fmt::format("{} on the {} instance, {}dimension {}", options.algorithm, options.instance, size, options.dimension));
  line("runs", fmt::format("{} of {} users, seeds {} to {}", options.seeds, options.steps, options.first_seed,
                           options.first_seed + options.seeds - 1));
  if (report.charge) {
    line("adjacency", options.run.adjacency);
    line("unit", describe(options.run.unit));
    line("promise", fmt::format("epsilon = {} at delta = {}, for all {}", options.run.epsilon, options.run.delta,
                                has_losses(options) ? "points played" : "but a user's own arm"));
    line("released", as_charged(report.charge->event) + (options.seeds > 1 ? ", once: a user is in one run" : ""));
    line("epsilon", fmt::format("in {} at delta = {}", text(report.charge->epsilon), options.run.delta));
    line("ledger", options.run.ledger_and(report.charge->run));
  }
  if (options.run.replay_seed) line("NOT PRIVATE", "the noise was replayed from a known seed");
  if (options.without_noise) line("NOT PRIVATE", "there is no noise");
  fmt::print("\n{:>10} {:>12} {:>12} {:>12} {:>12}\n", "users", "regret", "deviation", "least", "largest");
  for (const auto& band : report.regret) {
    fmt::print("{:>10} {:>12.2f} {:>12.2f} {:>12.2f} {:>12.2f}\n", band.users, band.mean, band.deviation, band.least, band.largest);
  }
}

void print_json(const SimulateOptions& options, const Report& report) {
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

/// run(seed) for each seed.
template <class Run>
std::vector<RegretBand> bands_of(const SimulateOptions& options, Run run) {
  std::vector<std::vector<double>> regret;
  for (std::uint64_t k = 0; k < options.seeds; ++k) regret.push_back(run(options.first_seed + k));
  return bands(regret);
}

int print(const SimulateOptions& options, const Report& report) {
  options.json ? print_json(options, report) : print_report(options, report);
  return exit_code::fine;
}

/// Charges the ledger, makes private_run(seed, bits) for each seed, prints, and settles.
template <class PrivateRun>
int charged(const SimulateOptions& options, Charge charge, PrivateRun private_run) {
  require_separate({.ledger = NamedFile{"--ledger", options.run.ledger}});
  // The users of different seeds are different ones, so all runs cost a user as much as one.
  const auto planned = options.run.plan(
      charge.event, fmt::format("{} on {} runs of the {} instance, simulated users", options.algorithm, options.seeds, options.instance));
  options.run.check(planned);
  RunBits bits{options.run.replay_seed};
  auto reservation = options.run.reserve(planned);
  reservation.spend(charge.event);
  auto regret = bands_of(options, [&](std::uint64_t seed) { return bits.with([&](auto& source) { return private_run(seed, source); }); });
  charge.run = reservation.id();
  const Report report{.charge = std::move(charge), .not_private = options.run.replay_seed.has_value(), .regret = std::move(regret)};
  return report_and_settle(reservation, options.run.ledger, [&] { print(options, report); });
}

/// \throws Error{invalid_argument} when an option needs noise that is not drawn, or noise needs an option that is not given.
void require_fitting_promise(const SimulateOptions& options) {
  if (options.without_noise || options.algorithm == name(BanditAlgorithm::random)) {
    const std::string reason = options.without_noise ? "for noise, --without-noise draws none" : "for noise, random play draws none";
    for (const auto* option : options.promise) refuse({{option->count() > 0, option->get_name().c_str()}}, reason);
    return;
  }
  for (const auto* option : options.required) {
    if (option->count() == 0) throw usage(fmt::format("{} is missing, noise needs it; --without-noise draws none", option->get_name()));
  }
}

int simulate_losses(const SimulateOptions& options) {
  LossSimulation simulation = loss_simulation_of(options);
  require_fitting_promise(options);
  if (options.without_noise) {
    require_possible(simulation);
    auto regret = bands_of(options, [&](std::uint64_t seed) { return exact_regret(simulation, seed); });
    return print(options, {.charge = std::nullopt, .not_private = true, .regret = std::move(regret)});
  }
  const Target target = options.run.target();
  simulation.adjacency = target.adjacency;
  const auto noise = calibrated_noise(simulation, target);
  return charged(options, {.event = noise.event, .epsilon = noise.epsilon, .noise = noise.amount},
                 [&](std::uint64_t seed, auto& bits) { return private_regret(simulation, noise, seed, bits); });
}

int simulate_arms(const SimulateOptions& options) {
  Simulation simulation = simulation_of(options);
  require_fitting_promise(options);
  if (options.without_noise || simulation.algorithm == BanditAlgorithm::random) {
    if (options.without_noise) static_cast<void>(event(simulation, NoiseMultiplier{1}));  // refuses what the algorithm cannot do
    auto regret = bands_of(options, [&](std::uint64_t seed) { return exact_regret(simulation, seed); });
    return print(options, {.charge = std::nullopt, .not_private = options.without_noise, .regret = std::move(regret)});
  }
  const Target target = options.run.target();
  simulation.adjacency = target.adjacency;
  const auto noise = calibrate([&](NoiseMultiplier z) { return *event(simulation, z); }, target);
  require_possible(simulation, noise.value);
  return charged(options, {.event = noise.event, .epsilon = noise.epsilon, .noise = noise.value},
                 [&](std::uint64_t seed, auto& bits) { return private_regret(simulation, noise.value, seed, bits); });
}

int simulate(const SimulateOptions& options) {
  if (has_losses(options) != is_projection_free(options)) {
    throw usage(fmt::format("--algorithm is '{}', must be {} on the {} instance", options.algorithm,
                            has_losses(options) ? "projection-free" : "hdb, ucb or random", options.instance));
  }
  return has_losses(options) ? simulate_losses(options) : simulate_arms(options);
}

}  // namespace

void add_simulate(CLI::App& app, Action& chosen) {
  auto& command = *app.add_subcommand("simulate", "Simulate private bandits: their regret on users drawn from seeds");
  const auto options = std::make_shared<SimulateOptions>();

  const auto setting = command.add_option_group("Instance");
  setting->add_option("--instance", options->instance, "Linear rewards: sparse or dense; losses: simplex or uniform-matroid")
      ->required()
      ->check(one_of({"sparse", "dense", "simplex", "uniform-matroid"}));
  setting->add_option("--steps", options->steps, "Users of a run")->check(whole_number(1, max_steps))->capture_default_str();
  options->given_arms = setting->add_option("--arms", options->arms, "Of sparse and dense")->check(whole_number(2, 1000));
  options->given_arms->capture_default_str();
  setting->add_option("--rank", options->rank, "uniform-matroid: elements of a base, less than the dimension")
      ->check(whole_number(1, 1'000'000));
  setting->add_option("--dimension", options->dimension, "Coordinates of a context, or of a point")
      ->check(whole_number(1, 1'000'000))
      ->capture_default_str();
  setting->add_option("--seeds", options->seeds, "Runs, each with users of its own seed")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  setting->add_option("--first-seed", options->first_seed)->check(whole_number(0, std::uint64_t{1} << 53))->capture_default_str();

  const auto algorithm = command.add_option_group("Algorithm");
  algorithm->add_option("--algorithm", options->algorithm, "hdb (online Frank-Wolfe), ucb, or random play; for losses: projection-free")
      ->required()
      ->check(one_of({"hdb", "ucb", "random", "projection-free"}));
  algorithm->add_option("--warm-up", options->warm_up, "hdb: users per arm before it chooses; default: 200")
      ->check(whole_number(1, max_steps));
  algorithm->add_option("--step-scale", options->step_scale, "hdb: s of the steps s / (i + 1); default: 0.5")->check(number());
  algorithm->add_option("--ball", options->ball, "hdb: p of the l_p ball of radius 1; default: 1 + 1 / log(dimension)")->check(number());
  algorithm
      ->add_option("--clip", options->clip,
                   "Each user's contribution is clipped to this l2 norm; default: a tenth of a context's (hdb), 1 (ucb)")
      ->check(number());
  algorithm->add_option("--reward-bound", options->reward_bound, "Rewards are clamped to [-bound, bound]; default: 1.3")->check(number());
  algorithm->add_option("--exploration", options->exploration, "ucb: in units of the paper's width, 0 is greedy; default: 1")
      ->check(number());

  const auto privacy = command.add_option_group("Privacy");
  options->run.add_promise_to(*privacy, true);
  privacy
      ->add_option("--noise", options->noise,
                   "projection-free: gaussian (default), laplace on a tree, or paper: what it prints, Laplace for delta 0")
      ->check(one_of({"gaussian", "laplace", "paper"}));
  privacy->add_option("--factorization", options->factorization, "Of the noisy sums: tree, streaming-tree, toeplitz or buffered (default)")
      ->check(one_of({"tree", "streaming-tree", "toeplitz", "buffered"}));
  options->run.add_ledger_to(*privacy);
  privacy->add_flag("--without-noise", options->without_noise, "The same algorithm without noise: NOT PRIVATE");
  for (const char* needed : {"--epsilon", "--delta", "--ledger"}) {
    options->required.push_back(privacy->get_option(needed)->required(false));
  }
  options->promise = options->required;
  for (const char* other : {"--adjacency", "--ledger-must-exist", "--note", "--replay-seed", "--noise", "--factorization"})
    options->promise.push_back(privacy->get_option(other));

  command.add_flag("--json", options->json, "Print one JSON object");
  command.footer(
      "What is promised is joint differential privacy: everything but a user's own arm. A record is a user's context with the reward that\n"
      "each arm would bring. For projection-free a record is a user's loss function |<a, x - x*>|, and all points played are protected.\n"
      "The users are simulated; the noise is what real ones would get.\n"
      "Examples:\n"
      "  surety simulate --instance sparse --algorithm hdb --epsilon 1 --delta 1e-4 --ledger bandit.db\n"
      "  surety simulate --instance dense --algorithm ucb --exploration 0 --epsilon 1 --delta 1e-4 --ledger bandit.db --replay-seed 1\n"
      "  surety simulate --instance sparse --algorithm random\n"
      "  surety simulate --instance simplex --algorithm projection-free --dimension 5 --epsilon 1 --delta 1e-5 --ledger bandit.db");
  command.callback([options, &chosen] { chosen = [options] { return simulate(*options); }; });
}

}  // namespace surety::cli
