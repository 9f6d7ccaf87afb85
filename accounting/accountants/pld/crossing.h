// Where a falling curve crosses a delta, by few looks at it.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include <surety/base/numbers/enclosure.h>
#include <surety/base/text/error.h>

namespace surety::accounting::pld {

/// A place of a curve that falls, and what is known of it there.
struct Place {
  double x;
  Enclosure delta;

  [[nodiscard]] double log_upper() const {
    constexpr double log_nothing = -800;  // below that of every double, so that no step to a place is 0
    return delta.upper > 0 ? std::log(delta.upper) : log_nothing;
  }
};

/// Two places between which a curve falls to a delta: at `rest` it is not surely at most that, at `high` it is. Both are 0 where it is so from there on.
struct Crossing {
  Place rest;
  Place high;
};

/// How a crossing is looked for.
struct Look {
  double start;   ///< where it is looked for first, greater than 0
  double beside;  ///< how far from it the two places may lie
  bool compares;  ///< whoever asks compares it with `start` alone: far from there it need not be narrowed
};

/// Where `at`, a falling curve, crosses `delta`. Its logarithm is nearly straight: each place is where that line says, a little beside.
/// \throws Error{unsupported} where there is no place with digits at which the curve is at most delta.
template <class At>
Crossing crossing_of(const At& at, double delta, const Look& look) {
  constexpr double farther = 1.5;  // than the line says, to be beyond it
  const double log_delta = std::log(delta);
  const auto nothing = [] { return Place{0, {0, 1}}; };
  const Place first = at(look.start);
  Crossing found{nothing(), first};
  // By the line to the place before; of the first one to a curve of 1 at 0.
  const auto slope = [](const Place& from, const Place& to) { return (from.log_upper() - to.log_upper()) / (to.x - from.x); };
  if (first.delta.upper <= delta) {
    for (double fall = slope(nothing(), first);;) {
      const double apart = std::max(2 * look.beside, farther * (log_delta - found.high.log_upper()) / fall);
      const double x = apart < found.high.x ? found.high.x - apart : 0;
      const Place next = at(x);
      if (!(next.delta.upper <= delta)) {
        found.rest = next;
        break;
      }
      if (x == 0) return {next, next};
      fall = slope(next, found.high);
      if (!(fall > 0)) fall = slope(nothing(), next);
      found.high = next;
    }
  } else {
    if (first.delta.width() > delta)
      throw Error{ErrorCode::unsupported, fmt::format("privacy-loss: delta {} is below the digits of an epoch", delta)};
    found.rest = first;
    double fall = slope(nothing(), first);
    bool has_failed = false;
    constexpr int most_halvings = 8;
    int halvings = 0;
    for (double step = 0;;) {
      const double wanted = std::max(2 * look.beside, farther * (found.rest.log_upper() - log_delta) / fall);
      if (!has_failed) step = wanted < found.rest.x ? wanted : found.rest.x;
      std::optional<Place> next;
      try {
        next = at(found.rest.x + step);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::unsupported || halvings == most_halvings) throw;
      }
      if (next && next->delta.upper <= delta) {
        found.high = *next;
        break;
      }
      if (next && next->delta.width() <= delta) {
        fall = slope(found.rest, *next);
        if (!(fall > 0)) fall = slope(nothing(), *next);
        found.rest = *next;
        continue;
      }
      // Too far out it has no digits.
      if (halvings++ == most_halvings)
        throw Error{ErrorCode::unsupported, fmt::format("privacy-loss: delta {} is below the digits of an epoch", delta)};
      has_failed = true;
      step /= 2;
    }
  }
  const auto is_settled = [&] {
    constexpr double times = 10;
    const double distance = std::max(found.rest.x - look.start, look.start - found.high.x);
    return look.compares && distance > times * (found.high.x - found.rest.x);
  };
  constexpr int bisect_each = 6;  // whatever the line says
  for (int i = 1; i < 60 && found.high.x - found.rest.x > 2.5 * look.beside && !is_settled(); ++i) {
    const auto& [rest, high] = found;
    const double share = (rest.log_upper() - log_delta) / (rest.log_upper() - high.log_upper());
    const double crossing = rest.x + (high.x - rest.x) * share;
    const double aim = high.x - crossing > 2 * look.beside ? crossing + look.beside : crossing - look.beside;
    const bool is_inside = aim > rest.x && aim < high.x && i % bisect_each > 0;
    const Place next = at(is_inside ? aim : 0.5 * (rest.x + high.x));
    (next.delta.upper <= delta ? found.high : found.rest) = next;
  }
  return found;
}

}  // namespace surety::accounting::pld
