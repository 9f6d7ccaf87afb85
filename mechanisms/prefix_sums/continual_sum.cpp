#include <surety/mechanisms/prefix_sums/continual_sum.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace surety::mechanisms {

void require_next_step(std::uint64_t taken, Count steps) {
  if (taken == steps.value()) {
    throw Error{ErrorCode::invalid_argument, fmt::format("step is {}, must be at most the horizon {}", taken + 1, steps.value())};
  }
}

void detail::require_epoch(Count steps, Count of_epoch, Grid grid, Grid first) {
  if (steps != of_epoch) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("the sum of an epoch is for {} steps, must be for {}", steps.value(), of_epoch.value())};
  }
  if (grid != first) {
    throw Error{ErrorCode::invalid_argument, fmt::format("the grid of an epoch has log2_step {}, must be that of the first, {}",
                                                         grid.log2_step.value(), first.log2_step.value())};
  }
}

BinaryTree::BinaryTree(Count steps, Count dimension, Grid grid, TreeEstimate estimate)
    : steps_{steps}, dimension_{dimension}, grid_{grid}, estimate_{estimate}, open_{.grid = grid, .steps = {}} {
  if (dimension.value() > std::uint64_t{1} << 32) {
    throw Error{ErrorCode::invalid_argument, fmt::format("dimension is {}, must be at most 2^32", dimension.value())};
  }
  const auto levels = accounting::tree_levels(steps).value();
  sums_.resize(levels);
  prefixes_.resize(levels);
  if (estimate == TreeEstimate::streaming) estimates_.resize(levels);
}

void BinaryTree::begin(const GridVector& contribution) {
  home_.require_here("this sum");
  if (broken_) throw Error{ErrorCode::invalid_argument, "an earlier push failed half way, so this sum takes no more"};
  require_next_step(pushed_, steps_);
  if (contribution.grid != grid_) {
    throw Error{ErrorCode::invalid_argument, fmt::format("the contribution's grid has log2_step {}, must be the sum's {}",
                                                         contribution.grid.log2_step.value(), grid_.log2_step.value())};
  }
  if (contribution.steps.size() != dimension_.value()) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("the contribution has {} coordinates, must have {}", contribution.steps.size(), dimension_.value())};
  }
  broken_ = true;  // until finish
}

void BinaryTree::add_left_half(std::size_t level) {
  const auto& half = sums_[level];
  for (std::size_t j = 0; j < half.size(); ++j) open_.steps[j] = saturating_add(open_.steps[j], half[j]);
}

void BinaryTree::average(Node& node, const Node& left, const Node& right) {
  // Weights inverse to the variances: that of the node itself, and that of its halves together.
  const double halves = left.variance + right.variance;
  const double own_weight = halves / (node.variance + halves);
  for (std::size_t j = 0; j < node.sum.size(); ++j) {
    node.sum[j] = own_weight * node.sum[j] + (1 - own_weight) * (left.sum[j] + right.sum[j]);
  }
  node.variance *= own_weight;
}

std::vector<double> BinaryTree::finish(std::size_t top, Node node) {
  ++pushed_;
  std::swap(sums_[top], open_.steps);
  if (estimate_ == TreeEstimate::streaming) {
    estimates_[top].variance = node.variance;
    estimates_[top].sum.assign(node.sum.begin(), node.sum.end());
  }
  // This node begins where the node of the next one bit ends, and so does the prefix. The released vector becomes the answer: large ones
  // are dear to allocate.
  if (const std::uint64_t before = pushed_ & (pushed_ - 1); before != 0) {
    const auto& earlier = prefixes_[static_cast<std::size_t>(std::countr_zero(before))];
    for (std::size_t j = 0; j < earlier.size(); ++j) node.sum[j] += earlier[j];
  }
  prefixes_[top].assign(node.sum.begin(), node.sum.end());
  broken_ = false;
  return std::move(node.sum);
}

Grid finest_grid(L2Sensitivity largest, NoiseMultiplier multiplier, Count steps) {
  const int log2_largest = std::ilogb(largest.value()) + 1;  // rounded up, like the others
  const int log2_multiplier = std::ilogb(multiplier.value()) + 1;
  const auto log2_steps = static_cast<int>(std::bit_width(steps.value()));
  return {.log2_step = log2_largest + std::max({-39, log2_multiplier - 56, log2_steps - 62})};
}

}  // namespace surety::mechanisms
