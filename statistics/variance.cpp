#include <surety/statistics/variance.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <surety/data/features/features.h>
#include <surety/statistics/ratio.h>

namespace surety::statistics {

std::int64_t centred_square(std::int64_t steps, std::int64_t largest) noexcept {
  // 2^81 fits into 128 bits. Where steps^2 / largest is rounded to the nearest, halves up, twice that less `largest` stays within range.
  __extension__ using Integer = __int128;
  const Integer numerator = 4 * Integer{steps} * steps + largest;  // floor((4 k^2 + M) / (2 M)) is the nearest integer of 2 k^2 / M
  return static_cast<std::int64_t>(numerator / (2 * Integer{largest})) - largest;
}

VarianceNorms norms_of_a_record(std::int64_t largest, bool has_count) {
  const Interval most = exactly(static_cast<double>(largest));
  const Interval parts = exactly(has_count ? 3 : 2);
  return {parts * most, sqrt(parts) * most};
}

VarianceNorms norms_of_a_change(std::int64_t largest) {
  const Interval most = exactly(static_cast<double>(largest));
  const Interval rounding = exactly(1);
  return {exactly(3.125) * most + rounding, sqrt((exactly(71) + exactly(8) * sqrt(exactly(2))) / exactly(16)) * most + rounding};
}

namespace {

/// M N, as released or as it is.
double weighted_count(const VarianceRelease& release) {
  return release.count ? *release.count : static_cast<double>(release.records) * static_cast<double>(release.largest);
}

/// How far a released number of steps lies from its exact value plus ideal noise at most: rounding to a step, and of a double.
double rounding_of(double released) { return 0.5 + std::abs(released) * 0x1p-52; }

}  // namespace

double variance_value(const VarianceRelease& release) noexcept {
  const double count = std::max(weighted_count(release), static_cast<double>(release.largest));
  const double mean = release.sum / count;
  const double squares = (release.squares / count + 1) / 2;
  const double value = squares - mean * mean;
  return value > 0 ? std::min(value, 1.0) : 0;
}

VarianceTest::VarianceTest(NoiseLaw law, double exceeded)
    : of_mean{law, exceeded / 10}, of_variance{law, (exactly(exceeded) - exactly(exceeded / 10)).enclosure().lower} {}

Enclosure variance_interval(const VarianceRelease& release, const VarianceTest& test) {
  const double count = weighted_count(release);
  const double count_scale = release.count ? release.scale : 0;
  const double count_rounding = release.count ? rounding_of(count) : count * 0x1p-52;
  const auto mean = ratio_interval(release.sum, count, data::Bounds{-1, 1},
                                   {release.scale, count_scale, rounding_of(release.sum), count_rounding}, test.of_mean);

  // m^2 C - 2 m A over the means left: at the ends, and at the vertex A / C between them.
  const Interval sum = exactly(release.sum);
  const Interval counted = exactly(count);
  const auto parabola = [&](double m) { return exactly(m) * exactly(m) * counted - exactly(2) * exactly(m) * sum; };
  Interval shift = hull(parabola(mean.lower), parabola(mean.upper));
  if (count != 0) {
    const auto vertex = (sum / counted).enclosure();
    if (vertex.upper >= mean.lower && vertex.lower <= mean.upper) shift = hull(shift, -(sum * sum / counted));
  }
  const Interval base = (exactly(release.squares) + counted) / exactly(2) + shift;
  const double largest_mean = std::max(std::abs(mean.lower), std::abs(mean.upper));
  const double smallest_mean = mean.lower > 0 ? mean.lower : std::max(0.0, -mean.upper);
  const double sum_factor = 2 * largest_mean;

  const auto is_excluded = [&](double low, double high) {
    const auto pivot = hull(base - exactly(low) * counted, base - exactly(high) * counted).enclosure();
    const double nearest = std::max({pivot.lower, -pivot.upper, 0.0});
    const auto above = (exactly(0.5) + exactly(largest_mean) * exactly(largest_mean) - exactly(low)).enclosure().upper;
    const auto below = (exactly(high) - exactly(0.5) - exactly(smallest_mean) * exactly(smallest_mean)).enclosure().upper;
    const double count_factor = std::max({above, below, 0.0});
    const auto rounding = exactly(0.5) * exactly(rounding_of(release.squares)) + exactly(sum_factor) * exactly(rounding_of(release.sum)) +
                          exactly(count_factor) * exactly(count_rounding);
    const auto scaled = [](double factor, double scale) { return (exactly(factor) * exactly(scale)).enclosure().upper; };
    const std::array scales{scaled(0.5, release.scale), scaled(sum_factor, release.scale), scaled(count_factor, count_scale)};
    return test.of_variance.excludes(scales, (exactly(nearest) - rounding).enclosure().lower);
  };
  // Each rounded square is within 1/4M of k^2 / M^2.
  const double slack = (exactly(0.25) / exactly(static_cast<double>(release.largest))).enclosure().upper;
  const double value = variance_value(release);
  const double tolerance = std::max(0x1p-10 * release.scale / std::max(std::abs(count), 1.0), 0x1p-50);
  const auto kept = hull_of_the_rest(-slack, 1 + slack, tolerance, is_excluded);
  if (!kept) return count < static_cast<double>(release.largest) ? Enclosure{0, 1} : Enclosure{value, value};
  const auto lower = (exactly(kept->lower) - exactly(slack)).enclosure().lower;
  const auto upper = (exactly(kept->upper) + exactly(slack)).enclosure().upper;
  return {std::clamp(lower, 0.0, value), std::clamp(upper, value, 1.0)};
}

}  // namespace surety::statistics
