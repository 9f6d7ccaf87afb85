#include <surety/accounting/accountants/contour/contour.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/accountants/contour/lattice.h>
#include <surety/accounting/accountants/contour/line.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/root.h>

namespace surety::accounting {
namespace {

using contour::Cumulants;
using contour::digits_for;
using contour::is_small_by_chernoff;
using contour::largest_loss;
using contour::Line;
using contour::log_chernoff;
using contour::Loss;
using contour::Saddle;
using contour::shorten;
using contour::Unsuitable;

constexpr double most_relative_error = 1e-3;

double checked(const Contour& accountant) {
  if (!(accountant.width > 0)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("the contour's width is {}, must be greater than 0", accountant.width)};
  }
  return accountant.width;
}

/// The relative error of delta that is worth `width` in epsilon at a line through s. Shares of the saddle point's approximation, which may be
/// some hundred times as large as delta, are to leave it below `most_relative_error`, too.
double tolerance_for(double width, double s) { return std::clamp(0.02 * width * s, 1e-13, 1e-7); }

constexpr double finest = 1e-13;

void check(const Line::Value& value) {
  if (!(value.relative_error() <= most_relative_error)) throw Unsuitable{"its provable error is too large"};
}

Enclosure delta_of(const Line::Value& value) {
  return {min(Lower{1}, exp(value.log_lower())).value(), min(Upper{1}, exp(value.log_upper())).value()};
}

/// The line for one epsilon; `shares` of its s.
template <class Shares>
Line line_at(Cumulants& cumulants, double epsilon, Shares shares) {
  const auto saddle = find_saddle(
      cumulants, [&](const Saddle& at) { return at.epsilon < epsilon; }, 0.05);
  const Saddle here{saddle.s, epsilon, saddle.log_delta + saddle.s * (saddle.epsilon - epsilon), saddle.variance};
  return Line{cumulants, here, shares(saddle.s)};
}

/// Where Chernoff's bound is least: of epsilon at a given delta, or of log delta at a given epsilon.
struct ChernoffPoint {
  double value = infinity;
  double s = 1;
};
template <class Bound>
ChernoffPoint least_chernoff(Bound bound) {
  ChernoffPoint best;
  for (const double factor : {1.1, 1 / 1.1}) {
    double previous = infinity;
    for (double s = 1; s < 1e9 && s > 1e-9; s *= factor) {
      double value = infinity;
      try {
        value = bound(s);
      } catch (const Unsuitable&) {
        break;
      }
      if (!(value < previous)) break;
      previous = value;
      if (value < best.value) best = {value, s};
    }
  }
  return best;
}
ChernoffPoint chernoff_epsilon(Cumulants& cumulants, double log_delta) {
  return least_chernoff([&](double s) { return (cumulants(s).value + log_chernoff(s).value() - log_delta) / s; });
}

/// A line for a loss with a heavy tail, where delta is far below the saddle-point approximation: at half of Chernoff's tilt, so that the bounds
/// on images have room on either side.
Line line_below_the_tail(Cumulants& cumulants, const ChernoffPoint& chernoff, double epsilon, double log_delta, double tolerance) {
  const double s = shorten(chernoff.s / 2, 24);
  return Line{cumulants, {s, epsilon, log_delta, cumulants(s).variance}, {tolerance, tolerance, tolerance}};
}
constexpr double rough = 1e-4;

/// delta(epsilon), of which a line is made that knows how small delta is.
Enclosure delta_with_heavy_tail(Cumulants& cumulants, double epsilon) {
  const auto chernoff = least_chernoff([&](double s) { return cumulants(s).value + log_chernoff(s).value() - s * epsilon; });
  if (!(chernoff.value < infinity)) throw Unsuitable{"its moment generating function needs too many points"};
  double log_delta = chernoff.value;
  for (int i = 0; i < 4; ++i) {
    const auto value = line_below_the_tail(cumulants, chernoff, epsilon, log_delta, rough * rough).at(epsilon);
    if (value.relative_error() <= rough || i == 3) {
      check(value);
      return delta_of(value);
    }
    constexpr double lower = 3;
    log_delta = std::min(log_delta - lower, value.sum > 0 ? value.log_scale + std::log(value.sum) : infinity);
  }
  throw Unsuitable{"its provable error is too large"};
}

Enclosure delta_of(const Contour& accountant, const Loss& loss, double epsilon, Direction direction) {
  if (epsilon > largest_loss(loss, direction).upper) return {0, 0};
  Cumulants cumulants{loss, direction, digits_for(loss, finest)};
  try {
    const auto line = line_at(cumulants, epsilon, [&](double s) {
      const double tolerance = tolerance_for(checked(accountant), s);
      return ContourShares{tolerance, tolerance, tolerance};
    });
    const auto value = line.at(epsilon);
    // Below the range of double the answer says nothing more than that.
    if (!(value.log_upper().value() < -760)) check(value);
    return delta_of(value);
  } catch (const Unsuitable&) {
    return delta_with_heavy_tail(cumulants, epsilon);
  }
}

/// Lines of one loss in one direction, by the epsilon that each was made for.
class PreparedLines {
 public:
  PreparedLines(const Loss& loss, Direction direction, double enough)
      : loss_{loss}, direction_{direction}, enough_{enough}, cumulants_{loss, direction, digits_for(loss, finest)} {}

  /// As delta_of. A line bounds delta at every epsilon; far from its own it does so more widely, and then another one is made.
  [[nodiscard]] Enclosure delta(const Contour& accountant, double epsilon) {
    if (const auto known = by_kept_lines(epsilon)) return *known;
    double tolerance = 0;
    auto line = line_at(cumulants_, epsilon, [&](double s) {
      tolerance = tolerance_for(checked(accountant), s);
      return ContourShares{spare * tolerance, spare * tolerance, spare * tolerance};
    });
    const auto value = line.at(epsilon);
    if (!(value.log_upper().value() < -760)) check(value);
    // Less than what a line that is made for one epsilon alone aims at, beside the same rounding.
    lines_.emplace(epsilon, Kept{std::move(line), value.relative_error() + share * tolerance});
    return delta_of(value);
  }

  /// The same where no line has to be made for it.
  [[nodiscard]] std::optional<Enclosure> by_kept_lines(double epsilon) const {
    if (epsilon > largest_loss(loss_, direction_).upper) return Enclosure{0, 0};
    const auto above = lines_.lower_bound(epsilon);
    for (auto near = above == lines_.begin() ? above : std::prev(above); near != lines_.end(); ++near) {
      const auto value = near->second.line.at(epsilon);
      if (value.relative_error() <= std::max(near->second.error, enough_)) return delta_of(value);
      if (near == above) break;
    }
    return std::nullopt;
  }

 private:
  static constexpr double spare = 0.02;
  static constexpr double share = 0.5;
  struct Kept {
    Line line;
    double error;
  };

  const Loss& loss_;
  Direction direction_;
  double enough_;
  Cumulants cumulants_;
  std::map<double, Kept> lines_;
};

// Proved: docs/proofs/contour.md#shifts
/// The root of delta(epsilon) = delta on one line, both ends certified by the line itself.
Enclosure solve(const Line& line, double epsilon, double delta) {
  const Lower target_below = log(Lower{Exact{delta}});
  const Upper target_above = log(Upper{Exact{delta}});
  const double log_delta = std::log(delta);
  const double doubt = target_above.value() - target_below.value();
  auto value = line.at(epsilon);
  for (int i = 0; i < 60; ++i) {
    check(value);
    if (!(value.slope > 0)) throw Unsuitable{"its provable error is too large"};
    const double next = std::max(0.0, epsilon + (value.log_scale + std::log(value.sum) - log_delta) / value.slope);
    const bool still = std::abs(next - epsilon) <= share_of_units(2.0) * epsilon + 1e-3 * value.relative_error() / value.slope;
    epsilon = next;
    value = line.at(epsilon);
    if (still) break;
  }
  check(value);
  const auto is_met = [&](double x) { return line.at(x).log_upper().value() <= target_below.value(); };
  const auto is_missed = [&](double x) { return line.at(x).log_lower().value() >= target_above.value(); };
  if (is_met(0)) return {0, 0};
  const double gap = 1.02 * (value.relative_error() + doubt) / value.slope + share_of_units(2.0) * epsilon;
  const auto outward_from = [gap](double start, double sign, int most) {
    return [=, margin = 0.25 * gap](int attempt) mutable -> std::optional<double> {
      if (attempt > 0) margin *= 1.5;
      if (attempt == most || (sign < 0 && !(margin < start))) return std::nullopt;
      return start + sign * margin;
    };
  };
  const auto upper = first_certain(is_met, outward_from(epsilon, 1, 40));
  if (!upper) throw Unsuitable{"its provable error is too large"};
  const auto lower = first_certain(is_missed, outward_from(epsilon, -1, 40));
  return {lower.value_or(0), *upper};
}

/// epsilon(delta) by a first line that is accurate enough at every epsilon, then by one that is made for the root.
Enclosure epsilon_with_heavy_tail(Cumulants& cumulants, const Contour& accountant, double delta) {
  const double log_delta = std::log(delta);
  const auto chernoff = chernoff_epsilon(cumulants, log_delta);
  if (!(chernoff.value < infinity)) throw Unsuitable{"its moment generating function needs too many points"};
  double epsilon = 0;
  {
    const auto line = line_below_the_tail(cumulants, chernoff, 0, log_delta, rough);
    const auto is_above = [&](double x) {
      const auto value = line.at(x);
      return value.sum > 0 && value.log_scale + std::log(value.sum) > log_delta;
    };
    double above = std::max(0.0, chernoff.value);
    while (above - epsilon > 1e-4 * above) {
      const double half = (epsilon + above) / 2;
      (is_above(half) ? epsilon : above) = half;
    }
  }
  const auto line =
      line_below_the_tail(cumulants, chernoff, epsilon, log_delta, tolerance_for(accountant.width, 1 / std::max(epsilon, 1e-3)));
  return solve(line, epsilon, delta);
}

Enclosure epsilon_of(const Contour& accountant, const Loss& loss, double delta, Direction direction) {
  if (delta == 0) return largest_loss(loss, direction);
  const double log_delta = std::log(delta);
  Cumulants cumulants{loss, direction, digits_for(loss, finest)};
  const auto shares = [&](double s) {
    const double tolerance = tolerance_for(checked(accountant), s);
    return ContourShares{tolerance, tolerance, tolerance};
  };
  try {
    // The saddle point's approximation of delta is good enough to choose the line.
    const auto saddle = find_saddle(
        cumulants, [&](const Saddle& at) { return at.epsilon < 0 || at.log_delta > log_delta; }, 0.05);
    const double start = std::max(0.0, saddle.epsilon);
    const Line line{cumulants, {saddle.s, start, saddle.log_delta, saddle.variance}, shares(saddle.s)};
    const auto found = solve(line, start, delta);
    if (!(found.width() > 2 * accountant.width)) return found;
    try {
      // The saddle point's approximation is far above delta there, of which errors are shares.
      const double root = (found.lower + found.upper) / 2;
      const double smaller = 0.5 * accountant.width / found.width();
      const auto smaller_shares = [&](double s) {
        const auto usual = shares(s);
        return ContourShares{smaller * usual.aliasing, smaller * usual.truncation, smaller * usual.quadrature};
      };
      const auto nearer = solve(line_at(cumulants, root, smaller_shares), root, delta);
      return {std::max(found.lower, nearer.lower), std::min(found.upper, nearer.upper)};
    } catch (const Unsuitable&) {
      return found;
    }
  } catch (const Unsuitable&) {
    // Not where tails are heavy: then from Chernoff's epsilon towards the root, a new line at each step.
    try {
      double epsilon = chernoff_epsilon(cumulants, log_delta).value;
      for (int i = 0; i < 12 && epsilon < infinity; ++i) {
        const auto line = line_at(cumulants, std::max(0.0, epsilon), shares);
        const auto value = line.at(std::max(0.0, epsilon));
        check(value);
        if (!(value.slope > 0)) break;
        const double ahead = value.log_scale + std::log(value.sum) - log_delta;
        if (std::abs(ahead) < 1 || (epsilon <= 0 && ahead < 0)) return solve(line, std::max(0.0, epsilon), delta);
        epsilon = std::max(0.0, epsilon) + ahead / value.slope;
      }
    } catch (const Unsuitable&) {
      // Then by a line that is made for the tail.
    }
    return epsilon_with_heavy_tail(cumulants, accountant, delta);
  }
}

/// The same on nodes of its own.
bool is_small_by_chernoff(const Loss& loss, Direction direction, double epsilon, double delta) {
  Cumulants cumulants{loss, direction, digits_for(loss, finest)};
  return is_small_by_chernoff(cumulants, epsilon, delta);
}

// Proved so far.
template <class Answer>
auto with_event(const Event& event, Answer answer) {
  try {
    return answer(contour::collect(event));
  } catch (const Unsuitable& unsuitable) {
    contour::no_answer_for(event, unsuitable.reason);
  }
}

Enclosure larger(const Enclosure& a, const Enclosure& b) { return {std::max(a.lower, b.lower), std::max(a.upper, b.upper)}; }

}  // namespace

std::optional<Refusal> why_not(const Contour&, const Event& event) {
  const StandardFloatingPoint environment;
  if (auto refusal = contour::why_not_collected(event)) return refusal;  // what it is made of, not its numbers
  const Loss kinds = contour::lattices_of(event);
  if (kinds.lattices.empty() || contour::ends_beyond_lattices(kinds)) return std::nullopt;
  return contour::no_answer_to(event, "its losses lie on a lattice");
}

Enclosure delta(const Contour& accountant, const Event& event, Epsilon epsilon, Direction direction) {
  const StandardFloatingPoint environment;
  return with_event(event, [&](const Loss& loss) { return delta_of(accountant, loss, epsilon.value(), direction); });
}

Enclosure epsilon(const Contour& accountant, const Event& event, Delta delta, Direction direction) {
  const StandardFloatingPoint environment;
  return with_event(event, [&](const Loss& loss) { return epsilon_of(accountant, loss, delta.value(), direction); });
}

Enclosure delta(const Contour& accountant, const Event& event, Epsilon epsilon) {
  const StandardFloatingPoint environment;
  return with_event(event, [&](const Loss& loss) {
    const auto remove = delta_of(accountant, loss, epsilon.value(), Direction::remove);
    // The add direction matters only where it is the larger one.
    if (loss.parts.empty() || is_small_by_chernoff(loss, Direction::add, epsilon.value(), remove.lower)) return remove;
    return larger(remove, delta_of(accountant, loss, epsilon.value(), Direction::add));
  });
}

Enclosure epsilon(const Contour& accountant, const Event& event, Delta delta) {
  const StandardFloatingPoint environment;
  return with_event(event, [&](const Loss& loss) {
    const auto remove = epsilon_of(accountant, loss, delta.value(), Direction::remove);
    if (loss.parts.empty() || remove.lower == infinity) return remove;
    if (is_small_by_chernoff(loss, Direction::add, remove.lower, delta.value())) return remove;
    return larger(remove, epsilon_of(accountant, loss, delta.value(), Direction::add));
  });
}

struct ContourCurve::Prepared {
  Event event;
  Contour accountant;
  Loss loss;
  double enough;
  PreparedLines remove{loss, Direction::remove, enough};
  PreparedLines add{loss, Direction::add, enough};
  Cumulants bounds_of_add{loss, Direction::add, digits_for(loss, finest)};  ///< on nodes of their own: they may lie at large s

  Prepared(const Event& asked, const Contour& by, double of_delta)
      : event{asked}, accountant{by}, loss{contour::collect(asked)}, enough{std::min(of_delta, most_relative_error)} {}
};

ContourCurve::ContourCurve(const Event& event, const Contour& accountant, double enough) {
  const StandardFloatingPoint environment;
  static_cast<void>(checked(accountant));
  try {
    prepared_ = std::make_shared<Prepared>(event, accountant, enough);
  } catch (const Unsuitable& unsuitable) {
    contour::no_answer_for(event, unsuitable.reason);
  }
}

Enclosure ContourCurve::operator()(Epsilon epsilon) const {
  const StandardFloatingPoint environment;
  auto& prepared = *prepared_;
  try {
    const auto remove = prepared.remove.delta(prepared.accountant, epsilon.value());
    if (prepared.loss.parts.empty()) return remove;
    if (const auto add = prepared.add.by_kept_lines(epsilon.value())) return larger(remove, *add);
    if (is_small_by_chernoff(prepared.bounds_of_add, epsilon.value(), remove.lower)) return remove;
    return larger(remove, prepared.add.delta(prepared.accountant, epsilon.value()));
  } catch (const Unsuitable& unsuitable) {
    contour::no_answer_for(prepared.event, unsuitable.reason);
  }
}

ContourTerms contour_terms(const Event& event, Epsilon epsilon, Direction direction, const ContourShares& shares) {
  const StandardFloatingPoint environment;
  return with_event(event, [&](const Loss& loss) {
    Cumulants cumulants{loss, direction, digits_for(loss, finest)};
    const auto line = line_at(cumulants, epsilon.value(), [&](double) { return shares; });
    const auto value = line.at(epsilon.value());
    const double scale = std::exp(value.log_scale);
    const double scaling = std::expm1(value.log_scale_error + share_of_units(4.0) * (1 + std::abs(value.log_scale)));
    return ContourTerms{.sum = scale * value.sum,
                        .aliasing = scale * value.aliasing.value(),
                        .truncation = scale * value.truncation.value(),
                        .quadrature = scale * value.quadrature.value(),
                        .rounding = scale * (value.rounding.value() + std::abs(value.sum) * scaling),
                        .points = line.points()};
  });
}

}  // namespace surety::accounting
