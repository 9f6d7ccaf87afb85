#include <surety/accounting/laws/batches/drawn_slots.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include <surety/accounting/laws/finite/polygon_law.h>
#include <surety/base/numbers/ball.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::laws {
namespace {

constexpr mpfr_prec_t precision = 128;
/// Logarithm of a chance that nobody looks at, also as a share of that of any slot, which is 2^-53 at least.
constexpr double log_vanished = -600;

Interval exactly(double value) { return {value, precision}; }

/// Sum of w_k N(k / multiplier, 1) against c N(0, 1), k >= 1.
class SlotCurve {
 public:
  SlotCurve(double multiplier, std::vector<double> numbers, std::vector<double> weights)
      : numbers_{std::move(numbers)}, weights_{std::move(weights)}, move_{Ball{1} / Exact{multiplier}} {
    for (const double weight : weights_) log_weights_.push_back(log(Ball{Exact{weight}}));
  }

  /// At least the curve at c, where log c is this at least, and no less than it was before.
  [[nodiscard]] double at(double log_c) {
    if (!(log_c > -infinity)) return 1;
    const auto [low, high] = around_best(log_c);
    if (!std::isfinite(low) || !std::isfinite(high)) return 1;
    const Ball outside = log_c < most_exponent ? exp(Ball{Exact{log_c}}) * tail(Ball{Exact{high}}) : Ball{0};
    Ball inside = 0;
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      inside += Exact{weights_[i]} * tail(Ball{Exact{low}} - Exact{numbers_[i]} * move_);
    }
    return std::clamp((inside.upper() - max(outside.lower(), Lower{0})).value(), 0.0, 1.0);
  }
  /// The same of each number by itself, which is told.
  [[nodiscard]] static double told(std::vector<SlotCurve>& each, const std::vector<double>& weights, double log_c) {
    Upper sum{0};
    for (std::size_t i = 0; i < each.size(); ++i) sum += Upper{Exact{weights[i]}} * Exact{each[i].at(log_c)};
    return std::min(1.0, sum.value());
  }

 private:
  static constexpr double most_exponent = 690;

  static Ball tail(Ball t) { return erfc(t / Ball::rounded(std::numbers::sqrt2)) * Exact{0.5}; }

  /// The logarithm of the ratio, which rises with the coordinate.
  [[nodiscard]] Ball log_ratio(double t) const {
    // What is below e^-60 of the largest term is between 0 and that.
    constexpr double log_nothing = -60;
    constexpr double nothing = 1e-26;
    const double top = rough(t).largest;
    Ball sum = 0;
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      const Ball shift = Exact{numbers_[i]} * move_;
      const Ball exponent = shift * (Ball{Exact{t}} - shift * Exact{0.5}) + log_weights_[i] - Exact{top};
      sum += exponent.upper().value() < log_nothing ? Ball::around(0, nothing) : exp(exponent);
    }
    return log(sum) + Exact{top};
  }

  struct Rough {
    double value;
    double slope;
    double largest;  ///< exponent
  };
  [[nodiscard]] Rough rough(double t) const {
    constexpr double nothing = -40;
    double top = -infinity;
    double sum = 0;
    double moment = 0;
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      const double shift = numbers_[i] * move_.value();
      const double exponent = shift * (t - 0.5 * shift) + log_weights_[i].value();
      if (exponent > top) {
        const double fall = std::exp(top - exponent);
        sum = sum * fall + 1;
        moment = moment * fall + shift;
        top = exponent;
      } else if (exponent > top + nothing) {
        const double term = std::exp(exponent - top);
        sum += term;
        moment += term * shift;
      }
    }
    return {top + std::log(sum), moment / sum, top};
  }

  /// Coordinates on both sides of the one where the ratio is c: its logarithm is convex, so Newton's steps go there.
  [[nodiscard]] std::pair<double, double> around_best(double log_c) {
    constexpr int most_steps = 200;
    constexpr double close = 1e-11;
    for (int i = 0; i < most_steps; ++i) {
      const Rough found = rough(last_);
      const double step = (found.value - log_c) / found.slope;
      last_ -= step;
      if (!std::isfinite(last_)) last_ = 0;
      if (std::abs(step) <= close * std::max(1.0, std::abs(last_))) break;
    }
    return around(last_, last_, log_c);
  }
  /// The same, as far out as the ratio is certainly on its side.
  [[nodiscard]] std::pair<double, double> around(double low, double high, double log_c) const {
    constexpr int most_doublings = 100;  // without digits nothing is certain, however far out
    const auto is_found = [&](double& t, double direction, const auto& is_beyond) {
      double step = direction * 1e-10 * std::max(1.0, std::abs(t));
      for (int i = 0; i < most_doublings; ++i) {
        if (is_beyond(log_ratio(t))) return true;
        t += step *= 2;
      }
      return false;
    };
    if (!is_found(low, -1, [&](const Ball& at) { return at.upper().value() < log_c; })) low = -infinity;
    if (!is_found(high, +1, [&](const Ball& at) { return at.lower().value() > log_c; })) high = infinity;
    return {low, high};
  }

  std::vector<double> numbers_;
  std::vector<double> weights_;
  std::vector<Ball> log_weights_;
  Ball move_;
  double last_ = 0;
};

}  // namespace

DrawnSlots drawn_slots(Count records, Count batch_size, double growth) {
  const std::uint64_t slots = batch_size.value();
  const auto m = static_cast<double>(slots);
  const auto n = static_cast<double>(records.value());
  if (records == Count{1}) return {exactly(0), exactly(1), {{slots, slots, exactly(1)}}};
  const Interval log_none = exactly(m) * log1p(-(exactly(1) / exactly(n)));
  DrawnSlots found{exp(log_none), -expm1(log_none), {}};
  Interval chance = found.none;
  PollNowAndThen poll;
  // From one number to the next C(m, k) (1 / n)^k (1 - 1 / n)^(m - k) grows by a factor that falls.
  const auto grow = [&](std::uint64_t k) {
    const auto before = static_cast<double>(k - 1);
    const Interval factor = exactly(m - before) / (exactly(before + 1) * exactly(n - 1));
    chance = chance * factor;
    return factor;
  };
  for (std::uint64_t k = 1; k <= slots;) {
    const std::uint64_t width = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(growth * static_cast<double>(k)));
    const std::uint64_t last = std::min(slots, k + width - 1);
    DrawnSlots::Numbers group{k, last, exactly(0)};
    for (; k <= last; ++k) {
      poll();
      const Interval factor = grow(k);
      if (chance.approximate_log() < log_vanished && factor.enclosure().upper < 0.5) {
        // This one and all that follow: at most a geometric series.
        found.some.push_back({group.least, slots, group.chance + hull(exactly(0), exactly(2) * chance)});
        return found;
      }
      group.chance = group.chance + chance;
    }
    found.some.push_back(std::move(group));
  }
  return found;
}

LossLaw gaussian_slots(double multiplier, const DrawnSlots& slots) {
  std::vector<double> numbers;
  std::vector<double> weights;  // given that there are any
  Upper vanished_mass{0};
  double once = 0;
  for (const auto& [least, most, chance] : slots.some) {
    const auto weight = (chance / slots.any).enclosure();
    if (most == 1) once = weight.lower;
    if (weight.upper < negligible_chance) {
      vanished_mass += Upper{Exact{weight.upper}};
    } else {
      numbers.push_back(static_cast<double>(most));
      weights.push_back(std::min(1.0, weight.upper));
    }
  }
  SlotCurve first{multiplier, numbers, weights};
  SlotCurve second = first;
  std::vector<SlotCurve> each;
  for (const double number : numbers) each.emplace_back(multiplier, std::vector{number}, std::vector{1.0});
  const double q = std::min(1.0, slots.any.enclosure().upper);
  const Ball rest = Ball{1} - Exact{q};
  constexpr double least_value = 1e-280;
  constexpr double steps_of_move = 40;
  constexpr double growth = 1.008;
  constexpr double hardly_more = 1e-3;
  std::vector<Corner> corners;
  long double before = 1;
  PollNowAndThen poll;
  double base = 0;
  double step = 1 / (multiplier * steps_of_move);
  for (;;) {
    poll();
    const double x = base < 30 ? std::log1p(q * std::expm1(base)) : base + std::log(q);
    // a = e^x, a' = 1 + (a - 1) / q, and the share a / a' of the other record.
    const Ball log_inner =
        x < 30 ? log1p(expm1(Ball{Exact{x}}) / Exact{q}) : Exact{x} - log(Ball{Exact{q}}) + log1p(-(rest * exp(Ball{Exact{-x}})));
    const double apart = log_inner.lower().value();
    const Upper share = min(exp((Exact{x} - log_inner).upper()), Upper{1});
    const double nearer = once > 0 ? (log_inner + log(Ball{Exact{once}})).lower().value() : -infinity;
    const Upper without{Exact{first.at(apart)}};
    // Told how many slots, or that it is one; either is a bound.
    double with = std::max(without.value(), second.at(nearer));
    if (with - without.value() > hardly_more * without.value())
      with = std::max(without.value(), std::min(with, SlotCurve::told(each, weights, apart)));
    const Upper value = Upper{Exact{q}} * (without + share * (Upper{Exact{with}} - Lower{Exact{without.value()}}) + vanished_mass);
    before = std::min(before, static_cast<long double>(value.value()));
    if (corners.empty() || x > corners.back().loss) corners.push_back({x, before});
    if (before < least_value || x > 1e12) break;
    base += step;
    if (base * (growth - 1) > step) step *= growth;
  }
  LossLaw law = with_infinite(polygon_law(corners, +1), before);
  std::get<AtomsBase>(law.base).has_tails = true;
  return law;
}

GaussianMixtureBase mixture_of_slots(double multiplier, const DrawnSlots& slots) {
  GaussianMixtureBase mixture{multiplier, {}, 0, {}};
  std::vector<Interval> chances;
  const auto add = [&](std::uint64_t number, const Interval& chance) {
    mixture.shifts.push_back(static_cast<double>(number));
    chances.push_back(chance);
  };
  add(0, slots.none);
  // A chance that vanishes is one of the number before.
  for (const auto& [least, most, chance] : slots.some) {
    if (chance.enclosure().upper < negligible_chance) {
      chances.back() = chances.back() + chance;
    } else {
      add(least, chance);
    }
  }
  Upper error{0};
  for (const auto& chance : chances) {
    if (chance.enclosure().upper == 0) {
      mixture.log_weights.push_back(-infinity);
      continue;
    }
    const Enclosure weight = log(chance).enclosure();
    const double nearest = std::midpoint(weight.lower, weight.upper);
    error = max(error, max(Upper{Exact{weight.upper}} - Exact{nearest}, Upper{Exact{nearest}} - Exact{weight.lower}));
    mixture.log_weights.push_back(nearest);
  }
  mixture.weight_error = error.value();
  return mixture;
}

}  // namespace surety::accounting::laws
