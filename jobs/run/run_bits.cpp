#include <surety/jobs/run/run_bits.h>

namespace surety::jobs {

RunBits::RunBits(const std::optional<std::uint64_t>& replay_seed) {
  if (replay_seed) {
    replay_.emplace(*replay_seed);
  } else {
    system_.emplace();
  }
}

}  // namespace surety::jobs
