// What all C functions share: handles, how what is thrown becomes a code, how arguments are taken apart. No logic of its own.
#pragma once

#include <surety.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/base/numbers/enclosure.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/system/home_process.h>
#include <surety/base/system/memory_reserve.h>
#include <surety/base/text/error.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/bits/random_bits.h>

#include "known_part.h"

struct surety_failure {
  surety_code code;
  std::string message;
};
struct surety_event {
  surety::Event event;
};
struct surety_ledger {
  surety::accounting::Ledger ledger;
};

namespace surety::c {

/// Bits that the program has vouched for. A copy of the process might draw the same ones.
class CallerBits {
 public:
  /// \throws Error{invalid_argument} where nobody vouches for them, or nothing fills.
  explicit CallerBits(const surety_bits* bits);
  void require_here() const { home_.require_here("noise from the program's own bits"); }
  void fill(std::span<std::byte> bytes);

 private:
  HomeProcess home_;
  surety_bits bits_;
};

}  // namespace surety::c

/// Who makes noise from them has set SURETY_I_VOUCH_FOR_THESE_BITS.
template <>
inline constexpr bool surety::is_cryptographic<surety::c::CallerBits> = true;

namespace surety::c {

/// Where there is no memory for another one.
extern surety_failure no_memory;

/// Leaves a failure where somebody wants it. \return code
surety_code leave(surety_failure** failure, surety_code code, const char* message) noexcept;

/// Looks at one call of the thread, of which another may be within it.
class WatchedCall {
 public:
  WatchedCall() noexcept;
  ~WatchedCall();
  WatchedCall(const WatchedCall&) = delete;
  WatchedCall& operator=(const WatchedCall&) = delete;

 private:
  ReserveWatch watch_;
  const ReserveWatch* outer_;
};
/// Before an answer is handed over. What a call has done, as a settlement, stands however it got its memory.
/// \throws std::bad_alloc where the memory reserve was used in this call. \pre within `guarded`
void require_no_use_of_reserve();

/// A handle on its way to the caller. \throws std::bad_alloc where the memory reserve was used for it.
template <class T>
[[nodiscard]] T* handed_over(T* made) {
  std::unique_ptr<T> own{made};
  require_no_use_of_reserve();
  return own.release();
}

/// A function of the caller is running on this thread, and must not call back: a question within a question would ask it again, without end.
class CallbackScope {
 public:
  CallbackScope() noexcept;
  ~CallbackScope();
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

 private:
  bool outer_;
};
[[nodiscard]] bool is_in_callback() noexcept;

/// What a function of the caller returns.
template <class Function, class... Arguments>
auto called_back(Function* function, Arguments... arguments) {
  const CallbackScope scope;
  return function(arguments...);
}

/// Runs `work`, and turns what it throws into a code. Within a callback it does nothing, and refuses.
template <class Work>
surety_code guarded(surety_failure** failure, const Work& work) noexcept {
  if (failure != nullptr) *failure = nullptr;
  if (is_in_callback()) {
    return leave(failure, SURETY_INVALID_ARGUMENT, "a callback must not call this function of surety; return from the callback first");
  }
  const WatchedCall watched;
  try {
    const StandardFloatingPoint environment;
    work();
    return SURETY_OK;
  } catch (const Error& error) {
    return leave(failure, static_cast<surety_code>(error.code()) + 1, error.what());
  } catch (const std::bad_alloc&) {
    if (failure != nullptr) *failure = &no_memory;
    return SURETY_ENVIRONMENT;
  } catch (const std::length_error&) {  // of what no memory could hold
    if (failure != nullptr) *failure = &no_memory;
    return SURETY_ENVIRONMENT;
  } catch (const std::system_error& error) {  // a file or a thread that the machine refuses
    return leave(failure, SURETY_ENVIRONMENT, error.what());
  } catch (const std::exception& error) {
    return leave(failure, SURETY_INTERNAL, error.what());
  } catch (...) {
    return leave(failure, SURETY_INTERNAL, "an unknown error");
  }
}

/// What a thread has said of its questions. Plain data: nothing is left of it when the thread ends.
struct QuestionLimit {
  double seconds = 0;
  surety_called_off is_called_off = nullptr;
  void* context = nullptr;
};
[[nodiscard]] QuestionLimit question_limit() noexcept;
void set_question_limit(const QuestionLimit& limit) noexcept;

/// As `guarded`, for a question: within the limits of the thread.
template <class Work>
surety_code asked(surety_failure** failure, const Work& work) noexcept {
  return guarded(failure, [&] {
    const QuestionLimit said = question_limit();
    if (said.seconds == 0 && said.is_called_off == nullptr) return work();
    Limit::Rules rules;
    if (said.seconds != 0) rules.seconds = said.seconds;
    if (said.is_called_off != nullptr) rules.is_called_off = [said] { return called_back(said.is_called_off, said.context) != 0; };
    const Limit limit{std::move(rules)};
    work();
  });
}

template <class T>
T& given(T* pointer, const char* name) {
  if (pointer == nullptr) invalid(std::string{name} + " is NULL, must be given");
  return *pointer;
}

/// So many values as the caller says lie there. Where there are none, the pointer may be NULL. \pre not a size that no memory has
template <class T>
std::span<T> given_all(T* pointer, std::size_t count, const char* name) {
  if (count > static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(T)) {
    invalid("count of " + std::string{name} + " is " + std::to_string(count) + ", must be as many as fit in memory");
  }
  if (count == 0) return {};
  return {&given(pointer, name), count};
}

[[nodiscard]] std::string_view text_of(const char* text, std::size_t length, const char* name);
/// \throws std::bad_alloc where the memory reserve was used for it.
[[nodiscard]] surety_enclosure for_c(const Enclosure& enclosure);
/// A copy of the text that `surety_free` frees, with a zero behind it. \throws std::bad_alloc.
void give_text(const std::string& text, char** into, std::size_t* length);

}  // namespace surety::c
