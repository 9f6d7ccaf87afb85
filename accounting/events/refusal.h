// How an event is refused by whoever has no theorem for it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <surety/accounting/events/event.h>
#include <surety/base/text/error.h>

namespace surety::accounting {

/// Which part of an event is refused, and the sentence that says by whom and why.
struct Refusal {
  Event part;
  std::string sentence;
};

/// Refuses an event. \throws Error{unsupported} with `sentence`, which says who has no theorem for it and why; {} in it stands for the event.
[[noreturn]] void unsupported(const Event& event, std::string_view sentence);

/// What `prepare`, all that an accountant does with `event` before it computes, refuses of it; nothing where it refuses nothing.
[[nodiscard]] std::optional<Refusal> refusal_of(const Event& event, const std::function<void()>& prepare);

}  // namespace surety::accounting
