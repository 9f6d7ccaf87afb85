// How an event is refused by whoever has no theorem for it.
#pragma once

#include <string_view>

#include <surety/accounting/events/event.h>
#include <surety/accounting/numbers/error.h>

namespace surety::accounting {

/// Refuses an event. \throws Error{unsupported} with `sentence`, which says who has no theorem for it and why; {} in it stands for the event.
[[noreturn]] void unsupported(const Event& event, std::string_view sentence);

/// Whether `prepare`, all that an accountant does with an event before it computes, refuses nothing.
template <class Prepare>
[[nodiscard]] bool is_supported(const Prepare& prepare) {
  try {
    prepare();
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return false;
  }
}

}  // namespace surety::accounting
