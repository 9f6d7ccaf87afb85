// In which round of an epoch each record takes part: "balls in bins", "random allocation".
//
//   Allocation   each record in exactly one of t rounds, uniform and independent of all others    allocated(t, release) for the epoch
//
// That is not what a shuffled pass in batches does: there who is in one batch keeps others out of it, and no event but `shuffled` describes
// it. Here sizes of batches are binomial, and some may be empty; those are served, and released, like all others. A deal is secret: places
// and sizes may reach nothing but the query of the release of their round (docs/proofs/sampling.md#epochs). The next epoch is dealt anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/bits/bits_ref.h>

namespace surety::mechanisms {

/// The batches of one epoch: every record is in exactly one of them.
class DealtEpoch {
 public:
  /// `round_of[i]` is that of record i, below `rounds`.
  DealtEpoch(std::span<const std::uint64_t> round_of, std::uint64_t rounds);

  [[nodiscard]] std::uint64_t rounds() const noexcept { return ends_.size(); }
  /// The places of the records of one round, ascending. \pre round < rounds().
  [[nodiscard]] std::span<const std::size_t> batch(std::uint64_t round) const {
    const std::size_t first = round == 0 ? 0 : ends_[round - 1];
    return std::span{places_}.subspan(first, ends_[round] - first);
  }

 private:
  std::vector<std::size_t> places_;  ///< round by round
  std::vector<std::size_t> ends_;    ///< of rounds in `places_`
};

/// The sampler of `allocated`.
class Allocation {
 public:
  explicit Allocation(Count rounds) : rounds_{rounds} {}

  /// One epoch of `records` records. Every call is independent of all others.
  /// \throws Error{environment} when the bits fail. \complexity O(records + rounds) time and memory; a word per record, rarely more.
  [[nodiscard]] DealtEpoch deal(std::size_t records, BitsRef bits) const;

  /// allocated(t, release): of a whole epoch, of which each round is `release`. \throws as `allocated`.
  [[nodiscard]] Event event(const Event& release) const { return allocated(rounds_, release); }
  [[nodiscard]] Count rounds() const noexcept { return rounds_; }

 private:
  Count rounds_;
};

}  // namespace surety::mechanisms
