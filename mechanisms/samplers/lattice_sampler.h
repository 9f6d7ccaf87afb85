// The exact sampler of two symmetric distributions on the integers, binomial and Skellam (integer_law.h): a table decides nearly every sample by
// comparing integers, and what a table cannot decide is decided by interval arithmetic and further bits. Nothing is approximated;
// docs/proofs/samplers.md#integers has the proofs.
//
//   narrow, scale at most 128   one word per sample: bit 0 is the sign, the others are the first 63 binary digits of a uniform T, and the
//                               magnitude is the largest j with T < P(|k| >= j).
//   wide                        one word, or two where a block is wider than 2^18. From high to low the first has 28 digits of T, the
//                               sign, 19 digits of a uniform V, and 16 digits of a uniform U; a second one continues V. T chooses one of
//                               the blocks [i 2^b, (i+1) 2^b) by their weights under the envelope that is constant on each; V is the place
//                               in the block; the sample is accepted when U is below density over envelope. The last block is the infinite
//                               tail, under an envelope that halves from piece to piece.
//
// How time depends on what is drawn: lattice_noise.h.
//
// T, U and V are ideal reals: more digits are drawn where those drawn do not decide, never otherwise. Which words are drawn is thus a
// property of the law, not of the machine.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include <surety/mechanisms/bits/bits_ref.h>

namespace surety::mechanisms {

class IntegerLaw;

class LatticeSampler {
 public:
  /// Samples beyond are clamped to this.
  static constexpr std::int64_t saturation = std::numeric_limits<std::int64_t>::max();
  /// Samples whose words are drawn together; what the undecided ones among them need further is drawn after that, in their order.
  static constexpr std::size_t block = 256;

  // Each throws Error{invalid_argument} naming the parameter that is out of its range.

  /// Heads among `flips` fair coin flips minus flips / 2. \pre even, 2 <= flips <= 2^52.
  [[nodiscard]] static LatticeSampler binomial(std::uint64_t flips);
  /// The difference of two Poisson variables of this mean each. \pre 0 < mean <= 2^50.
  [[nodiscard]] static LatticeSampler skellam(double mean);

  /// The next sample: a block of one. Compiled for each source of bits, for those who count nanoseconds.
  template <ReleaseBits Bits>
  [[nodiscard]] std::int64_t operator()(Bits& bits) const {
    std::array<std::uint64_t, 2> words;
    std::int64_t sample = 0;
    draw_words(bits, std::span{words}.first(words_per_sample()));
    decode(words.data(), {&sample, 1}, [&bits] { return draw_word(bits); });
    return sample;
  }

  /// Fills `samples`, block by block. \throws what the bits throw.
  void fill(std::span<std::int64_t> samples, BitsRef bits) const;

  /// Draws `count` samples in blocks and hands each block and its place to `use(std::size_t first, std::span<const std::int64_t>)`.
  template <class Use>
  void for_each_block(std::size_t count, BitsRef bits, Use use) const {
    std::array<std::int64_t, block> samples;
    for (std::size_t first = 0; first < count; first += block) {
      const auto drawn = std::span{samples}.first(std::min(block, count - first));
      draw_block(drawn, bits);
      use(first, std::span<const std::int64_t>{drawn});
    }
  }

  /// The same as `operator()` from the same bits, by interval arithmetic alone, without the tables: slow, and an oracle for the fast way.
  [[nodiscard]] std::int64_t by_definition(BitsRef bits) const;

  /// What tests certify. Thresholds S(1) > S(2) > ...: T < S(j) chooses an index of at least j. Index j is the magnitude j (narrow) or
  /// block j (wide); the last index is the tail.
  [[nodiscard]] bool is_wide() const noexcept;
  [[nodiscard]] int log2_block_width() const noexcept;
  /// floor(2^63 S(j)) for j = 1, 2, ...
  [[nodiscard]] std::span<const std::uint64_t> thresholds() const noexcept;
  /// floor(2^16 r) for the least ratio r of density to envelope, of each block before the tail, or a little less; wide only.
  [[nodiscard]] std::span<const std::uint16_t> acceptances() const noexcept;
  /// The envelope on blocks 0, ..., tail, in units of the law times the greatest power of two that is at most sigma; wide only.
  [[nodiscard]] std::span<const double> heights() const noexcept;
  /// What the tail begins with: the number of blocks in the first piece, each further one of which has half the envelope; wide only.
  [[nodiscard]] int log2_tail_piece() const noexcept;

  [[nodiscard]] std::size_t words_per_sample() const noexcept { return words_per_sample_; }
  /// Decides `samples.size()` <= block samples from as many times words_per_sample() words.
  void decode(const std::uint64_t* words, std::span<std::int64_t> samples, const NextWord& next) const;

 private:
  struct Tables;

  explicit LatticeSampler(const IntegerLaw& law);

  /// Draws at most `block` samples together.
  void draw_block(std::span<std::int64_t> samples, BitsRef bits) const;

  template <bool has_second_word>
  [[nodiscard]] static std::size_t decode_wide(const Tables& tables, const std::uint64_t* words, std::span<std::int64_t> samples,
                                               std::uint16_t* undecided);
  [[nodiscard]] static std::size_t decode_narrow(const Tables& tables, const std::uint64_t* words, std::span<std::int64_t> samples,
                                                 std::uint16_t* undecided);
  [[nodiscard]] std::int64_t decode_by_definition(const std::uint64_t* words, const NextWord& next) const;

  std::size_t words_per_sample_ = 1;
  std::shared_ptr<const Tables> tables_;
};

}  // namespace surety::mechanisms
