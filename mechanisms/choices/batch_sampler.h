// Which records a batch holds: secret random choices that amplify privacy, and therefore have to be what the accountant takes them for.
//
//   PoissonBatches    each record joins independently with probability q, exactly the double          poisson(q, release)
//   FixedSizeBatches  m of n records, each set of m with the same probability                         without_replacement(n, m, release)
//   PoissonBatchesOfUnits  Poisson, where neighbours differ in a unit of up to k records                 users(k, poisson(q, release))
//   TruncatedBatches  Poisson, and of what is beyond m records a uniform choice stays out             truncated_poisson(q, m, n, release)
//
// Batches that depend on each other, since each record is in one of an epoch, are those of `Allocation` (allocation.h).
//
// Batches of one sampler are independent of each other. A batch is secret: its indices, and under Poisson sampling its size, may reach
// nothing but the query of one release (docs/proofs/sampling.md#batches). The time that drawing takes depends on the batch.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/bits/lazy_real.h>

namespace surety::mechanisms {

/// draw(records, bits): the places of the batch's records among 0 .. records - 1, ascending. event(release): what `release` of one such
/// batch is.
template <class S>
concept BatchSampler = requires(const S& sampler, std::size_t records, BitsRef bits, const Event& release) {
  { sampler.draw(records, bits) } -> std::same_as<std::vector<std::size_t>>;
  { sampler.event(release) } -> std::same_as<Event>;
};

/// Appends the places that a word of 64 says, of the records from `first` on. For use by the samplers.
void append_places(std::uint64_t joined, std::size_t first, std::size_t records, std::vector<std::size_t>& batch);

/// The binary digits of a probability, and the gaps between records of that probability. For use by `PoissonBatches`.
class ExactRate {
 public:
  explicit ExactRate(SamplingRate rate);

  /// Of 64 records, bit i of the result says whether record i joins, exactly: each compares its own uniform number with q, digit by digit,
  /// all at once; digit k of all 64 numbers is one word. Of about 7.3 words.
  template <class Next>
  [[nodiscard]] std::uint64_t join_64(Next&& next_word) const {
    if (whole_) return ~std::uint64_t{0};
    std::uint64_t joined = 0;
    std::uint64_t undecided = ~std::uint64_t{0};
    // What agrees with all digits of q is not below q.
    for (int place = 1; place <= last_place_ && undecided != 0; ++place) {
      const std::uint64_t digits = next_word();
      const int shift = last_place_ - place;
      if (shift < 53 && (mantissa_ >> shift & 1) != 0) {
        joined |= undecided & ~digits;
        undecided &= digits;
      } else {
        undecided &= ~digits;
      }
    }
    return joined;
  }

  /// How many records stay out before the next one joins, at most `limit`: G with P(G >= k) = (1 - q)^k, exactly. One word, rarely more.
  template <class Next>
  [[nodiscard]] std::size_t gap(std::size_t limit, Next&& next_word) const {
    const std::uint64_t first = next_word();
    const auto [low, high] = minus_log_of_cell(first, 64);
    const double least = (low - double_margin * (1 + low)) / minus_log_ * (1 - double_margin);
    const double most = (high + double_margin * (1 + high)) / minus_log_ * (1 + double_margin);
    if (least >= static_cast<double>(limit)) return limit;
    const auto found = static_cast<std::size_t>(least > 0 ? least : 0);
    if (most < static_cast<double>(found + 1)) return found;
    return gap_by_intervals(LazyUniform{first}, limit, next_word);
  }

 private:
  [[nodiscard]] std::size_t gap_by_intervals(LazyUniform uniform, std::size_t limit, const NextWord& next_word) const;

  double rate_;
  double minus_log_;        ///< -log(1 - q), within a relative 2^-50
  bool whole_;              ///< q = 1
  std::uint64_t mantissa_;  ///< q = mantissa 2^-last_place, and the mantissa is odd
  int last_place_;
};

/// The sampler of `poisson`.
class PoissonBatches {
 public:
  /// Below this rate gaps are drawn, from it on digits: where both take about the same time.
  static constexpr double least_rate_of_digits = 0x1p-6;

  explicit PoissonBatches(SamplingRate rate) : rate_{rate}, exact_{rate} {}

  /// \throws Error{environment} when the bits fail. O(q records) below `least_rate_of_digits`, O(records / 64 + q records) otherwise.
  [[nodiscard]] std::vector<std::size_t> draw(std::size_t records, BitsRef bits) const;

  /// poisson(q, release). \throws as `poisson`.
  [[nodiscard]] Event event(const Event& release) const { return poisson(rate_, release); }
  [[nodiscard]] SamplingRate rate() const noexcept { return rate_; }

 private:
  SamplingRate rate_;
  ExactRate exact_;
};

/// The sampler of `users` of `poisson`: each record joins by itself, and a unit of privacy owns up to k of them.
class PoissonBatchesOfUnits {
 public:
  PoissonBatchesOfUnits(SamplingRate rate, Count most) : batches_{rate}, most_{most} {}

  /// \throws as PoissonBatches::draw.
  [[nodiscard]] std::vector<std::size_t> draw(std::size_t records, BitsRef bits) const { return batches_.draw(records, bits); }

  /// users(k, poisson(q, release)). \throws as `users` and `poisson`.
  [[nodiscard]] Event event(const Event& release) const { return users(most_, batches_.event(release)); }
  [[nodiscard]] SamplingRate rate() const noexcept { return batches_.rate(); }

 private:
  PoissonBatches batches_;
  Count most_;
};

/// Uniform on 0 .. n - 1, exactly: the high half of word x n, unless the low half is among the 2^64 mod n values that would favour some
/// (Lemire, "Fast random integer generation in an interval", 2019).
class UniformBelow {
 public:
  /// \pre n >= 1.
  explicit UniformBelow(std::uint64_t n) : n_{n}, excess_{(~std::uint64_t{0} % n + 1) % n} {}

  template <class Next>
  [[nodiscard]] std::uint64_t operator()(Next&& next_word) const {
    __extension__ using Wide = unsigned __int128;
    for (;;) {
      const Wide product = Wide{next_word()} * n_;
      if (static_cast<std::uint64_t>(product) >= excess_) return static_cast<std::uint64_t>(product >> 64);
    }
  }

 private:
  std::uint64_t n_;
  std::uint64_t excess_;
};

/// The sampler of `without_replacement`. A release that depends on the order of its records, as answers one by one do, shuffles them first.
class FixedSizeBatches {
 public:
  explicit FixedSizeBatches(Batches batches) : batches_{batches} {}

  /// \throws Error{invalid_argument} when `records` is not the number of records that the batches are of;
  ///         Error{environment} when the bits fail.
  /// \complexity O(m log m) for m records of n when m < n / 1024, else O(n / 64 + m); memory alike.
  [[nodiscard]] std::vector<std::size_t> draw(std::size_t records, BitsRef bits) const;

  /// without_replacement(n, m, release). \throws as `without_replacement`.
  [[nodiscard]] Event event(const Event& release) const { return without_replacement(batches_.records(), batches_.size(), release); }
  [[nodiscard]] const Batches& batches() const noexcept { return batches_; }

 private:
  void require_records(std::size_t records) const;

  Batches batches_;
};

/// The sampler of `truncated_poisson`: of a Poisson batch of more than m records, each set of m with the same probability.
class TruncatedBatches {
 public:
  /// `batches`: of at most their size, of as many records as they say, or under add-or-remove-one of at most so many.
  TruncatedBatches(SamplingRate rate, Batches batches, Adjacency adjacency) : poisson_{rate}, batches_{batches}, adjacency_{adjacency} {}

  /// \throws Error{invalid_argument} when the batches are of fewer `records`, or of more and the adjacency is not add-or-remove-one: fewer
  ///         records displace each other less, and each costs more; Error{environment} when the bits fail.
  /// \complexity as PoissonBatches, and O(m log m) where the batch is cut.
  [[nodiscard]] std::vector<std::size_t> draw(std::size_t records, BitsRef bits) const;

  /// truncated_poisson(q, m, n, release). \throws as `truncated_poisson`, and Error{invalid_argument} under another adjacency.
  [[nodiscard]] Event event(const Event& release) const;
  [[nodiscard]] SamplingRate rate() const noexcept { return poisson_.rate(); }
  [[nodiscard]] const Batches& batches() const noexcept { return batches_; }
  [[nodiscard]] Adjacency adjacency() const noexcept { return adjacency_; }

 private:
  PoissonBatches poisson_;
  Batches batches_;
  Adjacency adjacency_;
};

}  // namespace surety::mechanisms
