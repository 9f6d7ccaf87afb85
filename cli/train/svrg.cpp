// Stochastic gradients of reduced variance: a noisy gradient of all records in each epoch, and secret batches between.
#include <algorithm>

#include <surety/accounting/accountants/best.h>
#include <surety/optimizers/empirical_risk/svrg.h>
#include <surety/optimizers/empirical_risk/svrg_calibration.h>

#include "../validators.h"
#include "algorithms.h"
#include "on_file.h"
#include "penalty.h"
#include "secret_batches.h"

namespace surety::cli {
namespace {

using namespace optimizers;
using namespace data;

class Svrg final : public FileAlgorithm {
 public:
  explicit Svrg(SvrgVariant variant)
      : FileAlgorithm{variant == SvrgVariant::svrg ? "svrg" : "svrg++",
                      variant == SvrgVariant::svrg
                          ? "Gradients of reduced variance: one of all records in each epoch, secret batches between."
                          : "svrg with twice as many batches in each epoch as in the one before."},
        variant_{variant},
        epochs_{variant == SvrgVariant::svrg ? 5U : 3U} {}

  void add_options(OptionTable& table, TrainOptions& shared) override {
    add_split(table, shared);
    add_records(table, records_);
    table.add("--epochs", epochs_, "Gradients of all records", whole_number(1, max_count));
    table.add("--inner-steps", inner_steps_,
              variant_ == SvrgVariant::svrg ? "Batches of an epoch" : "Batches of the first epoch; twice as many in each later one",
              whole_number(1, max_count));
    table.add("--step-size", step_size_, "Of each step", number()).standard("1 / (5 smoothness)");
    add_regularization(table, regularization_);
    add_clip(table, shared, "the loss's bound for rows of norm 1");
    add_radius(table, shared, "everywhere");
    add_l1(table, l1_);
    add_threads(table, threads_);
    table.group("Secret batches");
    add_sampling(table, sampling_, "poisson, under replace-one fixed");
    add_batch_size(table, batch_size_, "1/400 of the records trained on");
    table.group("Privacy");
    table.add("--noise", noise_, "calibrated; the printed noise, paper, is refused with the reason");
  }

  std::vector<std::pair<std::string, std::string>> refusals() const override {
    return {{"--steps", fmt::format("is not for {}, which takes --inner-steps in each of its --epochs", name())}};
  }

  [[nodiscard]] std::string why_no_units() const override {
    return "its account is about what one record adds to full gradients and to batches";
  }
  std::unique_ptr<TrainingRun> prepare(const TrainOptions& shared, const Source& source, Team&) const override {
    const AnyObjective objective = any_objective_of(shared);
    const Target target = shared.run.target();
    const Count training = training_count(shared, records_);
    const std::uint64_t size = batch_size_of(batch_size_, training, 400);
    const std::string sampling = sampling_.value_or(target.adjacency == Adjacency::replace_one ? "fixed" : "poisson");
    auto settings = std::make_shared<SvrgOptions>(SvrgOptions{.anchor_multiplier = NoiseMultiplier{1},
                                                              .noise_multiplier = NoiseMultiplier{1},
                                                              .sampler = sampler_of(sampling, shared, training, size),
                                                              .adjacency = target.adjacency,
                                                              .variant = variant_,
                                                              .epochs = Count{epochs_},
                                                              .inner_steps = Count{inner_steps_},
                                                              .clip = clip_of(shared, objective),
                                                              .public_count = training,
                                                              .threads = threads_of(threads_),
                                                              .progress = progress_bar(epochs_)});
    if (step_size_) settings->step_size = StepSize{*step_size_};
    static_cast<void>(require_smoothness(objective, 1, name()));
    const std::uint64_t inner = all_inner_steps(*settings).value();
    if (noise_ == "paper") refuse_printed_svrg_noise(training, Count{inner});
    if (noise_ != "calibrated") invalid(fmt::format("--noise is '{}', must be calibrated for {}", one_line(noise_), name()));
    return on_file(
        shared,
        {.extent = fmt::format("{} epochs, {} steps of {} records in all", epochs_, inner, size),
         .records = records_,
         .public_count = records_,
         .read = reader_for(shared, source, objective),
         .calibrate = [settings, target] { return calibrated(*settings, target); },
         .run =
             [settings, objective, penalty = Penalty{l1_, shared.radius, regularization_}](
                 const Dataset& data, const TrainingUnits&, double noise, accounting::Reservation& reservation, mechanisms::BitsRef bits) {
               settings->noise_multiplier = NoiseMultiplier{noise};
               return with_sampler(any(settings->sampler), reservation, bits,
                                   [&](SamplingReleaserRef releaser) { return svrg(data, objective, penalty, *settings, releaser); });
             }});
  }

 private:
  /// Sets the noise on the gradients of all records.
  static CalibratedNoise calibrated(SvrgOptions& settings, const Target& target) {
    const SvrgNoise found = calibrate_svrg(settings, target);
    settings.anchor_multiplier = found.anchor_multiplier;
    // delta(epsilon) <= delta is proved, so epsilon(delta) <= epsilon is, whatever another accountant can show.
    const Enclosure epsilon = accounting::quick_epsilon(found.event, target.delta);
    return {.event = found.event,
            .epsilon = {std::min(epsilon.lower, target.epsilon.value()), std::min(epsilon.upper, target.epsilon.value())},
            .value = found.noise_multiplier.value(),
            .sigma = summed_sigma(found.anchor_multiplier, *settings.clip, target.adjacency)};
  }

  SvrgVariant variant_;
  std::optional<std::uint64_t> records_;
  std::uint64_t epochs_;
  std::uint64_t inner_steps_ = 100;
  std::optional<double> step_size_;
  double regularization_ = 1e-4;
  std::optional<double> l1_;
  std::optional<std::uint64_t> threads_;
  std::optional<std::string> sampling_;
  std::optional<std::uint64_t> batch_size_;
  std::string noise_ = "calibrated";
};

}  // namespace

std::unique_ptr<Algorithm> svrg_algorithm() { return std::make_unique<Svrg>(SvrgVariant::svrg); }
std::unique_ptr<Algorithm> svrg_plus_plus_algorithm() { return std::make_unique<Svrg>(SvrgVariant::svrg_plus_plus); }

}  // namespace surety::cli
