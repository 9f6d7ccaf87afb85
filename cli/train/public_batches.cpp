// The baselines on batches of records in their public order: of a stream, in one pass, or of a whole file.
#include <algorithm>

#include <surety/accounting/calibration/best_cost.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/optimizers/doors/batch_releaser.h>
#include <surety/optimizers/streams/noisy_frank_wolfe.h>
#include <surety/optimizers/streams/noisy_sgd.h>
#include <surety/optimizers/streams/one_pass_sgd.h>

#include "../validators.h"
#include "algorithms.h"
#include "on_stream.h"

namespace surety::cli {
namespace {

using namespace optimizers;
using namespace data;

template <class Options>
std::function<CalibratedNoise()> calibration(const Options& settings, const Target& target) {
  return [settings, target]() -> CalibratedNoise {
    const auto found = calibrate(
        [&](NoiseMultiplier z) {
          auto candidate = settings;
          candidate.noise_multiplier = z;
          return plan(candidate);
        },
        target, accounting::best_cost(target));
    return {.event = found.event, .epsilon = found.epsilon, .value = found.value.value()};
  };
}

template <class Options>
Options with_noise(Options settings, double noise) {
  settings.noise_multiplier = NoiseMultiplier{noise};
  return settings;
}

/// Stochastic gradient descent over batches of `records` records in their order.
struct SgdOptions {
  std::optional<std::uint64_t> batch_size;
  std::optional<double> step_size;

  void add_to(OptionTable& table) {
    table.add("--batch-size", batch_size, "Records of a batch", whole_number(1, max_count)).standard("1/30 of the records");
    table.add("--step-size", step_size, "Of each step", number()).standard("0.5");
  }

  [[nodiscard]] NoisySgdOptions settings(const TrainOptions& shared, ObjectiveRef objective, Count records, std::uint64_t passes) const {
    NoisySgdOptions settings{.noise_multiplier = NoiseMultiplier{1},
                             .batches = Batches{records, Count{batch_size.value_or(std::max<std::uint64_t>(records.value() / 30, 1))}},
                             .passes = Count{passes},
                             .adjacency = shared.run.target().adjacency,
                             .clip = clip_of(shared, objective)};
    if (step_size) settings.step_size = StepSize{*step_size};
    return settings;
  }
};

class OnePassSgdAlgorithm final : public StreamAlgorithm {
 public:
  OnePassSgdAlgorithm() : StreamAlgorithm{"one-pass-sgd", "Streams: noisy gradients of successive batches, each record in one."} {}

  void add_options(OptionTable& table, TrainOptions& shared) override {
    add_stream_options(table, shared, "the loss's bound for rows of norm 1");
    sgd_.add_to(table);
  }

  std::unique_ptr<TrainingRun> prepare(const TrainOptions& shared, const Source& source, Team&) const override {
    return with_objective(shared, [&](const auto& objective) {
      const Radius radius = ball_radius(shared);
      const auto settings = sgd_.settings(shared, objective, most_records(), 1);
      return on_stream(shared, source,
                       {.calibrate = calibration(settings, shared.run.target()),
                        .run = [this, settings, objective, radius](RecordStream& records, Count features, double noise,
                                                                   accounting::Reservation& reservation, mechanisms::BitsRef bits) {
                          const auto noisy = with_noise(settings, noise);
                          NoisyBatchReleaser releaser{reservation, bits, pass(noisy)};
                          return feed(objective, records, OnePassSgd{objective, L2Ball{radius}, noisy, features}, releaser);
                        }});
    });
  }

 private:
  SgdOptions sgd_;
};

class NoisySgdAlgorithm final : public BallAlgorithm {
 public:
  NoisySgdAlgorithm() : BallAlgorithm{"noisy-sgd", "Noisy gradients of the batches of a whole file in its order, in some passes."} {}

  void add_options(OptionTable& table, TrainOptions& shared) override {
    table.group("Data");
    shared.reading.add_form_to(table);
    table.group("Problem and algorithm");
    add_records(table, records_);
    add_radius(table, shared, "needed");
    add_clip(table, shared, "the loss's bound for rows of norm 1");
    sgd_.add_to(table);
    table.add("--passes", passes_, "Over the records", whole_number(1, max_count));
  }

  std::unique_ptr<TrainingRun> prepare(const TrainOptions& shared, const Source& source, Team&) const override {
    const AnyObjective objective = objective_of(shared);
    const Radius radius = ball_radius(shared);
    if (!records_) invalid("--records is missing: batches of a file need its public number of records");
    const auto settings = sgd_.settings(shared, objective, Count{*records_}, passes_);
    return on_batches(shared, {.records = records_,
                               .read = reader_for(shared, source, objective),
                               .calibrate = calibration(settings, shared.run.target()),
                               .run = [settings, objective, radius](const Dataset& data, double noise, accounting::Reservation& reservation,
                                                                    mechanisms::BitsRef bits) {
                                 const auto noisy = with_noise(settings, noise);
                                 NoisyBatchReleaser releaser{reservation, bits, pass(noisy)};
                                 return noisy_sgd(data, objective, L2Ball{radius}, noisy, releaser);
                               }});
  }

 private:
  std::optional<std::uint64_t> records_;
  std::uint64_t passes_ = 1;
  SgdOptions sgd_;
};

class NoisyFrankWolfeAlgorithm final : public BallAlgorithm {
 public:
  NoisyFrankWolfeAlgorithm()
      : BallAlgorithm{"noisy-frank-wolfe",
                      "Frank-Wolfe on noisy gradients of a whole file: one half of it first, and batches of the other."} {}

  void add_options(OptionTable& table, TrainOptions& shared) override {
    table.group("Data");
    shared.reading.add_form_to(table);
    table.group("Problem and algorithm");
    table.add("--steps", steps_, "Batches", whole_number(1, max_count));
    add_records(table, records_);
    table.find("--records")->standard("not said");
    add_radius(table, shared, "needed");
    add_clip(table, shared, "1");
    table.add("--step-scale", step_scale_, "s of the steps s / (t + 1), at most 1", number()).standard("1");
    table.add("--norm", norm_, "p of the ball's norm", number());
  }

  std::unique_ptr<TrainingRun> prepare(const TrainOptions& shared, const Source& source, Team&) const override {
    const AnyObjective objective = objective_of(shared);
    const Target target = shared.run.target();
    const LpBall ball{.p = LpExponent{norm_}, .radius = ball_radius(shared)};
    NoisyFrankWolfeOptions settings{.noise_multiplier = NoiseMultiplier{1}, .iterations = Count{steps_}, .adjacency = target.adjacency};
    if (shared.clip) settings.clip = ClippingNorm{*shared.clip};
    if (step_scale_) settings.step_scale = StepScaleFactor{*step_scale_};
    if (settings.step_scale.value() > 1) {
      invalid(fmt::format("--step-scale is {}, must be at most 1 for {}", settings.step_scale.value(), name()));
    }
    return on_batches(shared, {.records = records_,
                               .read = reader_for(shared, source, objective),
                               .calibrate = calibration(settings, target),
                               .run =
                                   [settings, objective, ball](const Dataset& data, double noise, accounting::Reservation& reservation,
                                                               mechanisms::BitsRef bits) {
                                     const auto noisy = with_noise(settings, noise);
                                     NoisyBatchReleaser releaser{reservation, bits, pass(noisy)};
                                     return noisy_frank_wolfe(data, objective, ball, noisy, releaser);
                                   },
                               .check = [steps = steps_](std::size_t records) { require_batches(steps, records); }});
  }

 private:
  static void require_batches(std::uint64_t steps, std::size_t records) {
    const std::uint64_t most = records / 2 + 1;
    if (steps > most) {
      invalid(
          fmt::format("--steps is {}, must be at most {}: each batch but the first shares half of the {} records", steps, most, records));
    }
  }

  std::uint64_t steps_ = 30;
  std::optional<std::uint64_t> records_;
  std::optional<double> step_scale_;
  double norm_ = 2;
};

}  // namespace

std::unique_ptr<Algorithm> one_pass_sgd_algorithm() { return std::make_unique<OnePassSgdAlgorithm>(); }
std::unique_ptr<Algorithm> noisy_sgd_algorithm() { return std::make_unique<NoisySgdAlgorithm>(); }
std::unique_ptr<Algorithm> noisy_frank_wolfe_algorithm() { return std::make_unique<NoisyFrankWolfeAlgorithm>(); }

}  // namespace surety::cli
