// How a command ends: its exit code, and the line that says why.
#pragma once

#include <exception>
#include <string>

#include <surety/base/text/error.h>

namespace surety::cli {

/// Exit codes, as documented in docs/reference/exit-codes.md.
namespace exit_code {
inline constexpr int fine = 0;
inline constexpr int broken = 1;
inline constexpr int usage = 2;
inline constexpr int bad_data = 3;
inline constexpr int damaged_ledger = 4;
inline constexpr int environment = 5;
inline constexpr int unreachable = 6;
inline constexpr int internal = 70;
}  // namespace exit_code

[[nodiscard]] int exit_code_of(ErrorCode code);

/// What ended a command: its exit code and what is said about it.
struct Failure {
  int code;
  std::string message;
  ErrorCode error = ErrorCode::internal;
};
[[nodiscard]] Failure failure_of(const std::exception_ptr& error);
/// Prints one line on standard error, whatever `message` holds, and returns `code`; silent where standard error cannot be written.
int fail(int code, const std::string& message);

}  // namespace surety::cli
