// Streams: follow the regularized leader on noisy prefix sums of gradients.
#include <surety/optimizers/streams/private_ftrl.h>

#include "../validators.h"
#include "algorithms.h"
#include "prefix_sums.h"

namespace surety::cli {
namespace {

using namespace optimizers;

class PrivateFtrlAlgorithm final : public PrefixSumAlgorithm {
 public:
  PrivateFtrlAlgorithm()
      : PrefixSumAlgorithm{"private-ftrl", "Streams: follow the regularized leader on noisy prefix sums of gradients.",
                           "the loss's bound for rows of norm 1"} {}

  void add_own_options(OptionTable& table) override { table.add("--step-size", step_size_, "Of each step", number()).standard("needed"); }

  std::unique_ptr<TrainingRun> prepare(const TrainOptions& shared, const Source& source, Team&) const override {
    return with_objective(shared, [&](const auto& objective) {
      const Target target = shared.run.target();
      const Radius radius = ball_radius(shared);
      const Count steps = most_records();
      if (!step_size_) invalid("--step-size is missing: private-ftrl has no default that suits every stream");
      const PrivateFtrlOptions settings{
          .steps = steps, .adjacency = target.adjacency, .clip = clip_of(shared, objective), .step_size = StepSize{*step_size_}};
      return on_sums(
          shared, source, objective, factorization(), calibrated_sums(factorization(), steps, target),
          [objective, radius, settings](Count features) {
            return PrivateFtrl{objective, L2Ball{radius}, settings, std::vector<double>(features.value(), 0.0)};
          },
          [settings](Count features) { return shape(settings, features); });
    });
  }

 private:
  std::optional<double> step_size_;
};

}  // namespace

std::unique_ptr<Algorithm> private_ftrl_algorithm() { return std::make_unique<PrivateFtrlAlgorithm>(); }

}  // namespace surety::cli
