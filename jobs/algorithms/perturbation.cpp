// A minimum and noise: on what is found, or on what is minimized.
#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/answers/best.h>
#include <surety/optimizers/empirical_risk/objective_perturbation.h>
#include <surety/optimizers/empirical_risk/output_perturbation.h>

#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/algorithms/on_file.h>
#include <surety/jobs/doors/releasers.h>

namespace surety::jobs {
namespace {

using namespace optimizers;
using namespace data;

/// What both share.
template <class Own>
class Perturbation : public FileAlgorithm<Own> {
 public:
  using FileAlgorithm<Own>::FileAlgorithm;

  std::vector<RefusedField> refusals() const override {
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
    if (!(lambda.value() > 0)) refuse_plan("{} is 0, must be greater than 0 for {}", "regularization"_field, Own::name);
    return lambda;
  }
};

class OutputPerturbationRun final : public LoneRun {
 public:
  OutputPerturbationRun(const OutputPerturbationPlan& own, const TrainPlan& shared, AnyConvexObjective loss,
                        OutputPerturbationOptions settings)
      : LoneRun{own, shared, {.objective = loss, .extent = "one release", .public_count = own.public_count}},
        loss_{std::move(loss)},
        settings_{std::move(settings)} {}

  CalibratedNoise calibrate() override {
    return calibrated([&](NoiseMultiplier z) { return with_what_is_beside(gaussian(z, target().adjacency)); }, target());
  }

 protected:
  std::vector<double> learn(const Dataset& data, double noise, accounting::Reservation& reservation, mechanisms::BitsRef bits) override {
    auto noisy = settings_;
    noisy.noise = NoiseMultiplier{noise};
    return output_perturbation(data, loss_, noisy, *releasers().of_vector(reservation, bits));
  }
  void check(const TrainedNumbers& numbers) const override {
    // A private number of records may be 0, which is no Count.
    const Count count = settings_.public_count ? *settings_.public_count : Count{numbers.records};
    static_cast<void>(minimizer_sensitivity(loss_, settings_, count, numbers.features));
  }

 private:
  AnyConvexObjective loss_;
  OutputPerturbationOptions settings_;
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

  [[nodiscard]] FieldText why_no_units(const TrainPlan& plan) const override {
    return this->unless_records(plan, "its proof is about what one record moves the minimum by");
  }
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
    return std::make_unique<OutputPerturbationRun>(own, shared, objective, settings);
  }
};

class ObjectivePerturbationRun final : public LoneRun {
 public:
  ObjectivePerturbationRun(const ObjectivePerturbationPlan& own, const TrainPlan& shared, AnyConvexObjective loss,
                           ObjectivePerturbationOptions settings)
      : LoneRun{own,
                shared,
                {.objective = loss,
                 .extent = "one release",
                 .records = own.records,
                 .public_count = own.records,
                 .count = {.is_pure = true, .public_records = settings.records.value()}}},
        loss_{std::move(loss)},
        settings_{std::move(settings)} {}

  /// Sets the noise in the objective and the part of epsilon that it may cost.
  CalibratedNoise calibrate() override {
    const Delta of_output{target().delta.value() / 16};
    const double epsilon =
        target().epsilon.value() - usable_count().pure_epsilon() -
        accounting::epsilon(accounting::ClosedForm{}, gaussian(settings_.output_multiplier, target().adjacency), of_output).upper;
    if (!(epsilon > 0)) {
      refuse_plan("{} is {}, must be more than what the noise on the minimum costs", "epsilon"_field, target().epsilon.value());
    }
    const Delta of_minimum{target().delta.value() - of_output.value()};
    // By basic composition it fits; what an audit can show of it is a little wider, and must fit as well.
    double excess = 0;
    for (int round = 0; round < 4; ++round) {
      settings_.epsilon = objective_perturbation_epsilon(Epsilon{epsilon - excess}, of_minimum);
      settings_.noise_multiplier = objective_perturbation_multiplier(settings_, perturbed_loss(loss_), of_minimum);
      const Event event = with_what_is_beside(plan(settings_, loss_));
      const Enclosure cost = accounting::quick_epsilon(event, target().delta);
      if (cost.upper <= target().epsilon.value()) {
        return {.event = event, .epsilon = cost, .value = settings_.noise_multiplier.value()};
      }
      excess += 1.01 * (cost.upper - target().epsilon.value());
    }
    refuse(ErrorCode::unreachable, "{} is {}, which no noise of objective-perturbation is shown to keep at delta = {}", "epsilon"_field,
           target().epsilon.value(), target().delta.value());
  }

 protected:
  std::vector<double> learn(const Dataset& data, double /*noise*/, accounting::Reservation& reservation,
                            mechanisms::BitsRef bits) override {
    return objective_perturbation(data, loss_, settings_, *releasers().perturbing(reservation, bits));
  }
  void check(const TrainedNumbers& numbers) const override {
    static_cast<void>(perturbed_minimum_distance(loss_, settings_, numbers.features));
  }

 private:
  AnyConvexObjective loss_;
  ObjectivePerturbationOptions settings_;
};
class ObjectivePerturbation final : public Perturbation<ObjectivePerturbationPlan> {
 public:
  ObjectivePerturbation() : Perturbation{"The minimum of the risk with a random linear term, and a little noise on it."} {}

 protected:
  void fields(FieldTable& table, ObjectivePerturbationPlan& own, TrainPlan& shared) const override {
    add_perturbation(table, own, shared);
    add_records(table, own.records);
  }

  [[nodiscard]] FieldText why_no_units(const TrainPlan& plan) const override {
    return this->unless_records(plan, "its proof needs a Hessian of rank one from whatever is replaced, which is one record");
  }
  std::unique_ptr<TrainingRun> run_of(const ObjectivePerturbationPlan& own, const TrainPlan& shared,
                                      const TrainContext& /*context*/) const override {
    const AnyConvexObjective objective = smooth_objective_of(shared);
    const Target target = shared.target;
    if (target.adjacency == Adjacency::add_or_remove_one) {
      refuse_plan("{} is add-or-remove-one, must be replace-one or zero-out for objective-perturbation", "adjacency"_field);
    }
    // What is released is known so closely beforehand that much noise on it is little: nearly all of the budget is for the minimum.
    const ObjectivePerturbationOptions settings{.records = training_count(own, shared, own.records),
                                                .noise_multiplier = NoiseMultiplier{1},
                                                .epsilon = target.epsilon,
                                                .regularization = regularization_of(own),
                                                .adjacency = target.adjacency,
                                                .clip = clip_of(shared, objective),
                                                .output_multiplier = NoiseMultiplier{1000},
                                                .threads = threads_of(own.threads)};
    return std::make_unique<ObjectivePerturbationRun>(own, shared, objective, settings);
  }
};

}  // namespace

std::unique_ptr<Algorithm> output_perturbation_algorithm() { return std::make_unique<OutputPerturbation>(); }
std::unique_ptr<Algorithm> objective_perturbation_algorithm() { return std::make_unique<ObjectivePerturbation>(); }

}  // namespace surety::jobs
