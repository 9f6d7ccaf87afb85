#include <surety/accounting/calibration/parameter.h>

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include <surety/accounting/events/format.h>

namespace surety {

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
  static constexpr std::array fields{Field{"noise_multiplier", false, tiny, huge},
                                     Field{"scale", false, tiny, huge},
                                     Field{"sigma", false, tiny, huge},
                                     Field{"records", false, 1, largest_count},
                                     Field{"sampling_rate", true, tiny, 1},
                                     Field{"epsilon", true, tiny, huge},
                                     Field{"rho", true, tiny, huge},
                                     Field{"delta", true, tiny, 1},
                                     Field{"count", true, 1, largest_count},
                                     Field{"batch_size", true, 1, largest_count},
                                     Field{"sensitivity", true, 1, largest_count}};
  std::optional<Parameter> found;
  for (const auto& use : event.uses()) {
    const auto* const field = std::find_if(fields.begin(), fields.end(), [&](const Field& known) { return known.field == use.field; });
    std::string said = use.field;
    std::replace(said.begin(), said.end(), '_', ' ');
    if (field == fields.end()) {
      throw Error{ErrorCode::invalid_argument, fmt::format("the name '{}' stands for a {}, which cannot be solved for", name, said)};
    }
    if (!found) {
      found =
          Parameter{.name = said, .lowest = field->lowest, .highest = field->highest, .whole = use.whole, .cost_rises = field->cost_rises};
    } else if (found->whole != use.whole || found->cost_rises != field->cost_rises) {
      throw Error{ErrorCode::invalid_argument,
                  fmt::format("the name '{}' stands for a {} and for a {}, must stand for numbers that move the cost alike", name,
                              found->name, said)};
    } else {
      found->lowest = std::max(found->lowest, field->lowest);
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
