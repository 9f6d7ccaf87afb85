#include <surety/mechanisms/queries/clipped_sum.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/text/error.h>

namespace surety::mechanisms {
namespace {

bool is_named(const ClippedSum::Options& options, NormName norm) {
  const auto* const named = std::get_if<NormName>(&options.norm);
  return named != nullptr && *named == norm;
}

}  // namespace

ClippedSum::ClippedSum(const Options& options) : options_{options}, ratio_{options.clip.value() * options.grid.steps_per_unit()} {
  // Which is also the check of the options.
  l2_.emplace_back(RecordSum::Options{.clip = options.clip, .grid = options.grid, .dimension = options.dimension});
  if (is_named(options, NormName::l2)) return;
  l2_.clear();
  steps_.resize(options.dimension);
  sum_.resize(options.dimension);
}

double ClippedSum::norm_of(std::span<const double> row) const {
  double largest = 0;
  for (const double value : row) {
    if (!std::isfinite(value)) return std::abs(value);
    largest = std::max(largest, std::abs(value));
  }
  if (largest == 0 || is_named(options_, NormName::linf)) return largest;
  // Below 2 each, so that no power overflows.
  const int exponent = std::ilogb(largest);
  const auto* const r = std::get_if<NormExponent>(&options_.norm);
  double sum = 0;
  for (const double value : row) {
    const double scaled = std::scalbn(std::abs(value), -exponent);
    // Powers of numbers up to 1 do not overflow, and the largest of them is 1.
    sum += r == nullptr ? scaled : std::pow(std::abs(value) / largest, r->value());
  }
  if (r == nullptr) return std::scalbn(sum, exponent);
  return largest * std::pow(sum, 1 / r->value());
}

bool ClippedSum::is_within() const {
  if (is_named(options_, NormName::linf)) return true;
  if (const auto* const r = std::get_if<NormExponent>(&options_.norm)) {
    // Of each term the quotient errs by u, which the power makes r u, and the power itself by less than 2 u; n terms in any order by (n - 1) u.
    // Together below (r + n + 2) u, u = 2^-53, to first order; twice that and more is allowed for.
    const double slack = (r->value() + static_cast<double>(steps_.size()) + 16) * 0x1p-52;
    double sum = 0;
    for (const std::int64_t step : steps_) sum += std::pow(static_cast<double>(std::abs(step)) / ratio_, r->value());
    return sum * (1 + slack) < 1;
  }
  Integer sum = 0;
  for (const std::int64_t step : steps_) sum += std::abs(step);
  return sum <= checked_cast<std::int64_t>(std::floor(ratio_));
}

void ClippedSum::add(std::span<const double> row) {
  if (row.size() != options_.dimension) {
    throw Error{ErrorCode::invalid_argument, fmt::format("a row has {} numbers, must have {}", row.size(), options_.dimension)};
  }
  if (!l2_.empty()) {
    l2_.front().add(row);
    return;
  }
  const StandardFloatingPoint environment;
  const double norm = norm_of(row);
  if (!std::isfinite(norm)) return;
  const double clip = options_.clip.value();
  const double steps_per_unit = options_.grid.steps_per_unit();
  double scale = norm > clip ? clip / norm : 1;
  for (double shrink = 0x1p-50;; shrink *= 2) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      steps_[i] = static_cast<std::int64_t>(std::trunc(std::clamp(row[i] * scale * steps_per_unit, -ratio_, ratio_)));
    }
    // Ever faster shrinking rows, the last of which is zero.
    if (is_within()) break;
    scale *= std::max(0.0, 1 - shrink);
  }
  for (std::size_t i = 0; i < row.size(); ++i) sum_[i] += steps_[i];
}

template <class Value>
void ClippedSum::add_converted(std::span<const Value> row) {
  const StandardFloatingPoint environment;
  row_.resize(row.size());
  std::transform(row.begin(), row.end(), row_.begin(), [](Value value) { return static_cast<double>(value); });
  add(std::span<const double>{row_});
}

void ClippedSum::add(std::span<const float> row) { add_converted(row); }
void ClippedSum::add(std::span<const std::int64_t> row) { add_converted(row); }

GridVector ClippedSum::sum() const {
  if (!l2_.empty()) return l2_.front().sum();
  GridVector result{.grid = options_.grid, .steps = {}};
  result.steps.reserve(sum_.size());
  for (const Integer steps : sum_) {
    result.steps.push_back(static_cast<std::int64_t>(std::clamp<Integer>(steps, -Integer{largest_sum}, Integer{largest_sum})));
  }
  return result;
}

}  // namespace surety::mechanisms
