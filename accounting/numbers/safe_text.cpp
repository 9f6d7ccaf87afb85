#include <surety/accounting/numbers/safe_text.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>

#include <surety/accounting/numbers/error.h>
#include <surety/accounting/numbers/escaped_text.h>

namespace surety {

namespace {

/// The first character of a text: its code point, and its length in bytes, which is 0 where the text does not start with UTF-8.
struct Character {
  std::uint32_t code = 0;
  std::size_t length = 0;
};

Character first_of(std::string_view text) {
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

bool is_obeyed_by_terminals(std::uint32_t code) {
  const auto within = [code](std::uint32_t first, std::uint32_t last) { return code >= first && code <= last; };
  return within(0, 0x1f) || within(0x7f, 0x9f) || code == 0x61c || within(0x200e, 0x200f) || within(0x2028, 0x202e) ||
         within(0x2066, 0x2069);
}

/// Most texts: printable ASCII.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto [code, length] = first_of(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string one_line(std::string_view text, std::size_t most) {
  if (text.size() <= most && is_plain(text)) return std::string{text};
  std::string line;
  while (!text.empty()) {
    const auto [code, length] = first_of(text);
    const std::string shown = length == 0                    ? fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()))
                              : is_obeyed_by_terminals(code) ? std::string(1, ' ')
                                                             : std::string{text.substr(0, length)};
    if (line.size() + shown.size() > most) return line + "...";
    line += shown;
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return line;
}

std::string escaped(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const auto [code, length] = first_of(text);
    const auto byte = static_cast<unsigned char>(text.front());
    if (length == 0 || (length == 1 && is_obeyed_by_terminals(code))) {
      line += fmt::format("\\x{:02x}", byte);
    } else if (is_obeyed_by_terminals(code)) {
      line += fmt::format("\\u{:04x}", code);
    } else {
      if (code == '\\') line += '\\';
      line += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return line;
}

std::string json_for_terminals(std::string_view json) {
  std::string result;
  result.reserve(json.size());
  while (!json.empty()) {
    const auto [code, length] = first_of(json);
    if (length == 0) throw Error{ErrorCode::internal, "JSON that is not UTF-8"};
    if (code >= 0x7f && is_obeyed_by_terminals(code)) {
      result += fmt::format("\\u{:04x}", code);
    } else {
      result += json.substr(0, length);
    }
    json.remove_prefix(length);
  }
  return result;
}

}  // namespace surety
