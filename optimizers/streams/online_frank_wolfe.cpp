#include <surety/optimizers/streams/online_frank_wolfe.h>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/optimizers/problem/gradient_sum.h>

namespace surety::optimizers {

StreamShape<> shape(const OnlineFrankWolfeOptions& options, Count features) {
  return one_push_per_record(options.steps, features, options.clip, options.adjacency);
}

StreamShape<LrSensitivity> shape(const GeneralizedFrankWolfeOptions& options, Count features) {
  require_fixed_places(options.adjacency);
  return {.steps = options.steps,
          .dimension = features,
          .sensitivity = lr_sensitivity(options.clip, options.adjacency),
          .adjacency = options.adjacency};
}

namespace detail {

template <class Options>
OnlineFrankWolfeSteps<Options>::OnlineFrankWolfeSteps(const Options& options, Count features, std::optional<std::vector<double>> start)
    : options_{options},
      sensitivity_{shape(options, features).sensitivity},
      weights_{start ? *std::move(start) : std::vector<double>(features.value(), 0.0)},
      previous_{weights_} {
  if (weights_.size() != features.value()) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("the start has {} coordinates, must have one for each of the {} features", weights_.size(), features.value())};
  }
}

template <class Options>
void OnlineFrankWolfeSteps<Options>::observe(ObjectiveRef objective, const LinearlyMinimizable& domain, const RowView& row, double label,
                                             StreamReleaser<Sensitivity>& stream) {
  const auto t = static_cast<double>(++steps_);
  const double factor = t * objective.derivative(row.dot(weights_), label) - (t - 1) * objective.derivative(row.dot(previous_), label);
  const std::vector<double> sum =
      stream.push(clipped_contribution(factor, row, options_.clip, stream.grid(), weights_.size()), sensitivity_);
  const std::vector<double> vertex = domain.minimize_linear(sum);
  previous_ = weights_;
  const double step = options_.step_scale.value() / (t + 1);
  for (std::size_t j = 0; j < weights_.size(); ++j) weights_[j] += step * (vertex[j] - weights_[j]);
}

template class OnlineFrankWolfeSteps<OnlineFrankWolfeOptions>;
template class OnlineFrankWolfeSteps<GeneralizedFrankWolfeOptions>;

}  // namespace detail
}  // namespace surety::optimizers
