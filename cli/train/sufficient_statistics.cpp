// Least squares from one release.
#include <surety/accounting/calibration/calibrate.h>
#include <surety/optimizers/empirical_risk/sufficient_statistics.h>

#include "../validators.h"
#include "algorithms.h"
#include "on_file.h"

namespace surety::cli {
namespace {

using namespace optimizers;
using namespace data;

class SufficientStatistics final : public FileAlgorithm {
 public:
  SufficientStatistics()
      : FileAlgorithm{"sufficient-statistics", "Least squares from one release of the second moment of features and label together."} {}

  [[nodiscard]] bool runs_on_ranks() const override { return true; }
  [[nodiscard]] std::string why_no_units() const override { return "its sum is over rows, of which a unit has several"; }

  void add_options(OptionTable& table, TrainOptions& shared) override {
    add_split(table, shared);
    table.add("--label-weight", label_weight_, "Of the label beside the features, which share one clip", number());
    table.add("--ridge", ridge_, "Ridge over the size of the noise", number());
    add_threads(table, threads_);
    add_timeout(table);
    table.group("Problem and algorithm");
  }

  std::unique_ptr<TrainingRun> prepare(const TrainOptions& shared, const Source& source, Team& team) const override {
    if (shared.loss != SquaredLoss::name) invalid(fmt::format("--loss is {}, must be squared for {}", shared.loss, name()));
    TrainOptions with_clip = shared;
    with_clip.clip = shared.label_bound;  // no gradient is taken, so none is clipped
    const AnyObjective objective = any_objective_of(with_clip);
    SufficientStatisticsOptions settings{.noise_multiplier = NoiseMultiplier{1},
                                         .label_bound = LabelBound{*shared.label_bound},
                                         .adjacency = shared.run.target().adjacency,
                                         .label_weight = LabelWeight{label_weight_},
                                         .ridge = RidgeFactor{ridge_},
                                         .threads = threads_of(threads_)};
    const auto calibrated = [settings, target = shared.run.target()]() -> CalibratedNoise {
      const auto found = calibrate(
          [&](NoiseMultiplier z) {
            auto candidate = settings;
            candidate.noise_multiplier = z;
            return plan(candidate);
          },
          target);
      return {.event = found.event, .epsilon = found.epsilon, .value = found.value.value()};
    };
    return on_file(shared,
                   {.extent = "one release",
                    .needs_no_count = true,
                    .read = reader_for(shared, source, objective),
                    .calibrate = calibrated,
                    .learn =
                        [settings](const Dataset& data, const TrainingUnits& units, double noise, const TrainingDoors& doors) {
                          auto noisy = settings;
                          noisy.public_count = units.count;
                          noisy.noise_multiplier = NoiseMultiplier{noise};
                          return doors.learn([&](ReleaserRef releaser) { return ridge_weights(release_moments(data, noisy, releaser)); });
                        },
                    .check = [](const Dataset& data) { require_joint_moments(data.features()); }},
                   team);
  }

 private:
  double label_weight_ = 0.5;
  double ridge_ = 0.3;
  std::optional<std::uint64_t> threads_;
};

}  // namespace

std::unique_ptr<Algorithm> sufficient_statistics_algorithm() { return std::make_unique<SufficientStatistics>(); }

}  // namespace surety::cli
