// Steps towards an extreme point of a ball, on streams: chosen from noisy sums of gradients, or, of a polytope, by a private selection.
#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/accountants/zcdp/zcdp.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/optimizers/doors/selector.h>
#include <surety/optimizers/printed/printed_frank_wolfe_noise.h>
#include <surety/optimizers/streams/online_frank_wolfe.h>
#include <surety/optimizers/streams/polyhedral_frank_wolfe.h>

#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/algorithms/prefix_sums.h>

namespace surety::jobs {
namespace {

using namespace optimizers;
using namespace data;

class OnlineFrankWolfeAlgorithm final : public BallAlgorithm<OnlineFrankWolfePlan> {
 public:
  OnlineFrankWolfeAlgorithm() : BallAlgorithm{"Streams: steps towards extreme points of an l_p ball, on noisy prefix sums of gradients."} {}

 protected:
  void fields(FieldTable& table, OnlineFrankWolfePlan& own, TrainPlan& shared) const override {
    add_stream_fields(table, own, shared, "0.5");
    table.add("step-scale", own.step_scale, "s of the steps s / (t + 1)", AnyNumber{}).standard("0.5");
    table.add("norm", own.norm, "p of the ball's norm", AnyNumber{});
    add_factorization(table, own);
    table.add("noise", own.noise, "calibrated, or paper: the printed noise, accounted for", OneOfWords{{"calibrated", "paper"}});
  }

  std::unique_ptr<TrainingRun> run_of(const OnlineFrankWolfePlan& own, const TrainPlan& shared,
                                      const TrainContext& context) const override {
    return with_objective(shared, [&](const auto& objective) {
      const Target target = shared.target;
      const Radius radius = ball_radius(shared);
      const Count steps = most_records(own, shared);
      OnlineFrankWolfeOptions settings{.steps = steps, .adjacency = target.adjacency};
      if (shared.problem.clip) settings.clip = ClippingNorm{*shared.problem.clip};
      if (own.step_scale) settings.step_scale = StepScaleFactor{*own.step_scale};
      const LpBall ball{.p = LpExponent{own.norm}, .radius = radius};
      const auto make = [objective, ball, settings](Count features) { return OnlineFrankWolfe{objective, ball, settings, features}; };
      const auto shape_of = [settings](Count features) { return shape(settings, features); };
      if (own.noise == "paper") {
        if (own.factorization) refuse_plan("@factorization is for calibrated noise, the printed one is that of a tree");
        return on_sums(
            own, shared, context, objective, mechanisms::Factorization::tree, [steps, target] { return printed(steps, target); }, make,
            shape_of);
      }
      return on_sums(own, shared, context, objective, factorization_of(own), calibrated_sums(factorization_of(own), steps, target), make,
                     shape_of);
    });
  }

 private:
  static CalibratedNoise printed(Count steps, const Target& target) {
    const Event event = printed_frank_wolfe_noise(steps, target);
    return {.event = event,
            .epsilon = accounting::epsilon(accounting::ClosedForm{}, event, target.delta),
            .value = printed_noise_multiplier(steps, target).value()};
  }
};

class PolyhedralFrankWolfeAlgorithm final : public BallAlgorithm<PolyhedralFrankWolfePlan> {
 public:
  PolyhedralFrankWolfeAlgorithm() : BallAlgorithm{"Streams: steps towards corners of an l1 ball, each selected privately."} {}

 protected:
  void fields(FieldTable& table, PolyhedralFrankWolfePlan& own, TrainPlan& shared) const override {
    add_stream_fields(table, own, shared, "0.5");
    table.add("step-scale", own.step_scale, "s of the steps s / (t + 1)", AnyNumber{}).standard("0.5");
    table.group("Privacy");
    table.add("noise", own.noise, "Of the selection: gumbel or laplace", OneOfWords{{"gumbel", "laplace"}});
  }

  std::unique_ptr<TrainingRun> run_of(const PolyhedralFrankWolfePlan& own, const TrainPlan& shared,
                                      const TrainContext& context) const override {
    return with_objective(shared, [&](const auto& objective) {
      const Target target = shared.target;
      const Radius radius = ball_radius(shared);
      PolyhedralFrankWolfeOptions settings{
          .steps = most_records(own, shared), .radius = radius, .noise_multiplier = NoiseMultiplier{1}, .adjacency = target.adjacency};
      if (shared.problem.clip) settings.clip = LinfClip{*shared.problem.clip};
      if (own.step_scale) settings.step_scale = StepScaleFactor{*own.step_scale};
      settings.laplace = own.noise == "laplace";
      return on_stream(
          own, shared,
          {.calibrate = [settings, target] { return calibrated(settings, target); },
           .run =
               [feed = Feed{own, context}, settings, objective](RecordStream& records, Count features, double noise,
                                                                accounting::Reservation& reservation, mechanisms::BitsRef bits) {
                 auto noisy = settings;
                 noisy.noise_multiplier = NoiseMultiplier{noise};
                 NoisySelector selector{reservation, bits};
                 return feed(objective, records, PolyhedralFrankWolfe{objective, noisy, features}, selector);
               }});
    });
  }

 private:
  static CalibratedNoise calibrated(const PolyhedralFrankWolfeOptions& settings, const Target& target) {
    const auto found = calibrate(
        [&](NoiseMultiplier z) {
          auto candidate = settings;
          candidate.noise_multiplier = z;
          return plan(candidate);
        },
        target, accounting::Zcdp{});
    return {.event = found.event, .epsilon = found.epsilon, .value = found.value.value()};
  }
};

}  // namespace

std::unique_ptr<Algorithm> online_frank_wolfe_algorithm() { return std::make_unique<OnlineFrankWolfeAlgorithm>(); }
std::unique_ptr<Algorithm> polyhedral_frank_wolfe_algorithm() { return std::make_unique<PolyhedralFrankWolfeAlgorithm>(); }

}  // namespace surety::jobs
