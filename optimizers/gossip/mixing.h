// Mixing: with which weights learners average the parameters of their neighbours, round by round.
//
// In round t learner i replaces parameters by the mean sum_j a_ij(t) w_j. The sequences A(0), A(1), ... made here satisfy what the
// convergence of such averages rests on [NO09]:
//   * A(t) is doubly stochastic: entries are not negative, rows and columns sum to 1, so no learner counts for more than another;
//   * a_ii(t) > 0, so no learner forgets what it has;
//   * in any B = `window()` rounds in a row, the pairs that exchange something connect all learners.
// The products A(t) ... A(1) then converge to the matrix whose entries are 1 / m, for m learners.
//
// Every A(t) holds the Metropolis weights [XB04] of the round's graph: with degrees d, a_ij = 1 / (1 + max(d_i, d_j)) for neighbours and
// the rest on the diagonal. They are symmetric, and a row's sum off the diagonal is at most d_i / (1 + d_i), so the rest is at least
// 1 / (1 + d_i). All of it is public: nothing here depends on records, and nothing here costs privacy.
//
// [NO09] Nedic, Ozdaglar: Distributed Subgradient Methods for Multi-Agent Optimization, 2009.
// [XB04] Xiao, Boyd: Fast Linear Iterations for Distributed Averaging, 2004.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <surety/accounting/events/units.h>

namespace surety::optimizers {

/// The weight that one learner gives to the parameters of `learner`.
struct MixingWeight {
  std::size_t learner;
  double weight;
  friend bool operator==(const MixingWeight&, const MixingWeight&) = default;
};

/// Two learners that exchange parameters, in both directions. Learners are numbered from 0.
struct Edge {
  std::size_t a;
  std::size_t b;
  friend bool operator==(const Edge&, const Edge&) = default;
};

/// One A(t), by rows without zeros.
class MixingMatrix {
 public:
  /// Row i lists the learners that i reads, itself among them, in ascending order.
  /// \throws Error{invalid_argument} unless every row is in order and names learners alone, weights are positive and finite, every diagonal
  ///         entry is there, and every row and column of k entries sums to 1 within (k + 1) 2^-52.
  /// \complexity O(entries).
  explicit MixingMatrix(const std::vector<std::vector<MixingWeight>>& rows);

  /// The Metropolis weights of a graph; an edge named twice counts once. They pass the checks above, and A(t) is exactly symmetric.
  /// \throws Error{invalid_argument} when an edge names no learner, or joins one to itself.
  /// \complexity O((learners + edges) log edges).
  [[nodiscard]] static MixingMatrix metropolis(Count learners, std::span<const Edge> edges);

  [[nodiscard]] std::size_t learners() const noexcept { return starts_.size() - 1; }
  /// What learner i reads, itself included, in ascending order. \pre learner < learners().
  [[nodiscard]] std::span<const MixingWeight> row(std::size_t learner) const {
    return std::span{entries_}.subspan(starts_[learner], starts_[learner + 1] - starts_[learner]);
  }

 private:
  std::vector<std::size_t> starts_;  ///< of the rows
  std::vector<MixingWeight> entries_;
};

/// A sequence A(0), A(1), ... as above: equal arguments give equal sequences on every machine.
class Mixing {
 public:
  /// The most learners of `complete`, whose matrix has no zeros, and of every other.
  static constexpr std::uint64_t max_complete = 2048;
  static constexpr std::uint64_t max_learners = std::uint64_t{1} << 20;

  /// Everybody with everybody: a_ij = 1 / m. B = 1. \throws Error{invalid_argument} for more than `max_complete` learners.
  [[nodiscard]] static Mixing complete(Count learners);
  /// With the learners before and after, the last with the first. B = 1.
  [[nodiscard]] static Mixing ring(Count learners);
  /// On a grid of rows x columns with both ends joined: up to four neighbours. B = 1.
  /// \throws Error{invalid_argument} unless both are at least 2: less is a ring.
  [[nodiscard]] static Mixing torus(Count rows, Count columns);
  /// The torus whose rows are the largest divisor of `learners` that is at most its root.
  /// \throws Error{invalid_argument} when that is 1.
  [[nodiscard]] static Mixing torus(Count learners);
  /// In round t with the learner whose number differs in bit t mod log2(m). B = log2(m), and B rounds in a row average exactly.
  /// \throws Error{invalid_argument} unless `learners` is a power of two.
  [[nodiscard]] static Mixing hypercube(Count learners);
  /// A random perfect matching in each round; of an odd number of learners one stays alone. Matchings are drawn `matchings_drawn` at a time
  /// from substreams of ReplayBits(seed), uniformly and independently but for this: four that do not connect all learners are drawn anew.
  /// Any 7 rounds hold four that were drawn together, so B = 7 (1 for up to two learners).
  [[nodiscard]] static Mixing random_matchings(Count learners, std::uint64_t seed);
  static constexpr std::uint64_t matchings_drawn = 4;
  /// The Metropolis weights of one graph. B = 1. \throws Error{invalid_argument} as MixingMatrix::metropolis, and naming a learner that
  /// cannot be reached from learner 0.
  [[nodiscard]] static Mixing of_graph(Count learners, std::span<const Edge> edges);
  /// These matrices over and over. B = their number.
  /// \throws Error{invalid_argument} when there is none, they are not for equally many learners, or some learner cannot be reached.
  [[nodiscard]] static Mixing repeating(std::vector<MixingMatrix> matrices);

  [[nodiscard]] std::size_t learners() const noexcept { return block_.front().learners(); }
  /// B.
  [[nodiscard]] std::uint64_t window() const noexcept { return window_; }
  /// A(round), valid until the next call. O(1) but for random matchings, which are made when a round of other ones is asked for:
  /// O(learners). \throws Error{environment} when OpenSSL fails to make matchings.
  [[nodiscard]] const MixingMatrix& at(std::uint64_t round);

 private:
  Mixing(std::vector<MixingMatrix> block, std::uint64_t window);

  std::vector<MixingMatrix> block_;  ///< the matrices of the rounds block_index_ x block_.size() and after, or of all rounds
  std::uint64_t window_;
  std::optional<std::uint64_t> seed_;  ///< of random matchings
  std::uint64_t block_index_ = 0;
};

/// Some learner that no path of entries joins to learner 0, whatever their order; none when all learners are connected. For doubly
/// stochastic matrices paths may ignore directions: what flows into a set of learners also flows out of it.
/// \pre the matrices are for equally many learners. O(entries log learners).
[[nodiscard]] std::optional<std::size_t> unreachable_learner(std::span<const MixingMatrix> matrices);

}  // namespace surety::optimizers
