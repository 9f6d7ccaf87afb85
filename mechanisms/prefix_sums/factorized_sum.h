// Private prefix sums by a lower triangular Toeplitz factorization, with Gaussian noise.
//
// Prefix sums are A x, where A holds ones on and below its diagonal. Write A = B C with C the Toeplitz matrix of coefficients c_0 = 1,
// c_1, ...: the encoded stream y_t = sum_k c_k x_(t-k) is released with noise, and B = A C^-1 decodes what was released. One push moves
// the encoded stream by at most its sensitivity times ||c||_2, so noise that decodes to a small error needs a small ||c||_2 and small rows
// of B.
//
//   ToeplitzSum   toeplitz_sum.h   c = the series of (1 - x)^(-1/2): nearly the least error there is, memory for the whole stream
//   BufferedSum   buffered_sum.h   c = a sum of a few powers theta^k: as good, memory independent of the horizon
//
// The coefficients are fixed-point numbers, the stream is encoded in integers, and the noise is exact on the grid of the encoded stream.
// What is charged is the l2 norm of those coefficients. Decoding is post-processing, in floating point (docs/proofs/continual.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/base/system/home_process.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/mechanisms/samplers/exact_rounding.h>

namespace surety::mechanisms {

struct HeadroomRule {
  static constexpr std::string_view name = "headroom";
  static constexpr std::string_view constraint = "at least 1 and at most 2^20";
  static bool holds(double x) { return x >= 1 && x <= 0x1p20; }
};
/// The largest coordinate of a contribution, in units of the sensitivity of a push.
using Headroom = Quantity<HeadroomRule>;

/// What a factorized sum is made for, all public.
struct FactorizedSumOptions {
  Count steps;                 ///< the horizon, at most 2^24
  Count dimension;             ///< at most 2^32
  L2Sensitivity sensitivity;   ///< of one push on the grid, under `adjacency`
  NoiseMultiplier multiplier;  ///< sigma over the sensitivity of the encoded stream
  Grid grid;                   ///< of the contributions
  Adjacency adjacency;
  /// Contributions are clamped to +-headroom * sensitivity in each coordinate, so that no integer overflows: clamping brings no two
  /// vectors further apart. Enough for one record per push; a push that sums m records needs m.
  Headroom headroom{4};
  friend bool operator==(const FactorizedSumOptions&, const FactorizedSumOptions&) = default;
};

/// Counts the pushes of a sum and refuses what does not fit, and pushes in a copy of its process, where the same steps would be released
/// again with other noise for one charge. For use by the sums.
class PushGate {
 public:
  /// \throws Error{invalid_argument} when the horizon is above 2^24 or the dimension above 2^32.
  explicit PushGate(const FactorizedSumOptions& options);
  /// \throws Error{invalid_argument} when the horizon is reached, the contribution has another grid or dimension, or an earlier push did
  ///         not come to its end, or this is a process made by fork.
  void begin(const GridVector& contribution);
  void finish() noexcept;

 private:
  HomeProcess home_;
  std::uint64_t steps_;
  std::uint64_t dimension_;
  Grid grid_;
  std::uint64_t pushed_ = 0;
  bool broken_ = false;
};

/// Largest coordinate that contributions are clamped to, in grid steps: floor(headroom * sensitivity / step).
/// \throws Error{invalid_argument} unless it is from 1 to 2^60.
[[nodiscard]] std::int64_t largest_coordinate(const FactorizedSumOptions& options);

/// Standard deviation of the noise on the encoded stream, in its units: multiplier * encoded_sensitivity, rounded up.
/// \throws Error{invalid_argument} when it is more than 2^56: results, which saturate at 2^62, would show it.
[[nodiscard]] StepSigma encoded_sigma(NoiseMultiplier multiplier, double encoded_sensitivity);

/// Prefix sums by the factorization of `Codec`. Used by one thread at a time, in the process that made it. The codec has
///   encode(steps) -> span of int64     the exact encoded vector of this step, in multiples of unit()
///   decode(released) -> vector         the prefix sum that all released vectors so far stand for, in multiples of unit()
///   encoded_sensitivity() -> double    how far one push moves the encoded stream in l2, in multiples of unit(), rounded up
///   unit() -> double                   in data units: a power of two
template <class Codec>
class FactorizedSum {
 public:
  using Options = FactorizedSumOptions;

  /// Takes milliseconds: tables of the sampler. \throws Error{invalid_argument} as `PushGate`, `Codec` and `encoded_sigma`.
  template <class... CodecArguments>
  explicit FactorizedSum(Options options, CodecArguments... codec_arguments)
      : options_{options},
        gate_{options},
        codec_{options, codec_arguments...},
        noise_{encoded_sigma(options.multiplier, codec_.encoded_sensitivity())},
        released_(options.dimension.value()) {}

  /// gaussian(multiplier): all pushes together cost no more than one release (docs/proofs/continual.md#adaptive).
  [[nodiscard]] Event event() const { return surety::gaussian(options_.multiplier, options_.adjacency); }
  [[nodiscard]] Count steps() const noexcept { return options_.steps; }
  [[nodiscard]] Grid grid() const noexcept { return options_.grid; }
  [[nodiscard]] const Options& options() const noexcept { return options_; }
  [[nodiscard]] const Codec& codec() const noexcept { return codec_; }

  /// Standard deviation of the ideal noise on each coordinate of the encoded stream, in data units.
  [[nodiscard]] double sigma() const noexcept { return noise_.sigma().value() * codec_.unit(); }

  /// Adds `contribution` and returns a noisy sum of all so far, in data units. Never throws on a value of the contribution.
  /// \throws Error{invalid_argument} as `PushGate::begin`, before anything is added; Error{environment} when the bits fail, after which
  ///         every further push is refused.
  [[nodiscard]] std::vector<double> push(const GridVector& contribution, BitsRef bits) {
    gate_.begin(contribution);
    const std::span<const std::int64_t> encoded = codec_.encode(contribution.steps);
    noise_.for_each_block(encoded.size(), bits, [&](std::size_t first, std::span<const std::int64_t> noise) {
      for (std::size_t i = 0; i < noise.size(); ++i) released_[first + i] = saturating_add(encoded[first + i], noise[i]);
    });
    std::vector<double> prefix = codec_.decode(released_);
    for (double& coordinate : prefix) coordinate *= codec_.unit();
    gate_.finish();
    return prefix;
  }

 private:
  Options options_;
  PushGate gate_;
  Codec codec_;
  RoundedGaussian noise_;
  std::vector<std::int64_t> released_;
};

}  // namespace surety::mechanisms
