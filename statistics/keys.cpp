#include <surety/statistics/keys.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/base/numbers/overload.h>
#include <surety/base/text/error.h>
#include <surety/statistics/confidence_set.h>

namespace surety::statistics {

void KeyCounts::add(const std::string& key) {
  if (key.empty() || key.size() > longest_key) return;
  const auto [found, is_new] = index_.emplace(key, counts_.size());
  if (is_new) counts_.push_back(0);
  ++counts_[found->second];
}

void KeyCounts::add(const std::string& unit, const std::string& key) {
  if (key.empty() || key.size() > longest_key) return;
  auto& held = of_unit_[unit];
  const auto known = index_.find(key);
  const bool counted = known != index_.end() && std::find(held.begin(), held.end(), known->second) != held.end();
  if (counted || held.size() >= most_keys_.value()) return;
  held.push_back(known != index_.end() ? known->second : counts_.size());
  add(key);
}

KeyTotal KeyCounts::total() const {
  KeyTotal result;
  result.counts.reserve(index_.size());
  for (const auto& [key, place] : index_) result.counts.emplace_back(key, static_cast<std::uint64_t>(counts_[place]));
  std::sort(result.counts.begin(), result.counts.end());
  return result;
}

void KeyCounts::add_total(const KeyTotal& total, std::uint64_t records) {
  std::uint64_t left = std::min(records, static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
  const std::string* last = nullptr;
  for (const auto& [key, count] : total.counts) {
    if (!(key.size() >= 1 && key.size() <= longest_key && (last == nullptr || *last < key) && count >= 1 && count <= left)) {
      invalid("a total is none of keys, must be the counts of so many records");
    }
    last = &key;
    left -= count;
  }
  for (const auto& [key, count] : total.counts) {
    const auto [found, is_new] = index_.emplace(key, counts_.size());
    if (is_new) counts_.push_back(0);
    counts_[found->second] += static_cast<std::int64_t>(count);
  }
}

namespace {

/// How many counts one unit moves, each by 1.
double moved_counts(Count most_keys, Adjacency adjacency) {
  return static_cast<double>(most_keys.value()) * (adjacency == Adjacency::replace_one ? 2 : 1);
}

}  // namespace

L1Sensitivity KeyCounts::l1_sensitivity() const { return L1Sensitivity{moved_counts(most_keys_, adjacency_)}; }
L2Sensitivity KeyCounts::l2_sensitivity() const {
  return L2Sensitivity{sqrt(exactly(moved_counts(most_keys_, adjacency_))).enclosure().upper};
}

StatisticNoise KeyCounts::noise_for(const Event& event) const {
  const Grid grid{.log2_step = 0};
  if (event.adjacency() != adjacency_) invalid("the noise of keys and their counts differ in adjacency");
  if (const auto* const laplace = std::get_if<Event::Laplace>(&event.node())) {
    return mechanisms::Laplace{{.scale = laplace->scale, .sensitivity = l1_sensitivity(), .grid = grid, .adjacency = adjacency_}};
  }
  if (const auto* const gaussian = std::get_if<Event::Gaussian>(&event.node())) {
    return mechanisms::Gaussian{
        {.multiplier = gaussian->multiplier, .sensitivity = l2_sensitivity(), .grid = grid, .adjacency = adjacency_}};
  }
  throw Error{ErrorCode::unsupported, fmt::format("no noise of keys is the event '{}'", describe(event))};
}

std::vector<std::string> KeyCounts::keys() const {
  std::vector<std::string> result;
  result.reserve(index_.size());
  for (const auto& entry : index_) result.push_back(entry.first);
  std::sort(result.begin(), result.end());
  return result;
}

GridVector KeyCounts::counts(const std::vector<std::string>& keys) const {
  GridVector result{.grid = {.log2_step = 0}, .steps = {}};
  result.steps.reserve(keys.size());
  for (const auto& key : keys) {
    const auto found = index_.find(key);
    result.steps.push_back(found == index_.end() ? 0 : counts_[found->second]);
  }
  return result;
}

double appearance_probability(const StatisticNoise& noise, Count most_keys, std::int64_t threshold) {
  // 1 + noise > threshold: the noise, the integer nearest to Z, is at least `threshold`, so Z >= threshold - 1/2.
  const double least = static_cast<double>(threshold) - 0.5;
  if (least <= 0) return 1;
  const double in_steps =
      std::visit([](const auto& mechanism) { return mechanism.options().grid.steps_per_unit(); }, noise);  // a power of 2
  const auto both_sides = std::visit(Overload{[&](const mechanisms::Gaussian& gaussian) {
                                                return exceedance(NoiseLaw::gaussian, std::vector{gaussian.sigma() * in_steps}, least);
                                              },
                                              [&](const mechanisms::Laplace& laplace) {
                                                return exceedance(NoiseLaw::laplace, std::vector{laplace.scale() * in_steps}, least);
                                              }},
                                     noise);
  const Interval one = exactly(both_sides) / exactly(2);
  return -(expm1(exactly(static_cast<double>(most_keys.value())) * log1p(-one))).enclosure().lower;
}

std::int64_t key_threshold(const StatisticNoise& noise, Count most_keys, Delta delta) {
  if (delta.value() == 0) {
    throw Error{ErrorCode::unsupported,
                "keys that are not listed beforehand need delta > 0: every noise lets the key of one unit through at times"};
  }
  std::int64_t failing = 0;
  std::int64_t enough = 1;
  constexpr std::int64_t most = std::int64_t{1} << 52;
  while (appearance_probability(noise, most_keys, enough) > delta.value()) {
    if (enough >= most) invalid("the noise of keys is too wide for any threshold below 2^52");
    failing = enough;
    enough *= 2;
  }
  while (enough - failing > 1) {
    const auto middle = failing + (enough - failing) / 2;
    (appearance_probability(noise, most_keys, middle) <= delta.value() ? enough : failing) = middle;
  }
  return enough;
}

Event event_of_keys(const Event& noise, Delta delta) {
  if (delta.value() == 0) {
    throw Error{ErrorCode::unsupported,
                "keys that are not listed beforehand need delta > 0: every noise lets the key of one unit through at times"};
  }
  return compose({noise, surety::approx(Epsilon{0}, delta, noise.adjacency())});
}

namespace {

/// Quotients of numbers that are not negative, rounded down and up.
std::int64_t whole_below(std::int64_t steps, std::int64_t one) { return steps / one; }
std::int64_t whole_above(std::int64_t steps, std::int64_t one) { return (steps + one - 1) / one; }

}  // namespace

KeyIntervals::KeyIntervals(StatisticNoise noise, std::int64_t threshold, double confidence, std::int64_t one)
    : noise_{std::move(noise)}, threshold_{threshold}, one_{one}, exceeded_{std::nextafter(1 - confidence, 0.0)} {
  const double steps_per_unit = std::visit([](const auto& mechanism) { return mechanism.options().grid.steps_per_unit(); }, noise_);
  reach_ = static_cast<std::int64_t>(std::floor(quantile(noise_, exceeded_) * steps_per_unit));
}

std::int64_t KeyIntervals::lowest(std::int64_t shown) const {
  // A count c is ruled out where the noise is at least shown - c in a share of at most `exceeded_` of the cases in which it is above threshold - c. That share
  // grows with c, since the survival function of the noise is log-concave.
  const auto is_ruled_out = [&](std::int64_t units) {
    const std::int64_t count = units * one_;
    const double beyond = probability_at_least(noise_, shown - count).upper;
    const Enclosure passed = probability_at_least(noise_, threshold_ + 1 - count);
    return beyond <= std::nextafter(exceeded_ * passed.lower, 0.0);
  };
  std::int64_t failing = 0;
  std::int64_t enough = std::max<std::int64_t>(whole_below(shown, one_), 1);
  while (enough - failing > 1) {
    const auto middle = failing + (enough - failing) / 2;
    (is_ruled_out(middle) ? failing : enough) = middle;
  }
  // Counts so far above the threshold that it hardly matters are ruled out by their distance alone.
  if (enough * one_ <= threshold_ + reach_) return enough;
  return whole_above(std::max(threshold_ + reach_ + 1, shown - reach_), one_);
}

KeyIntervals::Counts KeyIntervals::of(double shown) {
  const auto steps = static_cast<std::int64_t>(shown);
  const auto in_units = [](std::int64_t lower, std::int64_t upper) {
    return Counts{static_cast<double>(std::min(lower, upper)), static_cast<double>(upper)};
  };
  const std::int64_t highest = std::max<std::int64_t>(whole_below(steps + reach_, one_), 1);
  if (steps - reach_ > threshold_ + reach_) return in_units(whole_above(steps - reach_, one_), highest);
  auto found = lowest_.find(steps);
  if (found == lowest_.end()) found = lowest_.emplace(steps, lowest(steps)).first;
  return in_units(std::min(found->second, std::max<std::int64_t>(whole_below(steps, one_), 1)), highest);
}

std::vector<ReleasedKey> draw_keys(const KeyCounts& counts, const StatisticNoise& noise, std::int64_t threshold, mechanisms::BitsRef bits) {
  auto keys = counts.keys();
  const auto exact = counts.counts(keys);
  const auto noisy = std::visit([&](const auto& mechanism) { return mechanism.release(exact, bits); }, noise);
  std::vector<ReleasedKey> result;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (noisy[i] > static_cast<double>(threshold)) result.push_back({std::move(keys[i]), noisy[i]});
  }
  return result;
}

}  // namespace surety::statistics
