#include <surety/accounting/events/continual.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include <surety/accounting/events/normal_form.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>

namespace surety::accounting {
namespace {

constexpr mpfr_prec_t continual_precision = 128;

Interval number(double value) { return {value, continual_precision}; }

void check_node(const Event& node) {
  if (node.has_sampling()) {
    throw Error{ErrorCode::unsupported,
                fmt::format("{} has no theorem as a node of a tree: a batch that several nodes share is not a repetition", describe(node))};
  }
}

}  // namespace

Count tree_levels(Count steps) { return Count{static_cast<std::uint64_t>(std::bit_width(steps.value()))}; }

Count nodes_of_step(Count step, Count steps) {
  if (step > steps) {
    throw Error{ErrorCode::invalid_argument, fmt::format("step is {}, must be at most the {} steps", step.value(), steps.value())};
  }
  std::uint64_t nodes = 0;
  for (std::uint64_t end = step.value(); end <= steps.value(); end += end & (~end + 1)) ++nodes;
  return Count{nodes};
}

Event tree(Count steps, const Event& node) {
  check_node(node);
  return repeat(tree_levels(steps), plainest(node));
}

Event tree(Count steps, std::span<const Event> levels) {
  if (levels.size() != tree_levels(steps).value()) {
    throw Error{ErrorCode::invalid_argument, fmt::format("number of levels is {}, must be {} for a tree over {} steps", levels.size(),
                                                         tree_levels(steps).value(), steps.value())};
  }
  std::vector<Event> nodes;
  for (const auto& node : levels) {
    check_node(node);
    nodes.push_back(plainest(node));
  }
  return compose(std::move(nodes));
}

Event tree_of_step(Count step, Count steps, const Event& node) {
  check_node(node);
  return repeat(nodes_of_step(step, steps), plainest(node));
}

std::vector<NoiseMultiplier> split_over_levels(Mu mu, std::span<const double> weights) {
  const StandardFloatingPoint environment;
  if (weights.empty()) throw Error{ErrorCode::invalid_argument, "a split over no levels is empty, must have at least one weight"};
  if (mu.value() == 0) throw Error{ErrorCode::invalid_argument, "mu is 0, must be greater than 0: no noise meets it"};
  Interval sum = number(0);
  for (const double weight : weights) {
    if (!Positive::holds(weight)) {
      throw Error{ErrorCode::invalid_argument, fmt::format("weight of a level is {}, must be {}", weight, Positive::constraint)};
    }
    sum = sum + number(weight);
  }
  std::vector<NoiseMultiplier> multipliers;
  for (const double weight : weights) multipliers.emplace_back((sqrt(sum / number(weight)) / number(mu.value())).enclosure().upper);
  return multipliers;
}

NoiseScale tree_noise_scale(Count steps, Epsilon epsilon) {
  const StandardFloatingPoint environment;
  if (epsilon.value() == 0) throw Error{ErrorCode::invalid_argument, "epsilon is 0, must be greater than 0: no noise meets it"};
  return NoiseScale{(number(static_cast<double>(tree_levels(steps).value())) / number(epsilon.value())).enclosure().upper};
}

Event restarted(std::vector<Event> epochs) { return parallel(std::move(epochs)); }

Event doubling_tree(Count steps, const std::function<Event(Count epoch_steps)>& node) {
  std::vector<Event> epochs;
  // Epoch i holds the steps 2^i to 2^(i+1) - 1.
  for (std::uint64_t first = 1; first <= steps.value(); first *= 2) epochs.push_back(tree(Count{first}, node(Count{first})));
  return restarted(std::move(epochs));
}

}  // namespace surety::accounting
