#include "event_options.h"

#include <fmt/format.h>

namespace surety::cli {

CLI::Option* EventOptions::add_optional_to(CLI::App& command) {
  command.add_option("--adjacency", adjacency, "add-or-remove-one, replace-one or zero-out");
  return command.add_option("--event", event,
                            "What is released, such as repeat(100, gaussian(40)): the words are in the README; or its JSON form");
}

void EventOptions::add_to(CLI::App& command) {
  add_optional_to(command)->required();
  command.get_option("--adjacency")->required();
}

Event EventOptions::parse(const std::map<std::string, double>& values) const {
  const auto said = parse_adjacency(adjacency);
  const auto first = event.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || event[first] != '{') return parse_event(event, said, values);
  auto parsed = event_from_json(event);
  if (parsed.adjacency() != said) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("adjacency is {}, must be {} as in the event", name(said), name(parsed.adjacency()))};
  }
  return parsed;
}

}  // namespace surety::cli
