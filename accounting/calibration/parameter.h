// The number that a calibration seeks.
#pragma once

#include <string>
#include <string_view>

#include <surety/accounting/events/event_text.h>

namespace surety {

/// A number in an event. The search stays in [lowest, highest].
struct Parameter {
  std::string name;  ///< for messages: "noise multiplier"
  double lowest;     ///< greater than 0
  double highest;
  bool whole = false;       ///< an integer
  bool cost_rises = false;  ///< with the parameter, as for a sampling rate or a count; it falls for a scale of noise
};

/// The event inside `whole` whose argument the name is there.
[[nodiscard]] const Event& event_at(const Event& whole, const NameUse& use);

/// The number that a name stands for in an event of the event language, by the field it stands for.
/// \throws Error{invalid_argument} when the name does not occur, stands for something that cannot be searched for (a dimension, a
///         norm exponent), or for numbers of different kinds or opposite effects.
[[nodiscard]] Parameter parameter_of(const EventOfNumber& event);
[[nodiscard]] inline Parameter parameter_of(std::string_view text, Adjacency adjacency, const std::string& name) {
  return parameter_of(EventOfNumber{text, adjacency, name});
}

}  // namespace surety
