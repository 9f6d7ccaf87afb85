#include <surety/jobs/plans/field_text.h>

#include <algorithm>

#include <surety/base/text/error.h>

namespace surety::jobs {

void FieldText::add(std::string text, bool is_name) {
  if (text.empty()) return;
  if (!is_name && !pieces_.empty() && !pieces_.back().is_name) {
    pieces_.back().text += text;
  } else {
    pieces_.push_back({std::move(text), is_name});
  }
}

FieldText& FieldText::operator+=(const FieldText& other) {
  const auto pieces = other.pieces_;  // `other` may be this text
  for (const auto& piece : pieces) add(piece.text, piece.is_name);
  return *this;
}

std::string FieldText::printed(const PrintName& print_name) const {
  std::string text;
  for (const auto& piece : pieces_) text += piece.is_name ? print_name(piece.text) : piece.text;
  return text;
}

FieldText field_text_detail::filled(std::string_view pattern, const std::vector<Argument>& arguments) {
  FieldText text;
  auto argument = arguments.begin();
  while (!pattern.empty()) {
    const auto brace = std::min(pattern.find_first_of("{}"), pattern.size());
    text += std::string{pattern.substr(0, brace)};
    pattern.remove_prefix(brace);
    if (pattern.empty()) break;
    if (pattern.starts_with("{{") || pattern.starts_with("}}")) {
      text += std::string{pattern.front()};
      pattern.remove_prefix(2);
      continue;
    }
    const auto end = pattern.find('}') + 1;
    const bool is_in_order = pattern[1] == '}' || (pattern[1] == ':' && pattern.substr(1, end - 1).find('{') == std::string_view::npos);
    if (!is_in_order || argument == arguments.end()) {
      throw Error{ErrorCode::internal, fmt::format("a pattern has '{}', must have arguments in their order", pattern.substr(0, end))};
    }
    text += argument->print(argument->value, std::string{pattern.substr(0, end)});
    ++argument;
    pattern.remove_prefix(end);
  }
  return text;
}

}  // namespace surety::jobs
