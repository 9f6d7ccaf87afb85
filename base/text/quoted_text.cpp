#include <surety/base/text/quoted_text.h>

#include <cstddef>

namespace surety {

std::string double_quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

std::optional<std::string> take_quoted(std::string_view& text) {
  std::string value;
  std::size_t k = 1;
  for (; k < text.size() && (text[k] != '"' || text.substr(k + 1).starts_with('"')); k += text[k] == '"' ? 2 : 1) value += text[k];
  if (k >= text.size()) return std::nullopt;
  text.remove_prefix(k + 1);
  return value;
}

}  // namespace surety
