// surety train on all records of a file: empirical risk minimization. A public part of the records is held out for scores, the noise is
// calibrated to the promise, and all of it is charged before the first noise is drawn.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <surety/accounting/events/format.h>
#include <surety/accounting/accountants/best.h>
#include <surety/accounting/calibration/best_cost.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/accounting/accountants/closed_form.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/accounting/accountants/privacy_loss/privacy_loss.h>
#include <surety/optimizers/empirical_risk/accelerated_gradient_descent.h>
#include <surety/optimizers/empirical_risk/gradient_descent.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/optimizers/models/metrics.h>
#include <surety/optimizers/empirical_risk/mirror_descent.h>
#include <surety/optimizers/models/model.h>
#include <surety/optimizers/empirical_risk/objective_perturbation.h>
#include <surety/optimizers/empirical_risk/output_perturbation.h>
#include <surety/optimizers/problem/regularizer.h>
#include <surety/optimizers/empirical_risk/sampled_sgd.h>
#include <surety/optimizers/empirical_risk/svrg.h>
#include <surety/optimizers/empirical_risk/svrg_calibration.h>

#include "command.h"
#include "files.h"
#include "output.h"
#include "private_run.h"
#include "train_options.h"

namespace surety::cli {
namespace {

using namespace optimizers;
using mechanisms::FixedSizeBatches;
using mechanisms::PoissonBatches;

// ---- A run ------------------------------------------------------------------------------------------------------------------------------

/// What will be released, and what an accountant says of it.
struct Noise {
  Event event;
  Enclosure epsilon;  ///< at the target's delta
  double multiplier;
  std::optional<double> sigma = {};  ///< on each coordinate of a summed gradient
};

/// What is known of a run before its data are.
struct Setting {
  std::string extent;                              ///< for people: "100 steps"
  std::optional<std::uint64_t> records = {};       ///< that the file must have
  std::optional<std::uint64_t> public_count = {};  ///< that takes the place of a private number of records
};

nlohmann::json number_or_null(double value) { return std::isnan(value) ? nlohmann::json{} : nlohmann::json(value); }

/// Every row but those of damaged records has the constant in it.
Dataset without_records_of_zeros(const Dataset& data) {
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data.row(i).norm > 0) kept.push_back(i);
  }
  return data.subset(kept);
}

/// Scores on the held-out part but its damaged records: {"log_loss": {"model": ..., "constant": ...}, ...}; empty when nothing is held out.
nlohmann::json held_out_scores(const Model& model, const Dataset& all_held_out) {
  const Dataset held_out = without_records_of_zeros(all_held_out);
  if (held_out.empty()) return nlohmann::json::object();
  const auto values = scores(model, held_out);
  if (model.loss == SquaredLoss::name) {
    return {{"mean_squared_error",
             {{"model", mean_squared_error(values, held_out.labels())}, {"constant", constant_mean_squared_error(held_out.labels())}}}};
  }
  const auto found = binary_scores(values, held_out.labels());
  const auto constant = constant_scores(held_out.labels());
  nlohmann::json json{
      {"area_under_the_curve",
       {{"model", number_or_null(found.area_under_the_curve)}, {"constant", number_or_null(constant.area_under_the_curve)}}},
      {"accuracy", {{"model", found.accuracy}, {"constant", constant.accuracy}}}};
  // Only scores of the logistic loss are log-odds.
  if (model.loss == LogisticLoss::name) json["log_loss"] = {{"model", found.log_loss}, {"constant", constant.log_loss}};
  return json;
}

struct Report {
  std::string extent;
  accounting::RunId run;
  bool is_count_public;  ///< of records, and so of those in each part
  std::size_t training_records;
  std::size_t held_out_records;
  std::uint64_t damaged;  ///< private
  nlohmann::json scores;
  Released released;
};

void print_report(const TrainOptions& options, const Noise& noise, const Report& report) {
  const auto line = [](std::string_view field, const std::string& value) { fmt::print("{:<12} {}\n", field, value); };
  line("trained", fmt::format("{} loss by {}, {}", options.loss, options.algorithm, report.extent));
  line("adjacency", options.run.adjacency);
  line("unit", describe(options.run.unit));
  line("promise", fmt::format("epsilon = {} at delta = {}", options.run.epsilon, options.run.delta));
  if (report.released.event != report.released.planned) line("planned", report.released.planned);
  line("released", report.released.event);
  line("epsilon", fmt::format("in {} at delta = {}", text(report.released.epsilon), options.run.delta));
  if (noise.sigma) line("sigma", fmt::format("{:.6g} on each coordinate of the summed gradient", *noise.sigma));
  line("ledger", options.run.ledger_and(report.run));
  line("model", shown(options.model));
  if (report.damaged > 0) line("damaged", describe_damage(report.damaged));
  if (options.run.replay_seed) line("NOT PRIVATE", "the noise was replayed from a known seed");
  // Whether a private number of records left any for scores is as private as the scores.
  if (options.held_out == 0 || (report.is_count_public && report.held_out_records == 0)) {
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

void print_json(const TrainOptions& options, const Noise& noise, const Report& report) {
  nlohmann::json object{{"algorithm", options.algorithm},
                        {"loss", options.loss},
                        {"adjacency", options.run.adjacency},
                        {"promise", {{"epsilon", options.run.epsilon}, {"delta", options.run.delta}}},
                        {"planned", report.released.planned},
                        {"event", report.released.event},
                        {"epsilon", json(report.released.epsilon)},
                        {"delta", options.run.delta},
                        {"noise_multiplier", noise.multiplier},
                        {"sigma", noise.sigma ? nlohmann::json(*noise.sigma) : nlohmann::json{}},
                        {"model", options.model},
                        {"not_private", options.run.replay_seed.has_value()},
                        {"damaged_records_not_private", report.damaged},
                        {"held_out_scores_not_private", report.scores}};
  const std::string label = report.is_count_public ? "" : "_not_private";
  object["training_records" + label] = report.training_records;
  object["held_out_records" + label] = report.held_out_records;
  object.update(options.run.charge_json(report.run));
  print(object);
}

SplitOptions split_options(const TrainOptions& options, Adjacency adjacency) {
  const double held_out = options.held_out.value_or(0.2);
  if (!(held_out >= 0 && held_out < 1)) throw usage(fmt::format("--held-out is {}, must be at least 0 and less than 1", held_out));
  return {.adjacency = adjacency, .held_out_fraction = held_out, .seed = options.split_seed.value_or(0)};
}

/// Parameters, budget and entropy fail here, before private data are read: `calibrated() -> Noise`. What can only be refused when the
/// numbers of features and of records are known is refused before the charge: `check(data, noise)`, of what is public in the data.
/// `run(data, noise, reservation, bits)` returns the weights.
template <class O, class Calibrated, class Run>
int train(const TrainOptions& options, const O& objective, const Setting& setting, Calibrated calibrated, Run run,
          const std::function<void(const Dataset&, const Noise&)>& check = {}) {
  const Target target = options.run.target();
  const SplitOptions how = split_options(options, target.adjacency);
  if (target.adjacency == Adjacency::add_or_remove_one && !setting.public_count) {
    throw usage(
        "--public-count is missing: under add-or-remove-one the number of records is private, and a public one must divide the sum");
  }
  const auto source = source_of(options);
  const Noise noise = calibrated();
  const auto planned = options.run.plan(noise.event, fmt::format("{}, {} loss", options.algorithm, options.loss));
  options.run.check(planned);
  RunBits bits{options.run.replay_seed};

  const auto [data, features, damaged] = read(options, source, objective);
  const bool is_count_public = target.adjacency != Adjacency::add_or_remove_one;
  // Under add-or-remove-one the number of records is private, and what was said of it is a guess.
  if (setting.records && is_count_public && data.size() != *setting.records) {
    throw Error{ErrorCode::bad_data,
                fmt::format("{}: has {} records, must have the {} of --records", one_line(options.data), data.size(), *setting.records)};
  }
  const auto parts = split(data, how);
  if (parts.training.empty() && is_count_public) {
    throw Error{ErrorCode::bad_data, fmt::format("{}: no record is left to train on, must have at least one", one_line(options.data))};
  }
  if (check) check(parts.training, noise);
  ModelFile model_file{options.model, features, source.label};
  auto reservation = options.run.reserve(planned);

  auto weights = bits.with([&](auto& source_of_bits) { return run(parts.training, noise, reservation, source_of_bits); });

  const Model model{.loss = std::string{O::name},
                    .label = source.label,
                    .features = features,
                    .weights = std::move(weights),
                    .guarantee = {.target = target, .event = noise.event, .not_private = options.run.replay_seed.has_value()}};
  model_file.commit(model);

  const Report report{.extent = setting.extent,
                      .run = reservation.id(),
                      .is_count_public = is_count_public,
                      .training_records = parts.training.size(),
                      .held_out_records = parts.held_out.size(),
                      .damaged = damaged,
                      .scores = held_out_scores(model, parts.held_out),
                      .released = released_by(reservation, noise.event, noise.epsilon, target.delta)};
  return report_and_settle(reservation, options.run.ledger,
                           [&] { options.json ? print_json(options, noise, report) : print_report(options, noise, report); });
}

// ---- What algorithms share --------------------------------------------------------------------------------------------------------------

/// h of loss + h: l1 and l2 parts, or the l2 part on a ball.
class Penalty {
 public:
  explicit Penalty(const TrainOptions& options, double l2) : net_{.l1 = Regularization{options.l1.value_or(0)}, .l2 = Regularization{l2}} {
    if (!options.radius) return;
    if (options.l1) throw usage("--l1 is for weights without a --radius: there is no proximal map of both");
    on_ball_.emplace(L2RegularizerOn{net_.l2, L2Ball{Radius{*options.radius}}});
  }
  [[nodiscard]] double value(std::span<const double> weights) const { return on_ball_ ? on_ball_->value(weights) : net_.value(weights); }
  void proximal(double step, std::span<double> target) const { on_ball_ ? on_ball_->proximal(step, target) : net_.proximal(step, target); }
  [[nodiscard]] double strong_convexity() const { return net_.strong_convexity(); }

 private:
  ElasticNet net_;
  std::optional<L2RegularizerOn<L2Ball>> on_ball_;
};
static_assert(Regularizer<Penalty>);

/// For gradients of all records. Results do not depend on them.
std::size_t threads_of(const TrainOptions& options) { return options.threads.value_or(std::max(1U, std::thread::hardware_concurrency())); }

/// The clip of one record, or what the loss says for rows of norm 1.
template <class O>
ClippingNorm clip_of(const TrainOptions& options, const O& objective) {
  return options.clip ? ClippingNorm{*options.clip} : ClippingNorm{objective.gradient_bound(1)};
}

double summed_sigma(NoiseMultiplier multiplier, ClippingNorm clip, Adjacency adjacency) {
  return multiplier.value() * mechanisms::sensitivity_of_clipped_sum(clip, adjacency).value();
}

/// Full gradients: the least noise at which `plan` keeps the promise.
template <class Options>
Noise calibrated(const Options& settings, const Target& target, ClippingNorm clip) {
  const auto found = calibrate(
      [&](NoiseMultiplier z) {
        auto candidate = settings;
        candidate.noise_multiplier = z;
        return plan(candidate);
      },
      target);
  return {.event = found.event,
          .epsilon = found.epsilon,
          .multiplier = found.value.value(),
          .sigma = summed_sigma(found.value, clip, target.adjacency)};
}

template <class Options>
Options with_noise(Options settings, const Noise& noise) {
  settings.noise_multiplier = NoiseMultiplier{noise.multiplier};
  return settings;
}

std::optional<Count> public_count_of(const TrainOptions& options) {
  return options.public_count ? std::optional{Count{*options.public_count}} : std::nullopt;
}

/// The number of records that are trained on, as public as --records is: exact where records are replaced, a guess where they are added.
Count training_count(const TrainOptions& options, Adjacency adjacency) {
  if (!options.records)
    throw usage(fmt::format("--records is missing: {} needs the public number of records in the file", options.algorithm));
  const SplitOptions how = split_options(options, adjacency);
  const Count records{*options.records};
  if (adjacency == Adjacency::add_or_remove_one) {
    return Count{std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(std::round((1 - how.held_out_fraction) * static_cast<double>(records.value()))))};
  }
  const std::size_t count = training_records(static_cast<std::size_t>(records.value()), how);
  if (count == 0) throw usage(fmt::format("--records is {}, must leave at least one to train on", records.value()));
  return Count{count};
}

/// Batches of `size` of `units`, as --sampling says.
AnySampler sampler_of(const TrainOptions& options, const std::string& default_sampling, Count units, std::uint64_t size) {
  if (options.sampling.value_or(default_sampling) == "fixed") {
    if (options.run.target().adjacency != Adjacency::replace_one) {
      throw usage(fmt::format("--sampling is fixed, must be poisson under {}", options.run.adjacency));
    }
    return FixedSizeBatches{Batches{units, Count{size}}};
  }
  return PoissonBatches{SamplingRate{static_cast<double>(size) / static_cast<double>(units.value())}};
}

std::uint64_t batch_size_of(const TrainOptions& options, Count training, std::uint64_t share) {
  const std::uint64_t size = options.batch_size.value_or(std::max<std::uint64_t>(1, training.value() / share));
  if (size > training.value()) {
    throw usage(fmt::format("--batch-size is {}, must be at most the {} records that are trained on", size, training.value()));
  }
  return size;
}

/// Runs `run(releaser)` on a releaser of the sampler.
template <class Bits, class Run>
std::vector<double> with_sampler(const AnySampler& sampler, accounting::Reservation& reservation, Bits& bits, Run run) {
  return std::visit(
      [&](const auto& its) {
        NoisySamplingReleaser releaser{reservation, bits, its};
        return run(releaser);
      },
      sampler);
}

void refuse_steps(const TrainOptions& options, std::string_view instead) {
  if (options.steps) throw usage(fmt::format("--steps is not for {}, {}", options.algorithm, instead));
}

/// lambda of a perturbation, which is over all weights.
Regularization perturbed_regularization(const TrainOptions& options) {
  if (options.radius) throw usage(fmt::format("--radius is not for {}, whose minimum is over all weights", options.algorithm));
  const Regularization lambda{options.regularization.value_or(0.01)};
  if (!(lambda.value() > 0)) throw usage(fmt::format("--regularization is 0, must be greater than 0 for {}", options.algorithm));
  return lambda;
}

// ---- Full gradients ---------------------------------------------------------------------------------------------------------------------

ReturnedIterate iterate_of(const TrainOptions& options) {
  if (options.iterate == "average") return AverageIterate{};
  return LastIterate{};
}

template <class O>
int by_gradient_descent(const TrainOptions& options, const O& objective, const Target& target) {
  const std::uint64_t steps = options.steps.value_or(100);
  const ClippingNorm clip = clip_of(options, objective);
  GradientDescentOptions settings{.noise_multiplier = NoiseMultiplier{1},
                                  .adjacency = target.adjacency,
                                  .steps = Count{steps},
                                  .regularization = Regularization{options.regularization.value_or(1e-4)},
                                  .clip = clip,
                                  .public_count = public_count_of(options),
                                  .returned = iterate_of(options),
                                  .threads = threads_of(options),
                                  .progress = progress_bar(steps)};
  if (options.step_size) settings.step_size = StepSize{*options.step_size};
  if (!settings.step_size) static_cast<void>(require_smoothness(objective, 1, "the default --step-size"));
  const Penalty penalty{options, 0};  // the l2 part is in the gradient
  return train(
      options, objective, {.extent = fmt::format("{} steps", steps), .public_count = options.public_count},
      [&] { return calibrated(settings, target, clip); },
      [&](const Dataset& data, const Noise& noise, accounting::Reservation& reservation, auto& bits) {
        NoisyReleaser releaser{reservation, bits};
        auto noisy = with_noise(settings, noise);
        if (options.iterate == "random") noisy.returned = random_iterate(noisy.steps, bits);
        return gradient_descent(data, objective, penalty, noisy, releaser).weights;
      });
}

template <class O>
int by_accelerated_gradient_descent(const TrainOptions& options, const O& objective, const Target& target) {
  const std::uint64_t steps = options.steps.value_or(30);
  const ClippingNorm clip = clip_of(options, objective);
  if (options.iterate == "random") throw usage("--iterate is random, must be last or average for accelerated-gradient-descent");
  AcceleratedGradientDescentOptions settings{.noise_multiplier = NoiseMultiplier{1},
                                             .adjacency = target.adjacency,
                                             .steps = Count{steps},
                                             .regularization = Regularization{options.regularization.value_or(1e-4)},
                                             .clip = clip,
                                             .public_count = public_count_of(options),
                                             .returned = iterate_of(options),
                                             .threads = threads_of(options),
                                             .progress = progress_bar(steps)};
  if (options.step_size) settings.step_size = StepSize{*options.step_size};
  if (!settings.step_size) static_cast<void>(require_smoothness(objective, 1, "the default --step-size"));
  const Penalty penalty{options, 0};
  return train(
      options, objective, {.extent = fmt::format("{} steps", steps), .public_count = options.public_count},
      [&] { return calibrated(settings, target, clip); },
      [&](const Dataset& data, const Noise& noise, accounting::Reservation& reservation, auto& bits) {
        NoisyReleaser releaser{reservation, bits};
        return accelerated_gradient_descent(data, objective, penalty, with_noise(settings, noise), releaser).weights;
      });
}

template <class O>
int by_mirror_descent(const TrainOptions& options, const O& objective, const Target& target) {
  if (!options.radius) throw usage("--radius is missing: mirror-descent keeps its weights in a ball or a simplex of this size");
  const Radius radius{*options.radius};
  const std::uint64_t steps = options.steps.value_or(30);
  const ClippingNorm clip = clip_of(options, objective);
  const MirrorDescentOptions settings{.noise_multiplier = NoiseMultiplier{1},
                                      .adjacency = target.adjacency,
                                      .steps = Count{steps},
                                      .regularization = Regularization{options.regularization.value_or(0)},
                                      .clip = clip,
                                      .public_count = public_count_of(options),
                                      .threads = threads_of(options),
                                      .progress = progress_bar(steps)};
  static_cast<void>(require_smoothness(objective, 1, "mirror-descent"));
  return train(
      options, objective, {.extent = fmt::format("{} steps", steps), .public_count = options.public_count},
      [&] { return calibrated(settings, target, clip); },
      [&](const Dataset& data, const Noise& noise, accounting::Reservation& reservation, auto& bits) {
        NoisyReleaser releaser{reservation, bits};
        const auto descend = [&](const auto& geometry) {
          return mirror_descent(data, objective, geometry, with_noise(settings, noise), releaser).weights;
        };
        const std::string geometry = options.geometry.value_or("l2");
        if (geometry == "l1") return descend(L1Geometry{radius});
        if (geometry == "simplex") return descend(SimplexGeometry{Simplex{.scale = Quantity<ScaleRule>{radius.value()}}});
        return descend(EuclideanGeometry{L2Ball{radius}});
      });
}

// ---- Secret batches ---------------------------------------------------------------------------------------------------------------------

/// How narrow batches are accounted for. The laws of those of fixed size fill a grid soon.
accounting::Effort effort_for(const SampledSgdOptions& settings, const Target& target) {
  if (std::holds_alternative<FixedSizeBatches>(settings.sampler)) return {.width = 0x1p-8 * std::min(1.0, target.epsilon.value())};
  return {};
}

Noise sampled_noise(const SampledSgdOptions& settings, const Target& target, ClippingNorm clip, const std::optional<double>& given) {
  const auto at = [&](NoiseMultiplier z) {
    auto candidate = settings;
    candidate.noise_multiplier = z;
    return plan(candidate);
  };
  if (given) {
    const Event event = at(NoiseMultiplier{*given});
    const Enclosure epsilon = accounting::quick_epsilon(event, target.delta);
    if (!(epsilon.upper <= target.epsilon.value())) {
      throw usage(fmt::format("--noise-multiplier is {}, which costs epsilon in {} at delta = {}, must cost at most the --epsilon {}",
                              *given, text(epsilon), target.delta.value(), target.epsilon.value()));
    }
    return {.event = event, .epsilon = epsilon, .multiplier = *given, .sigma = *given * clip.value()};
  }
  const auto found = calibrate(at, target, accounting::best_cost(target, effort_for(settings, target)));
  return {.event = found.event, .epsilon = found.epsilon, .multiplier = found.value.value(), .sigma = found.value.value() * clip.value()};
}

StepSchedule schedule_of(const TrainOptions& options) {
  if (options.schedule == "constant") return StepSchedule::constant;
  if (options.schedule == "inverse-root") return StepSchedule::inverse_square_root;
  return StepSchedule::inverse;
}

template <class O>
int by_dp_sgd(const TrainOptions& options, const O& objective, const Target& target) {
  const Count training = training_count(options, target.adjacency);
  const Count microbatch{options.microbatch.value_or(1)};
  const std::uint64_t size = batch_size_of(options, training, 200 / std::min<std::uint64_t>(microbatch.value(), 200));
  if (size % microbatch.value() != 0) {
    throw usage(fmt::format("--batch-size is {}, must be a multiple of the {} of --microbatch", size, microbatch.value()));
  }
  if (options.steps && options.epochs) throw usage("--steps and --epochs say the same: give one of them");
  if (options.iterate == "random") throw usage("--iterate is random, must be last or average for dp-sgd");
  const Count units{(training.value() - 1) / microbatch.value() + 1};
  const double batches =
      static_cast<double>(options.epochs.value_or(5)) * static_cast<double>(training.value()) / static_cast<double>(size);
  if (!(batches < 0x1p53)) throw usage(fmt::format("--epochs is {}, must make fewer than 2^53 batches", *options.epochs));
  const std::uint64_t steps = options.steps.value_or(std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::round(batches))));
  const ClippingNorm clip = clip_of(options, objective);
  SampledSgdOptions settings{.noise_multiplier = NoiseMultiplier{1},
                             .sampler = sampler_of(options, "poisson", units, size / microbatch.value()),
                             .steps = Count{steps},
                             .adjacency = target.adjacency,
                             .microbatch = microbatch,
                             .schedule = schedule_of(options),
                             .momentum = MomentumFactor{options.momentum.value_or(0)},
                             .clip = clip,
                             .public_count = training,
                             .progress = progress_bar(steps)};
  if (options.step_size) settings.step_size = StepSize{*options.step_size};
  if (!settings.step_size) static_cast<void>(require_smoothness(objective, 1, "the default --step-size"));
  if (options.iterate) settings.returned = iterate_of(options);
  static_cast<void>(batch_release(settings));  // refuses microbatches under other adjacencies
  const Penalty penalty{options, options.regularization.value_or(1e-4)};
  return train(
      options, objective,
      {.extent = fmt::format("{} steps of {} {} records", steps, options.sampling == "fixed" ? "exactly" : "about", size),
       .records = options.records,
       .public_count = options.records},
      [&] { return sampled_noise(settings, target, clip, options.noise_multiplier); },
      [&](const Dataset& data, const Noise& noise, accounting::Reservation& reservation, auto& bits) {
        return with_sampler(settings.sampler, reservation, bits,
                            [&](auto& releaser) { return sampled_sgd(data, objective, penalty, with_noise(settings, noise), releaser); });
      });
}

template <class O>
int by_svrg(const TrainOptions& options, const O& objective, const Target& target) {
  refuse_steps(options, "which takes --inner-steps in each of its --epochs");
  const Count training = training_count(options, target.adjacency);
  const std::uint64_t size = batch_size_of(options, training, 400);
  const bool is_plus_plus = options.algorithm == "svrg++";
  const ClippingNorm clip = clip_of(options, objective);
  SvrgOptions settings{.anchor_multiplier = NoiseMultiplier{1},
                       .noise_multiplier = NoiseMultiplier{1},
                       .sampler = sampler_of(options, target.adjacency == Adjacency::replace_one ? "fixed" : "poisson", training, size),
                       .adjacency = target.adjacency,
                       .variant = is_plus_plus ? SvrgVariant::svrg_plus_plus : SvrgVariant::svrg,
                       .epochs = Count{options.epochs.value_or(is_plus_plus ? 3 : 5)},
                       .inner_steps = Count{options.inner_steps.value_or(100)},
                       .clip = clip,
                       .public_count = training,
                       .threads = threads_of(options),
                       .progress = progress_bar(options.epochs.value_or(is_plus_plus ? 3 : 5))};
  if (options.step_size) settings.step_size = StepSize{*options.step_size};
  static_cast<void>(require_smoothness(objective, 1, options.algorithm));
  const std::uint64_t inner = all_inner_steps(settings).value();
  const std::string kind = options.noise.value_or("calibrated");
  if (kind == "paper") refuse_printed_svrg_noise(training, Count{inner});
  if (kind != "calibrated") throw usage(fmt::format("--noise is '{}', must be calibrated for {}", kind, options.algorithm));
  const Penalty penalty{options, options.regularization.value_or(1e-4)};
  return train(
      options, objective,
      {.extent = fmt::format("{} epochs, {} steps of {} records in all", settings.epochs.value(), inner, size),
       .records = options.records,
       .public_count = options.records},
      [&]() -> Noise {
        const SvrgNoise found = calibrate_svrg(settings, target);
        settings.anchor_multiplier = found.anchor_multiplier;
        // delta(epsilon) <= delta is proved, so epsilon(delta) <= epsilon is, whatever another accountant can show.
        const Enclosure epsilon = accounting::quick_epsilon(found.event, target.delta);
        return {.event = found.event,
                .epsilon = {std::min(epsilon.lower, target.epsilon.value()), std::min(epsilon.upper, target.epsilon.value())},
                .multiplier = found.noise_multiplier.value(),
                .sigma = summed_sigma(found.anchor_multiplier, clip, target.adjacency)};
      },
      [&](const Dataset& data, const Noise& noise, accounting::Reservation& reservation, auto& bits) {
        return with_sampler(settings.sampler, reservation, bits,
                            [&](auto& releaser) { return svrg(data, objective, penalty, with_noise(settings, noise), releaser); });
      });
}

// ---- Perturbation -----------------------------------------------------------------------------------------------------------------------

template <class O>
int by_output_perturbation(const TrainOptions& options, const O& objective, const Target& target) {
  refuse_steps(options, "which finds its minimum to the last digit that matters");
  const OutputPerturbationOptions settings{.noise = NoiseMultiplier{1},
                                           .regularization = perturbed_regularization(options),
                                           .adjacency = target.adjacency,
                                           .clip = clip_of(options, objective),
                                           .public_count = public_count_of(options),
                                           .threads = threads_of(options)};
  return train(
      options, objective, {.extent = "one release", .public_count = options.public_count},
      [&]() -> Noise {
        const auto found = calibrate([&](NoiseMultiplier z) { return gaussian(z, target.adjacency); }, target);
        return {.event = found.event, .epsilon = found.epsilon, .multiplier = found.value.value()};
      },
      [&](const Dataset& data, const Noise& noise, accounting::Reservation& reservation, auto& bits) {
        NoisyVectorReleaser releaser{reservation, bits};
        auto noisy = settings;
        noisy.noise = NoiseMultiplier{noise.multiplier};
        return output_perturbation(data, objective, noisy, releaser);
      },
      [&](const Dataset& data, const Noise&) {
        // A private number of records may be 0, which is no Count.
        const Count count = settings.public_count ? *settings.public_count : Count{data.size()};
        static_cast<void>(minimizer_sensitivity(objective, settings, count, data.features()));
      });
}

template <class O>
int by_objective_perturbation(const TrainOptions& options, const O& objective, const Target& target) {
  refuse_steps(options, "which finds its minimum to the last digit that matters");
  if (target.adjacency == Adjacency::add_or_remove_one) {
    throw usage("--adjacency is add-or-remove-one, must be replace-one or zero-out for objective-perturbation");
  }
  // What is released is known so closely beforehand that much noise on it is little: nearly all of the budget is for the minimum.
  ObjectivePerturbationOptions settings{.records = training_count(options, target.adjacency),
                                        .noise_multiplier = NoiseMultiplier{1},
                                        .epsilon = target.epsilon,
                                        .regularization = perturbed_regularization(options),
                                        .adjacency = target.adjacency,
                                        .clip = clip_of(options, objective),
                                        .output_multiplier = NoiseMultiplier{1000},
                                        .threads = threads_of(options)};
  return train(
      options, objective, {.extent = "one release", .records = options.records, .public_count = options.records},
      [&]() -> Noise {
        const Delta of_output{target.delta.value() / 16};
        const double epsilon =
            target.epsilon.value() -
            accounting::epsilon(accounting::ClosedForm{}, gaussian(settings.output_multiplier, target.adjacency), of_output).upper;
        if (!(epsilon > 0)) {
          throw usage(fmt::format("--epsilon is {}, must be more than what the noise on the minimum costs", target.epsilon.value()));
        }
        settings.epsilon = Epsilon{epsilon};
        settings.noise_multiplier =
            objective_perturbation_multiplier(settings, perturbed_loss(objective), Delta{target.delta.value() - of_output.value()});
        const Event event = plan(settings, objective);
        const Enclosure cost = accounting::quick_epsilon(event, target.delta);
        if (!(cost.upper <= target.epsilon.value())) {
          throw Error{ErrorCode::internal, fmt::format("the plan '{}' costs epsilon in {}, must cost at most {}", describe(event),
                                                       text(cost), target.epsilon.value())};
        }
        return {.event = event, .epsilon = cost, .multiplier = settings.noise_multiplier.value()};
      },
      [&](const Dataset& data, const Noise&, accounting::Reservation& reservation, auto& bits) {
        NoisyPerturbingReleaser releaser{reservation, bits};
        return objective_perturbation(data, objective, settings, releaser);
      },
      [&](const Dataset& data, const Noise&) { static_cast<void>(perturbed_minimum_distance(objective, settings, data.features())); });
}

template <class O>
int by_perturbation(const TrainOptions& options, const O& objective, const Target& target) {
  if constexpr (ConvexObjective<O>) {
    if (options.algorithm == "output-perturbation") return by_output_perturbation(options, objective, target);
    return by_objective_perturbation(options, objective, target);
  } else {
    throw usage(fmt::format("--loss is {}, must be smooth for {}", options.loss, options.algorithm));
  }
}

}  // namespace

int train_on_a_file(const TrainOptions& options) {
  return with_any_objective(options, [&](const auto& objective) {
    const Target target = options.run.target();
    if (options.algorithm == "gradient-descent") return by_gradient_descent(options, objective, target);
    if (options.algorithm == "accelerated-gradient-descent") return by_accelerated_gradient_descent(options, objective, target);
    if (options.algorithm == "mirror-descent") return by_mirror_descent(options, objective, target);
    if (options.algorithm == "dp-sgd") return by_dp_sgd(options, objective, target);
    if (options.algorithm == "svrg" || options.algorithm == "svrg++") return by_svrg(options, objective, target);
    return by_perturbation(options, objective, target);
  });
}

}  // namespace surety::cli
