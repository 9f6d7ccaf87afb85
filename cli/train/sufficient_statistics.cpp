// Least squares from one release.
#include <fmt/format.h>

#include <surety/optimizers/empirical_risk/sufficient_statistics.h>

#include "../validators.h"
#include "algorithms.h"
#include "on_file.h"
#include "report.h"

namespace surety::cli {
namespace {

using namespace optimizers;
using namespace data;

/// What the release says of the coefficients beside the weights of the model: their order is that of the weights.
void tell_intervals(Report& report, const std::optional<CoefficientIntervals>& found, Confidence confidence, RidgeRule rule) {
  nlohmann::json json{{"confidence", confidence.value()}, {"from", nullptr}, {"to", nullptr}};
  if (!found) {
    report.lines.emplace_back("intervals", rule == RidgeRule::fixed
                                               ? "none of the coefficients: the noise is too large for some direction of the features"
                                               : "none of the coefficients: the ridge depends on the noise");
    report.fields["coefficient_intervals"] = std::move(json);
    return;
  }
  std::vector<double> lower;
  std::vector<double> upper;
  for (std::size_t i = 0; i < found->centre.size(); ++i) {
    lower.push_back(found->centre[i] - found->half_width[i]);
    upper.push_back(found->centre[i] + found->half_width[i]);
  }
  report.lines.emplace_back("intervals",
                            fmt::format("of all coefficients at once, with confidence {} over the noise: about the same fit of "
                                        "these records without noise",
                                        confidence.value()));
  for (std::size_t i = 0; i < lower.size(); ++i) {
    report.lines.emplace_back(fmt::format("  w[{}]", i), fmt::format("in [{:.4g}, {:.4g}]", lower[i], upper[i]));
  }
  json["from"] = lower;
  json["to"] = upper;
  report.fields["coefficient_intervals"] = std::move(json);
}

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
    table.add("--ridge-rule", ridge_rule_,
              "fixed; or least-eigenvalue: only what the least eigenvalue of the released matrix lacks of it, without intervals",
              one_of({"fixed", "least-eigenvalue"}));
    table.add("--confidence", confidence_, "Of the intervals of all coefficients together, over the noise", number());
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
                                         .ridge_rule = ridge_rule_ == "fixed" ? RidgeRule::fixed : RidgeRule::least_eigenvalue,
                                         .threads = threads_of(threads_)};
    const Confidence confidence{confidence_};
    const auto intervals = std::make_shared<std::optional<CoefficientIntervals>>();
    return on_file(
        shared,
        {.extent = "one release",
         .needs_no_count = true,
         .read = reader_for(shared, source, objective, KeepRows::in_their_file),
         .calibrate = [settings, target = shared.run.target()] { return calibrated_plan(settings, target); },
         .learn =
             [settings, intervals, confidence](Dataset&& data, const TrainingUnits& units, double noise, const TrainingDoors& doors) {
               auto noisy = settings;
               noisy.public_count = units.count;
               noisy.noise_multiplier = NoiseMultiplier{noise};
               return doors.learn([&](ReleaserRef releaser) {
                 const auto moments = release_moments(data, noisy, releaser);
                 *intervals = coefficient_intervals(moments, confidence);
                 return ridge_weights(moments);
               });
             },
         .check = [](const Dataset& data) { require_joint_moments(data.features()); },
         .tell = [intervals, confidence,
                  rule = settings.ridge_rule](Report& report) { tell_intervals(report, *intervals, confidence, rule); }},
        team);
  }

 private:
  double label_weight_ = 0.5;
  double ridge_ = 0.3;
  std::string ridge_rule_ = "fixed";
  double confidence_ = 0.95;
  std::optional<std::uint64_t> threads_;
};

}  // namespace

std::unique_ptr<Algorithm> sufficient_statistics_algorithm() { return std::make_unique<SufficientStatistics>(); }

}  // namespace surety::cli
