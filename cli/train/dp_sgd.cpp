// Stochastic gradient descent on secret batches, each record's gradient clipped.
#include <algorithm>
#include <cmath>

#include <surety/accounting/accountants/best.h>
#include <surety/accounting/calibration/best_cost.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/optimizers/empirical_risk/sampled_sgd.h>

#include "../output.h"
#include "../validators.h"
#include "algorithms.h"
#include "on_file.h"
#include "penalty.h"
#include "secret_batches.h"

namespace surety::cli {
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

CalibratedNoise calibrated(const SampledSgdOptions& settings, const Target& target, const std::optional<double>& given) {
  const auto at = [&](NoiseMultiplier z) {
    auto candidate = settings;
    candidate.noise_multiplier = z;
    return plan(candidate);
  };
  const double clip = settings.clip->value();
  if (given) {
    const Event event = at(NoiseMultiplier{*given});
    const Enclosure epsilon = accounting::quick_epsilon(event, target.delta);
    if (!(epsilon.upper <= target.epsilon.value())) {
      invalid(fmt::format("--noise-multiplier is {}, which costs epsilon in {} at delta = {}, must cost at most the --epsilon {}", *given,
                          text(epsilon), target.delta.value(), target.epsilon.value()));
    }
    return {.event = event, .epsilon = epsilon, .value = *given, .sigma = *given * clip};
  }
  const auto found = calibrate(at, target, accounting::best_cost(target, effort_for(settings, target)));
  return {.event = found.event, .epsilon = found.epsilon, .value = found.value.value(), .sigma = found.value.value() * clip};
}

/// What is sampled and clipped: a record, a unit of several rows by the mean gradient of its rows, or a row of such a unit by itself.
enum class Sampled { record, unit, row_of_unit };

class DpSgd final : public FileAlgorithm {
 public:
  [[nodiscard]] std::string why_no_units() const override { return {}; }
  [[nodiscard]] bool runs_on_ranks() const override { return true; }
  DpSgd() : FileAlgorithm{"dp-sgd", "Stochastic gradient descent on secret batches, each record's gradient clipped."} {}

  void add_options(OptionTable& table, TrainOptions& shared) override {
    add_split(table, shared);
    add_records(table, records_);
    table.add("--epochs", epochs_, "How often a record is met on average", whole_number(1, max_count)).standard("5");
    table.add("--steps", steps_, "Batches, in the place of --epochs", whole_number(1, max_count));
    table.add("--step-size", step_size_, "Of each step", number()).standard("1 / (smoothness + regularization)");
    table.add("--schedule", schedule_,
              "Of the step in round t: constant, inverse-root: step-size / sqrt(t), inverse: step-size / (1 + step-size regularization t)",
              one_of({"constant", "inverse-root", "inverse"}));
    table.add("--momentum", momentum_, "The share of the last direction", number());
    add_regularization(table, regularization_);
    add_clip(table, shared, "the loss's bound for rows of norm 1");
    add_radius(table, shared, "everywhere");
    add_l1(table, l1_);
    table.add("--iterate", iterate_, "Which is the model: last, average; without it the mean of the last half", one_of({"last", "average"}))
        .standard("the mean of the last half");
    table
        .add(
            "--clip-by", clip_by_,
            "With --unit: unit, batches are of units, and the mean gradient of a unit's rows is clipped; or row, batches are of rows, each "
            "clipped, and --records is a public guess of the rows used",
            one_of({"unit", "row"}))
        .standard("unit");
    add_timeout(table);
    table.group("Secret batches");
    table
        .add("--sampling", sampling_,
             "How batches are drawn: poisson; allocated: each record to one batch of an epoch by a draw of its own (add-or-remove-one, "
             "zero-out); "
             "truncated: poisson, of "
             "at most --largest-batch (zero-out, replace-one); fixed: without replacement (replace-one)",
             one_of({"poisson", "allocated", "truncated", "fixed"}))
        .standard("poisson");
    add_batch_size(table, batch_size_, "1/200 of the records trained on");
    table.add("--largest-batch", largest_batch_, "Of --sampling truncated: what is drawn beyond so many records is left out, at random",
              whole_number(1, max_count));
    table.add("--microbatch", microbatch_, "Under replace-one: the mean gradient of so many successive records is clipped",
              whole_number(1, max_count));
    table.add("--noise-multiplier", noise_multiplier_,
              "The noise over --clip, in place of the least that keeps the promise; refused when it does not keep it", number());
  }

  std::unique_ptr<TrainingRun> prepare(const TrainOptions& shared, const Source& source, Team& team) const override {
    const AnyObjective objective = any_objective_of(shared);
    const Target target = shared.run.target();
    const Sampled sampled = what_is_sampled(shared);
    if (team.size() > 1) require_what_ranks_share();
    const Count training = training_count(shared, records_);
    const std::uint64_t size = batch_size_of(batch_size_, training, 200 / std::min<std::uint64_t>(microbatch_, 200));
    const SampledSgdOptions settings = settings_for(shared, objective, training, size);
    return on_file(shared,
                   {.extent = extent_of(settings, training, size, sampled == Sampled::unit ? "units" : "records"),
                    .records = sampled == Sampled::row_of_unit ? std::nullopt : records_,
                    .public_count = records_,
                    .read = reader_for(shared, source, objective, KeepRows::in_their_file),
                    .calibrate = [settings, target, given = noise_multiplier_] { return calibrated(settings, target, given); },
                    .learn =
                        [settings, objective, sampled, penalty = Penalty{l1_, shared.radius, regularization_}](
                            Dataset&& data, const TrainingUnits& units, double noise, const TrainingDoors& doors) {
                          auto noisy = settings;
                          if (sampled == Sampled::unit) noisy.unit_ends = units.ends;
                          noisy.noise_multiplier = NoiseMultiplier{noise};
                          return doors.learn(noisy.sampler, [&](SamplingReleaserRef releaser) {
                            return sampled_sgd(data, objective, penalty, noisy, releaser);
                          });
                        }},
                   team);
  }

 private:
  [[nodiscard]] Sampled what_is_sampled(const TrainOptions& shared) const {
    if (!shared.run.has_unit()) {
      if (clip_by_) invalid("--clip-by is for --unit, which is missing");
      return Sampled::record;
    }
    if (microbatch_ > 1) invalid(fmt::format("--microbatch is {}, must be 1 with --unit: a unit's rows may be in several", microbatch_));
    const bool is_by_row = clip_by_ == "row";
    const auto sampling = sampling_.value_or("poisson");
    if (sampling == "fixed" || sampling == "truncated") {
      invalid(
          fmt::format("--sampling is {}, must be poisson or allocated with --unit: how many units are trained on is private", sampling));
    }
    if (sampling == "allocated" && is_by_row) {
      invalid("--sampling is allocated, must be poisson with --clip-by row: what rows of one unit in an epoch cost is known too roughly");
    }
    return is_by_row ? Sampled::row_of_unit : Sampled::unit;
  }

  /// Who is in a batch is drawn for each record by itself only there.
  void require_what_ranks_share() const {
    const auto sampling = sampling_.value_or("poisson");
    if (sampling != "poisson") invalid(fmt::format("--sampling is {}, must be poisson on several ranks", sampling));
    if (microbatch_ > 1) invalid(fmt::format("--microbatch is {}, must be 1 on several ranks", microbatch_));
  }

  [[nodiscard]] SampledSgdOptions settings_for(const TrainOptions& shared, ObjectiveRef objective, Count training,
                                               std::uint64_t size) const {
    if (size % microbatch_ != 0) {
      invalid(fmt::format("--batch-size is {}, must be a multiple of the {} of --microbatch", size, microbatch_));
    }
    if (steps_ && epochs_) invalid("--steps and --epochs say the same: give one of them");
    const Count units{(training.value() - 1) / microbatch_ + 1};
    const AnySampler sampler = any_sampler_of(shared, units, size / microbatch_);
    const double batches = static_cast<double>(epochs_.value_or(5)) * static_cast<double>(training.value()) / static_cast<double>(size);
    if (!(batches < 0x1p53)) invalid(fmt::format("--epochs is {}, must make fewer than 2^53 batches", *epochs_));
    std::uint64_t steps = steps_.value_or(std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::round(batches))));
    if (const auto* const allocation = std::get_if<mechanisms::Allocation>(&sampler); allocation != nullptr) {
      const std::uint64_t rounds = allocation->rounds().value();
      if (!steps_) steps = epochs_.value_or(5) * rounds;
      if (steps % rounds != 0) {
        invalid(
            fmt::format("--steps is {}, must be a multiple of {} with --sampling allocated: an epoch has so many batches and is paid whole",
                        steps, rounds));
      }
    }
    SampledSgdOptions settings{.noise_multiplier = NoiseMultiplier{1},
                               .sampler = sampler,
                               .steps = Count{steps},
                               .adjacency = shared.run.target().adjacency,
                               .microbatch = Count{microbatch_},
                               .schedule = schedule(),
                               .momentum = MomentumFactor{momentum_},
                               .clip = clip_of(shared, objective),
                               .public_count = training,
                               .progress = progress_bar(steps)};
    if (step_size_) settings.step_size = StepSize{*step_size_};
    if (!settings.step_size) static_cast<void>(require_smoothness(objective, 1, "the default --step-size"));
    if (iterate_) settings.returned = *iterate_ == "average" ? ReturnedIterate{AverageIterate{}} : ReturnedIterate{LastIterate{}};
    static_cast<void>(plan(settings));  // refuses microbatches and samplers under adjacencies that have no theorem for them
    return settings;
  }

  [[nodiscard]] AnySampler any_sampler_of(const TrainOptions& shared, Count units, std::uint64_t size) const {
    const std::string sampling = sampling_.value_or("poisson");
    if (largest_batch_.has_value() != (sampling == "truncated")) {
      invalid(largest_batch_ ? fmt::format("--largest-batch is for --sampling truncated, not for {}", sampling)
                             : "--largest-batch is missing: --sampling truncated needs it");
    }
    if (sampling == "allocated") return allocation_of(units, size);
    if (what_is_sampled(shared) == Sampled::row_of_unit) {
      return mechanisms::PoissonBatchesOfUnits{SamplingRate{static_cast<double>(size) / static_cast<double>(units.value())},
                                               shared.run.unit.most()};
    }
    if (sampling != "truncated") return any(sampler_of(sampling, shared, units, size));
    if (*largest_batch_ % microbatch_ != 0) {
      invalid(fmt::format("--largest-batch is {}, must be a multiple of the {} of --microbatch", *largest_batch_, microbatch_));
    }
    return truncated_of(shared, units, size, *largest_batch_ / microbatch_);
  }

  /// For people.
  [[nodiscard]] std::string extent_of(const SampledSgdOptions& settings, Count training, std::uint64_t size, std::string_view what) const {
    const std::uint64_t steps = settings.steps.value();
    if (const auto* const allocation = std::get_if<mechanisms::Allocation>(&settings.sampler); allocation != nullptr) {
      const std::uint64_t rounds = allocation->rounds().value();
      return fmt::format("{} epochs of {} batches of about {:.0f} {}", steps / rounds, rounds,
                         static_cast<double>(training.value()) / static_cast<double>(rounds), what);
    }
    if (largest_batch_) return fmt::format("{} steps of about {} records, at most {}", steps, size, *largest_batch_);
    return fmt::format("{} steps of {} {} {}", steps, sampling_ == "fixed" ? "exactly" : "about", size, what);
  }

  [[nodiscard]] StepSchedule schedule() const {
    if (schedule_ == "constant") return StepSchedule::constant;
    if (schedule_ == "inverse-root") return StepSchedule::inverse_square_root;
    return StepSchedule::inverse;
  }

  std::optional<std::uint64_t> records_;
  std::optional<std::uint64_t> epochs_;
  std::optional<std::uint64_t> steps_;
  std::optional<double> step_size_;
  std::string schedule_ = "inverse";
  double momentum_ = 0;
  double regularization_ = 1e-4;
  std::optional<double> l1_;
  std::optional<std::string> iterate_;
  std::optional<std::string> clip_by_;
  std::optional<std::string> sampling_;
  std::optional<std::uint64_t> batch_size_;
  std::optional<std::uint64_t> largest_batch_;
  std::uint64_t microbatch_ = 1;
  std::optional<double> noise_multiplier_;
};

}  // namespace

std::unique_ptr<Algorithm> dp_sgd_algorithm() { return std::make_unique<DpSgd>(); }

}  // namespace surety::cli
