// Stochastic gradient descent on secret batches, each record's gradient clipped.
#include <algorithm>
#include <cmath>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/calibration/best_cost.h>
#include <surety/accounting/calibration/judgement.h>
#include <surety/base/numbers/rounded_text.h>
#include <surety/optimizers/empirical_risk/sampled_sgd.h>

#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/algorithms/on_file.h>
#include <surety/jobs/algorithms/penalty.h>
#include <surety/jobs/algorithms/secret_batches.h>

namespace surety::jobs {
namespace {

using namespace optimizers;
using namespace data;

/// How narrow batches are accounted for. The laws of those of fixed size fill a grid soon.
accounting::Effort effort_for(const SampledSgdOptions& settings, const Target& target) {
  if (std::holds_alternative<mechanisms::FixedSizeBatches>(settings.sampler)) {
    return {.width = 0x1p-8 * std::min(1.0, target.epsilon.value())};
  }
  return {};
}

/// What is sampled and clipped: a record, a unit of several rows by the mean gradient of its rows, or a row of such a unit by itself.
enum class Sampled { record, unit, row_of_unit };

Sampled what_is_sampled(const DpSgdPlan& own, const TrainPlan& shared) {
  if (!shared.has_unit()) {
    if (own.clip_by) refuse_plan("{} is for {}, which is missing", "clip-by"_field, "unit"_field);
    return Sampled::record;
  }
  if (own.microbatch > 1)
    refuse_plan("{} is {}, must be 1 with {}: a unit's rows may be in several", "microbatch"_field, own.microbatch, "unit"_field);
  const bool is_by_row = own.clip_by == ClipBy::row;
  const auto sampling = own.sampling.value_or(Sampling::poisson);
  if (sampling == Sampling::fixed || sampling == Sampling::truncated) {
    refuse_plan("{} is {}, must be poisson or allocated with {}: how many units are trained on is private", "sampling"_field, sampling,
                "unit"_field);
  }
  if (sampling == Sampling::allocated && is_by_row) {
    refuse_plan("{} is allocated, must be poisson with {} row: what rows of one unit in an epoch cost is known too roughly",
                "sampling"_field, "clip-by"_field);
  }
  return is_by_row ? Sampled::row_of_unit : Sampled::unit;
}

class DpSgdRun final : public OptionsRun<RankRun, SampledSgdOptions> {
 public:
  using OptionsRun::OptionsRun;

  CalibratedNoise calibrate() override {
    const auto& multiplier = own<DpSgdPlan>().noise_multiplier;
    auto found = multiplier ? given(*multiplier)
                            : calibrated([&](NoiseMultiplier z) { return with_what_is_beside(event_at(z)); }, target(),
                                         accounting::best_cost(target(), effort_for(settings(), target())));
    found.sigma = found.value * settings().clip->value();
    return found;
  }

 protected:
  /// Of batches none is Gaussian. Who gives the noise has spent on it what a score would cost. Of guessed rows, units are at least one for each K.
  [[nodiscard]] std::optional<double> held_out_for_price() const override {
    const auto& plan = own<DpSgdPlan>();
    if (plan.noise_multiplier) return 0;
    const double rows_of_one =
        what_is_sampled(plan, shared()) == Sampled::row_of_unit ? static_cast<double>(shared().unit.most().value()) : 1;
    return plan.held_out * static_cast<double>(plan.records.value()) / rows_of_one;
  }
  std::vector<double> learn(Dataset&& data, const TrainingUnits& units, double noise, const TrainingDoors& doors) override {
    auto its = noisy(noise, units);
    const auto& plan = own<DpSgdPlan>();
    const Penalty penalty{plan.l1, shared().problem.radius, plan.regularization};
    if (what_is_sampled(plan, shared()) == Sampled::unit) its.unit_ends = units.ends;
    return doors.learn(its.sampler, [&](SamplingReleaser& releaser) { return sampled_sgd(data, objective(), penalty, its, releaser); });
  }

 private:
  [[nodiscard]] CalibratedNoise given(double multiplier) const {
    const Event event = with_what_is_beside(event_at(NoiseMultiplier{multiplier}));
    const Enclosure epsilon = accounting::epsilon_beside(event, target());
    if (!(epsilon.upper <= target().epsilon.value())) {
      refuse_plan("{} is {}, which costs epsilon in {} at delta = {}, must cost at most the {} {}", "noise-multiplier"_field, multiplier,
                  text(epsilon), target().delta.value(), "epsilon"_field, target().epsilon.value());
    }
    return {.event = event, .epsilon = epsilon, .value = multiplier};
  }
};

class DpSgd final : public FileAlgorithm<DpSgdPlan> {
 public:
  [[nodiscard]] FieldText why_no_units(const TrainPlan& /*plan*/) const override { return {}; }
  [[nodiscard]] bool runs_on_ranks() const override { return true; }
  [[nodiscard]] bool takes_weights() const override { return true; }
  DpSgd() : FileAlgorithm{"Stochastic gradient descent on secret batches, each record's gradient clipped (DP-SGD)."} {}

 protected:
  void fields(FieldTable& table, DpSgdPlan& own, TrainPlan& shared) const override {
    add_split(table, own, shared);
    add_records(table, own.records);
    table.add("epochs", own.epochs, "How often a record is met on average", WholeNumber{1, max_count}).standard("5");
    table.add("steps", own.steps, field_text("Batches, in the place of {}", "epochs"_field), WholeNumber{1, max_count});
    table.add("step-size", own.step_size, "Of each step", AnyNumber{}).standard("1 / (smoothness + regularization)");
    table.add("schedule", own.schedule,
              "Of the step in round t: constant, inverse-root: step-size / sqrt(t), inverse: step-size / (1 + step-size regularization t)");
    table.add("momentum", own.momentum, "The share of the last direction", AnyNumber{});
    add_regularization(table, own.regularization);
    add_clip(table, shared, "the loss's bound for rows of norm 1; of a unit of K rows K^(-1/4) of it");
    add_radius(table, shared, "everywhere");
    add_l1(table, own.l1);
    table
        .add("iterate", own.iterate, "Which is the model: last, average; without it the mean of the last half",
             {Iterate::last, Iterate::average})
        .standard("the mean of the last half");
    table
        .add(
            "clip-by", own.clip_by,
            field_text(
                "With {}: unit, batches are of units, and the mean gradient of a unit's rows is clipped; or row, batches are of rows, each clipped, and {} is a public guess of the rows used",
                "unit"_field, "records"_field))
        .standard("unit");
    add_timeout(table, own);
    table.group("Secret batches");
    table
        .add(
            "sampling", own.sampling,
            field_text(
                "How batches are drawn: poisson; allocated: each record to one batch of an epoch by a draw of its own (add-or-remove-one, zero-out); truncated: poisson, of at most {} (zero-out, replace-one); fixed: without replacement (replace-one)",
                "largest-batch"_field))
        .standard("poisson");
    add_batch_size(table, own.batch_size, "1/200 of the records trained on; of n units 4 sqrt(n), if that is more");
    table.add("largest-batch", own.largest_batch,
              field_text("Of {} truncated: what is drawn beyond so many records is left out, at random", "sampling"_field),
              WholeNumber{1, max_count});
    table.add("microbatch", own.microbatch, "Under replace-one: the mean gradient of so many successive records is clipped",
              WholeNumber{1, max_count});
    table.add("noise-multiplier", own.noise_multiplier,
              field_text("The noise over {}, in place of the least that keeps the promise; refused when it does not keep it", "clip"_field),
              AnyNumber{});
  }

  std::unique_ptr<TrainingRun> run_of(const DpSgdPlan& own, const TrainPlan& shared, const TrainContext& context) const override {
    const AnyObjective objective = any_objective_of(shared);
    const Sampled sampled = what_is_sampled(own, shared);
    if (context.team.size() > 1) require_what_ranks_share(own);
    const Count training = training_count(own, shared, own.records);
    const std::uint64_t size = sampled == Sampled::unit && !own.batch_size
                                   ? batch_of_units(training)
                                   : batch_size_of(own.batch_size, training, 200 / std::min<std::uint64_t>(own.microbatch, 200));
    const SampledSgdOptions settings = settings_for(own, shared, context, objective, training, size);
    static_cast<void>(Penalty{own.l1, shared.problem.radius, own.regularization});
    return std::make_unique<DpSgdRun>(
        settings, own, shared,
        FileNeeds{.objective = objective,
                  .extent = extent_of(own, settings, training, size, sampled == Sampled::unit ? "units" : "records"),
                  .records = sampled == Sampled::row_of_unit ? std::nullopt : own.records,
                  .public_count = own.records,
                  .count = count_needs(own, shared, training, sampled),
                  .keep = KeepRows::in_their_file},
        context.team);
  }

 private:
  /// Where batches are of rows, `training` is a number of rows. Units are counted, with which it is not compared.
  [[nodiscard]] static CountNeeds count_needs(const DpSgdPlan& own, const TrainPlan& shared, Count training, Sampled sampled) {
    CountNeeds needs{.is_standard = !own.noise_multiplier, .public_records = training.value()};
    if (sampled == Sampled::row_of_unit && shared.target.adjacency == Adjacency::add_or_remove_one)
      needs.why_not = "for batches of units under add-or-remove-one: where batches are of rows, the plan holds no number of units";
    return needs;
  }

  /// Who is in a batch is drawn for each record by itself only there.
  static void require_what_ranks_share(const DpSgdPlan& own) {
    const auto sampling = own.sampling.value_or(Sampling::poisson);
    if (sampling != Sampling::poisson) refuse_plan("{} is {}, must be poisson on several ranks", "sampling"_field, sampling);
    if (own.microbatch > 1) refuse_plan("{} is {}, must be 1 on several ranks", "microbatch"_field, own.microbatch);
  }

  /// Owners are fewer than records, so a batch is a larger share of few of them: the noise in its mean falls with its size.
  [[nodiscard]] static std::uint64_t batch_of_units(Count units) {
    const auto of_few = static_cast<std::uint64_t>(std::lround(4 * std::sqrt(static_cast<double>(units.value()))));
    return std::min(units.value(), std::max(of_few, units.value() / 200));
  }
  /// Of a unit its mean gradient.
  [[nodiscard]] static ClippingNorm clip_for(const DpSgdPlan& own, const TrainPlan& shared, ObjectiveRef objective) {
    const ClippingNorm clip = clip_of(shared, objective);
    if (what_is_sampled(own, shared) != Sampled::unit || shared.problem.clip) return clip;
    return ClippingNorm{clip.value() * mean_gradient_length(shared.unit.most())};
  }

  [[nodiscard]] static SampledSgdOptions settings_for(const DpSgdPlan& own, const TrainPlan& shared, const TrainContext& context,
                                                      ObjectiveRef objective, Count training, std::uint64_t size) {
    if (size % own.microbatch != 0) {
      refuse_plan("{} is {}, must be a multiple of the {} of {}", "batch-size"_field, size, own.microbatch, "microbatch"_field);
    }
    if (own.steps && own.epochs) refuse_plan("{} and {} say the same: give one of them", "steps"_field, "epochs"_field);
    const Count units{(training.value() - 1) / own.microbatch + 1};
    const AnySampler sampler = any_sampler_of(own, shared, units, size / own.microbatch);
    const double batches = static_cast<double>(own.epochs.value_or(5)) * static_cast<double>(training.value()) / static_cast<double>(size);
    if (!(batches < 0x1p53)) refuse_plan("{} is {}, must make fewer than 2^53 batches", "epochs"_field, *own.epochs);
    std::uint64_t steps = own.steps.value_or(std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::round(batches))));
    if (const auto* const allocation = std::get_if<mechanisms::Allocation>(&sampler); allocation != nullptr) {
      const std::uint64_t rounds = allocation->rounds().value();
      if (!own.steps) steps = own.epochs.value_or(5) * rounds;
      if (steps % rounds != 0) {
        refuse_plan("{} is {}, must be a multiple of {} with {} allocated: an epoch has so many batches and is paid whole", "steps"_field,
                    steps, rounds, "sampling"_field);
      }
    }
    SampledSgdOptions settings{.noise_multiplier = NoiseMultiplier{1},
                               .sampler = sampler,
                               .steps = Count{steps},
                               .adjacency = shared.target.adjacency,
                               .microbatch = Count{own.microbatch},
                               .schedule = schedule_of(own),
                               .momentum = MomentumFactor{own.momentum},
                               .clip = clip_for(own, shared, objective),
                               .public_count = training,
                               .progress = context.progress_of(steps)};
    if (own.step_size) settings.step_size = StepSize{*own.step_size};
    if (!settings.step_size) require_default_step(objective);
    if (own.iterate == Iterate::random) refuse_plan("{} is random, must be last or average for {}", "iterate"_field, DpSgdPlan::name);
    if (own.iterate)
      settings.returned = *own.iterate == Iterate::average ? ReturnedIterate{AverageIterate{}} : ReturnedIterate{LastIterate{}};
    static_cast<void>(plan(settings));  // refuses microbatches and samplers under adjacencies that have no theorem for them
    return settings;
  }

  [[nodiscard]] static AnySampler any_sampler_of(const DpSgdPlan& own, const TrainPlan& shared, Count units, std::uint64_t size) {
    const Sampling sampling = own.sampling.value_or(Sampling::poisson);
    if (own.largest_batch.has_value() != (sampling == Sampling::truncated)) {
      if (own.largest_batch) refuse_plan("{} is for {} truncated, not for {}", "largest-batch"_field, "sampling"_field, sampling);
      refuse_plan("{} is missing: {} truncated needs it", "largest-batch"_field, "sampling"_field);
    }
    if (sampling == Sampling::allocated) return allocation_of(units, size);
    if (what_is_sampled(own, shared) == Sampled::row_of_unit) {
      return mechanisms::PoissonBatchesOfUnits{SamplingRate{static_cast<double>(size) / static_cast<double>(units.value())},
                                               shared.unit.most()};
    }
    if (sampling != Sampling::truncated) return any(sampler_of(sampling, shared.target.adjacency, units, size));
    if (*own.largest_batch % own.microbatch != 0) {
      refuse_plan("{} is {}, must be a multiple of the {} of {}", "largest-batch"_field, *own.largest_batch, own.microbatch,
                  "microbatch"_field);
    }
    return truncated_of(shared.target.adjacency, units, size, *own.largest_batch / own.microbatch);
  }

  /// For people.
  [[nodiscard]] static std::string extent_of(const DpSgdPlan& own, const SampledSgdOptions& settings, Count training, std::uint64_t size,
                                             std::string_view what) {
    const std::uint64_t steps = settings.steps.value();
    if (const auto* const allocation = std::get_if<mechanisms::Allocation>(&settings.sampler); allocation != nullptr) {
      const std::uint64_t rounds = allocation->rounds().value();
      return fmt::format("{} epochs of {} batches of about {:.0f} {}", steps / rounds, rounds,
                         static_cast<double>(training.value()) / static_cast<double>(rounds), what);
    }
    if (own.largest_batch) return fmt::format("{} steps of about {} records, at most {}", steps, size, *own.largest_batch);
    return fmt::format("{} steps of {} {} {}", steps, own.sampling == Sampling::fixed ? "exactly" : "about", size, what);
  }

  [[nodiscard]] static StepSchedule schedule_of(const DpSgdPlan& own) {
    if (own.schedule == Schedule::constant) return StepSchedule::constant;
    if (own.schedule == Schedule::inverse_root) return StepSchedule::inverse_square_root;
    return StepSchedule::inverse;
  }
};

}  // namespace

std::unique_ptr<Algorithm> dp_sgd_algorithm() { return std::make_unique<DpSgd>(); }

}  // namespace surety::jobs
