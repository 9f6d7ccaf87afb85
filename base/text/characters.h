// The characters of a text in UTF-8, one at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace surety {

/// The first character of a text: its code point, and its length in bytes, which is 0 where the text does not start with UTF-8.
struct Character {
  std::uint32_t code = 0;
  std::size_t length = 0;
};

inline Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xf0 && first < 0xf8 ? 4 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xc0 && first < 0xe0 ? 2 : 0;
  if (length == 0 || text.size() < length) return {};
  std::uint32_t code = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr std::array<std::uint32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  if (code < least[length] || code > 0x10ffff || is_surrogate) return {};
  return {code, length};
}

/// Control characters, and those that end lines or turn the direction of writing.
inline bool is_obeyed_by_terminals(std::uint32_t code) {
  const auto within = [code](std::uint32_t first, std::uint32_t last) { return code >= first && code <= last; };
  return within(0, 0x1f) || within(0x7f, 0x9f) || code == 0x61c || within(0x200e, 0x200f) || within(0x2028, 0x202e) ||
         within(0x2066, 0x2069);
}

}  // namespace surety
