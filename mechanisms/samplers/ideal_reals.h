// Independent ideal reals, in a time that is independent of them: exponential, the magnitudes of standard normal ones, or uniform
// (docs/proofs/vector-noise.md#ideal-reals).
//
// x = (k + F) h with h = 2^-31. An isochronous sampler draws k, and 128 digits of F are drawn with it. A block of at most 256 reals is kept as a whole with the
// probability that makes its density the right one; else it is drawn again. Further digits of F are drawn where the first ones do not decide what the reals
// are for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <surety/base/numbers/interval.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/samplers/exact_product.h>
#include <surety/mechanisms/samplers/fixed_point.h>
#include <surety/mechanisms/samplers/isochronous_sampler.h>
#include <surety/mechanisms/samplers/trial.h>
#include <surety/mechanisms/samplers/trial_loops.h>

namespace surety::mechanisms {

/// A real of which 128 digits after those of k are known.
struct IdealReal {
  std::uint64_t k = 0;
  std::array<std::uint64_t, 2> digits{};  ///< of F, the first ones first

  // Of reals below 128.

  [[nodiscard]] Magnitude magnitude() const { return {.low = {{digits[1], digits[0], k}}, .width = 1}; }
  /// Towards zero.
  [[nodiscard]] FixedPoint fixed() const {
    constexpr int digits_below_k = FixedPoint::digits - 31;
    return {UnsignedWide{k} << digits_below_k | (UnsignedWide{digits[0]} << 64 | digits[1]) >> (128 - digits_below_k)};
  }
};

enum class IdealShape {
  exponential,  ///< density exp(-x)
  half_normal,  ///< density proportional to exp(-x^2 / 2), x > 0
  uniform,      ///< on (0, 1)
};

/// How a block is kept, without tables and bits: for a model of other h, too. The largest block has 256 reals.
class IdealBlock {
 public:
  /// \pre 1 <= log2_cells <= 31: h = 2^-log2_cells
  IdealBlock(IdealShape shape, int log2_cells) : shape_{shape}, log2_cells_{log2_cells} {}

  struct Decision {
    bool is_kept = false;
    bool is_in_doubt = false;
  };
  /// Whether U, of which 128 digits are known, is below exp(-losses). In doubt, too, where a real is 128 or more.
  [[nodiscard]] Decision decide(std::span<const IdealReal> reals, const std::array<std::uint64_t, 2>& u) const;

 private:
  IdealShape shape_;
  int log2_cells_;
};

class IdealReals {
 public:
  static constexpr int log2_cells = 31;
  static constexpr std::size_t block = trial_block;

  /// Draws `count` more of this shape. Time: that of their samples of integers and some 30 ns for each. \throws what the bits throw.
  void draw(IdealShape shape, std::size_t count, BitsRef bits, TrialPath path = fastest_path());
  void clear();
  void reserve(std::size_t count) { reals_.reserve(count); }
  /// Real i of another object, with all its digits.
  void append(const IdealReals& other, std::size_t i);
  void append(const IdealReal& real) { reals_.push_back(real); }

  [[nodiscard]] std::size_t size() const noexcept { return reals_.size(); }
  [[nodiscard]] std::span<const IdealReal> reals() const noexcept { return reals_; }
  /// Some reals are 128 or more, or have further digits, so that `reals` does not say all: with probability below 2^-60 a block.
  [[nodiscard]] bool has_rare() const noexcept { return !rare_.empty(); }

  /// The interval of all completions of the digits of real i. Exact from `precision` on.
  [[nodiscard]] Interval enclose(std::size_t i, mpfr_prec_t precision) const;
  /// The precision at which the reals are exact, and 128 digits more.
  [[nodiscard]] mpfr_prec_t precision() const;
  void draw_another_word(std::size_t i, const NextWord& next);
  void draw_another_word_each(const NextWord& next);

  /// k, given that it is at least the largest integer that its sampler returns. For tests: the probability of that is e^-(2^32). \pre not uniform
  [[nodiscard]] static UnsignedWide beyond(IdealShape shape, BitsRef bits);

 private:
  /// Of a real that 159 digits and no more do not describe.
  struct Rare {
    UnsignedWide k = 0;
    std::vector<std::uint64_t> digits;
  };

  void draw_block(IdealShape shape, std::size_t count, BitsRef bits, TrialPath path);
  [[nodiscard]] bool is_kept_by_definition(IdealShape shape, std::size_t first, const std::array<std::uint64_t, 2>& u,
                                           const NextWord& next);
  Rare& make_rare(std::size_t i);

  std::vector<IdealReal> reals_;
  std::map<std::size_t, Rare> rare_;
  std::size_t most_words_ = 2;
};

}  // namespace surety::mechanisms
