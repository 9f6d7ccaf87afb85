// What the command prints: enclosures, tables, CSV and JSON. All that goes to standard
// output or standard error goes through here, and no text of a file, a ledger or an option can end a line or move a terminal.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <nlohmann/json_fwd.hpp>

#include <surety/base/numbers/enclosure.h>
#include <surety/base/numbers/rounded_text.h>
#include <surety/base/text/error.h>
#include <surety/base/text/report_lines.h>

namespace surety::cli {

/// {"lower": ..., "upper": ...}; infinity is the string "infinity".
[[nodiscard]] nlohmann::json json(const Enclosure& enclosure);

/// Prints lines that the command or a report made, each as `one_line` has it, to standard output. \pre what is in them of others ends no line
void say_lines(std::string_view lines);
/// The help of a command: `say_lines`, and headings in bold where standard output shows colour.
void say_help(std::string_view lines);
/// Prints what `safe_format` makes: the lines are those of `pattern`.
template <class... Values>
void say(fmt::format_string<const surety::detail::Inserted<Values>&...> pattern, const Values&... values) {
  say_lines(safe_format<Values...>(pattern, values...));
}
/// One line of a table for people: what it is, and its value.
inline void say_line(std::string_view field, std::string_view value) { say_lines(report_line(field, value)); }
/// "surety: error: " and the message, on one line of standard error.
void say_error(std::string_view message);
/// A line each on standard error: "surety: note: ...".
void say_notes(const std::vector<std::string>& notes);

/// In which shape objects are printed from now on. \param command behind "surety": "ledger create"
void set_json_form(int version, std::string command);
[[nodiscard]] bool prints_json_version_2();
/// Under --json=2, prints what ended the command as an object, unless an object was printed already.
void print_failure(ErrorCode error, int exit_code, std::string_view message);
/// Prints a document that has a schema of its own: without --json=2 as the text `plain`, which is the same document.
void print_document(std::string_view plain, const nlohmann::json& document);

/// Writes one JSON object and a newline to standard output. Every one says "version": 1, which grows with a change that old readers take wrongly,
/// not with new fields; under --json=2 it is the `result` of an object of version 2.
void print(const nlohmann::json& object);
/// Prints what `print` prints of the object with an array of all rows as `field`, with one row in memory at a time. \pre the field's name needs no
/// escape in JSON.
void print_with_rows(nlohmann::json object, const std::string& field, std::size_t count,
                     const std::function<nlohmann::json(std::size_t)>& row);
/// As `print`, on one line, for JSON Lines.
void print_line(const nlohmann::json& object);
/// Flushes standard output. \throws Error{environment} when what was printed did not arrive (a full disk).
void finish_output();

}  // namespace surety::cli
