// Stochastic gradients of reduced variance: a noisy gradient of all records in each epoch, and secret batches between.
#include <algorithm>

#include <surety/accounting/answers/best.h>
#include <surety/optimizers/empirical_risk/svrg.h>
#include <surety/optimizers/empirical_risk/svrg_calibration.h>
#include <surety/optimizers/printed/printed_svrg_noise.h>

#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/algorithms/on_file.h>
#include <surety/jobs/algorithms/penalty.h>
#include <surety/jobs/algorithms/secret_batches.h>
#include <surety/jobs/doors/releasers.h>

namespace surety::jobs {
namespace {

using namespace optimizers;
using namespace data;

class SvrgRun final : public LoneRun {
 public:
  SvrgRun(const SplitPlan& own, const TrainPlan& shared, FileNeeds needs, SvrgOptions settings, Penalty penalty)
      : LoneRun{own, shared, std::move(needs)}, settings_{std::move(settings)}, penalty_{std::move(penalty)} {}

  /// Sets the noise on the gradients of all records.
  CalibratedNoise calibrate() override {
    const SvrgNoise found = calibrate_svrg(settings_, target(), AnchorShare{0.5}, usable_count().event());
    settings_.anchor_multiplier = found.anchor_multiplier;
    // delta(epsilon) <= delta is proved, so epsilon(delta) <= epsilon is, whatever another accountant can show.
    const Enclosure epsilon = accounting::quick_epsilon(found.event, target().delta);
    return {.event = found.event,
            .epsilon = {std::min(epsilon.lower, target().epsilon.value()), std::min(epsilon.upper, target().epsilon.value())},
            .value = found.noise_multiplier.value(),
            .sigma = summed_sigma(found.anchor_multiplier, *settings_.clip, target().adjacency)};
  }

 protected:
  std::vector<double> learn(const Dataset& data, double noise, accounting::Reservation& reservation, mechanisms::BitsRef bits) override {
    settings_.noise_multiplier = NoiseMultiplier{noise};
    return svrg(data, objective(), penalty_, settings_, *releasers().sampling(reservation, bits, any(settings_.sampler)));
  }

 private:
  SvrgOptions settings_;
  Penalty penalty_;
};

template <class Own, SvrgVariant variant>
class Svrg final : public FileAlgorithm<Own> {
 public:
  using FileAlgorithm<Own>::FileAlgorithm;

  void fields(FieldTable& table, Own& own, TrainPlan& shared) const override {
    add_split(table, own, shared);
    add_records(table, own.records);
    table.add("epochs", own.epochs, "Gradients of all records", WholeNumber{1, max_count});
    table.add("inner-steps", own.inner_steps,
              variant == SvrgVariant::svrg ? "Batches of an epoch" : "Batches of the first epoch; twice as many in each later one",
              WholeNumber{1, max_count});
    table.add("step-size", own.step_size, "Of each step", AnyNumber{}).standard("1 / (5 smoothness)");
    add_regularization(table, own.regularization);
    add_clip(table, shared, "the loss's bound for rows of norm 1");
    add_radius(table, shared, "everywhere");
    add_l1(table, own.l1);
    add_threads(table, own.threads);
    table.group("Secret batches");
    add_sampling(table, own.sampling, "poisson, under replace-one fixed");
    add_batch_size(table, own.batch_size, "1/400 of the records trained on");
    table.group("Privacy");
    table.add("noise", own.noise, "calibrated; the printed noise, paper, is refused with the reason");
  }

  std::vector<RefusedField> refusals() const override {
    return {{"steps", field_text("is not for {}, which takes {} in each of its {}", Own::name, "inner-steps"_field, "epochs"_field)}};
  }

  [[nodiscard]] FieldText why_no_units(const TrainPlan& plan) const override {
    return this->unless_records(plan, "its account is about what one record adds to full gradients and to batches");
  }
  std::unique_ptr<TrainingRun> run_of(const Own& own, const TrainPlan& shared, const TrainContext& context) const override {
    const AnyObjective objective = any_objective_of(shared);
    const Target target = shared.target;
    const Count training = training_count(own, shared, own.records);
    const std::uint64_t size = batch_size_of(own.batch_size, training, 400);
    const Sampling sampling = own.sampling.value_or(target.adjacency == Adjacency::replace_one ? Sampling::fixed : Sampling::poisson);
    SvrgOptions settings{.anchor_multiplier = NoiseMultiplier{1},
                         .noise_multiplier = NoiseMultiplier{1},
                         .sampler = sampler_of(sampling, shared.target.adjacency, training, size),
                         .adjacency = target.adjacency,
                         .variant = variant,
                         .epochs = Count{own.epochs},
                         .inner_steps = Count{own.inner_steps},
                         .clip = clip_of(shared, objective),
                         .public_count = training,
                         .threads = threads_of(own.threads),
                         .progress = context.progress_of(own.epochs)};
    if (shared.problem.loss == Loss::squared && !shared.problem.radius) {
      // Weights may be anywhere, so the loss has no bound for differences: two gradients that were clipped.
      settings.difference_clip = ClippingNorm{2 * settings.clip->value()};
    }
    if (own.step_size) settings.step_size = StepSize{*own.step_size};
    static_cast<void>(require_smoothness(objective, 1, Own::name));
    const std::uint64_t inner = all_inner_steps(settings).value();
    if (own.noise == PaperNoise::paper) refuse_printed_svrg_noise(training, Count{inner});
    return std::make_unique<SvrgRun>(own, shared,
                                     FileNeeds{.objective = objective,
                                               .extent = fmt::format("{} epochs, {} steps of {} records in all", own.epochs, inner, size),
                                               .records = own.records,
                                               .public_count = own.records,
                                               .count = {.public_records = training.value()}},
                                     std::move(settings), Penalty{own.l1, shared.problem.radius, own.regularization});
  }
};

}  // namespace

std::unique_ptr<Algorithm> svrg_algorithm() {
  return std::make_unique<Svrg<SvrgPlan, SvrgVariant::svrg>>(
      "Gradients of reduced variance: one of all records in each epoch, secret batches between (DP-SVRG).");
}
std::unique_ptr<Algorithm> svrg_plus_plus_algorithm() {
  return std::make_unique<Svrg<SvrgPlusPlusPlan, SvrgVariant::svrg_plus_plus>>(
      "svrg with twice as many batches in each epoch as in the one before (DP-SVRG++).");
}

}  // namespace surety::jobs
