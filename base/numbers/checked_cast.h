// The one way from a floating-point number to an integer: the language leaves undefined what a cast does with a number that the integer
// cannot hold.
#pragma once

#include <concepts>
#include <cstddef>
#include <limits>

namespace surety {

/// For checked_cast. \throws Error{memory} if `value` is too large, else Error{internal}.
[[noreturn]] void refuse_cast(long double value, int digits);

/// `value` cut towards zero.
/// \throws Error{memory} where it is above what the integer holds (such sizes are those of answers that need more memory than there is),
///   Error{internal} where it is below, or not a number: a defect of the caller.
template <std::integral To, std::floating_point From>
[[nodiscard]] constexpr To checked_cast(From value) {
  // 2^digits, which any floating-point number holds exactly.
  constexpr From limit = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;
  constexpr From least = std::numeric_limits<To>::is_signed ? -limit : From{0};
  if (!(value < limit && value >= least)) refuse_cast(static_cast<long double>(value), std::numeric_limits<To>::digits);
  return static_cast<To>(value);
}

/// The same for a number of things.
template <std::floating_point From>
[[nodiscard]] constexpr std::size_t size_of(From value) {
  return checked_cast<std::size_t>(value);
}

}  // namespace surety
