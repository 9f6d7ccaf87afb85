#include <surety/optimizers/gossip/exchange.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include <surety/base/text/error.h>

namespace surety::optimizers {
namespace {

bool same_bytes(std::span<const double> a, std::span<const double> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

}  // namespace

LearnerRange part_of_node(std::size_t learners, std::size_t nodes, std::size_t node) {
  if (nodes == 0 || nodes > learners) {
    invalid(fmt::format("the number of nodes is {}, must be at least 1 and at most {}, the number of learners", nodes, learners));
  }
  if (node >= nodes) invalid(fmt::format("node is {}, must be less than {}, the number of nodes", node, nodes));
  const std::size_t size = learners / nodes;
  const std::size_t longer = learners % nodes;
  const std::size_t first = node * size + std::min(node, longer);
  return {first, first + size + (node < longer ? 1 : 0)};
}

void detail::add_weighted(double weight, std::span<const double> values, bool first, std::span<double> target) {
  if (first) {
    for (std::size_t k = 0; k < target.size(); ++k) target[k] = weight * values[k];
  } else {
    for (std::size_t k = 0; k < target.size(); ++k) target[k] += weight * values[k];
  }
}

void require_exchangeable(const MixingMatrix& matrix, std::size_t learners, LearnerRange local, std::span<const double> parameters,
                          std::span<const double> mixed) {
  if (matrix.learners() != learners) {
    invalid(fmt::format("the mixing matrix is for {} learners, must be for {}", matrix.learners(), learners));
  }
  if (parameters.empty() || parameters.size() % local.count() != 0) {
    invalid(fmt::format("{} parameters are no vectors of equal length for {} learners", parameters.size(), local.count()));
  }
  if (mixed.size() != parameters.size()) {
    invalid(fmt::format("there is room for {} mixed parameters, must be for {}", mixed.size(), parameters.size()));
  }
}

InProcessExchange::InProcessExchange(std::size_t learners) : learners_{learners} {
  if (learners == 0) invalid("the number of learners is 0, must be at least 1");
}

void InProcessExchange::exchange(std::uint64_t /*round*/, const MixingMatrix& matrix, std::span<const double> parameters,
                                 std::span<double> mixed) {
  require_exchangeable(matrix, learners_, local(), parameters, mixed);
  const std::size_t dimension = parameters.size() / learners_;
  for (std::size_t i = 0; i < learners_; ++i) {
    mix(
        matrix.row(i), [&](std::size_t j) { return parameters.subspan(j * dimension, dimension); },
        mixed.subspan(i * dimension, dimension));
  }
}

std::vector<double> InProcessExchange::gather(std::span<const double> parameters) { return {parameters.begin(), parameters.end()}; }

Inbox::Inbox(std::size_t learners, LearnerRange local, std::size_t dimension) : learners_{learners}, local_{local}, dimension_{dimension} {}

void Inbox::open(std::uint64_t round) {
  round_ = round;
  messages_.erase(messages_.begin(), messages_.lower_bound({round, 0}));
}

void Inbox::receive(std::uint64_t round, std::size_t learner, std::span<const double> values) {
  const auto damaged = [&](const std::string& reason) {
    throw Error{ErrorCode::environment, fmt::format("round {}: a message of learner {} {}", round, learner, reason)};
  };
  if (learner >= learners_ || local_.contains(learner)) damaged("came from another node, which does not own it");
  if (values.size() != dimension_) damaged(fmt::format("has {} values, must have {}", values.size(), dimension_));
  if (round < round_) {
    ++late_;
    return;
  }
  const auto [place, is_new] = messages_.try_emplace({round, learner}, values.begin(), values.end());
  if (is_new) return;
  if (!same_bytes(place->second, values)) damaged("differs from the one that came before");
  ++duplicates_;
}

std::optional<std::span<const double>> Inbox::values(std::size_t learner) const {
  const auto found = messages_.find({round_, learner});
  if (found == messages_.end()) return std::nullopt;
  return std::span<const double>{found->second};
}

std::optional<std::size_t> Inbox::missing(std::span<const std::size_t> awaited) const {
  for (const std::size_t learner : awaited) {
    if (!messages_.contains({round_, learner})) return learner;
  }
  return std::nullopt;
}

std::vector<std::size_t> awaited_learners(const MixingMatrix& matrix, LearnerRange local) {
  std::vector<std::size_t> awaited;
  for (std::size_t i = local.first; i < local.last; ++i) {
    for (const MixingWeight& entry : matrix.row(i)) {
      if (!local.contains(entry.learner)) awaited.push_back(entry.learner);
    }
  }
  std::sort(awaited.begin(), awaited.end());
  awaited.erase(std::unique(awaited.begin(), awaited.end()), awaited.end());
  return awaited;
}

bool awaits(const MixingMatrix& matrix, LearnerRange node, std::size_t learner) {
  for (std::size_t i = node.first; i < node.last; ++i) {
    const auto row = matrix.row(i);
    if (std::ranges::binary_search(row, learner, {}, &MixingWeight::learner)) return true;
  }
  return false;
}

void append_frame(std::uint64_t round, std::size_t learner, std::span<const double> values, std::vector<std::uint64_t>& words) {
  words.push_back(round);
  words.push_back(learner);
  for (const double value : values) words.push_back(std::bit_cast<std::uint64_t>(value));
}

void receive_frames(std::span<const std::uint64_t> words, Inbox& inbox) {
  const std::size_t size = frame_header + inbox.dimension();
  if (words.size() % size != 0) {
    throw Error{ErrorCode::environment,
                fmt::format("{} words came from another node, must be a multiple of {}, the length of a message", words.size(), size)};
  }
  std::vector<double> values(inbox.dimension());
  for (; !words.empty(); words = words.subspan(size)) {
    const auto bits = words.subspan(frame_header, inbox.dimension());
    std::transform(bits.begin(), bits.end(), values.begin(), [](std::uint64_t word) { return std::bit_cast<double>(word); });
    inbox.receive(words[0], static_cast<std::size_t>(words[1]), values);
  }
}

void refuse_to_wait(std::uint64_t round, std::size_t learner, std::chrono::milliseconds timeout) {
  const double seconds = static_cast<double>(timeout.count()) / 1000;
  throw Error{ErrorCode::environment, round >= gather_round
                                          ? fmt::format("no result of learner {} within {} s", learner, seconds)
                                          : fmt::format("round {}: no parameters of learner {} within {} s", round, learner, seconds)};
}

void mix_rows(const MixingMatrix& matrix, LearnerRange local, std::span<const double> parameters, const Inbox& inbox,
              std::span<double> mixed) {
  const std::size_t dimension = parameters.size() / local.count();
  const auto values_of = [&](std::size_t j) {
    return local.contains(j) ? parameters.subspan((j - local.first) * dimension, dimension) : inbox.values(j).value();
  };
  for (std::size_t i = local.first; i < local.last; ++i) {
    mix(matrix.row(i), values_of, mixed.subspan((i - local.first) * dimension, dimension));
  }
}

}  // namespace surety::optimizers
