// The baselines on batches of records in their public order: of a stream, in one pass, or of a whole file.
#include <algorithm>

#include <surety/accounting/calibration/best_cost.h>
#include <surety/jobs/plans/choice_text.h>
#include <surety/optimizers/streams/noisy_frank_wolfe.h>
#include <surety/optimizers/streams/noisy_sgd.h>
#include <surety/optimizers/streams/one_pass_sgd.h>

#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/algorithms/last_iterate.h>
#include <surety/jobs/algorithms/on_stream.h>
#include <surety/jobs/doors/releasers.h>

namespace surety::jobs {
namespace {

using namespace optimizers;
using namespace data;

/// `Run` with the options of its algorithm, whose `plan` is all that it releases.
template <class Run, class Options>
class BestRun : public Run {
 public:
  template <class... Others>
  explicit BestRun(Options settings, Others&&... others) : Run{std::forward<Others>(others)...}, settings_{std::move(settings)} {}

  [[nodiscard]] CalibratedNoise calibrate() final {
    return calibrated([&](NoiseMultiplier z) { return this->usable_count().with_count(plan_at(settings_, z)); }, this->target(),
                      accounting::best_cost(this->target()));
  }

 protected:
  /// learn(options with this noise, releaser)
  template <class Learn>
  [[nodiscard]] std::vector<double> learn_on_batches(double noise, accounting::Reservation& reservation, mechanisms::BitsRef bits,
                                                     Learn learn) {
    Options noisy = settings_;
    noisy.noise_multiplier = NoiseMultiplier{noise};
    return learn(noisy, *releasers().of_batches(reservation, bits, pass(noisy)));
  }

 private:
  Options settings_;
};

/// What stochastic gradient descent over batches of `records` records in their order knows.
void add_batches(FieldTable& table, std::optional<std::uint64_t>& batch_size, std::optional<double>& step_size) {
  table.add("batch-size", batch_size, "Records of a batch", WholeNumber{1, max_count}).standard("1/30 of the records");
  table.add("step-size", step_size, "Of each step", AnyNumber{}).standard("0.5");
}

template <class Own>
NoisySgdOptions settings_of(const Own& own, const TrainPlan& shared, ObjectiveRef objective, Count records, std::uint64_t passes) {
  NoisySgdOptions settings{.noise_multiplier = NoiseMultiplier{1},
                           .batches = batches_of(own.batch_size, records),
                           .passes = Count{passes},
                           .adjacency = shared.target.adjacency,
                           .clip = clip_of(shared, objective)};
  if (own.step_size) settings.step_size = StepSize{*own.step_size};
  return settings;
}

template <class O>
class OnePassSgdRun final : public BestRun<StreamRun, NoisySgdOptions> {
 public:
  OnePassSgdRun(const OnePassSgdPlan& own, const TrainPlan& shared, const TrainContext& context, O objective, Radius radius,
                const NoisySgdOptions& settings)
      : BestRun{settings, own, shared, context}, objective_{std::move(objective)}, radius_{radius} {}

 protected:
  std::vector<double> learn(double noise, accounting::Reservation& reservation, mechanisms::BitsRef bits) override {
    return learn_on_batches(noise, reservation, bits, [&](const auto& noisy, auto& releaser) {
      return feed(objective_, OnePassSgd{objective_, L2Ball{radius_}, noisy, features()}, releaser);
    });
  }

 private:
  O objective_;
  Radius radius_;
};

class OnePassSgdAlgorithm final : public BallAlgorithm<OnePassSgdPlan> {
 public:
  OnePassSgdAlgorithm() : BallAlgorithm{"Streams: noisy gradients of successive batches, each record in one."} {}

 protected:
  void fields(FieldTable& table, OnePassSgdPlan& own, TrainPlan& shared) const override {
    add_stream_fields(table, own, shared, "the loss's bound for rows of norm 1");
    add_batches(table, own.batch_size, own.step_size);
  }

  std::unique_ptr<TrainingRun> run_of(const OnePassSgdPlan& own, const TrainPlan& shared, const TrainContext& context) const override {
    return with_objective(shared, [&](const auto& objective) -> std::unique_ptr<TrainingRun> {
      const Radius radius = ball_radius(shared);
      const auto settings = settings_of(own, shared, objective, most_records(own, shared), 1);
      return std::make_unique<OnePassSgdRun<std::decay_t<decltype(objective)>>>(own, shared, context, objective, radius, settings);
    });
  }
};

class NoisySgdRun final : public BestRun<BatchRun, NoisySgdOptions> {
 public:
  NoisySgdRun(const NoisySgdPlan& own, const TrainPlan& shared, const AnyObjective& objective, Radius radius,
              const NoisySgdOptions& settings)
      : BestRun{settings, own, shared, objective, own.records}, radius_{radius} {}

 protected:
  std::vector<double> learn(double noise, accounting::Reservation& reservation, mechanisms::BitsRef bits) override {
    return learn_on_batches(noise, reservation, bits, [&](const auto& noisy, auto& releaser) {
      return noisy_sgd(data(), objective(), L2Ball{radius_}, noisy, releaser);
    });
  }

 private:
  Radius radius_;
};

class NoisySgdAlgorithm final : public BallAlgorithm<NoisySgdPlan> {
 public:
  NoisySgdAlgorithm() : BallAlgorithm{"Noisy gradients of the batches of a whole file in its order, in some passes (NoisySGD)."} {}

 protected:
  void fields(FieldTable& table, NoisySgdPlan& own, TrainPlan& shared) const override {
    table.group("Data");
    add_form(table, shared.source.form_is_public);
    add_count(table, own);
    add_records(table, own.records);
    add_radius(table, shared, "needed");
    add_clip(table, shared, "the loss's bound for rows of norm 1");
    add_batches(table, own.batch_size, own.step_size);
    table.add("passes", own.passes, "Over the records", WholeNumber{1, max_count});
    add_publish(table, own.publish);
  }

  std::unique_ptr<TrainingRun> run_of(const NoisySgdPlan& own, const TrainPlan& shared, const TrainContext& context) const override {
    if (own.publish == Publish::last) return last_iterate_of_passes(own, shared, context);
    const AnyObjective objective = objective_of(shared);
    const Radius radius = ball_radius(shared);
    const auto settings = settings_of(own, shared, objective, records_of_batches(own.records), own.passes);
    return std::make_unique<NoisySgdRun>(own, shared, objective, radius, settings);
  }
};

class NoisyFrankWolfeRun final : public BestRun<BatchRun, NoisyFrankWolfeOptions> {
 public:
  NoisyFrankWolfeRun(const NoisyFrankWolfePlan& own, const TrainPlan& shared, const AnyObjective& objective, const LpBall& ball,
                     const NoisyFrankWolfeOptions& settings)
      : BestRun{settings, own, shared, objective, own.records}, steps_{own.steps}, ball_{ball} {}

 protected:
  void check(std::size_t records) const override {
    const std::uint64_t most = records / 2 + 1;
    if (steps_ > most) {
      refuse_plan("{} is {}, must be at most {}: each batch but the first shares half of the {} records", "steps"_field, steps_, most,
                  records);
    }
  }
  std::vector<double> learn(double noise, accounting::Reservation& reservation, mechanisms::BitsRef bits) override {
    return learn_on_batches(noise, reservation, bits, [&](const auto& noisy, auto& releaser) {
      return noisy_frank_wolfe(data(), objective(), ball_, noisy, releaser);
    });
  }

 private:
  std::uint64_t steps_;
  LpBall ball_;
};

class NoisyFrankWolfeAlgorithm final : public BallAlgorithm<NoisyFrankWolfePlan> {
 public:
  NoisyFrankWolfeAlgorithm()
      : BallAlgorithm{"Frank-Wolfe on noisy gradients of a whole file: one half of it first, and batches of the other (NoisySFW)."} {}

 protected:
  void fields(FieldTable& table, NoisyFrankWolfePlan& own, TrainPlan& shared) const override {
    table.group("Data");
    add_form(table, shared.source.form_is_public);
    add_count(table, own);
    table.add("steps", own.steps, "Batches", WholeNumber{1, max_count});
    add_records(table, own.records);
    table.find("records")->standard("not said");
    add_radius(table, shared, "needed");
    add_clip(table, shared, "1, of squared loss the label bound");
    table.add("step-scale", own.step_scale, "s of the steps s / (t + 1), at most 1", AnyNumber{}).standard("1");
    table.add("norm", own.norm, "p of the ball's norm", AnyNumber{});
  }

  std::unique_ptr<TrainingRun> run_of(const NoisyFrankWolfePlan& own, const TrainPlan& shared,
                                      const TrainContext& /*context*/) const override {
    const AnyObjective objective = objective_of(shared);
    const Target target = shared.target;
    const LpBall ball{LpExponent{own.norm}, ball_radius(shared)};
    NoisyFrankWolfeOptions settings{.noise_multiplier = NoiseMultiplier{1}, .iterations = Count{own.steps}, .adjacency = target.adjacency};
    settings.clip = ClippingNorm{shared.problem.clip.value_or(label_unit(shared))};
    if (own.step_scale) settings.step_scale = StepScaleFactor{*own.step_scale};
    if (settings.step_scale.value() > 1) {
      refuse_plan("{} is {}, must be at most 1 for {}", "step-scale"_field, settings.step_scale.value(), name());
    }
    return std::make_unique<NoisyFrankWolfeRun>(own, shared, objective, ball, settings);
  }
};

}  // namespace

std::unique_ptr<Algorithm> one_pass_sgd_algorithm() { return std::make_unique<OnePassSgdAlgorithm>(); }
std::unique_ptr<Algorithm> noisy_sgd_algorithm() { return std::make_unique<NoisySgdAlgorithm>(); }
std::unique_ptr<Algorithm> noisy_frank_wolfe_algorithm() { return std::make_unique<NoisyFrankWolfeAlgorithm>(); }

}  // namespace surety::jobs
