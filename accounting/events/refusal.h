// How an accountant refuses an event for which it has no theorem.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <surety/accounting/events/event.h>
#include <surety/base/text/error.h>

namespace surety::accounting {

/// Which part of an event is refused, and why. A refusal is a value: most accountants refuse most events, and an answer asks all of them.
class Refusal {
 public:
  /// `reason` is a sentence in which the first {} stands for `part`.
  Refusal(Event part, std::string reason) : part_{std::move(part)}, reason_{std::move(reason)} {}

  [[nodiscard]] const Event& part() const noexcept { return part_; }
  /// Who has no theorem for the part, and why. \complexity O(size of the part): the part is printed here, not before.
  [[nodiscard]] std::string sentence() const;

 private:
  Event part_;
  std::string reason_;
};

/// \throws Error{unsupported} with the refusal's sentence.
[[noreturn]] void unsupported(const Refusal& refusal);
[[noreturn]] inline void unsupported(const Event& part, std::string_view reason) { unsupported(Refusal{part, std::string{reason}}); }

/// What is computed from an event, or the refusal of the event.
template <class Value>
class OrRefusal {
 public:
  OrRefusal(Value value) : result_{std::in_place_index<0>, std::move(value)} {}        // NOLINT(google-explicit-constructor)
  OrRefusal(Refusal refusal) : result_{std::in_place_index<1>, std::move(refusal)} {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] explicit operator bool() const noexcept { return result_.index() == 0; }
  /// \pre there is a value
  [[nodiscard]] Value& operator*() { return *std::get_if<0>(&result_); }
  [[nodiscard]] const Value& operator*() const { return *std::get_if<0>(&result_); }
  [[nodiscard]] Value* operator->() { return std::get_if<0>(&result_); }
  [[nodiscard]] const Value* operator->() const { return std::get_if<0>(&result_); }
  /// \pre there is no value
  [[nodiscard]] const Refusal& refusal() const { return *std::get_if<1>(&result_); }
  /// The refusal, or nothing where there is a value.
  [[nodiscard]] std::optional<Refusal> why_not() const { return *this ? std::nullopt : std::optional{refusal()}; }
  /// \throws Error{unsupported} where there is no value.
  [[nodiscard]] Value value() && {
    if (!*this) unsupported(refusal());
    return std::move(**this);
  }

 private:
  std::variant<Value, Refusal> result_;
};

/// The refusal that `prepare` throws, which computes from `event` by code that returns no refusals; nothing where it throws none.
[[nodiscard]] std::optional<Refusal> refusal_thrown_by(const Event& event, const std::function<void()>& prepare);

}  // namespace surety::accounting
