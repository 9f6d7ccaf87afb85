#include <surety/jobs/search/wall_clock.h>

#include <algorithm>
#include <thread>

namespace surety::jobs {

Instant wall_clock_now() { return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now()); }

void wait_until(Instant time) {
  // In pieces, for a clock may be set forward while this sleeps.
  constexpr std::chrono::milliseconds longest{60'000};
  for (auto now = wall_clock_now(); now < time; now = wall_clock_now()) std::this_thread::sleep_for(std::min(time - now, longest));
}

}  // namespace surety::jobs
