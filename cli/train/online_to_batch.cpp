// Streams: a learner of linear losses made a private one of convex losses, by noisy prefix sums of weighted gradients.
#include <surety/optimizers/streams/online_learner.h>
#include <surety/optimizers/streams/online_to_batch.h>

#include "../validators.h"
#include "algorithms.h"
#include "prefix_sums.h"

namespace surety::cli {
namespace {

using namespace optimizers;
using namespace data;

class OnlineToBatchAlgorithm final : public PrefixSumAlgorithm {
 public:
  OnlineToBatchAlgorithm()
      : PrefixSumAlgorithm{"online-to-batch", "Streams: a learner of linear losses on noisy prefix sums of weighted gradients.", "0.5"} {}

  void add_own_options(OptionTable& table) override {
    table.add("--learner", learner_, "subgradient, dual-averaging, optimistic, strongly-convex or coin-betting",
              one_of({"subgradient", "dual-averaging", "optimistic", "strongly-convex", "coin-betting"}));
  }

  std::unique_ptr<TrainingRun> prepare(const TrainOptions& shared, const Source& source, Team&) const override {
    return with_objective(shared, [&](const auto& objective) {
      const Target target = shared.run.target();
      const L2Ball ball{ball_radius(shared)};
      const Count steps = most_records();
      const ClippingNorm clip{shared.clip.value_or(0.5)};
      OnlineToBatchOptions settings{.steps = steps, .adjacency = target.adjacency};
      settings.scale = FixedScale{.clip = clip};
      if (learner_ == "strongly-convex") settings.strong_convexity = Regularization{0.1};
      const auto with = [&](auto make_learner) {
        return on_sums(
            shared, source, objective, factorization(), calibrated_sums(factorization(), steps, target),
            [objective, settings, make_learner](Count features) {
              return OnlineToBatch{objective, make_learner(std::vector<double>(features.value(), 0.0)), settings};
            },
            [settings](Count features) { return shape(settings, features); });
      };
      if (learner_ == "subgradient") return with([ball](std::vector<double> start) { return SubgradientDescent{ball, std::move(start)}; });
      if (learner_ == "dual-averaging") {
        return with([ball](std::vector<double> start) { return DualAveraging<L2Ball>{ball, std::move(start)}; });
      }
      if (learner_ == "optimistic") {
        return with([ball](std::vector<double> start) { return OptimisticAveraging<L2Ball>{ball, std::move(start)}; });
      }
      if (learner_ == "strongly-convex") {
        return with([ball](std::vector<double> start) { return StronglyConvexDescent{ball, std::move(start)}; });
      }
      // Prefix sums approximate t times a gradient; longer ones count as if of this length, which costs accuracy alone.
      const GradientBound bound{static_cast<double>(steps.value()) * clip.value()};
      return with([ball, bound](std::vector<double> start) {
        return CoinBetting{ball, std::move(start), {.gradient_bound = bound, .wealth = InitialWealth{1}}};
      });
    });
  }

 private:
  std::string learner_ = "subgradient";
};

}  // namespace

std::unique_ptr<Algorithm> online_to_batch_algorithm() { return std::make_unique<OnlineToBatchAlgorithm>(); }

}  // namespace surety::cli
