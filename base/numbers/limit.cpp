#include <surety/base/numbers/limit.h>

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include <surety/base/text/error.h>

namespace surety {
namespace {

constinit thread_local Limit* innermost = nullptr;

double monotonic_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// A caller's answer may cost more than the loop that asks for it: Python looks for signals.
constexpr double between_calls = 0.01;

}  // namespace

Limit::Limit(Rules rules) : rules_{std::move(rules)}, outer_{innermost} {
  if (rules_.seconds && !(*rules_.seconds > 0))
    invalid(fmt::format("limit of time is {} seconds, must be greater than 0", *rules_.seconds));
  if (!rules_.clock) rules_.clock = monotonic_seconds;
  start_ = rules_.clock();
  asked_ = start_ - between_calls;
  innermost = this;
}

Limit::~Limit() { innermost = outer_; }

void Limit::lift() noexcept {
  for (Limit* limit = innermost; limit != nullptr; limit = limit->outer_) limit->is_lifted_ = true;
}

void Limit::poll() {
  ++polls_;
  if (is_lifted_) return;
  const double now = rules_.clock();
  if (rules_.seconds && now - start_ > *rules_.seconds) {
    throw Error{ErrorCode::stopped, fmt::format("it took longer than {} {}{}", rules_.name, *rules_.seconds, rules_.unit)};
  }
  if (!rules_.is_called_off || now - asked_ < between_calls) return;
  asked_ = now;
  if (rules_.is_called_off()) throw Error{ErrorCode::stopped, "it was called off"};
}

void poll_limit() {
  for (Limit* limit = innermost; limit != nullptr; limit = limit->outer_) limit->poll();
}

}  // namespace surety
