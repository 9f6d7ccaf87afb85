#include <surety/jobs/plans/plan_error.h>

#include <optional>

namespace surety::jobs {
namespace {

/// A character that `text` does not hold. Messages hold no control characters, so there is one.
std::optional<char> unused_in(std::string_view text) {
  for (char c = 1; c < ' '; ++c) {
    if (text.find(c) == std::string_view::npos) return c;
  }
  return std::nullopt;
}

/// A marked message without its marks; in the name behind each mark '-' becomes '_'.
std::string with_keywords(std::string_view marked, char mark) {
  std::string text;
  bool is_name = false;
  for (const char c : marked) {
    is_name = c == mark || (is_name && (c == '-' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')));
    if (c != mark) text += is_name && c == '-' ? '_' : c;
  }
  return text;
}

}  // namespace

PlanError::PlanError(ErrorCode code, const std::function<std::string(std::string_view mark)>& reason)
    : Error{code, reason("")}, in_options_{reason("--")}, in_keywords_{what()} {
  if (const auto mark = unused_in(in_keywords_)) in_keywords_ = with_keywords(reason({&*mark, 1}), *mark);
}

std::string with_marks(std::string_view pattern, std::string_view mark) {
  std::string text;
  text.reserve(pattern.size() + 8);
  for (const char c : pattern) {
    if (c == '@') {
      text += mark;
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace surety::jobs
