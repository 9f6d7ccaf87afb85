// Prefix sums by the square-root Toeplitz factorization of Fichtenberger, Henzinger, Upadhyay (2023): A = C C with c_0 = 1,
// c_k = c_(k-1) (1 - 1/(2k)), the series of (1 - x)^(-1/2). Its rms error is within 0.25 sensitivities / mu of the least there is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <surety/mechanisms/prefix_sums/factorized_sum.h>

namespace surety::mechanisms {

/// The first `count` coefficients as they are fixed: multiples of 2^-fraction_bits, within 2^-30 of the series.
class SquareRootCoefficients {
 public:
  static constexpr int fraction_bits = 30;

  /// O(count).
  [[nodiscard]] static std::vector<std::uint32_t> fixed(Count count);
};

/// Encodes and decodes a stream by the square-root factorization. See `FactorizedSum`.
///
/// The encoded stream is y_t = sum_k C_k x_(t-k), where C_k = 2^30 c_k and x are integers: exact in 64 bits, because coordinates of
/// contributions are clamped to +-`largest`, and largest * sum_k C_k <= 2^62 is checked.
/// The decoder is the series of 1 / ((1 - x) c(x)) for the fixed c, in double: after t steps within (2t + 32) 2^-53 sum_k |released_k|.
///
/// At step t: O(dimension t) time. Memory: 12 bytes per step and coordinate, up to twice that while it grows, and 20 per step of the
/// horizon.
class ToeplitzCodec {
 public:
  /// \throws Error{invalid_argument} when sensitivity and headroom have too many grid steps for 64 bits, naming how many there may be.
  explicit ToeplitzCodec(const FactorizedSumOptions& options);

  [[nodiscard]] std::span<const std::int64_t> encode(std::span<const std::int64_t> steps);
  [[nodiscard]] std::vector<double> decode(std::span<const std::int64_t> released);
  /// sensitivity * sqrt(sum_k C_k^2), rounded up.
  [[nodiscard]] double encoded_sensitivity() const noexcept { return encoded_sensitivity_; }
  [[nodiscard]] double unit() const noexcept { return unit_; }

 private:
  std::int64_t largest_;
  double unit_;
  double encoded_sensitivity_;
  // One factor of each convolution is stored backwards, so that both are read forwards.
  std::vector<std::uint32_t> coefficients_;        ///< C_(n-1), ..., C_0
  std::vector<double> real_coefficients_;          ///< c_0, ..., c_(n-1)
  std::vector<double> decoder_;                    ///< b_(n-1), ..., b_0, of which those up to the current step are known
  std::uint64_t shifted_sum_ = 0;                  ///< 2^31 (C_0 + ... + C_t) modulo 2^64
  std::vector<std::vector<std::uint32_t>> input_;  ///< by coordinate: the clamped contributions plus 2^31
  std::vector<std::vector<double>> released_;      ///< by coordinate
  std::vector<std::int64_t> encoded_;
};

using ToeplitzSum = FactorizedSum<ToeplitzCodec>;

}  // namespace surety::mechanisms
