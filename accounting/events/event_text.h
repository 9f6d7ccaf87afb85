// The event language with names for numbers.
#pragma once

#include <map>
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
};
/// Where `name` stands for a number in `text`. For an event that no value of the name makes valid, the uses up to the first error.
[[nodiscard]] std::vector<NameUse> uses_of_name(std::string_view text, Adjacency adjacency, const std::string& name);
}  // namespace surety
