#include <surety/optimizers/bandits/projection_free_bandit.h>

#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include <surety/accounting/events/format.h>
#include <surety/base/text/error.h>
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

}  // namespace surety::optimizers
