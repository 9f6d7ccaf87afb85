// Ideal real random variables, known as far as their bits have been drawn. For use inside the mechanisms.
//
// A uniform U on (0, 1) is an endless sequence of binary digits. After w words of 64 bits it is known to lie in a cell of length 2^-64w,
// and whatever is computed from it is known to lie in an interval. A mechanism's output, a choice or a rounded number, is decided as soon
// as one answer is left for all completions of the bits; until then each variable that matters gets another word. So the output is a
// function of ideal real numbers and has *exactly* their law, however the intervals were computed.
//
// Which words are drawn: doubt is decided by `Interval` at the precision `precision_for(words)`, and MPFR rounds correctly, so it is the
// same on every machine. Doubles only skip work: they settle a comparison where their proved margin is exceeded by far, and there the
// intervals would settle it the same way without another word (docs/proofs/selection.md#lazy).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <surety/base/numbers/interval.h>
#include <surety/mechanisms/bits/bits_ref.h>

namespace surety::mechanisms {

/// A uniform real in (0, 1), at least whose first 64 binary digits are drawn.
class LazyUniform {
 public:
  explicit LazyUniform(std::uint64_t first_word) : first_{first_word} {}
  explicit LazyUniform(const NextWord& next_word) : first_{next_word()} {}

  void draw_another_word(const NextWord& next_word) { more_.push_back(next_word()); }

  [[nodiscard]] std::uint64_t first_word() const noexcept { return first_; }
  [[nodiscard]] std::size_t words() const noexcept { return 1 + more_.size(); }
  /// The interval of all completions, exactly where `precision` >= 64 words() + 1.
  [[nodiscard]] Interval cell(mpfr_prec_t precision) const;

 private:
  std::uint64_t first_;
  std::vector<std::uint64_t> more_;
};

/// The precision at which doubt is decided when variables of `words` words meet: cells are exact, and roundings are 2^-64 of their length.
[[nodiscard]] inline mpfr_prec_t precision_for(std::size_t words) { return static_cast<mpfr_prec_t>(64 * words + 128); }

/// Ideal standard variables as functions of one uniform U: exponential -log U; Gumbel -log(-log U); Laplace, the logarithm of 2U below
/// the median and minus that of 2(1 - U) above. All with scale 1. The intervals may have infinite ends.
enum class NoiseShape { gumbel, laplace, exponential };
[[nodiscard]] Interval noise(NoiseShape shape, const LazyUniform& uniform, mpfr_prec_t precision);

/// An interval with ends in double.
struct DoubleBounds {
  double low;
  double high;
};

/// Relative to 1 + |values involved|, more than double arithmetic here can err (docs/proofs/selection.md#lazy).
inline constexpr double double_margin = 0x1p-40;

/// An enclosure of -log of all points of [k, k + 1] / 2^bits, before any margin. \pre bits is 63 or 64, k < 2^bits.
[[nodiscard]] DoubleBounds minus_log_of_cell(std::uint64_t k, int bits);

/// An enclosure of `noise` from the first word alone, before any margin.
[[nodiscard]] DoubleBounds noise_of_first_word(NoiseShape shape, std::uint64_t word);

/// Every point of `a` is at most every point of `b`.
[[nodiscard]] inline bool is_at_most(const Interval& a, const Interval& b) { return mpfr_lessequal_p(a.upper(), b.lower()) != 0; }

/// A nonnegative real number that can be enclosed as narrowly as one likes.
struct Exponent {
  DoubleBounds bounds;                                                      ///< with margin
  std::function<Interval(mpfr_prec_t)> enclose;                             ///< by intervals at this precision
  std::function<void(const NextWord&)> draw_more = [](const NextWord&) {};  ///< another word for each variable that it depends on
};

/// True with probability exp(-exponent), exactly: U < exp(-exponent) for a fresh U, that is -log U > exponent.
/// Draws one word, and more with probability about 2^-64 in all.
[[nodiscard]] bool happens_with_exp_minus(const Exponent& exponent, const NextWord& next_word);

/// Uniform on 0 .. n - 1, exactly, by rejection: the expected number of words is below 2, whatever is drawn. \pre n >= 1.
[[nodiscard]] std::uint64_t uniform_below(std::uint64_t n, const NextWord& next_word);

// The time of these coins depends on how many words they draw, which shows their result only where more than one is needed.

/// True with probability numerator / denominator, exactly: compares U with the binary digits of the quotient, one word at a time.
/// Draws one word, and each further one with probability 2^-64. \pre numerator <= denominator, 1 <= denominator.
[[nodiscard]] bool happens_with_ratio(std::uint64_t numerator, std::uint64_t denominator, const NextWord& next_word);

/// True with probability p, taken as the binary fraction that the double is, exactly. As above. \pre 0 <= p <= 1.
[[nodiscard]] bool happens_with(double p, const NextWord& next_word);

}  // namespace surety::mechanisms
