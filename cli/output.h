// What the command prints: numbers rounded in the direction that keeps them true, enclosures, and JSON.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include <surety/accounting/numbers/enclosure.h>

namespace surety::cli {

/// `value` to `digits` significant digits, rounded down or up, so that an enclosure stays one on paper.
[[nodiscard]] std::string rounded_down(double value, int digits = 10);
[[nodiscard]] std::string rounded_up(double value, int digits = 10);
/// "[0.1234, 0.1235]", rounded outward.
[[nodiscard]] std::string text(const Enclosure& enclosure);
/// {"lower": ..., "upper": ...}; infinity is the string "infinity".
[[nodiscard]] nlohmann::json json(const Enclosure& enclosure);

/// Writes one JSON object and a newline to standard output. Every one says "version": 1; it grows with a change that old readers take wrongly,
/// not with new fields.
void print(const nlohmann::json& object);
/// The same on one line, for JSON Lines.
void print_line(const nlohmann::json& object);
/// Flushes standard output. \throws Error{environment} when what was printed did not arrive (a full disk).
void finish_output();

}  // namespace surety::cli
