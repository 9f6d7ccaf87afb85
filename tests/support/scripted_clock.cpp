#include <support/scripted_clock.h>

#include <stdexcept>
#include <utility>

namespace surety_test {
namespace {

ScriptedClock* telling = nullptr;

}  // namespace

ScriptedClock::ScriptedClock(std::function<Instant()> tells, std::function<void(Instant)> waiting)
    : now{std::move(tells)}, waits{std::move(waiting)} {
  if (telling != nullptr) throw std::logic_error{"two clocks at once"};
  telling = this;
}
ScriptedClock::~ScriptedClock() { telling = nullptr; }

}  // namespace surety_test

// The linker's --wrap=NAME, with names as tests/CMakeLists.txt reads them out of the lines that begin with SURETY_WRAPPED (see watched_doors.cpp).
// NOLINTBEGIN(bugprone-reserved-identifier)
#define SURETY_WRAPPED(result, name, symbol, ...)        \
  result real_##name(__VA_ARGS__) asm("__real_" symbol); \
  result wrap_##name(__VA_ARGS__) asm("__wrap_" symbol); \
  result wrap_##name(__VA_ARGS__)
// NOLINTEND(bugprone-reserved-identifier)

// clang-format off
SURETY_WRAPPED(surety_test::Instant, now, "_ZN6surety4jobs14wall_clock_nowEv") {
  return surety_test::telling != nullptr ? surety_test::telling->now() : real_now();
}

SURETY_WRAPPED(void, wait, "_ZN6surety4jobs10wait_untilENSt6chrono10time_pointINS1_3_V212system_clockENS1_8durationIlSt5ratioILl1ELl1000EEEEEE", surety_test::Instant time) {
  if (surety_test::telling != nullptr) return surety_test::telling->waits(time);
  real_wait(time);
}
// clang-format on
