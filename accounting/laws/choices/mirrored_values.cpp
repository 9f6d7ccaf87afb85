#include <surety/accounting/laws/choices/mirrored_values.h>

#include <algorithm>
#include <cmath>

#include <surety/base/numbers/checked_cast.h>

namespace surety::accounting {

// Proved: docs/proofs/choices.md#in-order
MirroredValues::MirroredValues(std::size_t margin, std::size_t points, double step, std::size_t beyond)
    : margin_{margin}, points_{points}, all_(margin + points + beyond, 0.0) {
  for (std::size_t i = 1; i <= margin; ++i) {
    const Exact places{static_cast<double>(i)};
    rest_.push_back(-expm1(-(Lower{Exact{step}} * places)));
    share_.push_back(exp(-(Upper{Exact{step}} * places)));
  }
  mirror();
}

void MirroredValues::take(const std::vector<double>& next) {
  std::copy_n(next.begin(), points_, all_.begin() + static_cast<std::ptrdiff_t>(margin_));
  mirror();
}

std::vector<double> MirroredValues::from_zero() const { return {at_zero(), at_zero() + points_}; }

void MirroredValues::mirror() {
  for (std::size_t i = 1; i <= margin_; ++i)
    all_[margin_ - i] = std::max(0.0, (rest_[i - 1] + share_[i - 1] * Lower{Exact{all_[margin_ + i]}}).value());
}

double CurveAtSteps::delta(double epsilon) const {
  // The curve falls: at a multiple that is no less it is no more.
  const double places = epsilon / step;
  if (!(places < static_cast<double>(values.size() - 2))) return 0;
  std::size_t i = size_of(std::ceil(places));
  while (i > 0 && i < values.size() && (Lower{Exact{step}} * Exact{static_cast<double>(i)}).value() < epsilon) ++i;
  return i < values.size() ? std::clamp(values[i], 0.0, 1.0) : 0;
}

double CurveAtSteps::epsilon(double delta) const {
  return std::max(0.0, (Lower{Exact{step}} * Exact{static_cast<double>(last_above(delta))}).value());
}

double CurveAtSteps::left_of(double delta) const {
  const std::size_t last = last_above(delta);
  if (last + 1 >= values.size() || !(values[last + 1] > 0)) return 0;
  const double share = std::log(values[last] / delta) / std::log(values[last] / values[last + 1]);
  return share > 0 && share < 1 ? share * step : 0;
}

std::size_t CurveAtSteps::last_above(double delta) const {
  std::size_t last = 0;
  for (std::size_t i = 0; i < values.size(); ++i) last = values[i] > delta ? i : last;
  return last;
}
// Proved so far.

}  // namespace surety::accounting
