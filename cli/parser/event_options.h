// The options by which a user says an event: shared by the commands that account for one.
#pragma once

#include <map>
#include <string>

#include <surety/accounting/events/event.h>
#include <surety/cli/parser/options.h>

namespace surety::cli {

struct EventOptions {
  std::string event;  ///< the event language, or its JSON form
  std::string adjacency;

  void add_to(OptionTable& table);
  /// The same where an event is one of several things to ask about. \return the option --event.
  Option& add_optional_to(OptionTable& table);
  /// The text of the event: of a file where `event` is @FILE, of standard input where it is -. Reads it each time.
  /// \throws Error{bad_data} where the file cannot be read or has more than 4 MiB
  [[nodiscard]] std::string text() const;
  /// The event, with `values` for its names. \throws Error{invalid_argument}, also when a JSON event says another adjacency.
  [[nodiscard]] Event parse(const std::map<std::string, double>& values = {}) const;
};

/// The text that an option gives as itself, as @FILE or as - for standard input. \throws as `EventOptions::text`
[[nodiscard]] std::string event_text_of(const std::string& given);
/// `parse_event` or `event_from_json`, by the first character of the text. \throws Error{invalid_argument}, which names the file if `given` does.
[[nodiscard]] Event event_of(const std::string& given, Adjacency adjacency, const std::map<std::string, double>& values = {});

}  // namespace surety::cli
