// A minimum and noise: on what is found, or on what is minimized.
#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/optimizers/empirical_risk/objective_perturbation.h>
#include <surety/optimizers/empirical_risk/output_perturbation.h>

#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/algorithms/on_file.h>

namespace surety::jobs {
namespace {

using namespace optimizers;
using namespace data;

/// What both share.
template <class Own>
class Perturbation : public FileAlgorithm<Own> {
 public:
  using FileAlgorithm<Own>::FileAlgorithm;

  std::vector<std::pair<std::string, std::string>> refusals() const override {
    return {{"steps", fmt::format("is not for {}, which finds its minimum to the last digit that matters", Own::name)},
            {"radius", fmt::format("is not for {}, whose minimum is over all weights", Own::name)}};
  }

 protected:
  static void add_perturbation(FieldTable& table, PerturbationPlan& own, TrainPlan& shared) {
    add_split(table, own, shared);
    add_regularization(table, own.regularization);
    add_clip(table, shared, "the loss's bound for rows of norm 1");
    add_threads(table, own.threads);
  }
  /// lambda, which is over all weights.
  [[nodiscard]] static Regularization regularization_of(const PerturbationPlan& own) {
    const Regularization lambda{own.regularization};
    if (!(lambda.value() > 0)) refuse_plan("@regularization is 0, must be greater than 0 for {}", Own::name);
    return lambda;
  }
};

class OutputPerturbation final : public Perturbation<OutputPerturbationPlan> {
 public:
  OutputPerturbation() : Perturbation{"The minimum of the risk, and one vector of noise on it."} {}

 protected:
  void fields(FieldTable& table, OutputPerturbationPlan& own, TrainPlan& shared) const override {
    add_perturbation(table, own, shared);
    table.group("Privacy");
    add_public_count(table, own.public_count);
  }

  [[nodiscard]] std::string why_no_units() const override { return "its proof is about what one record moves the minimum by"; }
  std::unique_ptr<TrainingRun> run_of(const OutputPerturbationPlan& own, const TrainPlan& shared,
                                      const TrainContext& /*context*/) const override {
    const AnyConvexObjective objective = smooth_objective_of(shared);
    const Target target = shared.target;
    OutputPerturbationOptions settings{.noise = NoiseMultiplier{1},
                                       .regularization = regularization_of(own),
                                       .adjacency = target.adjacency,
                                       .clip = clip_of(shared, objective)};
    if (own.public_count) settings.public_count = Count{*own.public_count};
    settings.threads = threads_of(own.threads);
    return on_file(own, shared,
                   {.extent = "one release",
                    .public_count = own.public_count,
                    .read = reader_for(shared, objective),
                    .calibrate = [target]() -> CalibratedNoise {
                      const auto found = calibrate([&](NoiseMultiplier z) { return gaussian(z, target.adjacency); }, target);
                      return {.event = found.event, .epsilon = found.epsilon, .value = found.value.value()};
                    },
                    .run =
                        [settings, objective](const Dataset& data, const TrainingUnits&, double noise, accounting::Reservation& reservation,
                                              mechanisms::BitsRef bits) {
                          auto noisy = settings;
                          noisy.noise = NoiseMultiplier{noise};
                          NoisyVectorReleaser releaser{reservation, bits};
                          return output_perturbation(data, objective, noisy, releaser);
                        },
                    .check =
                        [settings, objective](const Dataset& data) {
                          // A private number of records may be 0, which is no Count.
                          const Count count = settings.public_count ? *settings.public_count : Count{data.size()};
                          static_cast<void>(minimizer_sensitivity(objective, settings, count, data.features()));
                        }});
  }
};

class ObjectivePerturbation final : public Perturbation<ObjectivePerturbationPlan> {
 public:
  ObjectivePerturbation() : Perturbation{"The minimum of the risk with a random linear term, and a little noise on it."} {}

 protected:
  void fields(FieldTable& table, ObjectivePerturbationPlan& own, TrainPlan& shared) const override {
    add_perturbation(table, own, shared);
    add_records(table, own.records);
  }

  [[nodiscard]] std::string why_no_units() const override {
    return "its proof needs a Hessian of rank one from whatever is replaced, which is one record";
  }
  std::unique_ptr<TrainingRun> run_of(const ObjectivePerturbationPlan& own, const TrainPlan& shared,
                                      const TrainContext& /*context*/) const override {
    const AnyConvexObjective objective = smooth_objective_of(shared);
    const Target target = shared.target;
    if (target.adjacency == Adjacency::add_or_remove_one) {
      refuse_plan("@adjacency is add-or-remove-one, must be replace-one or zero-out for objective-perturbation");
    }
    // What is released is known so closely beforehand that much noise on it is little: nearly all of the budget is for the minimum.
    const auto settings =
        std::make_shared<ObjectivePerturbationOptions>(ObjectivePerturbationOptions{.records = training_count(own, shared, own.records),
                                                                                    .noise_multiplier = NoiseMultiplier{1},
                                                                                    .epsilon = target.epsilon,
                                                                                    .regularization = regularization_of(own),
                                                                                    .adjacency = target.adjacency,
                                                                                    .clip = clip_of(shared, objective),
                                                                                    .output_multiplier = NoiseMultiplier{1000},
                                                                                    .threads = threads_of(own.threads)});
    return on_file(
        own, shared,
        {.extent = "one release",
         .records = own.records,
         .public_count = own.records,
         .read = reader_for(shared, objective),
         .calibrate = [settings, target, objective] { return calibrated(*settings, target, objective); },
         .run =
             [settings, objective](const Dataset& data, const TrainingUnits&, double, accounting::Reservation& reservation,
                                   mechanisms::BitsRef bits) {
               NoisyPerturbingReleaser releaser{reservation, bits};
               return objective_perturbation(data, objective, *settings, releaser);
             },
         .check = [settings, objective](
                      const Dataset& data) { static_cast<void>(perturbed_minimum_distance(objective, *settings, data.features())); }});
  }

 private:
  /// Sets the noise in the objective and the part of epsilon that it may cost.
  static CalibratedNoise calibrated(ObjectivePerturbationOptions& settings, const Target& target, ConvexObjectiveRef objective) {
    const Delta of_output{target.delta.value() / 16};
    const double epsilon =
        target.epsilon.value() -
        accounting::epsilon(accounting::ClosedForm{}, gaussian(settings.output_multiplier, target.adjacency), of_output).upper;
    if (!(epsilon > 0)) {
      refuse_plan("@epsilon is {}, must be more than what the noise on the minimum costs", target.epsilon.value());
    }
    // By basic composition it fits; what an audit can show of it is a little wider, and must fit as well.
    double excess = 0;
    for (int round = 0; round < 4; ++round) {
      settings.epsilon = Epsilon{epsilon - excess};
      settings.noise_multiplier =
          objective_perturbation_multiplier(settings, perturbed_loss(objective), Delta{target.delta.value() - of_output.value()});
      const Event event = plan(settings, objective);
      const Enclosure cost = accounting::quick_epsilon(event, target.delta);
      if (cost.upper <= target.epsilon.value()) {
        return {.event = event, .epsilon = cost, .value = settings.noise_multiplier.value()};
      }
      excess += 1.01 * (cost.upper - target.epsilon.value());
    }
    refuse(ErrorCode::unreachable, "@epsilon is {}, which no noise of objective-perturbation is shown to keep at delta = {}",
           target.epsilon.value(), target.delta.value());
  }
};

}  // namespace

std::unique_ptr<Algorithm> output_perturbation_algorithm() { return std::make_unique<OutputPerturbation>(); }
std::unique_ptr<Algorithm> objective_perturbation_algorithm() { return std::make_unique<ObjectivePerturbation>(); }

}  // namespace surety::jobs
