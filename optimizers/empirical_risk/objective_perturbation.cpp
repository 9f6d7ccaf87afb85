#include <surety/optimizers/empirical_risk/objective_perturbation.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <surety/accounting/events/format.h>
#include <surety/accounting/accountants/closed_form.h>
#include <surety/accounting/numbers/interval.h>
#include <surety/mechanisms/queries/record_sum.h>

namespace surety::optimizers {

namespace {

using accounting::Interval;

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

ObjectivePerturbationEvents objective_perturbation_events(const ObjectivePerturbationOptions& options,
                                                          const ObjectivePerturbationLoss& loss) {
  const double delta = objective_perturbation_delta(options, loss);
  if (!(delta < 1)) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("delta of objective perturbation at epsilon {} is {}, must be less than 1: more noise or regularization",
                            options.epsilon, delta)};
  }
  return {.minimizer = release(Event::Approximate{options.epsilon, Delta{delta}}, options.adjacency),
          .output = gaussian(options.output_multiplier, options.adjacency)};
}

namespace detail {

double largest_perturbation(double sigma, std::size_t dimension) { return sigma * (std::sqrt(static_cast<double>(dimension)) + 10.25); }

void shorten(std::span<double> vector, double norm) {
  const double length = mechanisms::l2_norm(vector);
  if (length <= norm) return;
  for (double& coordinate : vector) coordinate *= norm / length;
}

}  // namespace detail

}  // namespace surety::optimizers
