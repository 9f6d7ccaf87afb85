#include <surety/statistics/ratio.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <surety/base/numbers/bound.h>

namespace surety::statistics {

double ratio_value(double sum, double count, const data::Bounds& possible) noexcept {
  return std::clamp(sum / std::max(count, 1.0), possible.lower, possible.upper);
}

Enclosure ratio_interval(double sum, double count, const data::Bounds& possible, const RatioNoise& noise, const NoiseTest& test) {
  // s - theta n, within a rounding of one fused operation.
  const auto pivot = [&](double ratio) { return std::fma(-ratio, count, sum); };
  const auto is_excluded = [&](double low, double high) {
    // The pivot is linear in the ratio, its noise grows with the magnitude.
    const double at_low = pivot(low);
    const double at_high = pivot(high);
    if (!(at_low > 0 && at_high > 0) && !(at_low < 0 && at_high < 0)) return false;
    const Lower nearest = Lower::within(std::min(std::abs(at_low), std::abs(at_high)), 1.0);
    const Exact most{std::max(std::abs(low), std::abs(high))};
    const Upper rounding = Exact{noise.sum_rounding} + Upper{Exact{noise.count_rounding}} * most;
    return test.excludes(std::array{noise.sum_scale, (Upper{Exact{noise.count_scale}} * most).value()}, (nearest - rounding).value());
  };
  const double value = ratio_value(sum, count, possible);
  const double tolerance =
      std::max(0x1p-10 * noise.sum_scale / std::max(std::abs(count), 1.0), 0x1p-50 * (possible.upper - possible.lower));
  const auto kept = hull_of_the_rest(possible.lower, possible.upper, tolerance, is_excluded);
  if (!kept) return count < 1 ? Enclosure{possible.lower, possible.upper} : Enclosure{value, value};
  return {std::min(kept->lower, value), std::max(kept->upper, value)};
}

}  // namespace surety::statistics
