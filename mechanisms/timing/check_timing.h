// Times each draw of a sampler by itself and compares the times by the value drawn (time_contrasts.h).
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include <surety/base/text/error.h>
#include <surety/mechanisms/timing/time_contrasts.h>

namespace surety::mechanisms {

/// Ticks of the machine. On x86-64 the time-stamp counter (reference cycles, of a constant rate), read between fences, so that the draw and nothing else
/// runs between the two readings; elsewhere nanoseconds of the monotonic clock.
struct CycleCounter {
#if defined(__x86_64__)
  static constexpr std::string_view tick = "cycle";
  static std::uint64_t begin() noexcept {
    _mm_lfence();
    const std::uint64_t now = __rdtsc();
    _mm_lfence();
    return now;
  }
  static std::uint64_t end() noexcept {
    unsigned processor = 0;
    const std::uint64_t now = __rdtscp(&processor);
    _mm_lfence();
    return now;
  }
#else
  static constexpr std::string_view tick = "ns";
  static std::uint64_t begin() noexcept {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds{1});
  }
  static std::uint64_t end() noexcept { return begin(); }
#endif
};

struct TimingOptions {
  double seconds = 2;                ///< of the clock, at most, of which a fifth is for the first batch; greater than 0 and at most a day
  std::uint64_t draws = UINT64_MAX;  ///< at most, after the first batch; at least 1
  std::uint64_t first_batch = 100'000;  ///< draws, at most; at least 1
  static constexpr double most_seconds = 86'400;
};

namespace detail {
/// \throws Error{invalid_argument} for a field that breaks its constraint.
void require_timing_options(const TimingOptions& options);
}  // namespace detail

/// Draws until `options.draws` or `options.seconds` are used up, whichever is first, and compares times.
/// \param draw a sampler: `draw()` returns one sample, a number. Anything that may be slow for another reason belongs before the call
/// \param clock `begin()` and `end()` give ticks before and after a draw; for tests a fake one
/// \throws Error{invalid_argument} for options that break a constraint and for a sample that is not finite; what `draw` throws.
/// Time: that of the draws and some 100 cycles for each. Memory: 16 bytes for each draw of the first batch.
template <class Draw, class Clock = CycleCounter>
[[nodiscard]] TimingReport check_timing(Draw&& draw, const TimingOptions& options, Clock clock = {}) {
  detail::require_timing_options(options);
  using Seconds = std::chrono::duration<double>;
  const auto start = std::chrono::steady_clock::now();
  // The wall clock is read once in a million ticks, so that it is not what is measured.
  constexpr std::uint64_t ticks_between_looks = 1U << 20U;
  const auto draw_until = [&](std::uint64_t draws, double seconds, auto take) {
    std::optional<std::uint64_t> looked;
    for (std::uint64_t n = 0; n < draws; ++n) {
      // Volatile, or the compiler may finish the draw after the second reading.
      volatile double drawn = 0;
      const std::uint64_t before = clock.begin();
      drawn = static_cast<double>(draw());
      const std::uint64_t after = clock.end();
      const double value = drawn;
      if (!std::isfinite(value)) invalid("draw returned " + std::to_string(value) + ", must be a finite number");
      // Of a clock that another processor set back: no time.
      take(TimeContrasts::Draw{value, after > before ? static_cast<double>(after - before) : 0});
      if (looked && after - *looked < ticks_between_looks) continue;
      if (Seconds{std::chrono::steady_clock::now() - start}.count() >= seconds) break;
      looked = after;
    }
  };
  std::vector<TimeContrasts::Draw> first;
  draw_until(options.first_batch, options.seconds / 5, [&](const auto& one) { first.push_back(one); });
  TimeContrasts contrasts{first};
  draw_until(options.draws, options.seconds, [&](const auto& one) { contrasts.add(one); });
  return contrasts.report();
}

}  // namespace surety::mechanisms
