// Steps towards an extreme point of a ball, on streams: chosen from noisy sums of gradients, or, of a polytope, by a private selection.
#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/accountants/zcdp/zcdp.h>
#include <surety/jobs/plans/choice_text.h>
#include <surety/optimizers/printed/printed_frank_wolfe_noise.h>
#include <surety/optimizers/streams/online_frank_wolfe.h>
#include <surety/optimizers/streams/polyhedral_frank_wolfe.h>

#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/algorithms/prefix_sums.h>
#include <surety/jobs/doors/releasers.h>

namespace surety::jobs {
namespace {

using namespace optimizers;
using namespace data;

/// With the printed noise, accounted for.
template <class O, class Make>
class PrintedRun final : public SumsOf<O, OnlineFrankWolfeOptions, Make> {
 public:
  using SumsOf<O, OnlineFrankWolfeOptions, Make>::SumsOf;

  CalibratedNoise calibrate() override {
    const Target& target = this->target();
    const Event event = printed_frank_wolfe_noise(this->steps(), target);
    return {.event = event,
            .epsilon = accounting::epsilon(accounting::ClosedForm{}, event, target.delta),
            .value = printed_noise_multiplier(this->steps(), target).value()};
  }
};

class OnlineFrankWolfeAlgorithm final : public BallAlgorithm<OnlineFrankWolfePlan> {
 public:
  OnlineFrankWolfeAlgorithm()
      : BallAlgorithm{"Streams: steps towards extreme points of an l_p ball, on noisy prefix sums of gradients (DP-TOFW)."} {}

 protected:
  void fields(FieldTable& table, OnlineFrankWolfePlan& own, TrainPlan& shared) const override {
    add_stream_fields(table, own, shared, "0.5, of squared loss half of the label bound");
    table.add("step-scale", own.step_scale, "s of the steps s / (t + 1)", AnyNumber{}).standard("0.5");
    table.add("norm", own.norm, "p of the ball's norm", AnyNumber{});
    add_factorization(table, own);
    table.add("noise", own.noise, "calibrated, or paper: the printed noise, accounted for");
  }

  std::unique_ptr<TrainingRun> run_of(const OnlineFrankWolfePlan& own, const TrainPlan& shared,
                                      const TrainContext& context) const override {
    return with_objective(shared, [&](const auto& objective) -> std::unique_ptr<TrainingRun> {
      const Radius radius = ball_radius(shared);
      const Count steps = most_records(own, shared);
      OnlineFrankWolfeOptions settings{.steps = steps, .adjacency = shared.target.adjacency};
      settings.clip = ClippingNorm{shared.problem.clip.value_or(settings.clip.value() * label_unit(shared))};
      if (own.step_scale) settings.step_scale = StepScaleFactor{*own.step_scale};
      const LpBall ball{LpExponent{own.norm}, radius};
      const auto make = [objective, ball, settings](Count features) { return OnlineFrankWolfe{objective, ball, settings, features}; };
      if (own.noise != PaperNoise::paper) return on_sums(own, shared, context, factorization_of(own), objective, settings, make);
      if (own.factorization) refuse_plan("{} is for calibrated noise, the printed one is that of a tree", "factorization"_field);
      using O = std::decay_t<decltype(objective)>;
      return std::make_unique<PrintedRun<O, std::decay_t<decltype(make)>>>(
          own, shared, context, mechanisms::Factorization::tree, objective, settings, make,
          CountNeeds{.why_not = "for calibrated noise: the printed one spends the whole promise"});
    });
  }
};

template <class O>
class PolyhedralFrankWolfeRun final : public StreamRun {
 public:
  PolyhedralFrankWolfeRun(const PolyhedralFrankWolfePlan& own, const TrainPlan& shared, const TrainContext& context, O objective,
                          const PolyhedralFrankWolfeOptions& settings)
      : StreamRun{own, shared, context}, objective_{std::move(objective)}, settings_{settings} {}

  CalibratedNoise calibrate() override {
    return calibrated([&](NoiseMultiplier z) { return usable_count().with_count(plan_at(settings_, z)); }, target(), accounting::Zcdp{});
  }

 protected:
  std::vector<double> learn(double noise, accounting::Reservation& reservation, mechanisms::BitsRef bits) override {
    auto noisy = settings_;
    noisy.noise_multiplier = NoiseMultiplier{noise};
    const auto selector = releasers().selector(reservation, bits);
    return feed(objective_, PolyhedralFrankWolfe{objective_, noisy, features()}, *selector);
  }

 private:
  O objective_;
  PolyhedralFrankWolfeOptions settings_;
};

class PolyhedralFrankWolfeAlgorithm final : public BallAlgorithm<PolyhedralFrankWolfePlan> {
 public:
  PolyhedralFrankWolfeAlgorithm() : BallAlgorithm{"Streams: steps towards corners of an l1 ball, each selected privately (DP-POFW)."} {}

 protected:
  void fields(FieldTable& table, PolyhedralFrankWolfePlan& own, TrainPlan& shared) const override {
    add_stream_fields(table, own, shared, "0.5, of squared loss half of the label bound");
    table.add("step-scale", own.step_scale, "s of the steps s / (t + 1)", AnyNumber{}).standard("0.5");
    table.group("Privacy");
    table.add("noise", own.noise, "Of the selection: gumbel or laplace");
  }

  std::unique_ptr<TrainingRun> run_of(const PolyhedralFrankWolfePlan& own, const TrainPlan& shared,
                                      const TrainContext& context) const override {
    return with_objective(shared, [&](const auto& objective) -> std::unique_ptr<TrainingRun> {
      const Radius radius = ball_radius(shared);
      PolyhedralFrankWolfeOptions settings{.steps = most_records(own, shared),
                                           .radius = radius,
                                           .noise_multiplier = NoiseMultiplier{1},
                                           .adjacency = shared.target.adjacency};
      settings.clip = LinfClip{shared.problem.clip.value_or(settings.clip.value() * label_unit(shared))};
      if (own.step_scale) settings.step_scale = StepScaleFactor{*own.step_scale};
      settings.laplace = own.noise == SelectionNoise::laplace;
      return std::make_unique<PolyhedralFrankWolfeRun<std::decay_t<decltype(objective)>>>(own, shared, context, objective, settings);
    });
  }
};

}  // namespace

std::unique_ptr<Algorithm> online_frank_wolfe_algorithm() { return std::make_unique<OnlineFrankWolfeAlgorithm>(); }
std::unique_ptr<Algorithm> polyhedral_frank_wolfe_algorithm() { return std::make_unique<PolyhedralFrankWolfeAlgorithm>(); }

}  // namespace surety::jobs
