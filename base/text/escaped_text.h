// Text that somebody else wrote, where it goes out for a program to read, or where two texts must not look alike.
#pragma once

#include <string>
#include <string_view>

namespace surety {

/// `text` on one line, with nothing in it that a terminal obeys, and no other text becomes the same: a backslash is doubled, control characters
/// of ASCII and bytes that are not UTF-8 become \xHH, the other characters that `one_line` replaces \uHHHH.
[[nodiscard]] std::string escaped(std::string_view text);

/// `text` as a cell of CSV: `escaped`, so that it is on one line and no two texts become the same; with an apostrophe before it where it begins
/// with = + - @, by which a spreadsheet knows a formula, or with an apostrophe; in quotes where it has a comma or a quote, as RFC 4180 says.
[[nodiscard]] std::string csv_text(std::string_view text);

/// `json`, as it is printed, without what a terminal obeys: such characters stand in its strings alone, and become \uHHHH there, which means the
/// same. \pre UTF-8, in whose strings control characters below U+0020 are escaped already.
[[nodiscard]] std::string json_for_terminals(std::string_view json);

}  // namespace surety
