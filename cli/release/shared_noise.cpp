#include "shared_noise.h"

#include <cmath>
#include <functional>
#include <optional>
#include <utility>
#include <variant>

#include <surety/accounting/accountants/best.h>
#include <surety/accounting/calibration/best_cost.h>

namespace surety::cli {
namespace {

using namespace statistics;
using EventOfScale = std::function<Event(double)>;
constexpr double lowest_scale = 0x1p-600;
constexpr double highest_scale = 0x1p600;

/// The cost of `event(value)` where its certified bounds meet the target.
std::optional<Solution> meeting(const EventOfScale& event, double value, const Target& target, const CostFunctions& cost) {
  const Event made = event(value);
  const Enclosure epsilon = cost.epsilon(made, target.delta);
  if (epsilon.upper > target.epsilon.value()) return std::nullopt;
  const Enclosure delta = cost.delta(made, target.epsilon);
  if (delta.upper > target.delta.value()) return std::nullopt;
  return Solution{.value = value, .event = made, .epsilon = epsilon, .delta = delta, .failing = std::nullopt};
}

/// A scale of Laplace noise that may be the solution: that of one release by its curve 1 - exp((epsilon - 1 / b) / 2), that of several at
/// delta = 0, where their epsilons add; nothing otherwise.
std::optional<double> propose_laplace(const std::vector<WeightedStatistic>& queries, const Target& target) {
  if (!(target.epsilon.value() > 0)) return std::nullopt;
  const bool is_one_sum = queries.size() == 1 && !std::holds_alternative<QuantileOf>(queries.front().statistic.of) &&
                          !std::holds_alternative<KeysOf>(queries.front().statistic.of);
  if (!is_one_sum && target.delta.value() > 0) return std::nullopt;
  double numerator = 0;
  for (const auto& query : queries) numerator += std::sqrt(query.weight);
  const double proposed = numerator / (target.epsilon.value() - 2 * std::log1p(-target.delta.value()));
  return proposed > lowest_scale && proposed < highest_scale ? std::optional{proposed} : std::nullopt;
}

/// The scale of Laplace noise that meets the target. The accountant decides about what is proposed, which spares a search: all values but a
/// few are far from the target.
Solution solve_laplace(const std::vector<WeightedStatistic>& queries, const EventOfScale& event, const Target& target,
                       const CostFunctions& cost) {
  if (const auto proposed = propose_laplace(queries, target)) {
    for (double margin = 0x1p-52; margin < 0x1p-20; margin *= 2) {
      if (auto found = meeting(event, *proposed * (1 + margin), target, cost)) return *std::move(found);
    }
  }
  return solve(event, target, {.name = "scale", .lowest = lowest_scale, .highest = highest_scale}, cost);
}

Solution calibrated(const std::vector<WeightedStatistic>& queries, const Target& target, NoiseFamily family) {
  const EventOfScale event = [&](double scale) { return event_of(queries, family, scale); };
  const CostFunctions cost = accounting::best_cost(target);
  if (family == NoiseFamily::laplace) return solve_laplace(queries, event, target, cost);
  return solve(event, target, {.name = "noise multiplier", .lowest = lowest_scale, .highest = highest_scale}, cost);
}

/// Whether the sum of weight times variance over squared l2 sensitivity is smaller than with Laplace noise. The variances are s^2 / w times
/// the squared l2 sensitivity, and 2 s^2 / w times the squared l1 sensitivity; those of quantiles are of their rank errors.
bool gaussian_is_better(const std::vector<WeightedStatistic>& queries, double gaussian, double laplace) {
  double of_gaussian = 0;
  double of_laplace = 0;
  for (const auto& [statistic, weight] : queries) {
    if (std::holds_alternative<QuantileOf>(statistic.of)) {
      // The rank error is 1 / epsilon times what is the same for both: half of the multiplier, or the scale.
      of_gaussian += gaussian * gaussian / 4;
      of_laplace += laplace * laplace;
      continue;
    }
    if (const auto* const keys = std::get_if<KeysOf>(&statistic.of)) {
      const KeyCounts counts{keys->most_keys, statistic.adjacency};
      const double ratio = counts.l1_sensitivity().value() / counts.l2_sensitivity().value();
      of_gaussian += gaussian * gaussian;
      of_laplace += 2 * laplace * laplace * ratio * ratio;
      continue;
    }
    const StatisticSum sum{statistic, grid_for(statistic, NoiseMultiplier{laplace})};
    const double ratio = sum.l1_sensitivity().value() / sum.l2_sensitivity().value();
    of_gaussian += gaussian * gaussian;
    of_laplace += 2 * laplace * laplace * ratio * ratio;
  }
  return of_gaussian < of_laplace;
}

}  // namespace

CalibratedQueries choose_noise(const std::vector<WeightedStatistic>& queries, const Target& target, const std::string& noise,
                               double confidence) {
  const auto with_parts = [&](Solution cost, NoiseFamily family) {
    auto parts = parts_of(queries, family, cost.value, confidence);
    return CalibratedQueries{std::move(cost), std::move(parts)};
  };
  if (noise == "gaussian") return with_parts(calibrated(queries, target, NoiseFamily::gaussian), NoiseFamily::gaussian);
  auto laplace = calibrated(queries, target, NoiseFamily::laplace);
  if (noise == "laplace" || target.delta.value() == 0) return with_parts(std::move(laplace), NoiseFamily::laplace);
  auto gaussian = calibrated(queries, target, NoiseFamily::gaussian);
  if (gaussian_is_better(queries, gaussian.value, laplace.value)) return with_parts(std::move(gaussian), NoiseFamily::gaussian);
  return with_parts(std::move(laplace), NoiseFamily::laplace);
}

}  // namespace surety::cli
