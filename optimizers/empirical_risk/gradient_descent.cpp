#include <surety/optimizers/empirical_risk/gradient_descent.h>

#include <utility>

#include <surety/optimizers/empirical_risk/full_gradient.h>
#include <surety/optimizers/problem/problem.h>

namespace surety::optimizers {

Event plan(const GradientDescentOptions& options) { return repeat(options.steps, gaussian(options.noise_multiplier, options.adjacency)); }

namespace detail {

GradientDescentResult gradient_descent(const Dataset& data, ObjectiveRef objective,
                                       const std::function<void(double step, std::span<double> weights)>& map,
                                       const GradientDescentOptions& options, Releaser& releaser) {
  NoisyFullGradient gradient_at{data, objective, full_gradient_options(options), releaser};
  const double lambda = options.regularization.value();
  const StepSize step =
      options.step_size ? *options.step_size : StepSize{1 / (require_smoothness(objective, 1, "the default step size") + lambda)};
  IterateKeeper keeper{options.returned, options.steps};
  std::vector<double> weights(data.features(), 0.0);
  keeper.see(weights);
  for (std::uint64_t done = 1; done <= options.steps.value(); ++done) {
    const std::vector<double> gradient = gradient_at(weights);
    for (std::size_t j = 0; j < weights.size(); ++j) weights[j] -= step.value() * (gradient[j] + lambda * weights[j]);
    map(step.value(), std::span{weights});
    keeper.see(weights);
    if (options.progress) options.progress(done);
  }
  return {.weights = std::move(keeper).result()};
}

}  // namespace detail

GradientDescentResult gradient_descent(const Dataset& data, ObjectiveRef objective, const Regularizer& regularizer,
                                       const GradientDescentOptions& options, Releaser& releaser) {
  return detail::gradient_descent(
      data, objective, [&](double step, std::span<double> weights) { regularizer.proximal(step, weights); }, options, releaser);
}

GradientDescentResult gradient_descent(const Dataset& data, ObjectiveRef objective, const Projectable& domain,
                                       const GradientDescentOptions& options, Releaser& releaser) {
  return detail::gradient_descent(
      data, objective, [&](double /*step*/, std::span<double> weights) { domain.project(weights); }, options, releaser);
}

}  // namespace surety::optimizers
