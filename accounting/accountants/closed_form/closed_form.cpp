#include <surety/accounting/accountants/closed_form/closed_form.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/accountants/closed_form/given_curve.h>
#include <surety/accounting/accountants/closed_form/largest_loss.h>
#include <surety/accounting/accountants/closed_form/repetition.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/event_of_group.h>
#include <surety/accounting/events/hypotheses.h>
#include <surety/accounting/events/last_iterate.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/accounting/laws/shuffled/shuffled_curve.h>
#include <surety/base/numbers/ball.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/numbers/root.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting {
namespace {

constexpr mpfr_prec_t first_precision = 128;
// The deepest cancellation of the curve between mu = 1e-300 and epsilon = 1e300 costs some 2,000 bits.
constexpr mpfr_prec_t last_precision = 8192;
// log2 of the smallest double: where delta is below it, more precision cannot narrow its enclosure.
constexpr mpfr_exp_t below_double = -1080;

/// A non-negative real number that can be computed to any precision.
using Real = std::function<Interval(mpfr_prec_t)>;

Real exactly(double value) {
  return [value](mpfr_prec_t precision) { return Interval{value, precision}; };
}

// Proved: docs/proofs/closed-form.md#gaussian-curve
/// Beyond this Mills' ratio is cheaper than erfc, and its fraction, precision / 8 deep, agrees to some 0.45 of the precision
/// (interval_test measures it); nearer to 0 twice the precision would not make it twice as narrow.
double far_tail(mpfr_prec_t precision) { return std::max(8.0, 0.7 * std::sqrt(static_cast<double>(precision))); }

/// delta(epsilon) of N(0, 1) against N(mu, 1) at one precision. \pre mu > 0, epsilon >= 0.
Interval curve(const Interval& mu, const Interval& at, mpfr_prec_t precision) {
  const Interval half_mu = mu / Interval{2, precision};
  const Interval shift = at / mu;
  const Interval near = shift - half_mu;
  const Interval far = shift + half_mu;
  // e^epsilon phi(far) = phi(near): no part of the product overflows.
  const auto is_far_tail = [&](const Interval& x) { return mpfr_cmp_d(x.lower(), far_tail(precision)) > 0; };
  const Interval first = is_far_tail(near) ? normal_density(near) * mills_ratio(near) : normal_cdf(-near);
  const Interval second = is_far_tail(far) ? normal_density(near) * mills_ratio(far) : exp(at) * normal_cdf(-far);
  return clamp(first - second, 0, 1);
}

/// `compute(precision)` at the first precision at which `enough` holds, or where more precision cannot help.
template <class Compute, class Enough>
Interval refined(const Compute& compute, Enough enough, mpfr_prec_t last = last_precision) {
  for (mpfr_prec_t precision = first_precision;; precision *= 2) {
    auto value = compute(precision);
    const bool vanishes = mpfr_zero_p(value.upper()) || mpfr_get_exp(value.upper()) < below_double;
    if (enough(value) || vanishes || precision >= last) return value;
  }
}

/// delta(epsilon) of N(0, 1) against N(mu, 1) in long double; nothing where it has few digits or is out of range.
std::optional<LongBall> rapid_gaussian_delta(LongBall mu, double epsilon) {
  constexpr long double farthest = 100;
  const LongBall at = LongExact{epsilon};
  const LongBall shift = at / mu;
  const LongBall half = mu / LongBall{2};
  const LongBall far = shift + half;
  if (!(far.value() < farthest && epsilon < farthest * farthest)) return std::nullopt;
  const LongBall root_of_two = LongBall::within(std::numbers::sqrt2_v<long double>, 1);
  const LongBall found = (erfc((shift - half) / root_of_two) - exp(at) * erfc(far / root_of_two)) / LongBall{2};
  constexpr long double least = 1e-4000L;
  return found.value() > least && found.radius() < found.value() / 2 ? std::optional{found} : std::nullopt;
}

/// delta(epsilon) at any precision, and in long double where that is known.
struct Curve {
  std::function<Interval(double epsilon, mpfr_prec_t precision)> at;
  std::function<std::optional<LongBall>(double epsilon)> rapid = [](double) { return std::nullopt; };
};

LongBall as_long_double(const Interval& number) {
  const long double lower = mpfr_get_ld(number.lower(), MPFR_RNDD);
  const long double upper = mpfr_get_ld(number.upper(), MPFR_RNDU);
  const long double middle = lower + (upper - lower) / 2;
  return LongBall::around(middle, upper - lower);  // neighbours, whose difference is exact
}

Curve gaussian_curve(const Real& mu) {
  return {[mu](double epsilon, mpfr_prec_t precision) {
            return curve(mu(precision), Interval{epsilon, precision}, precision);
          },
          [mu = as_long_double(mu(first_precision))](double epsilon) { return rapid_gaussian_delta(mu, epsilon); }};
}

SideOfRoot side_of(const Curve& curve, double epsilon, double target) {
  if (const auto rapid = curve.rapid(epsilon)) {
    const int certain = rapid->lower().value() > target ? 1 : rapid->upper().value() < target ? -1 : 0;
    const double distance = static_cast<double>(std::log(rapid->value() / target));
    if (certain != 0 && distance * certain > 0) return {certain, distance};
  }
  const auto value = refined([&](mpfr_prec_t precision) { return curve.at(epsilon, precision); },
                             [&](const Interval& delta) { return delta.compare(target) != 0; });
  const int certain = value.compare(target);
  // A vanished delta has no logarithm, and a rounded one may have the wrong sign; the root finder is to see neither.
  const double distance = std::max(value.approximate_log() - std::log(target), -1e6);
  constexpr double least = std::numeric_limits<double>::min();
  return {certain, certain > 0 ? std::max(distance, least) : certain < 0 ? std::min(distance, -least) : 0};
}

/// The narrowest doubles around it.
Enclosure in_double(LongBall number) {
  const long double lower = number.lower().value();
  const long double upper = number.upper().value();
  Enclosure found{static_cast<double>(lower), static_cast<double>(upper)};
  if (static_cast<long double>(found.lower) > lower) found.lower = std::nextafter(found.lower, -infinity);
  if (static_cast<long double>(found.upper) < upper) found.upper = std::nextafter(found.upper, infinity);
  return found;
}

Enclosure delta_of(const Curve& curve, double epsilon) {
  if (const auto rapid = curve.rapid(epsilon)) {
    // Where no double lies between its bounds, more precision cannot narrow them.
    const Enclosure found = in_double(*rapid);
    if (std::nextafter(found.lower, infinity) == found.upper && found.upper <= 1) return found;
  }
  return refined([&](mpfr_prec_t precision) { return curve.at(epsilon, precision); },
                 [](const Interval& delta) { return delta.agrees_to(51); })
      .enclosure();
}

/// \pre target > 0, and delta is at most the target at `beyond`, but perhaps for rounding.
Enclosure epsilon_of(const Curve& curve, double target, double beyond) {
  if (side_of(curve, 0, target).certain < 0) return {0, 0};
  const auto side = [&](double epsilon) { return side_of(curve, epsilon, target); };
  if (const int certain = side(beyond).certain; !(certain < 0)) return {certain > 0 ? beyond : 0, infinity};
  double before = beyond;
  for (double factor = 0.5; before > 0; factor *= factor) {
    const double candidate = before * factor;
    if (side(candidate).certain > 0) return enclose_root(side, candidate, before);
    if (candidate == 0) return {0, before};
    if (side(candidate).certain < 0) before = candidate;
  }
  return {0, beyond};
}

/// log delta(epsilon) of N(0, 1) against N(mu, 1), nearly: a root finder needs no more, and what it finds is certified by the curve itself.
double nearly_log_delta(long double mu, long double epsilon) {
  const long double near = epsilon / mu - mu / 2;
  const long double far = epsilon / mu + mu / 2;
  constexpr long double where_series_holds = 40;
  const auto tail = [](long double x) { return std::erfc(x / std::numbers::sqrt2_v<long double>) / 2; };
  const long double density = std::exp(-near * near / 2) * std::numbers::inv_sqrtpi_v<long double> / std::numbers::sqrt2_v<long double>;
  // Mills' ratio times x: 1 - 1/x^2 + 3/x^4 - 15/x^6 + ...
  const auto series = [](long double x) {
    long double sum = 1;
    for (int odd = 11; odd >= 1; odd -= 2) sum = 1 - odd * sum / (x * x);
    return sum;
  };
  const long double second = far > where_series_holds ? density * series(far) / far : std::exp(epsilon) * tail(far);
  const long double delta = tail(near) - second;
  constexpr double nothing_left = -1e6;
  return delta > 0 ? static_cast<double>(std::log(delta)) : nothing_left;
}

/// Encloses the root of `side` in a few steps where `nearly`, of the same signs at both ends but for rounding, has it nearly there.
std::optional<Enclosure> enclose_root_nearly(const std::function<SideOfRoot(double)>& side, const std::function<double(double)>& nearly,
                                             double before, double beyond) {
  if (!(nearly(before) > 0 && nearly(beyond) < 0)) return std::nullopt;
  const double guess = narrow_root(nearly, before, beyond, 50, 100).middle();
  const auto certain = [&](double sign, double margin) { return sign * side(guess * (1 - sign * margin)).certain > 0; };
  double low = 0x1p-50;
  double high = 0x1p-50;
  constexpr double too_far = 0x1p-12;
  while (low < too_far && !certain(1, low)) low *= 0x1p8;
  while (high < too_far && !certain(-1, high)) high *= 0x1p8;
  if (!(low < too_far && high < too_far)) return std::nullopt;
  const Enclosure found{guess * (1 - low), guess * (1 + high)};
  if (low == high && low == 0x1p-50) return found;
  return enclose_root(side, found.lower, found.upper);
}

/// Above epsilon at delta of N(0, 1) against N(mu, 1).
double beyond_gaussian(const Real& mu, double target) {
  // mu^2 / 2 + mu sqrt(2 log(1 / delta)) is above the root (zero-concentrated privacy).
  const Upper most_mu = Exact{mu(first_precision).enclosure().upper};
  const double largest = std::numeric_limits<double>::max();
  const Upper above_root = most_mu * most_mu / 2 + most_mu * sqrt(2 * -log(Lower{Exact{target}}));
  return std::min(above_root.value(), largest);
}

Enclosure gaussian_epsilon_of(const Real& mu, double target) {
  if (target == 0) return {infinity, infinity};
  const Curve curve = gaussian_curve(mu);
  const double beyond = beyond_gaussian(mu, target);
  const long double nearly_mu = mpfr_get_ld(mu(first_precision).lower(), MPFR_RNDN);
  const double log_target = std::log(target);
  const auto found = enclose_root_nearly([&](double epsilon) { return side_of(curve, epsilon, target); },
                                         [&](double epsilon) { return nearly_log_delta(nearly_mu, epsilon) - log_target; }, 0, beyond);
  return found ? *found : epsilon_of(curve, target, beyond);
}

// ---- one Poisson batch of Gaussian releases ----

/// The larger of both directions of (1 - q) N(0, 1) + q N(mu, 1) against N(0, 1). \pre 0 < q < 1.
Curve batch_curve(const Real& mu, double q) {
  return {[mu, q](double epsilon, mpfr_prec_t precision) {
    const Interval at{epsilon, precision};
    const Interval one{1, precision};
    const Interval rate{q, precision};
    const Interval shift = mu(precision);
    // q delta(x) where e^x = 1 + (e^epsilon - 1) / q.
    const Interval x = epsilon < 1 ? log1p(expm1(at) / rate) : at - log(rate) + log1p(-((one - rate) * exp(-at)));
    const Interval removed = rate * curve(shift, clamp(x, 0, infinity), precision);
    // (1 - e^epsilon (1 - q)) delta(x) where e^x = q e^epsilon / (1 - e^epsilon (1 - q)). Rates of double leave nothing beyond 40.
    if (epsilon > 40) return removed;
    const Interval left = one - exp(at) * (one - rate);
    if (mpfr_sgn(left.upper()) <= 0) return removed;
    const Interval zero{0, precision};
    if (mpfr_sgn(left.lower()) <= 0) return maximum(removed, hull(zero, clamp(left, 0, 1)));
    return maximum(removed, left * curve(shift, clamp(log(rate * exp(at) / left), 0, infinity), precision));
  }};
}

// Proved so far.
// ---- releases with the losses +loss, 0 and -loss ----

/// Their probabilities under the first hypothesis; under the second, `more` and `less` change places, so more = less e^loss.
struct ThreeLosses {
  Interval more;
  Interval none;
  Interval less;
};

class ThreeLossReleases {
 public:
  using Law = std::function<ThreeLosses(mpfr_prec_t)>;
  static constexpr double most_releases = 10'000;
  static constexpr mpfr_prec_t last = 2048;

  /// `infinite` is the probability that a release shows everything.
  ThreeLossReleases(Law law, double count, double infinite) : law_{std::move(law)}, count_{size_of(count)}, infinite_{infinite} {}

  [[nodiscard]] Enclosure delta(double epsilon) const {
    const auto compute = [&](mpfr_prec_t precision) {
      const Interval lost = this->lost(precision);
      return clamp(lost + (number(1, precision) - lost) * divergence(epsilon, precision), 0, 1);
    };
    return refined(
               compute, [](const Interval& delta) { return delta.agrees_to(51); }, last)
        .enclosure();
  }

  /// inf {e : delta(e) <= target} = max(0, largest log((P(S) - t) / Q(S)) over the upper sets S), 1 - t = (1 - target) / (1 - lost).
  [[nodiscard]] Enclosure epsilon(double target) const {
    const auto gap = [&](mpfr_prec_t precision) { return number(target, precision) - lost(precision); };
    const Interval left = refined(
        gap, [](const Interval& x) { return mpfr_sgn(x.lower()) >= 0 || mpfr_sgn(x.upper()) < 0; }, last);
    if (mpfr_sgn(left.upper()) < 0) return {infinity, infinity};
    if (mpfr_sgn(left.lower()) < 0) return {0, infinity};
    const auto compute = [&](mpfr_prec_t precision) {
      const Interval aim = clamp(gap(precision), 0, 1) / (number(1, precision) - lost(precision));
      Interval best = number(0, precision);
      for (const auto& set : upper_sets(precision)) best = maximum(best, clamp(set.p - aim, 0, infinity) / set.q);
      return maximum(log(best), number(0, precision));
    };
    return refined(
               compute, [](const Interval& epsilon) { return epsilon.agrees_to(51); }, last)
        .enclosure();
  }

 private:
  struct Set {
    Interval p;
    Interval q;
  };

  static Interval number(double value, mpfr_prec_t precision) { return {value, precision}; }
  static Interval loss(const ThreeLosses& law) { return log(law.more / law.less); }

  [[nodiscard]] Interval lost(mpfr_prec_t precision) const {
    if (count_ == 1 || infinite_ == 0) return number(infinite_, precision);
    return -expm1(number(static_cast<double>(count_), precision) * log1p(-number(infinite_, precision)));
  }

  /// The sets {sum of losses >= j loss} for j = count, count - 1, ..., 1. The masses are the coefficients g_m of
  /// (more + none x + less x^2)^count, m = count - j, whose recurrence adds only positive terms.
  [[nodiscard]] std::vector<Set> upper_sets(mpfr_prec_t precision) const {
    const auto law = law_(precision);
    const Interval odds = law.more / law.less;
    Interval before = number(0, precision);
    Interval mass = number(1, precision);
    Interval decay = number(1, precision);
    for (std::size_t i = 0; i < count_; ++i) {
      mass = mass * law.more;
      decay = decay / odds;
    }
    std::vector<Set> sets;
    sets.reserve(count_);
    Set sum{number(0, precision), number(0, precision)};
    const auto count = static_cast<double>(count_);
    for (double m = 0; m < count; ++m) {
      sum = {sum.p + mass, sum.q + mass * decay};
      sets.push_back(sum);
      Interval next = (number(count - m, precision) * law.none * mass + number(2 * count - m + 1, precision) * law.less * before) /
                      (number(m + 1, precision) * law.more);
      before = std::move(mass);
      mass = std::move(next);
      decay = decay * odds;
    }
    return sets;
  }

  /// max over the upper sets of P - e^epsilon Q, attained where the sum of losses first exceeds epsilon; its neighbours cover the
  /// rounding of where that is.
  [[nodiscard]] Interval divergence(double epsilon, mpfr_prec_t precision) const {
    Interval best = number(0, precision);
    const double least = loss(law_(precision)).enclosure().upper;
    const double level = least > 0 ? epsilon / least : infinity;
    const auto count = static_cast<double>(count_);
    if (!(level < count + 1)) return best;
    const auto sets = upper_sets(precision);
    const double middle = count - std::floor(level) - 1;
    for (double i = std::max(0.0, middle - 2); i <= std::min(count - 1, middle + 2); ++i) {
      const auto& set = sets[size_of(i)];
      best = maximum(best, set.p - exp(number(epsilon, precision)) * set.q);
    }
    return clamp(best, 0, 1);
  }

  Law law_;
  std::size_t count_;
  double infinite_;
};

/// One bit that is right with odds e^epsilon: the hardest epsilon-private release.
ThreeLossReleases::Law one_bit(const Real& epsilon) {
  return [epsilon](mpfr_prec_t precision) {
    const Interval one{1, precision};
    const Interval odds = exp(epsilon(precision));
    return ThreeLosses{odds / (one + odds), Interval{0, precision}, one / (one + odds)};
  };
}

ThreeLossReleases::Law answer(double truth, double categories) {
  return [=](mpfr_prec_t precision) {
    const Interval own{truth, precision};
    const Interval other = (Interval{1, precision} - own) / Interval{categories - 1, precision};
    const Interval none = other * Interval{categories - 2, precision};
    // The product of two doubles is exact.
    const bool is_truthful = (own * Interval{categories, precision}).compare(1) > 0;
    return is_truthful ? ThreeLosses{own, none, other} : ThreeLosses{other, none, own};
  };
}

std::optional<OrRefusal<ThreeLossReleases>> three_loss_releases(const Repetition& repetition) {
  const auto made = [&](double loss, const ThreeLossReleases::Law& law, double infinite = 0) -> OrRefusal<ThreeLossReleases> {
    if (auto refusal = why_too_large(repetition, ThreeLossReleases::most_releases, loss)) return *std::move(refusal);
    return ThreeLossReleases{law, repetition.count, infinite};
  };
  const auto& node = repetition.leaf.node();
  if (const auto* pure = std::get_if<Event::Pure>(&node)) return made(pure->epsilon.value(), one_bit(exactly(pure->epsilon.value())));
  if (const auto* approximate = std::get_if<Event::Approximate>(&node)) {
    return made(approximate->epsilon.value(), one_bit(exactly(approximate->epsilon.value())), approximate->delta.value());
  }
  if (const auto* response = std::get_if<Event::RandomizedResponse>(&node)) {
    constexpr double largest = 1100;  // log of 2^53 over the smallest double, and more
    return made(largest, answer(response->truth.value(), static_cast<double>(response->categories.value())));
  }
  // The likelihood ratio of neighbouring lattice points is e^(1/b) on one side and e^(-1/b) on the other: one bit.
  if (const auto* laplace = std::get_if<Event::DiscreteLaplace>(&node); laplace != nullptr && laplace->sensitivity == Count{1}) {
    return made(1 / laplace->scale.value(), one_bit([scale = laplace->scale.value()](mpfr_prec_t precision) {
                  return Interval{1, precision} / Interval{scale, precision};
                }));
  }
  return std::nullopt;
}

// ---- Laplace noise ----

class LaplaceReleases {
 public:
  static constexpr double most_releases = 50;  // up to which the coefficients are exact in double

  LaplaceReleases(double scale, double count) : scale_{scale}, count_{checked_cast<int>(count)} {}

  [[nodiscard]] Enclosure delta(double epsilon) const { return delta_of(curve(), epsilon); }
  [[nodiscard]] Enclosure epsilon(double target) const {
    const Enclosure largest = (number(count_, first_precision) * reach(first_precision)).enclosure();
    return target == 0 ? largest : epsilon_of(curve(), target, largest.upper);
  }

 private:
  static Interval number(double value, mpfr_prec_t precision) { return {value, precision}; }
  [[nodiscard]] Interval reach(mpfr_prec_t precision) const { return number(1, precision) / number(scale_, precision); }
  [[nodiscard]] Curve curve() const {
    return {[*this](double epsilon, mpfr_prec_t precision) { return at(epsilon, precision); }};
  }

  /// docs/proofs/closed-form.md#laplace-curve: (e^(-1/b) / 4)^(T/2) e^(epsilon/2) sum over knots t_j = (T - 2j) / b above epsilon of
  /// C(T, j) sum over n of c_n 2^-n J_n(t_j - epsilon), c_n the coefficient of w^n in (1 + w)^(T - j) (1 - w)^j.
  [[nodiscard]] Interval at(double epsilon, mpfr_prec_t precision) const {
    Interval sum = number(0, precision);
    double choose = 1;
    for (int j = 0; j <= count_; ++j) {
      const Interval above = number(count_ - 2 * j, precision) * reach(precision) - number(epsilon, precision);
      if (mpfr_sgn(above.upper()) <= 0) break;
      sum = sum + number(choose, precision) * at_knot(coefficients(j), clamp(above, 0, infinity), precision);
      choose = choose * (count_ - j) / (j + 1);
    }
    if (mpfr_zero_p(sum.upper())) return sum;
    const Interval exponent = (number(epsilon, precision) - number(count_, precision) * reach(precision)) / number(2, precision);
    return clamp(sum * exp(exponent) * number(std::ldexp(1, -count_), precision), 0, 1);
  }

  /// c_n, integers up to 2^count: exact in double.
  [[nodiscard]] std::vector<double> coefficients(int j) const {
    std::vector<double> c(static_cast<std::size_t>(count_) + 1);
    c[0] = 1;
    for (int factor = 0; factor < count_; ++factor) {
      const double sign = factor < j ? -1 : 1;
      for (auto n = static_cast<std::size_t>(factor) + 1; n > 0; --n) c[n] += sign * c[n - 1];
    }
    return c;
  }

  /// sum of c_n 2^-n J_n(u) with J_0 = 2 sinh(u/2), J_1 = 4 (cosh(u/2) - 1), J_(n+2) = 4 (J_n - u^(n+1) / (n+1)!).
  static Interval at_knot(const std::vector<double>& c, const Interval& u, mpfr_prec_t precision) {
    const Interval grown = exp(u / number(2, precision));
    const Interval shrunk = number(1, precision) / grown;
    Interval here = grown - shrunk;
    Interval next = number(2, precision) * (grown + shrunk) - number(4, precision);
    Interval power = u;  // u^(n+1) / (n+1)!
    Interval sum = number(0, precision);
    for (std::size_t n = 0; n < c.size(); ++n) {
      sum = sum + number(std::ldexp(c[n], -static_cast<int>(n)), precision) * here;
      Interval after = number(4, precision) * (here - power);
      here = std::move(next);
      next = std::move(after);
      power = power * u / number(static_cast<double>(n + 2), precision);
    }
    return sum;
  }

  double scale_;
  int count_;
};

std::optional<OrRefusal<LaplaceReleases>> laplace_releases(const Repetition& repetition) {
  std::optional<double> scale;
  if (const auto laplace = pairwise_scale(repetition.leaf)) scale = laplace->value();
  // In one dimension every norm is the absolute value.
  if (const auto* noise = std::get_if<Event::KNorm>(&repetition.leaf.node()); noise != nullptr && noise->dimension == Count{1}) {
    scale = noise->scale.value();
  }
  if (!scale) return std::nullopt;
  if (auto refusal = why_too_large(repetition, LaplaceReleases::most_releases, 1 / *scale)) return *std::move(refusal);
  return LaplaceReleases{*scale, repetition.count};
}

/// One shuffle. The first question makes its sums.
struct OneShuffle {
  const Event& event;

  [[nodiscard]] Enclosure delta(double epsilon) const { return laws::shuffled_curve(event)->delta(epsilon); }
  [[nodiscard]] Enclosure epsilon(double target) const { return laws::shuffled_curve(event)->epsilon(target); }
};

/// Asks the releases that are one kind repeated; nothing for other events.
template <class Ask>
std::optional<OrRefusal<Enclosure>> ask_repetition(const Event& event, Ask ask) {
  const auto repeated = repetition(event);
  if (!repeated) return std::nullopt;
  const auto answer = [&](const auto& releases) -> OrRefusal<Enclosure> {
    if (!releases) return releases.refusal();
    return ask(*releases);
  };
  if (const auto releases = three_loss_releases(*repeated)) return answer(*releases);
  if (const auto releases = laplace_releases(*repeated)) return answer(*releases);
  if (const auto* given = std::get_if<Event::Profile>(&repeated->leaf.node()); given != nullptr && repeated->count == 1) {
    return ask(GivenCurve{given->points});
  }
  if (laws::is_shuffle(repeated->leaf) && repeated->count == 1) return ask(OneShuffle{repeated->leaf});
  return std::nullopt;
}

/// One batch of Gaussian releases, where a record is in it or not and nothing else is released.
struct OneBatch {
  Event used;
  double rate;
};
std::optional<OneBatch> one_batch(const Event& event) {
  const auto alone = repetition(event);
  if (!alone || alone->count != 1) return std::nullopt;
  const auto* batch = std::get_if<Event::PoissonSampled>(&alone->leaf.node());
  if (batch == nullptr || !(batch->rate.value() < 1) || first_not_gaussian(batch->event)) return std::nullopt;
  if (poisson_pair(batch->event) != PoissonPair::with_or_without) return std::nullopt;
  return OneBatch{batch->event, batch->rate.value()};
}

/// A part that is known when nothing else is released.
bool is_known_alone(const Event& part) {
  const auto& node = part.node();
  const auto* lattice = std::get_if<Event::DiscreteLaplace>(&node);
  const auto* norm = std::get_if<Event::KNorm>(&node);
  return std::holds_alternative<Event::Pure>(node) || std::holds_alternative<Event::Approximate>(node) ||
         std::holds_alternative<Event::RandomizedResponse>(node) || std::holds_alternative<Event::Profile>(node) || pairwise_scale(part) ||
         (lattice != nullptr && lattice->sensitivity == Count{1}) || (norm != nullptr && norm->dimension == Count{1}) ||
         laws::is_shuffle(part);
}

/// Two events: the first costs at least as much as a given one, the second at most as much.
struct Around {
  Event above;
  Event below;
};

/// Of users of one release, several times, where its noise is no double.
/// \source docs/proofs/users.md#releases.
std::optional<Around> around_users(const Event& plain) {
  const auto repeated = repetition(plain);
  const auto* users = repeated ? std::get_if<Event::Users>(&repeated->leaf.node()) : nullptr;
  if (users == nullptr || users->event.has_sampling() || !(repeated->count <= 0x1p53)) return std::nullopt;
  const auto bounds = group_bounds(users->event, users->records);
  if (!bounds || !bounds->lower) return std::nullopt;
  const Count times{static_cast<std::uint64_t>(repeated->count)};
  Around found{plainest(repeat(times, bounds->upper)), plainest(repeat(times, *bounds->lower))};
  const auto knows = [](const Event& event) {
    const auto known = ask_repetition(event, [](const auto&) { return Enclosure{0, 0}; });
    return known && !known->why_not();
  };
  return knows(found.above) && knows(found.below) ? std::optional{std::move(found)} : std::nullopt;
}

/// With a Gaussian release in place of each last iterate within a domain.
Event with_gaussians(const Event& event, double Enclosure::*bound) {
  if (const auto* e = std::get_if<Event::Repeated>(&event.node())) return repeat(e->count, with_gaussians(e->event, bound));
  if (std::holds_alternative<Event::LastIterateWithin>(event.node())) {
    return gaussian(NoiseMultiplier{(*last_iterate_multipliers(event)).*bound}, event.adjacency());
  }
  const auto* composed = std::get_if<Event::Composed>(&event.node());
  const auto* parallel = std::get_if<Event::Parallel>(&event.node());
  if (composed == nullptr && parallel == nullptr) return event;
  std::vector<Event> parts;
  for (const auto& part : composed != nullptr ? composed->events : parallel->events) parts.push_back(with_gaussians(part, bound));
  return composed != nullptr ? compose(std::move(parts)) : surety::parallel(std::move(parts));
}

/// Of Gaussian releases and last iterates within a domain.
/// \source docs/proofs/last-iterate.md#closed-forms.
std::optional<Around> around_last_iterates(const Event& plain) {
  if (!first_not_gaussian(plain)) return std::nullopt;
  Event above = with_gaussians(plain, &Enclosure::lower);
  if (first_not_gaussian(above)) return std::nullopt;
  return Around{std::move(above), with_gaussians(plain, &Enclosure::upper)};
}

std::optional<Around> around(const Event& plain) {
  auto found = around_users(plain);
  return found ? std::move(found) : around_last_iterates(plain);
}

std::optional<Refusal> why_no_mu(const Event& event) {
  const auto part = first_not_gaussian(event);
  if (!part) return std::nullopt;
  return Refusal{*part, is_known_alone(*part) ? "{} has no closed form together with other releases" : "{} has no closed form"};
}

/// mu of an event; positive, since every multiplier is finite and no composition is empty.
Real mu_of(const Event& event) {
  if (const auto refusal = why_no_mu(event)) unsupported(*refusal);
  return [event](mpfr_prec_t precision) { return sqrt(*gaussian_mu_squared(event, precision)); };
}

}  // namespace

std::optional<Refusal> why_not(const ClosedForm&, const Event& event) {
  const Event plain = plainest(event);
  if (one_batch(plain) || around(plain)) return std::nullopt;
  const auto repeated = ask_repetition(plain, [](const auto&) { return Enclosure{0, 0}; });
  return repeated ? repeated->why_not() : why_no_mu(plain);
}

Enclosure delta(const ClosedForm&, const Event& event, Epsilon epsilon) {
  const StandardFloatingPoint environment;
  const Event plain = plainest(event);
  if (const auto both = around(plain)) {
    return {delta(ClosedForm{}, both->below, epsilon).lower, delta(ClosedForm{}, both->above, epsilon).upper};
  }
  if (const auto batch = one_batch(plain)) return delta_of(batch_curve(mu_of(batch->used), batch->rate), epsilon.value());
  auto found = ask_repetition(plain, [&](const auto& releases) { return releases.delta(epsilon.value()); });
  return found ? (*std::move(found)).value() : delta_of(gaussian_curve(mu_of(plain)), epsilon.value());
}
Enclosure epsilon(const ClosedForm&, const Event& event, Delta delta) {
  const StandardFloatingPoint environment;
  const Event plain = plainest(event);
  if (const auto both = around(plain)) {
    return {epsilon(ClosedForm{}, both->below, delta).lower, epsilon(ClosedForm{}, both->above, delta).upper};
  }
  if (delta.value() == 0) {
    if (const auto largest = sum_of_largest_losses(plain)) return *largest;
  }
  if (const auto batch = one_batch(plain)) {
    if (delta.value() == 0) return {infinity, infinity};
    const Real mu = mu_of(batch->used);
    return epsilon_of(batch_curve(mu, batch->rate), delta.value(), beyond_gaussian(mu, delta.value()));
  }
  if (auto found = ask_repetition(plain, [&](const auto& releases) { return releases.epsilon(delta.value()); })) {
    return (*std::move(found)).value();
  }
  return gaussian_epsilon_of(mu_of(plain), delta.value());
}

std::function<Enclosure(Epsilon)> rapid_gaussian_curve(const Event& event) {
  const StandardFloatingPoint environment;
  const Event plain = plainest(event);
  if (one_batch(plain) || why_no_mu(plain) || ask_repetition(plain, [](const auto&) { return Enclosure{0, 0}; })) return {};
  return [curve = gaussian_curve(mu_of(plain))](Epsilon epsilon) {
    const StandardFloatingPoint in_each_call;
    constexpr double narrow = 1e-12;
    if (const auto rapid = curve.rapid(epsilon.value()); rapid && rapid->radius() <= narrow / 4 * rapid->value()) {
      const Enclosure found = in_double(*rapid);
      return Enclosure{std::max(0.0, found.lower), std::min(1.0, found.upper)};
    }
    return delta_of(curve, epsilon.value());
  };
}

// Proved: docs/proofs/closed-form.md#gaussian-curve
Enclosure gaussian_delta(Mu mu, Epsilon epsilon) {
  const StandardFloatingPoint environment;
  if (mu.value() == 0) return {0, 0};
  return delta_of(gaussian_curve(exactly(mu.value())), epsilon.value());
}

Enclosure gaussian_epsilon(Mu mu, Delta delta) {
  const StandardFloatingPoint environment;
  if (mu.value() == 0) return {0, 0};
  return gaussian_epsilon_of(exactly(mu.value()), delta.value());
}

Enclosure largest_mu(Epsilon epsilon, Delta delta) {
  const StandardFloatingPoint environment;
  if (delta.value() == 0) return {0, 0};
  // delta grows with mu, so "before the root" is where delta is still below the target.
  const auto side = [&](double mu) {
    const auto found = side_of(gaussian_curve(exactly(mu)), epsilon.value(), delta.value());
    return SideOfRoot{-found.certain, -found.distance};
  };
  const double spread = std::sqrt(-2 * std::log(delta.value()));
  // Two bounds from below: half of the mu whose zero-concentrated bound meets the target, and delta(epsilon) <= delta(0) <= mu / 2.
  double before = std::max(epsilon.value() / (spread + std::sqrt(spread * spread + 2 * epsilon.value())), delta.value());
  const double log_target = std::log(delta.value());
  const auto nearly = [&](double mu) { return log_target - nearly_log_delta(mu, epsilon.value()); };
  double beyond = 2 * before;
  while (nearly(beyond) > 0 && beyond < infinity) beyond *= 2;
  if (const auto found = enclose_root_nearly(side, nearly, before, beyond)) return *found;
  while (!(side(before).certain > 0)) before /= 2;
  beyond = 2 * before;
  while (!(side(beyond).certain < 0)) beyond *= 2;
  return enclose_root(side, before, beyond);
}

// Proved so far.
}  // namespace surety::accounting
