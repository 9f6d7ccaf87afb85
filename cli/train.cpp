// surety train: a private model, charged to a ledger before the first noise is drawn.
#include <fmt/format.h>
#include <unistd.h>

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
#include <surety/optimizers/model.h>

#include "command.h"
#include "output.h"
#include "private_run.h"
#include "validators.h"

namespace surety::cli {
namespace {

using namespace optimizers;

struct TrainOptions {
  std::string data;
  std::string format = "csv";
  std::string label;
  std::vector<std::string> drop;
  std::vector<std::string> bounds;
  std::vector<std::string> categories;
  std::optional<std::uint32_t> features;

  std::string loss = "logistic";
  std::optional<double> label_bound;
  std::string algorithm = "gradient-descent";
  std::uint64_t steps = 100;
  std::optional<double> step_size;
  double regularization = 1e-4;
  std::optional<double> clip;
  std::optional<double> radius;

  PrivateRunOptions run;
  std::optional<std::uint64_t> public_count;

  std::string model;
  double held_out = 0.2;
  std::uint64_t split_seed = 0;
  bool json = false;
};

/// The largest Count.
constexpr std::uint64_t max_count = std::uint64_t{1} << 53;
/// The most features that a feature map may have.
constexpr std::uint64_t max_features = std::uint64_t{1} << 24;

/// "name=value,value,..." as a name and its values.
std::pair<std::string, std::vector<std::string>> parse_list(const std::string& text, std::string_view option) {
  const auto equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) throw usage(fmt::format("{} is '{}', must be column=value,value,...", option, text));
  return {text.substr(0, equals), split_at_commas(text.substr(equals + 1))};
}

CsvOptions csv_options(const TrainOptions& options) {
  CsvOptions result{.drop = options.drop};
  for (const auto& text : options.bounds) {
    const auto [column, ends] = parse_list(text, "--bounds");
    if (ends.size() != 2) throw usage(fmt::format("--bounds is '{}', must be column=lower,upper", text));
    if (!result.bounds.emplace(column, Bounds{parse_double(ends[0], "--bounds"), parse_double(ends[1], "--bounds")}).second) {
      throw usage(fmt::format("--bounds names column '{}' twice", column));
    }
  }
  for (const auto& text : options.categories) {
    auto [column, names] = parse_list(text, "--categories");
    if (!result.categories.emplace(column, std::move(names)).second)
      throw usage(fmt::format("--categories names column '{}' twice", column));
  }
  return result;
}

/// How the data are to be read: public, and checked before they are.
struct Source {
  std::optional<LabelRule> label;
  std::variant<CsvOptions, SparseFeatures> inputs;
};

Source source_of(const TrainOptions& options) {
  if (options.format == "csv") {
    if (options.label.empty()) throw usage("--label is missing, a CSV file needs a column or a comparison such as 'visits>0'");
    if (options.features) throw usage("--features is for LIBSVM files, a CSV file has its columns");
    return {parse_label_rule(options.label), csv_options(options)};
  }
  if (!options.label.empty() || !options.drop.empty() || !options.bounds.empty() || !options.categories.empty()) {
    throw usage("--label, --drop, --bounds and --categories are for CSV files, a LIBSVM file has its own labels and no columns");
  }
  if (!options.features) throw usage("--features is missing: the largest index that occurs is private, so say how many features there are");
  return {std::nullopt, SparseFeatures{*options.features}};
}

CsvData read(const TrainOptions& options, const Source& source) {
  if (const auto* csv = std::get_if<CsvOptions>(&source.inputs)) return read_csv(options.data, *source.label, *csv);
  FeatureMap features{.inputs = std::get<SparseFeatures>(source.inputs)};
  auto data = read_libsvm(options.data, features);
  return {std::move(data), std::move(features)};
}

/// \throws Error{bad_data} naming the file, row and label that the objective does not know.
template <class O>
Dataset encode(const O& objective, const Dataset& data, const TrainOptions& options) {
  try {
    return encode_labels(objective, data);
  } catch (const Error& error) {
    throw Error{error.code(), fmt::format("{}: {}", options.data, error.what())};
  }
}

/// Refuses outputs that would overwrite each other or the data.
void require_distinct_files(const TrainOptions& options) {
  if (is_same_file(options.model, options.data)) {
    throw usage(fmt::format("--model is '{}', must be another file than the data", options.model));
  }
  require_not_the_ledger(options.run.ledger, {{"--model", options.model}, {"the data file", options.data}});
}

/// Shows public progress on a terminal, and nothing elsewhere.
std::function<void(std::uint64_t)> progress_bar(std::uint64_t steps) {
  if (isatty(STDERR_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) return {};
  return [steps](std::uint64_t done) {
    const auto percent = [&](std::uint64_t step) { return step * 100 / steps; };
    if (done != steps && percent(done) == percent(done - 1)) return;
    // A terminal that went away is no reason to stop, so nothing here throws.
    std::fputs(fmt::format("\rstep {} of {}", done, steps).c_str(), stderr);
    if (done == steps) std::fputs(fmt::format("\r{:40}\r", "").c_str(), stderr);
    std::fflush(stderr);
  };
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
  line("trained", fmt::format("{} loss by {}, {} steps", options.loss, options.algorithm, options.steps));
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
                                  .steps = Count{options.steps},
                                  .regularization = Regularization{options.regularization},
                                  .progress = progress_bar(options.steps)};
  if (options.step_size) settings.step_size = StepSize{*options.step_size};
  if (options.clip) settings.clip = ClippingNorm{*options.clip};
  if (options.public_count) settings.public_count = Count{*options.public_count};
  if (options.radius) static_cast<void>(Radius{*options.radius});
  if (!(options.held_out >= 0 && options.held_out < 1)) {
    throw usage(fmt::format("--held-out is {}, must be at least 0 and less than 1", options.held_out));
  }
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
                           {.adjacency = target.adjacency, .held_out_fraction = options.held_out, .seed = options.split_seed});
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

int train(const TrainOptions& options) {
  if (options.loss == LogisticLoss::name) {
    if (options.label_bound) throw usage("--label-bound is for squared loss, labels of logistic loss are classes");
    return train_objective(options, LogisticLoss{});
  }
  if (!options.label_bound) throw usage("--label-bound is missing: squared loss needs a public bound on the labels' magnitude");
  if (!options.radius && !options.clip)
    throw usage("--radius or --clip is missing: the gradient of squared loss is bounded only where the weights are");
  // Without a radius every record is clipped to --clip, and the loss's own bound is not used.
  return train_objective(options,
                         SquaredLoss{.label_bound = LabelBound{*options.label_bound}, .weight_radius = Radius{options.radius.value_or(1)}});
}

}  // namespace

void add_train(CLI::App& app, Action& chosen) {
  auto& command = *app.add_subcommand("train", "Train a private model and write what it spent into a ledger");
  const auto options = std::make_shared<TrainOptions>();
  command.add_option("data", options->data, "A CSV file with a header, or a LIBSVM file; plain or gzip")->required();

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
      ->capture_default_str();
  input->add_option("--split-seed", options->split_seed, "The seed of that split")->check(whole_number())->capture_default_str();

  const auto problem = command.add_option_group("Problem and algorithm");
  problem->add_option("--loss", options->loss, "logistic or squared")->check(one_of({"logistic", "squared"}))->capture_default_str();
  problem->add_option("--label-bound", options->label_bound, "Squared loss: labels are clamped to [-bound, bound]")->check(number());
  problem->add_option("--algorithm", options->algorithm, "gradient-descent")->check(one_of({"gradient-descent"}))->capture_default_str();
  problem->add_option("--steps", options->steps, "Noisy gradients to take")->check(whole_number(1, max_count))->capture_default_str();
  problem->add_option("--step-size", options->step_size, "Default: 1 / (smoothness + regularization)")->check(number());
  problem->add_option("--regularization", options->regularization, "lambda of (lambda / 2) ||w||^2")
      ->check(number())
      ->capture_default_str();
  problem
      ->add_option("--clip", options->clip,
                   "Each record's gradient is clipped to this l2 norm; default: the loss's bound for rows of norm 1")
      ->check(number());
  problem->add_option("--radius", options->radius, "Keep the weights in the l2 ball of this radius; default: everywhere")->check(number());

  const auto privacy = command.add_option_group("Privacy");
  options->run.add_promise_to(*privacy, true);
  privacy
      ->add_option("--public-count", options->public_count,
                   "The number that divides summed gradients; default: that of records, which add-or-remove-one keeps private")
      ->check(whole_number(1, max_count));
  options->run.add_ledger_to(*privacy);

  command.add_option("--model", options->model, "Where to write the model")->required();
  command.add_flag("--json", options->json, "Print one JSON object");
  command.footer(
      "Rows are scaled to unit l2 norm together with a constant 1; a column without bounds enters as asinh(x).\n"
      "Choosing options by looking at private results spends budget that no ledger sees: the defaults are public.\n"
      "Examples:\n"
      "  surety train examples/data/randhie.csv --label 'mdvis>0' --epsilon 1 --delta 1e-5 --ledger run.db --model model.json\n"
      "  surety train a9a.gz --format libsvm --features 123 --regularization 0.01 --epsilon 1 --delta 1e-5 \\\n"
      "               --ledger run.db --model model.json");
  command.callback([options, &chosen] { chosen = [options] { return train(*options); }; });
}

}  // namespace surety::cli
