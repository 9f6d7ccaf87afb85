// surety train: a private model, charged to a ledger before the first noise is drawn.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <surety/optimizers/gossip/mixing.h>

#include "command.h"
#include "output.h"
#include "private_run.h"
#include "team.h"
#include "train_options.h"
#include "validators.h"

namespace surety::cli {
namespace {

/// The largest Count.
constexpr std::uint64_t max_count = std::uint64_t{1} << 53;
/// The most features that a feature map may have.
constexpr std::uint64_t max_features = std::uint64_t{1} << 24;

/// The algorithms, and the options that only some of them know.
const std::vector<std::string> on_files{"gradient-descent", "accelerated-gradient-descent", "mirror-descent",        "dp-sgd", "svrg",
                                        "svrg++",           "output-perturbation",          "objective-perturbation"};
const std::vector<std::string> streaming{"online-frank-wolfe", "polyhedral-frank-wolfe", "online-to-batch", "private-ftrl", "one-pass-sgd"};
const std::vector<std::string> batched{"noisy-sgd", "noisy-frank-wolfe"};
constexpr std::string_view gossip_name = "gossip";

/// \throws Error{invalid_argument} when an option is given that the algorithm has no use for.
void require_fitting_options(const TrainOptions& options) {
  using Names = std::vector<std::string_view>;
  struct Known {
    std::string_view option;
    bool given;
    Names algorithms;
  };
  const auto with = [](const std::vector<std::string>& names, const Names& more = {}) {
    Names all{names.begin(), names.end()};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const std::string_view descent = "gradient-descent";
  const std::string_view accelerated = "accelerated-gradient-descent";
  for (const auto& [option, given, algorithms] : std::vector<Known>{
           {"--held-out", options.held_out.has_value(), with(on_files)},
           {"--split-seed", options.split_seed.has_value(), with(on_files)},
           {"--regularization", options.regularization.has_value(), with(on_files, {gossip_name})},
           {"--public-count", options.public_count.has_value(), {descent, accelerated, "mirror-descent", "output-perturbation"}},
           {"--step-size",
            options.step_size.has_value(),
            {descent, accelerated, "dp-sgd", "svrg", "svrg++", "private-ftrl", "one-pass-sgd", "noisy-sgd", gossip_name}},
           {"--step-scale", options.step_scale.has_value(), {"online-frank-wolfe", "polyhedral-frank-wolfe", "noisy-frank-wolfe"}},
           {"--norm", options.norm.has_value(), {"online-frank-wolfe", "noisy-frank-wolfe"}},
           {"--records",
            options.records.has_value(),
            {"dp-sgd", "svrg", "svrg++", "objective-perturbation", "noisy-sgd", "noisy-frank-wolfe", gossip_name}},
           {"--batch-size", options.batch_size.has_value(), {"dp-sgd", "svrg", "svrg++", "one-pass-sgd", "noisy-sgd", gossip_name}},
           {"--epochs", options.epochs.has_value(), {"dp-sgd", "svrg", "svrg++"}},
           {"--inner-steps", options.inner_steps.has_value(), {"svrg", "svrg++"}},
           {"--sampling", options.sampling.has_value(), {"dp-sgd", "svrg", "svrg++"}},
           {"--microbatch", options.microbatch.has_value(), {"dp-sgd"}},
           {"--momentum", options.momentum.has_value(), {"dp-sgd"}},
           {"--noise-multiplier", options.noise_multiplier.has_value(), {"dp-sgd"}},
           {"--iterate", options.iterate.has_value(), {descent, accelerated, "dp-sgd"}},
           {"--threads",
            options.threads.has_value(),
            {descent, accelerated, "mirror-descent", "svrg", "svrg++", "output-perturbation", "objective-perturbation"}},
           {"--l1", options.l1.has_value(), {descent, accelerated, "dp-sgd", "svrg", "svrg++"}},
           {"--geometry", options.geometry.has_value(), {"mirror-descent"}},
           {"--passes", options.passes.has_value(), {"noisy-sgd", gossip_name}},
           {"--learners", options.learners.has_value(), {gossip_name}},
           {"--topology", options.topology.has_value(), {gossip_name}},
           {"--graph", options.graph.has_value(), {gossip_name}},
           {"--mixing-seed", options.mixing_seed.has_value(), {gossip_name}},
           {"--schedule", options.schedule.has_value(), {"dp-sgd", gossip_name}},
           {"--timeout", options.timeout.has_value(), {gossip_name}},
           {"--factorization", options.factorization.has_value(), {"online-frank-wolfe", "online-to-batch", "private-ftrl"}},
           {"--learner", options.learner.has_value(), {"online-to-batch"}},
           {"--noise", options.noise.has_value(), {"svrg", "svrg++", "online-frank-wolfe", "polyhedral-frank-wolfe", gossip_name}},
           {"--form-is-public", options.reading.form_is_public, with(on_files, {"noisy-sgd", "noisy-frank-wolfe", gossip_name})},
           {"--every", options.every.has_value(), {streaming.begin(), streaming.end()}}}) {
    if (given && std::find(algorithms.begin(), algorithms.end(), options.algorithm) == algorithms.end()) {
      throw usage(fmt::format("{} is for {}, not for {}", option, fmt::join(algorithms, ", "), options.algorithm));
    }
  }
}

/// The timeout holds for the start of MPI already, before ranks can talk about what is wrong with it.
std::chrono::milliseconds timeout_or_let_the_first_speak(const TrainOptions& options) {
  try {
    return timeout_of(options);
  } catch (const Error&) {
    let_the_first_speak();
    throw;
  }
}

int train(const TrainOptions& options) {
  if (options.algorithm == gossip_name) {
    const auto timeout = timeout_or_let_the_first_speak(options);
    return as_a_team(timeout, [&](Team& team) {
      require_fitting_options(options);
      return train_by_gossip(options, team);
    });
  }
  require_one_process();
  require_fitting_options(options);
  require_distinct_files(options);
  if (std::find(on_files.begin(), on_files.end(), options.algorithm) != on_files.end()) return train_on_a_file(options);
  return train_beyond_gradient_descent(options);
}

}  // namespace

Command train_command(const Arguments&) {
  Command command{.name = "train", .summary = "Train a private model and write what it spent into a ledger"};
  auto& table = command.options;
  const auto options = std::make_shared<TrainOptions>();
  table.add("data", options->data, "A CSV file with a header, or a LIBSVM file; plain or gzip; - for standard input").required();

  table.group("Data");
  table.add("--format", options->format, "csv or libsvm", one_of({"csv", "libsvm"}));
  table.add("--label", options->label, "CSV: the label's column, or a comparison with a number such as 'visits>0'");
  table.add("--drop", options->drop, "CSV: a column that is no feature; may be repeated");
  table.add("--bounds", options->bounds,
            "CSV: column=lower,upper, known without looking at the data: clamped, scaled to [0, 1]; may be repeated");
  table.add("--categories", options->categories,
            "CSV: column=text,text,...: one feature for each text; may be repeated. Blanks around a text do not count, and one with "
            "a comma stands in quotes");
  table.add("--features", options->features, "LIBSVM: the number of features", whole_number(1, max_features));
  table
      .add("--held-out", options->held_out,
           "The share of records kept for scores, by a public pseudo-random split; under add-or-remove-one equal records stay "
           "together, so scores are then of another mix of classes",
           number())
      .standard("0.2");
  table.add("--split-seed", options->split_seed, "The seed of that split", whole_number()).standard("0");
  options->reading.add_form_to(table);
  options->reading.add_limits_to(table);

  table.group("Problem and algorithm");
  table.add("--loss", options->loss, "logistic, squared, smoothed-hinge or hinge; streams: logistic or squared",
            one_of({"logistic", "squared", "smoothed-hinge", "hinge"}));
  table.add("--label-bound", options->label_bound, "Squared loss: labels are clamped to [-bound, bound]", number());
  std::vector<std::string> algorithms = on_files;
  algorithms.insert(algorithms.end(), streaming.begin(), streaming.end());
  algorithms.insert(algorithms.end(), batched.begin(), batched.end());
  algorithms.emplace_back(gossip_name);
  table.add("--algorithm", options->algorithm, fmt::format("{}", fmt::join(algorithms, ", ")), one_of(algorithms));
  table.add("--steps", options->steps,
            "Gradient descent: noisy gradients to take, default 100; accelerated and mirror descent: 30. dp-sgd: batches, if not "
            "--epochs. Streams: the most records to read. noisy-frank-wolfe: batches, default 30",
            whole_number(1, max_count));
  table.add("--records", options->records,
            "dp-sgd, svrg, svrg++, objective-perturbation, noisy-sgd, noisy-frank-wolfe, gossip: the public number of records in the "
            "file, checked; under add-or-remove-one a public guess of it",
            whole_number(1, max_count));
  table.add("--batch-size", options->batch_size,
            "dp-sgd: default 1/200 of the records trained on. svrg, svrg++: 1/400. one-pass-sgd, noisy-sgd: 1/30. gossip: of a "
            "learner in a round, default 1",
            whole_number(1, max_count));
  table.add("--passes", options->passes, "noisy-sgd, gossip: over the records, default 1", whole_number(1, max_count));
  table.add("--step-size", options->step_size,
            "Gradient descent, dp-sgd: default 1 / (smoothness + regularization). svrg, svrg++: default 1 / (5 smoothness). "
            "private-ftrl: needed. noisy-sgd, one-pass-sgd: default 0.5. gossip: default 1",
            number());
  table.add("--step-scale", options->step_scale, "Frank-Wolfe: s of the steps s / (t + 1); default 0.5", number());
  table.add("--regularization", options->regularization,
            "lambda of (lambda / 2) ||w||^2. On files: default 0.0001; mirror-descent: 0; perturbations: 0.01. gossip: default 0",
            number());
  table.add("--clip", options->clip,
            "What one record adds is clipped to this norm; default: for descent and private-ftrl the loss's bound for rows of norm 1, "
            "for other streams 0.5",
            number());
  table.add("--radius", options->radius, "Keep the weights in a ball of this radius; default: everywhere, streams need one", number());
  table.add("--l1", options->l1, "Descent, dp-sgd, svrg, svrg++: the factor of ||w||_1, met by soft thresholding; default 0", number());
  table.add("--smoothing", options->smoothing, "Smoothed hinge: the half width of its parabola, default 0.5", number());
  table.add("--iterate", options->iterate,
            "Which is the model: last, average, or random (of gradient descent); default last, dp-sgd: the mean of the last half",
            one_of({"last", "average", "random"}));
  table.add("--geometry", options->geometry, "mirror-descent: l2 or l1, the norm of the ball, or simplex; default l2",
            one_of({"l2", "l1", "simplex"}));
  table.add("--norm", options->norm, "online-frank-wolfe: p of the ball's norm; default 2", number());
  table.add("--factorization", options->factorization, "Streams: how prefix sums are made private; default buffered",
            one_of({"tree", "streaming-tree", "toeplitz", "buffered"}));
  table.add("--learner", options->learner, "online-to-batch: default subgradient",
            one_of({"subgradient", "dual-averaging", "optimistic", "strongly-convex", "coin-betting"}));

  table.add("--threads", options->threads,
            "For gradients of all records; the result is the same for every number. Default: as many as there are processors",
            whole_number(1, 1024));

  table.group("Secret batches");
  table.add("--sampling", options->sampling,
            "How batches are drawn: poisson, or fixed (without replacement, under replace-one alone). Default poisson; svrg and "
            "svrg++ under replace-one: fixed",
            one_of({"poisson", "fixed"}));
  table.add("--epochs", options->epochs, "dp-sgd: how often a record is met on average, default 5. svrg: 5; svrg++: 3",
            whole_number(1, max_count));
  table.add("--inner-steps", options->inner_steps, "svrg, svrg++: batches of an epoch, default 100; svrg++: twice as many in each",
            whole_number(1, max_count));
  table.add("--noise-multiplier", options->noise_multiplier,
            "dp-sgd: the noise over --clip, in place of the least that keeps the promise; refused when it does not keep it", number());
  table.add("--microbatch", options->microbatch,
            "dp-sgd under replace-one: the mean gradient of so many successive records is clipped; default 1", whole_number(1, max_count));
  table.add("--momentum", options->momentum, "dp-sgd: the share of the last direction, default 0", number());

  table.group("Gossip");
  table.add("--learners", options->learners, "How many learners share the records: record i belongs to learner i mod learners",
            whole_number(1, optimizers::Mixing::max_learners));
  table.add("--topology", options->topology,
            "Who exchanges parameters with whom: complete, ring, torus, hypercube, matchings (default: random ones), graph",
            one_of({"complete", "ring", "torus", "hypercube", "matchings", "graph"}));
  table.add("--graph", options->graph, "A file with an edge a line, two learners from 0: --topology graph, Metropolis weights");
  table.add("--mixing-seed", options->mixing_seed, "The public seed of random matchings, default 0", whole_number());
  table.add("--schedule", options->schedule,
            "Of the step in round t: constant, inverse-root (default): step-size / sqrt(t), inverse: step-size / t. dp-sgd: the last "
            "is its default, step-size / (1 + step-size regularization t)",
            one_of({"constant", "inverse-root", "inverse"}));
  table.add("--timeout", options->timeout, "Seconds that a rank of an mpirun waits for the others, default 30", number());

  table.group("Privacy");
  options->run.add_promise_to(table, true);
  table.add("--public-count", options->public_count,
            "The number that divides summed gradients; default: that of records, which add-or-remove-one keeps private",
            whole_number(1, max_count));
  table.add("--noise", options->noise,
            "svrg, svrg++: calibrated (their printed noise is refused); online-frank-wolfe: calibrated or paper (the printed noise, "
            "accounted for); polyhedral-frank-wolfe: gumbel or laplace; "
            "gossip: laplace, k-norm (default at delta = 0) or gaussian (default elsewhere)",
            one_of({"calibrated", "paper", "gumbel", "laplace", "k-norm", "gaussian"}));
  options->run.add_ledger_to(table);

  table.group("Output");
  table.add("--model", options->model, "Where to write the model").required();
  table.add("--every", options->every, "Streams: print the weights, a line of JSON, after each so many records",
            whole_number(1, max_count));
  table.add("--json", options->json, "Print one JSON object; with --every JSON Lines, of which it is the last");
  command.footer =
      "Every line end ends a record, in CSV those outside quotes. One with a missing or damaged cell in a column that is used, or with a\n"
      "label that the loss does not know, counts as a record of zeros, in files and in streams. Streams read one record at a time, from a\n"
      "file or from standard input (-), and stop at the end or after --steps records. Rows are scaled to unit l2 norm together with a\n"
      "constant 1; a column without bounds enters as asinh(x).\n"
      "Choosing options by looking at private results spends budget that no ledger sees: the defaults are public.\n"
      "Examples:\n"
      "  surety train examples/data/randhie.csv --label 'mdvis>0' --epsilon 1 --delta 1e-5 --ledger run.db --model model.json\n"
      "  surety train a9a.gz --format libsvm --features 123 --regularization 0.01 --epsilon 1 --delta 1e-5 \\\n"
      "               --ledger run.db --model model.json\n"
      "  surety train examples/data/randhie.csv --label 'mdvis>0' --algorithm dp-sgd --records 20190 --batch-size 200 --epochs 5 \\\n"
      "               --clip 0.5 --epsilon 1 --delta 1e-5 --ledger run.db --model model.json";
  command.run = [options](const OptionTable&) { return train(*options); };
  return command;
}

}  // namespace surety::cli
