#include <surety/optimizers/bandits/linear_ucb.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <surety/base/text/error.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/bandits/bandit.h>
#include <surety/optimizers/problem/domain.h>
#include <surety/optimizers/problem/gradient_sum.h>

namespace surety::optimizers {
namespace {

/// Where entry (i, j), i <= j, of a matrix of `size` rows is in its upper triangle, row by row.
std::size_t place(std::size_t i, std::size_t j, std::size_t size) { return i * size - i * (i + 1) / 2 + j; }

/// The Cholesky factor of the leading `size` rows of a block plus `ridge` I, row by row: false when a pivot is below ridge / 4.
bool factorize(std::span<const double> block, std::size_t size, double ridge, std::vector<double>& factor) {
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double entry = block[place(j, i, size + 1)] + (i == j ? ridge : 0);
      for (std::size_t k = 0; k < j; ++k) entry -= factor[i * size + k] * factor[j * size + k];
      if (j < i) {
        factor[i * size + j] = entry / factor[j * size + j];
      } else {
        if (!(entry >= ridge / 4) || !std::isfinite(entry)) return false;
        factor[i * size + i] = std::sqrt(entry);
      }
    }
  }
  return true;
}

/// factor^-1 b.
std::vector<double> forward(std::span<const double> factor, std::vector<double> b) {
  const std::size_t size = b.size();
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= factor[i * size + k] * b[k];
    b[i] /= factor[i * size + i];
  }
  return b;
}

/// factor^-T b.
std::vector<double> backward(std::span<const double> factor, std::vector<double> b) {
  const std::size_t size = b.size();
  for (std::size_t i = size; i-- > 0;) {
    for (std::size_t k = i + 1; k < size; ++k) b[i] -= factor[k * size + i] * b[k];
    b[i] /= factor[i * size + i];
  }
  return b;
}

}  // namespace

StreamShape<> shape(const LinearUcbOptions& options, Count features) {
  require_fixed_places(options.adjacency);
  const auto d = static_cast<double>(features.value());
  if (!(static_cast<double>(options.arms.value()) * (d + 1) * (d + 2) / 2 <= 0x1p32)) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("matrices of {} features for {} arms have more than 2^32 coordinates", features.value(), options.arms.value())};
  }
  const double moved = options.adjacency == Adjacency::replace_one ? std::numbers::sqrt2 * options.clip.value() : options.clip.value();
  return {.steps = options.steps,
          .dimension = Count{options.arms.value() * block_size(features.value())},
          .sensitivity = L2Sensitivity{moved},
          .adjacency = options.adjacency};
}

void require_fine_grid(const LinearUcbOptions& options, Count features, Grid grid) {
  const std::uint64_t block = block_size(features.value());
  if (!(grid.step() * std::sqrt(static_cast<double>(block)) <= 0x1p-12 * options.clip.value())) {
    throw Error{ErrorCode::invalid_argument, fmt::format("grid step is {}, must be at most 2^-12 of the clipping norm {} over sqrt({})",
                                                         grid.step(), options.clip.value(), block)};
  }
}

PaperWidth paper_width(const LinearUcbOptions& options, Count features, const PaperWidthOptions& width) {
  const auto d = static_cast<double>(features.value());
  const auto users = static_cast<double>(options.steps.value());
  const double matrices = users * static_cast<double>(options.arms.value());
  const double chances = std::sqrt(std::log(4 * matrices / width.failure));
  const double noise = width.deviation > 0 ? width.deviation * (2 * std::sqrt(d + 1) + 2 * chances) : 1;
  const double moments = width.deviation * (std::sqrt(d) + std::numbers::sqrt2 * chances) / std::sqrt(noise);
  const double unit = options.row_norm.value() / options.reward_bound.value();
  const double statistical = width.reward_deviation / options.reward_bound.value() *
                             std::sqrt(2 * std::log(2 / width.failure) + d * std::log(3 + users / (d * noise)));
  return {.ridge = Ridge{2 * noise},
          .exploration = Exploration{statistical + width.parameter_norm * unit * std::sqrt(3 * noise) + moments}};
}

LinearUcb::LinearUcb(const LinearUcbOptions& options, Count features)
    : options_{options},
      sensitivity_{shape(options, features).sensitivity},
      features_{features.value()},
      arms_(options.arms.value(), Arm{std::vector<double>(features_ * features_), std::vector<double>(features_)}) {
  estimate(std::vector<double>(arms_.size() * block_size(features_)));
}

std::vector<double> LinearUcb::scaled(const RowView& row) const {
  if (!row.is_sparse() && !row.values.empty()) require_dimension("the row", row.values.size(), features_);
  std::vector<double> x(features_);
  if (!std::isfinite(row.norm) || row.norm == 0) return x;
  const double longest = std::max(row.norm, options_.row_norm.value());
  for (std::size_t k = 0; k < row.values.size(); ++k) {
    const std::size_t j = row.is_sparse() ? row.indices[k] : k;
    if (j < features_) x[j] = row.values[k] / longest;
  }
  return x;
}

std::size_t LinearUcb::choose(const RowView& row) const {
  const std::vector<double> x = scaled(row);
  std::vector<double> scores;
  for (const Arm& arm : arms_) {
    double mean = 0;
    for (std::size_t j = 0; j < features_; ++j) mean += arm.weights[j] * x[j];
    scores.push_back(mean + options_.exploration.value() * mechanisms::l2_norm(forward(arm.factor, x)));
  }
  return best_arm(scores);
}

GridVector LinearUcb::contribution(const RowView& row, double reward, Grid grid) const {
  const std::size_t block = block_size(features_);
  require_fine_grid(options_, Count{features_}, grid);
  std::vector<double> v = scaled(row);
  v.push_back(std::clamp(reward / options_.reward_bound.value(), -1.0, 1.0));
  if (!std::isfinite(reward)) v.assign(features_ + 1, 0.0);
  std::vector<double> products(block);
  for (std::size_t i = 0; i <= features_; ++i) {
    for (std::size_t j = i; j <= features_; ++j) products[place(i, j, features_ + 1)] = v[i] * v[j];
  }
  // Rounding may turn the angle of two blocks beyond a right one, by as much as this leaves room for (docs/proofs/bandits.md#ucb).
  const ClippingNorm clip{options_.clip.value() * (1 - 0x1p-10)};
  const GridVector mine =
      clipped_contribution(1, {.indices = {}, .values = products, .norm = mechanisms::l2_norm(products)}, clip, grid, block);
  GridVector all{.grid = grid, .steps = std::vector<std::int64_t>(arms_.size() * block)};
  std::copy(mine.steps.begin(), mine.steps.end(), all.steps.begin() + static_cast<std::ptrdiff_t>(choose(row) * block));
  return all;
}

void LinearUcb::estimate(std::span<const double> sums) {
  const std::size_t size = block_size(features_);
  for (std::size_t a = 0; a < arms_.size(); ++a) {
    const auto block = sums.subspan(a * size, size);
    Arm& arm = arms_[a];
    double ridge = options_.ridge.value();
    while (!factorize(block, features_, ridge, arm.factor) && std::isfinite(ridge)) ridge *= 2;
    if (!std::isfinite(ridge)) {  // sums beyond the range of double: nothing can be learned from them
      for (std::size_t i = 0; i < features_; ++i) {
        for (std::size_t j = 0; j < features_; ++j) arm.factor[i * features_ + j] = i == j ? 1 : 0;
      }
      arm.weights.assign(features_, 0.0);
      continue;
    }
    std::vector<double> moments(features_);
    for (std::size_t j = 0; j < features_; ++j) moments[j] = block[place(j, features_, features_ + 1)];
    arm.weights = backward(arm.factor, forward(arm.factor, std::move(moments)));
  }
}

std::vector<double> LinearUcb::weights(std::size_t arm) const {
  std::vector<double> result = arms_.at(arm).weights;
  for (double& weight : result) weight *= options_.reward_bound.value() / options_.row_norm.value();
  return result;
}

}  // namespace surety::optimizers
