// Choices as arguments of fmt.
#pragma once

#include <string_view>

#include <fmt/format.h>

#include <surety/jobs/plans/choices.h>

/// By its name.
template <surety::jobs::IsChoice Choice>
struct fmt::formatter<Choice, char> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(Choice choice, Context& context) const {
    return fmt::formatter<std::string_view>::format(surety::jobs::name_of(choice), context);
  }
};
