#include <surety/mechanisms/queries/second_moment_sum.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/numbers/vectorized.h>

namespace surety::mechanisms {
namespace {

SURETY_VECTORIZED void add_row(double* target, double factor, const double* steps, std::size_t size) {
  for (std::size_t k = 0; k < size; ++k) target[k] += factor * steps[k];
}

ClippedSteps checked_steps(const SecondMomentSum::Options& options) {
  const double ratio = options.clip.value() * options.grid.steps_per_unit();
  if (!(ratio >= 1 && ratio <= SecondMomentSum::largest_ratio)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("clipping norm over grid step is {}, must be from 1 to 2^22", ratio)};
  }
  if (!(options.dimension >= 1 && options.dimension <= SecondMomentSum::largest_dimension)) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("dimension is {}, must be from 1 to {}", options.dimension, SecondMomentSum::largest_dimension)};
  }
  return {options.clip, options.grid};
}

}  // namespace

L2Sensitivity sensitivity_of_second_moment(ClippingNorm clip, Adjacency adjacency) {
  constexpr mpfr_prec_t precision = 128;
  const Interval squared = Interval{clip.value(), precision} * Interval{clip.value(), precision};
  if (adjacency != Adjacency::replace_one) return L2Sensitivity{squared.enclosure().upper};
  return L2Sensitivity{(squared * sqrt(Interval{2.0, precision})).enclosure().upper};
}

Grid second_moment_grid(ClippingNorm clip, Count records, NoiseMultiplier multiplier) {
  // n squares of 2^k steps are below 2^62 where 2 k + log2 n is at most 62, and z sqrt(2) of them at most 2^56 where 2 k + log2 z is at most 55.
  const int log2_records = std::ilogb(static_cast<double>(records.value())) + 1;
  const int log2_noise = std::ilogb(multiplier.value()) + 1;
  const int bits = std::clamp(std::min(61 - log2_records, 55 - log2_noise) / 2, 10, 22);
  return {.log2_step = std::ilogb(clip.value()) + 1 - bits};
}

SecondMomentSum::SecondMomentSum(Options options) : options_{options}, record_{checked_steps(options)} {
  recent_.resize(options.dimension * options.dimension);
  sum_.resize(options.dimension * options.dimension);
  // Sums of products below 2^53 are exact, in any order.
  most_recent_records_ = checked_cast<std::uint64_t>(0x1p53 / (record_.ratio() * record_.ratio()));
}

void SecondMomentSum::begin_unit(std::size_t rows) {
  if (rows == 0) throw Error{ErrorCode::invalid_argument, "a unit has 0 rows, must have at least 1"};
  rows_left_ = rows;
  if (rows == unit_rows_) return;
  unit_rows_ = rows;
  const double root = std::sqrt(static_cast<double>(rows));
  row_factor_ = 1 / root;
  // The square of what two roundings make of C / sqrt(m), less this, is at most C^2 / m.
  constexpr double margin = 0x1p-50;
  const double clip = rows == 1 ? options_.clip.value() : options_.clip.value() / root * (1 - margin);
  if (clip >= options_.grid.step()) {
    record_ = ClippedSteps{ClippingNorm{clip}, options_.grid};
  } else {
    row_factor_ = 0;
  }
}

void SecondMomentSum::count_record() {
  if (rows_left_) {
    if (*rows_left_ == 0) throw Error{ErrorCode::invalid_argument, "a unit has one more row than was said"};
    --*rows_left_;
  }
  if (recent_records_ == most_recent_records_) flush();
  ++recent_records_;
}

void SecondMomentSum::add_scaled(double factor, std::span<const double> row, double norm) {
  if (row.size() != options_.dimension) {
    throw Error{ErrorCode::invalid_argument, fmt::format("a record has {} coordinates, must have {}", row.size(), options_.dimension)};
  }
  count_record();
  const std::span<const double> steps = record_.place(row_factor_ * factor, row, norm);
  for (std::size_t j = 0; j < steps.size(); ++j) {
    if (steps[j] != 0) add_row(recent_.data() + j * options_.dimension + j, steps[j], steps.data() + j, steps.size() - j);
  }
}

void SecondMomentSum::flush() {
  for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] += static_cast<std::int64_t>(recent_[i]);
  std::fill(recent_.begin(), recent_.end(), 0.0);
  recent_records_ = 0;
}

void SecondMomentSum::merge(const SecondMomentSum& other) {
  if (!(other.options_ == options_)) throw Error{ErrorCode::invalid_argument, "only sums of records of the same options can be merged"};
  for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] += other.sum_[i] + static_cast<std::int64_t>(other.recent_[i]);
}

GridVector SecondMomentSum::sum() const {
  const std::size_t d = options_.dimension;
  GridVector result{.grid = {.log2_step = 2 * options_.grid.log2_step.value()}, .steps = std::vector<std::int64_t>(d * d)};
  for (std::size_t j = 0; j < d; ++j) {
    for (std::size_t k = j; k < d; ++k) {
      const Integer steps = sum_[j * d + k] + static_cast<std::int64_t>(recent_[j * d + k]);
      const auto clamped = static_cast<std::int64_t>(std::clamp<Integer>(steps, -Integer{largest_sum}, Integer{largest_sum}));
      result.steps[j * d + k] = clamped;
      result.steps[k * d + j] = clamped;
    }
  }
  return result;
}

L2Sensitivity SecondMomentSum::sensitivity(Adjacency adjacency) const { return sensitivity_of_second_moment(options_.clip, adjacency); }

}  // namespace surety::mechanisms
