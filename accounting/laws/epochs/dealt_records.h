// Who is in which rounds of an epoch of random allocation: docs/proofs/allocated.md.
#pragma once

#include <cstdint>
#include <vector>

#include <surety/base/numbers/ball.h>

namespace surety::accounting {

/// One way in which records take part in the rounds, with its probability: `rounds_with[b - 1]` rounds have b of them, all sets of rounds being
/// equally likely.
struct DealtRecords {
  Ball weight;
  std::vector<std::uint64_t> rounds_with;
};

/// A record in so many of the rounds.
[[nodiscard]] std::vector<DealtRecords> in_so_many_rounds(std::uint64_t participations);
/// A user's records, each in a round of its own, uniform and independent. \pre 1 <= records <= 8.
[[nodiscard]] std::vector<DealtRecords> each_in_some_round(std::uint64_t records, std::uint64_t rounds);

}  // namespace surety::accounting
