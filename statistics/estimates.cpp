#include <surety/statistics/estimates.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include <fmt/format.h>

#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/overload.h>
#include <surety/base/text/error.h>
#include <surety/statistics/exact.h>
#include <surety/statistics/ratio.h>

namespace surety::statistics {

using namespace data;

NoiseReach reach_of(const StatisticSum& sum, const StatisticNoise& noise, double confidence) {
  const double exceeded = (point(1.0) - point(confidence)).enclosure().lower;
  NoiseReach result{.distance = quantile(noise, exceeded), .law = NoiseLaw::laplace, .scale = 0, .of_ratio = {}, .of_variance = {}};
  std::visit(Overload{[&](const mechanisms::Gaussian& gaussian) {
                        result.law = NoiseLaw::gaussian;
                        result.scale = gaussian.sigma();
                      },
                      [&](const mechanisms::Laplace& laplace) { result.scale = laplace.scale(); }},
             noise);
  if (sum.is_variance()) {
    result.of_variance.emplace(result.law, exceeded);
  } else if (sum.weight() != 0) {
    result.of_ratio.emplace(result.law, exceeded);
  }
  return result;
}

namespace {

/// What the released numbers of a group say, of one group after another.
class GroupEstimates {
 public:
  GroupEstimates(const StatisticSum& sum, const NoiseReach& noise, std::uint64_t records)
      : sum_{sum}, noise_{noise}, records_{records}, bounds_{bounds_of(sum.statistic())}, step_{point(sum.grid().step())} {
    if (bounds_ == nullptr) return;
    // What rounding to the grid makes of the bounds.
    possible_ = {std::min(bounds_->lower, (point(sum_.origin()) + point(sum_.least()) * step_).enclosure().lower),
                 std::max(bounds_->upper, (point(sum_.origin()) + point(sum_.largest()) * step_).enclosure().upper)};
  }

  /// What follows is about a group of which this was released.
  void take(std::span<const double> released) { released_ = released; }

  [[nodiscard]] std::vector<Estimate> all() const {
    if (bounds_ == nullptr) {
      std::vector<Estimate> counts;
      for (const double count : released_) counts.push_back(opened(count, estimate(count, around(count))));
      return counts;
    }
    if (sum_.is_variance()) return {variance()};
    if (sum_.weight() != 0) return {mean_by_ratio()};
    return {sum_or_mean()};
  }

  /// How many records are used. \pre their count is the last coordinate
  [[nodiscard]] Estimate used() const {
    const double count = released_.back();
    // Exact: whole steps below 2^53 times a power of 2.
    const double weight = static_cast<double>(sum_.weight()) * sum_.grid().step();
    const Upper half = Upper{Exact{noise_.distance}} + Exact{rounding_of(count)};
    const Estimate used{count / weight, ((Lower{Exact{count}} - half) / Exact{weight}).value(),
                        ((Upper{Exact{count}} + half) / Exact{weight}).value()};
    auto result = opened(count, used);
    result.value = std::max(0.0, std::round(result.value));
    // The exact number is whole: what lies between two whole numbers can be left out, unless that leaves nothing.
    const double lower = std::max(0.0, std::ceil(result.lower));
    const double upper = std::max(0.0, std::floor(result.upper));
    result.lower = lower <= result.value ? lower : std::max(0.0, std::floor(result.lower));
    result.upper = upper >= result.value ? upper : std::ceil(result.upper);
    return {result.value, std::min(result.lower, result.value), std::max(result.upper, result.value)};
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  [[nodiscard]] static Estimate estimate(double value, const Interval& interval) {
    const auto ends = interval.enclosure();
    return {value, ends.lower + 0.0, ends.upper + 0.0};  // a lower end of -0 becomes 0
  }
  [[nodiscard]] double steps(double part) const { return part * sum_.grid().steps_per_unit(); }  // exact
  [[nodiscard]] double moved() const { return released_.front(); }                               // from the origin

  /// Beyond 2^53 steps a released number was rounded when it became a double.
  [[nodiscard]] double rounding_of(double value) const {
    return std::abs(value) > 0x1p53 * sum_.grid().step() ? std::abs(value) * 0x1p-53 : 0;
  }
  [[nodiscard]] Interval around(double value) const {
    const Interval half = point(noise_.distance) + point(rounding_of(value));
    return hull(point(value) - half, point(value) + half);
  }

  // A sum beyond what fits was released as the largest one that does. Where the noise may have brought it from there, nothing bounds it.
  [[nodiscard]] bool is_open_above(double value) const {
    if (value + noise_.distance < 0x1p61 * sum_.grid().step()) return false;  // far from there
    return (around(value) - point(largest_sum - 1) * point(sum_.grid().step())).enclosure().upper >= 0;
  }
  [[nodiscard]] bool is_open_below(double value) const { return is_open_above(-value); }
  [[nodiscard]] Estimate opened(double value, Estimate closed) const {
    if (is_open_below(value)) closed.lower = -infinity;
    if (is_open_above(value)) closed.upper = infinity;
    return closed;
  }
  [[nodiscard]] bool may_be_saturated() const {
    return std::any_of(released_.begin(), released_.end(), [&](double part) { return is_open_below(part) || is_open_above(part); });
  }
  /// Even the upper end of a count is below one record.
  [[nodiscard]] bool is_below_one(double count) const {
    if (count - noise_.distance > 2 * static_cast<double>(sum_.weight()) * sum_.grid().step()) return false;  // far from there
    return (around(count) / (point(sum_.weight()) * step_)).compare(1) < 0;
  }

  [[nodiscard]] Estimate clamped(const Estimate& raw) const {
    const auto kept = [&](double value) { return std::clamp(value, possible_.lower, possible_.upper); };
    return {kept(raw.value), kept(raw.lower), kept(raw.upper)};
  }

  [[nodiscard]] Estimate variance() const {
    const VarianceRelease parts{.sum = steps(moved()),
                                .squares = steps(released_[1]),
                                .count = sum_.weight() != 0 ? std::optional{steps(released_[2])} : std::nullopt,
                                .records = records_,
                                .largest = sum_.farthest(),
                                .scale = steps(noise_.scale)};
    const auto possible = may_be_saturated() || (sum_.weight() != 0 && is_below_one(released_[2]))
                              ? Enclosure{0, 1}
                              : variance_interval(parts, *noise_.of_variance);
    const Interval half = point(sum_.farthest()) * step_;
    const auto in_data_units = [&](double share) { return (point(share) * half * half).enclosure(); };
    const double value = in_data_units(variance_value(parts)).lower;
    return {value, std::min(in_data_units(possible.lower).lower, value), in_data_units(possible.upper).upper};
  }

  [[nodiscard]] Estimate mean_by_ratio() const {
    const double count = released_[1] / (static_cast<double>(sum_.weight()) * sum_.grid().step());
    const double value = sum_.origin() + moved() / std::max(count, 1.0);
    // A mean is one of at least one record, here in steps from the origin.
    if (may_be_saturated() || is_below_one(released_[1])) return clamped({value, -infinity, infinity});
    const auto weight = static_cast<double>(sum_.weight());
    const auto rounding = [&](double part) { return 0.5 + std::abs(steps(part)) * 0x1p-51; };
    const auto mean = ratio_interval(steps(moved()), count, Bounds{static_cast<double>(sum_.least()), static_cast<double>(sum_.largest())},
                                     {.sum_scale = steps(noise_.scale),
                                      .count_scale = (Upper{Exact{steps(noise_.scale)}} / Exact{weight}).value(),
                                      .sum_rounding = rounding(moved()),
                                      .count_rounding = (Upper{Exact{rounding(released_[1])}} / Exact{weight}).value()},
                                     *noise_.of_ratio);
    const auto clamped_value = clamped({value, value, value}).value;
    const Exact step{sum_.grid().step()};
    const Lower lower = Lower{Exact{mean.lower}} * step + Exact{sum_.origin()};
    const Upper upper = Upper{Exact{mean.upper}} * step + Exact{sum_.origin()};
    auto result = clamped({value, lower.value() + 0.0, upper.value() + 0.0});
    result.lower = std::min(result.lower, clamped_value);
    result.upper = std::max(result.upper, clamped_value);
    return result;
  }

  [[nodiscard]] Estimate sum_or_mean() const {
    const Interval number = point(static_cast<double>(records_));
    const double whole = std::fma(static_cast<double>(records_), sum_.origin(), moved());
    const Interval interval = number * point(sum_.origin()) + around(moved());
    if (std::holds_alternative<SumOf>(sum_.statistic().of) || std::holds_alternative<UnitSumOf>(sum_.statistic().of))
      return opened(moved(), estimate(whole, interval));
    return clamped(opened(moved(), estimate(whole / static_cast<double>(records_), interval / number)));
  }

  const StatisticSum& sum_;
  std::span<const double> released_ = {};
  const NoiseReach& noise_;
  std::uint64_t records_;
  const Bounds* bounds_;
  Interval step_;
  Bounds possible_{-infinity, infinity};  ///< of a mean of rounded records
};

}  // namespace

namespace {

/// Calls `visit` with what was released of each group.
template <class Visit>
void each_group(const StatisticSum& sum, const std::vector<double>& released, const Visit& visit) {
  if (const auto parts = sum.groups() * sum.coordinates_of_group(); released.size() != parts) {
    throw Error{ErrorCode::invalid_argument, fmt::format("released vector has {} numbers, must have {}", released.size(), parts)};
  }
  const std::span<const double> all{released};
  for (std::size_t group = 0; group < sum.groups(); ++group) {
    visit(all.subspan(group * sum.coordinates_of_group(), sum.coordinates_of_group()));
  }
}

}  // namespace

std::vector<Estimate> estimates_of(const StatisticSum& sum, const std::vector<double>& released, const NoiseReach& reach,
                                   std::uint64_t records) {
  std::vector<Estimate> result;
  GroupEstimates estimates{sum, reach, records};
  each_group(sum, released, [&](std::span<const double> of_group) {
    estimates.take(of_group);
    for (const auto& estimate : estimates.all()) result.push_back(estimate);
  });
  return result;
}

std::vector<Estimate> used_records_of(const StatisticSum& sum, const std::vector<double>& released, const NoiseReach& reach) {
  std::vector<Estimate> result;
  if (sum.weight() == 0) return result;
  GroupEstimates estimates{sum, reach, 0};
  each_group(sum, released, [&](std::span<const double> of_group) {
    estimates.take(of_group);
    result.push_back(estimates.used());
  });
  return result;
}

}  // namespace surety::statistics
