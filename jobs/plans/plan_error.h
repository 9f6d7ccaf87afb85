// Refusals of plans, which name fields: "steps is 0, must be ..." for a program, "--steps is 0, ..." for the command, whose options are the fields.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <surety/base/text/error.h>

namespace surety::jobs {

/// A pattern with another text in the place of each mark '@' that stands before a field's name.
[[nodiscard]] std::string with_marks(std::string_view pattern, std::string_view mark);

/// What is wrong with a plan. `what()` names fields as they are.
class PlanError : public Error {
 public:
  PlanError(ErrorCode code, const std::string& reason, std::string in_options) : Error{code, reason}, in_options_{std::move(in_options)} {}

  /// The same, where fields are named as options of the command.
  [[nodiscard]] const std::string& in_options() const noexcept { return in_options_; }

 private:
  std::string in_options_;
};

/// \throws PlanError by a pattern of fmt in which '@' stands before the name of each field. What is put in may hold any text.
template <class... Values>
[[noreturn]] void refuse(ErrorCode code, fmt::format_string<const Values&...> pattern, const Values&... values) {
  const fmt::string_view whole = pattern;
  const std::string_view text{whole.data(), whole.size()};
  const auto with = [&](std::string_view mark) { return fmt::vformat(with_marks(text, mark), fmt::make_format_args(values...)); };
  throw PlanError{code, with(""), with("--")};
}
template <class... Values>
[[noreturn]] void refuse_plan(fmt::format_string<const Values&...> pattern, const Values&... values) {
  refuse<Values...>(ErrorCode::invalid_argument, pattern, values...);
}

}  // namespace surety::jobs
