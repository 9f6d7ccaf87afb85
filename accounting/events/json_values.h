// Values of JSON from outside, checked: the only place where a JSON value becomes a value of C++. Implicit conversions of the JSON library are off
// (JSON_USE_IMPLICIT_CONVERSIONS=0), and scripts/check refuses its own accessors elsewhere: they throw the library's exceptions, which no caller expects.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace surety::accounting {

/// "a number": what a message calls the type of `json`.
[[nodiscard]] std::string_view kind_of(const nlohmann::json& json) noexcept;

// Each returns `json` as its type. `what` begins the message: "delimiter of a unit must be a text (got a number)".
// No message repeats the value. \throws Error{invalid_argument} for any other type.
[[nodiscard]] std::string text_of(const nlohmann::json& json, std::string_view what);
[[nodiscard]] bool truth_of(const nlohmann::json& json, std::string_view what);
/// The nearest double; the parser has refused numbers outside the range of double.
[[nodiscard]] double number_of(const nlohmann::json& json, std::string_view what);
/// A whole number written in digits alone. \throws Error{invalid_argument} also for one above `most`.
[[nodiscard]] std::uint64_t whole_number_of(const nlohmann::json& json, std::string_view what,
                                            std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
[[nodiscard]] std::vector<std::string> texts_of(const nlohmann::json& json, std::string_view what);
[[nodiscard]] std::vector<double> numbers_of(const nlohmann::json& json, std::string_view what);
/// The list itself, for the caller to read.
[[nodiscard]] const nlohmann::json& list_of(const nlohmann::json& json, std::string_view what);

/// A member of an object. \throws Error{invalid_argument} where `json` is no object or has no such field.
[[nodiscard]] const nlohmann::json& field_of(const nlohmann::json& json, const char* field, std::string_view what);

/// Throws an Error in the place of the exception of the JSON library that is being handled, if it is one. \param reason what is wrong, if not the type of
/// a value \throws Error{invalid_argument}, or the exception itself
[[noreturn]] void rethrow_json_error(std::string_view what, std::string_view reason = {});

/// What `action` returns. \throws Error{invalid_argument} "<what>: <reason>" in the place of the JSON library's exceptions
template <class Action>
decltype(auto) translating_json_errors(std::string_view what, const Action& action, std::string_view reason = {}) {
  try {
    return action();
  } catch (const nlohmann::json::exception&) {
    rethrow_json_error(what, reason);
  }
}

}  // namespace surety::accounting
