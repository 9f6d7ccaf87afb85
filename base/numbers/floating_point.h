// The floating-point environment in which bounds and samplers are proved: rounding to nearest, subnormal numbers kept, full precision of
// long double, no traps. A process may have another one: who links with -ffast-math has subnormals flushed in all of it, and libraries
// change rounding and forget to change it back.
#pragma once

#include <cstdint>

namespace surety {

/// While one lives, the calling thread has that environment, and its own one afterwards. Costs nothing but a look where it has it already.
class StandardFloatingPoint {
 public:
  StandardFloatingPoint() noexcept {
    if (!is_standard()) enter();
  }
  StandardFloatingPoint(const StandardFloatingPoint&) = delete;
  StandardFloatingPoint& operator=(const StandardFloatingPoint&) = delete;
  ~StandardFloatingPoint() {
    if (is_entered_) leave();
  }

  /// Of the calling thread. \complexity some nanoseconds.
  [[nodiscard]] static bool is_standard() noexcept {
#if defined(__x86_64__)
    // The state of past exceptions does not count, nor does the bit of the coprocessor that nothing reads any more.
    std::uint32_t vector = 0;
    std::uint16_t extended = 0;
    __asm__ __volatile__("stmxcsr %0\n\tfnstcw %1" : "=m"(vector), "=m"(extended));
    return (vector & 0xFFC0U) == 0x1F80U && (extended & 0x0F3FU) == 0x033FU;
#else
    return is_standard_elsewhere();
#endif
  }

 private:
  void enter() noexcept;
  void leave() noexcept;
  static bool is_standard_elsewhere() noexcept;

  bool is_entered_ = false;
  /// What was found, for `leave`.
  alignas(16) unsigned char found_[48];
};

}  // namespace surety
