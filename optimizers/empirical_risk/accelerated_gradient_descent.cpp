#include <surety/optimizers/empirical_risk/accelerated_gradient_descent.h>

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <surety/base/numbers/hypotenuse.h>
#include <surety/base/text/error.h>
#include <surety/optimizers/empirical_risk/full_gradient.h>
#include <surety/optimizers/problem/problem.h>

namespace surety::optimizers {

MomentumSchedule::MomentumSchedule(Momentum momentum, StepSize step, Regularization lambda, double strong_convexity)
    : smooth_{step.value() * lambda.value()},
      proximal_{step.value() * strong_convexity},
      q_{(smooth_ + proximal_) / (1 + proximal_)},
      k_{momentum == Momentum::growing ? 1 : 1 / std::sqrt(q_)} {
  if (!(smooth_ < 1)) invalid(fmt::format("step size x regularization is {}, must be less than 1 for momentum", smooth_));
  if (!std::isfinite(k_)) invalid("strong convexity is 0, must be greater than 0 for constant momentum");
}

double MomentumSchedule::next() noexcept {
  const double shrunk = 1 - q_ * k_ * k_;
  const double k = (shrunk + hypotenuse(shrunk, 2 * k_)) / 2;
  const double beta = (k_ - 1) / k * (1 + proximal_ - k * (smooth_ + proximal_)) / (1 - smooth_);
  k_ = k;
  return beta;
}

Event plan(const AcceleratedGradientDescentOptions& options) {
  return repeat(options.steps, gaussian(options.noise_multiplier, options.adjacency));
}

AcceleratedGradientDescentResult accelerated_gradient_descent(const Dataset& data, ObjectiveRef objective, const Regularizer& regularizer,
                                                              const AcceleratedGradientDescentOptions& options, Releaser& releaser) {
  NoisyFullGradient gradient_at{data, objective, full_gradient_options(options), releaser};
  const double lambda = options.regularization.value();
  const StepSize step =
      options.step_size ? *options.step_size : StepSize{1 / (require_smoothness(objective, 1, "the default step size") + lambda)};
  MomentumSchedule momentum{options.momentum, step, options.regularization, regularizer.strong_convexity()};
  IterateKeeper keeper{options.returned, options.steps};
  std::vector<double> weights(data.features(), 0.0);
  std::vector<double> ahead = weights;  // v
  keeper.see(weights);
  for (std::uint64_t done = 1; done <= options.steps.value(); ++done) {
    const std::vector<double> gradient = gradient_at(ahead);
    for (std::size_t j = 0; j < ahead.size(); ++j) ahead[j] -= step.value() * (gradient[j] + lambda * ahead[j]);
    regularizer.proximal(step.value(), ahead);
    const double beta = momentum.next();
    for (std::size_t j = 0; j < ahead.size(); ++j) {
      const double previous = std::exchange(weights[j], ahead[j]);
      ahead[j] += beta * (weights[j] - previous);
    }
    keeper.see(weights);
    if (options.progress) options.progress(done);
  }
  return {.weights = std::move(keeper).result()};
}

}  // namespace surety::optimizers
