// The words that stand for values: each is written once, for both directions, and who misspells one is told which was meant.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <surety/base/text/error.h>

namespace surety {

/// "; did you mean 'gaussian'?" where `word` is nearly one of `known`, else nothing.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);

namespace accounting {

/// \throws Error{invalid_argument} "adjacency is 'x', must be a, b or c", and what was meant.
[[noreturn]] void refuse_word(std::string_view what, std::string_view word, std::span<const std::string_view> known);

/// The values of an enumeration and their words. \pre no value or word twice.
template <class Value, std::size_t count>
struct Words {
  std::string_view what;  ///< that the values are, in messages: "adjacency"
  std::array<Value, count> values;
  std::array<std::string_view, count> words;

  /// The word of `value`.
  [[nodiscard]] std::string_view name(Value value) const {
    const auto found = std::find(values.begin(), values.end(), value);
    if (found == values.end()) throw Error{ErrorCode::internal, std::string{what} + " has a value without a name"};
    return words[static_cast<std::size_t>(found - values.begin())];
  }
  /// The inverse of `name`. \throws Error{invalid_argument} listing the words.
  [[nodiscard]] Value parse(std::string_view word) const {
    const auto found = std::find(words.begin(), words.end(), word);
    if (found == words.end()) refuse_word(what, word, words);
    return values[static_cast<std::size_t>(found - words.begin())];
  }
};

}  // namespace accounting
}  // namespace surety
