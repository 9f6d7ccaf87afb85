// The one error type of Surety. Every refusal carries a code, from which the command derives its exit code, and one line
// that names the value and the constraint it breaks.
#pragma once

// Every header includes this one. Infinities and NaNs are refused by comparisons, which a compiler that is told that there are none leaves
// out: a promise of epsilon = infinity would pass. The library itself keeps its own environment (base/numbers/floating_point.h).
#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error Surety refuses numbers that are not finite: compile without -ffinite-math-only, which -ffast-math and -Ofast imply
#endif

#include <stdexcept>
#include <string>

#include <surety/base/text/safe_text.h>

namespace surety {

/// The numbers are for ever: who reads them in another language or program must find what was written. New codes are appended.
enum class ErrorCode {
  invalid_argument = 0,  ///< a parameter, flag or event breaks its constraint, or two parts do not fit together
  unsupported = 1,       ///< no theorem is known to this accountant for the event; the message names the event
  bad_data = 2,          ///< a data set or model file cannot be read as what it is said to be
  budget_exceeded = 3,   ///< a reservation would exceed the ledger's budget, or a release its reservation
  damaged_ledger = 4,    ///< a file is not a ledger, is truncated, or has an unknown version
  environment = 5,       ///< the machine refused: full disk, no entropy, no permission
  unreachable = 6,       ///< no parameter value meets the target
  memory = 7,            ///< an answer of the requested width would need more memory than allowed
  internal = 8,          ///< a defect in Surety itself
  stopped = 9,           ///< a question took longer than its limit, or was called off (base/numbers/limit.h)
};

/// Seen from outside a shared library: whoever catches it there must find the type that was thrown.
class __attribute__((visibility("default"))) Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error{message}, code_{code} {}
  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

/// Refuses an argument. \throws Error{invalid_argument} with `reason`, which names the value and the constraint that it breaks.
[[noreturn]] inline void invalid(const std::string& reason) { throw Error{ErrorCode::invalid_argument, reason}; }

}  // namespace surety
