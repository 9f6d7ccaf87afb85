// Text that somebody else wrote (a path, a column, an event) on its way into a message or a file of ours.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace surety {

/// Whether `text` is UTF-8 as RFC 3629 has it: neither overlong forms nor surrogates, nothing beyond U+10FFFF.
[[nodiscard]] bool is_utf8(std::string_view text);

/// What a message repeats of `text`: at most `most` bytes of it, on one line, with nothing in it that a terminal obeys. Control characters,
/// those that end lines and those that reverse the direction of writing become spaces, bytes that are not UTF-8 become \xHH, and "..." says
/// that something was left out.
[[nodiscard]] std::string one_line(std::string_view text, std::size_t most = 200);

}  // namespace surety
