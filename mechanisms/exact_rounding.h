// Exact rounding of ideal real noise.
//
// A real random variable N is defined by random bits that nobody has finished drawing; its nearest integer depends on finitely many of
// them. So draw some, enclose the answer, and draw more only where the rounding is still in doubt. The result has *exactly*
// the distribution of the rounded ideal variable: nothing is approximated, no matter how the enclosure is computed.
//
// The Gaussian: S is a random sign and T a uniform real in (0, 1), whose binary digits are drawn in order; |N| = sqrt(2) erfc^-1(T).
// Since erfc decreases, for sigma > 0 and integers j >= 1
//
//   |round(sigma N)| >= j   if and only if   T < erfc((j - 1/2) / (sigma sqrt 2)),
//
// where equality has probability 0. A word of 64 bits gives the sign and T to 2^-63. Doubles with a proved error (docs/guarantees.md)
// decide the two comparisons next to a guess; the rare doubtful ones go to interval arithmetic, and to further words where a
// threshold lies inside the interval that T is known to be in. Which words are drawn is thus a property of the law, not of
// the machine: one bit stream gives the same noise everywhere.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include <surety/accounting/units.h>
#include <surety/mechanisms/random_bits.h>

namespace surety {

struct StepSigmaRule {
  static constexpr std::string_view name = "sigma in grid steps";
  static constexpr std::string_view constraint = "greater than 0 and at most 2^60";
  static bool holds(double x) { return x > 0 && x <= 0x1p60; }
};
/// Standard deviation of noise, in grid steps. Its largest value leaves 8 standard deviations before int64 saturates.
using StepSigma = Quantity<StepSigmaRule>;

namespace mechanisms {

/// Samples the nearest integer to sigma * N for an ideal N ~ N(0, 1), saturating at +-saturation.
///
/// Law: P(k) = Phi((k + 1/2) / sigma) - Phi((k - 1/2) / sigma), exactly, for uniform independent bits.
/// Draws one word, with probability about 2^-63 sigma a second one. About 0.1 microseconds up to sigma = 2^30; a doubtful comparison,
/// of probability about 2^-41 sigma, costs some 50 microseconds more.
class RoundedGaussian {
 public:
  /// Samples beyond are clamped to this. `saturating_add` (grid.h) turns them into a function of the ideal sum.
  static constexpr std::int64_t saturation = std::numeric_limits<std::int64_t>::max();

  explicit RoundedGaussian(StepSigma sigma);

  template <ReleaseBits Bits>
  [[nodiscard]] std::int64_t operator()(Bits& bits) const {
    const std::uint64_t word = draw_word(bits);
    if (const auto decided = decide(word)) [[likely]]
      return *decided;
    return refine(word, guess(word), [&bits] { return draw_word(bits); });
  }

  /// Fills `noise` with independent samples, in order.
  template <ReleaseBits Bits>
  void fill(std::span<std::int64_t> noise, Bits& bits) const {
    for (auto& sample : noise) sample = (*this)(bits);
  }

  [[nodiscard]] StepSigma sigma() const noexcept { return sigma_; }

 private:
  template <ReleaseBits Bits>
  friend std::int64_t rounded_gaussian_by_definition(Bits& bits, StepSigma sigma);

  /// The sample that the first word decides by double arithmetic with certainty, or nothing.
  [[nodiscard]] std::optional<std::int64_t> decide(std::uint64_t word) const noexcept;
  /// |sample| up to a small error, from the first word.
  [[nodiscard]] std::uint64_t guess(std::uint64_t word) const noexcept;
  /// The sample that starts with `word`, by interval arithmetic from the definition; any `start` gives the same result.
  [[nodiscard]] std::int64_t refine(std::uint64_t word, std::uint64_t start, const std::function<std::uint64_t()>& next_word) const;

  StepSigma sigma_;
  double scale_;    ///< sigma sqrt 2, rounded
  double inverse_;  ///< 1 / (sigma sqrt 2), rounded
};

/// The same sample from the same bits, by interval arithmetic alone, searching from 0: slow, and an oracle for the fast way.
template <ReleaseBits Bits>
[[nodiscard]] std::int64_t rounded_gaussian_by_definition(Bits& bits, StepSigma sigma) {
  const std::uint64_t word = draw_word(bits);
  return RoundedGaussian{sigma}.refine(word, 0, [&bits] { return draw_word(bits); });
}

}  // namespace mechanisms
}  // namespace surety
