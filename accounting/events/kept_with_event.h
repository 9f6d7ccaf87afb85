// The text and the normal form of an event, computed once and shared by its copies. An event never changes. Safe to call from several threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include <surety/accounting/events/event.h>

namespace surety {

struct KeptWithEvent {
  /// `describe(event)`, kept with the event: valid while a copy of it lives. \complexity O(size of the event) the first time, then O(1).
  [[nodiscard]] static const std::string& text(const Event& event);
  /// The kept text, or null where `text` was not called.
  [[nodiscard]] static const std::string* text_if_kept(const Event& event) noexcept;
  /// `make(event)` the first time, and the same event from then on. \pre `make` is the same function in every call.
  [[nodiscard]] static Event plainest(const Event& event, Event (*make)(const Event& event));

  /// How many texts and normal forms this process has computed. A test shows by them that an answer computes each once.
  static inline std::atomic<std::uint64_t> computed_texts = 0;
  static inline std::atomic<std::uint64_t> computed_normal_forms = 0;
};

}  // namespace surety
