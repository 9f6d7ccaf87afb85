#include <surety/optimizers/bandits/projection_free_bandit.h>

#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/continual.h>
#include <surety/accounting/events/format.h>
#include <surety/accounting/numbers/error.h>
#include <surety/mechanisms/queries/record_sum.h>

namespace surety::optimizers {

LossRange::LossRange(double lowest, double highest) : lowest_{lowest}, highest_{highest} {
  if (!(lowest < highest) || !std::isfinite(highest - lowest)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("loss range is {} to {}, must be finite and ascending", lowest, highest)};
  }
}

double LossRange::place(double loss) const noexcept {
  return std::isnan(loss) ? 0 : (std::clamp(loss, lowest_, highest_) - lowest_) / width() - 0.5;
}

ProjectionFreeBanditOptions printed_options(const BanditProblem& problem) {
  const auto t = static_cast<double>(problem.steps.value());
  const double root_n = std::sqrt(static_cast<double>(problem.dimension.value()));
  const Radius radius{problem.diameter * root_n / std::pow(t, 0.25)};
  return {.steps = problem.steps,
          .batch = Count{std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::sqrt(t)))},
          .radius = radius,
          .step_size = StepSize{problem.diameter / (std::pow(t, 0.75) * root_n * problem.lipschitz)},
          .losses = {0, problem.lipschitz * (problem.diameter + radius.value())}};
}

ProjectionFreeBanditOptions options_inside(const BanditProblem& problem, const InnerBall& ball) {
  const auto t = static_cast<double>(problem.steps.value());
  const auto d = static_cast<double>(ball.dimension());
  const Radius radius{std::min(ball.radius / 2, std::sqrt(d * ball.radius * problem.diameter) / std::pow(t, 0.25))};
  const double range = problem.lipschitz * problem.diameter;
  const double slope = d * range / (2 * radius.value());
  const Count batch{std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::sqrt(t)))};
  const double variance = slope * slope + static_cast<double>(batch.value()) * problem.lipschitz * problem.lipschitz;
  return {.steps = problem.steps,
          .batch = batch,
          .radius = radius,
          .step_size = StepSize{problem.diameter / std::sqrt(t * variance)},
          .losses = {0, range},
          .queries = QueryRegion::inside};
}

NoisyOcoOptions framework_options(const ProjectionFreeBanditOptions& options, std::size_t hull_dimension) {
  return {.steps = options.steps,
          .batch = options.batch,
          .clip = ClippingNorm{0.5},
          .step_size =
              StepSize{options.step_size.value() * static_cast<double>(hull_dimension) * options.losses.width() / options.radius.value()},
          .adjacency = options.adjacency};
}

Directions normal_directions(mechanisms::BitsRef bits) {
  return [bits](std::span<double> direction) {
    for (std::size_t j = 0; j < direction.size(); j += 2) {
      const auto unit = [&] { return (static_cast<double>(mechanisms::draw_word(bits) >> 12) + 0.5) * 0x1p-52; };  // in (0, 1)
      const double length = std::sqrt(-2 * std::log(unit()));
      const double angle = 2 * std::numbers::pi * unit();
      direction[j] = length * std::cos(angle);
      if (j + 1 < direction.size()) direction[j + 1] = length * std::sin(angle);
    }
  };
}

namespace detail {

PlayedPoint::PlayedPoint(Radius radius, InnerBall ball, Directions directions)
    : radius_{radius.value()},
      ball_{std::move(ball)},
      directions_{std::move(directions)},
      direction_(ball_.centre.size()),
      point_(ball_.centre.size()) {}

void PlayedPoint::choose_around(std::span<const double> decision) {
  directions_(direction_);
  ball_.project_direction(direction_);
  const double norm = mechanisms::l2_norm(direction_);
  if (!(norm > 0) || !std::isfinite(norm)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("the norm of a direction is {}, must be finite and greater than 0", norm)};
  }
  for (std::size_t j = 0; j < point_.size(); ++j) {
    direction_[j] /= norm;
    point_[j] = decision[j] + radius_ * direction_[j];
  }
}

RowView PlayedPoint::direction() const { return {.indices = {}, .values = direction_, .norm = mechanisms::l2_norm(direction_)}; }

InnerBall unlimited_ball(Count dimension) {
  return {.centre = std::vector<double>(dimension.value()), .radius = std::numeric_limits<double>::infinity()};
}

void require_room(const ProjectionFreeBanditOptions& options, const InnerBall& ball) {
  if (!(options.radius.value() <= ball.radius)) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("radius of exploration is {}, must be at most {}, that of a ball in the domain", options.radius, ball.radius)};
  }
}

void no_ball_is_known() {
  throw Error{ErrorCode::unsupported, "points are to be played inside the domain, must be around it: no ball in this domain is known"};
}

void require_epoch(const ProjectionFreeBanditOptions& options, unsigned epoch, Adjacency adjacency) {
  const std::uint64_t steps = std::uint64_t{1} << (2 * epoch);
  const std::uint64_t batch = std::uint64_t{1} << epoch;
  if (options.steps.value() != steps || options.batch.value() != batch) {
    throw Error{ErrorCode::invalid_argument, fmt::format("epoch {} has {} steps in batches of {}, must have {} in batches of {}", epoch,
                                                         options.steps.value(), options.batch.value(), steps, batch)};
  }
  if (options.adjacency != adjacency) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("adjacency of epoch {} is {}, must be {} as before", epoch, name(options.adjacency), name(adjacency))};
  }
}

}  // namespace detail

Count doubling_pushes(Count steps) {
  std::uint64_t pushes = 0;
  std::uint64_t left = steps.value();
  std::uint64_t batch = 1;
  for (; left > batch * batch; batch *= 2) {
    left -= batch * batch;
    pushes += batch;
  }
  return Count{pushes + left / batch};
}

namespace {

/// `noise` in the paper's units, over the sensitivity (n / zeta) V of a push there.
double over_sensitivity(double noise, const ProjectionFreeBanditOptions& options, const BanditProblem& problem) {
  const auto n = static_cast<double>(problem.dimension.value());
  return noise * options.radius.value() / (n * options.losses.width() * (options.adjacency == Adjacency::zero_out ? 0.5 : 1));
}

/// \throws Error{unsupported} when the printed noise is too little for what it claims.
template <class Noise>
PrintedBanditNoise<Noise> accounted(Noise noise, const Event& node, const ProjectionFreeBanditOptions& options,
                                    const BanditProblem& problem, const Target& target) {
  if (options.adjacency != target.adjacency) {
    throw Error{ErrorCode::invalid_argument, fmt::format("adjacency of the target is {}, must be {} as of the options",
                                                         name(target.adjacency), name(options.adjacency))};
  }
  const Event event = accounting::tree(shape(options, problem.dimension).steps, node);
  const Enclosure epsilon = accounting::quick_epsilon(event, target.delta);
  if (epsilon.upper > target.epsilon.value()) {
    throw Error{ErrorCode::unsupported, fmt::format("the printed noise costs epsilon = {} at delta = {}, must cost at most {}",
                                                    epsilon.upper, target.delta, target.epsilon)};
  }
  return {.noise = noise, .event = event, .epsilon = epsilon};
}

}  // namespace

PrintedBanditNoise<NoiseScale> printed_laplace(const ProjectionFreeBanditOptions& options, const BanditProblem& problem,
                                               const Target& target) {
  const auto t = static_cast<double>(problem.steps.value());
  const auto n = static_cast<double>(problem.dimension.value());
  const double lambda = std::sqrt(t) * n * problem.lipschitz * std::log(t) / target.epsilon.value();
  const NoiseScale scale{over_sensitivity(lambda, options, problem) / std::sqrt(n)};
  return accounted(scale, laplace(scale, options.adjacency), options, problem, target);
}

PrintedBanditNoise<NoiseMultiplier> printed_gaussian(const ProjectionFreeBanditOptions& options, const BanditProblem& problem,
                                                     const Target& target) {
  const auto t = static_cast<double>(problem.steps.value());
  const auto n = static_cast<double>(problem.dimension.value());
  const double a = std::log((n + t) / target.delta.value());
  const double sigma = std::pow(t, 0.25) * std::sqrt(n) * problem.lipschitz * std::log(t) * std::log(t / target.delta.value()) /
                       target.epsilon.value() * (a + std::sqrt((1 + std::sqrt(t) / n) * a));
  const NoiseMultiplier multiplier{over_sensitivity(sigma, options, problem)};
  return accounted(multiplier, gaussian(multiplier, options.adjacency), options, problem, target);
}

}  // namespace surety::optimizers
