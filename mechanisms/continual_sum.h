// Private prefix sums of a stream: one vector is pushed at each step, and a noisy sum of all vectors so far comes back.
//
//   TreeSum<M>       the binary tree of Dwork, Naor, Pitassi, Rothblum (2010) and Chan, Shi, Song (2011), whose nodes are released by the
//                    mechanism M: Gaussian, Laplace, KNorm or GeneralizedGaussian
//
// One record takes part in one step, so the sensitivity that a stream is calibrated for is that of one push: how far replacing (adding,
// removing) a record moves the vector pushed at its step, given everything that was released before. Whoever pushes must see to it that a
// record reaches no other push except through released values.
//
// At step t the tree completes the nodes (t - 2^l, t] for all l up to the number of trailing zero bits of t. The plain estimate needs the
// largest of them alone: the prefix sum is that of the nodes named by the one bits of t. The streaming estimate of Honaker (2015) releases
// the smaller ones as well and averages each node with its two halves, the most accurate combination of what is known by time t. Either
// way a record is in at most floor(log2 n) + 1 nodes (docs/guarantees-composition.md#continual).
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/continual.h>
#include <surety/accounting/error.h>
#include <surety/accounting/event.h>
#include <surety/mechanisms/grid.h>
#include <surety/mechanisms/random_bits.h>

namespace surety::mechanisms {

/// push(contribution, bits): adds one step's vector and returns a noisy sum of all vectors pushed so far, in data units.
/// event(): what all pushes up to the horizon release together. steps(): the horizon, the largest number of pushes. grid(): that of the
/// contributions.
template <class S, class Bits>
concept ContinualSum = ReleaseBits<Bits> && requires(S& sum, const S& constant, const GridVector& contribution, Bits& bits) {
  { sum.push(contribution, bits) } -> std::same_as<std::vector<double>>;
  { constant.event() } -> std::same_as<Event>;
  { constant.steps() } -> std::same_as<Count>;
  { constant.grid() } -> std::same_as<Grid>;
};

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
  /// estimate of the prefix sum. O(dimension) on average, O(dimension log t) at worst.
  /// \throws Error{invalid_argument} before anything is added, when the horizon is reached or the contribution has another grid or
  ///         dimension; and what `release` throws, after which the tree refuses every further push.
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
  std::vector<double> finish(std::size_t top, Node node);

  Count steps_;
  Count dimension_;
  Grid grid_;
  TreeEstimate estimate_;
  std::uint64_t pushed_ = 0;
  bool broken_ = false;
  GridVector open_;                              ///< the node being completed
  std::vector<std::vector<std::int64_t>> sums_;  ///< by level: the exact sum of the node of that one bit of `pushed_`, in steps
  std::vector<Node> estimates_;                  ///< by level: its estimate
};

/// Prefix sums by a binary tree whose nodes are released by `mechanism`, calibrated for the sensitivity of one push.
///
/// Time per push: one release on average for the plain estimate, two for the streaming one. Memory: O(dimension log n).
template <class M>
class TreeSum {
 public:
  /// \throws Error{invalid_argument} as `BinaryTree`; Error{unsupported} when the mechanism's event cannot be a node.
  TreeSum(M mechanism, Count steps, Count dimension, TreeEstimate estimate = TreeEstimate::plain)
      : mechanism_{std::move(mechanism)},
        event_{accounting::tree(steps, mechanism_.event())},
        tree_{steps, dimension, mechanism_.options().grid, estimate} {}

  /// tree(steps, mechanism.event()): exact for Gaussian and Laplace nodes.
  [[nodiscard]] Event event() const { return event_; }
  [[nodiscard]] Count steps() const noexcept { return tree_.steps(); }
  [[nodiscard]] Grid grid() const noexcept { return mechanism_.options().grid; }
  [[nodiscard]] const M& mechanism() const noexcept { return mechanism_; }

  /// \throws Error{invalid_argument} as `BinaryTree::push`; Error{environment} when the bits fail.
  template <ReleaseBits Bits>
  [[nodiscard]] std::vector<double> push(const GridVector& contribution, Bits& bits) {
    return tree_.push(contribution,
                      [&](const GridVector& node) { return BinaryTree::Node{.sum = mechanism_.release(node, bits), .variance = 1}; });
  }

 private:
  M mechanism_;
  Event event_;
  BinaryTree tree_;
};

}  // namespace surety::mechanisms
