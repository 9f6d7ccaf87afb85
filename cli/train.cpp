// surety train: a private model, charged to a ledger before the first noise is drawn.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <surety/accounting/calibrate.h>
#include <surety/accounting/ledger.h>
#include <surety/mechanisms/random_bits.h>
#include <surety/optimizers/csv.h>
#include <surety/optimizers/gradient_descent.h>
#include <surety/optimizers/libsvm.h>
#include <surety/optimizers/loss.h>
#include <surety/optimizers/metrics.h>
#include <surety/optimizers/mixing.h>
#include <surety/optimizers/model.h>

#include "command.h"
#include "output.h"
#include "private_run.h"
#include "team.h"
#include "train_options.h"
#include "validators.h"

namespace surety::cli {
namespace {

using namespace optimizers;

/// The largest Count.
constexpr std::uint64_t max_count = std::uint64_t{1} << 53;
/// The most features that a feature map may have.
constexpr std::uint64_t max_features = std::uint64_t{1} << 24;
/// Of gradient descent.
constexpr std::uint64_t default_steps = 100;

/// \throws Error{bad_data} naming the file, row and label that the objective does not know.
template <class O>
Dataset encode(const O& objective, const Dataset& data, const TrainOptions& options) {
  try {
    return encode_labels(objective, data);
  } catch (const Error& error) {
    throw Error{error.code(), fmt::format("{}: {}", options.data, error.what())};
  }
}

template <class O, class Bits>
std::vector<double> descend(const Dataset& data, const O& objective, const TrainOptions& options, const GradientDescentOptions& settings,
                            accounting::Reservation& reservation, Bits& bits) {
  NoisyReleaser<Bits> releaser{reservation, bits};
  if (options.radius) return gradient_descent(data, objective, L2Ball{Radius{*options.radius}}, settings, releaser).weights;
  return gradient_descent(data, objective, WholeSpace{}, settings, releaser).weights;
}

nlohmann::json number_or_null(double value) { return std::isnan(value) ? nlohmann::json{} : nlohmann::json(value); }

/// Scores on the held-out part: {"log_loss": {"model": ..., "constant": ...}, ...}; empty when nothing is held out.
nlohmann::json held_out_scores(const Model& model, const Dataset& held_out) {
  if (held_out.empty()) return nlohmann::json::object();
  const auto values = scores(model, held_out);
  if (model.loss == SquaredLoss::name) {
    return {{"mean_squared_error",
             {{"model", mean_squared_error(values, held_out.labels())}, {"constant", constant_mean_squared_error(held_out.labels())}}}};
  }
  const auto found = binary_scores(values, held_out.labels());
  const auto constant = constant_scores(held_out.labels());
  return {{"log_loss", {{"model", found.log_loss}, {"constant", constant.log_loss}}},
          {"area_under_the_curve",
           {{"model", number_or_null(found.area_under_the_curve)}, {"constant", number_or_null(constant.area_under_the_curve)}}},
          {"accuracy", {{"model", found.accuracy}, {"constant", constant.accuracy}}}};
}

struct Report {
  Calibration noise;
  std::uint64_t run;
  std::size_t training_records;
  std::size_t held_out_records;
  double sigma;
  nlohmann::json scores;
};

void print_report(const TrainOptions& options, const Report& report) {
  const auto line = [](std::string_view field, const std::string& value) { fmt::print("{:<12} {}\n", field, value); };
  line("trained", fmt::format("{} loss by {}, {} steps", options.loss, options.algorithm, options.steps.value_or(default_steps)));
  line("adjacency", options.run.adjacency);
  line("promise", fmt::format("epsilon = {} at delta = {}", options.run.epsilon, options.run.delta));
  line("released", describe(report.noise.event));
  line("epsilon", fmt::format("in {} at delta = {}", text(report.noise.epsilon), options.run.delta));
  line("sigma", fmt::format("{:.6g} on each coordinate of the summed gradient", report.sigma));
  line("ledger", fmt::format("{}, run {}", options.run.ledger, report.run));
  line("model", options.model);
  if (options.run.replay_seed) line("NOT PRIVATE", "the noise was replayed from a known seed");
  if (report.scores.empty()) {
    line("held out", "nothing");
    return;
  }
  fmt::print("\nscores on {} held-out records (computed on private data, so not private themselves: do not publish them)\n",
             report.held_out_records);
  fmt::print("{:<24} {:>10} {:>22}\n", "", "model", "constant prediction");
  for (const auto& [score, values] : report.scores.items()) {
    const auto shown = [](const nlohmann::json& value) {
      return value.is_null() ? std::string{"one class"} : fmt::format("{:.4f}", value.get<double>());
    };
    std::string title = score;
    for (auto& c : title) c = c == '_' ? ' ' : c;
    fmt::print("{:<24} {:>10} {:>22}\n", title, shown(values["model"]), shown(values["constant"]));
  }
}

void print_json(const TrainOptions& options, const Report& report) {
  print({{"algorithm", options.algorithm},
         {"loss", options.loss},
         {"adjacency", options.run.adjacency},
         {"promise", {{"epsilon", options.run.epsilon}, {"delta", options.run.delta}}},
         {"event", describe(report.noise.event)},
         {"epsilon", json(report.noise.epsilon)},
         {"delta", options.run.delta},
         {"noise_multiplier", report.noise.value.value()},
         {"sigma", report.sigma},
         {"ledger", options.run.ledger},
         {"run", report.run},
         {"model", options.model},
         {"not_private", options.run.replay_seed.has_value()},
         {"training_records", report.training_records},
         {"held_out_records", report.held_out_records},
         {"held_out_scores_not_private", report.scores}});
}

template <class O>
int train_objective(const TrainOptions& options, const O& objective) {
  // Parameters, budget and entropy fail here, before private data is read.
  const Target target = options.run.target();
  GradientDescentOptions settings{.noise_multiplier = NoiseMultiplier{1},
                                  .adjacency = target.adjacency,
                                  .steps = Count{options.steps.value_or(default_steps)},
                                  .regularization = Regularization{options.regularization.value_or(1e-4)},
                                  .progress = progress_bar(options.steps.value_or(default_steps))};
  if (options.step_size) settings.step_size = StepSize{*options.step_size};
  if (options.clip) settings.clip = ClippingNorm{*options.clip};
  if (options.public_count) settings.public_count = Count{*options.public_count};
  if (options.radius) static_cast<void>(Radius{*options.radius});
  const double held_out = options.held_out.value_or(0.2);
  if (!(held_out >= 0 && held_out < 1)) throw usage(fmt::format("--held-out is {}, must be at least 0 and less than 1", held_out));
  if (target.adjacency == Adjacency::add_or_remove_one && !options.public_count) {
    throw usage(
        "--public-count is missing: under add-or-remove-one the number of records is private, and a public one must divide the sum");
  }
  const auto source = source_of(options);
  require_distinct_files(options);
  const auto noise = calibrate(
      [&](NoiseMultiplier z) {
        auto candidate = settings;
        candidate.noise_multiplier = z;
        return plan(candidate);
      },
      target);
  settings.noise_multiplier = noise.value;
  const auto planned = options.run.plan(noise.event, fmt::format("{}, {} loss", options.algorithm, options.loss));
  options.run.check(planned);
  RunBits bits{options.run.replay_seed};

  auto [data, features] = read(options, source);
  const auto parts = split(encode(objective, data, options),
                           {.adjacency = target.adjacency, .held_out_fraction = held_out, .seed = options.split_seed.value_or(0)});
  if (parts.training.empty() && target.adjacency != Adjacency::add_or_remove_one) {
    throw Error{ErrorCode::bad_data, fmt::format("{}: no record is left to train on, must have at least one", options.data)};
  }
  ModelFile model_file{options.model, features};
  auto reservation = options.run.reserve(planned);

  auto weights =
      bits.with([&](auto& source_of_bits) { return descend(parts.training, objective, options, settings, reservation, source_of_bits); });

  const Model model{.loss = std::string{O::name},
                    .label = source.label,
                    .features = features,
                    .weights = std::move(weights),
                    .guarantee = {.target = target, .event = noise.event, .not_private = options.run.replay_seed.has_value()}};
  model_file.commit(model);
  reservation.settle(accounting::Stopping::data_independent);

  const ClippingNorm clip = settings.clip.value_or(ClippingNorm{objective.gradient_bound(1)});
  const Report report{.noise = noise,
                      .run = reservation.id().value,
                      .training_records = parts.training.size(),
                      .held_out_records = parts.held_out.size(),
                      .sigma = noise.value.value() * mechanisms::sensitivity_of_clipped_sum(clip, target.adjacency).value(),
                      .scores = held_out_scores(model, parts.held_out)};
  options.json ? print_json(options, report) : print_report(options, report);
  return exit_code::fine;
}

/// The algorithms, and the options that only some of them know.
constexpr std::string_view gradient_descent_name = "gradient-descent";
const std::vector<std::string> streaming{"online-frank-wolfe", "polyhedral-frank-wolfe", "online-to-batch", "private-ftrl", "one-pass-sgd"};
const std::vector<std::string> batched{"noisy-sgd", "noisy-frank-wolfe"};
constexpr std::string_view gossip_name = "gossip";

/// \throws Error{invalid_argument} when an option is given that the algorithm has no use for.
void require_fitting_options(const TrainOptions& options) {
  struct Known {
    std::string_view option;
    bool given;
    std::vector<std::string_view> algorithms;
  };
  const std::string_view descent = gradient_descent_name;
  for (const auto& [option, given, algorithms] : std::vector<Known>{
           {"--held-out", options.held_out.has_value(), {descent}},
           {"--split-seed", options.split_seed.has_value(), {descent}},
           {"--regularization", options.regularization.has_value(), {descent, gossip_name}},
           {"--public-count", options.public_count.has_value(), {descent}},
           {"--step-size", options.step_size.has_value(), {descent, "private-ftrl", "one-pass-sgd", "noisy-sgd", gossip_name}},
           {"--step-scale", options.step_scale.has_value(), {"online-frank-wolfe", "polyhedral-frank-wolfe", "noisy-frank-wolfe"}},
           {"--norm", options.norm.has_value(), {"online-frank-wolfe", "noisy-frank-wolfe"}},
           {"--records", options.records.has_value(), {"noisy-sgd", "noisy-frank-wolfe", gossip_name}},
           {"--batch-size", options.batch_size.has_value(), {"one-pass-sgd", "noisy-sgd", gossip_name}},
           {"--passes", options.passes.has_value(), {"noisy-sgd", gossip_name}},
           {"--learners", options.learners.has_value(), {gossip_name}},
           {"--topology", options.topology.has_value(), {gossip_name}},
           {"--graph", options.graph.has_value(), {gossip_name}},
           {"--mixing-seed", options.mixing_seed.has_value(), {gossip_name}},
           {"--schedule", options.schedule.has_value(), {gossip_name}},
           {"--timeout", options.timeout.has_value(), {gossip_name}},
           {"--factorization", options.factorization.has_value(), {"online-frank-wolfe", "online-to-batch", "private-ftrl"}},
           {"--learner", options.learner.has_value(), {"online-to-batch"}},
           {"--noise", options.noise.has_value(), {"online-frank-wolfe", "polyhedral-frank-wolfe", gossip_name}},
           {"--every", options.every.has_value(), {streaming.begin(), streaming.end()}}}) {
    if (given && std::find(algorithms.begin(), algorithms.end(), options.algorithm) == algorithms.end()) {
      throw usage(fmt::format("{} is for {}, not for {}", option, fmt::join(algorithms, ", "), options.algorithm));
    }
  }
}

int train(const TrainOptions& options) {
  if (options.algorithm == gossip_name) {
    return as_a_team([&](Team& team) {
      require_fitting_options(options);
      return train_by_gossip(options, team);
    });
  }
  if (const auto launch = launched_by_mpirun(); launch && launch->size > 1) {
    let_the_first_speak();
    throw usage(fmt::format("{} processes were started by mpirun, must be one: only gossip runs on several", launch->size));
  }
  require_fitting_options(options);
  if (options.algorithm != gradient_descent_name) return train_beyond_gradient_descent(options);
  return with_objective(options, [&](const auto& objective) { return train_objective(options, objective); });
}

}  // namespace

void add_train(CLI::App& app, Action& chosen) {
  auto& command = *app.add_subcommand("train", "Train a private model and write what it spent into a ledger");
  const auto options = std::make_shared<TrainOptions>();
  command.add_option("data", options->data, "A CSV file with a header, or a LIBSVM file; plain or gzip; - for standard input")->required();

  const auto input = command.add_option_group("Data");
  input->add_option("--format", options->format, "csv or libsvm")->check(one_of({"csv", "libsvm"}))->capture_default_str();
  input->add_option("--label", options->label, "CSV: the label's column, or a comparison with a number such as 'visits>0'");
  input->add_option("--drop", options->drop, "CSV: a column that is no feature; may be repeated")->allow_extra_args(false);
  input
      ->add_option("--bounds", options->bounds,
                   "CSV: column=lower,upper, known without looking at the data: clamped, scaled to [0, 1]; may be repeated")
      ->allow_extra_args(false);
  input->add_option("--categories", options->categories, "CSV: column=text,text,...: one feature for each text; may be repeated")
      ->allow_extra_args(false);
  input->add_option("--features", options->features, "LIBSVM: the number of features")->check(whole_number(1, max_features));
  input->add_option("--held-out", options->held_out, "The share of records kept for scores, by a public pseudo-random split")
      ->check(number())
      ->default_str("0.2");
  input->add_option("--split-seed", options->split_seed, "The seed of that split")->check(whole_number())->default_str("0");

  const auto problem = command.add_option_group("Problem and algorithm");
  problem->add_option("--loss", options->loss, "logistic or squared")->check(one_of({"logistic", "squared"}))->capture_default_str();
  problem->add_option("--label-bound", options->label_bound, "Squared loss: labels are clamped to [-bound, bound]")->check(number());
  std::vector<std::string> algorithms{std::string{gradient_descent_name}};
  algorithms.insert(algorithms.end(), streaming.begin(), streaming.end());
  algorithms.insert(algorithms.end(), batched.begin(), batched.end());
  algorithms.emplace_back(gossip_name);
  problem->add_option("--algorithm", options->algorithm, fmt::format("{}", fmt::join(algorithms, ", ")))
      ->check(one_of(algorithms))
      ->capture_default_str();
  problem
      ->add_option("--steps", options->steps,
                   "Gradient descent: noisy gradients to take, default 100. Streams: the most records to read. "
                   "noisy-frank-wolfe: batches, default 30")
      ->check(whole_number(1, max_count));
  problem->add_option("--records", options->records, "noisy-sgd, noisy-frank-wolfe, gossip: the public number of records, checked")
      ->check(whole_number(1, max_count));
  problem
      ->add_option("--batch-size", options->batch_size,
                   "one-pass-sgd, noisy-sgd: default a thirtieth of the records. gossip: of a learner in a round, default 1")
      ->check(whole_number(1, max_count));
  problem->add_option("--passes", options->passes, "noisy-sgd, gossip: over the records, default 1")->check(whole_number(1, max_count));
  problem
      ->add_option("--step-size", options->step_size,
                   "Gradient descent: default 1 / (smoothness + regularization). private-ftrl: needed. SGD: default 0.5. gossip: default 1")
      ->check(number());
  problem->add_option("--step-scale", options->step_scale, "Frank-Wolfe: s of the steps s / (t + 1); default 0.5")->check(number());
  problem
      ->add_option("--regularization", options->regularization,
                   "lambda of (lambda / 2) ||w||^2. Gradient descent: default 0.0001. gossip: default 0")
      ->check(number());
  problem
      ->add_option(
          "--clip", options->clip,
          "What one record adds is clipped to this norm; default: for descent and private-ftrl the loss's bound for rows of norm 1, "
          "for other streams 0.5")
      ->check(number());
  problem->add_option("--radius", options->radius, "Keep the weights in a ball of this radius; default: everywhere, streams need one")
      ->check(number());
  problem->add_option("--norm", options->norm, "online-frank-wolfe: p of the ball's norm; default 2")->check(number());
  problem->add_option("--factorization", options->factorization, "Streams: how prefix sums are made private; default buffered")
      ->check(one_of({"tree", "streaming-tree", "toeplitz", "buffered"}));
  problem->add_option("--learner", options->learner, "online-to-batch: default subgradient")
      ->check(one_of({"subgradient", "dual-averaging", "optimistic", "strongly-convex", "coin-betting"}));

  const auto gossip = command.add_option_group("Gossip");
  gossip->add_option("--learners", options->learners, "How many learners share the records: record i belongs to learner i mod learners")
      ->check(whole_number(1, optimizers::Mixing::max_learners));
  gossip
      ->add_option("--topology", options->topology,
                   "Who exchanges parameters with whom: complete, ring, torus, hypercube, matchings (default: random ones), graph")
      ->check(one_of({"complete", "ring", "torus", "hypercube", "matchings", "graph"}));
  gossip->add_option("--graph", options->graph, "A file with an edge a line, two learners from 0: --topology graph, Metropolis weights");
  gossip->add_option("--mixing-seed", options->mixing_seed, "The public seed of random matchings, default 0")->check(whole_number());
  gossip
      ->add_option("--schedule", options->schedule,
                   "Of the step in round t: constant, inverse-root (default): step-size / sqrt(t), inverse: step-size / t")
      ->check(one_of({"constant", "inverse-root", "inverse"}));
  gossip->add_option("--timeout", options->timeout, "Seconds that a rank of an mpirun waits for the others, default 30")->check(number());

  const auto privacy = command.add_option_group("Privacy");
  options->run.add_promise_to(*privacy, true);
  privacy
      ->add_option("--public-count", options->public_count,
                   "The number that divides summed gradients; default: that of records, which add-or-remove-one keeps private")
      ->check(whole_number(1, max_count));
  privacy
      ->add_option("--noise", options->noise,
                   "online-frank-wolfe: calibrated or paper (the printed noise, accounted for); polyhedral-frank-wolfe: gumbel or laplace; "
                   "gossip: laplace, k-norm (default at delta = 0) or gaussian (default elsewhere)")
      ->check(one_of({"calibrated", "paper", "gumbel", "laplace", "k-norm", "gaussian"}));
  options->run.add_ledger_to(*privacy);

  command.add_option("--model", options->model, "Where to write the model")->required();
  command.add_option("--every", options->every, "Streams: print the weights, a line of JSON, after each so many records")
      ->check(whole_number(1, max_count));
  command.add_flag("--json", options->json, "Print one JSON object");
  command.footer(
      "Streams read one record at a time, from a file or from standard input (-), and stop at the end or after --steps records; a line "
      "that is\n"
      "no record counts as a record of zeros. Rows are scaled to unit l2 norm together with a constant 1; a column without bounds enters "
      "as asinh(x).\n"
      "Choosing options by looking at private results spends budget that no ledger sees: the defaults are public.\n"
      "Examples:\n"
      "  surety train examples/data/randhie.csv --label 'mdvis>0' --epsilon 1 --delta 1e-5 --ledger run.db --model model.json\n"
      "  surety train a9a.gz --format libsvm --features 123 --regularization 0.01 --epsilon 1 --delta 1e-5 \\\n"
      "               --ledger run.db --model model.json");
  command.callback([options, &chosen] { chosen = [options] { return train(*options); }; });
}

}  // namespace surety::cli
