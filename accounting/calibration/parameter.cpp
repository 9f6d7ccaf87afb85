#include <surety/accounting/calibration/parameter.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <variant>

#include <fmt/format.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/format.h>

namespace surety {

namespace {

/// An event among the arguments of another one.
const Event& argument_of(const Event& event, std::size_t index) {
  return std::visit(
      [&](const auto& node) -> const Event& {
        if constexpr (requires { node.event; }) {
          return node.event;
        } else if constexpr (requires { node.events; }) {
          return node.events.at(index);
        } else {
          throw Error{ErrorCode::internal, "an event without arguments has one inside"};
        }
      },
      event.node());
}

}  // namespace

const Event& event_at(const Event& whole, const NameUse& use) {
  const Event* inner = &whole;
  for (const auto index : use.path) inner = &argument_of(*inner, index);
  return *inner;
}

namespace {

/// Whether these are the records of a user, with which the cost rises; those of a data set, of which batches are drawn, lower it.
bool are_of_a_user(const EventOfNumber& event, const NameUse& use) {
  if (use.field != "records") return false;
  for (const double records : {1.0, 0x1p20}) {
    try {
      const auto made = event(records);
      return std::holds_alternative<Event::Users>(event_at(made, use).node());
    } catch (const Error& error) {
      // So few may be less than a batch.
      if (error.code() != ErrorCode::invalid_argument && error.code() != ErrorCode::unsupported) throw;
    }
  }
  return false;
}

/// From 1 / k on each answer of randomized response, shuffled or not, costs more the more often it is true; below, the less often.
double least_truth(const EventOfNumber& event, const NameUse& use) {
  const auto made = event(0.5);
  const Event& release = event_at(made, use);
  const auto* shuffled = std::get_if<Event::ShuffledResponses>(&release.node());
  const Count categories = shuffled != nullptr ? shuffled->categories : std::get<Event::RandomizedResponse>(release.node()).categories;
  return 1 / static_cast<double>(categories.value());
}

}  // namespace

Parameter parameter_of(const EventOfNumber& event) {
  const auto& name = event.name();
  struct Field {
    std::string_view field;
    bool cost_rises;
    double lowest;
    double highest;
  };
  // What it does to the cost when this number of an event grows, and where it may lie.
  constexpr double tiny = 0x1p-600;
  constexpr double huge = 0x1p600;
  constexpr double largest_count = 0x1p53;
  constexpr double below_one = 0x1.fffffffffffffp-1;
  static constexpr std::array fields{
      Field{"truth", true, tiny, below_one}, Field{"noise_multiplier", false, tiny, huge}, Field{"scale", false, tiny, huge},
      Field{"sigma", false, tiny, huge},
      // Beyond these no accountant adds the probabilities up, and more reports are bounded as so many.
      Field{"flips", false, 1, 0x1p34}, Field{"poisson_mean", false, tiny, 0x1p31}, Field{"records", false, 1, largest_count},
      Field{"sampling_rate", true, tiny, 1}, Field{"epsilon", true, tiny, huge}, Field{"epsilon0", true, tiny, huge},
      Field{"steps", true, 1, largest_count}, Field{"passes", true, 1, largest_count}, Field{"reports", false, 1, 0x1p27},
      Field{"rho", true, std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max()}, Field{"delta", true, tiny, 1},
      Field{"count", true, 1, largest_count}, Field{"batch_size", true, 1, largest_count}, Field{"sensitivity", true, 1, largest_count}};
  std::optional<Parameter> found;
  for (const auto& use : event.uses()) {
    const auto* const field = std::find_if(fields.begin(), fields.end(), [&](const Field& known) { return known.field == use.field; });
    std::string said = use.field;
    std::replace(said.begin(), said.end(), '_', ' ');
    for (const auto* many : {"flips", "reports", "categories", "steps", "passes"}) {
      if (said == many) said = fmt::format("number of {}", many);
    }
    if (said == "epsilon0") said = "local epsilon";
    if (field == fields.end()) {
      throw Error{ErrorCode::invalid_argument, fmt::format("the name '{}' stands for a {}, which cannot be solved for", name, said)};
    }
    const double lowest = use.field == "truth" ? least_truth(event, use) : field->lowest;
    const bool cost_rises = field->cost_rises || are_of_a_user(event, use);
    if (!found) {
      found = Parameter{.name = said, .lowest = lowest, .highest = field->highest, .whole = use.whole, .cost_rises = cost_rises};
    } else if (found->whole != use.whole || found->cost_rises != cost_rises) {
      throw Error{ErrorCode::invalid_argument,
                  fmt::format("the name '{}' stands for a {} and for a {}, must stand for numbers that move the cost alike", name,
                              found->name, said)};
    } else {
      found->lowest = std::max(found->lowest, lowest);
      found->highest = std::min(found->highest, field->highest);
    }
  }
  if (!found) {
    static_cast<void>(parse_event(event.text(), event.adjacency()));  // which names another unknown name, or what else is wrong
    throw Error{ErrorCode::invalid_argument,
                fmt::format("the name to solve for is '{}', must stand in the event '{}'", name, one_line(event.text()))};
  }
  return *found;
}

}  // namespace surety
