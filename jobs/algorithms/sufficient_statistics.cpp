// Least squares from one release.
#include <fmt/format.h>

#include <surety/base/text/safe_text.h>
#include <surety/data/features/features.h>
#include <surety/optimizers/empirical_risk/population_intervals.h>
#include <surety/optimizers/empirical_risk/sufficient_statistics.h>
#include <surety/optimizers/models/linear_map.h>
#include <surety/optimizers/models/shapes.h>

#include <surety/jobs/algorithms/algorithms.h>
#include <surety/jobs/algorithms/on_file.h>
#include <surety/jobs/plans/choice_text.h>

namespace surety::jobs {
namespace {

using namespace optimizers;
using namespace data;

/// "lncoins", "hlthg=1" or "(intercept)".
std::string text_of(const FeatureName& name) {
  if (!name.column) return "(intercept)";
  return one_line(name.category ? *name.column + "=" + *name.category : *name.column);
}

/// Intervals that hold all weights at once, in their order.
struct Ends {
  std::vector<double> lower;
  std::vector<double> upper;
};

template <class Intervals>
Ends ends_of(const Intervals& found) {
  Ends ends;
  for (std::size_t i = 0; i < found.centre.size(); ++i) {
    ends.lower.push_back(found.centre[i] - found.half_width[i]);
    ends.upper.push_back(found.centre[i] + found.half_width[i]);
  }
  return ends;
}

/// Where the model is a linear map of cells, the coefficients of its columns in their units, which are the weights times positive numbers. Not the intercept, which
/// is a sum of all weights.
std::optional<Ends> ends_in_columns(const Ends& ends, const Model& model) {
  if (why_not_linear(model)) return std::nullopt;
  const auto coefficients_of = [&](const std::vector<double>& weights) {
    Model other = model;
    other.weights = weights;
    return linear_map(other).coefficients;
  };
  return Ends{.lower = coefficients_of(ends.lower), .upper = coefficients_of(ends.upper)};
}

/// A line for each feature, and fields of `json`. \param heading what the line before them says
void tell_ends(TrainingFacts& facts, nlohmann::json& json, const std::string& field, const std::string& heading, const Ends& ends,
               const Model& model) {
  std::vector<std::string> names;
  for (const auto& name : feature_names(model.features)) names.push_back(text_of(name));
  const auto in_columns = ends_in_columns(ends, model);
  facts.lines.emplace_back(field, heading + (in_columns ? "; in units of the columns" : "; of the features as they enter"));
  const auto& [lower, upper] = in_columns ? *in_columns : ends;
  for (std::size_t i = 0; i < lower.size(); ++i) {
    facts.lines.emplace_back("  " + names[i], fmt::format("in [{:.4g}, {:.4g}]", lower[i], upper[i]));
  }
  json["from"] = ends.lower;
  json["to"] = ends.upper;
  json["names"] = names;
  if (in_columns) json["in_columns"] = {{"from", in_columns->lower}, {"to", in_columns->upper}};
}

/// What the release says of the coefficients beside the weights of the model: their order is that of the weights.
void tell_intervals(TrainingFacts& facts, const std::optional<CoefficientIntervals>& found, Confidence confidence, RidgeRule rule,
                    const Model& model) {
  nlohmann::json json{{"confidence", confidence.value()}, {"from", nullptr}, {"to", nullptr}};
  if (found) {
    tell_ends(
        facts, json, "intervals",
        fmt::format("of all coefficients at once, with confidence {} over the noise: about the same fit of these records without noise",
                    confidence.value()),
        ends_of(*found), model);
  } else {
    facts.lines.emplace_back("intervals", rule == RidgeRule::fixed
                                              ? "none of the coefficients: the noise is too large for some direction of the features"
                                              : "none of the coefficients: the ridge depends on the noise");
  }
  facts.fields["coefficient_intervals"] = std::move(json);
}

/// Why a plan has no intervals for a population; empty where it may have.
std::string why_no_population(const TrainPlan& plan) {
  if (plan.has_unit()) return "rows of one unit are not independent";
  if (plan.source.weight) return "records have weights";
  return plan.target.adjacency == Adjacency::add_or_remove_one ? "the number of records is private" : "";
}

/// What the release says of the law that records are draws of, in the order of the weights.
void tell_population(TrainingFacts& facts, const std::optional<PopulationIntervals>& found, Confidence confidence,
                     const std::string& why_not, const Model& model) {
  nlohmann::json json{{"confidence", confidence.value()}, {"from", nullptr}, {"to", nullptr}};
  if (!found) {
    const std::string reason = why_not.empty() ? "the noise is too large for some direction of the features" : why_not;
    json["why_not"] = reason;
    facts.lines.emplace_back("population", "none of the coefficients: " + reason);
    facts.fields["population_intervals"] = std::move(json);
    return;
  }
  constexpr std::string_view needs =
      "records are independent, labels linear in the features as they enter, their errors of one variance, and hardly any record is clipped, damaged or beyond the label's bounds";
  tell_ends(facts, json, "population",
            fmt::format("of all coefficients at once, with confidence {} over noise and sampling, where {}", confidence.value(), needs),
            ends_of(*found), model);
  json["needs"] = needs;
  facts.fields["population_intervals"] = std::move(json);
}

class SufficientStatisticsRun final : public OptionsRun<RankRun, SufficientStatisticsOptions> {
 public:
  using OptionsRun::OptionsRun;

 protected:
  std::vector<double> learn(Dataset&& data, const TrainingUnits& units, double noise, const TrainingDoors& doors) override {
    auto its = noisy(noise, units);
    its.unit_ends = units.ends;
    its.relations = linear_relations(features());
    return doors.learn([&](Releaser& releaser) {
      const auto moments = release_moments(data, its, releaser);
      intervals_ = coefficient_intervals(moments, confidence());
      if (!why_no_population(shared()).empty()) return ridge_weights(moments);
      // Their number is public here, and `units` knows it on several ranks.
      const Count records = units.count ? *units.count : Count{data.size()};
      population_ = population_intervals(moments, records, confidence());
      if (const auto values = value_functions(features()); population_ && !values.empty()) {
        errors_ = standard_errors(moments, records, values);
      }
      return ridge_weights(moments);
    });
  }
  void check(const TrainedNumbers& numbers) const override { require_joint_moments(numbers.features); }
  [[nodiscard]] bool adds_up_units() const override { return true; }
  void complete(Model& model) const override { model.standard_errors = errors_.value_or(std::vector<double>{}); }
  void tell(TrainingFacts& facts, const Model& model) const override {
    tell_intervals(facts, intervals_, confidence(), settings().ridge_rule, model);
    tell_population(facts, population_, confidence(), why_no_population(shared()), model);
  }

 private:
  [[nodiscard]] Confidence confidence() const { return Confidence{own<SufficientStatisticsPlan>().confidence}; }

  std::optional<CoefficientIntervals> intervals_;
  std::optional<PopulationIntervals> population_;
  std::optional<std::vector<double>> errors_;
};

class SufficientStatistics final : public FileAlgorithm<SufficientStatisticsPlan> {
 public:
  SufficientStatistics() : FileAlgorithm{"Least squares from one release of the second moment of features and label together."} {}

  [[nodiscard]] bool takes_private_ranges() const override { return true; }
  [[nodiscard]] bool runs_on_ranks() const override { return true; }
  [[nodiscard]] bool takes_weights() const override { return true; }
  [[nodiscard]] FieldText why_no_units(const TrainPlan& /*plan*/) const override { return {}; }

 protected:
  void fields(FieldTable& table, SufficientStatisticsPlan& own, TrainPlan& shared) const override {
    add_split(table, own, shared);
    table.add("label-weight", own.label_weight, "Of the label beside the features, which share one clip", AnyNumber{});
    table.add("ridge", own.ridge, "Ridge over the size of the noise", AnyNumber{});
    table.add("ridge-rule", own.ridge_rule,
              "fixed; or least-eigenvalue: only what the least eigenvalue of the released matrix lacks of it, without intervals");
    table.add("confidence", own.confidence, "Of the intervals of all coefficients together, over the noise", AnyNumber{});
    add_threads(table, own.threads);
    add_timeout(table, own);
    table.group("Problem and algorithm");
  }

  std::unique_ptr<TrainingRun> run_of(const SufficientStatisticsPlan& own, const TrainPlan& shared,
                                      const TrainContext& context) const override {
    if (shared.problem.loss != Loss::squared) refuse_plan("{} is {}, must be squared for {}", "loss"_field, shared.problem.loss, name());
    TrainPlan with_clip = shared;
    const auto labels = label_range(shared.problem);
    if (labels) with_clip.problem.clip = labels->bound.value();  // no gradient is taken, so none is clipped
    const AnyObjective objective = any_objective_of(with_clip);
    SufficientStatisticsOptions settings{
        .noise_multiplier = NoiseMultiplier{1},
        .label_bound = labels.value().bound,
        .adjacency = shared.target.adjacency,
        .label_weight = LabelWeight{own.label_weight},
        .ridge = RidgeFactor{own.ridge},
        .ridge_rule = own.ridge_rule == RidgeChoice::fixed ? RidgeRule::fixed : RidgeRule::least_eigenvalue,
        .threads = threads_of(own.threads)};
    static_cast<void>(Confidence{own.confidence});
    return std::make_unique<SufficientStatisticsRun>(
        settings, own, shared,
        FileNeeds{.objective = objective, .extent = "one release", .needs_no_count = true, .keep = KeepRows::in_their_file}, context.team);
  }
};

}  // namespace

std::unique_ptr<Algorithm> sufficient_statistics_algorithm() { return std::make_unique<SufficientStatistics>(); }

}  // namespace surety::jobs
