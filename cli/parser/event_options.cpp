#include <surety/cli/parser/event_options.h>

#include <fmt/format.h>

#include <surety/accounting/events/event_text.h>
#include <surety/accounting/events/format.h>
#include <surety/base/text/error.h>
#include <surety/base/text/safe_text.h>
#include <surety/jobs/plans/small_text.h>

namespace surety::cli {

Option& EventOptions::add_optional_to(OptionTable& table) {
  table.add("--adjacency", adjacency, "add-or-remove-one, replace-one or zero-out");
  return table.add(
      "--event", event,
      "What is released, such as repeat(100, gaussian(40)): the words are in docs/reference/events.md; or its JSON form; @FILE reads it from a file, - from standard input");
}

void EventOptions::add_to(OptionTable& table) {
  add_optional_to(table).required();
  table.find("--adjacency")->required();
}

std::string EventOptions::text() const { return event_text_of(event); }

Event EventOptions::parse(const std::map<std::string, double>& values) const { return event_of(event, parse_adjacency(adjacency), values); }

std::string event_text_of(const std::string& given) {
  constexpr std::size_t largest_event = std::size_t{4} << 20;
  if (given == "-") return jobs::read_text(given, largest_event, "an event");
  if (!given.starts_with('@')) return given;
  if (given.size() == 1) invalid("--event is '@', must be followed by the name of a file");
  return jobs::read_text(given.substr(1), largest_event, "an event");
}

Event event_of(const std::string& given, Adjacency adjacency, const std::map<std::string, double>& values) {
  auto text = event_text_of(given);
  const auto parsed = [&] {
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first == std::string::npos || text[first] != '{') return parse_event(text, adjacency, values);
    auto event = event_from_json(text);
    if (event.adjacency() != adjacency) {
      invalid(fmt::format("adjacency is {}, must be {} as in the event", name(adjacency), name(event.adjacency())));
    }
    return event;
  };
  if (given == text) return parsed();
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  try {
    return parsed();
  } catch (const Error& error) {
    throw Error{error.code(),
                fmt::format("{}: {}", given == "-" ? "standard input" : one_line(std::string_view{given}.substr(1)), error.what())};
  }
}

}  // namespace surety::cli
