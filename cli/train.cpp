// surety train: a private model, charged to a ledger before the first noise is drawn.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/jobs/plans/plan_error.h>
#include <surety/jobs/train/train_job.h>
#include <surety/optimizers/models/model.h>

#include "algorithm_options.h"
#include "command.h"
#include "output.h"
#include "parser.h"
#include "plan.h"
#include "private_run.h"
#include "ranks.h"
#include "team.h"
#include "train/automatic.h"
#include "train/report.h"
#include "train/train_algorithm.h"

namespace surety::cli {
namespace {

constexpr std::string_view automatic_name = "auto";

using TrainState = AlgorithmCommand<TrainAlgorithm, TrainOptions>;

/// Shows public progress on a terminal, and nothing elsewhere.
std::function<void(jobs::Phase, std::uint64_t, std::uint64_t)> progress_bar() {
  if (isatty(STDERR_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) return {};
  return [](jobs::Phase /*phase*/, std::uint64_t done, std::uint64_t steps) {
    if (steps == 0) return;
    const auto percent = [&](std::uint64_t step) { return step * 100 / steps; };
    if (done != steps && percent(done) == percent(done - 1)) return;
    say_progress(fmt::format("step {} of {}", done, steps));
    if (done == steps) say_progress("");
  };
}

/// Writes a line of JSON, at once: the reader may be waiting for it.
void print_weights(std::uint64_t step, std::span<const double> weights) {
  print_line({{"step", step}, {"weights", std::vector<double>(weights.begin(), weights.end())}});
  std::fflush(stdout);
}

jobs::SaidFields fields_of(const OptionTable& given) {
  jobs::SaidFields said;
  for (const auto& group : given.groups()) {
    for (const auto& option : group.options) {
      if (option.is_given() && !option.is_positional()) said.insert(option.name().substr(2));
    }
  }
  return said;
}

/// Whether the ledger's budget, if it has one, can hold such an event; whether there is room for it is found out with any other.
bool budget_knows(const PrivateRunOptions& run, const Event& event) {
  try {
    run.check(run.plan(event, "a search"));
  } catch (const Error& error) {
    return error.code() != ErrorCode::unsupported;
  }
  return true;
}

/// What must be equal on all ranks: the words of the command, and what the run itself knows.
std::string identity_of(const jobs::TrainJob& job, double noise, const TrainOptions& options, const OptionTable& given) {
  nlohmann::json words = options_json("train", given);
  words["version of surety"] = SURETY_VERSION;
  words["replay"] = options.run.replay_seed ? nlohmann::json(*options.run.replay_seed) : nlohmann::json{};
  return words.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + job.identity(noise);
}

/// What a later rank of an mpirun does: as the first, but that it is told the noise, and charges and writes nothing.
int follow(jobs::TrainJob& job, const TrainOptions& options, const OptionTable& given, Team& team) {
  RunBits bits{options.run.replay_seed};
  const double noise = team.await_begin();
  static_cast<void>(job.read(noise, bits));
  team.report_ready(identity_of(job, noise, options, given));
  team.await_go();
  static_cast<void>(job.learn(noise, nullptr, bits));
  return exit_code::fine;
}

/// The files that an algorithm reads, in the words of options.
std::vector<NamedFile> inputs_of(const TrainOptions& options, const TrainAlgorithm& algorithm) {
  if (algorithm.its() == nullptr) return {{"the data file", options.table.data}};
  auto plan = options.plan;
  plan.source.path = options.table.data;
  plan.source.paths_of_ranks = options.table.data_of_ranks;
  plan.algorithm = algorithm.own();
  std::vector<NamedFile> files;
  for (const auto& [what, path] : algorithm.its()->inputs(plan)) files.push_back({jobs::with_marks(what, "--"), path});
  return files;
}

/// Refuses files that are one. Later ranks may see none.
void require_separate_files(const TrainOptions& options, const TrainAlgorithm& algorithm, std::size_t rank) {
  if (rank != 0) return;
  require_separate({.ledger = NamedFile{"--ledger", options.run.ledger},
                    .inputs = options.run.inputs(options.reading.with_schema(inputs_of(options, algorithm))),
                    .outputs = {{{"--model", options.model}, optimizers::model_file, options.overwrite.said()}}});
}

/// Takes from the schema and the ledger what no option says, once: the ledger where there is one process.
void settle_promise(TrainOptions& options, const TrainAlgorithm& algorithm, const OptionTable& given, std::size_t rank,
                    std::size_t processes) {
  apply_schema(options);
  require_separate_files(options, algorithm, rank);
  if (processes == 1) options.run.take_ledger(given);
  options.run.take_unit(options.reading);
}

int train(const TrainOptions& options, const TrainAlgorithm& algorithm, const OptionTable& given, Team& team) {
  const jobs::Algorithm& its = *algorithm.its();
  if (options.run.has_unit() && !its.why_no_units().empty()) {
    throw Error{ErrorCode::unsupported, fmt::format("{} is not for {}: {}", options.run.unit_words(), its.name(), its.why_no_units())};
  }
  const jobs::TrainContext context{.team = team,
                                   .run = {.progress = progress_bar()},
                                   .weights = print_weights,
                                   .budget_knows = [&run = options.run](const Event& event) { return budget_knows(run, event); }};
  jobs::TrainJob job{plan_of(options, algorithm.own()), context, fields_of(given)};
  if (!team.is_first()) return follow(job, options, given, team);

  // Parameters, budget and entropy fail here, before private data are read.
  const auto& noise = job.calibrate();
  if (options.run.is_only_planned({.command = "train",
                                   .options = given,
                                   .target = job.plan().target,
                                   .unit = options.run.unit,
                                   .event = noise.event,
                                   .noise = noise.value,
                                   .schema_sha256 = options.reading.schema_sha256()})) {
    return exit_code::fine;
  }
  const auto charge = job.charge(options.run.replay_seed.has_value(), options.run.note);
  options.run.check(charge);
  RunBits bits{options.run.replay_seed};
  team.begin(noise.value);

  const auto& features = job.read(noise.value, bits);
  team.await_ready(identity_of(job, noise.value, options, given));
  optimizers::ModelFile model_file{options.model, features, job.plan().source.label, options.overwrite.said()};
  auto reservation = options.run.reserve(charge);
  team.go();

  auto model = job.model(job.learn(noise.value, &reservation, bits), bits.not_private());
  model_file.commit(model, reservation.time());
  const auto trained = job.trained(std::move(model), reservation);
  return report_and_settle(reservation, options.run.ledger, [&] { print_report(options, trained); });
}

/// The algorithms that know all options of some that were given, beside what all know.
Arguments knowing(const std::vector<AlgorithmOptions>& all, const OptionTable& hidden) {
  Arguments names;
  for (const auto& one : all) {
    bool knows_all = one.algorithm != automatic_name;
    for (const auto& group : hidden.groups()) {
      for (const auto& option : group.options) {
        knows_all = knows_all && (!option.is_given() || one.options.find(option.name()) != nullptr);
      }
    }
    if (knows_all) names.push_back(one.algorithm);
  }
  if (names.empty()) invalid("--algorithm is missing: none knows all of the options");
  return names;
}

/// The texts of an option as a parser takes them. \throws Error{invalid_argument} for one that its check does not know.
void give(Option& option, const std::vector<std::string>& texts) {
  for (const auto& text : texts) {
    const auto fault = option.check() ? option.check()(text) : std::string{};
    if (!fault.empty()) invalid(fmt::format("{} {}", option.name(), fault));
  }
  option.set(texts);
}

/// The options as if what `auto` chooses had been said: its algorithm, and what nobody said of it. They are set, and `state` says what was chosen.
OptionTable as_chosen(TrainState& state, const Command& said, const std::vector<AlgorithmOptions>& all) {
  TrainOptions& options = state.options;
  if (options.run.expected) invalid("--algorithm is auto, must be named in a plan");
  const auto& automatic = algorithm_named(state.algorithms, automatic_name);
  const auto launch = launched_by_mpirun();
  settle_promise(options, automatic, said.options, launch ? launch->rank : 0, launch ? launch->size : 1);
  const auto algorithms = knowing(all, said.hidden);
  const auto choice = choose_for(automatic, options, said.options, algorithms);

  OptionTable given;
  const auto options_of_algorithm = [&](std::string_view name) -> const OptionTable& {
    return std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.algorithm == name; })->options;
  };
  const auto& own = options_of_algorithm(automatic_name);
  for (const auto& group : said.options.groups()) {
    for (const auto& option : group.options) {
      if (own.find(option.name()) == nullptr) given.group(group.heading).add(option);
    }
  }
  give(*given.find("--algorithm"), {choice.algorithm});
  for (const auto& group : options_of_algorithm(choice.algorithm).groups()) {
    for (const auto& option : group.options) {
      auto& added = given.group(group.heading).add(option);
      // What `auto` itself knows of records is no number that an algorithm must be told.
      const bool is_of_the_choice = algorithms.size() != 1 && option.name() == "--records";
      const auto* const found = own.find(option.name()) != nullptr ? said.options.find(option.name()) : said.hidden.find(option.name());
      if (!is_of_the_choice && found != nullptr && found->is_given()) give(added, found->given());
    }
  }
  options.chosen = choice.algorithm;
  const auto tuned = tuned_fields(options.plan.search, *algorithm_named(state.algorithms, choice.algorithm).its());
  for (const auto& [field, value] : choice.fields) {
    auto& option = *given.find("--" + field);
    if (option.is_given() || std::find(tuned.begin(), tuned.end(), field) != tuned.end()) continue;
    give(option, {value});
    options.chosen += fmt::format(" {} {}", option.name(), value);
  }
  options.chosen += ": " + choice.why;
  return given;
}

struct DescribedCommand {
  std::shared_ptr<TrainState> state;
  std::vector<AlgorithmOptions> tables;
  Command command;
};

/// The command with the options of the algorithm that these words name. It runs nothing yet.
DescribedCommand described(const Arguments& words) {
  const auto state = std::make_shared<TrainState>();
  state->algorithms = all_train_algorithms();
  Command command{.name = "train", .summary = "Train a private model and write what it spent into a ledger."};
  auto tables = options_of(state->algorithms, state->options);
  add_shared_options(command.options, state->options, names_of(tables));
  const auto chosen_name = value_in(words, "--algorithm");
  add_algorithm_options(command, tables, chosen_name.value_or(state->options.algorithm), chosen_name.has_value(), state->lists_algorithms,
                        words);
  return {.state = state, .tables = std::move(tables), .command = std::move(command)};
}

/// The timeout holds for the start of MPI already, before ranks can talk about what is wrong with it.
std::chrono::milliseconds timeout_or_let_the_first_speak(const TrainOptions& options, const TrainAlgorithm& algorithm) {
  try {
    auto plan = options.plan;
    plan.algorithm = algorithm.own();
    return algorithm.its()->timeout(plan);
  } catch (const Error&) {
    let_the_first_speak();
    throw;
  }
}

}  // namespace

Command train_command(const PlannedArguments& given) {
  auto [state, tables, command] = described(given.words);
  state->options.run.expected = given.expected;

  command.footer =
      "Every line end ends a record, in CSV those outside quotes. One with a missing or damaged cell in a column that is used, or with a "
      "label that the loss does not know, counts as a record of zeros, in files and in streams. Streams read one record at a time, from a "
      "file or from standard input (-), and stop at the end or after --steps records. Rows are scaled to unit l2 norm together with a "
      "constant 1; a column without bounds enters as asinh(x). Choosing options by looking at private results spends budget that no ledger "
      "sees: the defaults are public.";
  if (command.is_help_short) command.footer.clear();
  command.footer +=
      "Examples:\n"
      "  surety train examples/data/randhie.csv --label 'mdvis>0' --epsilon 1 --delta 1e-5 --ledger run.db --model model.json\n"
      "  surety train examples/data/randhie.csv --label 'mdvis>0' --algorithm dp-sgd --records 20190 --batch-size 200 --epochs 5 \\\n"
      "               --clip 0.5 --epsilon 1 --delta 1e-5 --ledger run.db --model model.json";

  const auto run = [state = state](const Command& said, const std::vector<AlgorithmOptions>& all) {
    const bool is_chosen = state->options.algorithm == automatic_name;
    const auto options = is_chosen ? as_chosen(*state, said, all) : said.options;
    const TrainAlgorithm& algorithm = algorithm_named(state->algorithms, state->options.algorithm);
    const auto start = [&](Team& team) {
      if (state->options.algorithm != "gossip") state->options.table.take_rank(team.rank(), team.size());
      if (!is_chosen) require_own_options(said.hidden, all, algorithm.name());
      for (const char* option : {"--tune-over", "--tune-by", "--tune-most", "--answer-at"}) {
        if (const auto* by = options.find(option); !state->options.plan.search.tune && by != nullptr && by->is_given()) {
          invalid(fmt::format("--tune is missing: {} says how a search would be done", option));
        }
      }
      if (is_chosen) {
        require_separate_files(state->options, algorithm, team.rank());
      } else {
        settle_promise(state->options, algorithm, options, team.rank(), team.size());
      }
      return train(state->options, algorithm, options, team);
    };
    if (algorithm.its()->runs_on_ranks()) {
      return as_a_team(timeout_or_let_the_first_speak(state->options, algorithm), [&](Team& team) {
        if (state->options.run.print_plan && team.size() > 1) invalid("--print-plan is for one process, several were started by mpirun");
        return start(team);
      });
    }
    require_one_process();
    Team alone{nullptr};
    return start(alone);
  };
  command.run = list_or_run(std::move(tables), state->lists_algorithms, run);
  return command;
}

}  // namespace surety::cli
