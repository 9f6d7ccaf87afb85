// Refusals of plans, which name fields: "steps is 0, must be ..." for a program, "--steps is 0, ..." for the command, whose options are the fields.
// Each front has a text of its own, made from the places of the names. No text of a user is searched for names: it may hold "--steps", too.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <surety/base/text/error.h>

namespace surety::jobs {

/// A pattern with another text in the place of each mark '@' that stands before a field's name.
[[nodiscard]] std::string with_marks(std::string_view pattern, std::string_view mark);

/// What is wrong with a plan. `what()` names fields as they are.
class PlanError : public Error {
 public:
  /// \param reason writes the message with a mark before the name of each field, and nowhere else. It is called with several marks.
  PlanError(ErrorCode code, const std::function<std::string(std::string_view mark)>& reason);

  /// The same, where fields are named as options of the command: "--most-keys".
  [[nodiscard]] const std::string& in_options() const noexcept { return in_options_; }
  /// The same, where fields are named as keywords of Python: "most_keys".
  [[nodiscard]] const std::string& in_keywords() const noexcept { return in_keywords_; }

 private:
  std::string in_options_;
  std::string in_keywords_;
};

/// \throws PlanError by a pattern of fmt in which '@' stands before the name of each field. What is put in may hold any text.
template <class... Values>
[[noreturn]] void refuse(ErrorCode code, fmt::format_string<const Values&...> pattern, const Values&... values) {
  const fmt::string_view whole = pattern;
  const std::string_view text{whole.data(), whole.size()};
  throw PlanError{code, [&](std::string_view mark) { return fmt::vformat(with_marks(text, mark), fmt::make_format_args(values...)); }};
}
template <class... Values>
[[noreturn]] void refuse_plan(fmt::format_string<const Values&...> pattern, const Values&... values) {
  refuse<Values...>(ErrorCode::invalid_argument, pattern, values...);
}

}  // namespace surety::jobs
