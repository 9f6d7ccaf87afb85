#include <surety/accounting/answers/tradeoff.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting {
namespace {

constexpr mpfr_prec_t precision = 128;

Interval number(double value) { return {value, precision}; }
Interval positive_part(const Interval& x) { return maximum(x, number(0)); }

/// A concave function g of x > 0, evaluated at x = e^t.
using Concave = std::function<Enclosure(double t)>;

struct Evaluation {
  double t;
  Enclosure value;
  Interval x;
};

/// How steeply a concave function can rise beyond `from`, as the points behind it prove: the chord from any of them bounds it. The
/// chord is chosen in double and evaluated with outward rounding.
template <class Points>
Interval slope_beyond(const Evaluation& from, const Points& behind) {
  const double x = std::exp(from.t);
  double best = infinity;
  const Evaluation* chosen = nullptr;
  for (const auto& other : behind) {
    const double slope = (from.value.upper - other.value.lower) / std::abs(x - std::exp(other.t));
    if (slope < best) {
      best = slope;
      chosen = &other;
      if (slope <= 0) break;
    }
  }
  if (chosen == nullptr) return number(infinity);
  const Interval rise = number(from.value.upper) - number(chosen->value.lower);
  const Interval run = chosen->t < from.t ? from.x - chosen->x : chosen->x - from.x;
  return run.compare(0) > 0 ? positive_part(rise / run) : number(infinity);
}

/// Bounds g from above on (0, largest] from its values at `points`, by rising t. In each cell the chords from the left and from the
/// right meet: an error of second order where g is smooth, and of none where it is a line.
double bound_above(const std::vector<Evaluation>& points, double largest) {
  std::vector<Interval> rising;   // to the right of a point
  std::vector<Interval> falling;  // to the left of it
  for (std::size_t i = 0; i < points.size(); ++i) {
    rising.push_back(slope_beyond(points[i], std::span{points}.first(i)));
    falling.push_back(slope_beyond(points[i], std::span{points}.subspan(i + 1)));
  }
  const auto at_end = [](const Evaluation& end, const Interval& slope, const Interval& distance) {
    const double steepest = slope.enclosure().upper;
    if (steepest == 0) return end.value.upper;
    return steepest == infinity ? infinity : (number(end.value.upper) + slope * positive_part(distance)).enclosure().upper;
  };
  double bound = at_end(points.front(), falling.front(), points.front().x);
  if (largest == infinity) {
    if (rising.back().enclosure().upper > 0) return infinity;
    bound = std::max(bound, points.back().value.upper);
  } else {
    bound = std::max(bound, at_end(points.back(), rising.back(), number(largest) - points.back().x));
  }
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    // Any split of the cell is proved, with one chord on either side; their crossing is the best.
    const Interval gap = positive_part(points[i + 1].x - points[i].x);
    const double width = gap.enclosure().lower;
    const double s1 = rising[i].enclosure().upper;
    const double s2 = falling[i + 1].enclosure().upper;
    if (s1 == infinity || s2 == infinity) {
      bound = std::max(bound, s1 == infinity ? at_end(points[i + 1], falling[i + 1], gap) : at_end(points[i], rising[i], gap));
      continue;
    }
    const double crossing = (points[i + 1].value.upper - points[i].value.upper + s2 * width) / (s1 + s2);
    const double split = std::isfinite(crossing) ? std::clamp(crossing, 0.0, width) : 0;
    bound = std::max(bound, at_end(points[i], rising[i], number(split)));
    bound = std::max(bound, at_end(points[i + 1], falling[i + 1], gap - number(split)));
  }
  return bound;
}

/// A range around the largest value of a function that rises and then falls, uphill from `start` in growing steps. Only tightness depends on where
/// this ends.
template <class Value>
std::pair<double, double> around_the_peak(Value& value, double start, double first, double last) {
  double best = start;
  double best_value = value(best);
  double left = start;
  double right = start;
  for (const double sign : {1.0, -1.0}) {
    double step = 0.5;
    double t = best;
    while (true) {
      const double next = std::clamp(t + sign * step, first, last);
      if (next == t) break;
      const double there = value(next);
      (sign > 0 ? right : left) = next;
      if (!(there > best_value)) break;
      (sign > 0 ? left : right) = t;
      best = t = next;
      best_value = there;
      step *= 2;
    }
    if (sign > 0 && best > start) break;  // downhill on the other side
  }
  return {left, right};
}

/// The peak between two places, to `nearness`, by golden sections.
template <class Value>
double peak_between(Value& value, double left, double right, double nearness) {
  constexpr double golden = 0.6180339887498949;
  double inner_left = right - golden * (right - left);
  double inner_right = left + golden * (right - left);
  double at_left = value(inner_left);
  double at_right = value(inner_right);
  for (int i = 0; i < 40 && right - left > nearness; ++i) {
    if (at_left > at_right) {
      right = inner_right;
      inner_right = inner_left;
      at_right = at_left;
      at_left = value(inner_left = right - golden * (right - left));
    } else {
      left = inner_left;
      inner_left = inner_right;
      at_left = at_right;
      at_right = value(inner_right = left + golden * (right - left));
    }
  }
  return at_left > at_right ? inner_left : inner_right;
}

/// Encloses sup of g over 0 < t <= last (x = e^t, t >= first only for the search).
Enclosure concave_supremum(const Concave& g, double first, double last, double nearness = 1e-6) {
  std::vector<Evaluation> points;
  const auto value = [&](double t) {
    const auto found = g(t);
    points.push_back({t, found, exp(number(t))});
    return found.lower + (found.upper - found.lower) / 2;
  };
  const auto [left, right] = around_the_peak(value, std::clamp(-0.25, first, last), first, last);
  const double peak = peak_between(value, left, right, nearness);
  // Near points prove a second-order error, far ones forgive a wide curve.
  for (double distance = nearness; distance < 4; distance *= 4) {
    value(std::max(peak - distance, first));
    value(std::min(peak + distance, last));
  }
  std::sort(points.begin(), points.end(), [](const Evaluation& a, const Evaluation& b) { return a.t < b.t; });
  points.erase(std::unique(points.begin(), points.end(), [](const Evaluation& a, const Evaluation& b) { return a.t == b.t; }),
               points.end());
  double lower = -infinity;
  for (const auto& point : points) lower = std::max(lower, point.value.lower);
  // On an unbounded side g must be seen to fall.
  for (double step = 1; last == infinity && !(points.back().value.upper < lower) && step < 1024; step *= 2) {
    value(points.back().t + step);
    lower = std::max(lower, points.back().value.lower);
  }
  return {lower, bound_above(points, last == infinity ? infinity : std::exp(last))};
}

/// A double near Phi^-1(p), also where p is below the range of double: there it solves log p = -z^2 / 2 - log(z sqrt(2 pi)). \pre p is below 1
double near_quantile(const Interval& p) {
  constexpr double least = 1e-300;
  if (const double nearest = p.enclosure().lower; nearest > least) {
    return boost::math::quantile(boost::math::normal_distribution<double>{}, nearest);
  }
  constexpr double log_root = 0.91893853320467274;  // log sqrt(2 pi)
  const double far = -p.approximate_log();
  double z = std::sqrt(2 * far);
  for (int i = 0; i < 4; ++i) z = std::sqrt(2 * (far - log_root - std::log(z)));
  return -z;
}

/// Encloses Phi^-1(p) for all p of an interval. \pre it lies between 0 and 1
Interval normal_quantile(const Interval& p) {
  const double near = near_quantile(p);
  const double unit = share_of_units(std::max(std::abs(near), 1e-3));
  const auto distance = [&](double z) { return normal_cdf(number(z)) - p; };
  double low = near;
  double high = near;
  for (double margin = unit; mpfr_sgn(distance(low).upper()) >= 0; margin *= 2) low = near - margin;
  for (double margin = unit; mpfr_sgn(distance(high).lower()) <= 0; margin *= 2) high = near + margin;
  return hull(number(low), number(high));
}
Interval normal_quantile(double p) { return normal_quantile(number(p)); }

/// mu* at a delta that may be 1.
Enclosure mu_at(double epsilon, double delta) {
  if (!(delta < 1)) return {infinity, infinity};
  return largest_mu(Epsilon{epsilon}, Delta{std::max(0.0, delta)});
}

/// Bounds Phi^-1(tpr) - Phi^-1(fpr) from above: the mu whose tests have so many true at so few false positives. Infinity where a rate is
/// too near 0 or 1 for that.
double mu_of_rates(const Interval& fpr, const Interval& tpr) {
  constexpr double least = 1e-300;
  constexpr double farthest = 1e8;  // -log(fpr); beyond it quantiles take long
  const double beta = (number(1) - tpr).enclosure().lower;
  const double power = tpr.enclosure().upper;
  if (!(fpr.compare(0) > 0 && fpr.compare(1) < 0 && fpr.approximate_log() > -farthest && beta > 0 && power > least)) return infinity;
  // Of tpr and 1 - tpr the smaller one has the digits.
  const Interval quantile = power < 0.5 ? normal_quantile(power) : -normal_quantile(beta);
  return std::max(0.0, (quantile - normal_quantile(fpr)).enclosure().upper);
}

/// A point of a curve that is to be covered.
struct Covered {
  double epsilon;
  Enclosure delta;
  Interval odds;  ///< e^epsilon
};

/// Bounds the mu that covers a curve from `a` to `b`. On its chord true positives are c - odds d with one c and d, which are the rates of a
/// test; a Gaussian pair with a test as good lies above the chord, and with a larger delta at b than the curve's at a above all of it.
double cover_cell(const Covered& a, const Covered& b) {
  if (a.delta.upper <= 0) return 0;
  const Interval run = b.odds - a.odds;
  double by_chord = infinity;
  if (run.compare(0) > 0 && a.delta.upper > b.delta.upper) {
    const Interval fpr = (number(a.delta.upper) - number(b.delta.upper)) / run;
    by_chord = mu_of_rates(fpr, number(a.delta.upper) + a.odds * fpr);
  }
  // A chord shorter than the curve is known is steep or flat by chance.
  const bool is_short = 100 * (a.delta.upper - b.delta.upper) <= b.delta.upper;
  return by_chord < infinity && !is_short ? by_chord : std::min(by_chord, mu_at(b.epsilon, a.delta.upper).upper);
}

struct Cells {
  std::vector<double> epsilons;
  std::vector<Enclosure> deltas;
};
Cells cells_of(const PrivacyCurve& curve, Epsilon last, int cells) {
  if (cells < 1) throw Error{ErrorCode::invalid_argument, fmt::format("number of cells is {}, must be at least 1", cells)};
  Cells result;
  for (int i = 0; i <= cells; ++i) {
    poll_limit();
    result.epsilons.push_back(i == cells ? last.value() : last.value() * i / cells);
    result.deltas.push_back(curve(Epsilon{result.epsilons.back()}));
  }
  return result;
}

/// The lines that bound f(alpha) from below, 1 - delta(t) - e^t alpha, and for t < 0 the mirrored ones e^t (1 - delta(-t) - alpha): together one
/// concave function of e^t.
Concave lines_of(const PrivacyCurve& curve, Probability alpha) {
  return [&curve, false_alarms = number(alpha.value())](double t) {
    poll_limit();
    const auto found = curve(Epsilon{std::abs(t)});
    const Interval kept = number(1) - hull(number(std::max(0.0, found.lower)), number(std::min(1.0, found.upper)));
    const Interval x = exp(number(t));
    return (t >= 0 ? kept - x * false_alarms : x * (kept - false_alarms)).enclosure();
  };
}

/// Within [0, 1 - alpha].
Enclosure possible_misses(const Enclosure& found, Probability alpha) {
  const double most = (number(1) - number(alpha.value())).enclosure().upper;
  return {std::clamp(found.lower, 0.0, most), std::clamp(found.upper, 0.0, most)};
}

}  // namespace

Enclosure tradeoff(const PrivacyCurve& curve, Probability alpha, double nearness) {
  const StandardFloatingPoint environment;
  constexpr double smallest = -700;
  return possible_misses(concave_supremum(lines_of(curve, alpha), smallest, infinity, nearness), alpha);
}

Enclosure tradeoff_near(const PrivacyCurve& curve, Probability alpha, double t) {
  const StandardFloatingPoint environment;
  const auto lines = lines_of(curve, alpha);
  std::vector<Evaluation> points;
  double lower = -infinity;
  // Near points prove a second-order error, far ones forgive a wide curve.
  for (const double distance : {-0.8, -0.02, 0.0, 0.02, 0.8}) {
    points.push_back({t + distance, lines(t + distance), exp(number(t + distance))});
    lower = std::max(lower, points.back().value.lower);
  }
  return possible_misses({lower, bound_above(points, infinity)}, alpha);
}

Enclosure delta_of_tradeoff(const TradeoffCurve& curve, Epsilon epsilon) {
  const StandardFloatingPoint environment;
  const Interval odds = exp(number(epsilon.value()));
  const auto h = [&](double t) {
    poll_limit();
    const double alpha = std::exp(t);
    // e^t rounds, and the point is e^t: f between the two doubles around it, and f <= 1 - alpha at the end.
    const double below = std::nextafter(alpha, 0.0);
    const double above = std::nextafter(alpha, 2.0);
    const double most = (number(1) - number(below)).enclosure().upper;
    const Interval misses = hull(number(above < 1 ? curve(Probability{above}).lower : 0),
                                 number(alpha < 1 ? std::min(curve(Probability{below}).upper, most) : most));
    return (number(1) - misses - odds * exp(number(t))).enclosure();
  };
  constexpr double smallest = -690;
  const auto found = concave_supremum(h, smallest, 0);
  return {std::clamp(found.lower, 0.0, 1.0), std::clamp(found.upper, 0.0, 1.0)};
}

Enclosure gaussian_tradeoff(Mu mu, Probability alpha) {
  const StandardFloatingPoint environment;
  return clamp(normal_cdf(-normal_quantile(alpha.value()) - number(mu.value())), 0, 1).enclosure();
}

Enclosure gaussian_mu(Probability alpha, Probability beta) {
  const StandardFloatingPoint environment;
  return positive_part(-normal_quantile(alpha.value()) - normal_quantile(beta.value())).enclosure();
}

Enclosure least_mu_above(const PrivacyCurve& curve, Epsilon last, int count) {
  const StandardFloatingPoint environment;
  const auto [epsilons, deltas] = cells_of(curve, last, count);
  double lower = 0;
  double upper = 0;
  for (std::size_t i = 0; i < epsilons.size(); ++i) {
    lower = std::max(lower, mu_at(epsilons[i], deltas[i].lower).lower);
    // Within the cell before, delta is at most that of its start, and mu* grows with both.
    upper = std::max(upper, mu_at(epsilons[i], deltas[i == 0 ? 0 : i - 1].upper).upper);
  }
  return {lower, upper};
}

Enclosure largest_mu_below(const PrivacyCurve& curve, Epsilon last, int count) {
  const StandardFloatingPoint environment;
  const auto [epsilons, deltas] = cells_of(curve, last, count);
  double lower = infinity;
  double upper = infinity;
  for (std::size_t i = 0; i < epsilons.size(); ++i) {
    upper = std::min(upper, mu_at(epsilons[i], deltas[i].upper).upper);
    lower = std::min(lower, mu_at(epsilons[i], deltas[std::min(i + 1, epsilons.size() - 1)].lower).lower);
  }
  return {lower, upper};
}

Enclosure covering_mu(const PrivacyCurve& curve, Epsilon last, const CoverEffort& effort) {
  const StandardFloatingPoint environment;
  if (!(effort.evaluations >= 2 && effort.width >= 0)) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("{} evaluations for a covering mu of width {}, must be at least 2 and 0", effort.evaluations, effort.width)};
  }
  double lower = 0;
  const auto at = [&](double epsilon) {
    poll_limit();
    const auto found = curve(Epsilon{epsilon});
    const Enclosure delta{std::clamp(found.lower, 0.0, 1.0), std::clamp(found.upper, 0.0, 1.0)};
    const bool is_below = lower < infinity && delta.lower <= gaussian_delta(Mu{lower}, Epsilon{epsilon}).lower;
    if (!is_below) lower = std::max(lower, mu_at(epsilon, delta.lower).lower);
    return Covered{epsilon, delta, exp(number(epsilon))};
  };
  const auto first = at(0);
  if (last.value() == 0) return {lower, std::max(lower, std::min(effort.most, mu_at(0, first.delta.upper).upper))};
  struct Cell {
    Covered from;
    Covered to;
    double bound;
  };
  const auto cell = [](const Covered& from, const Covered& to) { return Cell{from, to, cover_cell(from, to)}; };
  std::vector<Cell> cells;
  const int start = std::clamp(effort.evaluations / 4, 1, 16);
  auto from = first;
  for (int i = 1; i <= start; ++i) {
    const auto to = at(i == start ? last.value() : last.value() * i / start);
    cells.push_back(cell(from, to));
    from = to;
  }
  for (int evaluations = start + 1;; ++evaluations) {
    const auto worst = std::max_element(cells.begin(), cells.end(), [](const Cell& a, const Cell& b) { return a.bound < b.bound; });
    const double middle = worst->from.epsilon + (worst->to.epsilon - worst->from.epsilon) / 2;
    const double bound = std::min(worst->bound, effort.most);
    const bool is_done = bound - lower <= effort.width * bound || evaluations >= effort.evaluations;
    if (is_done || !(worst->from.epsilon < middle && middle < worst->to.epsilon)) return {std::min(lower, bound), bound};
    const auto between = at(middle);
    const auto right = cell(between, worst->to);
    *worst = cell(worst->from, between);
    cells.push_back(right);
  }
}

}  // namespace surety::accounting
