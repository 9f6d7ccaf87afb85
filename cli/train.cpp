// surety train: a private model, charged to a ledger before the first noise is drawn.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <surety/accounting/events/format.h>
#include <surety/optimizers/models/model.h>

#include "algorithm_options.h"
#include "command.h"
#include "parser.h"
#include "plan.h"
#include "private_run.h"
#include "run.h"
#include "team.h"
#include "train/algorithms.h"
#include "train/automatic.h"
#include "train/report.h"
#include "train/tuning.h"

namespace surety::cli {
namespace {

using optimizers::ModelFile;

constexpr std::string_view automatic_name = "auto";

/// What must be equal on all ranks: the words of the command, and what the run itself knows.
std::string identity_of(const TrainingRun& training, double noise, const OptionTable& given) {
  return options_json("train", given).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + training.identity(noise);
}

/// What a later rank of an mpirun does: as the first, but that it is told the noise, and charges and writes nothing.
int follow(TrainingRun& training, const TrainOptions& options, const OptionTable& given, Team& team) {
  RunBits bits{options.run.replay_seed};
  const double noise = team.await_begin();
  static_cast<void>(training.read(noise, bits));
  team.report_ready(identity_of(training, noise, given));
  team.await_go();
  static_cast<void>(training.run(noise, nullptr, bits));
  return exit_code::fine;
}

/// Makes the run that the options ask for. It outlives neither them nor `source` nor `team`.
using Prepare = std::function<std::unique_ptr<TrainingRun>(const Source& source, Team& team)>;

/// Refuses files that are one, and takes from the schema and the ledger what no option says: the ledger where there is one process, since later
/// ranks may see none.
void settle_promise(TrainOptions& options, const Algorithm& algorithm, const OptionTable& given, std::size_t rank, std::size_t processes) {
  apply_schema(options);
  if (rank == 0) {
    require_separate({.ledger = NamedFile{"--ledger", options.run.ledger},
                      .inputs = options.run.inputs(options.reading.with_schema(algorithm.inputs(options))),
                      .outputs = {{{"--model", options.model}, optimizers::model_file, options.overwrite.said()}}});
  }
  if (processes == 1) options.run.take_ledger(given);
  options.run.take_unit(options.reading);
}

int train(const TrainOptions& options, const Algorithm& algorithm, const Prepare& prepare, const OptionTable& given, Team& team) {
  if (options.run.has_unit() && !algorithm.why_no_units().empty()) {
    throw Error{ErrorCode::unsupported,
                fmt::format("{} is not for {}: {}", options.run.unit_words(), algorithm.name(), algorithm.why_no_units())};
  }
  const Target target = options.run.target();
  const Source source = source_of(options);
  const auto training = prepare(source, team);
  if (!team.is_first()) return follow(*training, options, given, team);

  // Parameters, budget and entropy fail here, before private data are read.
  const auto noise = training->calibrate();
  if (options.run.is_only_planned({.command = "train",
                                   .options = given,
                                   .target = target,
                                   .unit = options.run.unit,
                                   .event = noise.event,
                                   .noise = noise.value,
                                   .schema_sha256 = options.reading.schema_sha256()})) {
    return exit_code::fine;
  }
  const auto planned =
      options.run.plan(noise.event, fmt::format("{}, {} loss{}", options.algorithm, options.loss, options.tune ? ", tuned" : ""));
  options.run.check(planned);
  RunBits bits{options.run.replay_seed};
  team.begin(noise.value);

  const auto& features = training->read(noise.value, bits);
  team.await_ready(identity_of(*training, noise.value, given));
  ModelFile model_file{options.model, features, source.label, options.overwrite.said()};
  auto reservation = options.run.reserve(planned);
  team.go();

  optimizers::Model model{
      .loss = options.loss,
      .label = source.label,
      .features = features,
      .weights = training->run(noise.value, &reservation, bits),
      .guarantee = {.target = target, .event = noise.event, .not_private = options.run.replay_seed.has_value(), .unit = options.run.unit}};
  model_file.commit(model, reservation.time());

  Report report{.options = options,
                .model = model,
                .noise = noise,
                .released = released_by(reservation, noise.event, noise.epsilon, target.delta),
                .run = reservation.id()};
  training->add_to(report);
  return report_and_settle(reservation, options.run.ledger, [&] { print_report(report); });
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

/// Runs what `auto` chooses, as if its words had been said.
int run_chosen(AlgorithmCommand<Algorithm, TrainOptions>& state, const Arguments& words, const Arguments& algorithms,
               const OptionTable& given) {
  if (state.options.run.expected) invalid("--algorithm is auto, must be named in a plan");
  TrainOptions options = state.options;
  const auto& itself = algorithm_named(state.algorithms, automatic_name);
  const auto launch = launched_by_mpirun();
  settle_promise(options, itself, given, launch ? launch->rank : 0, launch ? launch->size : 1);
  const auto chosen = choose_for(itself, options, words, algorithms);
  std::string text = chosen.choice.algorithm;
  for (const auto& word : chosen.choice.words) text += " " + word;
  return run_given({.words = chosen.words, .chosen = text + ": " + chosen.choice.why});
}

struct DescribedCommand {
  std::shared_ptr<AlgorithmCommand<Algorithm, TrainOptions>> state;
  std::vector<AlgorithmOptions> tables;
  Command command;
};

/// The command with the options of the algorithm that these words name. It runs nothing yet.
DescribedCommand described(const Arguments& words) {
  const auto state = std::make_shared<AlgorithmCommand<Algorithm, TrainOptions>>();
  state->algorithms = all_algorithms();
  Command command{.name = "train", .summary = "Train a private model and write what it spent into a ledger."};
  auto tables = options_of(state->algorithms, state->options);
  add_shared_options(command.options, state->options, names_of(tables));
  const auto chosen_name = value_in(words, "--algorithm");
  add_algorithm_options(command, tables, chosen_name.value_or(state->options.algorithm), chosen_name.has_value(), state->lists_algorithms,
                        words);
  return {.state = state, .tables = std::move(tables), .command = std::move(command)};
}

/// The run of --tune: its candidates are the same words with other values.
std::unique_ptr<TrainingRun> search_of(const TrainOptions& options, const Algorithm& algorithm, const Arguments& words,
                                       const std::vector<AlgorithmOptions>& all, const OptionTable& given, const Source& source,
                                       Team& team) {
  const auto own = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.algorithm == algorithm.name(); });
  auto over = options.tune_over;
  if (over.empty()) {
    // What is said is not tried.
    for (const auto& text : algorithm.tuned_over()) {
      const auto* said = given.find("--" + text.substr(0, text.find('=')));
      if (said == nullptr || !said->is_given()) over.push_back(text);
    }
  }
  if (over.empty()) {
    invalid(
        fmt::format("--tune-over is missing: --tune needs what candidates differ in, {} has nothing more of its own", algorithm.name()));
  }
  std::vector<TunedCandidate> candidates;
  for (const auto& [text, values] : combinations(over, own->options, given)) {
    Arguments of_candidate = words;
    for (const char* option : {"--tune", "--tune-over", "--tune-by", "--tune-most", "--answer-at", "--limit-seconds"}) {
      of_candidate = without(of_candidate, option);
    }
    of_candidate.insert(of_candidate.end(), values.begin(), values.end());
    auto [state, tables, command] = described(of_candidate);
    Command surety{.name = "surety", .summary = {}};
    surety.commands.push_back(std::move(command));
    static_cast<void>(parse(surety, of_candidate));
    apply_schema(state->options);
    state->options.run.take_promise_of(options.run);
    state->options.is_candidate = true;
    auto run = algorithm_named(state->algorithms, algorithm.name()).prepare(state->options, source, team);
    candidates.push_back({.text = text, .kept = state, .run = std::move(run)});
  }
  return tuned(options, std::move(candidates), team);
}

/// The timeout holds for the start of MPI already, before ranks can talk about what is wrong with it.
std::chrono::milliseconds timeout_or_let_the_first_speak(const Algorithm& algorithm) {
  try {
    return algorithm.timeout();
  } catch (const Error&) {
    let_the_first_speak();
    throw;
  }
}

}  // namespace

Command train_command(const PlannedArguments& given) {
  auto [state, tables, command] = described(given.words);
  state->options.run.expected = given.expected;
  state->options.chosen = given.chosen;

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

  const auto run = [state = state, words = given.words](const Command& said, const std::vector<AlgorithmOptions>& all) {
    if (state->options.algorithm == automatic_name) return run_chosen(*state, words, knowing(all, said.hidden), said.options);
    const Algorithm& algorithm = algorithm_named(state->algorithms, state->options.algorithm);
    const auto start = [&](Team& team) {
      if (state->options.algorithm != "gossip") take_rank(state->options, team.rank(), team.size());
      require_own_options(said.hidden, all, algorithm.name());
      for (const char* option : {"--tune-over", "--tune-by", "--tune-most", "--answer-at"}) {
        if (const auto* by = said.options.find(option); !state->options.tune && by != nullptr && by->is_given()) {
          invalid(fmt::format("--tune is missing: {} says how a search would be done", option));
        }
      }
      settle_promise(state->options, algorithm, said.options, team.rank(), team.size());
      const Prepare prepare = [&](const Source& source, Team& ranks) {
        if (!state->options.tune) return algorithm.prepare(state->options, source, ranks);
        return search_of(state->options, algorithm, words, all, said.options, source, ranks);
      };
      return train(state->options, algorithm, prepare, said.options, team);
    };
    if (algorithm.runs_on_ranks()) {
      return as_a_team(timeout_or_let_the_first_speak(algorithm), [&](Team& team) {
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
