#include <surety/simulations/loss_simulation.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/accounting/events/continual.h>
#include <surety/accounting/events/format.h>
#include <surety/simulations/printed/printed_bandit_noise.h>
#include <surety/testing/stream.h>

namespace surety::simulations {

using mechanisms::Factorization;

double SimulatedLosses::next(std::span<const double> point) {
  double squared = 0;
  for (double& x : a_) {
    x = normal_(random_);
    squared += x * x;
  }
  double product = 0;
  for (std::size_t j = 0; j < a_.size(); ++j) product += a_[j] * (point[j] - best_[j]);
  return std::abs(product) / std::sqrt(squared);
}

std::vector<double> drawn_weights(std::size_t size, std::mt19937_64& random) {
  std::gamma_distribution<double> gamma{0.3};
  std::vector<double> weights(size);
  double sum = 0;
  for (double& weight : weights) sum += weight = gamma(random);
  for (double& weight : weights) weight /= sum;
  return weights;
}

std::vector<double> drawn_point(const Simplex& /*simplex*/, std::size_t dimension, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  return drawn_weights(dimension, random);
}

std::string_view name(LossInstance instance) { return instance == LossInstance::simplex ? "simplex" : "uniform-matroid"; }

std::string_view name(LossNoise noise) {
  switch (noise) {
    case LossNoise::gaussian: return "gaussian";
    case LossNoise::laplace: return "laplace";
    case LossNoise::paper: return "paper";
  }
  return "";
}

namespace {

BanditProblem problem_of(const LossSimulation& simulation) {
  return {.steps = simulation.steps,
          .dimension = simulation.dimension,
          .diameter = detail::domain_of(simulation).diameter(Norm::l2, simulation.dimension.value()),
          .lipschitz = 1};  // a_t has norm 1
}

}  // namespace

namespace detail {

LossDomain domain_of(const LossSimulation& simulation) {
  const std::size_t rank = simulation.instance == LossInstance::simplex ? 1 : simulation.rank.value();
  const std::size_t dimension = simulation.dimension.value();
  if (rank >= dimension) {
    throw Error{ErrorCode::invalid_argument,
                simulation.instance == LossInstance::simplex
                    ? fmt::format("dimension is {}, must be at least 2: a simplex of 1 is a point", dimension)
                    : fmt::format("rank is {}, must be less than the dimension, {}: there is one base otherwise", rank, dimension)};
  }
  return LossDomain{UniformMatroid{{.size = dimension, .rank = rank}}};
}

SimulatedLosses losses_of(const LossSimulation& simulation, std::uint64_t seed) {
  const std::size_t dimension = simulation.dimension.value();
  auto best = simulation.instance == LossInstance::simplex ? drawn_point(Simplex{Quantity<ScaleRule>{1}}, dimension, 1000 + seed)
                                                           : drawn_point(domain_of(simulation), dimension, 1000 + seed);
  return {std::move(best), 2000 + seed};
}

ProjectionFreeBanditOptions bandit_options(const LossSimulation& simulation) {
  auto options = printed_options(problem_of(simulation));
  options.adjacency = simulation.adjacency;
  return options;
}

mechanisms::GaussianContinualSum gaussian_sum(const LossSimulation& simulation, Factorization factorization, NoiseMultiplier multiplier) {
  const auto options = bandit_options(simulation);
  const auto asked = shape(options, simulation.dimension);
  // A batch of m terms of norm 1/2 has coordinates of up to m / 2.
  const mechanisms::Headroom headroom{std::max(1.0, static_cast<double>(options.batch.value()) / 2 / asked.sensitivity.value())};
  return mechanisms::GaussianContinualSum{
      {.factorization = factorization,
       .steps = asked.steps,
       .dimension = asked.dimension,
       .sensitivity = asked.sensitivity,
       .multiplier = multiplier,
       .grid = mechanisms::continual_grid(factorization, asked.steps, asked.sensitivity, multiplier, headroom),
       .adjacency = asked.adjacency,
       .headroom = headroom}};
}

mechanisms::TreeSum<mechanisms::Laplace> laplace_sum(const LossSimulation& simulation, NoiseScale scale) {
  const auto asked = shape<L1Sensitivity>(bandit_options(simulation), simulation.dimension);
  return {
      mechanisms::Laplace{{.scale = scale, .sensitivity = asked.sensitivity, .grid = Grid{.log2_step = -30}, .adjacency = asked.adjacency}},
      asked.steps, asked.dimension};
}

}  // namespace detail

void require_possible(const LossSimulation& simulation) {
  static_cast<void>(shape(detail::bandit_options(simulation), simulation.dimension));
}

namespace {

/// What is released is what the sums themselves say.
CalibratedLossNoise gaussian(const LossSimulation& simulation, Factorization factorization, NoiseMultiplier z, Delta delta) {
  const Event event = detail::gaussian_sum(simulation, factorization, z).event();
  return {.amount = z, .factorization = factorization, .event = event, .epsilon = accounting::quick_epsilon(event, delta)};
}

CalibratedLossNoise laplace(const LossSimulation& simulation, NoiseScale scale, Delta delta) {
  const Event event = detail::laplace_sum(simulation, scale).event();
  return {.amount = scale, .factorization = Factorization::tree, .event = event, .epsilon = accounting::quick_epsilon(event, delta)};
}

/// A tree of levels / epsilon, or what rounding asks for on top of it, so that the certified upper bound meets the promise.
CalibratedLossNoise pure_laplace(const LossSimulation& simulation, Count pushes, const Target& target) {
  NoiseScale scale = accounting::tree_noise_scale(pushes, target.epsilon);
  for (double more = 0x1p-52; laplace(simulation, scale, Delta{0}).epsilon.upper > target.epsilon.value(); more *= 2) {
    scale = NoiseScale{scale.value() * (1 + more)};
  }
  return laplace(simulation, scale, target.delta);
}

}  // namespace

CalibratedLossNoise calibrated_noise(const LossSimulation& simulation, const Target& target) {
  const auto options = detail::bandit_options(simulation);
  const auto asked = shape(options, simulation.dimension);
  const bool is_pure = target.delta == Delta{0};
  switch (simulation.noise) {
    case LossNoise::gaussian: break;
    case LossNoise::laplace: return pure_laplace(simulation, asked.steps, target);
    case LossNoise::paper:
      if (is_pure) return laplace(simulation, printed_laplace(options, problem_of(simulation), target).noise, target.delta);
      return gaussian(simulation, Factorization::tree, printed_gaussian(options, problem_of(simulation), target).noise, target.delta);
  }
  const auto event = [&](NoiseMultiplier z) {
    return mechanisms::continual_event(simulation.factorization, asked.steps, z, asked.adjacency);
  };
  return gaussian(simulation, simulation.factorization, calibrate(event, target).value, target.delta);
}

namespace {

/// What is charged must be what is drawn, also for noise that was made for another simulation.
void require_charged(const Event& charged, const Event& drawn) {
  if (!(charged == drawn)) {
    throw Error{ErrorCode::internal, fmt::format("the noise is {}, must be {} as charged", describe(drawn), describe(charged))};
  }
}

/// The sum of the losses up to each step.
template <class Sensitivity>
std::vector<double> regret(const LossSimulation& simulation, std::uint64_t seed, StreamReleaser<Sensitivity>& stream) {
  mechanisms::ReplayBits directions{3000 + seed};
  ProjectionFreeBandit<detail::LossDomain, Sensitivity> bandit{detail::domain_of(simulation), detail::bandit_options(simulation),
                                                               simulation.dimension, normal_directions(directions)};
  SimulatedLosses losses = detail::losses_of(simulation, seed);
  std::vector<double> sums;
  double sum = 0;
  for (std::uint64_t t = 0; t < simulation.steps.value(); ++t) {
    const double loss = losses.next(bandit.point());
    sums.push_back(sum += loss);
    bandit.observe(loss, stream);
  }
  return sums;
}

}  // namespace

std::vector<double> private_regret(const LossSimulation& simulation, const CalibratedLossNoise& noise, std::uint64_t seed,
                                   mechanisms::BitsRef bits) {
  if (const auto* scale = std::get_if<NoiseScale>(&noise.amount)) {
    auto sum = detail::laplace_sum(simulation, *scale);
    require_charged(noise.event, sum.event());
    ChargedStream stream{sum, bits, sum.mechanism().options().sensitivity};
    return regret<L1Sensitivity>(simulation, seed, stream);
  }
  auto sum = detail::gaussian_sum(simulation, noise.factorization, std::get<NoiseMultiplier>(noise.amount));
  require_charged(noise.event, sum.event());
  ChargedStream stream{sum, bits, sum.options().sensitivity};
  return regret<L2Sensitivity>(simulation, seed, stream);
}

std::vector<double> exact_regret(const LossSimulation& simulation, std::uint64_t seed) {
  testing::ExactStream stream{Grid{.log2_step = -30}};
  return regret<L2Sensitivity>(simulation, seed, stream);
}

}  // namespace surety::simulations
