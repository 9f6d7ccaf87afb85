// What a call refuses to do, as a value.
#pragma once

#include <ostream>
#include <string>

#include <surety/accounting/numbers/error.h>

namespace surety::reference {

struct Refusal {
  bool refused = false;
  ErrorCode code = ErrorCode::internal;
  std::string message;

  /// The call threw surety::Error with `wanted`, and its message holds `part`.
  [[nodiscard]] bool says(ErrorCode wanted, const std::string& part) const {
    return refused && code == wanted && message.find(part) != std::string::npos;
  }
  friend std::ostream& operator<<(std::ostream& out, const Refusal& refusal) {
    if (!refusal.refused) return out << "not refused";
    return out << "refused with code " << static_cast<int>(refusal.code) << ": " << refusal.message;
  }
};

/// Calls `call` and catches a surety::Error, and nothing else.
template <class Call>
Refusal refusal_of(Call call) {
  try {
    static_cast<void>(call());
  } catch (const Error& error) {
    return {.refused = true, .code = error.code(), .message = error.what()};
  }
  return {};
}

}  // namespace surety::reference
