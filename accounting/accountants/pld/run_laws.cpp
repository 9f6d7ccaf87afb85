#include <surety/accounting/accountants/pld/run_laws.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

#include <surety/accounting/accountants/pld/composed_curve.h>
#include <surety/accounting/accountants/pld/saddle.h>
#include <surety/accounting/accountants/pld/task.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/accounting/laws/pairs/pairs.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>
#include <surety/base/text/error.h>

namespace surety::accounting {
namespace {

using laws::Parts;
using pld::ApproximateCumulants;
using pld::ComposedCurve;
using pld::ComposedPair;
using pld::Task;
using pld::Window;

/// How far the tilted mass outside the window is below all of it, as a logarithm: its rounding is as large.
constexpr double quiet = 40;
constexpr double most_points = 0x1p16;
/// The share of an epsilon that the grid may move it by.
constexpr double share_of_epsilon = 1e-4;

/// The shortest window that holds all but a quiet part of the tilted mass, by Chernoff's bounds.
void choose_ends(Window& window, const ApproximateCumulants& k) {
  const auto here = k.at(window.s);
  const double deviation = std::sqrt(here.variance) + 1e-9;
  window.largest = infinity;
  window.least = -infinity;
  for (double factor = 1; factor < 16; factor *= 1.25) {
    const double a = factor / deviation;
    const double end = (k.at(window.s + a).value - here.value + quiet) / a;
    if (end < window.largest) {
      window.largest = end;
      window.right_tilt = a;
    }
    const double begin = -(k.at(window.s - a).value - here.value + quiet) / a;
    if (begin > window.least) {
      window.least = begin;
      window.left_tilt = a;
    }
  }
}

/// The largest tilt up to that of the saddle at which the rounding of low losses, under Q, stays small where Q has mass.
double tilt_of(const ApproximateCumulants& k, double most) {
  const double deviation = std::sqrt(k.at(-1).variance) + 1e-9;
  double least = -infinity;
  for (double factor = 1; factor < 16; factor *= 1.25) {
    const double a = factor / deviation;
    least = std::max(least, (-23 - k.at(-1 - a).value) / a);
  }
  least = std::max(least, k.least());
  constexpr double log_of_rounding = -25;  // of all entries
  const auto is_small = [&](double s) { return log_of_rounding + k.at(s).value - (s + 1) * least < -16; };
  double s = most;
  while (s > 1e-3 && !is_small(s)) s *= 0.75;
  return s;
}

Window window_of(const Task& task, const ApproximateCumulants& k, double s) {
  constexpr double most_tilt_per_step = 40;
  constexpr double most_end_tilt_per_step = 8;
  Window window{
      .least = 0, .largest = 0, .step = std::min(task.steps.needed, task.steps.coarse), .size = 4, .s = s, .right_tilt = 0, .left_tilt = 0};
  choose_ends(window, k);
  const double releases = laws::count_of(task.parts);
  const auto within_support = [&] {
    const double reach = 2 * releases * window.step;
    window.least = std::max(window.least, task.window.support_least - reach);
    window.largest = std::min(window.largest, task.window.support_largest + reach);
  };
  const double steps_at_ends = 4 * releases + 64;
  window.step =
      std::max(window.step, (std::min(window.largest, task.window.support_largest) - std::max(window.least, task.window.support_least)) /
                                std::max(64.0, most_points - steps_at_ends));
  window.step = std::min(window.step, most_tilt_per_step / s);
  if (task.steps.distance > 0) {
    const double pairs = std::ceil(task.steps.distance / window.step / 2);
    window.step = window.step < task.steps.distance ? task.steps.distance / (2 * pairs) : task.steps.distance;
  }
  within_support();
  const double steepest = most_end_tilt_per_step / window.step;
  if (window.right_tilt > steepest) {
    window.right_tilt = steepest;
    window.largest = task.window.support_largest + 2 * releases * window.step;
  }
  if (window.left_tilt > steepest) {
    window.left_tilt = steepest;
    window.least = task.window.support_least - 2 * releases * window.step;
  }
  const double points = (window.largest - window.least) / window.step + 24;
  if (!(points < 8 * most_points)) throw Error{ErrorCode::memory, "a law of so many points is not made"};
  window.size = std::bit_ceil(size_of(points));
  return window;
}

/// The curve at the losses of the grid, where it says anything.
std::vector<CurvePoint> points_above(const ComposedPair& pair) {
  constexpr std::size_t most = 1 << 13;
  constexpr double least_loss = -13;
  constexpr double largest_loss = 600;
  const auto& curve = pair.upper;
  std::vector<CurvePoint> points;
  const std::size_t stride = curve.size() / most + 1;
  for (std::size_t j = 0; j < curve.size(); j += stride) {
    const double loss = static_cast<double>(curve.loss(j));
    if (loss < least_loss) continue;
    if (loss > largest_loss) break;
    const double odds = exp(Upper{Exact{round_up(curve.loss(j) + pair.loss_error)}}).value();
    const double delta = std::min(1.0, round_up(curve.upper(j, 0)));
    points.push_back({odds, delta});
  }
  return points;
}

/// The entries as atoms, of the highest loss first.
std::vector<WeighedAtom> atoms_of(const ComposedPair& pair) {
  const ComposedCurve& curve = pair.lower;
  std::vector<WeighedAtom> atoms;
  if (curve.kept.empty()) return atoms;
  constexpr double largest_loss = 600;
  const LongExact tilt{curve.grid.s};
  const Upper doubt = Upper{Exact{curve.entry_error}} + Exact{curve.wrapped_right} + Exact{curve.wrapped_left};
  double infinite = static_cast<double>(curve.infinite_less);
  if (infinite > 0) atoms.push_back({std::nextafter(infinite, 0.0), 0});
  for (std::size_t j = curve.kept.size(); j-- > 0;) {
    const LongExact loss{curve.loss(j)};
    if (loss.value > static_cast<long double>(largest_loss) || loss.value < -static_cast<long double>(largest_loss)) continue;
    // Folding rounds by a few units; the exponents are within the curve's own errors.
    const Lower least = Lower::within(curve.kept[j], 64) - Exact{doubt.value()};
    if (!(least.value() > 0)) continue;
    const Upper most = Upper::within(std::max(curve.kept[j], 0.0), 64) + Exact{doubt.value()};
    const long double exponent = curve.log_scale - tilt.value * loss.value;
    const long double rounded = 0x1p-60L * (std::abs(curve.log_scale) + std::abs(tilt.value * loss.value) + 1);
    const LongLower scale_below = exp(LongLower{LongExact{exponent}} - LongExact{rounded} - LongExact{curve.scale_error});
    const double p = round_down((LongLower{LongExact{least.value()}} * scale_below).value());
    if (!(p > 0)) continue;
    const LongUpper scale_above = exp(LongUpper{LongExact{exponent}} + LongExact{rounded} + LongExact{2 * curve.scale_error});
    const LongUpper per_odds = exp(LongUpper{LongExact{-loss.value}} + LongExact{pair.loss_error});
    const double q = round_up((LongUpper{LongExact{most.value()}} * scale_above * per_odds).value());
    atoms.push_back({p, q});
  }
  return atoms;
}

/// The composition of these parts, at a step that moves an epsilon at `delta` by about this share of it.
Task prepared(Parts parts, Delta delta, double share) {
  Task task;
  task.parts = std::move(parts);
  task.window.most = laws::largest_of(task.parts).upper;
  task.wanted = 1e-3;
  task = pld::prepare(std::move(task), {std::nullopt, delta.value()});
  task.steps.needed *= std::sqrt(std::clamp(share * task.saddle.epsilon, 1e-6, 1e-2) / task.wanted);
  return task;
}

double saddle_of(const Task& task) { return std::clamp(task.saddle.s, 1e-3, 1e3); }

/// Laws by two tilts: one whose rounding is small everywhere, and from above one that has digits where delta is small.
FiniteLaw law_of(Parts parts, Delta delta, bool upper_only) {
  // A part without a lower law is left out from below.
  if (std::any_of(parts.begin(), parts.end(), [](const auto& part) { return part.lower.has_value(); })) {
    for (auto& part : parts) {
      if (!part.lower) part.lower = laws::nothing();
    }
  }
  Task task = prepared(std::move(parts), delta, share_of_epsilon);
  const ApproximateCumulants k{task.parts, task.cut};
  const double saddle = saddle_of(task);
  const double s = tilt_of(k, saddle);
  const auto pair = pld::compose(task.parts, window_of(task, k, s), task.cut, !upper_only);
  FiniteLaw law{points_above(pair), {}};
  const auto take = [&](const ComposedPair& found) {
    if (auto atoms = atoms_of(found); !atoms.empty()) law.below.push_back(std::move(atoms));
  };
  if (!upper_only) take(pair);
  if (const auto turns = upper_only ? std::nullopt : laws::in_orders_by_turns(task.parts))
    take(pld::compose(*turns, window_of(task, k, s), task.cut, true));
  const bool is_choice = std::any_of(task.parts.begin(), task.parts.end(), [](const laws::ReleaseLaws& part) {
    return std::holds_alternative<BoundedRangeBase>(part.upper.base);
  });
  // Which bit a choice is at its worst depends on the question.
  for (const double tilt : {-8.0, -4.0, -2.0, -1.5, -1.3, -1.1, -0.8, 0.5, 2.0, 8.0}) {
    if (!is_choice || upper_only) break;
    Parts concrete = task.parts;
    laws::choose_two_points(concrete, tilt);
    take(pld::compose(concrete, window_of(task, k, s), task.cut, true));
  }
  for (auto& part : task.parts) {
    part.lower.reset();
    part.same = false;
  }
  if (saddle > 1.5 * s && delta.value() < 1e-7) {
    const auto steep = pld::compose(task.parts, window_of(task, k, saddle), task.cut);
    for (const auto& point : points_above(steep)) {
      if (point.odds > 1) law.above.push_back(point);
    }
  }
  // What is best told of a user's epoch depends on the loss; the curve is below all of these.
  for (const double tilt : {0.0, 0.5, 0.75, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0}) {
    if (!laws::choose_what_is_told(task.parts, tilt)) break;
    const auto told = points_above(pld::compose(task.parts, window_of(task, k, s), task.cut));
    law.above.insert(law.above.end(), told.begin(), told.end());
  }
  std::sort(law.above.begin(), law.above.end(), [](const CurvePoint& x, const CurvePoint& y) { return x.odds < y.odds; });
  return law;
}

}  // namespace

std::vector<CurvePoint> pld::curve_above(Parts parts, Delta delta) {
  constexpr double share = 1e-5;
  const Task task = prepared(std::move(parts), delta, share);
  const ApproximateCumulants k{task.parts, task.cut};
  return points_above(compose(task.parts, window_of(task, k, saddle_of(task)), task.cut));
}

std::vector<WeighedAtom> pld::atoms_below(Parts parts, Delta delta, double step) {
  for (auto& part : parts) {
    const LossLaw law = part.lower.value_or(laws::nothing());
    part = {law, law, true, part.count};
  }
  constexpr double share = 1e-6;
  Task task = prepared(std::move(parts), delta, share);
  task.steps.needed = std::min(task.steps.needed, step);
  const ApproximateCumulants k{task.parts, task.cut};
  return atoms_of(compose(task.parts, window_of(task, k, tilt_of(k, saddle_of(task))), task.cut, true));
}

std::optional<FiniteLaws> finite_laws(const Event& event, Delta delta, const LeafCurves& others, bool upper_only) {
  const StandardFloatingPoint environment;
  if (laws::why_no_pairs(plainest(event), others)) return std::nullopt;
  try {
    auto directions = laws::both_directions(plainest(event), others);
    if (laws::largest_of(directions.remove).upper == 0 && laws::largest_of(directions.add).upper == 0) return std::nullopt;
    FiniteLaws laws{law_of(std::move(directions.remove), delta, upper_only), std::nullopt};
    if (!directions.symmetric) laws.add = law_of(std::move(directions.add), delta, upper_only);
    return laws;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::memory) throw;
    return std::nullopt;
  }
}

}  // namespace surety::accounting
