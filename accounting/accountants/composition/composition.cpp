#include <surety/accounting/accountants/composition/composition.h>

#include <algorithm>
#include <array>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/numbers/checked_cast.h>
#include <surety/accounting/numbers/floating_point.h>
#include <surety/accounting/numbers/interval.h>
#include <surety/accounting/numbers/limit.h>
#include <surety/accounting/numbers/rounding.h>

namespace surety::accounting {
namespace {

constexpr mpfr_prec_t precision = 256;
constexpr double most_releases = 1e7;
constexpr double most_work = 2e9;

Interval number(double value) { return {value, precision}; }
Interval count_of(const Promise& promise) { return number(static_cast<double>(promise.count.value())); }
Interval zero() { return number(0); }

double total_count(std::span<const Promise> promises) {
  double sum = 0;
  for (const auto& promise : promises) sum += static_cast<double>(promise.count.value());
  return sum;
}

Interval sum_of_epsilons(std::span<const Promise> promises) {
  Interval sum = zero();
  for (const auto& promise : promises) sum = sum + count_of(promise) * number(promise.epsilon.value());
  return sum;
}
Interval sum_of_deltas(std::span<const Promise> promises) {
  Interval sum = zero();
  for (const auto& promise : promises) sum = sum + count_of(promise) * number(promise.delta.value());
  return sum;
}

/// What advanced composition adds up: the mean of the loss is at most `mean`, its spread is sqrt(2 log(1/d) squares).
struct Moments {
  Interval mean = zero();
  Interval squares = zero();
};
/// Nothing where an exponential would overflow; basic composition answers there.
std::optional<Moments> moments(std::span<const Promise> promises) {
  constexpr double largest = 1e6;
  Moments sum;
  for (const auto& promise : promises) {
    if (promise.epsilon.value() > largest) return std::nullopt;
    const Interval e = number(promise.epsilon.value());
    sum.mean = sum.mean + count_of(promise) * e * expm1(e);
    sum.squares = sum.squares + count_of(promise) * e * e;
  }
  return sum;
}

// ---- Optimal composition of k equal releases ----

/// log n!, by multiplication or by Stirling's series, whose remainder lies between 0 and its first omitted term.
Interval log_factorial(double n) {
  constexpr double few = 256;
  if (n < few) {
    Interval product = number(1);
    for (double i = 2; i <= n; ++i) product = product * number(i);
    return log(product);
  }
  // Bernoulli numbers B_2, B_4, ...
  static constexpr std::array<std::pair<double, double>, 14> bernoulli{{{1, 6},
                                                                        {-1, 30},
                                                                        {1, 42},
                                                                        {-1, 30},
                                                                        {5, 66},
                                                                        {-691, 2730},
                                                                        {7, 6},
                                                                        {-3617, 510},
                                                                        {43867, 798},
                                                                        {-174611, 330},
                                                                        {854513, 138},
                                                                        {-236364091, 2730},
                                                                        {8553103, 6},
                                                                        {-23749461029, 870}}};
  const Interval x = number(n);
  Interval power = number(1) / x;  // x^(1 - 2m)
  Interval sum = x * log(x) - x + log(number(2) * Interval::pi(precision) * x) / number(2);
  for (std::size_t m = 1; m <= bernoulli.size(); ++m) {
    const auto [numerator, denominator] = bernoulli[m - 1];
    const Interval term = number(numerator) / (number(denominator) * number(static_cast<double>(2 * m * (2 * m - 1)))) * power;
    sum = sum + (m < bernoulli.size() ? term : hull(zero(), term));
    power = power / (x * x);
  }
  return sum;
}

/// k answers, each right with odds e^epsilon under P and wrong with them under Q. Outcome i (of 0 .. k right answers under P) has
/// P-mass p_i = C(k, i) e^(i epsilon) / (1 + e^epsilon)^k and loss (2 i - k) epsilon.
class Answers {
 public:
  Answers(double k, double epsilon) : k_{k}, epsilon_{epsilon}, odds_{exp(number(epsilon))} {
    const double right = 1 / (1 + std::exp(-epsilon));
    // Below this p is at most e^-72 of its largest, far less than 1 less any delta of double.
    low_ = std::max(least(), std::floor(k * right - 12 * std::sqrt(k * right * (1 - right))) - 50);
  }

  /// (sum of (p_i - e^at q_i)_+), the hockey-stick divergence at `at`.
  Interval delta(double at) const {
    if (mpfr_sgn((number(at) - loss(k_)).lower()) >= 0) return zero();
    // The set {i >= j} that attains it starts where the loss first exceeds `at`; neighbours cover rounding.
    const double first = std::floor((k_ + at / epsilon_) / 2) - 1;
    const double start = std::min(std::max(first, low_), std::max(k_ - width + 1, least()));
    const auto sets = upper_sets(start);
    Interval best = zero();
    for (const auto& set : sets) best = maximum(best, set.p - exp(number(at)) * set.q);
    // Outcomes below the start add at most their P-mass.
    if (first < start && start > least()) best = best + hull(zero(), mass_below(start));
    return clamp(best, 0, 1);
  }

  /// inf {at >= 0 : delta(at) <= target}: the largest log((P(i >= j) - target) / Q(i >= j)). \pre target >= 0.
  Enclosure epsilon(const Interval& target) const {
    const double top = std::max(k_ - width + 1, least());
    double below = low_ - 1;  // the best set starts above
    double above = top + 1;   // a window that starts here is too high
    double lower = 0;
    double upper = loss(k_).enclosure().upper;
    double start = std::min(std::max(guess(target.enclosure().upper) - 2, low_), top);
    for (double stride = 8; above - below > 1; stride *= 4) {
      const auto found = largest_ratio(start, target);
      const double last = start + static_cast<double>(width) - 1;
      const bool too_high = !found || (start > least() && (*found - loss(start - 1)).compare(0) < 0);
      const bool too_low = found && start < top && (*found - loss(last)).compare(0) > 0;
      if (too_high) {
        upper = std::min(upper, std::max(0.0, loss(start - 1).enclosure().upper));
        if (start == least()) return {0, 0};
        above = start;
        start = std::max(start - stride, std::floor((below + above) / 2));
      } else if (too_low) {
        lower = std::max(lower, found->enclosure().lower);
        below = start;
        start = std::min(start + stride, std::ceil((below + above) / 2));
      } else if ((start == least() || (*found - loss(start - 1)).compare(0) > 0) &&
                 (start == top || (*found - loss(last)).compare(0) < 0)) {
        const auto value = found->enclosure();
        return {std::max(0.0, value.lower), std::max(0.0, value.upper)};
      } else {
        // In doubt at the window's edge: the neighbouring one holds it inside.
        const bool at_last = start < top && (*found - loss(last)).compare(0) >= 0;
        const double next = at_last ? std::min(start + 2, top) : std::max(start - 2, low_);
        const auto again = largest_ratio(next, target);
        if (again) lower = std::max(lower, std::max(0.0, again->enclosure().lower));
        const double end = next + static_cast<double>(width) - 1;
        const bool inside =
            again && (next == least() || (*again - loss(next - 1)).compare(0) > 0) && (next == top || (*again - loss(end)).compare(0) < 0);
        if (inside) upper = std::min(upper, std::max(0.0, again->enclosure().upper));
        return {std::min(lower, upper), upper};
      }
      if (start <= below || start >= above) start = std::floor((below + above) / 2);
      if (start <= below) break;
    }
    return {std::min(lower, upper), upper};
  }

 private:
  static constexpr int width = 5;
  struct Set {
    Interval p;
    Interval q;
  };

  /// The first outcome with a positive loss.
  double least() const { return std::floor(k_ / 2) + 1; }
  Interval loss(double i) const { return number(2 * i - k_) * number(epsilon_); }
  Interval log_mass(double i) const {
    const Interval choose = log_factorial(k_) - log_factorial(i) - log_factorial(k_ - i);
    return choose - number(k_) * log1p(number(1) / odds_) - number(k_ - i) * number(epsilon_);
  }

  /// P(i >= j) and Q(i >= j) for j = start, start + 1, ... (five of them, or up to k).
  std::vector<Set> upper_sets(double start) const {
    poll_limit();
    const Interval first = log_mass(start);
    Interval p = exp(first);
    Interval q = exp(first - loss(start));
    const auto size = size_of(std::min(static_cast<double>(width), k_ - start + 1));
    std::vector<Set> heads;  // the masses of the first outcomes
    Set rest{zero(), zero()};
    PollNowAndThen poll;
    for (double i = start;; ++i) {
      poll();
      if (heads.size() < size) {
        heads.push_back({p, q});
      } else {
        rest = {rest.p + p, rest.q + q};
      }
      if (i == k_) break;
      const Interval step = number(k_ - i) / number(i + 1);
      p = p * step * odds_;
      q = q * step / odds_;
      // The ratio of successive masses falls, so the rest is at most a geometric series.
      const Interval ratio = number(k_ - i - 1) / number(i + 2) * odds_;
      if (heads.size() == size && ratio.compare(1) < 0) {
        const Interval left = p / (number(1) - ratio);
        if ((left - number(0x1p-90) * (rest.p + heads.back().p)).compare(0) < 0) {
          rest = {rest.p + hull(zero(), left), rest.q + hull(zero(), q / (number(1) - number(k_ - i - 1) / number(i + 2) / odds_))};
          break;
        }
      }
    }
    for (auto head = heads.rbegin(); head != heads.rend(); ++head) {
      rest = {rest.p + head->p, rest.q + head->q};
      *head = rest;
    }
    return heads;
  }

  /// P(i < start), where that is below the largest mass.
  Interval mass_below(double start) const {
    const double i = start - 1;
    const Interval ratio = number(i) / (number(k_ - i + 1) * odds_);
    if (ratio.compare(1) >= 0) return number(1);
    return clamp(exp(log_mass(i)) / (number(1) - ratio), 0, 1);
  }

  std::optional<Interval> largest_ratio(double start, const Interval& target) const {
    std::optional<Interval> best;
    for (const auto& set : upper_sets(start)) {
      const Interval left = set.p - target;
      if (left.compare(0) < 0) continue;
      const Interval ratio = clamp(left, 0, infinity) / set.q;  // from 0 where the sign is in doubt
      best = best ? maximum(*best, ratio) : ratio;
    }
    if (!best) return std::nullopt;
    return log(*best);
  }

  /// A start for the search, in double.
  double guess(double target) const {
    const double right = 1 / (1 + std::exp(-epsilon_));
    const auto is_above = [&](double j) {
      const double p = boost::math::ibeta(j, k_ - j + 1, right);
      const double q = boost::math::ibeta(j, k_ - j + 1, 1 / (1 + std::exp(epsilon_)));
      return p - (q > 0 ? std::exp((2 * j - k_) * epsilon_ + std::log(q)) : p) > target;
    };
    double low = least();
    double high = k_;
    while (high - low > 1) {
      const double middle = std::floor((low + high) / 2);
      (is_above(middle) ? low : high) = middle;
    }
    return low;
  }

  double k_;
  double epsilon_;
  Interval odds_;
  double low_ = 0;
};

// ---- Optimal composition of different releases ----

/// The loss law of one bit each with epsilons rounded to a grid; masses of outcomes are within a relative `error`.
class EpsilonGrid {
 public:
  enum class Rounding { up, down };

  EpsilonGrid(const std::map<double, double>& count_of_epsilon, int points, Rounding rounding) {
    // The epsilon that matters most is a multiple of the step, but for rounding to 29 bits, which makes its multiples exact.
    double total = 0;
    std::pair<double, double> main{0, 0};
    for (const auto& [epsilon, count] : count_of_epsilon) {
      total += epsilon * count;
      if (epsilon * count > main.first * main.second) main = {epsilon, count};
    }
    const double parts = std::floor(main.first * points / total);
    int exponent = 0;
    const double significand = std::frexp(parts >= 1 ? main.first / parts : total / points, &exponent) * 0x1p29;
    step_ = std::ldexp(rounding == Rounding::up ? std::floor(significand) + 1 : std::ceil(significand) - 1, exponent - 29);
    masses_ = {1};
    double operations = 0;
    for (const auto& [epsilon, count] : count_of_epsilon) {
      const double multiple = rounded(epsilon, rounding);
      const auto n = size_of(count);
      const auto law = right_answers(count, multiple * static_cast<double>(step_));
      const auto stride = 2 * size_of(multiple);
      std::vector<long double> next(masses_.size() + stride * n);
      for (std::size_t i = 0; i < masses_.size(); ++i) {
        if (masses_[i] == 0) continue;
        poll_limit();
        for (std::size_t j = 0; j <= n; ++j) next[i + stride * j] += masses_[i] * law[j];
      }
      masses_ = std::move(next);
      operations += count + 4;
    }
    // A sum or product of non-negative numbers is off by a relative 2^-64 each time; suffix sums add one per grid point.
    error_ = 0x1p-62L * (static_cast<long double>(operations) + 4 * static_cast<long double>(masses_.size()) + 64);
  }

  /// Bounds on sum of (P - e^at Q)_+: above it for +1, below it for -1.
  double delta(double at, int side) const {
    long double sum = 0;
    PollNowAndThen poll;
    for (std::size_t i = masses_.size(); i-- > 0;) {
      poll();
      const long double excess = loss(i) - static_cast<long double>(at);
      if (!(excess > 0)) break;
      sum += masses_[i] * -std::expm1(-excess);
    }
    const auto bound = static_cast<double>(side > 0 ? sum * (1 + error_) + lost : std::max(0.0L, sum * (1 - error_) - lost));
    return side > 0 ? std::min(1.0, std::nextafter(bound, infinity)) : std::nextafter(bound, 0.0);
  }

  /// Bounds on inf {at >= 0 : delta(at) <= target}, with the target rounded to the same side by the caller.
  double epsilon(long double target, int side) const {
    const long double grow = 1 + static_cast<long double>(side) * error_;
    const long double shrink = 1 - static_cast<long double>(side) * error_;
    const long double decay = std::exp(-step_);
    long double p = 0;
    long double q = 0;  // Q of the set, times e^loss
    long double best = 0;
    for (std::size_t i = masses_.size(); i-- > 0 && loss(i) > 0;) {
      p += masses_[i];
      q = masses_[i] + decay * q;
      if (masses_[i] == 0) continue;
      const long double left = p * grow - target + static_cast<long double>(side) * lost;
      if (!(left > 0)) continue;
      const long double weight = q * shrink - static_cast<long double>(side) * lost;
      // A loss is never more than the largest one, which is exact.
      if (!(weight > 0)) return round_up(loss(masses_.size() - 1));
      const long double shift = std::log(left / weight);
      const long double slack = 0x1p-58L * (loss(i) + std::abs(shift) + 1);
      best = std::max(best, loss(i) + shift + static_cast<long double>(side) * slack);
    }
    const auto bound = static_cast<double>(best);
    return side > 0 ? std::nextafter(bound, infinity) : best > 0 ? std::nextafter(bound, 0.0) : 0.0;
  }

 private:
  static_assert(std::numeric_limits<long double>::digits >= 64 && std::numeric_limits<long double>::min_exponent10 < -4900);
  /// More than all masses that underflow can add up to.
  static constexpr long double lost = 1e-4900L;

  /// Loss of entry i: the entries run from -M to M steps.
  long double loss(std::size_t i) const { return (static_cast<long double>(i) - static_cast<long double>(masses_.size() / 2)) * step_; }

  /// epsilon / step, rounded; the products compared are exact (24 and 29 bits).
  double rounded(double epsilon, Rounding rounding) const {
    const auto step = static_cast<double>(step_);
    double multiple = std::floor(epsilon / step);
    while (multiple * step > epsilon) --multiple;
    while ((multiple + 1) * step <= epsilon) ++multiple;
    if (rounding == Rounding::up && multiple * step < epsilon) ++multiple;
    return multiple;
  }

  /// P(j right answers of n), each with odds e^epsilon, within a relative 2^-62.
  static std::vector<long double> right_answers(double n, double epsilon) {
    const Interval odds = exp(number(epsilon));
    Interval mass = exp(-(number(n) * (number(epsilon) + log1p(number(1) / odds))));
    std::vector<long double> law;
    PollNowAndThen poll;
    for (double j = 0; j <= n; ++j) {
      poll();
      law.push_back(mpfr_get_ld(mass.lower(), MPFR_RNDN));
      if (j < n) mass = mass * (number(n - j) / number(j + 1)) * odds;
    }
    return law;
  }

  long double step_ = 0;
  std::vector<long double> masses_;
  long double error_ = 0;
};

/// The promises, sorted out: how often each positive epsilon, and what the deltas multiply to.
struct Sorted {
  std::map<double, double> count_of_epsilon;
  Interval lost;  ///< 1 - prod (1 - delta_i)
};

Sorted sorted(std::span<const Promise> promises) {
  Sorted result{{}, zero()};
  double with_delta = 0;
  Interval log_kept = zero();
  double releases = 0;
  for (const auto& promise : promises) {
    const auto count = static_cast<double>(promise.count.value());
    if (promise.epsilon.value() > 0) {
      result.count_of_epsilon[promise.epsilon.value()] += count;
      releases += count;
    }
    if (promise.delta.value() > 0) {
      with_delta += count;
      log_kept = log_kept + count_of(promise) * log1p(-number(promise.delta.value()));
      // Exactly, for one.
      result.lost = with_delta == 1 ? number(promise.delta.value()) : -expm1(log_kept);
    }
  }
  if (releases > most_releases) {
    throw Error{ErrorCode::unsupported,
                fmt::format("optimal composition of {} releases is more than {} answers; advanced, zcdp and privacy-loss may", releases,
                            most_releases)};
  }
  return result;
}

void check_work(const Composition::Optimal& accountant, std::span<const Promise> promises) {
  constexpr int most_points = 1 << 20;
  if (accountant.points < 1 || accountant.points > most_points) {
    throw Error{ErrorCode::invalid_argument, fmt::format("points is {}, must be from 1 to {}", accountant.points, most_points)};
  }
  const double releases = total_count(promises);
  if (2.0 * accountant.points * releases > most_work || releases > accountant.points) {
    throw Error{ErrorCode::unsupported,
                fmt::format("optimal composition of {} releases of different epsilons on {} grid points is too much; advanced, zcdp and "
                            "privacy-loss may answer",
                            releases, accountant.points)};
  }
}

/// Beyond this the exponentials of the theorem mean nothing, and leave MPFR's default range, 2^-(2^30 - 1); basic composition is as good.
bool is_extreme(std::span<const Promise> promises) { return !(sum_of_epsilons(promises).enclosure().upper < 3e8); }

}  // namespace

Enclosure epsilon(const Composition::Basic&, std::span<const Promise> promises, Delta delta) {
  const StandardFloatingPoint environment;
  if (sum_of_deltas(promises).enclosure().upper > delta.value()) return at_most(infinity);
  return at_most(sum_of_epsilons(promises).enclosure().upper);
}

Enclosure delta(const Composition::Basic&, std::span<const Promise> promises, Epsilon epsilon) {
  const StandardFloatingPoint environment;
  if (sum_of_epsilons(promises).enclosure().upper > epsilon.value()) return at_most(1);
  return at_most(std::min(1.0, sum_of_deltas(promises).enclosure().upper));
}

Enclosure epsilon(const Composition::Advanced&, std::span<const Promise> promises, Delta delta) {
  const StandardFloatingPoint environment;
  const auto sums = moments(promises);
  const Interval left = number(delta.value()) - sum_of_deltas(promises);
  if (!sums || left.compare(0) <= 0) return at_most(infinity);
  const Interval spread = number(2) * -log(clamp(left, 0, 1)) * sums->squares;
  return at_most((sqrt(clamp(spread, 0, infinity)) + sums->mean).enclosure().upper);
}

Enclosure delta(const Composition::Advanced&, std::span<const Promise> promises, Epsilon epsilon) {
  const StandardFloatingPoint environment;
  const auto sums = moments(promises);
  if (!sums) return at_most(1);
  const Interval beyond = number(epsilon.value()) - sums->mean;
  if (sums->squares.compare(0) <= 0) return at_most(std::min(1.0, sum_of_deltas(promises).enclosure().upper));
  if (beyond.compare(0) <= 0) return at_most(1);
  const Interval tail = exp(-(beyond * beyond / (number(2) * sums->squares)));
  return at_most(std::min(1.0, (tail + sum_of_deltas(promises)).enclosure().upper));
}

Enclosure epsilon(const Composition::Optimal& accountant, std::span<const Promise> promises, Delta delta) {
  const StandardFloatingPoint environment;
  const auto parts = sorted(promises);
  // 1 - delta = (1 - lost) (1 - target).
  if (mpfr_sgn((number(delta.value()) - parts.lost).upper()) < 0) return {infinity, infinity};
  if (mpfr_sgn((number(1) - parts.lost).lower()) <= 0) return at_most(infinity);
  const Interval target = (number(delta.value()) - parts.lost) / (number(1) - parts.lost);
  if (mpfr_sgn(target.upper()) < 0) return {infinity, infinity};
  if (mpfr_sgn(target.lower()) < 0) return {0, infinity};
  if (parts.count_of_epsilon.empty()) return {0, 0};
  if (mpfr_zero_p(target.upper())) return sum_of_epsilons(promises).enclosure();
  if (is_extreme(promises)) return at_most(sum_of_epsilons(promises).enclosure().upper);
  if (parts.count_of_epsilon.size() == 1) {
    const auto& [each, k] = *parts.count_of_epsilon.begin();
    const auto found = Answers{k, each}.epsilon(target);
    const double largest = sum_of_epsilons(promises).enclosure().upper;
    return {std::min(found.lower, largest), std::min(found.upper, largest)};
  }
  check_work(accountant, promises);
  const double upper =
      EpsilonGrid{parts.count_of_epsilon, accountant.points, EpsilonGrid::Rounding::up}.epsilon(mpfr_get_ld(target.lower(), MPFR_RNDD), +1);
  const double lower = EpsilonGrid{parts.count_of_epsilon, accountant.points, EpsilonGrid::Rounding::down}.epsilon(
      mpfr_get_ld(target.upper(), MPFR_RNDU), -1);
  const double largest = sum_of_epsilons(promises).enclosure().upper;
  return {lower, std::min(upper, largest)};
}

Enclosure delta(const Composition::Optimal& accountant, std::span<const Promise> promises, Epsilon epsilon) {
  const StandardFloatingPoint environment;
  const auto parts = sorted(promises);
  const auto with = [&](const Interval& divergence) { return clamp(parts.lost + (number(1) - parts.lost) * divergence, 0, 1); };
  if (parts.count_of_epsilon.empty()) return with(zero()).enclosure();
  if (is_extreme(promises)) {
    const bool beyond = sum_of_epsilons(promises).enclosure().upper <= epsilon.value();
    return {parts.lost.enclosure().lower, with(number(beyond ? 0 : 1)).enclosure().upper};
  }
  if (parts.count_of_epsilon.size() == 1) {
    const auto& [each, k] = *parts.count_of_epsilon.begin();
    return with(Answers{k, each}.delta(epsilon.value())).enclosure();
  }
  check_work(accountant, promises);
  if (sum_of_epsilons(promises).enclosure().upper <= epsilon.value()) return with(zero()).enclosure();
  const double upper = EpsilonGrid{parts.count_of_epsilon, accountant.points, EpsilonGrid::Rounding::up}.delta(epsilon.value(), +1);
  const double lower = EpsilonGrid{parts.count_of_epsilon, accountant.points, EpsilonGrid::Rounding::down}.delta(epsilon.value(), -1);
  return {with(number(lower)).enclosure().lower, with(number(upper)).enclosure().upper};
}

Promise parallel_promise(std::span<const Promise> promises) {
  if (promises.empty()) throw Error{ErrorCode::invalid_argument, "a parallel composition of no promises is empty, must have at least one"};
  Promise largest = promises.front();
  for (const auto& promise : promises) {
    if (promise.count != Count{1}) {
      throw Error{
          ErrorCode::invalid_argument,
          fmt::format("a part makes {} releases, must be 1: the maximum of composed epsilons bounds nothing", promise.count.value())};
    }
    largest.epsilon = std::max(largest.epsilon, promise.epsilon);
    largest.delta = std::max(largest.delta, promise.delta);
  }
  return largest;
}

namespace {

struct PromisesOf {
  const Event& event;

  static std::vector<Promise> pure(const Interval& epsilon) { return {{Epsilon{epsilon.enclosure().upper}, Delta{0}}}; }
  static Interval inverse(NoiseScale scale, double numerator = 1) { return number(numerator) / number(scale.value()); }
  [[noreturn]] void makes_no_promise() const {
    unsupported(event, "composition theorems know {} by no (epsilon, delta) of its own; privacy-loss and renyi may");
  }

  /// Of what a batch is used for; a refusal names the batch.
  [[nodiscard]] std::vector<Promise> inside(const Event& used) const {
    try {
      return promises(used);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      makes_no_promise();
    }
  }

  std::vector<Promise> operator()(const Event::Pure& e) const { return {{e.epsilon, Delta{0}}}; }
  std::vector<Promise> operator()(const Event::Exponential& e) const { return {{e.epsilon, Delta{0}}}; }
  std::vector<Promise> operator()(const Event::Approximate& e) const { return {{e.epsilon, e.delta}}; }
  std::vector<Promise> operator()(const Event::Laplace& e) const { return pure(inverse(e.scale)); }
  std::vector<Promise> operator()(const Event::KNorm& e) const { return pure(inverse(e.scale)); }
  std::vector<Promise> operator()(const Event::DiscreteLaplace& e) const {
    return pure(inverse(e.scale, static_cast<double>(e.sensitivity.value())));
  }
  std::vector<Promise> operator()(const Event::RandomizedResponse& e) const {
    const Interval truth = number(e.truth.value());
    const Interval odds = log(truth * number(static_cast<double>(e.categories.value() - 1)) / (number(1) - truth));
    return pure(maximum(odds, -odds));  // a truth less likely than chance tells as well
  }
  std::vector<Promise> operator()(const Event::Repeated& e) const {
    auto parts = promises(e.event);
    for (auto& part : parts) {
      constexpr std::uint64_t largest = std::uint64_t{1} << 53;
      if (part.count.value() > largest / e.count.value()) makes_no_promise();
      part.count = Count{part.count.value() * e.count.value()};
    }
    return parts;
  }
  std::vector<Promise> operator()(const Event::Composed& e) const {
    std::vector<Promise> all;
    for (const auto& part : e.events) {
      const auto more = promises(part);
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }
  std::vector<Promise> operator()(const Event::Parallel& e) const {
    std::vector<Promise> each;
    for (const auto& part : e.events) {
      const auto made = promises(part);
      if (made.size() != 1 || made.front().count != Count{1}) makes_no_promise();
      each.push_back(made.front());
    }
    return {parallel_promise(each)};
  }
  /// Whoever takes part in a batch at random does so with probability q: (log(1 + q (e^epsilon - 1)), q delta) [BBG18, Theorem 8].
  std::vector<Promise> operator()(const Event::PoissonSampled& e) const {
    const auto inner = inside(e.event);
    const double q = e.rate.value();
    const Interval epsilon = sum_of_epsilons(inner);
    if (q == 1 || event.adjacency() != Adjacency::add_or_remove_one || !(epsilon.enclosure().upper < 1e6)) return inner;
    const Interval delta = number(q) * sum_of_deltas(inner);
    return {{Epsilon{log1p(number(q) * expm1(epsilon)).enclosure().upper}, Delta{std::min(delta.enclosure().upper, 1 - unit_roundoff)}}};
  }
  /// A batch costs at most what is done with it: given which places are drawn, the batches differ in one record or not at all.
  std::vector<Promise> operator()(const Event::SampledWithoutReplacement& e) const { return inside(e.event); }
  std::vector<Promise> operator()(const Event::Shuffled& e) const { return inside(e.event); }
  std::vector<Promise> operator()(const Event::Deterministic& e) const { return inside(e.event); }
  template <class Other>
  std::vector<Promise> operator()(const Other&) const {
    makes_no_promise();
  }
};

/// Whether the event means its promises and nothing less.
bool is_its_promises(const Event& event) {
  if (std::holds_alternative<Event::Pure>(event.node()) || std::holds_alternative<Event::Approximate>(event.node())) return true;
  if (const auto* repeated = std::get_if<Event::Repeated>(&event.node())) return is_its_promises(repeated->event);
  if (const auto* composed = std::get_if<Event::Composed>(&event.node())) {
    return std::all_of(composed->events.begin(), composed->events.end(), is_its_promises);
  }
  return false;
}

}  // namespace

std::vector<Promise> promises(const Event& event) {
  const StandardFloatingPoint environment;
  return std::visit(PromisesOf{event}, event.node());
}

std::optional<Refusal> why_not(const Composition::Basic&, const Event& event) {
  return refusal_of(event, [&] { static_cast<void>(promises(event)); });
}
std::optional<Refusal> why_not(const Composition::Advanced&, const Event& event) { return why_not(Composition::Basic{}, event); }
std::optional<Refusal> why_not(const Composition::Optimal& accountant, const Event& event) {
  const StandardFloatingPoint environment;
  return refusal_of(event, [&] {
    const auto made = promises(event);
    if (sorted(made).count_of_epsilon.size() > 1 && !is_extreme(made)) check_work(accountant, made);
  });
}

Enclosure epsilon(const Composition::Basic& a, const Event& event, Delta at) { return epsilon(a, promises(event), at); }
Enclosure delta(const Composition::Basic& a, const Event& event, Epsilon at) { return delta(a, promises(event), at); }
Enclosure epsilon(const Composition::Advanced& a, const Event& event, Delta at) { return epsilon(a, promises(event), at); }
Enclosure delta(const Composition::Advanced& a, const Event& event, Epsilon at) { return delta(a, promises(event), at); }

Enclosure epsilon(const Composition::Optimal& a, const Event& event, Delta at) {
  const auto found = epsilon(a, promises(event), at);
  return is_its_promises(event) ? found : at_most(found.upper);
}
Enclosure delta(const Composition::Optimal& a, const Event& event, Epsilon at) {
  const auto found = delta(a, promises(event), at);
  return is_its_promises(event) ? found : at_most(found.upper);
}

}  // namespace surety::accounting
