#include <surety/optimizers/empirical_risk/objective_perturbation.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/events/format.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/text/error.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/empirical_risk/minimizer.h>
#include <surety/optimizers/problem/problem.h>

namespace surety::optimizers {

namespace {

/// epsilon - log(1 + slope R^2 / (n lambda)), rounded down.
double gaussian_epsilon(const ObjectivePerturbationOptions& options, const ObjectivePerturbationLoss& loss) {
  constexpr mpfr_prec_t precision = 128;
  const auto number = [](double value) { return Interval{value, precision}; };
  const double radius = options.row_norm.value();
  // The slope is a quotient or a product of doubles, off by a rounding or two.
  const Interval curvature = number(loss.slope) * number(1 + 0x1p-50) * number(radius) * number(radius) /
                             (number(static_cast<double>(options.records.value())) * number(options.regularization.value()));
  return (number(options.epsilon.value()) - log1p(curvature)).enclosure().lower;
}

double gaussian_delta(double mu, double epsilon) { return accounting::gaussian_delta(Mu{mu}, Epsilon{epsilon}).upper; }

}  // namespace

double objective_perturbation_delta(const ObjectivePerturbationOptions& options, const ObjectivePerturbationLoss& loss) {
  if (options.adjacency == Adjacency::add_or_remove_one) {
    throw Error{ErrorCode::unsupported, "adjacency is add-or-remove-one, must be replace-one or zero-out for objective perturbation"};
  }
  if (!(options.regularization.value() > 0)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("regularization is {}, must be greater than 0", options.regularization)};
  }
  const double epsilon = gaussian_epsilon(options, loss);
  if (!(epsilon >= 0)) return std::numeric_limits<double>::infinity();
  const double mu = std::nextafter(1 / options.noise_multiplier.value(), std::numeric_limits<double>::infinity());
  const bool replaced = options.adjacency == Adjacency::replace_one;
  const double delta = loss.has_one_sign
                           ? (replaced ? gaussian_delta(2 * mu, epsilon) + 2 * gaussian_delta(mu, epsilon) : gaussian_delta(mu, epsilon))
                           : (replaced ? 4 * gaussian_delta(2 * mu, epsilon) : 2 * gaussian_delta(mu, epsilon));
  // Noise beyond what is provided for: (1 + e^epsilon) 2^-72.
  return (1 + 0x1p-50) * (delta + 0x1p-72 * (1 + std::exp(options.epsilon.value())));
}

NoiseMultiplier objective_perturbation_multiplier(const ObjectivePerturbationOptions& options, const ObjectivePerturbationLoss& loss,
                                                  Delta delta) {
  const auto is_enough = [&](double z) {
    auto chosen = options;
    chosen.noise_multiplier = NoiseMultiplier{z};
    return objective_perturbation_delta(chosen, loss) <= delta.value();
  };
  double enough = 1;
  while (!is_enough(enough)) {
    enough *= 2;
    if (enough > 0x1p60) {
      throw Error{ErrorCode::invalid_argument, fmt::format("no noise reaches epsilon {} and delta {} with regularization {} and {} records",
                                                           options.epsilon, delta, options.regularization, options.records.value())};
    }
  }
  double too_little = enough;
  do too_little /= 2;
  while (is_enough(too_little));
  while (enough > too_little * (1 + 1e-6)) {
    const double middle = (enough + too_little) / 2;
    (is_enough(middle) ? enough : too_little) = middle;
  }
  return NoiseMultiplier{enough};
}

Epsilon objective_perturbation_epsilon(Epsilon most, Delta delta) {
  const double share = delta.value() * 0x1p68 - 1;  // (1 + e^epsilon) 2^-72 <= delta / 16
  return share > 1 ? Epsilon{std::min(most.value(), std::log(share))} : most;
}

ObjectivePerturbationEvents objective_perturbation_events(const ObjectivePerturbationOptions& options,
                                                          const ObjectivePerturbationLoss& loss) {
  const double delta = objective_perturbation_delta(options, loss);
  if (!(delta < 1)) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("delta of objective perturbation at epsilon {} is {}, must be less than 1: more noise or regularization",
                            options.epsilon, delta)};
  }
  return {.minimizer = approx(options.epsilon, Delta{delta}, options.adjacency),
          .output = gaussian(options.output_multiplier, options.adjacency)};
}

ObjectivePerturbationLoss perturbed_loss(ConvexObjectiveRef objective) {
  return {.slope = require_smoothness(objective, 1, "objective perturbation"), .has_one_sign = objective.derivative_has_one_sign()};
}

Event plan(const ObjectivePerturbationOptions& options, ConvexObjectiveRef objective) {
  const auto events = objective_perturbation_events(options, perturbed_loss(objective));
  return compose({events.minimizer, events.output});
}

double perturbed_minimum_distance(ConvexObjectiveRef objective, const ObjectivePerturbationOptions& options, std::size_t features) {
  const double sigma = options.noise_multiplier.value() * options.clip.value();
  const auto n = static_cast<double>(options.records.value());
  const auto shape = minimum_shape(objective, 1 + 0x1p-40, options.clip, options.row_norm, options.regularization,
                                   detail::largest_perturbation(sigma, features) / n * (1 + 0x1p-40), features);
  // Rounding b moves each coordinate by at most half of 2^-28 sigma, and the minimiser by that over n lambda.
  const double rounded = 0x1p-28 * sigma * std::sqrt(static_cast<double>(features)) / n;
  return (1 + 0x1p-40) * (minimum_distance(shape) + rounded / options.regularization.value());
}

namespace detail {

double largest_perturbation(double sigma, std::size_t dimension) { return sigma * (std::sqrt(static_cast<double>(dimension)) + 10.25); }

void shorten(std::span<double> vector, double norm) {
  const double length = mechanisms::l2_norm(vector);
  if (length <= norm) return;
  for (double& coordinate : vector) coordinate *= norm / length;
}

std::vector<double> perturb_and_minimize(const Dataset& data, ConvexObjectiveRef objective, const ObjectivePerturbationOptions& options,
                                         const ObjectivePerturbationEvents& events, PerturbingReleaser& releaser) {
  const std::size_t features = data.features();
  const auto n = static_cast<double>(options.records.value());
  const double sigma = options.noise_multiplier.value() * options.clip.value();
  const double largest = largest_perturbation(sigma, features);
  const auto shape =
      minimum_shape(objective, 1 + 0x1p-40, options.clip, options.row_norm, options.regularization, largest / n * (1 + 0x1p-40), features);
  const L2Sensitivity exact{2 * perturbed_minimum_distance(objective, options, features)};
  const Grid grid = mechanisms::grid_for(exact, options.output_multiplier);
  const L2Sensitivity sensitivity = mechanisms::after_rounding(exact, grid, features);
  const Dataset clipped = with_clipped_rows(data, options.row_norm, objective);

  std::vector<double> linear = releaser.perturb(features, L2Sensitivity{sigma}, events.minimizer);
  shorten(linear, largest);
  for (double& coordinate : linear) coordinate /= n;
  const std::vector<double> minimum = minimize(clipped, objective, 1 / n, linear, shape, {.threads = options.threads});
  return releaser.release(mechanisms::round_to_nearest(minimum, grid), sensitivity, events.output);
}

}  // namespace detail

std::vector<double> objective_perturbation(const Dataset& data, ConvexObjectiveRef objective, const ObjectivePerturbationOptions& options,
                                           PerturbingReleaser& releaser) {
  if (!data.has_labels()) throw Error{ErrorCode::invalid_argument, "objective perturbation needs labels, the data set has none"};
  require_no_weights(data, "objective perturbation");
  if (data.size() != options.records.value()) {
    throw Error{ErrorCode::invalid_argument, fmt::format("the data set has {} records, must have {}, for which the noise was made",
                                                         data.size(), options.records.value())};
  }
  return detail::perturb_and_minimize(data, objective, options, objective_perturbation_events(options, perturbed_loss(objective)),
                                      releaser);
}

}  // namespace surety::optimizers
