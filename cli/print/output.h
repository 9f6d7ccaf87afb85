// What the command prints: enclosures, tables, CSV and JSON. All that goes to standard
// output or standard error goes through here, and no text of a file, a ledger or an option can end a line or move a terminal.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include <nlohmann/json_fwd.hpp>

#include <surety/accounting/numbers/enclosure.h>
#include <surety/accounting/numbers/rounded_text.h>

namespace surety::cli {

/// {"lower": ..., "upper": ...}; infinity is the string "infinity".
[[nodiscard]] nlohmann::json json(const Enclosure& enclosure);

namespace detail {
/// A text that is put into a line; numbers stay what they are.
template <class Value>
using Inserted = std::conditional_t<std::is_convertible_v<const Value&, std::string_view>, std::string, const Value&>;
[[nodiscard]] std::string inserted(std::string_view text);
template <class Value>
[[nodiscard]] Inserted<Value> as_inserted(const Value& value) {
  if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
    return inserted(value);
  } else {
    return value;
  }
}
void print_formatted(fmt::string_view pattern, fmt::format_args values);
}  // namespace detail

/// Prints to standard output as fmt::print does. A text among `values` is put in as `one_line` has it, at its whole length: the lines are those
/// of `pattern`.
template <class... Values>
void say(fmt::format_string<const detail::Inserted<Values>&...> pattern, const Values&... values) {
  [&](const auto&... safe) { detail::print_formatted(pattern, fmt::make_format_args(safe...)); }(detail::as_inserted(values)...);
}
/// One line of a table for people: what it is, and its value.
void say_line(std::string_view field, std::string_view value);
/// Lines that the command made, each as `one_line` has it. \pre what is in them of others ends no line
void say_lines(std::string_view lines);
/// "surety: error: " and the message, on one line of standard error.
void say_error(std::string_view message);
/// How far a run is, on the line of the terminal that standard error is, over what was there; nothing wipes the line. Never throws, for a terminal
/// that went away is no reason to stop.
void say_progress(std::string_view state);

/// A text as a cell of CSV: `escaped`, so that it is on one line and no two texts become the same; with an apostrophe before it where it begins
/// with = + - @, by which a spreadsheet knows a formula, or with an apostrophe; in quotes where it has a comma or a quote, as RFC 4180 says.
[[nodiscard]] std::string csv_text(std::string_view text);

/// Writes one JSON object and a newline to standard output. Every one says "version": 1; it grows with a change that old readers take wrongly,
/// not with new fields.
void print(const nlohmann::json& object);
/// The same on one line, for JSON Lines.
void print_line(const nlohmann::json& object);
/// Flushes standard output. \throws Error{environment} when what was printed did not arrive (a full disk).
void finish_output();

}  // namespace surety::cli
