// Choices without a branch, for code whose time must not depend on what is chosen.
#pragma once

#include <cstdint>

namespace surety::mechanisms {

/// All digits of x, or none. By a mask that the compiler knows nothing of, or it would make a branch.
template <class T>
[[nodiscard]] inline T where(bool condition, T x) {
  std::uint64_t mask = std::uint64_t{0} - std::uint64_t{condition};
  asm("" : "+r"(mask));  // NOLINT(hicpp-no-assembler)
  // Sign extension.
  return x & static_cast<T>(static_cast<std::int64_t>(mask));
}
template <class T>
[[nodiscard]] inline T select(bool condition, T one, T other) {
  return where(condition, one) | where(!condition, other);
}

}  // namespace surety::mechanisms
