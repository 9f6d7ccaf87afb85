#include <surety/statistics/key_selection.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/statistics/exact.h>

namespace surety::statistics {

KeySelection::KeySelection(Epsilon epsilon, Delta delta) : epsilon_{epsilon}, delta_{delta} {
  if (delta.value() == 0)
    throw Error{ErrorCode::unsupported, "keys that are not listed beforehand need delta > 0: without it none may be shown"};
  if (!(epsilon.value() > 0)) invalid(fmt::format("the epsilon of a key is {}, must be greater than 0", epsilon.value()));
}

double KeySelection::probability(std::uint64_t count) {
  if (count < probabilities_.size()) return probabilities_[static_cast<std::size_t>(count)];
  // Beyond any double, what one count more allows is all.
  const Interval growth = exp(point(std::min(epsilon_.value(), 700.0)));
  const Interval shrinks = exp(point(-epsilon_.value()));
  const Interval one = point(1.0);
  while (!is_settled_ && probabilities_.size() <= count) {
    const double last = probabilities_.back();
    const Interval kept = growth * point(last) + point(delta_.value());
    const Interval dropped = one - point(last) - point(delta_.value());
    double next = kept.enclosure().lower;
    if (dropped.enclosure().lower > 0) next = std::min(next, (one - shrinks * dropped).enclosure().lower);
    // Rounded down below the last one, the last one is allowed, too.
    next = std::clamp(next, last, 1.0);
    is_settled_ = next == last;
    probabilities_.push_back(next);
  }
  return is_settled_ ? probabilities_.back() : probabilities_[static_cast<std::size_t>(count)];
}

bool KeySelection::draw(std::uint64_t count, mechanisms::BitsRef bits) { return draw_exactly(probability(count), bits); }

double KeySelection::half() const {
  constexpr double as_good_as_infinite = 700;
  const double epsilon = std::min(epsilon_.value(), as_good_as_infinite);
  const double delta = delta_.value();
  // The first bound is the lower one as long as the last probability is at most this, and gives delta (e^(n epsilon) - 1) / (e^epsilon - 1).
  const double least = (1 - delta) / (std::exp(epsilon) + 1);
  const double first = 1 + std::floor(std::max(std::log1p(least * std::expm1(epsilon) / delta) / epsilon, 0.0));
  // Beyond it that is half or more, or what the second bound gives next.
  return first + (delta * std::expm1(first * epsilon) / std::expm1(epsilon) >= 0.5 ? 0 : 1);
}

bool draw_exactly(double probability, mechanisms::BitsRef bits) {
  if (probability >= 1) return true;
  // Digits of 64 bits, compared with as many random ones: a double has at most 18 of them that are not 0.
  while (probability > 0) {
    const double scaled = probability * 0x1p64;
    const double whole = std::floor(scaled);
    const auto digit = static_cast<std::uint64_t>(whole);
    const auto drawn = bits.word();
    if (drawn != digit) return drawn < digit;
    probability = scaled - whole;
  }
  return false;
}

}  // namespace surety::statistics
