#include "event_options.h"

#include <fmt/format.h>

#include <surety/accounting/events/format.h>

namespace surety::cli {

Adjacency adjacency_of(const std::string& text) {
  try {
    return parse_adjacency(text);
  } catch (const Error& error) {
    std::vector<std::string> words;
    for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out})
      words.emplace_back(name(adjacency));
    throw Error{error.code(), error.what() + did_you_mean(text, words)};
  }
}

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
  const auto said = adjacency_of(adjacency);
  const auto first = event.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || event[first] != '{') return parse_event(event, said, values);
  auto parsed = event_from_json(event);
  if (parsed.adjacency() != said) {
    invalid(fmt::format("adjacency is {}, must be {} as in the event", name(said), name(parsed.adjacency())));
  }
  return parsed;
}

}  // namespace surety::cli
