#include <support/faulty_network.h>

namespace surety::optimizers {

FaultyNetwork::FaultyNetwork(std::size_t learners, std::size_t nodes, Fates fates) : learners_{learners}, fates_{std::move(fates)} {
  static_cast<void>(part_of_node(learners, nodes, 0));  // refuses what cannot be
  mailboxes_.resize(nodes);
}

void FaultyNetwork::send(std::uint64_t round, std::size_t learner, std::size_t node, std::span<const double> values) {
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

std::optional<std::vector<std::uint64_t>> FaultyNetwork::receive(std::size_t node, std::chrono::steady_clock::time_point deadline) {
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

FaultInjectingExchange::FaultInjectingExchange(FaultyNetwork& network, std::size_t node, std::chrono::milliseconds timeout)
    : network_{network}, node_{node}, local_{part_of_node(network.learners(), network.nodes(), node)}, timeout_{timeout} {}

std::span<const double> FaultInjectingExchange::vector_of(std::size_t learner, std::span<const double> parameters) const {
  const std::size_t dimension = parameters.size() / local_.count();
  return parameters.subspan((learner - local_.first) * dimension, dimension);
}

void FaultInjectingExchange::receive_all(std::uint64_t round, std::span<const std::size_t> awaited) {
  inbox_->open(round);
  const auto deadline = std::chrono::steady_clock::now() + timeout_;
  while (const auto missing = inbox_->missing(awaited)) {
    const auto words = network_.receive(node_, deadline);
    if (!words) refuse_to_wait(round, *missing, timeout_);
    receive_frames(*words, *inbox_);
  }
}

void FaultInjectingExchange::exchange(std::uint64_t round, const MixingMatrix& matrix, std::span<const double> parameters,
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

std::vector<double> FaultInjectingExchange::gather(std::span<const double> parameters) {
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
