// Streams: a learner of linear losses made a private one of convex losses, by noisy prefix sums of weighted gradients.
#include <surety/optimizers/streams/online_learner.h>
#include <surety/optimizers/streams/online_to_batch.h>

#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/algorithms/prefix_sums.h>

namespace surety::jobs {
namespace {

using namespace optimizers;
using namespace data;

class OnlineToBatchAlgorithm final : public BallAlgorithm<OnlineToBatchPlan> {
 public:
  OnlineToBatchAlgorithm()
      : BallAlgorithm{"Streams: a learner of linear losses on noisy prefix sums of weighted gradients (DP online-to-batch)."} {}

 protected:
  void fields(FieldTable& table, OnlineToBatchPlan& own, TrainPlan& shared) const override {
    add_stream_fields(table, own, shared, "0.5, of squared loss half of the label bound");
    table.add("learner", own.learner, "subgradient, dual-averaging, optimistic, strongly-convex or coin-betting");
    table.add("regularization", own.regularization, "lambda of (lambda / 2) ||w||^2, which is added to the loss", AnyNumber{})
        .standard("0.1 with strongly-convex, which needs it; else 0");
    add_factorization(table, own);
  }

  std::unique_ptr<TrainingRun> run_of(const OnlineToBatchPlan& own, const TrainPlan& shared, const TrainContext& context) const override {
    return with_objective(shared, [&](const auto& objective) {
      const L2Ball ball{ball_radius(shared)};
      const Count steps = most_records(own, shared);
      const ClippingNorm clip{shared.problem.clip.value_or(0.5 * label_unit(shared))};
      OnlineToBatchOptions settings{.steps = steps, .adjacency = shared.target.adjacency};
      settings.scale = FixedScale{.clip = clip};
      const bool is_strongly_convex = own.learner == OnlineLearner::strongly_convex;
      settings.regularization = Regularization{own.regularization.value_or(is_strongly_convex ? 0.1 : 0)};
      if (is_strongly_convex) {
        // The regularized loss is lambda-strongly convex; without lambda none of the losses is strongly convex.
        settings.strong_convexity = settings.regularization;
        if (!(settings.regularization.value() > 0)) {
          refuse_plan("{} is 0, must be greater than 0 for {} strongly-convex", "regularization"_field, "learner"_field);
        }
      }
      const auto factorization = factorization_of(own);
      const auto with = [&](auto make_learner) {
        return on_sums(own, shared, context, factorization, objective, settings, [objective, settings, make_learner](Count features) {
          return OnlineToBatch{objective, make_learner(std::vector<double>(features.value(), 0.0)), settings};
        });
      };
      if (own.learner == OnlineLearner::subgradient)
        return with([ball](std::vector<double> start) { return SubgradientDescent{ball, std::move(start)}; });
      if (own.learner == OnlineLearner::dual_averaging) {
        return with([ball](std::vector<double> start) { return DualAveraging<L2Ball>{ball, std::move(start)}; });
      }
      if (own.learner == OnlineLearner::optimistic) {
        return with([ball](std::vector<double> start) { return OptimisticAveraging<L2Ball>{ball, std::move(start)}; });
      }
      if (own.learner == OnlineLearner::strongly_convex) {
        return with([ball](std::vector<double> start) { return StronglyConvexDescent{ball, std::move(start)}; });
      }
      // Prefix sums approximate t times a gradient; longer ones count as if of this length, which costs accuracy alone.
      const GradientBound bound{static_cast<double>(steps.value()) * clip.value()};
      const InitialWealth wealth{label_unit(shared)};
      return with([ball, bound, wealth](std::vector<double> start) {
        return CoinBetting{ball, std::move(start), {.gradient_bound = bound, .wealth = wealth}};
      });
    });
  }
};

}  // namespace

std::unique_ptr<Algorithm> online_to_batch_algorithm() { return std::make_unique<OnlineToBatchAlgorithm>(); }

}  // namespace surety::jobs
