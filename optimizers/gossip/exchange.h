// How learners' released parameters reach their neighbours: the seam between a gossip algorithm and the machines that it runs on.
//
// m learners are spread over nodes; a node owns the learners [first, last). In round t learner i needs
//
//     b_t^i = sum over j of a_ij w~_t^j
//
// for the doubly stochastic matrix of the round (mixing.h), which all nodes know. An engine (`Exchange`) takes the parameters of its own
// learners and brings their b_t^i back. There is one vector for each (learner, round), so every neighbour gets the same bytes. Sums go over
// ascending j in one function, `mix`, so the result has the same bits however the learners are spread.
//
// Messages carry (round, learner): one that comes late, twice or early is noticed for what it is (`Inbox`). One that does not come at
// all ends the run with Error{environment} after a timeout; no engine waits longer.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <surety/optimizers/gossip/mixing.h>

namespace surety::optimizers {

/// The learners first, ..., last - 1.
struct LearnerRange {
  std::size_t first;
  std::size_t last;

  [[nodiscard]] std::size_t count() const noexcept { return last - first; }
  [[nodiscard]] bool contains(std::size_t learner) const noexcept { return first <= learner && learner < last; }
  friend bool operator==(const LearnerRange&, const LearnerRange&) = default;
};

/// The part of `node` when `learners` are spread over `nodes` in consecutive ranges whose sizes differ by at most 1, longer ones first.
/// \throws Error{invalid_argument} unless 1 <= nodes <= learners and node < nodes.
[[nodiscard]] LearnerRange part_of_node(std::size_t learners, std::size_t nodes, std::size_t node);

/// An engine. Both of its calls \throw Error{environment} when a message does not come in time; a run does not go on after that.
class Exchange {
 public:
  virtual ~Exchange() = default;

  [[nodiscard]] virtual std::size_t learners() const = 0;
  /// Those of this node.
  [[nodiscard]] virtual LearnerRange local() const = 0;
  /// `parameters` holds the vectors of this node's learners one after the other, and `mixed`, as long, receives their mixed vectors. Rounds
  /// increase from call to call and are below `gather_round`; every node calls it in every round.
  virtual void exchange(std::uint64_t round, const MixingMatrix& matrix, std::span<const double> parameters, std::span<double> mixed) = 0;
  /// The vectors of all learners, in order, as long as in `exchange`, at the node of learner 0; nothing at the others. At the end, at most twice.
  [[nodiscard]] virtual std::vector<double> gather(std::span<const double> parameters) = 0;
};

/// The round that messages of the first `gather` carry; those of the second carry the next one, the last that there is.
inline constexpr std::uint64_t gather_round = std::numeric_limits<std::uint64_t>::max() - 1;

/// How long an engine waits for the messages of a round.
inline constexpr std::chrono::milliseconds default_timeout{30'000};

/// mixed = sum of weight x values of a learner over `row`, in its order. `values_of(learner)` is that learner's vector, as long as `mixed`.
/// \pre `row` is not empty.
template <class ValuesOf>
void mix(std::span<const MixingWeight> row, ValuesOf values_of, std::span<double> mixed);

namespace detail {
/// target += weight x values, or = for the first. Not inline, so that every engine runs the same instructions.
void add_weighted(double weight, std::span<const double> values, bool first, std::span<double> target);
}  // namespace detail

template <class ValuesOf>
void mix(std::span<const MixingWeight> row, ValuesOf values_of, std::span<double> mixed) {
  bool first = true;
  for (const MixingWeight& entry : row) {
    detail::add_weighted(entry.weight, values_of(entry.learner), first, mixed);
    first = false;
  }
}

/// All learners on one node, which needs no messages.
class InProcessExchange final : public Exchange {
 public:
  /// \throws Error{invalid_argument} for no learners.
  explicit InProcessExchange(std::size_t learners);

  [[nodiscard]] std::size_t learners() const noexcept override { return learners_; }
  [[nodiscard]] LearnerRange local() const noexcept override { return {0, learners_}; }

  /// O(entries of the matrix x dimension). \throws Error{invalid_argument} when the lengths do not fit.
  void exchange(std::uint64_t round, const MixingMatrix& matrix, std::span<const double> parameters, std::span<double> mixed) override;
  [[nodiscard]] std::vector<double> gather(std::span<const double> parameters) override;

 private:
  std::size_t learners_;
};

/// What one node has received of other nodes' learners. For engines that send messages.
///
/// A message of the open round is kept; one of a later round waits until that is opened; one of an earlier round, and one that came before
/// with the same bytes, is counted and forgotten.
class Inbox {
 public:
  /// Messages of learners that are not in `local`, each of `dimension` values.
  Inbox(std::size_t learners, LearnerRange local, std::size_t dimension);

  /// Opens a round, which forgets all earlier ones. \pre rounds increase.
  void open(std::uint64_t round);

  /// \throws Error{environment} when the learner cannot be the sender, the length is wrong, or the learner has sent other values for
  ///         this round.
  void receive(std::uint64_t round, std::size_t learner, std::span<const double> values);

  /// What a learner sent in the open round, or nothing yet; valid until the next round is opened.
  [[nodiscard]] std::optional<std::span<const double>> values(std::size_t learner) const;
  /// The first learner of `awaited` that has sent nothing yet.
  [[nodiscard]] std::optional<std::size_t> missing(std::span<const std::size_t> awaited) const;

  [[nodiscard]] std::size_t dimension() const noexcept { return dimension_; }
  [[nodiscard]] std::uint64_t late() const noexcept { return late_; }              ///< messages of rounds that were over
  [[nodiscard]] std::uint64_t duplicates() const noexcept { return duplicates_; }  ///< messages that came again

 private:
  std::size_t learners_;
  LearnerRange local_;
  std::size_t dimension_;
  std::uint64_t round_ = 0;
  std::map<std::pair<std::uint64_t, std::size_t>, std::vector<double>> messages_;  ///< by round and learner
  std::uint64_t late_ = 0;
  std::uint64_t duplicates_ = 0;
};

/// The learners outside `local` that have a weight in a row of `local`, ascending: whose messages a node awaits.
[[nodiscard]] std::vector<std::size_t> awaited_learners(const MixingMatrix& matrix, LearnerRange local);
/// Whether a row of `node` has a weight for `learner`: whether that node awaits its message. O(entries of those rows).
[[nodiscard]] bool awaits(const MixingMatrix& matrix, LearnerRange node, std::size_t learner);

/// A message as 64-bit words: round, learner, and the bits of its values. Any number of them may follow each other.
inline constexpr std::size_t frame_header = 2;
void append_frame(std::uint64_t round, std::size_t learner, std::span<const double> values, std::vector<std::uint64_t>& words);
/// Hands every message in `words` to `inbox`. \throws Error{environment} when the words are no whole number of messages, and as
/// `Inbox::receive`.
void receive_frames(std::span<const std::uint64_t> words, Inbox& inbox);

/// What an engine throws when messages of a round did not come in time.
/// \throws Error{environment} "round 7: no parameters of learner 3 within 30 s", always.
[[noreturn]] void refuse_to_wait(std::uint64_t round, std::size_t learner, std::chrono::milliseconds timeout);

/// mixed = the rows of `local` times the vectors of all learners, of which `parameters` are the node's own. For engines that send messages.
/// \pre the inbox has all awaited learners of this round.
void mix_rows(const MixingMatrix& matrix, LearnerRange local, std::span<const double> parameters, const Inbox& inbox,
              std::span<double> mixed);

/// \throws Error{invalid_argument} when the matrix is not for `learners`, `parameters` are not equally long vectors of `local`, or `mixed`
/// is not as long.
void require_exchangeable(const MixingMatrix& matrix, std::size_t learners, LearnerRange local, std::span<const double> parameters,
                          std::span<const double> mixed);

}  // namespace surety::optimizers
