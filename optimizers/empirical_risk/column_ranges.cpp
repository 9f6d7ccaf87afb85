#include <surety/optimizers/empirical_risk/column_ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <surety/mechanisms/additive/gaussian.h>
#include <surety/optimizers/problem/counts.h>

namespace surety::optimizers {
namespace {

constexpr int rounds_of_powers = 8;
constexpr int rounds_within = 8;
static_assert(rounds_of_powers + rounds_within == range_releases);
constexpr int powers = 1 << (rounds_of_powers - 1);  // on each side of 0

constexpr double standard_deviations = 3;
constexpr double least_rank = 0.06;
constexpr double most_rank = 0.45;

/// The boundary with an index from -128 to 128, which ascend: 0, and +-2^-64 to +-2^63.
double boundary(int index) {
  if (index == 0) return 0;
  const double size = std::ldexp(1.0, std::abs(index) - powers / 2 - 1);
  return index < 0 ? -size : size;
}

/// Where an end of a range lies, as far as is known.
class End {
 public:
  [[nodiscard]] double threshold() const { return is_within_ ? lower_ + (upper_ - lower_) / 2 : boundary((first_ + last_) / 2); }
  void move(bool is_up) {
    if (is_within_) {
      (is_up ? lower_ : upper_) = threshold();
      return;
    }
    (is_up ? first_ : last_) = (first_ + last_) / 2;
    if (last_ - first_ > 1) return;
    is_within_ = true;
    lower_ = boundary(first_);
    upper_ = boundary(last_);
  }
  [[nodiscard]] double lower() const { return lower_; }
  [[nodiscard]] double upper() const { return upper_; }

 private:
  int first_ = -powers;
  int last_ = powers;
  bool is_within_ = false;
  double lower_ = 0;
  double upper_ = 0;
};

struct Thresholds {
  double lower;
  double upper;
};

/// How many numbers of each column are below its lower threshold, and then at or above both.
std::vector<double> counts_of(const Dataset& data, const RangeOptions& options, std::span<const Thresholds> thresholds) {
  const std::size_t columns = options.columns.size();
  std::vector<std::uint64_t> counts(2 * columns, 0);
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto row = data.row(i).values;
    if (row.empty() || row.back() == 0) continue;
    for (std::size_t k = 0; k < columns; ++k) {
      const double number = row[options.columns[k]];
      const bool is_below = number < thresholds[k].lower;
      counts[2 * k] += is_below ? 1 : 0;
      counts[2 * k + 1] += !is_below && number >= thresholds[k].upper ? 1 : 0;
    }
  }
  return {counts.begin(), counts.end()};
}

}  // namespace

Event ranges_event(NoiseMultiplier noise_multiplier, Adjacency adjacency) {
  return repeat(Count{range_releases}, gaussian(noise_multiplier, adjacency));
}

L2Sensitivity sensitivity_of_range_counts(std::size_t columns, Adjacency adjacency) {
  // Proved: docs/proofs/ranges.md#counts
  const double squared = static_cast<double>(columns) * (adjacency == Adjacency::replace_one ? 2 : 1);
  return L2Sensitivity{std::nextafter(std::sqrt(squared), std::numeric_limits<double>::infinity())};
  // Proved so far.
}

double range_rank(const RangeOptions& options) {
  const double noise = options.noise_multiplier.value() * sensitivity_of_range_counts(options.columns.size(), options.adjacency).value();
  return std::clamp(standard_deviations * noise / options.count, least_rank, most_rank);
}

std::vector<data::Bounds> release_ranges(const Dataset& data, const RangeOptions& options, Releaser& releaser) {
  const std::size_t columns = options.columns.size();
  const L2Sensitivity sensitivity = sensitivity_of_range_counts(columns, options.adjacency);
  const Grid found = mechanisms::grid_for(sensitivity, options.noise_multiplier);
  const Grid grid{.log2_step = std::min(found.log2_step.value(), 0)};  // counts are whole numbers
  const double rank = range_rank(options) * options.count;
  const Event event = gaussian(options.noise_multiplier, options.adjacency);
  std::vector<End> lower(columns);
  std::vector<End> upper(columns);
  std::vector<Thresholds> thresholds(columns);
  for (int round = 0; round < range_releases; ++round) {
    for (std::size_t k = 0; k < columns; ++k) thresholds[k] = {lower[k].threshold(), upper[k].threshold()};
    const auto counts = counts_of(data, options, thresholds);
    const auto released = releaser.release(mechanisms::round_to_nearest(counts, grid), sensitivity, event);
    for (std::size_t k = 0; k < columns; ++k) {
      lower[k].move(!(released[2 * k] > rank));
      upper[k].move(released[2 * k + 1] > rank);
    }
  }
  std::vector<data::Bounds> ranges;
  // Noise may have moved an end beyond the other.
  for (std::size_t k = 0; k < columns; ++k) {
    ranges.push_back({std::min(lower[k].lower(), upper[k].lower()), std::max(lower[k].upper(), upper[k].upper())});
  }
  return ranges;
}

}  // namespace surety::optimizers
