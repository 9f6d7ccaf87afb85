#include <surety/base/text/escaped_text.h>

#include <fmt/format.h>

#include <surety/base/text/characters.h>
#include <surety/base/text/error.h>

namespace surety {

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

std::string csv_text(std::string_view text) {
  const bool is_formula = !text.empty() && std::string_view{"=+-@'"}.find(text.front()) != std::string_view::npos;
  const std::string safe = (is_formula ? "'" : "") + escaped(text);
  if (safe.find_first_of(",\"") == std::string::npos) return safe;
  std::string quoted = "\"";
  for (const char c : safe) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
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
