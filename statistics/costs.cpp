#include <surety/statistics/costs.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <map>
#include <tuple>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/releases.h>
#include <surety/base/text/error.h>
#include <surety/statistics/group_means.h>
#include <surety/statistics/keys.h>
#include <surety/statistics/quantile_intervals.h>

namespace surety::statistics {

void WeightedStatistic::validate() const {
  statistic.validate();
  if (!(weight >= least_weight && weight <= largest_weight)) {
    invalid(fmt::format("the weight of {} is {}, must be from {} to {}", describe(statistic), weight, least_weight, largest_weight));
  }
}

Event noise_at(const WeightedStatistic& query, NoiseFamily family, double scale) {
  const double own = scale / std::sqrt(query.weight);
  const auto adjacency = query.statistic.adjacency;
  return family == NoiseFamily::gaussian ? gaussian(NoiseMultiplier{own}, adjacency) : surety::laplace(NoiseScale{own}, adjacency);
}

Event free_event(Adjacency adjacency) { return pure(Epsilon{0}, adjacency); }

std::size_t releases_of(const Statistic& statistic) noexcept {
  if (const auto* const mode = std::get_if<ModeOf>(&statistic.of)) return mode->top;
  const auto* const quantile = std::get_if<QuantileOf>(&statistic.of);
  if (quantile == nullptr) return 1;
  return quantile->fractions.levels() + (quantile->has_interval ? 1 : 0);
}

namespace {

/// How many keys one unit moves, each by one.
std::uint64_t moved_keys(const Statistic& statistic) {
  return (statistic.adjacency == Adjacency::replace_one ? 2 : 1) * keys_of(statistic)->most_keys.value();
}

/// What the choice of each of these keys costs, together (docs/proofs/keys.md#selection).
Event selection_of(const WeightedStatistic& query, double scale) {
  const auto moved = static_cast<double>(moved_keys(query.statistic));
  const double chance = (exactly(keys_of(query.statistic)->chance_of_selection.value()) / exactly(moved)).enclosure().lower;
  const Event one = surety::approx(Epsilon{std::sqrt(query.weight) / scale / moved}, Delta{chance}, query.statistic.adjacency);
  return moved == 1 ? one : repeat(Count{moved_keys(query.statistic)}, one);
}

/// What one release of a query costs.
Event one_event_of(const WeightedStatistic& query, NoiseFamily family, double scale) {
  if (is_public(query.statistic)) return free_event(query.statistic.adjacency);
  if (is_choice(query.statistic)) {
    const double own = scale / std::sqrt(query.weight);
    if (family == NoiseFamily::pure) return pure(Epsilon{1 / own}, query.statistic.adjacency);
    return surety::exponential(Epsilon{(family == NoiseFamily::gaussian ? 2 : 1) / own}, query.statistic.adjacency);
  }
  if (is_selection(query.statistic, family)) return selection_of(query, scale);
  const Event noise = noise_at(query, family, scale);
  const auto* const keys = keys_of(query.statistic);
  return keys != nullptr ? event_of_keys(noise, keys->chance) : noise;
}

/// The epsilon of the counts of an interval over that of a level; 0 where there are none.
double times_of_counts(const Statistic& statistic, NoiseFamily family) noexcept {
  const auto* const quantile = std::get_if<QuantileOf>(&statistic.of);
  if (quantile == nullptr || !quantile->has_interval) return 0;
  const auto levels = static_cast<double>(quantile->fractions.levels());
  return family == NoiseFamily::pure ? levels : std::sqrt(levels);
}

/// A query one of whose levels costs what the counts of this one do.
WeightedStatistic counted(WeightedStatistic query, NoiseFamily family) {
  const double times = times_of_counts(query.statistic, family);
  query.weight *= times * times;
  return query;
}

}  // namespace

bool is_selection(const Statistic& statistic, NoiseFamily family) noexcept {
  const auto* const keys = std::get_if<KeysOf>(&statistic.of);
  return keys != nullptr && keys->hides_counts && family != NoiseFamily::gaussian;
}

Event event_of(const WeightedStatistic& query, NoiseFamily family, double scale) {
  const auto releases = releases_of(query.statistic);
  const Event one = one_event_of(query, family, scale);
  Event all = releases == 1 ? one : repeat(Count{releases}, one);
  const auto counts = counts_event_of(query, family, scale);
  return counts ? compose({std::move(all), *counts}) : all;
}

Event level_event_of(const WeightedStatistic& query, NoiseFamily family, double scale) { return one_event_of(query, family, scale); }

std::optional<Event> counts_event_of(const WeightedStatistic& query, NoiseFamily family, double scale) {
  if (times_of_counts(query.statistic, family) == 0) return std::nullopt;
  return one_event_of(counted(query, family), family, scale);
}

double added_releases_of(const Statistic& statistic, NoiseFamily family) noexcept {
  return static_cast<double>(releases_of(statistic)) + times_of_counts(statistic, family);
}

KeySelection rule_of(const Event& event) {
  const auto* const repeated = std::get_if<Event::Repeated>(&event.node());
  const auto* const one = std::get_if<Event::Approximate>(&(repeated != nullptr ? repeated->event : event).node());
  if (one == nullptr) throw Error{ErrorCode::unsupported, fmt::format("no selection of keys is the event '{}'", describe(event))};
  return {one->epsilon, one->delta};
}

std::int64_t key_threshold_of(const WeightedStatistic& query, NoiseFamily family, double scale) {
  if (std::holds_alternative<GroupMeansOf>(query.statistic.of)) {
    const GroupMeans means{query.statistic};
    return means.threshold(means.noise_for(noise_at(query, family, scale)));
  }
  const auto& keys = std::get<KeysOf>(query.statistic.of);
  if (is_selection(query.statistic, family)) {
    constexpr double most = 0x1p52;
    return static_cast<std::int64_t>(std::min(rule_of(selection_of(query, scale)).half(), most));
  }
  const KeyCounts counts{keys.most_keys, query.statistic.adjacency};
  return key_threshold(counts.noise_for(noise_at(query, family, scale)), keys.most_keys, keys.chance);
}

Event event_of(const std::vector<WeightedStatistic>& queries, NoiseFamily family, double scale) {
  // One query stands for all of its weight and kind: the events of quantiles and of keys are others than a sum's; those of modes are those of quantiles.
  const auto kind_of = [&](const Statistic& statistic) {
    const auto* const keys = keys_of(statistic);
    const std::uint64_t selected = is_selection(statistic, family) ? moved_keys(statistic) : 0;
    return std::tuple{is_choice(statistic), keys != nullptr ? keys->chance.value() : -1, selected};
  };
  std::map<std::pair<std::tuple<bool, double, std::uint64_t>, double>, std::pair<const WeightedStatistic*, std::uint64_t>> kinds;
  const auto add = [&](const WeightedStatistic& query, std::uint64_t releases) {
    auto& [one, count] = kinds[{kind_of(query.statistic), query.weight}];
    one = &query;
    count += releases;
  };
  std::list<WeightedStatistic> counts;  // whose members stay where they are
  for (const auto& query : queries) {
    if (is_public(query.statistic)) continue;
    add(query, releases_of(query.statistic));
    if (times_of_counts(query.statistic, family) > 0) add(counts.emplace_back(counted(query, family)), 1);
  }
  if (kinds.empty()) return free_event(queries.front().statistic.adjacency);
  accounting::Releases all{queries.front().statistic.adjacency};
  for (const auto& [kind, found] : kinds) {
    all.add(accounting::Releases::of(repeat(Count{found.second}, one_event_of(*found.first, family, scale))));
  }
  return *all.event();
}

}  // namespace surety::statistics
