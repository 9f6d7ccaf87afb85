// The event language with names for numbers, and copies of an event with another number or adjacency.
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
  std::vector<std::size_t>
      path;            ///< from the whole event inwards: the index of each event among the events that are arguments of the one before
  std::size_t number;  ///< the index among the numbers that are arguments of the last event, optional ones included
};

/// An event of the event language in which one name stands for a number, as gaussian(z): a function of that number. The text is parsed once.
class EventOfNumber {
 public:
  /// Does not throw for a text that is no event with any number: the call operator does.
  EventOfNumber(std::string_view text, Adjacency adjacency, std::string name);

  /// What parse_event(text, adjacency, {{name, value}}) is. \throws Error{invalid_argument} as that.
  /// \complexity O(size of the events that contain the name, and of their arguments).
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
  std::optional<Event> parsed_;  ///< with a trial number; nothing where no trial makes an event
};

/// The same event under another adjacency. \throws Error{invalid_argument} where a part of it has no meaning there.
[[nodiscard]] Event under(const Event& event, Adjacency adjacency);

}  // namespace surety
