// Expecting a refusal: its code and words of its message.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include <surety/accounting/numbers/error.h>

template <class Action>
testing::AssertionResult refuses(Action action, surety::ErrorCode code, const std::vector<std::string_view>& words) {
  try {
    action();
  } catch (const surety::Error& error) {
    const std::string message = error.what();
    if (error.code() != code) return testing::AssertionFailure() << "another code, with the message: " << message;
    if (message.find('\n') != std::string::npos) return testing::AssertionFailure() << "more than one line: " << message;
    for (const auto word : words) {
      if (message.find(word) == std::string::npos) return testing::AssertionFailure() << "no '" << word << "' in: " << message;
    }
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "nothing was refused";
}
