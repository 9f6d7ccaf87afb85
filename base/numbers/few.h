// When a private count of records says that too many were left out.
#pragma once

namespace surety {

/// Whether a count of which `upper` is an upper bound is less than nine tenths of a total of which `total` is a lower bound: a report warns of it.
[[nodiscard]] constexpr bool are_few(double upper, double total) noexcept { return upper < 0.9 * total; }

}  // namespace surety
