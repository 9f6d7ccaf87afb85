#include <surety/mechanisms/samplers/trial_loops.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <array>
#include <bit>
#include <type_traits>

// Vectors are arguments of functions that are always part of their caller.
#pragma GCC diagnostic ignored "-Wpsabi"

#define SURETY_INLINE [[gnu::always_inline]] inline

namespace surety::mechanisms {
namespace {

#if defined(__x86_64__)
/// The order of the halves of four lanes that moves those of a mask to the front.
constexpr std::array<std::array<std::uint8_t, 8>, 16> chosen_lanes = [] {
  std::array<std::array<std::uint8_t, 8>, 16> result{};
  for (unsigned chosen = 0; chosen < 16; ++chosen) {
    std::size_t next = 0;
    for (unsigned lane = 0; lane < 4; ++lane) {
      if ((chosen >> lane & 1) == 0) continue;
      result[chosen][next++] = static_cast<std::uint8_t>(2 * lane);
      result[chosen][next++] = static_cast<std::uint8_t>(2 * lane + 1);
    }
  }
  return result;
}();
#endif

namespace baseline {
constexpr std::size_t lanes = 2;
#include <surety/mechanisms/samplers/trial_loops.inc>
}  // namespace baseline

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,popcnt"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,popcnt")
#endif
#define SURETY_HAS_AVX2
namespace avx2 {
constexpr std::size_t lanes = 4;
#include <surety/mechanisms/samplers/trial_loops.inc>
}  // namespace avx2
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx2,fma,popcnt"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx2,fma,popcnt")
#endif
#define SURETY_HAS_AVX512
namespace avx512 {
constexpr std::size_t lanes = 8;
#include <surety/mechanisms/samplers/trial_loops.inc>
}  // namespace avx512
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

}  // namespace

std::span<const TrialPath> available_paths() {
  static constexpr std::array all{TrialPath::baseline, TrialPath::avx2, TrialPath::avx512};
  static const std::size_t count = []() -> std::size_t {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) return 3;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 2;
#endif
    return 1;
  }();
  return std::span{all}.first(count);
}

TrialPath fastest_path() { return available_paths().back(); }

std::string_view name_of(TrialPath path) {
  switch (path) {
    case TrialPath::baseline: return "baseline";
    case TrialPath::avx2: return "avx2";
    case TrialPath::avx512: return "avx512";
  }
  return {};
}

void decide_trials(TrialPath path, const TrialConstants& constants, std::size_t count, const std::uint64_t* words, DecidedTrials& trials) {
#if defined(__x86_64__)
  if (path == TrialPath::avx512) return avx512::decide(constants, count, words, trials);
  if (path == TrialPath::avx2) return avx2::decide(constants, count, words, trials);
#endif
  baseline::decide(constants, count, words, trials);
}

std::size_t gather_accepted(TrialPath path, const DecidedTrials& trials, std::size_t count, const DecidedTrial& doubtful,
                            std::int64_t* samples) {
#if defined(__x86_64__)
  if (path == TrialPath::avx512) return avx512::gather(trials, count, doubtful, samples);
  if (path == TrialPath::avx2) return avx2::gather(trials, count, doubtful, samples);
#endif
  return baseline::gather(trials, count, doubtful, samples);
}

}  // namespace surety::mechanisms
