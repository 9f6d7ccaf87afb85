#include <surety/statistics/estimates.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include <fmt/format.h>

#include <surety/accounting/numbers/error.h>
#include <surety/accounting/numbers/overload.h>
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

/// Of one group.
std::vector<Estimate> estimates_of_group(const StatisticSum& sum, std::span<const double> released, const NoiseReach& noise,
                                         std::uint64_t records) {
  const double reach = noise.distance;
  const auto around = [&](double value) {
    // Beyond 2^53 steps a released number was rounded when it became a double.
    const double rounding = std::abs(value) > 0x1p53 * sum.grid().step() ? std::abs(value) * 0x1p-53 : 0;
    const Interval half = point(reach) + point(rounding);
    return hull(point(value) - half, point(value) + half);
  };
  const auto estimate = [](double value, const Interval& interval) {
    const auto ends = interval.enclosure();
    return Estimate{value, ends.lower + 0.0, ends.upper + 0.0};  // a lower end of -0 becomes 0
  };
  // A sum beyond what fits was released as the largest one that does. Where the noise may have brought it from there, nothing bounds it.
  const auto is_open_above = [&](double value) {
    if (value + reach < 0x1p61 * sum.grid().step()) return false;  // far from there
    return (around(value) - point(largest_sum - 1) * point(sum.grid().step())).enclosure().upper >= 0;
  };
  const auto is_open_below = [&](double value) { return is_open_above(-value); };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto opened = [&](double value, Estimate closed) {
    if (is_open_below(value)) closed.lower = -infinity;
    if (is_open_above(value)) closed.upper = infinity;
    return closed;
  };
  std::vector<Estimate> result;
  const Bounds* const bounds = bounds_of(sum.statistic());
  if (bounds == nullptr) {
    for (const double count : released) result.push_back(opened(count, estimate(count, around(count))));
    return result;
  }
  const Interval step = point(sum.grid().step());
  const auto clamped = [&](const Estimate& raw) {
    // What rounding to the grid makes of the bounds.
    const double lower = std::min(bounds->lower, (point(sum.origin()) + point(sum.least()) * step).enclosure().lower);
    const double upper = std::max(bounds->upper, (point(sum.origin()) + point(sum.largest()) * step).enclosure().upper);
    return Estimate{std::clamp(raw.value, lower, upper), std::clamp(raw.lower, lower, upper), std::clamp(raw.upper, lower, upper)};
  };
  const double moved = released.front();  // from the origin
  const auto may_be_saturated = [&] {
    return std::any_of(released.begin(), released.end(), [&](double part) { return is_open_below(part) || is_open_above(part); });
  };
  // Even the upper end of a count is below one record.
  const auto is_below_one = [&](double count) { return (around(count) / (point(sum.weight()) * step)).compare(1) < 0; };
  const auto steps = [&](double part) { return part * sum.grid().steps_per_unit(); };  // exact
  if (sum.is_variance()) {
    const VarianceRelease parts{.sum = steps(moved),
                                .squares = steps(released[1]),
                                .count = sum.weight() != 0 ? std::optional{steps(released[2])} : std::nullopt,
                                .records = records,
                                .largest = sum.farthest(),
                                .scale = steps(noise.scale)};
    const auto possible = may_be_saturated() || (sum.weight() != 0 && is_below_one(released[2]))
                              ? Enclosure{0, 1}
                              : variance_interval(parts, *noise.of_variance);
    const Interval half = point(sum.farthest()) * step;
    const auto in_data_units = [&](double share) { return (point(share) * half * half).enclosure(); };
    const double value = in_data_units(variance_value(parts)).lower;
    return {{value, std::min(in_data_units(possible.lower).lower, value), in_data_units(possible.upper).upper}};
  }
  if (sum.weight() != 0) {
    const double count = released[1] / (static_cast<double>(sum.weight()) * sum.grid().step());
    const double value = sum.origin() + moved / std::max(count, 1.0);
    // A mean is one of at least one record, here in steps from the origin.
    if (may_be_saturated() || is_below_one(released[1])) return {clamped({value, -infinity, infinity})};
    const auto weight = static_cast<double>(sum.weight());
    const auto rounding = [&](double part) { return 0.5 + std::abs(steps(part)) * 0x1p-51; };
    const auto mean = ratio_interval(steps(moved), count, Bounds{static_cast<double>(sum.least()), static_cast<double>(sum.largest())},
                                     {.sum_scale = steps(noise.scale),
                                      .count_scale = (point(steps(noise.scale)) / point(weight)).enclosure().upper,
                                      .sum_rounding = rounding(moved),
                                      .count_rounding = (point(rounding(released[1])) / point(weight)).enclosure().upper},
                                     *noise.of_ratio);
    const auto clamped_value = clamped({value, value, value}).value;
    auto result_of_mean = clamped(estimate(value, point(sum.origin()) + hull(point(mean.lower), point(mean.upper)) * step));
    result_of_mean.lower = std::min(result_of_mean.lower, clamped_value);
    result_of_mean.upper = std::max(result_of_mean.upper, clamped_value);
    return {result_of_mean};
  }
  const Interval number = point(static_cast<double>(records));
  const double whole = std::fma(static_cast<double>(records), sum.origin(), moved);
  const Interval interval = number * point(sum.origin()) + around(moved);
  if (std::holds_alternative<SumOf>(sum.statistic().of) || std::holds_alternative<UnitSumOf>(sum.statistic().of))
    return {opened(moved, estimate(whole, interval))};
  return {clamped(opened(moved, estimate(whole / static_cast<double>(records), interval / number)))};
}

}  // namespace

std::vector<Estimate> estimates_of(const StatisticSum& sum, const std::vector<double>& released, const NoiseReach& reach,
                                   std::uint64_t records) {
  if (const auto parts = sum.groups() * sum.coordinates_of_group(); released.size() != parts) {
    throw Error{ErrorCode::invalid_argument, fmt::format("released vector has {} numbers, must have {}", released.size(), parts)};
  }
  std::vector<Estimate> result;
  const std::span<const double> all{released};
  for (std::size_t group = 0; group < sum.groups(); ++group) {
    const auto of_group = all.subspan(group * sum.coordinates_of_group(), sum.coordinates_of_group());
    for (const auto& estimate : estimates_of_group(sum, of_group, reach, records)) result.push_back(estimate);
  }
  return result;
}

}  // namespace surety::statistics
