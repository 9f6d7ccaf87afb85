// What the text of an option must be. A parser alone would take an empty text (a shell variable that is not set) for 0 and -1 for the
// largest unsigned number, so each option that is not free text says its constraint here. A refusal reads
// "--steps is '-1', must be a whole number from 1 to 100".
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace surety::cli {

/// What is wrong with a text, in words that follow the option's name; empty when nothing is.
using Check = std::function<std::string(const std::string&)>;

/// A number as C++ writes it; also nan and inf, which the quantity behind the option refuses by its own name.
[[nodiscard]] Check number();
/// Decimal digits.
[[nodiscard]] Check whole_number(std::uint64_t least = 0, std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
/// One of the words.
[[nodiscard]] Check one_of(std::vector<std::string> words);

}  // namespace surety::cli
