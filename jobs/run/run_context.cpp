#include <surety/jobs/run/run_context.h>

#include <surety/base/numbers/limit.h>

namespace surety::jobs {

std::string_view name(Phase phase) {
  switch (phase) {
    case Phase::calibrating: return "calibrating";
    case Phase::reading: return "reading";
    case Phase::releasing: return "releasing";
  }
  return "";
}

void RunContext::require_going_on() const {
  if (should_stop && should_stop()) throw Error{ErrorCode::stopped, "the job was called off"};
}

void until_called_off(const RunContext& context, const std::function<void()>& action) {
  if (!context.should_stop) return action();
  context.require_going_on();
  const Limit limit{{.is_called_off = context.should_stop}};
  action();
}

}  // namespace surety::jobs
