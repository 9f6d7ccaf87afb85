// Steps towards an extreme point of a ball, on streams: chosen from noisy sums of gradients, or, of a polytope, by a private selection.
#include <surety/accounting/accountants/closed_form.h>
#include <surety/accounting/accountants/zcdp.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/optimizers/doors/selector.h>
#include <surety/optimizers/printed/printed_frank_wolfe_noise.h>
#include <surety/optimizers/streams/online_frank_wolfe.h>
#include <surety/optimizers/streams/polyhedral_frank_wolfe.h>

#include "../validators.h"
#include "algorithms.h"
#include "prefix_sums.h"

namespace surety::cli {
namespace {

using namespace optimizers;
using namespace data;

class OnlineFrankWolfeAlgorithm final : public PrefixSumAlgorithm {
 public:
  OnlineFrankWolfeAlgorithm()
      : PrefixSumAlgorithm{"online-frank-wolfe", "Streams: steps towards extreme points of an l_p ball, on noisy prefix sums of gradients.",
                           "0.5"} {}

  void add_own_options(OptionTable& table) override {
    table.add("--step-scale", step_scale_, "s of the steps s / (t + 1)", number()).standard("0.5");
    table.add("--norm", norm_, "p of the ball's norm", number());
  }
  void add_noise_options(OptionTable& table) override {
    table.add("--noise", noise_, "calibrated, or paper: the printed noise, accounted for", one_of({"calibrated", "paper"}));
  }

  std::unique_ptr<TrainingRun> prepare(const TrainOptions& shared, const Source& source, Team&) const override {
    return with_objective(shared, [&](const auto& objective) {
      const Target target = shared.run.target();
      const Radius radius = ball_radius(shared);
      const Count steps = most_records();
      OnlineFrankWolfeOptions settings{.steps = steps, .adjacency = target.adjacency};
      if (shared.clip) settings.clip = ClippingNorm{*shared.clip};
      if (step_scale_) settings.step_scale = StepScaleFactor{*step_scale_};
      const LpBall ball{.p = LpExponent{norm_}, .radius = radius};
      const auto make = [objective, ball, settings](Count features) { return OnlineFrankWolfe{objective, ball, settings, features}; };
      const auto shape_of = [settings](Count features) { return shape(settings, features); };
      if (noise_ == "paper") {
        if (is_factorization_given()) invalid("--factorization is for calibrated noise, the printed one is that of a tree");
        return on_sums(
            shared, source, objective, Factorization::tree, [steps, target] { return printed(steps, target); }, make, shape_of);
      }
      return on_sums(shared, source, objective, factorization(), calibrated_sums(factorization(), steps, target), make, shape_of);
    });
  }

 private:
  static CalibratedNoise printed(Count steps, const Target& target) {
    const Event event = printed_frank_wolfe_noise(steps, target);
    return {.event = event,
            .epsilon = accounting::epsilon(accounting::ClosedForm{}, event, target.delta),
            .value = printed_noise_multiplier(steps, target).value()};
  }

  std::optional<double> step_scale_;
  double norm_ = 2;
  std::string noise_ = "calibrated";
};

class PolyhedralFrankWolfeAlgorithm final : public StreamAlgorithm {
 public:
  PolyhedralFrankWolfeAlgorithm()
      : StreamAlgorithm{"polyhedral-frank-wolfe", "Streams: steps towards corners of an l1 ball, each selected privately."} {}

  void add_options(OptionTable& table, TrainOptions& shared) override {
    add_stream_options(table, shared, "0.5");
    table.add("--step-scale", step_scale_, "s of the steps s / (t + 1)", number()).standard("0.5");
    table.group("Privacy");
    table.add("--noise", noise_, "Of the selection: gumbel or laplace", one_of({"gumbel", "laplace"}));
  }

  std::unique_ptr<TrainingRun> prepare(const TrainOptions& shared, const Source& source, Team&) const override {
    return with_objective(shared, [&](const auto& objective) {
      const Target target = shared.run.target();
      const Radius radius = ball_radius(shared);
      PolyhedralFrankWolfeOptions settings{
          .steps = most_records(), .radius = radius, .noise_multiplier = NoiseMultiplier{1}, .adjacency = target.adjacency};
      if (shared.clip) settings.clip = LinfClip{*shared.clip};
      if (step_scale_) settings.step_scale = StepScaleFactor{*step_scale_};
      settings.laplace = noise_ == "laplace";
      return on_stream(shared, source,
                       {.calibrate = [settings, target] { return calibrated(settings, target); },
                        .run =
                            [this, settings, objective](RecordStream& records, Count features, double noise,
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

  std::optional<double> step_scale_;
  std::string noise_ = "gumbel";
};

}  // namespace

std::unique_ptr<Algorithm> online_frank_wolfe_algorithm() { return std::make_unique<OnlineFrankWolfeAlgorithm>(); }
std::unique_ptr<Algorithm> polyhedral_frank_wolfe_algorithm() { return std::make_unique<PolyhedralFrankWolfeAlgorithm>(); }

}  // namespace surety::cli
