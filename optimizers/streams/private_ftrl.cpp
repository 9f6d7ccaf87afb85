#include <surety/optimizers/streams/private_ftrl.h>

#include <surety/optimizers/problem/gradient_sum.h>

namespace surety::optimizers {

StreamShape<> shape(const PrivateFtrlOptions& options, Count features) {
  return one_push_per_record(options.steps, features, options.clip, options.adjacency);
}

namespace detail {

PrivateFtrlSteps::PrivateFtrlSteps(const Projectable& domain, const PrivateFtrlOptions& options, std::vector<double> start)
    : options_{options},
      start_{start_in(domain, std::move(start))},
      sensitivity_{shape(options, Count{start_.size()}).sensitivity},
      weights_{start_},
      mean_{start_} {}

void PrivateFtrlSteps::observe(ObjectiveRef objective, const Projectable& domain, const RowView& row, double label,
                               StreamReleaser<>& stream) {
  const double factor = objective.derivative(row.dot(weights_), label);
  const std::vector<double> sum =
      stream.push(clipped_contribution(factor, row, options_.clip, stream.grid(), weights_.size()), sensitivity_);
  const double share = 1 / static_cast<double>(++steps_);
  for (std::size_t j = 0; j < mean_.size(); ++j) mean_[j] += share * (weights_[j] - mean_[j]);
  for (std::size_t j = 0; j < weights_.size(); ++j) weights_[j] = start_[j] - options_.step_size.value() * sum[j];
  domain.project(weights_);
}

}  // namespace detail
}  // namespace surety::optimizers
