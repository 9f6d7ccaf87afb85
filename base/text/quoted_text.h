// Texts in double quotes, as lists of values and queries write names: "New York, NY", "5"" pipe".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace surety {

/// `text` in double quotes; each double quote inside is doubled. The inverse of `take_quoted` for every text.
[[nodiscard]] std::string double_quoted(std::string_view text);

/// Removes a text in double quotes from the front of `text` and returns what stands in them. Returns nothing, and removes nothing, where the
/// quotes are not closed. \pre text.starts_with('"')
[[nodiscard]] std::optional<std::string> take_quoted(std::string_view& text);

}  // namespace surety
