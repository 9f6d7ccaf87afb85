#include <surety/optimizers/bandits/linear_bandit.h>

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/optimizers/problem/gradient_sum.h>

namespace surety::optimizers {

StreamShape<> shape(const LinearBanditOptions& options, Count features) {
  require_fixed_places(options.adjacency);
  static_cast<void>(WarmUp{options.arms, options.warm_up, options.steps});
  if (!(static_cast<double>(options.arms.value()) * static_cast<double>(features.value()) <= 0x1p32)) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("arms x features is {} x {}, must be at most 2^32", options.arms.value(), features.value())};
  }
  return one_push_per_record(options.steps, Count{options.arms.value() * features.value()}, options.clip, options.adjacency);
}

namespace detail {

LinearBanditSteps::LinearBanditSteps(const LinearBanditOptions& options, Count features)
    : options_{options},
      sensitivity_{shape(options, features).sensitivity},
      warm_up_{options.arms, options.warm_up, options.steps},
      features_{features.value()},
      arms_(options.arms.value(), Arm{std::vector<double>(features_, 0.0), std::vector<double>(features_, 0.0), {}, 0}) {}

std::size_t LinearBanditSteps::choose(const RowView& row) const {
  if (const auto turn = warm_up_.turn(users_)) return *turn;
  std::vector<double> scores(arms_.size());
  for (std::size_t a = 0; a < arms_.size(); ++a) scores[a] = row.dot(arms_[a].after_warm_up);
  const double least = scores[best_arm(scores)] - options_.preselection.value();
  for (std::size_t a = 0; a < arms_.size(); ++a) {
    scores[a] = scores[a] < least ? -std::numeric_limits<double>::infinity() : row.dot(arms_[a].weights);
  }
  return best_arm(scores);
}

void LinearBanditSteps::learn(ObjectiveRef objective, const LinearlyMinimizable& domain, const RowView& row, double reward,
                              StreamReleaser<>& stream) {
  const std::size_t chosen = choose(row);
  const auto turn = warm_up_.turn(users_);
  GridVector contribution{.grid = stream.grid(), .steps = std::vector<std::int64_t>(arms_.size() * features_)};
  const GridVector block =
      clipped_contribution(factor(objective, row, reward, arms_[chosen]), row, options_.clip, contribution.grid, features_);
  std::copy(block.steps.begin(), block.steps.end(), contribution.steps.begin() + static_cast<std::ptrdiff_t>(chosen * features_));
  const std::vector<double> sum = stream.push(contribution, sensitivity_);
  for (std::size_t a = 0; a < arms_.size(); ++a) {
    if (!turn || *turn == a) move(domain, arms_[a], std::span{sum}.subspan(a * features_, features_));
  }
  ++users_;
  if (turn && !warm_up_.turn(users_)) {
    for (Arm& arm : arms_) arm.after_warm_up = arm.weights;
  }
}

double LinearBanditSteps::factor(ObjectiveRef objective, const RowView& row, double reward, const Arm& arm) {
  const std::optional<double> label = objective.encode_label(reward);
  if (!label) return 0;
  const auto i = static_cast<double>(arm.steps + 1);
  return i * objective.derivative(row.dot(arm.weights), *label) - (i - 1) * objective.derivative(row.dot(arm.previous), *label);
}

void LinearBanditSteps::move(const LinearlyMinimizable& domain, Arm& arm, std::span<const double> sum) const {
  const std::vector<double> vertex = domain.minimize_linear(sum);
  const double step = options_.step_scale.value() / static_cast<double>(++arm.steps + 1);
  arm.previous = arm.weights;
  for (std::size_t j = 0; j < features_; ++j) arm.weights[j] += step * (vertex[j] - arm.weights[j]);
}

}  // namespace detail
}  // namespace surety::optimizers
