// Exact samplers of integers whose time is independent of the value that is drawn; docs/proofs/samplers.md#isochronous has the proofs.
//
// A distribution is a symmetric (or one-sided) one of integers k whose magnitude has decreasing weights, exp(-x^2 / (2 sigma^2)) or exp(-x / b),
// taken at the integers themselves (discrete) or over the reals that round to an integer (rounded); or binomial or Skellam probabilities, which are
// sums of few cosines (integer_law.h).
//
//   A trial      T, V and U are uniform reals. T chooses the index i = 0, 1, ..., the largest with T < S(i), from a decreasing sequence S.
//     narrow     The index is the magnitude, and the trial is accepted. Scale below narrow_limit.
//     wide       The index is that of the block [i w, (i + 1) w), w = 2^b, with the weight of its lower end (binomial, Skellam: a double above
//                that weight); V is the place in the block, and the trial is accepted when U is below the density over that weight.
//   A block      At most 256 trials are made together. Doubles decide a trial or leave it in doubt, with probability at most 2^-38. Once for each
//                block, whether it is needed or not, arithmetic of 120 digits decides the one that was in doubt from one further word of
//                each of T, U and V. If two were in doubt, with probability at most 2^-61, interval arithmetic decides.
//
// No branch, address or instruction of variable duration depends on what a trial holds, but for that last case. How many trials there are
// shows, and is independent of the values that are accepted.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>

#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/samplers/trial.h>

namespace surety::mechanisms {

struct TrialConstants;

/// num / den, exactly. A sampler refuses a zero.
struct Rational {
  std::uint64_t num = 0;
  std::uint64_t den = 1;
  friend bool operator==(const Rational&, const Rational&) = default;
};

class IsochronousSampler {
 public:
  /// Samples beyond are clamped to this.
  static constexpr std::int64_t saturation = std::numeric_limits<std::int64_t>::max();
  /// Trials that are made together.
  static constexpr std::size_t block = trial_block;
  /// Scales from which on a distribution has blocks of more than one integer: of Gaussian weights, and of exponential ones.
  static constexpr double gaussian_narrow_limit = 4;
  static constexpr double exponential_narrow_limit = 16;
  /// The same of binomial and Skellam distributions, by their standard deviations.
  static constexpr double integer_narrow_limit = 16;

  // Every distribution throws Error{invalid_argument} naming the parameter that is out of its range.

  /// round(sigma N), N ~ N(0, 1). \pre 0 < sigma <= 2^60.
  [[nodiscard]] static IsochronousSampler rounded_gaussian(double sigma);
  /// round(scale L), L of density exp(-|x|) / 2. \pre 0 < scale <= 2^58.
  [[nodiscard]] static IsochronousSampler rounded_laplace(double scale);
  /// P(k) proportional to exp(-k^2 / (2 variance)), exp(-|k| / scale), and exp(-k / scale) for k >= 0. \pre positive; scale <= 2^58.
  [[nodiscard]] static IsochronousSampler discrete_gaussian(Rational variance);
  [[nodiscard]] static IsochronousSampler discrete_laplace(Rational scale);
  [[nodiscard]] static IsochronousSampler geometric(Rational scale);
  /// P(k) proportional to exp(-k^2 / (2 sigma^2)) for k >= 0. \pre 4 <= sigma <= 2^60.
  [[nodiscard]] static IsochronousSampler half_gaussian(std::uint64_t sigma);
  /// Heads among `flips` fair coin flips minus flips / 2. Takes milliseconds to make. \pre even, 2 <= flips <= 2^52.
  [[nodiscard]] static IsochronousSampler binomial(std::uint64_t flips);
  /// The difference of two Poisson variables of this mean each. Takes milliseconds to make. \pre 0 < mean <= 2^50.
  [[nodiscard]] static IsochronousSampler skellam(double mean);

  /// The next sample, by trials of one, each with its further words.
  template <ReleaseBits Bits>
  [[nodiscard]] std::int64_t operator()(Bits& bits) const {
    std::array<std::uint64_t, most_words + most_further_words> words;
    const auto drawn = std::span{words}.first(words_per_trial_ + further_words_);
    for (;;) {
      draw_words(bits, drawn);
      if (const auto sample = decide(drawn, [&bits] { return draw_word(bits); })) return *sample;
    }
  }

  /// Fills `samples`, by blocks of trials. Accepted ones beyond the last sample are thrown away. \throws what the bits throw.
  void fill(std::span<std::int64_t> samples, BitsRef bits) const;
  /// The same samples by the instructions of `path`. \pre it is one of available_paths() (trial_loops.h).
  void fill(std::span<std::int64_t> samples, BitsRef bits, TrialPath path) const;

  /// Draws `count` samples, those of `fill`, and hands them out in parts of at most `block`: `use(std::size_t first, std::span<const std::int64_t>)`.
  template <class Use>
  void for_each_block(std::size_t count, BitsRef bits, Use use) const {
    std::array<std::int64_t, block + trial_lanes> samples;
    for (std::size_t first = 0; first < count;) {
      const std::size_t drawn = draw_block(count - first, bits, samples.data());
      use(first, std::span<const std::int64_t>{samples}.first(drawn));
      first += drawn;
    }
  }

  /// The same as `operator()` from the same bits, by interval arithmetic alone: slow, and an oracle for the fast ways.
  [[nodiscard]] std::int64_t by_definition(BitsRef bits) const;

  // ---- What tests certify ----

  /// The words of one trial. The first has T and the sign; trial_loops.h says where V and U are.
  [[nodiscard]] std::size_t words_per_trial() const noexcept { return words_per_trial_; }
  /// The further words for the trial in doubt: of T, and of a wide distribution U, and of a rounded one V.
  [[nodiscard]] std::size_t further_words() const noexcept { return further_words_; }
  [[nodiscard]] bool is_wide() const noexcept;
  [[nodiscard]] int log2_block_width() const noexcept;
  [[nodiscard]] const TrialConstants& constants() const noexcept;
  /// floor(2^n S(j)) for j = 1, 2, ..., of all but exponential weights, until it is 0 (wide binomial and Skellam: until the last height): n is 64
  /// more than T has digits in a first word.
  [[nodiscard]] std::span<const UnsignedWide> thresholds() const noexcept;
  /// Wide binomial and Skellam: the envelope of blocks 0, 1, ..., t over 2^b P. From block t on it is halved from block to block.
  [[nodiscard]] std::span<const double> heights() const noexcept;
  /// One trial with its further words, by fixed-point numbers. `is_in_doubt` is set where these do not decide.
  [[nodiscard]] DecidedTrial decide_precisely(const std::uint64_t* words, const std::uint64_t* further, bool& is_in_doubt) const;
  /// The accepted samples of a block of trials, in their order; word w of trial k is words[w count + k]. Writes at most trial_lanes more.
  /// \pre as decide_trials.
  [[nodiscard]] std::size_t decide_block(std::size_t count, const std::uint64_t* words, std::span<const std::uint64_t> further,
                                         const NextWord& next, TrialPath path, std::int64_t* samples) const;

 private:
  struct Law;
  struct Tables;
  class FixedPointCosines;
  static constexpr std::size_t most_words = 3;
  static constexpr std::size_t most_further_words = 3;

  explicit IsochronousSampler(Law law);

  /// Of one trial with its further words: the accepted sample, or none. By fixed-point numbers, and by definition where these do not decide.
  [[nodiscard]] std::optional<std::int64_t> decide(std::span<const std::uint64_t> words, const NextWord& next) const;
  [[nodiscard]] std::optional<std::int64_t> decide_by_definition(std::span<const std::uint64_t> words,
                                                                 std::span<const std::uint64_t> further, const NextWord& next) const;
  /// So many trials give about `count` samples: a multiple of trial_lanes, at most `block`.
  [[nodiscard]] std::size_t trials_for(std::size_t count) const;
  /// Makes one block of trials and returns how many samples it gave, at most `count`.
  [[nodiscard]] std::size_t draw_block(std::size_t count, BitsRef bits, std::int64_t* samples) const;
  [[nodiscard]] std::size_t draw_block(std::size_t count, BitsRef bits, TrialPath path, std::int64_t* samples) const;

  std::size_t words_per_trial_ = 1;
  std::size_t further_words_ = 1;
  std::shared_ptr<const Tables> tables_;
};

}  // namespace surety::mechanisms
