// Streams: follow the regularized leader on noisy prefix sums of gradients.
#include <surety/optimizers/streams/private_ftrl.h>

#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/algorithms/prefix_sums.h>

namespace surety::jobs {
namespace {

using namespace optimizers;

class PrivateFtrlAlgorithm final : public BallAlgorithm<PrivateFtrlPlan> {
 public:
  PrivateFtrlAlgorithm() : BallAlgorithm{"Streams: follow the regularized leader on noisy prefix sums of gradients (DP-FTRL)."} {}

 protected:
  void fields(FieldTable& table, PrivateFtrlPlan& own, TrainPlan& shared) const override {
    add_stream_fields(table, own, shared, "the loss's bound for rows of norm 1");
    table.add("step-size", own.step_size, "Of each step", AnyNumber{}).standard("needed");
    add_factorization(table, own);
  }

  std::unique_ptr<TrainingRun> run_of(const PrivateFtrlPlan& own, const TrainPlan& shared, const TrainContext& context) const override {
    return with_objective(shared, [&](const auto& objective) {
      const Radius radius = ball_radius(shared);
      const Count steps = most_records(own, shared);
      if (!own.step_size) refuse_plan("{} is missing: private-ftrl has no default that suits every stream", "step-size"_field);
      const PrivateFtrlOptions settings{
          .steps = steps, .adjacency = shared.target.adjacency, .clip = clip_of(shared, objective), .step_size = StepSize{*own.step_size}};
      return on_sums(own, shared, context, factorization_of(own), objective, settings, [objective, radius, settings](Count features) {
        return PrivateFtrl{objective, L2Ball{radius}, settings, std::vector<double>(features.value(), 0.0)};
      });
    });
  }
};

}  // namespace

std::unique_ptr<Algorithm> private_ftrl_algorithm() { return std::make_unique<PrivateFtrlAlgorithm>(); }

}  // namespace surety::jobs
