#include <surety/optimizers/streams/polyhedral_frank_wolfe.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/mechanisms/prefix_sums/continual_sum.h>
#include <surety/optimizers/doors/stream.h>
#include <surety/optimizers/problem/domain.h>

namespace surety::optimizers {

Event choice(const PolyhedralFrankWolfeOptions& options, std::uint64_t t) {
  const auto first = static_cast<double>(std::bit_floor(t));
  const Epsilon epsilon{std::sqrt(first) / (first + 1) / options.noise_multiplier.value()};
  return options.laplace ? pure(epsilon, options.adjacency) : exponential(epsilon, options.adjacency);
}

Event plan(const PolyhedralFrankWolfeOptions& options) {
  require_fixed_places(options.adjacency);
  const std::uint64_t n = options.steps.value();
  if (n > std::uint64_t{1} << 40) throw Error{ErrorCode::invalid_argument, fmt::format("steps is {}, must be at most 2^40", n)};
  std::vector<Event> octaves;
  for (std::uint64_t first = 1; first <= n; first *= 2) {
    octaves.push_back(repeat(Count{std::min(2 * first, n + 1) - first}, choice(options, first)));
  }
  return compose(std::move(octaves));
}

namespace detail {

PolyhedralFrankWolfeSteps::PolyhedralFrankWolfeSteps(const PolyhedralFrankWolfeOptions& options, Count features)
    : options_{options},
      weights_(features.value(), 0.0),
      previous_(features.value(), 0.0),
      sum_(features.value(), 0),
      scores_(2 * features.value()) {
  static_cast<void>(plan(options));
  // n contributions of at most 2^bits steps stay below 2^52, so that every score is an exact double.
  const int bits = std::min(30, 51 - static_cast<int>(std::bit_width(options.steps.value())));
  largest_ = std::int64_t{1} << bits;
}

void PolyhedralFrankWolfeSteps::observe(ObjectiveRef objective, const RowView& row, double label, Selector& selector) {
  mechanisms::require_next_step(steps_, options_.steps);
  if (!row.is_sparse() && !row.values.empty()) require_dimension("the row", row.values.size(), weights_.size());
  const auto t = static_cast<double>(++steps_);
  add(t * objective.derivative(row.dot(weights_), label) - (t - 1) * objective.derivative(row.dot(previous_), label), row);
  for (std::size_t j = 0; j < sum_.size(); ++j) {
    scores_[2 * j] = -static_cast<double>(sum_[j]);  // of +R e_j
    scores_[2 * j + 1] = static_cast<double>(sum_[j]);
  }
  const std::size_t chosen = selector.select(scores_, sensitivity(), ScoreChange::range, choice(options_, steps_));
  previous_ = weights_;
  const double step = options_.step_scale.value() / (t + 1);
  for (double& weight : weights_) weight *= 1 - step;
  weights_[chosen / 2] += (chosen % 2 == 0 ? step : -step) * options_.radius.value();
}

ScoreSensitivity PolyhedralFrankWolfeSteps::sensitivity() const {
  const auto one_record = static_cast<double>(largest_);
  return ScoreSensitivity{options_.adjacency == Adjacency::replace_one ? 4 * one_record : 2 * one_record};
}

void PolyhedralFrankWolfeSteps::add(double factor, const RowView& row) {
  double largest = 0;
  for (const double value : row.values) largest = std::max(largest, std::abs(value));
  const double norm = std::abs(factor) * largest;
  if (!std::isfinite(norm) || norm == 0) return;
  const auto bound = static_cast<double>(largest_);
  const double steps_per_unit = bound / options_.clip.value();
  const double scale = factor * std::min(1.0, options_.clip.value() / norm);
  // The range of the changes is that of a record which names no coordinate twice: hence the increasing order.
  std::size_t next = 0;
  for (std::size_t k = 0; k < row.values.size(); ++k) {
    const std::size_t j = row.is_sparse() ? row.indices[k] : k;
    const double steps = scale * row.values[k] * steps_per_unit;
    if (j < next || j >= sum_.size() || std::isnan(steps)) continue;
    sum_[j] += static_cast<std::int64_t>(std::clamp(steps, -bound, bound));
    next = j + 1;
  }
}

}  // namespace detail
}  // namespace surety::optimizers
