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
class FaultInjectingExchange {
 public:
  /// The network must outlive this. \throws Error{invalid_argument} when there is no such node.
  FaultInjectingExchange(FaultyNetwork& network, std::size_t node, std::chrono::milliseconds timeout = default_timeout);

  [[nodiscard]] std::size_t learners() const noexcept { return network_.learners(); }
  [[nodiscard]] LearnerRange local() const noexcept { return local_; }

  /// Ends within the timeout. \throws Error{environment} naming a learner whose message did not come, or what is wrong with one that did;
  ///         Error{invalid_argument} when the lengths do not fit.
  void exchange(std::uint64_t round, const MixingMatrix& matrix, std::span<const double> parameters, std::span<double> mixed);
  [[nodiscard]] std::vector<double> gather(std::span<const double> parameters);

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

static_assert(Exchange<FaultInjectingExchange>);

inline FaultyNetwork::FaultyNetwork(std::size_t learners, std::size_t nodes, Fates fates) : learners_{learners}, fates_{std::move(fates)} {
  static_cast<void>(part_of_node(learners, nodes, 0));  // refuses what cannot be
  mailboxes_.resize(nodes);
}

inline void FaultyNetwork::send(std::uint64_t round, std::size_t learner, std::size_t node, std::span<const double> values) {
  std::vector<std::uint64_t> words;
  append_frame(round, learner, values, words);
  const auto now = std::chrono::steady_clock::now();
  {
    const std::lock_guard lock{mutex_};
    const Fate fate = fates_ ? fates_(round, learner, node) : Fate{};
    if (!fate.lost) mailboxes_[node].push({.arrival = now + fate.delay, .number = sent_++, .words = words});
    for (const auto delay : fate.copies) mailboxes_[node].push({.arrival = now + delay, .number = sent_++, .words = words});
  }
  changed_.notify_all();
}

inline std::optional<std::vector<std::uint64_t>> FaultyNetwork::receive(std::size_t node, std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock{mutex_};
  Mailbox& mailbox = mailboxes_[node];
  while (true) {
    const auto now = std::chrono::steady_clock::now();
    if (!mailbox.empty() && mailbox.top().arrival <= now) {
      auto words = mailbox.top().words;
      mailbox.pop();
      return words;
    }
    if (now >= deadline) return std::nullopt;
    const std::chrono::steady_clock::time_point until = mailbox.empty() ? deadline : std::min(deadline, mailbox.top().arrival);
    changed_.wait_until(lock, until);  // a copy: the mailbox changes meanwhile
  }
}

inline FaultInjectingExchange::FaultInjectingExchange(FaultyNetwork& network, std::size_t node, std::chrono::milliseconds timeout)
    : network_{network}, node_{node}, local_{part_of_node(network.learners(), network.nodes(), node)}, timeout_{timeout} {}

inline std::span<const double> FaultInjectingExchange::vector_of(std::size_t learner, std::span<const double> parameters) const {
  const std::size_t dimension = parameters.size() / local_.count();
  return parameters.subspan((learner - local_.first) * dimension, dimension);
}

inline void FaultInjectingExchange::receive_all(std::uint64_t round, std::span<const std::size_t> awaited) {
  inbox_->open(round);
  const auto deadline = std::chrono::steady_clock::now() + timeout_;
  while (const auto missing = inbox_->missing(awaited)) {
    const auto words = network_.receive(node_, deadline);
    if (!words) refuse_to_wait(round, *missing, timeout_);
    receive_frames(*words, *inbox_);
  }
}

inline void FaultInjectingExchange::exchange(std::uint64_t round, const MixingMatrix& matrix, std::span<const double> parameters,
                                             std::span<double> mixed) {
  require_exchangeable(matrix, learners(), local_, parameters, mixed);
  if (!inbox_) inbox_.emplace(learners(), local_, parameters.size() / local_.count());
  for (std::size_t node = 0; node < network_.nodes(); ++node) {
    if (node == node_) continue;
    const LearnerRange other = part_of_node(learners(), network_.nodes(), node);
    for (std::size_t learner = local_.first; learner < local_.last; ++learner) {
      if (awaits(matrix, other, learner)) network_.send(round, learner, node, vector_of(learner, parameters));
    }
  }
  receive_all(round, awaited_learners(matrix, local_));
  mix_rows(matrix, local_, parameters, *inbox_, mixed);
}

inline std::vector<double> FaultInjectingExchange::gather(std::span<const double> parameters) {
  if (!inbox_) inbox_.emplace(learners(), local_, parameters.size() / local_.count());
  if (node_ != 0) {
    for (std::size_t learner = local_.first; learner < local_.last; ++learner) {
      network_.send(gather_round, learner, 0, vector_of(learner, parameters));
    }
    return {};
  }
  std::vector<std::size_t> others;
  for (std::size_t learner = local_.last; learner < learners(); ++learner) others.push_back(learner);
  receive_all(gather_round, others);
  std::vector<double> all{parameters.begin(), parameters.end()};
  for (const std::size_t learner : others) {
    const auto values = inbox_->values(learner).value();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

}  // namespace surety::optimizers
