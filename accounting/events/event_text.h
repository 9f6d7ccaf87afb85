// The event language with names for numbers, and events that are others with something changed.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <surety/accounting/events/event.h>

namespace surety {

/// The event written in the event language. Numbers may be names that `values` gives a number: 'gaussian(z)' with z = 40.
/// \throws Error{invalid_argument} naming the position and what was expected there.
[[nodiscard]] Event parse_event(std::string_view text, Adjacency adjacency, const std::map<std::string, double>& values);

/// A place in an event of the event language where a name stands for a number.
struct NameUse {
  std::string name;
  std::string field;  ///< as in the JSON form: "noise_multiplier"
  bool whole;
  /// Where: from the event to an event inside it, by their numbers among the events of each, and then the number's among the numbers of that one.
  std::vector<std::size_t> path;
  std::size_t number;
};

/// An event of the event language in which one name stands for a number, as gaussian(z): a function of that number. The text is parsed once.
class EventOfNumber {
 public:
  /// Throws nothing for a text that no number makes an event.
  EventOfNumber(std::string_view text, Adjacency adjacency, std::string name);

  /// What parse_event(text, adjacency, {{name, value}}) is. \throws Error{invalid_argument} as that. \complexity O(the events around the name).
  [[nodiscard]] Event operator()(double value) const;

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] Adjacency adjacency() const noexcept { return adjacency_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Where the name stands for a number. Of a text that no number makes an event, the places up to the first error.
  [[nodiscard]] const std::vector<NameUse>& uses() const noexcept { return uses_; }

 private:
  std::string text_;
  Adjacency adjacency_;
  std::string name_;
  std::vector<NameUse> uses_;
  std::optional<Event> parsed_;  ///< with some number; nothing where none makes an event
};

/// The same event under another adjacency. \throws Error{invalid_argument} where a part of it has no meaning there.
[[nodiscard]] Event under(const Event& event, Adjacency adjacency);

}  // namespace surety
