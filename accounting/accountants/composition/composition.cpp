#include <surety/accounting/accountants/composition/composition.h>

#include <algorithm>
#include <map>
#include <optional>
#include <variant>

#include <fmt/format.h>

#include <surety/accounting/accountants/composition/bit_answers.h>
#include <surety/accounting/accountants/composition/epsilon_grid.h>
#include <surety/accounting/accountants/composition/sums.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting {
namespace {

using namespace composing;

constexpr double most_releases = 1e7;
constexpr double most_work = 2e9;

double total_count(std::span<const Promise> promises) {
  double sum = 0;
  for (const auto& promise : promises) sum += static_cast<double>(promise.count.value());
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
    throw Error{
        ErrorCode::unsupported,
        fmt::format(
            "optimal composition of {} releases of different epsilons on {} grid points is too much; advanced, zcdp and privacy-loss may answer",
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
    const auto found = BitAnswers{k, each}.epsilon(target);
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
    return with(BitAnswers{k, each}.delta(epsilon.value())).enclosure();
  }
  check_work(accountant, promises);
  if (sum_of_epsilons(promises).enclosure().upper <= epsilon.value()) return with(zero()).enclosure();
  const double upper = EpsilonGrid{parts.count_of_epsilon, accountant.points, EpsilonGrid::Rounding::up}.delta(epsilon.value(), +1);
  const double lower = EpsilonGrid{parts.count_of_epsilon, accountant.points, EpsilonGrid::Rounding::down}.delta(epsilon.value(), -1);
  return {with(number(lower)).enclosure().lower, with(number(upper)).enclosure().upper};
}

namespace {

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

std::optional<Refusal> why_not(const Composition::Basic&, const Event& event) { return promises_of(event).why_not(); }
std::optional<Refusal> why_not(const Composition::Advanced&, const Event& event) { return why_not(Composition::Basic{}, event); }
std::optional<Refusal> why_not(const Composition::Optimal& accountant, const Event& event) {
  const StandardFloatingPoint environment;
  const auto made = promises_of(event);
  if (!made) return made.refusal();
  return refusal_thrown_by(event, [&] {
    if (sorted(*made).count_of_epsilon.size() > 1 && !is_extreme(*made)) check_work(accountant, *made);
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
