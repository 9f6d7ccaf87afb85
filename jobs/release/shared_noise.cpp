#include <surety/jobs/release/shared_noise.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/calibration/best_cost.h>
#include <surety/accounting/calibration/solve.h>
#include <surety/accounting/events/words.h>

namespace surety::jobs {
namespace {

using namespace statistics;
using EventOfScale = std::function<Event(double)>;
constexpr double lowest_scale = 0x1p-600;
constexpr double highest_scale = 0x1p600;

/// Bounds so wide take a tenth of the time, and are about as much too high at one scale as they are next to it.
constexpr accounting::Effort roughly{.width = 64 * accounting::Effort{}.width};

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
std::optional<double> propose_laplace(const std::vector<WeightedStatistic>& queries, NoiseFamily family, const Target& target) {
  if (!(target.epsilon.value() > 0)) return std::nullopt;
  const bool is_one_sum = queries.size() == 1 && !is_choice(queries.front().statistic) && keys_of(queries.front().statistic) == nullptr;
  if (!is_one_sum && target.delta.value() > 0) return std::nullopt;
  double numerator = 0;
  for (const auto& query : queries) numerator += added_releases_of(query.statistic, family) * std::sqrt(query.weight);
  const double proposed = numerator / (target.epsilon.value() - 2 * std::log1p(-target.delta.value()));
  return proposed > lowest_scale && proposed < highest_scale ? std::optional{proposed} : std::nullopt;
}

/// The scale of Laplace noise that meets the target. The accountant decides about what is proposed, which spares a search: all values but a
/// few are far from the target.
Solution solve_laplace(const std::vector<WeightedStatistic>& queries, NoiseFamily family, const EventOfScale& event, const Target& target,
                       const CostFunctions& cost) {
  if (const auto proposed = propose_laplace(queries, family, target)) {
    for (double margin = 0x1p-52; margin < 0x1p-20; margin *= 2) {
      if (auto found = meeting(event, *proposed * (1 + margin), target, cost)) return *std::move(found);
    }
  }
  return solve(event, target, {.name = "scale", .lowest = lowest_scale, .highest = highest_scale}, cost);
}

bool is_choice_query(const WeightedStatistic& query) { return is_choice(query.statistic); }

/// Several releases with a choice of bounded range among them: each look at what they cost is a game, which takes up to seconds.
bool is_dear(const std::vector<WeightedStatistic>& queries) {
  std::size_t releases = 0;
  for (const auto& query : queries) releases += releases_of(query.statistic);
  return releases > 1 && std::any_of(queries.begin(), queries.end(), is_choice_query);
}

/// The noise multiplier of one Gaussian release that meets the target.
double gaussian_multiplier(const Target& target) {
  const auto one = [&](double value) { return gaussian(NoiseMultiplier{value}, target.adjacency); };
  return solve(one, target, {.name = "noise multiplier", .lowest = lowest_scale, .highest = highest_scale}).value;
}

/// The scale at which one Gaussian release of as much concentrated privacy meets the target: about the solution, as many small losses are
/// about normal. The losses of each at scale s have variance about w / s^2, those of a choice beside Laplace noise a quarter of it.
double likely_scale(const std::vector<WeightedStatistic>& queries, NoiseFamily family, const Target& target) {
  double variance = 0;
  for (const auto& query : queries) {
    const double times = added_releases_of(query.statistic, family) - static_cast<double>(releases_of(query.statistic));
    const double releases = static_cast<double>(releases_of(query.statistic)) + times * times;
    variance += releases * (is_choice_query(query) && family == NoiseFamily::laplace ? query.weight / 4 : query.weight);
  }
  return gaussian_multiplier(target) * std::sqrt(variance);
}

/// A guess at the least scale that meets the target, nothing where none is good. It proves nothing, and costs mostly one look at full width.
std::optional<double> propose_shared(const std::vector<WeightedStatistic>& queries, NoiseFamily family, const EventOfScale& event,
                                     const Target& target, const CostFunctions& cost) {
  const double goal = std::log(gaussian_multiplier(target));
  struct Look {
    double scale;       // its logarithm
    double multiplier;  // that of one Gaussian release of equal epsilon
  };
  std::optional<Look> last;
  double slope = 1;
  double scale = std::log(likely_scale(queries, family, target));
  // By how much the scale moves, if the multipliers follow it as they did between the last two looks.
  const auto improve = [&](const CostFunctions& by) -> double {
    const double found = by.epsilon(event(std::exp(scale)), target.delta).upper;
    if (!(found > 0 && found < 1e3)) return std::numeric_limits<double>::infinity();
    const double multiplier =
        std::log(gaussian_multiplier({.epsilon = Epsilon{found}, .delta = target.delta, .adjacency = target.adjacency}));
    if (last && scale != last->scale) slope = std::clamp((multiplier - last->multiplier) / (scale - last->scale), 0.25, 4.0);
    last = {scale, multiplier};
    const double move = (goal - multiplier) / slope;
    scale += move;
    return std::abs(move);
  };
  constexpr double near = 1e-3;
  constexpr int most_looks = 6;
  const auto approach = [&](const CostFunctions& by) {
    last.reset();
    for (int looks = 0; looks < most_looks; ++looks) {
      const double moved = improve(by);
      // Bounds that prove a miss do not say how exact they are.
      if (moved <= near && by.resolution() > 0) return true;
      if (!std::isfinite(moved)) return false;
    }
    return false;
  };
  // Width changes nothing where choices are alone.
  const bool is_choices = std::all_of(queries.begin(), queries.end(), is_choice_query);
  if (!is_choices && !approach(accounting::best_cost(target, roughly))) return std::nullopt;
  if (!approach(cost)) return std::nullopt;
  return std::exp(scale);
}

/// The solution next to a proposal: the first value above it, as far out as `solve` goes, that meets the target, if it meets it by so little
/// that no lower one is better by more than what `solve` leaves open: epsilon falls at least about as fast as noise grows. Nothing else.
std::optional<Solution> solve_near(double proposed, const EventOfScale& event, const Target& target, const CostFunctions& cost) {
  const double resolution = cost.resolution();
  if (!(resolution > 0)) return std::nullopt;
  const int first = std::ilogb(resolution) - 1;
  for (int exponent = first; exponent < first + 4; ++exponent) {
    const double value = proposed * (1 + std::ldexp(1.0, exponent));
    const Event made = event(value);
    const Enclosure delta = cost.delta(made, target.epsilon);
    if (delta.upper > target.delta.value()) continue;
    const Enclosure epsilon = cost.report(made);
    if (epsilon.upper > target.epsilon.value()) continue;
    const bool is_near = exponent > first || epsilon.upper >= target.epsilon.value() * (1 - resolution);
    if (!is_near) return std::nullopt;
    return Solution{.value = value, .event = made, .epsilon = epsilon, .delta = delta, .failing = std::nullopt};
  }
  return std::nullopt;
}

Solution calibrated(const std::vector<WeightedStatistic>& queries, const Target& target, NoiseFamily family) {
  const EventOfScale event = [&](double scale) { return event_of(queries, family, scale); };
  const CostFunctions cost = accounting::best_cost(target);
  if (target.delta.value() > 0 && family != NoiseFamily::pure && is_dear(queries)) {
    try {
      const auto proposed = propose_shared(queries, family, event, target, cost);
      if (auto found = proposed ? solve_near(*proposed, event, target, cost) : std::nullopt) return *std::move(found);
    } catch (const Error& error) {
      // A guess may lie where nobody has an answer; the search knows what to say of that.
      if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::invalid_argument) throw;
    }
  }
  if (family != NoiseFamily::gaussian) return solve_laplace(queries, family, event, target, cost);
  return solve(event, target, {.name = "noise multiplier", .lowest = lowest_scale, .highest = highest_scale}, cost);
}

double ratio_of_sensitivities(const auto& released) { return released.l1_sensitivity().value() / released.l2_sensitivity().value(); }

/// Whether the sum of weight times variance over squared l2 sensitivity is smaller than with Laplace noise. The variances are s^2 / w times
/// the squared l2 sensitivity, and 2 s^2 / w times the squared l1 sensitivity; those of quantiles are of their rank errors. Keys are not shown
/// below a threshold, so theirs stand in the ratio of the squared thresholds, where these differ.
bool gaussian_is_better(const std::vector<WeightedStatistic>& queries, double gaussian, double laplace) {
  double of_gaussian = 0;
  double of_laplace = 0;
  for (const auto& query : queries) {
    const auto& statistic = query.statistic;
    if (is_choice(statistic)) {
      // The rank error, or that of a count, is 1 / epsilon times what is the same for both: half of the multiplier, or the scale.
      of_gaussian += gaussian * gaussian / 4;
      of_laplace += laplace * laplace;
      continue;
    }
    if (is_selection(statistic, NoiseFamily::laplace)) {
      const auto threshold = [&](NoiseFamily family, double scale) { return static_cast<double>(key_threshold_of(query, family, scale)); };
      const double thresholds = threshold(NoiseFamily::laplace, laplace) / threshold(NoiseFamily::gaussian, gaussian);
      of_gaussian += gaussian * gaussian;
      of_laplace += gaussian * gaussian * thresholds * thresholds;
      continue;
    }
    if (const auto* const keys = keys_of(statistic)) {
      const auto of_family = [&](NoiseFamily family, double scale) { return static_cast<double>(key_threshold_of(query, family, scale)); };
      const double thresholds = of_family(NoiseFamily::laplace, laplace) / of_family(NoiseFamily::gaussian, gaussian);
      const double sensitivities = std::holds_alternative<GroupMeansOf>(statistic.of)
                                       ? ratio_of_sensitivities(GroupMeans{statistic})
                                       : ratio_of_sensitivities(KeyCounts{keys->most_keys, statistic.adjacency});
      of_gaussian += gaussian * gaussian;
      of_laplace += thresholds != 1 ? gaussian * gaussian * thresholds * thresholds : 2 * laplace * laplace * sensitivities * sensitivities;
      continue;
    }
    // The law decides the weight of a count beside a sum.
    const auto grid = grid_for(statistic, NoiseMultiplier{laplace});
    const double ratio = StatisticSum{statistic, grid, NoiseLaw::laplace}.l1_sensitivity().value() /
                         StatisticSum{statistic, grid, NoiseLaw::gaussian}.l2_sensitivity().value();
    of_gaussian += gaussian * gaussian;
    of_laplace += 2 * laplace * laplace * ratio * ratio;
  }
  return of_gaussian < of_laplace;
}

/// Whether the other family needs so much noise that this one, calibrated to `scale`, is better: a smaller scale at which it would be better
/// already, and which is proved to miss the target, says so. \pre there are no keys, whose thresholds do not rise steadily with noise.
bool is_far_better(const std::vector<WeightedStatistic>& queries, NoiseFamily family, double scale, const Target& target) {
  const bool is_gaussian = family == NoiseFamily::gaussian;
  const auto other = is_gaussian ? NoiseFamily::laplace : NoiseFamily::gaussian;
  const double tried = 0.97 * likely_scale(queries, other, target);
  if (gaussian_is_better(queries, is_gaussian ? scale : tried, is_gaussian ? tried : scale) != is_gaussian) return false;
  const auto cost = accounting::best_epsilon(event_of(queries, other, tried), target.delta, roughly, accounting::Bounds::needed);
  return cost.value.lower > target.epsilon.value();
}

/// By how much a choice among so many candidates promises with 95 % to miss by permute-and-flip, over what it does by the exponential mechanism at the same
/// epsilon. \source docs/proofs/quantiles.md#rank-error, docs/proofs/statistics.md#mode
double missed_by_permute_and_flip(const WeightedStatistic& query) {
  if (const auto* const mode = std::get_if<ModeOf>(&query.statistic.of)) {
    const auto others = static_cast<double>(mode->categories.names.size() - 1);
    constexpr double exceeded_by_mode = 0.05;
    return std::log(others / (2 * exceeded_by_mode)) / std::log(others * (1 - exceeded_by_mode) / exceeded_by_mode);
  }
  const auto candidates = static_cast<double>(candidates_of(std::get<QuantileOf>(query.statistic.of)).count());
  constexpr double exceeded = 0.05;
  return std::log(candidates / (2 * exceeded)) / std::log((candidates - 1) * (1 - exceeded) / exceeded);
}

/// Whether choices by permute-and-flip at one scale make up for what sums lose to those by the exponential mechanism at another.
bool pure_is_better(const std::vector<WeightedStatistic>& queries, double pure, double laplace) {
  double sum = 0;
  for (const auto& query : queries) sum += is_choice_query(query) ? std::pow(missed_by_permute_and_flip(query), 2) : 1;
  return sum * pure * pure < static_cast<double>(queries.size()) * laplace * laplace;
}

/// Choices by permute-and-flip, where they are better than `found` with its Laplace noise.
std::optional<Solution> with_pure_choices(const std::vector<WeightedStatistic>& queries, const Solution& found, const Target& target) {
  if (std::none_of(queries.begin(), queries.end(), is_choice_query)) return std::nullopt;
  // Adding epsilons is about as good as it gets where it is good enough, which spares a search where it is not.
  double added = 0;
  for (const auto& query : queries) added += added_releases_of(query.statistic, NoiseFamily::pure) * std::sqrt(query.weight);
  if (!pure_is_better(queries, added / target.epsilon.value(), found.value)) return std::nullopt;
  auto pure = calibrated(queries, target, NoiseFamily::pure);
  return pure_is_better(queries, pure.value, found.value) ? std::optional{std::move(pure)} : std::nullopt;
}

constexpr accounting::Words<NoiseChoice, 3> noise_choices{
    .what = "noise", .values = {NoiseChoice::best, NoiseChoice::laplace, NoiseChoice::gaussian}, .words = {"best", "laplace", "gaussian"}};

}  // namespace

std::string_view name(NoiseChoice noise) { return noise_choices.name(noise); }

CalibratedQueries choose_noise(const std::vector<WeightedStatistic>& asked, const Target& target, NoiseChoice noise, double confidence) {
  const auto with_parts = [&](Solution cost, NoiseFamily family) {
    auto parts = parts_of(asked, family, cost.value, confidence);
    return CalibratedQueries{std::move(cost), family, std::move(parts)};
  };
  // What is public has no noise.
  std::vector<WeightedStatistic> queries;
  std::copy_if(asked.begin(), asked.end(), std::back_inserter(queries),
               [](const WeightedStatistic& query) { return !is_public(query.statistic); });
  if (queries.empty()) {
    const Enclosure nothing{0, 0};
    return with_parts({.value = 1, .event = free_event(target.adjacency), .epsilon = nothing, .delta = nothing, .failing = std::nullopt},
                      NoiseFamily::laplace);
  }
  if (noise == NoiseChoice::gaussian) return with_parts(calibrated(queries, target, NoiseFamily::gaussian), NoiseFamily::gaussian);
  const auto is_of_keys = [](const WeightedStatistic& query) { return keys_of(query.statistic) != nullptr; };
  // Where epsilons add, permute-and-flip costs no more.
  if (target.delta.value() == 0) {
    const auto family = std::any_of(queries.begin(), queries.end(), is_choice_query) ? NoiseFamily::pure : NoiseFamily::laplace;
    return with_parts(calibrated(queries, target, family), family);
  }
  const auto with_laplace_noise = [&](Solution found) {
    if (auto pure = with_pure_choices(queries, found, target)) return with_parts(*std::move(pure), NoiseFamily::pure);
    return with_parts(std::move(found), NoiseFamily::laplace);
  };
  // Choices alone are the same beside either.
  if (noise == NoiseChoice::laplace || std::all_of(queries.begin(), queries.end(), is_choice_query)) {
    return with_laplace_noise(calibrated(queries, target, NoiseFamily::laplace));
  }
  // Where one family is far better, the other is not calibrated.
  const bool may_be_far = is_dear(queries) && std::none_of(queries.begin(), queries.end(), is_of_keys);
  const auto first = may_be_far && gaussian_is_better(queries, likely_scale(queries, NoiseFamily::gaussian, target),
                                                      likely_scale(queries, NoiseFamily::laplace, target))
                         ? NoiseFamily::gaussian
                         : NoiseFamily::laplace;
  const auto taken = [&](Solution solution, NoiseFamily family) {
    return family == NoiseFamily::gaussian ? with_parts(std::move(solution), family) : with_laplace_noise(std::move(solution));
  };
  auto found = calibrated(queries, target, first);
  if (may_be_far && is_far_better(queries, first, found.value, target)) return taken(std::move(found), first);
  const auto second = first == NoiseFamily::gaussian ? NoiseFamily::laplace : NoiseFamily::gaussian;
  auto other = calibrated(queries, target, second);
  const bool takes_gaussian = first == NoiseFamily::gaussian ? gaussian_is_better(queries, found.value, other.value)
                                                             : gaussian_is_better(queries, other.value, found.value);
  return takes_gaussian == (first == NoiseFamily::gaussian) ? taken(std::move(found), first) : taken(std::move(other), second);
}

}  // namespace surety::jobs
