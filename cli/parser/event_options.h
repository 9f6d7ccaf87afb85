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
  /// The event, with `values` for its names. \throws Error{invalid_argument}, also when a JSON event says another adjacency.
  [[nodiscard]] Event parse(const std::map<std::string, double>& values = {}) const;
};

}  // namespace surety::cli
