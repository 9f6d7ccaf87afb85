#include <surety/statistics/group_means.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/base/text/error.h>
#include <surety/statistics/exact.h>
#include <surety/statistics/keys.h>
#include <surety/statistics/release.h>

namespace surety::statistics {
namespace {

/// A mean of one group of a private number of records, for every law.
StatisticSum frame_of(const Statistic& statistic) {
  statistic.validate();
  const auto& mean = std::get<GroupMeansOf>(statistic.of).mean;
  // Half the bounds' width in some 2^20 steps: finer than any noise, and thresholds stay whole numbers that doubles hold.
  constexpr int steps_of_half = 20;
  const Grid grid{.log2_step = std::ilogb(mean.bounds.upper / 2 - mean.bounds.lower / 2) - steps_of_half};
  // As large as leaves the move of a unit that is replaced alone; else half of it, best for means in the inner half of the bounds (docs/proofs/keys.md#means).
  const double weight = statistic.adjacency == Adjacency::replace_one ? 1 : 0.5;
  return {{.of = mean, .adjacency = Adjacency::add_or_remove_one}, grid, NoiseLaw::laplace, weight};
}

/// To the nearest integer, halves away from 0.
std::int64_t rounded_quotient(ExactInteger steps, std::uint64_t numbers) {
  const ExactInteger all = numbers;
  const ExactInteger half = (2 * (steps < 0 ? -steps : steps) + all) / (2 * all);
  return static_cast<std::int64_t>(steps < 0 ? -half : half);
}

}  // namespace

GroupMeans::GroupMeans(const Statistic& statistic) : statistic_{statistic}, frame_{frame_of(statistic)} {}

std::size_t GroupMeans::place_of(const std::string& key) {
  const auto [found, is_new] = index_.emplace(key, sums_.size());
  if (is_new) sums_.push_back({});
  return found->second;
}

void GroupMeans::add(const std::string* unit, const std::string& key, double number) {
  if (key.empty() || key.size() > KeyCounts::longest_key) return;
  const auto steps = frame_.steps_of(number);
  if (unit == nullptr) {
    auto& sum = sums_[place_of(key)];
    ++sum.units;
    sum.steps += steps;
    return;
  }
  auto& own = of_unit_[*unit];
  const auto known = index_.find(key);
  const auto found =
      known == index_.end() ? own.end() : std::find_if(own.begin(), own.end(), [&](const Own& one) { return one.group == known->second; });
  if (found != own.end()) {
    found->steps += steps;
    ++found->numbers;
  } else if (own.size() < std::get<GroupMeansOf>(statistic_.of).keys.most_keys.value()) {
    own.push_back({place_of(key), steps, 1});
  }
}

GroupTotal GroupMeans::total() const {
  auto sums = sums_;
  for (const auto& [unit, groups] : of_unit_) {
    for (const auto& own : groups) {
      ++sums[own.group].units;
      sums[own.group].steps += rounded_quotient(own.steps, own.numbers);
    }
  }
  GroupTotal result;
  result.counts.reserve(index_.size());
  for (const auto& [key, place] : index_) result.counts.emplace_back(key, sums[place]);
  std::sort(result.counts.begin(), result.counts.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return result;
}

void GroupMeans::add_total(const GroupTotal& total, std::uint64_t records) {
  std::uint64_t left = std::min(records, static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
  const std::string* last = nullptr;
  for (const auto& [key, sum] : total.counts) {
    const ExactInteger most = ExactInteger{frame_.farthest()} * sum.units;
    if (!(key.size() >= 1 && key.size() <= KeyCounts::longest_key && (last == nullptr || *last < key) && sum.units >= 1 &&
          sum.units <= left && sum.steps >= -most && sum.steps <= most)) {
      invalid("a total is none of groups, must be the sums of so many records");
    }
    last = &key;
    left -= sum.units;
  }
  for (const auto& [key, sum] : total.counts) {
    auto& here = sums_[place_of(key)];
    here.units += sum.units;
    here.steps += sum.steps;
  }
}

double GroupMeans::norm(bool squared) const {
  const Interval groups = point(static_cast<double>(std::get<GroupMeansOf>(statistic_.of).keys.most_keys.value()));
  const Interval sum = point(frame_.farthest());
  const Interval count = point(frame_.weight());
  // In each of l groups a unit comes; or it gives way to one there, or to one in another group.
  const Interval comes = squared ? sum * sum + count * count : sum + count;
  const Interval stays = squared ? point(4.0) * sum * sum : point(2.0) * sum;
  const Interval of_group = statistic_.adjacency == Adjacency::replace_one ? maximum(stays, point(2.0) * comes) : comes;
  const Interval moved = squared ? sqrt(groups * of_group) : groups * of_group;
  return (moved * point(frame_.grid().step())).enclosure().upper;
}

L1Sensitivity GroupMeans::l1_sensitivity() const { return L1Sensitivity{norm(false)}; }
L2Sensitivity GroupMeans::l2_sensitivity() const { return L2Sensitivity{norm(true)}; }

StatisticNoise GroupMeans::noise_for(const Event& event) const {
  const auto adjacency = statistic_.adjacency;
  if (event.adjacency() != adjacency) invalid("the noise of groups and their sums differ in adjacency");
  if (const auto* const laplace = std::get_if<Event::Laplace>(&event.node())) {
    return mechanisms::Laplace{{.scale = laplace->scale, .sensitivity = l1_sensitivity(), .grid = frame_.grid(), .adjacency = adjacency}};
  }
  if (const auto* const gaussian = std::get_if<Event::Gaussian>(&event.node())) {
    return mechanisms::Gaussian{
        {.multiplier = gaussian->multiplier, .sensitivity = l2_sensitivity(), .grid = frame_.grid(), .adjacency = adjacency}};
  }
  throw Error{ErrorCode::unsupported, fmt::format("no noise of groups is the event '{}'", describe(event))};
}

std::int64_t GroupMeans::threshold(const StatisticNoise& noise) const {
  const auto& keys = std::get<GroupMeansOf>(statistic_.of).keys;
  // A count of 1 exceeds it by one step where W steps do: the noise is W - 1 steps nearer than to that of keys.
  return key_threshold(noise, keys.most_keys, keys.chance) + frame_.weight() - 1;
}

std::vector<ShownGroup> draw_groups(const GroupMeans& means, const StatisticNoise& noise, std::int64_t threshold,
                                    mechanisms::BitsRef bits) {
  const auto total = means.total();
  const auto& frame = means.frame();
  const auto clamped = [](ExactInteger steps) {
    return static_cast<std::int64_t>(std::clamp<ExactInteger>(steps, -ExactInteger{largest_sum}, ExactInteger{largest_sum}));
  };
  GridVector exact{.grid = frame.grid(), .steps = {}};
  exact.steps.reserve(2 * total.counts.size());
  for (const auto& [key, sum] : total.counts) {
    exact.steps.push_back(clamped(sum.steps));
    exact.steps.push_back(clamped(ExactInteger{frame.weight()} * sum.units));
  }
  const auto noisy = std::visit([&](const auto& mechanism) { return mechanism.release(exact, bits); }, noise);
  const double least = static_cast<double>(threshold) * frame.grid().step();
  std::vector<ShownGroup> shown;
  for (std::size_t k = 0; k < total.counts.size(); ++k) {
    if (noisy[2 * k + 1] > least) shown.push_back({total.counts[k].first, noisy[2 * k], noisy[2 * k + 1]});
  }
  return shown;
}

namespace {

constexpr double hidden_far = 0x1p-20;

/// In steps, rounded up.
std::int64_t steps_of_noise(const StatisticNoise& noise, const Grid& grid, double exceeded) {
  return static_cast<std::int64_t>(std::min(std::ceil(quantile(noise, exceeded) * grid.steps_per_unit()), 0x1p61));
}

}  // namespace

GroupMeanIntervals::GroupMeanIntervals(const GroupMeans& means, const StatisticNoise& noise, std::int64_t threshold, double confidence)
    : means_{means},
      reach_{reach_of(means.frame(), noise, std::nextafter(1 - (1 - confidence) * (1 - 2 * hidden_far), 1.0))},
      half_distance_{quantile(noise, std::nextafter((1 - confidence) / 2, 0.0))},
      far_{(threshold + steps_of_noise(noise, means.frame().grid(), hidden_far)) / means.frame().weight() + 1},
      units_{noise, threshold, confidence, means.frame().weight()},
      half_units_{noise, threshold, std::nextafter((1 + confidence) / 2, 1.0), means.frame().weight()} {}

GroupMeanIntervals::Both GroupMeanIntervals::of(const ShownGroup& shown) {
  const auto& frame = means_.frame();
  const std::vector<double> released{shown.sum, shown.count};
  Both both{estimates_of(frame, released, reach_, 0).front(), used_records_of(frame, released, reach_).front()};
  // In steps, which are whole below 2^53: farther above the threshold nothing depends on it.
  const double steps = shown.count * frame.grid().steps_per_unit();
  if (!(steps < 0x1p53)) return both;
  const auto [fewest, most] = units_.of(steps);
  both.units = {both.units.value, std::min(fewest, both.units.value), std::max(most, both.units.value)};
  const auto [least, largest] = half_units_.of(steps);
  if (least >= static_cast<double>(far_)) return both;
  // Sums and numbers of units that are both not ruled out, of groups so small that they may be hidden.
  const Interval step = point(frame.grid().step());
  const Interval half = point(half_distance_) + point(std::abs(shown.sum) * 0x1p-52);
  const Interval units = hull(point(least), point(std::min(largest, static_cast<double>(far_))));
  const auto mean = (point(frame.origin()) + hull(point(shown.sum) - half, point(shown.sum) + half) / units).enclosure();
  const double lowest = (point(frame.origin()) + point(frame.least()) * step).enclosure().lower;
  const double highest = (point(frame.origin()) + point(frame.largest()) * step).enclosure().upper;
  both.mean.lower = std::min(both.mean.lower, std::clamp(mean.lower, lowest, highest));
  both.mean.upper = std::max(both.mean.upper, std::clamp(mean.upper, lowest, highest));
  return both;
}

}  // namespace surety::statistics
