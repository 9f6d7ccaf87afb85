#include <surety/data/reading/called_off.h>

#include <chrono>
#include <utility>

#include <surety/base/text/error.h>

namespace surety::data {
namespace {

constinit thread_local CalledOff* innermost = nullptr;
constinit thread_local unsigned turns = 0;

double monotonic_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

constexpr double between_calls = 0.01;

}  // namespace

CalledOff::CalledOff(std::function<bool()> is_called_off)
    : is_called_off_{std::move(is_called_off)}, asked_{monotonic_seconds() - between_calls}, outer_{innermost} {
  innermost = is_called_off_ ? this : nullptr;
}

CalledOff::~CalledOff() { innermost = outer_; }

void CalledOff::ask() {
  const double now = monotonic_seconds();
  if (now - asked_ < between_calls) return;
  asked_ = now;
  if (is_called_off_()) throw Error{ErrorCode::stopped, "it was called off"};
}

void require_not_called_off_now() {
  if (innermost != nullptr) innermost->ask();
}

void require_not_called_off() {
  if (innermost != nullptr && (++turns & 0xff) == 0) require_not_called_off_now();
}

}  // namespace surety::data
