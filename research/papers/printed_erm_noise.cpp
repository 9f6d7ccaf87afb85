#include <surety/research/papers/printed_erm_noise.h>

#include <cmath>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include <surety/base/text/error.h>

namespace surety::papers {

namespace {

void require_replace_one(const Target& target) {
  if (target.adjacency == Adjacency::replace_one) return;
  throw Error{
      ErrorCode::unsupported,
      fmt::format("adjacency is {}, must be replace-one: the printed noise divides by the number of records", name(target.adjacency))};
}

/// sigma / G of `releases` releases as the formula counts them. \throws Error{invalid_argument} where it is 0 or no number.
double deviation(const PrintedErm& problem, double releases, const Target& target, double of_delta) {
  require_replace_one(target);
  if (!(problem.constant > 0 && std::isfinite(problem.constant))) {
    throw Error{ErrorCode::invalid_argument, fmt::format("constant is {}, must be finite and greater than 0", problem.constant)};
  }
  if (!(target.epsilon.value() > 0)) throw Error{ErrorCode::invalid_argument, "epsilon is 0, must be greater than 0"};
  if (!(target.delta.value() > 0)) throw Error{ErrorCode::invalid_argument, "delta is 0, must be greater than 0"};
  const auto n = static_cast<double>(problem.records.value());
  return std::sqrt(problem.constant * releases * std::log(of_delta / target.delta.value())) / (n * target.epsilon.value());
}

double counted(Count count) { return static_cast<double>(count.value()); }

/// `steps` inner steps of one drawn record each, noise of standard deviation `sigma` in units of G.
Event variance_reduced(const PrintedErm& problem, Count steps, double sigma, GradientDifference difference, FullGradientShare share) {
  const double on_difference = sigma * std::sqrt(1 - share.value()) / static_cast<double>(difference);
  auto drawn =
      repeat(steps, without_replacement(problem.records, Count{1}, gaussian(NoiseMultiplier{on_difference}, Adjacency::replace_one)));
  if (share.value() == 0) return drawn;
  const double on_gradient = sigma * std::sqrt(share.value()) * counted(problem.records) / 2;
  return compose({std::move(drawn), repeat(steps, gaussian(NoiseMultiplier{on_gradient}, Adjacency::replace_one))});
}

}  // namespace

Event printed_gradient_descent_noise(const PrintedErm& problem, const Target& target) {
  const double sigma = deviation(problem, counted(problem.epochs), target, 1);
  const NoiseMultiplier multiplier{sigma * counted(problem.records) / 2};
  return repeat(problem.epochs, gaussian(multiplier, Adjacency::replace_one));
}

Event printed_svrg_noise(const PrintedErm& problem, const Target& target, GradientDifference difference, FullGradientShare share) {
  const Count steps{problem.epochs.value() * problem.steps_per_epoch.value()};
  return variance_reduced(problem, steps, deviation(problem, counted(steps), target, 1), difference, share);
}

Event printed_svrg_plus_plus_noise(const PrintedErm& problem, const Target& target, GradientDifference difference,
                                   FullGradientShare share) {
  if (problem.epochs.value() > 40) {
    throw Error{ErrorCode::invalid_argument, fmt::format("epochs is {}, must be at most 40", problem.epochs.value())};
  }
  const std::uint64_t doubled = std::uint64_t{1} << problem.epochs.value();
  const double of_formula = static_cast<double>(doubled) * counted(problem.steps_per_epoch);
  const Count steps{(2 * doubled - 2) * problem.steps_per_epoch.value()};
  return variance_reduced(problem, steps, deviation(problem, of_formula, target, 2), difference, share);
}

Event printed_accelerated_mirror_descent_noise(const PrintedErm& problem, const Target& target, MirrorStep step) {
  if (step == MirrorStep::as_printed) {
    throw Error{
        ErrorCode::unsupported,
        "the printed y-step uses the exact gradient, must use the noisy one: it releases a function of the data without noise, which no epsilon covers"};
  }
  return printed_gradient_descent_noise(problem, target);
}

}  // namespace surety::papers
