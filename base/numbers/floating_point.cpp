#include <surety/base/numbers/floating_point.h>

#include <cfenv>
#include <cstring>

namespace surety {

#if defined(__x86_64__)

namespace {

constexpr std::uint32_t standard_vector = 0x1F80;
constexpr std::uint16_t standard_extended = 0x037F;
constexpr std::uint16_t all_masked = 0x003F;

/// As found: the coprocessor's environment, of which the control word comes first, and the vector unit's control word.
struct Found {
  unsigned char environment[28];
  std::uint32_t vector;
};
bool has_traps(const Found& found) { return (found.environment[0] & all_masked) != all_masked; }

}  // namespace

void StandardFloatingPoint::enter() noexcept {
  static_assert(sizeof(Found) <= sizeof found_);
  Found found{};
  std::uint16_t extended = 0;
  __asm__ __volatile__("fnstcw %0\n\tstmxcsr %1" : "=m"(extended), "=m"(found.vector));
  std::memcpy(found.environment, &extended, sizeof extended);
  // What is pending must not go off in here, nor be lost: only the whole environment, which takes a microsecond, can put it back.
  if (has_traps(found)) __asm__ __volatile__("fnstenv %0\n\tfnclex" : "=m"(found.environment) : : "memory");
  if (extended != standard_extended) __asm__ __volatile__("fldcw %0" : : "m"(standard_extended) : "memory");
  __asm__ __volatile__("ldmxcsr %0" : : "m"(standard_vector) : "memory");
  std::memcpy(found_, &found, sizeof found);
  is_entered_ = true;
}

void StandardFloatingPoint::leave() noexcept {
  Found found{};
  std::memcpy(&found, found_, sizeof found);
  if (has_traps(found)) {
    __asm__ __volatile__("fldenv %0" : : "m"(found.environment) : "memory");
  } else {
    std::uint16_t extended = 0;
    std::memcpy(&extended, found.environment, sizeof extended);
    if (extended != standard_extended) __asm__ __volatile__("fldcw %0" : : "m"(extended) : "memory");
  }
  __asm__ __volatile__("ldmxcsr %0" : : "m"(found.vector) : "memory");
}

bool StandardFloatingPoint::is_standard_elsewhere() noexcept { return true; }

#else

static_assert(sizeof(std::fenv_t) <= 48);

bool StandardFloatingPoint::is_standard_elsewhere() noexcept {
#if defined(__aarch64__)
  std::uint64_t control = 0;
  __asm__ __volatile__("mrs %0, fpcr" : "=r"(control));
  // Rounding, flushing, default NaNs, alternative behaviours, traps.
  return (control & 0x07F79F07U) == 0;
#else
  return std::fegetround() == FE_TONEAREST;
#endif
}

void StandardFloatingPoint::enter() noexcept {
  std::fenv_t found;
  if (std::fegetenv(&found) != 0) return;
  std::memcpy(found_, &found, sizeof found);
  std::fesetenv(FE_DFL_ENV);
  is_entered_ = true;
}

void StandardFloatingPoint::leave() noexcept {
  std::fenv_t found;
  std::memcpy(&found, found_, sizeof found);
  std::fesetenv(&found);
}

#endif

}  // namespace surety
