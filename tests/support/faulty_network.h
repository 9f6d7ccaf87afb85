// An exchange for tests: learners on several nodes of one process, whose messages a simulated network loses, delays, repeats and reorders.
//
// Every node runs on a thread of its own, as it would on a machine of its own, and reaches the others through the network alone.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include <surety/optimizers/gossip/exchange.h>

namespace surety::optimizers {

/// What happens to one message. Messages of different delays overtake each other.
struct Fate {
  bool lost = false;
  std::chrono::milliseconds delay{0};
  std::vector<std::chrono::milliseconds> copies = {};  ///< delays of further copies
};

/// Decides the fate of a message that `learner` sends to `node` in `round` (`gather_round` for results). Called under a lock.
using Fates = std::function<Fate(std::uint64_t round, std::size_t learner, std::size_t node)>;

/// What all nodes share. Safe to use from several threads.
class FaultyNetwork {
 public:
  /// \throws Error{invalid_argument} unless 1 <= nodes <= learners.
  FaultyNetwork(std::size_t learners, std::size_t nodes, Fates fates = {});

  [[nodiscard]] std::size_t learners() const noexcept { return learners_; }
  [[nodiscard]] std::size_t nodes() const noexcept { return mailboxes_.size(); }

  /// Sends one message on its way.
  void send(std::uint64_t round, std::size_t learner, std::size_t node, std::span<const double> values);
  /// The next message that has reached `node` as words (`append_frame`), or nothing when none does until `deadline`.
  [[nodiscard]] std::optional<std::vector<std::uint64_t>> receive(std::size_t node, std::chrono::steady_clock::time_point deadline);

 private:
  struct Letter {
    std::chrono::steady_clock::time_point arrival;
    std::uint64_t number;  ///< in the order of sending
    std::vector<std::uint64_t> words;
  };
  struct Later {
    bool operator()(const Letter& a, const Letter& b) const noexcept {
      return a.arrival != b.arrival ? a.arrival > b.arrival : a.number > b.number;
    }
  };
  using Mailbox = std::priority_queue<Letter, std::vector<Letter>, Later>;

  std::size_t learners_;
  Fates fates_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Mailbox> mailboxes_;
  std::uint64_t sent_ = 0;
};

/// One node of the network.
class FaultInjectingExchange final : public Exchange {
 public:
  /// The network must outlive this. \throws Error{invalid_argument} when there is no such node.
  FaultInjectingExchange(FaultyNetwork& network, std::size_t node, std::chrono::milliseconds timeout = default_timeout);

  [[nodiscard]] std::size_t learners() const noexcept override { return network_.learners(); }
  [[nodiscard]] LearnerRange local() const noexcept override { return local_; }

  /// Ends within the timeout. \throws Error{environment} naming a learner whose message did not come, or what is wrong with one that did;
  ///         Error{invalid_argument} when the lengths do not fit.
  void exchange(std::uint64_t round, const MixingMatrix& matrix, std::span<const double> parameters, std::span<double> mixed) override;
  [[nodiscard]] std::vector<double> gather(std::span<const double> parameters) override;

  /// What came, so far.
  [[nodiscard]] std::uint64_t late() const noexcept { return inbox_ ? inbox_->late() : 0; }
  [[nodiscard]] std::uint64_t duplicates() const noexcept { return inbox_ ? inbox_->duplicates() : 0; }

 private:
  [[nodiscard]] std::span<const double> vector_of(std::size_t learner, std::span<const double> parameters) const;
  void receive_all(std::uint64_t round, std::span<const std::size_t> awaited);

  FaultyNetwork& network_;
  std::size_t node_;
  LearnerRange local_;
  std::chrono::milliseconds timeout_;
  std::optional<Inbox> inbox_;
};

}  // namespace surety::optimizers
