#include <surety/research/papers/printed_online_to_batch_noise.h>

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/continual.h>
#include <surety/base/text/error.h>

namespace surety::papers {

namespace {

void require_replace_one(Adjacency adjacency) {
  if (adjacency != Adjacency::replace_one) {
    throw Error{ErrorCode::unsupported, fmt::format("adjacency is {}, must be replace-one for the printed noise", name(adjacency))};
  }
}

}  // namespace

PrintedNoise<NoiseMultiplier> printed_noise(Count steps, const Target& target) {
  require_replace_one(target.adjacency);
  if (!(target.epsilon.value() > 0 && target.delta.value() > 0)) {
    throw Error{ErrorCode::invalid_argument, "epsilon and delta must be greater than 0 for the printed noise"};
  }
  const double rho = target.epsilon.value() / (2 * std::sqrt(-std::log(target.delta.value())));
  const NoiseMultiplier multiplier{std::sqrt(1 + std::log2(static_cast<double>(steps.value()))) / rho};
  Event event = accounting::tree(steps, gaussian(multiplier, target.adjacency));
  const Enclosure epsilon = accounting::quick_epsilon(event, target.delta);
  if (epsilon.upper > target.epsilon.value()) {
    throw Error{ErrorCode::unsupported,
                fmt::format("the printed noise for epsilon = {} at delta = {} costs epsilon = {:.4g}: it is not as private as it says",
                            target.epsilon.value(), target.delta.value(), epsilon.upper)};
  }
  return {.scale = multiplier, .event = std::move(event), .epsilon = epsilon};
}

PrintedNoise<NoiseScale> printed_pure_noise(Count steps, Count features, Epsilon target, Adjacency adjacency) {
  require_replace_one(adjacency);
  if (!(target.value() > 0)) throw Error{ErrorCode::invalid_argument, "epsilon is 0, must be greater than 0 for the printed noise"};
  const NoiseScale scale{std::sqrt(1 + std::log2(static_cast<double>(steps.value()))) / target.value()};
  Event event = accounting::tree(steps, k_norm(NormName::l2, features, scale, adjacency));
  const Enclosure epsilon = accounting::best_epsilon(event, Delta{0}).value;
  if (epsilon.upper > target.value() * (1 + 1e-9)) {
    throw Error{ErrorCode::unsupported,
                fmt::format("the printed pure noise for epsilon = {} costs epsilon = {:.4g}: it is for one node, a record is in {}",
                            target.value(), epsilon.upper, accounting::tree_levels(steps).value())};
  }
  return {.scale = scale, .event = std::move(event), .epsilon = epsilon};
}

}  // namespace surety::papers
