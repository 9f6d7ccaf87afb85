#include <surety/optimizers/bandits/polyhedral_bandit.h>

#include <optional>

namespace surety::optimizers {

namespace {

WarmUp warm_up_of(const PolyhedralBanditOptions& options) { return {options.arms, options.warm_up, options.arm.steps}; }

/// An arm makes no steps in the warm-up of the others.
PolyhedralFrankWolfeOptions arm_options(const PolyhedralBanditOptions& options) {
  static_cast<void>(warm_up_of(options));
  auto arm = options.arm;
  arm.steps = Count{arm.steps.value() - (options.arms.value() - 1) * options.warm_up.value()};
  return arm;
}

}  // namespace

Event plan(const PolyhedralBanditOptions& options) { return plan(arm_options(options)); }

namespace detail {

PolyhedralBanditSteps::PolyhedralBanditSteps(const PolyhedralBanditOptions& options, Count features)
    : warm_up_{warm_up_of(options)}, arms_(options.arms.value(), PolyhedralFrankWolfeSteps{arm_options(options), features}) {}

std::size_t PolyhedralBanditSteps::choose(const RowView& row) const {
  if (const auto turn = warm_up_.turn(users_)) return *turn;
  std::vector<double> scores;
  for (const auto& arm : arms_) scores.push_back(row.dot(arm.weights()));
  return best_arm(scores);
}

void PolyhedralBanditSteps::learn(ObjectiveRef objective, const RowView& row, double reward, Selector& selector) {
  const std::size_t chosen = choose(row);
  const std::optional<double> label = objective.encode_label(reward);
  const RowView nobody{.indices = {}, .values = {}, .norm = 0};
  const auto turn = warm_up_.turn(users_);
  for (std::size_t a = 0; a < arms_.size(); ++a) {
    if (turn && *turn != a) continue;
    arms_[a].observe(objective, a == chosen && label ? row : nobody, label.value_or(0), selector);
  }
  ++users_;
}

}  // namespace detail
}  // namespace surety::optimizers
