// surety train: a private model, charged to a ledger before the first noise is drawn.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/cli/commands/algorithm_options.h>
#include <surety/cli/commands/command.h>
#include <surety/cli/commands/plan.h>
#include <surety/cli/commands/private_run.h>
#include <surety/cli/commands/train/automatic.h>
#include <surety/cli/commands/train/train_options.h>
#include <surety/cli/print/output.h>
#include <surety/cli/print/progress.h>
#include <surety/cli/ranks/ranks.h>
#include <surety/cli/ranks/team.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/jobs/train/train_job.h>
#include <surety/jobs/train/trained_json.h>
#include <surety/jobs/train/trained_report.h>
#include <surety/optimizers/models/model.h>

namespace surety::cli {
namespace {

/// Steps are public; how many records were read is not always, and is not shown.
void show_progress(jobs::Phase phase, std::uint64_t done, std::uint64_t steps) {
  if (phase != jobs::Phase::releasing || steps == 0) return;
  const auto percent = [&](std::uint64_t step) { return step * 100 / steps; };
  if (done != steps && percent(done) == percent(done - 1)) return;
  say_progress(fmt::format("step {} of {}", done, steps));
  if (done == steps) say_progress("");
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

void print_report(const TrainOptions& options, const jobs::TrainedModel& trained) {
  if (!options.json) {
    say_lines(jobs::report_text(
        trained,
        {.ledger = options.run.ledger_and(trained.run), .model = shown(options.model), .chosen = options.chosen.printed(option_name)}));
    return;
  }
  auto object = jobs::to_json(trained);
  object["model"] = options.model;
  if (!options.chosen.empty()) object["chosen"] = options.chosen.plain();
  if (auto missing = options.reading.csv().missing; !missing.empty()) object["missing"] = std::move(missing);
  object.update(options.run.charge_json(trained.run));
  trained.facts->has_told_weights ? print_line(object) : print(object);
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
  jobs::RunBits bits{options.run.replay_seed};
  const double noise = team.await_begin();
  static_cast<void>(job.read(noise, bits));
  team.report_ready(identity_of(job, noise, options, given));
  team.await_go();
  static_cast<void>(job.learn(noise, nullptr, bits));
  return exit_code::fine;
}

/// What the first rank does, or the only one.
class FirstRank final : public CommandSteps {
 public:
  FirstRank(const TrainOptions& options, const OptionTable& given, Team& team, jobs::TrainJob& job)
      : CommandSteps{options.run}, options_{options}, given_{given}, team_{team}, job_{job} {}

  accounting::Plan calibrate() override {
    noise_ = job_.calibrate().value;
    return job_.charge(options_.run.replay_seed.has_value(), options_.run.note.value_or(""));
  }
  void seed() override {
    CommandSteps::seed();
    team_.begin(noise_);
  }
  void read() override {
    features_ = &job_.read(noise_, bits());
    team_.await_ready(identity_of(job_, noise_, options_, given_));
  }
  void take_place() override {
    file_.emplace(options_.model, *features_, job_.plan().source.label, options_.overwrite.said());
    say_notes(job_.notes());
  }
  accounting::Reservation reserve(const accounting::Plan& charge) override {
    auto reservation = CommandSteps::reserve(charge);
    team_.go();
    return reservation;
  }
  void release(accounting::Reservation& reservation) override {
    model_.emplace(job_.model(job_.learn(noise_, &reservation, bits()), bits().not_private()));
  }
  void write(const accounting::Reservation& reservation) override { file_->commit(*model_, reservation.time()); }

 private:
  void print(const accounting::Reservation& reservation) override { print_report(options_, job_.trained(*std::move(model_), reservation)); }

  const TrainOptions& options_;
  const OptionTable& given_;
  Team& team_;
  jobs::TrainJob& job_;
  double noise_ = 0;
  const data::FeatureMap* features_ = nullptr;
  std::optional<optimizers::ModelFile> file_;
  std::optional<optimizers::Model> model_;
};

/// The files that the algorithm reads, in the words of options.
std::vector<NamedFile> inputs_of(const TrainState& state) {
  const TrainOptions& options = state.options;
  if (options.algorithm == automatic_name) return {{"the data file", options.table.data}};
  auto plan = options.plan;
  plan.source.path = options.table.data;
  plan.source.paths_of_ranks = options.table.data_of_ranks;
  plan.algorithm = state.chosen().own();
  std::vector<NamedFile> files;
  for (const auto& [what, path] : state.chosen().its().inputs(plan)) files.push_back({what.printed(option_name), path});
  return files;
}

/// Refuses files that are one. Later ranks may see none.
void require_separate_files(const TrainState& state, std::size_t rank) {
  if (rank != 0) return;
  const TrainOptions& options = state.options;
  require_separate({.ledger = NamedFile{"--ledger", options.run.ledger_file()},
                    .inputs = options.run.inputs(inputs_of(state), options.reading),
                    .outputs = {{{"--model", options.model}, optimizers::model_file, options.overwrite.said()}}});
}

/// Takes from the schema and the ledger what no option says, once: the ledger where there is one process.
void settle_promise(TrainState& state, const OptionTable& given, std::size_t rank, std::size_t processes) {
  TrainOptions& options = state.options;
  apply_schema(options);
  require_separate_files(state, rank);
  if (processes == 1) options.run.take_ledger(given);
  options.run.take_unit(options.reading);
}

int train(const TrainState& state, const OptionTable& given, Team& team) {
  const TrainOptions& options = state.options;
  const jobs::Algorithm& its = state.chosen().its();
  const jobs::TrainPlan plan = plan_of(options, state.chosen().own());
  if (const auto why = plan.has_unit() ? its.why_no_units(plan) : jobs::FieldText{}; !why.empty()) {
    throw Error{ErrorCode::unsupported,
                fmt::format("{} is not for {}: {}", options.run.unit_words(), its.name(), why.printed(option_name))};
  }
  const jobs::TrainContext context{.team = team,
                                   .run = {.progress = shows_progress() ? show_progress : nullptr},
                                   .print_name = option_name,
                                   .weights = print_weights,
                                   .budget_knows = [&run = options.run](const Event& event) { return budget_knows(run, event); }};
  jobs::TrainJob job{plan, context, fields_of(given)};
  if (!team.is_first()) return follow(job, options, given, team);

  // Parameters, budget and entropy fail here, before private data are read.
  const auto& noise = job.calibrate();
  if (options.run.is_only_planned({.command = "train",
                                   .options = given,
                                   .target = job.plan().target,
                                   .follows = {.unit = options.run.unit, .event = noise.event, .noise = noise.value},
                                   .schema_sha256 = options.reading.schema_sha256(),
                                   .is_of_version_1 = plan.problem.has_number_of_class})) {
    return exit_code::fine;
  }
  return FirstRank{options, given, team, job}.run();
}

/// The timeout holds for the start of MPI already, before ranks can talk about what is wrong with it.
std::chrono::milliseconds timeout_or_let_the_first_speak(const TrainState& state) {
  try {
    auto plan = state.options.plan;
    plan.algorithm = state.chosen().own();
    return state.chosen().its().timeout(plan);
  } catch (const Error&) {
    let_the_first_speak();
    throw;
  }
}

/// All that the words ask for, alone or on ranks.
int run_training(TrainState& state, const Command& said) {
  if (state.lists_algorithms) return print_algorithms(state.tables);
  const TrainOptions& options = state.options;
  const bool is_automatic = options.algorithm == automatic_name;
  if (is_automatic) {
    if (options.run.expected) invalid("--algorithm is auto, must be named in a plan");
    const auto launch = launched_by_mpirun();
    settle_promise(state, said.options, launch ? launch->rank : 0, launch ? launch->size : 1);
  }
  const auto given = is_automatic ? as_chosen(state, said) : said.options;
  const auto start = [&](Team& team) {
    if (options.algorithm != jobs::GossipPlan::name) state.options.table.take_rank(team.rank(), team.size());
    if (!is_automatic) require_own_options(said.hidden, state.tables, options.algorithm);
    if (is_automatic) {
      require_separate_files(state, team.rank());
      return train(state, given, team);
    }
    settle_promise(state, given, team.rank(), team.size());
    return train(state, as_ruled(state, given), team);
  };
  if (!state.chosen().its().runs_on_ranks()) {
    require_one_process();
    Team alone{nullptr};
    return start(alone);
  }
  return as_a_team(timeout_or_let_the_first_speak(state), [&](Team& team) {
    if (options.run.print_plan && team.size() > 1) invalid("--print-plan is for one process, several were started by mpirun");
    return start(team);
  });
}

}  // namespace

Command train_command(const GivenArguments& given) {
  const auto state = std::make_shared<TrainState>();
  state->options.run.expected = given.expected;
  Command command{.name = "train", .summary = "Train a private model and write what it spent into a ledger."};
  add_shared_options(command.options, state->options, names_of(state->tables));
  const auto chosen = given.value_of("algorithm");
  add_algorithm_options(command, state->tables, chosen.value_or(state->options.algorithm), chosen.has_value(), state->lists_algorithms,
                        given.words);
  command.footer =
      "Every line end ends a record, in CSV those outside quotes. One with a missing or damaged cell in a column that is used, or with a label that the loss does not know, counts as a record of zeros, in files and in streams. Streams read one record at a time, from a file or from standard input (-), and stop at the end or after --steps records. Rows are scaled to unit l2 norm together with a constant 1; a column without bounds enters as asinh(x). Options of an algorithm that are not given follow from public numbers where these are known beforehand, and the line 'chosen' says them; the defaults shown here hold elsewhere. Choosing options by looking at private results spends budget that no ledger sees: the defaults are public.";
  if (command.is_help_short) command.footer.clear();
  command.footer +=
      "Examples:\n"
      "  surety train examples/data/randhie.csv --label 'mdvis>0' --epsilon 1 --delta 1e-5 --ledger run.db --model model.json\n"
      "  surety train examples/data/randhie.csv --label 'mdvis>0' --algorithm dp-sgd --records 20190 --batch-size 200 --epochs 5 \\\n"
      "               --clip 0.5 --epsilon 1 --delta 1e-5 --ledger run.db --model model.json";

  command.run = [state](const Command& said) { return run_training(*state, said); };
  return command;
}

}  // namespace surety::cli
