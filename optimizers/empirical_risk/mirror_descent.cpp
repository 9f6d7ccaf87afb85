#include <surety/optimizers/empirical_risk/mirror_descent.h>

#include <cmath>
#include <utility>

#include <surety/optimizers/empirical_risk/full_gradient.h>
#include <surety/optimizers/problem/problem.h>

namespace surety::optimizers {

Event plan(const MirrorDescentOptions& options) { return repeat(options.steps, gaussian(options.noise_multiplier, options.adjacency)); }

MirrorDescentTerms mirror_descent_terms(ObjectiveRef objective, const Geometry& geometry, const MirrorDescentOptions& options,
                                        std::size_t features, double noise) {
  return {.loss_smoothness = require_smoothness(objective, 1, "mirror descent") + options.regularization.value(),
          .range = geometry.range(features),
          .noise = noise * std::sqrt(geometry.squared_dual_noise(features)),
          .steps = static_cast<double>(options.steps.value())};
}

MirrorDescentResult mirror_descent(const Dataset& data, ObjectiveRef objective, const Geometry& geometry,
                                   const MirrorDescentOptions& options, Releaser& releaser) {
  NoisyFullGradient gradient_at{data, objective, full_gradient_options(options), releaser};
  const double lambda = options.regularization.value();
  const double smoothness =
      options.smoothness ? options.smoothness->value()
                         : mirror_descent_terms(objective, geometry, options, data.features(), gradient_at.noise()).best_smoothness();
  std::vector<double> costs(data.features(), 0.0);
  std::vector<double> z = geometry.mirror(costs);
  std::vector<double> y = z;
  for (std::uint64_t done = 1; done <= options.steps.value(); ++done) {
    const auto k = static_cast<double>(done);
    const double share = 2 * (k + 1) / (k * (k + 3));
    // y becomes x_k, and at the end of the step y_k.
    for (std::size_t j = 0; j < y.size(); ++j) y[j] = (1 - share) * y[j] + share * z[j];
    std::vector<double> gradient = gradient_at(y);
    for (std::size_t j = 0; j < y.size(); ++j) {
      gradient[j] += lambda * y[j];
      costs[j] += (k + 1) / (2 * smoothness) * gradient[j];
    }
    geometry.descend(y, gradient, smoothness);
    z = geometry.mirror(costs);
    if (options.progress) options.progress(done);
  }
  return {.weights = std::move(y)};
}

}  // namespace surety::optimizers
