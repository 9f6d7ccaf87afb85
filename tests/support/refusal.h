// What a call refuses to do: as a value, as a message, as an expectation.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <surety/base/text/error.h>

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

/// What `action` says when it refuses an argument.
std::string refusal(auto&& action) {
  const auto found = surety::reference::refusal_of([&] {
    static_cast<void>(action());
    return 0;
  });
  if (!found.refused) return "no error";
  EXPECT_EQ(found.code, surety::ErrorCode::invalid_argument) << found.message;
  return found.message;
}

/// `action` refuses with `code`, in one line that holds `words`.
template <class Action>
::testing::AssertionResult refuses(Action action, surety::ErrorCode code, const std::vector<std::string_view>& words) {
  try {
    action();
  } catch (const surety::Error& error) {
    const std::string message = error.what();
    if (error.code() != code) return ::testing::AssertionFailure() << "another code, with the message: " << message;
    if (message.find('\n') != std::string::npos) return ::testing::AssertionFailure() << "more than one line: " << message;
    for (const auto word : words) {
      if (message.find(word) == std::string::npos) return ::testing::AssertionFailure() << "no '" << word << "' in: " << message;
    }
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "nothing was refused";
}
