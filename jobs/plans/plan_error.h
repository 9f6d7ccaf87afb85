// Refusals of plans as values: a code, and a text that names fields, which each front end prints with its own names.
#pragma once

#include <string>
#include <utility>

#include <surety/base/text/error.h>
#include <surety/jobs/plans/field_text.h>

namespace surety::jobs {

/// Why a plan is refused.
struct PlanRefusal {
  ErrorCode code;
  /// "steps is 0, must be at least 1": the field, its value, the constraint, and where there is one the fix.
  FieldText text;
  /// Whether it is about an option of a plan that was read as text.
  bool is_of_plan_text = false;
};

/// A refusal that is thrown. `what()` names fields as plans write them.
class PlanError : public Error {
 public:
  explicit PlanError(PlanRefusal refusal)
      : Error{refusal.code, (refusal.is_of_plan_text ? "options: " : "") + refusal.text.plain()}, refusal_{std::move(refusal)} {}

  [[nodiscard]] const PlanRefusal& refusal() const noexcept { return refusal_; }

 private:
  PlanRefusal refusal_;
};

/// \throws PlanError by a pattern as that of `field_text`.
template <class... Values>
[[noreturn]] void refuse(ErrorCode code, fmt::format_string<const Values&...> pattern, const Values&... values) {
  throw PlanError{{.code = code, .text = field_text<Values...>(pattern, values...)}};
}
template <class... Values>
[[noreturn]] void refuse_plan(fmt::format_string<const Values&...> pattern, const Values&... values) {
  refuse<Values...>(ErrorCode::invalid_argument, pattern, values...);
}

}  // namespace surety::jobs
