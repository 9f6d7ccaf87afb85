// Private prefix sums of a stream: one vector is pushed at each step, and a noisy sum of all vectors so far comes back.
//
//   TreeSum<M>          the binary tree of Dwork, Naor, Pitassi, Rothblum (2010) and Chan, Shi, Song (2011), whose nodes are released by
//                       the mechanism M: Gaussian, Laplace, KNorm or GeneralizedGaussian
//   AdaptiveTreeSum<N>  the same where each push says its sensitivity and a node's noise follows: N is ScaledGaussian, ScaledKNorm<S> or
//                       ScaledGeneralizedGaussian
//   RestartedSum<Sum>   any of these for an unknown horizon: a new sum for each of the epochs of 1, 2, 4, ... steps
//
// One record takes part in one step, so the sensitivity that a stream is calibrated for is that of one push: how far replacing (adding,
// removing) a record moves the vector pushed at its step, given everything that was released before. Whoever pushes must see to it that a
// record reaches no other push except through released values.
//
// At step t the tree completes the nodes (t - 2^l, t] for all l up to the number of trailing zero bits of t. The plain estimate needs the
// largest of them alone: the prefix sum is that of the nodes named by the one bits of t. The streaming estimate of Honaker (2015) releases
// the smaller ones as well and averages each node with its two halves, the most accurate combination of what is known by time t. Either
// way a record is in at most floor(log2 n) + 1 nodes (docs/proofs/composition.md#continual).
//
// A sum is charged once and keeps exact data and noise, so it takes pushes in the process that made it alone: in a copy made by fork the
// same nodes would be released again, with other noise. One thread at a time may use it.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <surety/accounting/events/continual.h>
#include <surety/accounting/events/event.h>
#include <surety/base/system/home_process.h>
#include <surety/base/text/error.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>

namespace surety::mechanisms {

/// push(contribution, bits): adds one step's vector and returns a noisy sum of all vectors pushed so far, in data units.
/// event(): what all pushes up to the horizon release together. steps(): the horizon, the largest number of pushes. grid(): that of the
/// contributions.
template <class S, class Bits = BitsRef>
concept ContinualSum = ReleaseBits<Bits> && requires(S& sum, const S& constant, const GridVector& contribution, Bits& bits) {
  { sum.push(contribution, bits) } -> std::same_as<std::vector<double>>;
  { constant.event() } -> std::same_as<Event>;
  { constant.steps() } -> std::same_as<Count>;
  { constant.grid() } -> std::same_as<Grid>;
};

/// The same for sums whose noise follows the stream: push(contribution, sensitivity, bits), where `sensitivity`, whose type names its norm,
/// bounds how far one record moves this contribution, and is public or a function of what was released before.
template <class S, class Sensitivity, class Bits = BitsRef>
concept AdaptiveContinualSum = ReleaseBits<Bits> &&
    requires(S& sum, const S& constant, const GridVector& contribution, Sensitivity sensitivity, Bits& bits) {
  { sum.push(contribution, sensitivity, bits) } -> std::same_as<std::vector<double>>;
  { constant.event() } -> std::same_as<Event>;
  { constant.steps() } -> std::same_as<Count>;
  { constant.grid() } -> std::same_as<Grid>;
};

/// \throws Error{invalid_argument} when all `steps` of a stream were taken.
void require_next_step(std::uint64_t taken, Count steps);

/// How prefix sums are made from the nodes of a tree.
enum class TreeEstimate {
  plain,     ///< the sum of the fewest nodes: releases one node at each step
  streaming  ///< Honaker's average over all nodes completed so far: about 3/4 of the plain error, releases two nodes per step on average
};

/// The nodes of a tree that are open or in use at the current step: no noise, no accounting. For use by the sums below.
class BinaryTree {
 public:
  /// \throws Error{invalid_argument} when the dimension is more than 2^32.
  BinaryTree(Count steps, Count dimension, Grid grid, TreeEstimate estimate);

  /// What the mechanism says of one node: its noisy sum in data units, and the variance of its noise in any unit that all nodes share.
  struct Node {
    std::vector<double> sum;
    double variance;
  };

  /// Adds `contribution`, releases each completed node through `release(const GridVector& node) -> Node`, smallest first, and returns the
  /// estimate of the prefix sum. O(dimension) on average, O(dimension log t) at worst; no memory is taken once the stream has doubled.
  /// \throws Error{invalid_argument} before anything is added, when the horizon is reached, the contribution has another grid or
  ///         dimension, or this is a process made by fork; and what `release` throws, after which the tree refuses every further push.
  template <class Release>
  std::vector<double> push(const GridVector& contribution, Release release) {
    begin(contribution);
    const auto top = static_cast<std::size_t>(std::countr_zero(pushed_ + 1));
    open_ = contribution;
    std::optional<Node> half;  // the estimate of the right half of the next node
    for (std::size_t level = 0; level <= top; ++level) {
      if (level > 0) add_left_half(level - 1);
      if (estimate_ == TreeEstimate::streaming) {
        Node node = release(std::as_const(open_));
        if (level > 0) average(node, estimates_[level - 1], *half);
        half = std::move(node);
      } else if (level == top) {
        half = release(std::as_const(open_));
      }
    }
    return finish(top, std::move(*half));
  }

  [[nodiscard]] Count steps() const noexcept { return steps_; }
  [[nodiscard]] std::uint64_t pushed() const noexcept { return pushed_; }
  [[nodiscard]] TreeEstimate estimate() const noexcept { return estimate_; }

 private:
  void begin(const GridVector& contribution);
  /// Adds the exact sum of the completed left half at `level` to the open node.
  void add_left_half(std::size_t level);
  /// The most accurate combination of a node and the sum of its two halves' estimates.
  static void average(Node& node, const Node& left, const Node& right);
  /// Stores the completed node of level `top` and returns the prefix sum that it ends.
  std::vector<double> finish(std::size_t top, Node node);

  HomeProcess home_;
  Count steps_;
  Count dimension_;
  Grid grid_;
  TreeEstimate estimate_;
  std::uint64_t pushed_ = 0;
  bool broken_ = false;
  GridVector open_;  ///< the node being completed
  // By level, where that bit of `pushed_` is one; what is left elsewhere is overwritten before it is read.
  std::vector<std::vector<std::int64_t>> sums_;  ///< the exact sum of the node of that bit, in steps
  std::vector<std::vector<double>> prefixes_;    ///< the estimate of the prefix that this node ends
  std::vector<Node> estimates_;                  ///< the streaming estimate of this node
};

/// Prefix sums by a binary tree whose nodes are released by `mechanism`, calibrated for the sensitivity of one push.
///
/// Time per push: one release on average for the plain estimate, two for the streaming one. Memory: 16 bytes per coordinate and level for
/// the plain estimate, 24 for the streaming one, besides a few vectors.
template <class M>
class TreeSum {
 public:
  /// \throws Error{invalid_argument} as `BinaryTree`; Error{unsupported} when the mechanism's event cannot be a node.
  TreeSum(M mechanism, Count steps, Count dimension, TreeEstimate estimate = TreeEstimate::plain)
      : event_{accounting::tree(steps, mechanism.event())}, tree_{steps, dimension, mechanism.options().grid, estimate} {
    mechanisms_.push_back(std::move(mechanism));
  }

  /// A mechanism for each level, the leaves' first, so that a budget is split over the levels (`accounting::split_over_levels`). They are
  /// for the same sensitivity; the streaming estimate weighs nodes by their multipliers or scales.
  /// \throws as above; Error{invalid_argument} unless there are `accounting::tree_levels(steps)` of them on one grid.
  TreeSum(std::vector<M> levels, Count steps, Count dimension, TreeEstimate estimate = TreeEstimate::plain)
      : mechanisms_{std::move(levels)},
        event_{accounting::tree(steps, events_of(mechanisms_))},
        tree_{steps, dimension, mechanisms_.front().options().grid, estimate} {
    for (const auto& mechanism : mechanisms_) {
      if (mechanism.options().grid != mechanisms_.front().options().grid) {
        throw Error{ErrorCode::invalid_argument, "the levels of a tree have different grids, must have one"};
      }
    }
  }

  /// tree(steps, mechanism.event()): exact for Gaussian and Laplace nodes.
  [[nodiscard]] Event event() const { return event_; }
  [[nodiscard]] Count steps() const noexcept { return tree_.steps(); }
  [[nodiscard]] Grid grid() const noexcept { return mechanism().options().grid; }
  /// That of the leaves, where levels differ.
  [[nodiscard]] const M& mechanism() const noexcept { return mechanisms_.front(); }

  /// \throws Error{invalid_argument} as `BinaryTree::push`; Error{environment} when the bits fail.
  [[nodiscard]] std::vector<double> push(const GridVector& contribution, BitsRef bits) {
    // The streaming estimate releases the nodes of all levels up to the top, the plain one the top alone.
    std::size_t level = tree_.estimate() == TreeEstimate::streaming ? 0 : static_cast<std::size_t>(std::countr_zero(tree_.pushed() + 1));
    return tree_.push(contribution, [&](const GridVector& node) {
      const M& mechanism = mechanisms_.size() == 1 ? mechanisms_.front() : mechanisms_[level];
      ++level;
      return BinaryTree::Node{.sum = mechanism.release(node, bits), .variance = relative_variance(mechanism)};
    });
  }

 private:
  static std::vector<Event> events_of(const std::vector<M>& levels) {
    std::vector<Event> events;
    for (const auto& level : levels) events.push_back(level.event());
    return events;
  }
  /// In units of the leaves'; all the same for a mechanism that names neither multiplier nor scale.
  [[nodiscard]] double relative_variance(const M& mechanism) const {
    const auto noise = [](const M& level) {
      if constexpr (requires { level.options().multiplier; }) {
        return level.options().multiplier.value();
      } else if constexpr (requires { level.options().scale; }) {
        return level.options().scale.value();
      } else {
        return 1.0;
      }
    };
    const double ratio = std::clamp(noise(mechanism) / noise(mechanisms_.front()), 0x1p-400, 0x1p400);
    return ratio * ratio;
  }

  std::vector<M> mechanisms_;  ///< one for all levels, or one for each
  Event event_;
  BinaryTree tree_;
};

/// The public grid for sums of sensitivities up to `largest`, however small the others: the finest on which `RecordSum` takes records of
/// that size (2^39 steps), the noise has at most 2^56 steps and no sum of `steps` contributions of that size saturates.
///
/// Noise is rounded exactly at every scale, so the grid has no part in privacy; and rounding a record toward zero moves it per coordinate
/// by less than 2^-38 of the largest sensitivity, as long as multiplier and steps are below 2^17 and 2^23, and more above.
/// \throws Error{invalid_argument} where no grid has such a step.
[[nodiscard]] Grid finest_grid(L2Sensitivity largest, NoiseMultiplier multiplier, Count steps);

/// Prefix sums by a binary tree whose noise follows the stream: node (t - 2^l, t] is released with the largest sensitivity that was said of
/// its own steps, so a record that can do little is not buried under the noise of others.
///
/// A record of step q is in nodes that all have at least the noise that its own sensitivity asks for, hence the event is that of a tree of
/// fixed sensitivities, on every transcript: tree(steps, nodes.event()) (docs/proofs/composition.md#adaptive-tree).
template <class N>
class AdaptiveTreeSum {
 public:
  using Sensitivity = typename N::Sensitivity;

  /// \throws as `TreeSum`.
  AdaptiveTreeSum(N nodes, Count steps, Count dimension, TreeEstimate estimate = TreeEstimate::plain)
      : nodes_{std::move(nodes)},
        event_{accounting::tree(steps, nodes_.event())},
        tree_{steps, dimension, nodes_.options().grid, estimate},
        largest_(accounting::tree_levels(steps).value()) {}

  [[nodiscard]] Event event() const { return event_; }
  [[nodiscard]] Count steps() const noexcept { return tree_.steps(); }
  [[nodiscard]] Grid grid() const noexcept { return nodes_.options().grid; }
  [[nodiscard]] const N& nodes() const noexcept { return nodes_; }

  /// `sensitivity` bounds how far one record moves this contribution, and is public or a function of released values: never of the data.
  /// \throws Error{invalid_argument} as `BinaryTree::push`, and when the noise is more than 2^56 grid steps, after which the sum refuses
  ///         every further push; Error{environment} when the bits fail.
  [[nodiscard]] std::vector<double> push(const GridVector& contribution, Sensitivity sensitivity, BitsRef bits) {
    const auto top = static_cast<std::size_t>(std::countr_zero(tree_.pushed() + 1));
    double largest = sensitivity.value();
    // The streaming estimate releases the nodes of all levels up to the top, the plain one the top alone.
    std::size_t level = tree_.estimate() == TreeEstimate::streaming ? 0 : top;
    std::size_t joined = 0;
    auto prefix = tree_.push(contribution, [&](const GridVector& node) {
      // A node of level l is the step itself and the completed left halves of the levels below l.
      for (; joined < level; ++joined) largest = std::max(largest, largest_[joined]);
      ++level;
      return release(node, largest, bits);
    });
    largest_[top] = largest;
    return prefix;
  }

 private:
  BinaryTree::Node release(const GridVector& node, double sensitivity, BitsRef bits) const {
    // Within these bounds every ratio of variances is that of finite positive numbers; beyond, weights only lose accuracy.
    const double scale = std::clamp(sensitivity * nodes_.options().grid.steps_per_unit(), 0x1p-400, 0x1p400);
    return {.sum = nodes_.release(node, Sensitivity{sensitivity}, bits), .variance = scale * scale};
  }

  N nodes_;
  Event event_;
  BinaryTree tree_;
  std::vector<double> largest_;  ///< by level, where that bit of the pushes is one: the largest sensitivity of that node's steps
};

namespace detail {
/// \throws Error{invalid_argument} unless the sum of an epoch is for as many steps as it has, on the grid of the first epoch.
void require_epoch(Count steps, Count of_epoch, Grid grid, Grid first);
}  // namespace detail

/// Prefix sums of a stream whose length is unknown: a new sum for each of the epochs of 1, 2, 4, ... steps. The prefix is the last estimate
/// of each ended epoch plus that of the current one.
///
/// A record is in one epoch, so what is charged is the dearest epoch and not the sum. All epochs up to the planned maximum are charged
/// before the first draw; where each is calibrated for one target, the whole meets it, and planning far ahead costs nothing.
template <class Sum>
class RestartedSum {
 public:
  /// `make(Count epoch_steps) -> Sum` is called for every epoch up to `steps`, the largest number of pushes, at once.
  /// Memory: that of the sums before their first push.
  /// \throws what `make` throws; Error{invalid_argument} when it makes a sum of another horizon, or adjacencies or grids differ.
  template <class Make>
  RestartedSum(Count steps, Make make) : steps_{steps}, epochs_{epochs_of(steps, make)}, event_{event_of(epochs_)} {}

  /// The parallel composition of the epochs, the last one charged as if completed: `accounting::doubling_tree` for trees.
  [[nodiscard]] Event event() const { return event_; }
  [[nodiscard]] Count steps() const noexcept { return steps_; }
  /// That of all epochs.
  [[nodiscard]] Grid grid() const noexcept { return epochs_.front().grid(); }

  /// \throws as the push of the epochs' sums; Error{invalid_argument} when `steps` were pushed.
  [[nodiscard]] std::vector<double> push(const GridVector& contribution, BitsRef bits) requires ContinualSum<Sum> {
    return push_to([&](Sum& epoch) { return epoch.push(contribution, bits); });
  }
  template <class Sensitivity>
  requires AdaptiveContinualSum<Sum, Sensitivity>
  [[nodiscard]] std::vector<double> push(const GridVector& contribution, Sensitivity sensitivity, BitsRef bits) {
    return push_to([&](Sum& epoch) { return epoch.push(contribution, sensitivity, bits); });
  }

 private:
  template <class Make>
  static std::vector<Sum> epochs_of(Count steps, Make& make) {
    std::vector<Sum> epochs;
    // Epoch i holds the steps 2^i to 2^(i+1) - 1.
    for (std::uint64_t first = 1; first <= steps.value(); first *= 2) {
      epochs.push_back(make(Count{first}));
      detail::require_epoch(epochs.back().steps(), Count{first}, epochs.back().grid(), epochs.front().grid());
    }
    return epochs;
  }
  static Event event_of(const std::vector<Sum>& epochs) {
    std::vector<Event> events;
    for (const auto& epoch : epochs) events.push_back(epoch.event());
    return accounting::restarted(std::move(events));
  }

  template <class Push>
  std::vector<double> push_to(Push push) {
    require_next_step(pushed_, steps_);
    const auto epoch = static_cast<std::size_t>(std::bit_width(pushed_ + 1)) - 1;
    auto prefix = push(epochs_[epoch]);
    ++pushed_;
    if (!ended_.empty()) {
      for (std::size_t j = 0; j < prefix.size(); ++j) prefix[j] += ended_[j];
    }
    if (std::has_single_bit(pushed_ + 1)) ended_ = prefix;  // the next step begins an epoch
    return prefix;
  }

  Count steps_;
  std::vector<Sum> epochs_;
  Event event_;
  std::uint64_t pushed_ = 0;
  std::vector<double> ended_;  ///< the estimate of the prefix of all ended epochs; empty before one ended
};

}  // namespace surety::mechanisms
