#include <surety/mechanisms/queries/bounded_sum.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/floating_point.h>

namespace surety::mechanisms {
namespace {

__extension__ using Integer = __int128;

GridVector saturated(Integer sum, const Grid& grid) {
  return {.grid = grid, .steps = {static_cast<std::int64_t>(std::clamp<Integer>(sum, -Integer{largest_sum}, Integer{largest_sum}))}};
}

/// In data units: at most 2^41 steps, so exact.
double width(std::int64_t lowest, std::int64_t highest, Adjacency adjacency, const Grid& grid) {
  const std::int64_t steps = adjacency == Adjacency::replace_one ? highest - lowest : std::max(std::abs(lowest), std::abs(highest));
  return static_cast<double>(steps) * grid.step();
}

}  // namespace

Bounds::Bounds(double lower, double upper) : lower_{lower}, upper_{upper} {
  if (!(std::isfinite(lower) && std::isfinite(upper) && lower < upper)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("bounds are {} and {}, must be finite and increasing", lower, upper)};
  }
}

BoundedSteps::BoundedSteps(Bounds bounds, Grid grid) : grid_{grid} {
  const double lower = bounds.lower() * grid.steps_per_unit();
  const double upper = bounds.upper() * grid.steps_per_unit();
  if (!(std::abs(lower) <= largest_ratio && std::abs(upper) <= largest_ratio)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("bounds over grid step are {} and {}, must be within 2^40 of 0", lower, upper)};
  }
  // A bound that underflows here lies within a step of 0, and so does its rounding.
  lowest_ = checked_cast<std::int64_t>(std::ceil(lower));
  highest_ = checked_cast<std::int64_t>(std::floor(upper));
  if (!(lowest_ < highest_)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("grid step is {}, must leave at least two grid points from {} to {}", grid.step(),
                                                         bounds.lower(), bounds.upper())};
  }
}

std::int64_t BoundedSteps::operator()(double value, std::int64_t replacement) const noexcept {
  if (std::isnan(value)) return replacement;
  // Clamped first, between whole numbers, so rounding cannot leave the bounds; scaling may overflow but not change the order.
  const double steps = std::clamp(value * grid_.steps_per_unit(), static_cast<double>(lowest_), static_cast<double>(highest_));
  return static_cast<std::int64_t>(std::round(steps));
}

void BoundedSum::add(double value) noexcept { sum_ += steps_(value, std::clamp<std::int64_t>(0, steps_.lowest(), steps_.highest())); }

void BoundedSum::add(std::span<const double> values) noexcept {
  const StandardFloatingPoint environment;
  for (const double value : values) add(value);
}

GridVector BoundedSum::sum() const { return saturated(sum_, steps_.grid()); }

double BoundedSum::sensitivity(Adjacency adjacency) const { return width(steps_.lowest(), steps_.highest(), adjacency, steps_.grid()); }

BoundedMean::BoundedMean(Bounds bounds, Grid grid, Adjacency adjacency)
    : bounds_{bounds}, steps_{bounds, grid}, adjacency_{adjacency}, centre_{steps_.lowest() + (steps_.highest() - steps_.lowest()) / 2} {}

void BoundedMean::add(double value) noexcept {
  sum_ += steps_(value, centre_) - centre_;
  ++count_;
}

void BoundedMean::add(std::span<const double> values) noexcept {
  const StandardFloatingPoint environment;
  for (const double value : values) add(value);
}

double BoundedMean::centre() const noexcept { return static_cast<double>(centre_) * steps_.grid().step(); }

GridVector BoundedMean::centred_sum() const { return saturated(sum_, steps_.grid()); }

double BoundedMean::sensitivity() const { return width(steps_.lowest() - centre_, steps_.highest() - centre_, adjacency_, steps_.grid()); }

GridVector BoundedMean::private_count() const { return saturated(static_cast<Integer>(count_), Grid{0}); }

std::uint64_t BoundedMean::public_count() const {
  if (adjacency_ == Adjacency::add_or_remove_one) {
    throw Error{ErrorCode::invalid_argument, "the number of records is private under add-or-remove-one, must be released with noise"};
  }
  return count_;
}

double BoundedMean::estimate(double released_sum, double count) const {
  const StandardFloatingPoint environment;
  const double mean = centre() + released_sum / std::max(count, 1.0);
  return std::isnan(mean) ? centre() : std::clamp(mean, bounds_.lower(), bounds_.upper());
}

}  // namespace surety::mechanisms
