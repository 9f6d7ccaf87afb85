#include <surety/base/text/safe_text.h>

#include <algorithm>

#include <fmt/format.h>

#include <surety/base/text/characters.h>

namespace surety {

namespace {

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

}  // namespace surety
