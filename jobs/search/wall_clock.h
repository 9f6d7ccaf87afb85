// The wall clock: what time it is, and waiting for a time. Nothing else of the command knows either, so that a test puts other ones in their place.
#pragma once

#include <chrono>

namespace surety::jobs {

using Instant = std::chrono::sys_time<std::chrono::milliseconds>;

[[nodiscard]] Instant wall_clock_now();
/// Returns when the clock has come there, also where it is set meanwhile.
void wait_until(Instant time);

}  // namespace surety::jobs
