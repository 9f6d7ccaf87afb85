#include <surety/mechanisms/record_sum.h>

#include <algorithm>

#include <fmt/format.h>

namespace surety::mechanisms {

double l2_norm(std::span<const double> values) {
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

RecordSum::RecordSum(Options options)
    : options_{options}, steps_per_unit_{options.grid.steps_per_unit()}, ratio_{options.clip.value() * steps_per_unit_} {
  if (!(ratio_ >= 1 && ratio_ <= largest_ratio)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("clipping norm over grid step is {}, must be from 1 to 2^40", ratio_)};
  }
  if (options.dimension < 1) throw Error{ErrorCode::invalid_argument, "dimension is 0, must be at least 1"};
  sum_.resize(options.dimension);
  // ratio = mantissa 2^(exponent - 53) with 1 <= exponent <= 41, so its square fits, and shifting it takes the integer part.
  int exponent = 0;
  const auto mantissa = static_cast<Unsigned>(std::ldexp(std::frexp(ratio_, &exponent), 53));
  largest_squared_norm_ = mantissa * mantissa >> (2 * (53 - exponent));
}

void RecordSum::add_scaled(double factor, std::span<const double> row, double norm) {
  require_same_size("a record", row.size(), sum_.size());
  place_clipped(factor, row, norm);
  for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] += steps_[i];
}

bool RecordSum::place(double scale, std::span<const double> values) {
  Unsigned squared_norm = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    double steps = scale * values[k] * steps_per_unit_;
    if (!(std::abs(steps) <= ratio_)) [[unlikely]]
      steps = std::isnan(steps) ? 0 : std::copysign(ratio_, steps);
    steps_[k] = static_cast<std::int64_t>(steps);
    const auto magnitude = static_cast<std::uint64_t>(std::abs(steps_[k]));
    squared_norm += static_cast<Unsigned>(magnitude) * magnitude;
  }
  return squared_norm <= largest_squared_norm_;
}

void RecordSum::place_clipped(double factor, std::span<const double> values, double norm) {
  if (steps_.size() < values.size()) steps_.resize(values.size());
  const double clip = clip_factor(factor, norm);
  // A record without a finite norm may hold an infinite factor, and 0 times that is not 0.
  double scale = clip == 0 ? 0 : factor * clip;
  for (double shrink = 0x1p-50; !place(scale, values); shrink *= 2) scale *= 1 - shrink;
}

GridVector RecordSum::sum() const {
  GridVector result{.grid = options_.grid, .steps = {}};
  result.steps.reserve(sum_.size());
  for (const Integer steps : sum_) {
    result.steps.push_back(static_cast<std::int64_t>(std::clamp<Integer>(steps, -Integer{largest_sum}, Integer{largest_sum})));
  }
  return result;
}

void RecordSum::clear() { std::fill(sum_.begin(), sum_.end(), 0); }

void RecordSum::require_same_size(const char* what, std::size_t size, std::size_t wanted) const {
  if (size != wanted) {
    throw Error{ErrorCode::invalid_argument, fmt::format("{} has {} coordinates, must have {}", what, size, wanted)};
  }
}

}  // namespace surety::mechanisms
