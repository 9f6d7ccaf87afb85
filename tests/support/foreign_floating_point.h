// Floating-point environments as a process may have them that does not know of Surety.
#pragma once

#include <cfenv>
#include <cstdint>
#include <string>
#include <vector>

namespace surety::reference {

struct ForeignEnvironment {
  std::string name;
  int rounding = FE_TONEAREST;
  std::uint32_t vector_bits = 0;         ///< set in MXCSR: flush to zero 0x8000, denormals are zero 0x0040
  std::uint16_t extended_precision = 3;  ///< of the coprocessor: 0 for 24 bits, 2 for 53, 3 for 64
  bool has_traps = false;                ///< a signal where something is divided by 0, overflows, underflows or has no value
};

inline std::vector<ForeignEnvironment> foreign_environments() {
  std::vector<ForeignEnvironment> all{{.name = "upward", .rounding = FE_UPWARD},
                                      {.name = "downward", .rounding = FE_DOWNWARD},
                                      {.name = "toward zero", .rounding = FE_TOWARDZERO}};
#if defined(__x86_64__)
  all.push_back({.name = "as linked with -ffast-math", .vector_bits = 0x8040});
  all.push_back({.name = "53 bits", .extended_precision = 2});
  all.push_back({.name = "everything at once", .rounding = FE_UPWARD, .vector_bits = 0x8040, .extended_precision = 0});
#endif
#if defined(__GLIBC__)
  all.push_back({.name = "traps", .has_traps = true});
#endif
  return all;
}

/// The control words of this thread, for comparison.
inline std::uint64_t control_words() {
#if defined(__x86_64__)
  std::uint32_t vector = 0;
  std::uint16_t extended = 0;
  __asm__ __volatile__("stmxcsr %0\n\tfnstcw %1" : "=m"(vector), "=m"(extended));
  return std::uint64_t{vector & 0xFFC0U} << 16 | extended;
#else
  return static_cast<std::uint64_t>(std::fegetround());
#endif
}

/// `made()` in a foreign environment. Whatever compares the result does so outside.
template <class Make>
auto in(const ForeignEnvironment& environment, Make made) {
  std::fenv_t before;
  std::fegetenv(&before);
  std::fesetround(environment.rounding);
#if defined(__x86_64__)
  std::uint32_t vector = 0;
  std::uint16_t extended = 0;
  __asm__ __volatile__("stmxcsr %0\n\tfnstcw %1" : "=m"(vector), "=m"(extended));
  vector |= environment.vector_bits;
  extended = static_cast<std::uint16_t>((extended & ~0x0300U) | static_cast<unsigned>(environment.extended_precision) << 8U);
  __asm__ __volatile__("ldmxcsr %0\n\tfldcw %1" : : "m"(vector), "m"(extended));
#endif
#if defined(__GLIBC__)
  if (environment.has_traps) feenableexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID);
#endif
  const struct Back {
    const std::fenv_t& before;
    ~Back() { std::fesetenv(&before); }
  } back{before};
  return made();
}

}  // namespace surety::reference
