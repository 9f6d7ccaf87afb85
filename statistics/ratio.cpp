#include <surety/statistics/ratio.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace surety::statistics {

double ratio_value(double sum, double count, const data::Bounds& possible) noexcept {
  return std::clamp(sum / std::max(count, 1.0), possible.lower, possible.upper);
}

Enclosure ratio_interval(double sum, double count, const data::Bounds& possible, const RatioNoise& noise, const NoiseTest& test) {
  const auto pivot = [&](double ratio) { return exactly(sum) - exactly(ratio) * exactly(count); };
  const auto is_excluded = [&](double low, double high) {
    // The pivot is linear in the ratio, its noise grows with the magnitude.
    const auto ends = hull(pivot(low), pivot(high)).enclosure();
    const double nearest = std::max({ends.lower, -ends.upper, 0.0});
    const double most = std::max(std::abs(low), std::abs(high));
    const auto noise_of_count = (exactly(most) * exactly(noise.count_scale)).enclosure().upper;
    const auto beyond_rounding =
        (exactly(nearest) - exactly(noise.sum_rounding) - exactly(most) * exactly(noise.count_rounding)).enclosure().lower;
    return test.excludes(std::array{noise.sum_scale, noise_of_count}, beyond_rounding);
  };
  const double value = ratio_value(sum, count, possible);
  const double tolerance =
      std::max(0x1p-10 * noise.sum_scale / std::max(std::abs(count), 1.0), 0x1p-50 * (possible.upper - possible.lower));
  const auto kept = hull_of_the_rest(possible.lower, possible.upper, tolerance, is_excluded);
  if (!kept) return count < 1 ? Enclosure{possible.lower, possible.upper} : Enclosure{value, value};
  return {std::min(kept->lower, value), std::max(kept->upper, value)};
}

}  // namespace surety::statistics
