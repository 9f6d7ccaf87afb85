#include <surety/cli/parser/event_options.h>

#include <fmt/format.h>

#include <surety/accounting/events/event_text.h>
#include <surety/accounting/events/format.h>

namespace surety::cli {

Option& EventOptions::add_optional_to(OptionTable& table) {
  table.add("--adjacency", adjacency, "add-or-remove-one, replace-one or zero-out");
  return table.add("--event", event,
                   "What is released, such as repeat(100, gaussian(40)): the words are in docs/reference/events.md; or its JSON form");
}

void EventOptions::add_to(OptionTable& table) {
  add_optional_to(table).required();
  table.find("--adjacency")->required();
}

Event EventOptions::parse(const std::map<std::string, double>& values) const {
  const auto said = parse_adjacency(adjacency);
  const auto first = event.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || event[first] != '{') return parse_event(event, said, values);
  auto parsed = event_from_json(event);
  if (parsed.adjacency() != said) {
    invalid(fmt::format("adjacency is {}, must be {} as in the event", name(said), name(parsed.adjacency())));
  }
  return parsed;
}

}  // namespace surety::cli
