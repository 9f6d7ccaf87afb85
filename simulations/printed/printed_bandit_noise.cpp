#include <surety/simulations/printed/printed_bandit_noise.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/continual.h>
#include <surety/accounting/events/format.h>
#include <surety/base/text/error.h>

namespace surety::simulations {

optimizers::ProjectionFreeBanditOptions printed_options(const optimizers::BanditProblem& problem) {
  const auto t = static_cast<double>(problem.steps.value());
  const double root_n = std::sqrt(static_cast<double>(problem.dimension.value()));
  const Radius radius{problem.diameter * root_n / std::pow(t, 0.25)};
  return {.steps = problem.steps,
          .batch = Count{std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::sqrt(t)))},
          .radius = radius,
          .step_size = optimizers::StepSize{problem.diameter / (std::pow(t, 0.75) * root_n * problem.lipschitz)},
          .losses = {0, problem.lipschitz * (problem.diameter + radius.value())}};
}

namespace {

/// `noise` in the paper's units, over the sensitivity (n / zeta) V of a push there.
double over_sensitivity(double noise, const optimizers::ProjectionFreeBanditOptions& options, const optimizers::BanditProblem& problem) {
  const auto n = static_cast<double>(problem.dimension.value());
  return noise * options.radius.value() / (n * options.losses.width() * (options.adjacency == Adjacency::zero_out ? 0.5 : 1));
}

/// \throws Error{unsupported} when the printed noise is too little for what it claims.
template <class Noise>
PrintedBanditNoise<Noise> accounted(Noise noise, const Event& node, const optimizers::ProjectionFreeBanditOptions& options,
                                    const optimizers::BanditProblem& problem, const Target& target) {
  if (options.adjacency != target.adjacency) {
    throw Error{ErrorCode::invalid_argument, fmt::format("adjacency of the target is {}, must be {} as of the options",
                                                         name(target.adjacency), name(options.adjacency))};
  }
  const Event event = accounting::tree(optimizers::shape(options, problem.dimension).steps, node);
  const Enclosure epsilon = accounting::quick_epsilon(event, target.delta);
  if (epsilon.upper > target.epsilon.value()) {
    throw Error{ErrorCode::unsupported, fmt::format("the printed noise costs epsilon = {} at delta = {}, must cost at most {}",
                                                    epsilon.upper, target.delta, target.epsilon)};
  }
  return {.noise = noise, .event = event, .epsilon = epsilon};
}

}  // namespace

PrintedBanditNoise<NoiseScale> printed_laplace(const optimizers::ProjectionFreeBanditOptions& options,
                                               const optimizers::BanditProblem& problem, const Target& target) {
  const auto t = static_cast<double>(problem.steps.value());
  const auto n = static_cast<double>(problem.dimension.value());
  const double lambda = std::sqrt(t) * n * problem.lipschitz * std::log(t) / target.epsilon.value();
  const NoiseScale scale{over_sensitivity(lambda, options, problem) / std::sqrt(n)};
  return accounted(scale, laplace(scale, options.adjacency), options, problem, target);
}

PrintedBanditNoise<NoiseMultiplier> printed_gaussian(const optimizers::ProjectionFreeBanditOptions& options,
                                                     const optimizers::BanditProblem& problem, const Target& target) {
  const auto t = static_cast<double>(problem.steps.value());
  const auto n = static_cast<double>(problem.dimension.value());
  const double a = std::log((n + t) / target.delta.value());
  const double sigma = std::pow(t, 0.25) * std::sqrt(n) * problem.lipschitz * std::log(t) * std::log(t / target.delta.value()) /
                       target.epsilon.value() * (a + std::sqrt((1 + std::sqrt(t) / n) * a));
  const NoiseMultiplier multiplier{over_sensitivity(sigma, options, problem)};
  return accounted(multiplier, gaussian(multiplier, options.adjacency), options, problem, target);
}

}  // namespace surety::simulations
