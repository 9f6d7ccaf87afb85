// surety train by everything but gradient descent. On a stream, records are read one at a time, all is charged for before the first is
// read, and the weights may be shown as they change; the baselines that make batches of a whole file read it first.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/accountants/best.h>
#include <surety/accounting/accountants/zcdp.h>
#include <surety/accounting/calibration/best_cost.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/mechanisms/prefix_sums/gaussian_continual_sum.h>
#include <surety/optimizers/doors/batch_releaser.h>
#include <surety/optimizers/doors/selector.h>
#include <surety/optimizers/doors/stream.h>
#include <surety/optimizers/models/model.h>
#include <surety/optimizers/printed/printed_frank_wolfe_noise.h>
#include <surety/optimizers/streams/noisy_frank_wolfe.h>
#include <surety/optimizers/streams/noisy_sgd.h>
#include <surety/optimizers/streams/one_pass_sgd.h>
#include <surety/optimizers/streams/online_frank_wolfe.h>
#include <surety/optimizers/streams/online_learner.h>
#include <surety/optimizers/streams/online_to_batch.h>
#include <surety/optimizers/streams/polyhedral_frank_wolfe.h>
#include <surety/optimizers/streams/private_ftrl.h>

#include "command.h"
#include "files.h"
#include "output.h"
#include "train_options.h"

namespace surety::cli {
namespace {

using namespace optimizers;
using mechanisms::Factorization;
using mechanisms::GaussianContinualSum;

Factorization factorization_of(const TrainOptions& options) {
  for (const auto factorization : mechanisms::all_factorizations) {
    if (options.factorization.value_or("buffered") == name(factorization)) return factorization;
  }
  throw Error{ErrorCode::internal, "a factorization without a name"};
}

/// What will be released, and what an accountant says of it.
struct Noise {
  Event event;
  Enclosure epsilon;  ///< at the target's delta
  NoiseMultiplier multiplier;
};

Noise noise_of(const Calibration& calibration) { return {calibration.event, calibration.epsilon, calibration.value}; }

/// What one run shows: the weights at any time, and how many records it read.
struct Outcome {
  std::vector<double> weights;
  std::uint64_t records = 0;
  std::uint64_t damaged = 0;  ///< private
};

void print_weights(std::uint64_t step, std::span<const double> weights) {
  fmt::print("{}\n", nlohmann::json{{"step", step}, {"weights", std::vector<double>(weights.begin(), weights.end())}}.dump());
  std::fflush(stdout);  // the reader may be waiting for this line
}

/// Feeds the records to algorithm.observe(row, label, door) until the stream or the horizon ends.
template <class O, class Algorithm, class Door>
Outcome feed(const TrainOptions& options, const O& objective, RecordStream& records, Algorithm algorithm, Door& door) {
  const auto progress = options.every ? std::function<void(std::uint64_t)>{} : progress_bar(*options.steps);
  std::uint64_t step = 0;
  while (step < *options.steps && records.next(objective)) {
    algorithm.observe(records.row(), records.label(), door);
    ++step;
    if (options.every && step % *options.every == 0) print_weights(step, algorithm.weights());
    if (progress) progress(step);
  }
  return {.weights = {algorithm.weights().begin(), algorithm.weights().end()}, .records = step, .damaged = records.damaged()};
}

void print_report(const TrainOptions& options, const Noise& noise, accounting::RunId run, const Outcome& outcome,
                  const Released& released) {
  if (options.json) {
    nlohmann::json object{{"algorithm", options.algorithm},
                          {"loss", options.loss},
                          {"adjacency", options.run.adjacency},
                          {"promise", {{"epsilon", options.run.epsilon}, {"delta", options.run.delta}}},
                          {"planned", released.planned},
                          {"event", released.event},
                          {"epsilon", json(released.epsilon)},
                          {"delta", options.run.delta},
                          {"noise_multiplier", noise.multiplier.value()},
                          {"model", options.model},
                          {"not_private", options.run.replay_seed.has_value()},
                          {"records", outcome.records},
                          {"damaged_records_not_private", outcome.damaged}};
    object.update(options.run.charge_json(run));
    options.every ? print_line(object) : print(object);
    return;
  }
  const auto line = [](std::string_view field, const std::string& value) { fmt::print("{:<12} {}\n", field, value); };
  line("trained", fmt::format("{} loss by {}, {} records", options.loss, options.algorithm, outcome.records));
  line("adjacency", options.run.adjacency);
  line("unit", describe(options.run.unit));
  line("promise", fmt::format("epsilon = {} at delta = {}", options.run.epsilon, options.run.delta));
  if (released.event != released.planned) line("planned", released.planned);
  line("released", released.event);
  line("epsilon", fmt::format("in {} at delta = {}", text(released.epsilon), options.run.delta));
  line("ledger", options.run.ledger_and(run));
  line("model", shown(options.model));
  if (outcome.damaged > 0) line("damaged", describe_damage(outcome.damaged));
  if (options.run.replay_seed) line("NOT PRIVATE", "the noise was replayed from a known seed");
}

/// Charges, trains, writes the model. `open(source)` reads what must be read before the charge and returns it with the feature map;
/// `run(read, features, reservation, bits) -> Outcome`.
template <class O, class Open, class Run>
int train(const TrainOptions& options, const O&, const Noise& noise, Open open, Run run) {
  const auto planned = options.run.plan(noise.event, fmt::format("{}, {} loss", options.algorithm, options.loss));
  options.run.check(planned);
  const auto source = source_of(options);
  RunBits bits{options.run.replay_seed};

  auto what_was_read = open(source);
  const FeatureMap& features = what_was_read.features;
  ModelFile model_file{options.model, features, source.label};
  auto reservation = options.run.reserve(planned);
  const Count count{features.features()};
  Outcome outcome = bits.with([&](auto& source_of_bits) { return run(what_was_read, count, reservation, source_of_bits); });
  model_file.commit(
      {.loss = std::string{O::name},
       .label = source.label,
       .features = features,
       .weights = outcome.weights,
       .guarantee = {.target = options.run.target(), .event = noise.event, .not_private = options.run.replay_seed.has_value()}});
  const auto released = released_by(reservation, noise.event, noise.epsilon, options.run.target().delta);
  return report_and_settle(reservation, options.run.ledger, [&] { print_report(options, noise, reservation.id(), outcome, released); });
}

template <class O, class Run>
int train_on_records(const TrainOptions& options, const O& objective, const Noise& noise, Run run) {
  return train(
      options, objective, noise, [&](const Source& source) { return open_stream(options, source); },
      [&](OpenStream& stream, Count features, accounting::Reservation& reservation, auto& bits) {
        return run(stream.records, features, reservation, bits);
      });
}

/// On all records of a file, with their labels encoded. `check(records)` refuses what does not suit their public number before anything is
/// charged; `run(data, reservation, bits)` returns the weights.
template <class O, class Check, class Run>
int train_on_data(const TrainOptions& options, const O& objective, const Noise& noise, Check check, Run run) {
  return train(
      options, objective, noise,
      [&](const Source& source) {
        auto read_data = read(options, source, objective);
        if (options.records && read_data.data.size() != *options.records) {
          throw Error{ErrorCode::bad_data, fmt::format("{}: has {} records, must have the {} of --records", one_line(options.data),
                                                       read_data.data.size(), *options.records)};
        }
        check(read_data.data.size());
        return read_data;
      },
      [&](const ReadRecords& read_data, Count, accounting::Reservation& reservation, auto& bits) {
        return Outcome{.weights = run(read_data.data, reservation, bits), .records = read_data.data.size(), .damaged = read_data.damaged};
      });
}

/// An algorithm on Gaussian prefix sums. `make(features)` returns it for that many features; `shape_of(features)` what it asks of its
/// stream.
template <class O, class Make, class ShapeOf>
int train_on_gaussian_sums(const TrainOptions& options, const O& objective, Factorization factorization, const Noise& noise, Make make,
                           ShapeOf shape_of) {
  return train_on_records(
      options, objective, noise, [&](RecordStream& records, Count features, accounting::Reservation& reservation, auto& bits) {
        const StreamShape<> shape = shape_of(features);
        GaussianContinualSum sum{{.factorization = factorization,
                                  .steps = shape.steps,
                                  .dimension = shape.dimension,
                                  .sensitivity = shape.sensitivity,
                                  .multiplier = noise.multiplier,
                                  .grid = mechanisms::continual_grid(factorization, shape.steps, shape.sensitivity, noise.multiplier),
                                  .adjacency = shape.adjacency}};
        NoisyStream stream{reservation, bits, std::move(sum), shape.sensitivity};
        return feed(options, objective, records, make(features), stream);
      });
}

template <class O>
int frank_wolfe(const TrainOptions& options, const O& objective, const Target& target, Count steps, Radius radius) {
  OnlineFrankWolfeOptions settings{.steps = steps, .adjacency = target.adjacency};
  if (options.clip) settings.clip = ClippingNorm{*options.clip};
  if (options.step_scale) settings.step_scale = StepScaleFactor{*options.step_scale};
  const LpBall ball{.p = LpExponent{options.norm.value_or(2)}, .radius = radius};
  const auto make = [&](Count features) { return OnlineFrankWolfe{objective, ball, settings, features}; };
  const auto shape_of = [&](Count features) { return shape(settings, features); };
  const std::string kind = options.noise.value_or("calibrated");
  if (kind == "paper") {
    if (options.factorization) throw usage("--factorization is for calibrated noise, the printed one is that of a tree");
    const Event event = printed_frank_wolfe_noise(steps, target);
    const Noise noise{.event = event,
                      .epsilon = accounting::epsilon(accounting::ClosedForm{}, event, target.delta),
                      .multiplier = printed_noise_multiplier(steps, target)};
    return train_on_gaussian_sums(options, objective, Factorization::tree, noise, make, shape_of);
  }
  if (kind != "calibrated") throw usage(fmt::format("--noise is '{}', must be calibrated or paper for {}", kind, options.algorithm));
  const auto factorization = factorization_of(options);
  const auto noise = noise_of(
      calibrate([&](NoiseMultiplier z) { return mechanisms::continual_event(factorization, steps, z, target.adjacency); }, target));
  return train_on_gaussian_sums(options, objective, factorization, noise, make, shape_of);
}

template <class O>
int polyhedral_frank_wolfe(const TrainOptions& options, const O& objective, const Target& target, Count steps, Radius radius) {
  PolyhedralFrankWolfeOptions settings{
      .steps = steps, .radius = radius, .noise_multiplier = NoiseMultiplier{1}, .adjacency = target.adjacency};
  if (options.clip) settings.clip = LinfClip{*options.clip};
  if (options.step_scale) settings.step_scale = StepScaleFactor{*options.step_scale};
  const std::string kind = options.noise.value_or("gumbel");
  if (kind != "gumbel" && kind != "laplace") {
    throw usage(fmt::format("--noise is '{}', must be gumbel or laplace for {}", kind, options.algorithm));
  }
  settings.laplace = kind == "laplace";
  const auto calibration = calibrate(
      [&](NoiseMultiplier z) {
        auto candidate = settings;
        candidate.noise_multiplier = z;
        return plan(candidate);
      },
      target, accounting::Zcdp{});
  settings.noise_multiplier = calibration.value;
  return train_on_records(options, objective, noise_of(calibration),
                          [&](RecordStream& records, Count features, accounting::Reservation& reservation, auto& bits) {
                            NoisySelector selector{reservation, bits};
                            return feed(options, objective, records, PolyhedralFrankWolfe{objective, settings, features}, selector);
                          });
}

template <class O>
int online_to_batch(const TrainOptions& options, const O& objective, const Target& target, Count steps, Radius radius) {
  OnlineToBatchOptions settings{.steps = steps, .adjacency = target.adjacency};
  const ClippingNorm clip{options.clip.value_or(0.5)};
  settings.scale = FixedScale{.clip = clip};
  const std::string learner = options.learner.value_or("subgradient");
  if (learner == "strongly-convex") settings.strong_convexity = Regularization{0.1};
  const auto factorization = factorization_of(options);
  const auto noise = noise_of(
      calibrate([&](NoiseMultiplier z) { return mechanisms::continual_event(factorization, steps, z, target.adjacency); }, target));
  const auto shape_of = [&](Count features) { return shape(settings, features); };
  const L2Ball ball{radius};
  const auto with = [&](auto make_learner) {
    return train_on_gaussian_sums(
        options, objective, factorization, noise,
        [&](Count features) {
          return OnlineToBatch{objective, make_learner(std::vector<double>(features.value(), 0.0)), settings};
        },
        shape_of);
  };
  if (learner == "subgradient") return with([&](std::vector<double> start) { return SubgradientDescent{ball, std::move(start)}; });
  if (learner == "dual-averaging") return with([&](std::vector<double> start) { return DualAveraging<L2Ball>{ball, std::move(start)}; });
  if (learner == "optimistic") return with([&](std::vector<double> start) { return OptimisticAveraging<L2Ball>{ball, std::move(start)}; });
  if (learner == "strongly-convex") return with([&](std::vector<double> start) { return StronglyConvexDescent{ball, std::move(start)}; });
  // Prefix sums approximate t times a gradient; longer ones count as if of this length, which costs accuracy alone.
  const GradientBound bound{static_cast<double>(steps.value()) * clip.value()};
  return with([&](std::vector<double> start) {
    return CoinBetting{ball, std::move(start), {.gradient_bound = bound, .wealth = InitialWealth{1}}};
  });
}

template <class O>
int private_ftrl(const TrainOptions& options, const O& objective, const Target& target, Count steps, Radius radius) {
  if (!options.step_size) throw usage("--step-size is missing: private-ftrl has no default that suits every stream");
  const PrivateFtrlOptions settings{.steps = steps,
                                    .adjacency = target.adjacency,
                                    .clip = ClippingNorm{options.clip ? *options.clip : objective.gradient_bound(1)},
                                    .step_size = StepSize{*options.step_size}};
  const auto factorization = factorization_of(options);
  const auto noise = noise_of(
      calibrate([&](NoiseMultiplier z) { return mechanisms::continual_event(factorization, steps, z, target.adjacency); }, target));
  return train_on_gaussian_sums(
      options, objective, factorization, noise,
      [&](Count features) {
        return PrivateFtrl{objective, L2Ball{radius}, settings, std::vector<double>(features.value(), 0.0)};
      },
      [&](Count features) { return shape(settings, features); });
}

template <class Options>
Noise calibrated(const Options& settings, const Target& target) {
  return noise_of(calibrate(
      [&](NoiseMultiplier z) {
        auto candidate = settings;
        candidate.noise_multiplier = z;
        return plan(candidate);
      },
      target, accounting::best_cost(target)));
}

/// Stochastic gradient descent over batches of `records` records in their order.
template <class O>
NoisySgdOptions sgd_options(const TrainOptions& options, const O& objective, const Target& target, Count records) {
  NoisySgdOptions settings{
      .noise_multiplier = NoiseMultiplier{1},
      .batches = Batches{records, Count{options.batch_size.value_or(std::max<std::uint64_t>(records.value() / 30, 1))}},
      .passes = Count{options.passes.value_or(1)},
      .adjacency = target.adjacency,
      .clip = ClippingNorm{options.clip ? *options.clip : objective.gradient_bound(1)}};
  if (options.step_size) settings.step_size = StepSize{*options.step_size};
  return settings;
}

template <class O>
int one_pass_sgd(const TrainOptions& options, const O& objective, const Target& target, Count steps, Radius radius) {
  auto settings = sgd_options(options, objective, target, steps);
  const Noise noise = calibrated(settings, target);
  settings.noise_multiplier = noise.multiplier;
  return train_on_records(options, objective, noise,
                          [&](RecordStream& records, Count features, accounting::Reservation& reservation, auto& bits) {
                            NoisyBatchReleaser releaser{reservation, bits, pass(settings)};
                            return feed(options, objective, records, OnePassSgd{objective, L2Ball{radius}, settings, features}, releaser);
                          });
}

template <class O>
int noisy_sgd(const TrainOptions& options, const O& objective, const Target& target, Radius radius) {
  if (!options.records) throw usage("--records is missing: batches of a file need its public number of records");
  auto settings = sgd_options(options, objective, target, Count{*options.records});
  const Noise noise = calibrated(settings, target);
  settings.noise_multiplier = noise.multiplier;
  const auto check = [](std::size_t) {};  // --records has said it
  return train_on_data(options, objective, noise, check, [&](const Dataset& data, accounting::Reservation& reservation, auto& bits) {
    NoisyBatchReleaser releaser{reservation, bits, pass(settings)};
    return optimizers::noisy_sgd(data, objective, L2Ball{radius}, settings, releaser);
  });
}

template <class O>
int noisy_frank_wolfe(const TrainOptions& options, const O& objective, const Target& target, Radius radius) {
  NoisyFrankWolfeOptions settings{
      .noise_multiplier = NoiseMultiplier{1}, .iterations = Count{options.steps.value_or(30)}, .adjacency = target.adjacency};
  if (options.clip) settings.clip = ClippingNorm{*options.clip};
  if (options.step_scale) settings.step_scale = StepScaleFactor{*options.step_scale};
  const Noise noise = calibrated(settings, target);
  settings.noise_multiplier = noise.multiplier;
  const LpBall ball{.p = LpExponent{options.norm.value_or(2)}, .radius = radius};
  if (settings.step_scale.value() > 1) {
    throw usage(fmt::format("--step-scale is {}, must be at most 1 for {}", settings.step_scale.value(), options.algorithm));
  }
  const auto check = [&](std::size_t records) {
    const std::uint64_t most = records / 2 + 1;
    if (settings.iterations.value() > most) {
      throw usage(fmt::format("--steps is {}, must be at most {}: each batch but the first shares half of the {} records",
                              settings.iterations.value(), most, records));
    }
  };
  return train_on_data(options, objective, noise, check, [&](const Dataset& data, accounting::Reservation& reservation, auto& bits) {
    NoisyBatchReleaser releaser{reservation, bits, pass(settings)};
    return optimizers::noisy_frank_wolfe(data, objective, ball, settings, releaser);
  });
}

}  // namespace

int train_beyond_gradient_descent(const TrainOptions& options) {
  if (!options.radius) throw usage(fmt::format("--radius is missing: {} keeps its weights in a ball", options.algorithm));
  return with_objective(options, [&](const auto& objective) {
    const Target target = options.run.target();
    require_fixed_places(target.adjacency);
    const Radius radius{*options.radius};
    if (options.algorithm == "noisy-sgd") return noisy_sgd(options, objective, target, radius);
    if (options.algorithm == "noisy-frank-wolfe") return noisy_frank_wolfe(options, objective, target, radius);
    if (!options.steps) throw usage(fmt::format("--steps is missing: {} needs the most records that it may read", options.algorithm));
    const Count steps{*options.steps};
    if (options.algorithm == "online-frank-wolfe") return frank_wolfe(options, objective, target, steps, radius);
    if (options.algorithm == "polyhedral-frank-wolfe") return polyhedral_frank_wolfe(options, objective, target, steps, radius);
    if (options.algorithm == "online-to-batch") return online_to_batch(options, objective, target, steps, radius);
    if (options.algorithm == "private-ftrl") return private_ftrl(options, objective, target, steps, radius);
    if (options.algorithm == "one-pass-sgd") return one_pass_sgd(options, objective, target, steps, radius);
    throw Error{ErrorCode::internal, fmt::format("no algorithm is named {}", options.algorithm)};
  });
}

}  // namespace surety::cli
