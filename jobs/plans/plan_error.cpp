#include <surety/jobs/plans/plan_error.h>

namespace surety::jobs {

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
