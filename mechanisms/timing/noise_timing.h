// The additive mechanisms of Surety as samplers whose draws are timed: each draw is one release, as a program in C makes it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <surety/mechanisms/additive/any_noise.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/timing/check_timing.h>

namespace surety::mechanisms {

/// Releases of zeros: the noise alone. \pre noise and bits outlive it
class SingleReleases {
 public:
  SingleReleases(const AnyNoise& noise, BitsRef bits);
  /// One release, as `surety_release_int64` and `surety_release_double` make it; of a release of several values, the first.
  /// \throws Error{environment} when the bits fail.
  double operator()();

 private:
  const AnyNoise& noise_;
  BitsRef bits_;
  std::variant<std::vector<std::int64_t>, std::vector<double>> values_;
};

/// One row of `surety noise --check-timing`.
struct NoiseTiming {
  std::string_view mechanism;  ///< a name of `timed_mechanisms`
  std::string_view name;       ///< the same, "draw_ahead(gaussian)", or of a vector of 8 values "k_norm(l1, 8)"
  double scale;                ///< sigma or b, in steps of the grid
  std::function<TimingReport(const TimingOptions&)> check;
};

/// Every additive mechanism at scales of 1, 1,000 and 1,000,000 (noise for real numbers: 2^29) steps, vector noise of 8 values at 1 and 2^29, and single draws of `DrawAhead` at 1
/// and 1,000. A vector is compared by its first value. A sampler is made by `check`, which takes milliseconds.
[[nodiscard]] std::vector<NoiseTiming> noise_timings();
/// Their names, each once, in order.
[[nodiscard]] std::vector<std::string> timed_mechanisms();

}  // namespace surety::mechanisms
