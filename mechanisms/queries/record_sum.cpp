#include <surety/mechanisms/queries/record_sum.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/vectorized.h>

namespace surety::mechanisms {

namespace {

using Lanes = double __attribute__((vector_size(32)));
using Masks = std::int64_t __attribute__((vector_size(32)));

constexpr std::size_t lanes = sizeof(Lanes) / sizeof(double);

/// steps[k] = scale values[k] steps_per_unit, rounded toward zero, where that is below 2^52 in magnitude; else at least 2^52 in magnitude,
/// or a NaN. \return the sum of their squares, in some order. \pre steps has room for whole vectors: up to lanes - 1 zeros follow.
SURETY_VECTORIZED double whole_steps(double scale, double steps_per_unit, const double* values, std::size_t size, double* steps) {
  constexpr std::int64_t sign_bit = std::numeric_limits<std::int64_t>::min();
  constexpr Lanes one = {1, 1, 1, 1};
  Lanes squared_norms = {};
  for (std::size_t k = 0; k < size; k += lanes) {
    Lanes exact;
    if (size - k >= lanes) [[likely]] {
      std::memcpy(&exact, values + k, sizeof exact);
    } else {
      exact = Lanes{values[k], size - k > 1 ? values[k + 1] : 0, size - k > 2 ? values[k + 2] : 0, 0};
    }
    exact = exact * scale * steps_per_unit;
    const Masks signs = reinterpret_cast<Masks>(exact) & sign_bit;
    const Lanes magnitude = reinterpret_cast<Lanes>(reinterpret_cast<Masks>(exact) & ~sign_bit);
    // From 2^52 to 2^53 doubles are the integers, so this rounds, one way or the other.
    const Lanes rounded = (magnitude + 0x1p52) - 0x1p52;
    const Lanes excess = reinterpret_cast<Lanes>(reinterpret_cast<Masks>(one) & (rounded > magnitude));
    const Lanes whole = reinterpret_cast<Lanes>(reinterpret_cast<Masks>(rounded - excess) | signs);
    squared_norms += whole * whole;
    std::memcpy(steps + k, &whole, sizeof whole);
  }
  return (squared_norms[0] + squared_norms[1]) + (squared_norms[2] + squared_norms[3]);
}

SURETY_VECTORIZED void add_to(double* target, const double* terms, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) target[i] += terms[i];
}

ClippedSteps checked_steps(const RecordSum::Options& options) {
  const double ratio = options.clip.value() * options.grid.steps_per_unit();
  if (!(ratio >= 1 && ratio <= RecordSum::largest_ratio)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("clipping norm over grid step is {}, must be from 1 to 2^40", ratio)};
  }
  if (options.dimension < 1) throw Error{ErrorCode::invalid_argument, "dimension is 0, must be at least 1"};
  return {options.clip, options.grid};
}

}  // namespace

double l2_norm(std::span<const double> values) {
  const StandardFloatingPoint environment;
  double sum = 0;
  for (const double value : values) sum += value * value;
  // Within these bounds no square overflowed, and those that underflowed are too small to matter.
  if (sum >= 0x1p-900 && sum <= 0x1p1000) return std::sqrt(sum);
  double largest = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) return std::abs(value);
    largest = std::max(largest, std::abs(value));
  }
  if (largest == 0) return 0;
  const int exponent = std::ilogb(largest);
  double scaled_sum = 0;
  for (const double value : values) {
    const double scaled = std::scalbn(value, -exponent);
    scaled_sum += scaled * scaled;
  }
  return std::scalbn(std::sqrt(scaled_sum), exponent);
}

ClippedSteps::ClippedSteps(ClippingNorm clip, const Grid& grid)
    : clip_{clip.value()}, steps_per_unit_{grid.steps_per_unit()}, ratio_{clip_ * steps_per_unit_} {
  // ratio = mantissa 2^(exponent - 53) with 1 <= exponent <= 41, so its square fits, and shifting it takes the integer part.
  int exponent = 0;
  const auto mantissa = static_cast<Unsigned>(std::ldexp(std::frexp(ratio_, &exponent), 53));
  largest_squared_norm_ = mantissa * mantissa >> (2 * (53 - exponent));
  nearest_squared_norm_ = static_cast<double>(largest_squared_norm_);
}

bool ClippedSteps::try_place(double scale, std::span<const double> values) {
  Unsigned squared_norm = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    double steps = scale * values[k] * steps_per_unit_;
    if (!(std::abs(steps) <= ratio_)) [[unlikely]]
      steps = std::isnan(steps) ? 0 : std::copysign(ratio_, steps);
    steps_[k] = std::trunc(steps);
    const auto magnitude = static_cast<std::uint64_t>(std::abs(steps_[k]));
    squared_norm += static_cast<Unsigned>(magnitude) * magnitude;
  }
  return squared_norm <= largest_squared_norm_;
}

std::span<const double> ClippedSteps::place(double factor, std::span<const double> values, double norm) {
  const StandardFloatingPoint environment;
  if (steps_.size() < values.size() + lanes) steps_.resize(values.size() + lanes);
  const double clip = clip_factor(factor, norm);
  // A record without a finite norm may hold an infinite factor, and 0 times that is not 0.
  double scale = clip == 0 ? 0 : factor * clip;
  const double squared_norm = whole_steps(scale, steps_per_unit_, values.data(), values.size(), steps_.data());
  // A sum of n squares errs by less than a relative (n + 1) 2^-53; the rest covers the operations here. What passes needed no clamp.
  const double slack = (static_cast<double>(values.size()) + 8) * 0x1p-52;
  if (!(squared_norm * (1 + slack) < nearest_squared_norm_)) [[unlikely]] {
    // A rounding error or a wrong norm left it too long: ever faster shrinking ones, the last of which is zero.
    for (double shrink = 0x1p-50; !try_place(scale, values); shrink *= 2) scale *= 1 - shrink;
  }
  return {steps_.data(), values.size()};
}

RecordSum::RecordSum(Options options) : options_{options}, record_{checked_steps(options)} {
  sum_.resize(options.dimension);
  recent_.resize(options.dimension);
  most_recent_records_ = checked_cast<std::uint64_t>(0x1p53 / record_.ratio());
}

void RecordSum::add_scaled(double factor, std::span<const double> row, double norm) {
  require_same_size("a record", row.size(), sum_.size());
  const std::span<const double> steps = record_.place(factor, row, norm);
  count_record();
  add_to(recent_.data(), steps.data(), recent_.size());
}

void RecordSum::flush() {
  for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] += static_cast<std::int64_t>(recent_[i]);
  std::fill(recent_.begin(), recent_.end(), 0.0);
  recent_records_ = 0;
}

void RecordSum::merge(const RecordSum& other) {
  if (!(other.options_ == options_)) throw Error{ErrorCode::invalid_argument, "only sums of records of the same options can be merged"};
  for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] += other.sum_[i] + static_cast<std::int64_t>(other.recent_[i]);
}

GridVector RecordSum::sum() const {
  GridVector result{.grid = options_.grid, .steps = {}};
  result.steps.reserve(sum_.size());
  for (std::size_t i = 0; i < sum_.size(); ++i) {
    const Integer steps = sum_[i] + static_cast<std::int64_t>(recent_[i]);
    result.steps.push_back(static_cast<std::int64_t>(std::clamp<Integer>(steps, -Integer{largest_sum}, Integer{largest_sum})));
  }
  return result;
}

std::vector<double> RecordSum::reals() const {
  const StandardFloatingPoint environment;
  std::vector<double> result(sum_.size());
  const double step = options_.grid.step();
  for (std::size_t i = 0; i < sum_.size(); ++i) {
    result[i] = static_cast<double>(sum_[i] + static_cast<std::int64_t>(recent_[i])) * step;
  }
  return result;
}

void RecordSum::clear() {
  std::fill(sum_.begin(), sum_.end(), 0);
  std::fill(recent_.begin(), recent_.end(), 0.0);
  recent_records_ = 0;
}

void RecordSum::require_same_size(const char* what, std::size_t size, std::size_t wanted) const {
  if (size != wanted) {
    throw Error{ErrorCode::invalid_argument, fmt::format("{} has {} coordinates, must have {}", what, size, wanted)};
  }
}

}  // namespace surety::mechanisms
