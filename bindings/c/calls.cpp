#include "calls.h"

#include <cstdlib>
#include <cstring>

namespace surety::c {

surety_failure no_memory{SURETY_ENVIRONMENT, "no memory is left"};

surety_code leave(surety_failure** failure, surety_code code, const char* message) noexcept {
  if (failure == nullptr) return code;
  try {
    *failure = new surety_failure{code, message};
  } catch (...) {
    *failure = &no_memory;
  }
  return code;
}

static_assert(static_cast<int>(ErrorCode::invalid_argument) + 1 == SURETY_INVALID_ARGUMENT &&
              static_cast<int>(ErrorCode::internal) + 1 == SURETY_INTERNAL && static_cast<int>(ErrorCode::stopped) + 1 == SURETY_STOPPED);

namespace {

constinit thread_local QuestionLimit limit_of_thread;
constinit thread_local const ReserveWatch* watch_of_call = nullptr;
constinit thread_local bool runs_callback = false;

}  // namespace

QuestionLimit question_limit() noexcept { return limit_of_thread; }
void set_question_limit(const QuestionLimit& limit) noexcept { limit_of_thread = limit; }

std::string_view text_of(const char* text, std::size_t length, const char* name) {
  const auto letters = given_all(text, length, name);
  return {letters.empty() ? "" : letters.data(), letters.size()};
}

CallbackScope::CallbackScope() noexcept : outer_{std::exchange(runs_callback, true)} {}
CallbackScope::~CallbackScope() { runs_callback = outer_; }
bool is_in_callback() noexcept { return runs_callback; }

WatchedCall::WatchedCall() noexcept : outer_{std::exchange(watch_of_call, &watch_)} {}
WatchedCall::~WatchedCall() { watch_of_call = outer_; }

void require_no_use_of_reserve() {
  if (watch_of_call != nullptr) watch_of_call->require_no_use();
}

surety_enclosure for_c(const Enclosure& enclosure) {
  require_no_use_of_reserve();
  return {enclosure.lower, enclosure.upper};
}

void give_text(const std::string& text, char** into, std::size_t* length) {
  given(into, "text");
  require_no_use_of_reserve();
  auto* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc{};
  std::memcpy(copy, text.c_str(), text.size() + 1);
  *into = copy;
  if (length != nullptr) *length = text.size();
}

CallerBits::CallerBits(const surety_bits* bits) : bits_{known_part(bits, "bits")} {
  if (bits_.vouched_for != SURETY_I_VOUCH_FOR_THESE_BITS) {
    invalid("bits.vouched_for is " + std::to_string(bits_.vouched_for) +
            ", must be SURETY_I_VOUCH_FOR_THESE_BITS: noise is as secret as its bits");
  }
  if (bits_.fill == nullptr) invalid("bits.fill is NULL, must be given");
}

void CallerBits::fill(std::span<std::byte> bytes) {
  require_here();
  if (bits_.fill(bits_.context, reinterpret_cast<unsigned char*>(bytes.data()), bytes.size()) != 0) {
    throw Error{ErrorCode::environment, "the program's random bits failed, must fill what is asked for"};
  }
}

}  // namespace surety::c
