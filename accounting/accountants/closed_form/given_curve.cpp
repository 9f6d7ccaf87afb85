#include <surety/accounting/accountants/closed_form/given_curve.h>
#include <surety/accounting/events/points.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <surety/base/numbers/rounding.h>

namespace surety::accounting {
namespace {

constexpr mpfr_prec_t precision = 128;

Interval number(double value) { return {value, precision}; }

/// (e^x - e^left) / (e^right - e^left), without overflow.
Interval share_at(const Interval& x, const Interval& left, const Interval& right) {
  if ((x - left).compare(0) < 0) return -(exp(left - right) * expm1(x - left) / expm1(left - right));
  return exp(x - right) * expm1(left - x) / expm1(left - right);
}

/// The curve at -x, of its value at x.
Interval mirrored(const Interval& x, const Interval& value) { return exp(-x) * value - expm1(-x); }

/// Whether the slope in e^epsilon from a to b is no less than that from b to c.
bool is_above(const NumberPair& a, const NumberPair& b, const NumberPair& c) {
  const auto slope = [](const NumberPair& from, const NumberPair& to) {
    return (static_cast<long double>(to.second) - from.second) / std::expm1(static_cast<long double>(to.first) - from.first);
  };
  return slope(a, b) >= slope(b, c) * std::exp(static_cast<long double>(a.first) - b.first);
}

}  // namespace

GivenCurve::GivenCurve(const CurvePoints& points) : points_{points.all()} {
  for (const auto& next : points_) {
    if (!corners_.empty() && next.second == corners_.back().second) continue;  // level from there on
    while (corners_.size() > 1 && is_above(corners_[corners_.size() - 2], corners_.back(), next)) corners_.pop_back();
    // Against the chord to its own mirror image.
    const auto before_first = [&] {
      const auto& [x, d] = corners_.front();
      const long double fall = (1 - static_cast<long double>(d)) / (1 + std::exp(-static_cast<long double>(x)));
      const long double next_fall = (static_cast<long double>(d) - next.second) / std::expm1(static_cast<long double>(next.first) - x);
      return fall <= next_fall;
    };
    if (corners_.size() == 1 && before_first()) corners_.pop_back();
    corners_.push_back(next);
  }
}

GivenCurve::Chord GivenCurve::chord_to(std::size_t j) const {
  const Interval right = number(corners_[j].first);
  const Interval after = number(corners_[j].second);
  if (j == 0) return {-right, right, mirrored(right, after), after};
  return {number(corners_[j - 1].first), right, number(corners_[j - 1].second), after};
}

Interval GivenCurve::below(const Chord& chord) const {
  Interval most = number(0);
  const auto look = [&](const Interval& x, const Interval& value) {
    // Beyond the right end by the chord's slope, which is finite there.
    const Interval share = share_at(x, chord.left, chord.right);
    const Interval line = chord.before + (chord.after - chord.before) * share;
    most = maximum(most, line - value);
  };
  for (const auto& [x, d] : points_) {
    look(number(x), number(d));
    look(number(-x), mirrored(number(x), number(d)));
  }
  return most;
}

Enclosure GivenCurve::delta(double epsilon) const {
  const auto next = std::find_if(corners_.begin(), corners_.end(), [&](const NumberPair& one) { return one.first >= epsilon; });
  if (next == corners_.end()) return {corners_.back().second, corners_.back().second};
  if (next->first == epsilon && epsilon == 0) return {next->second, next->second};
  const Chord chord = chord_to(static_cast<std::size_t>(next - corners_.begin()));
  const Interval line = chord.before + (chord.after - chord.before) * share_at(number(epsilon), chord.left, chord.right);
  const double lower = clamp(line - below(chord), 0, 1).enclosure().lower;
  if (next->first == epsilon) return {std::min(lower, next->second), next->second};
  return {lower, clamp(line, 0, 1).enclosure().upper};
}

Enclosure GivenCurve::epsilon(double target) const {
  const auto next = std::find_if(corners_.begin(), corners_.end(), [&](const NumberPair& one) { return one.second <= target; });
  if (next == corners_.end()) return {infinity, infinity};
  if (next->first == 0) return {0, 0};
  const Chord chord = chord_to(static_cast<std::size_t>(next - corners_.begin()));
  // Where the chord is at `value`.
  const auto crossing = [&](const Interval& value) {
    const Interval along = (chord.before - value) / (chord.before - chord.after);
    // The chord from the mirror image of the first corner lies below large targets altogether.
    if (along.compare(0) < 0) return chord.left;
    const Interval share = clamp(along, 0, 1);
    const Interval rest = exp(chord.left - chord.right);
    return chord.right + log(rest + share * (number(1) - rest));
  };
  const double lower = std::max(0.0, crossing(number(target) + below(chord)).enclosure().lower);
  if (next->second == target) return {std::min(lower, next->first), next->first};
  return {lower, std::max(0.0, crossing(number(target)).enclosure().upper)};
}

}  // namespace surety::accounting
