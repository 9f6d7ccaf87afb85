// surety simulate: the regret of private bandits on simulated users, charged to a ledger before the first noise is drawn.
#include <surety/cli/simulate/simulate.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/cli/commands/algorithm_options.h>
#include <surety/cli/commands/command.h>
#include <surety/cli/commands/private_run.h>
#include <surety/cli/files/files.h>
#include <surety/cli/print/output.h>
#include <surety/jobs/run/released.h>
#include <surety/jobs/run/run_bits.h>
#include <surety/simulations/runs/simulated_algorithm.h>

namespace surety::cli {
namespace {

using namespace simulations;

/// What noise needs, and what it may be given besides.
constexpr std::array needed_by_noise{"--epsilon", "--delta", "--ledger"};
constexpr std::array known_by_noise{"--adjacency", "--ledger-must-exist", "--note", "--replay-seed", "--noise", "--factorization"};

/// What every algorithm knows.
struct SimulateOptions : SimulationFields {
  std::string algorithm;
  std::uint64_t seeds = 10;
  std::uint64_t first_seed = 1;
  bool json = false;
  PrivateRunOptions run;  ///< of those with noise
};

struct SimulateState {
  SimulateOptions options;
  std::vector<std::unique_ptr<SimulatedAlgorithm>> algorithms = all_simulated_algorithms();
  std::vector<AlgorithmOptions> tables;
  bool lists_algorithms = false;
};

/// The options of an algorithm: its fields, and before them what noise needs.
AlgorithmOptions offered(SimulatedAlgorithm& algorithm, SimulateOptions& shared) {
  OptionTable table;
  table.group("Instance");
  if (algorithm.draws_noise()) {
    table.group("Privacy");
    shared.run.add_promise_to(table, true);
    shared.run.add_ledger_to(table);
    for (const char* needed : needed_by_noise) table.find(needed)->required(false).standard("needed");
  }
  jobs::FieldTable fields;
  algorithm.add_fields(fields, shared);
  return options_of(algorithm, fields, std::move(table));
}

struct SimulationReport {
  const std::optional<SimulatedRun::Noise>& noise;
  bool not_private;
  std::vector<RegretBand> regret;
  accounting::RunId run{0};  ///< to which noise was charged
};

void print_report(const SimulateOptions& options, const SimulationReport& report) {
  const std::string size = !options.has_losses() ? fmt::format("{} arms, ", options.arms)
                           : options.rank        ? fmt::format("rank {}, ", *options.rank)
                                                 : "";
  say_line("simulated", fmt::format("{} on the {} instance, {}dimension {}", options.algorithm, options.instance, size, options.dimension));
  say_line("runs", fmt::format("{} of {} users, seeds {} to {}", options.seeds, options.steps, options.first_seed,
                               options.first_seed + options.seeds - 1));
  if (report.noise) {
    say_line("adjacency", options.run.adjacency);
    say_line("unit", describe(options.run.unit));
    say_line("promise", fmt::format("epsilon = {} at delta = {}, for all {}", options.run.epsilon, options.run.delta,
                                    options.has_losses() ? "points played" : "but a user's own arm"));
    say_line("released", jobs::as_charged(report.noise->event) + (options.seeds > 1 ? ", once: a user is in one run" : ""));
    say_line("epsilon", fmt::format("in {} at delta = {}", text(report.noise->epsilon), options.run.delta));
    say_line("ledger", options.run.ledger_and(report.run));
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
  if (!options.has_losses()) object["arms"] = options.arms;
  if (options.rank) object["rank"] = *options.rank;
  if (report.noise) {
    object["adjacency"] = options.run.adjacency;
    object["promise"] = {{"epsilon", options.run.epsilon}, {"delta", options.run.delta}};
    object["event"] = jobs::as_charged(report.noise->event);
    object["epsilon"] = json(report.noise->epsilon);
    object["delta"] = options.run.delta;
    const bool is_laplace = std::holds_alternative<NoiseScale>(report.noise->amount);
    object[is_laplace ? "noise_scale" : "noise_multiplier"] =
        std::visit([](const auto& noise) { return noise.value(); }, report.noise->amount);
    object.update(options.run.charge_json(report.run));
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
    const bool is_said = is_given(option) && !(std::string_view{option} == "--ledger" && options.run.is_ledger_of_variable);
    if (is_said) invalid(fmt::format("{} is for noise, --without-noise draws none", option));
  };
  std::for_each(needed_by_noise.begin(), needed_by_noise.end(), refuse_for_noise);
  std::for_each(known_by_noise.begin(), known_by_noise.end(), refuse_for_noise);
}

/// Of each seed's regret.
template <class Regret>
std::vector<RegretBand> bands_of(const SimulateOptions& options, Regret regret) {
  std::vector<std::vector<double>> all;
  for (std::uint64_t k = 0; k < options.seeds; ++k) all.push_back(regret(options.first_seed + k));
  return bands(all);
}

/// One charge for all seeds: their users are different ones, so all runs cost a user as much as one.
class SimulationSteps final : public CommandSteps {
 public:
  SimulationSteps(const SimulateOptions& options, const SimulatedRun& simulated)
      : CommandSteps{options.run}, options_{options}, simulated_{simulated} {}

  accounting::Plan calibrate() override {
    return options_.run.plan(simulated_.noise->event, fmt::format("{} on {} runs of the {} instance, simulated users", options_.algorithm,
                                                                  options_.seeds, options_.instance));
  }
  void read() override {}  // users are drawn from seeds
  void release(accounting::Reservation& reservation) override {
    reservation.spend(simulated_.noise->event);
    regret_ = bands_of(options_, [&](std::uint64_t seed) { return simulated_.private_regret(seed, bits().source()); });
  }

 private:
  void print(const accounting::Reservation& reservation) override {
    print_simulation(
        options_,
        {.noise = simulated_.noise, .not_private = options_.run.replay_seed.has_value(), .regret = regret_, .run = reservation.id()});
  }

  const SimulateOptions& options_;
  const SimulatedRun& simulated_;
  std::vector<RegretBand> regret_;
};

int simulate(SimulateOptions& options, const SimulatedAlgorithm& algorithm, const OptionTable& given) {
  if (options.has_losses() != algorithm.is_for_losses()) {
    invalid(fmt::format("--algorithm is '{}', must be {} on the {} instance", options.algorithm,
                        options.has_losses() ? "projection-free" : "hdb, ucb or random", options.instance));
  }
  if (algorithm.draws_noise()) {
    require_fitting_promise(options, given);
    if (!options.without_noise) {
      require_separate({.ledger = NamedFile{"--ledger", options.run.ledger_file()}});
      options.run.take_ledger(given);
    }
  }
  const bool is_noisy = algorithm.draws_noise() && !options.without_noise;
  const auto simulated = algorithm.prepare(options, is_noisy ? std::optional{options.run.target()} : std::nullopt);
  if (!simulated.noise) {
    print_simulation(options, {.noise = simulated.noise,
                               .not_private = simulated.is_without_needed_noise,
                               .regret = bands_of(options, [&](std::uint64_t seed) { return simulated.exact_regret(seed); })});
    return exit_code::fine;
  }
  return SimulationSteps{options, simulated}.run();
}

}  // namespace

Command simulate_command(const Arguments& words) {
  const auto state = std::make_shared<SimulateState>();
  auto& options = state->options;
  for (const auto& algorithm : state->algorithms) state->tables.push_back(offered(*algorithm, options));
  Command command{.name = "simulate", .summary = "Simulate private bandits: their regret on users drawn from seeds."};
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
           one_of(names_of(state->tables)))
      .required()
      .essential();
  table.group("Privacy");  // before the others, where an algorithm draws noise
  table.group("Output").add("--json", options.json, "Print one JSON object").essential();
  const auto said = value_in(words, "--algorithm");
  add_algorithm_options(command, state->tables, said.value_or(""), said.has_value(), state->lists_algorithms, words);

  command.footer =
      "What is promised is joint differential privacy: everything but a user's own arm. A record is a user's context with the reward that each arm would bring. For projection-free a record is a user's loss function |<a, x - x*>|, and all points played are protected. The users are simulated; the noise is what real ones would get.\n"
      "Examples:\n"
      "  surety simulate --instance sparse --algorithm hdb --epsilon 1 --delta 1e-4 --ledger bandit.db\n"
      "  surety simulate --instance dense --algorithm ucb --exploration 0 --epsilon 1 --delta 1e-4 --ledger bandit.db --replay-seed 1\n"
      "  surety simulate --instance sparse --algorithm random\n"
      "  surety simulate --instance simplex --algorithm projection-free --dimension 5 --epsilon 1 --delta 1e-5 --ledger bandit.db";
  command.run = [state](const Command& given) {
    if (state->lists_algorithms) return print_algorithms(state->tables);
    require_own_options(given.hidden, state->tables, state->options.algorithm);
    const auto chosen = std::find_if(state->algorithms.begin(), state->algorithms.end(),
                                     [&](const auto& one) { return one->name() == state->options.algorithm; });
    return simulate(state->options, **chosen, given.options);
  };
  return command;
}

}  // namespace surety::cli
