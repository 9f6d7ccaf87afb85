// Values of a report, read from its JSON, and in words.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include <surety/base/numbers/enclosure.h>

namespace surety::jobs::report_values {

// The field of an object as its type. \throws Error{invalid_argument} where it is missing or of another type.
[[nodiscard]] const nlohmann::json& at(const nlohmann::json& object, const char* field);
[[nodiscard]] std::string text_at(const nlohmann::json& object, const char* field);
[[nodiscard]] double number_at(const nlohmann::json& object, const char* field);
[[nodiscard]] bool is_true_at(const nlohmann::json& object, const char* field);
[[nodiscard]] std::uint64_t count_at(const nlohmann::json& object, const char* field);
[[nodiscard]] const nlohmann::json& list_at(const nlohmann::json& object, const char* field);
/// {"lower", "upper"}; the text "infinity" is infinity.
[[nodiscard]] Enclosure enclosure_at(const nlohmann::json& object, const char* field);

/// The shortest text that reads back as the same double.
[[nodiscard]] std::string plain(double value);
/// "at most 1.23457", rounded up to 6 digits; "without a limit" of infinity.
[[nodiscard]] std::string upper_words(const Enclosure& value);
/// "between 1.23456 and 1.23457", rounded outward.
[[nodiscard]] std::string words_of(const Enclosure& value);
/// "epsilon = 1 at delta = 1e-06" of {"epsilon", "delta"}.
[[nodiscard]] std::string target_words(const nlohmann::json& target);
/// What differs between neighbours, of the name of an adjacency. \throws Error{invalid_argument} for another text.
[[nodiscard]] std::string adjacency_words(const std::string& adjacency);
/// A probability from above: "62.1 %", to at most `digits` significant digits, rounded up. \pre 0 <= value <= 1
[[nodiscard]] std::string percent_at_most(double value, int digits = 4);
/// A probability that somebody gave: "0.1 %" of 0.001. \pre 0 <= value <= 1
[[nodiscard]] std::string percent_of(double value);

}  // namespace surety::jobs::report_values
