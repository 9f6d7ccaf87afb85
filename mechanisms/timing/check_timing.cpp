#include <surety/mechanisms/timing/check_timing.h>

#include <fmt/format.h>

namespace surety::mechanisms::detail {

void require_timing_options(const TimingOptions& options) {
  if (!(options.seconds > 0 && options.seconds <= TimingOptions::most_seconds)) {
    invalid(fmt::format("seconds is {}, must be greater than 0 and at most {}", options.seconds, TimingOptions::most_seconds));
  }
  if (options.draws == 0) invalid("draws is 0, must be at least 1");
  if (options.first_batch == 0) invalid("first_batch is 0, must be at least 1");
}

}  // namespace surety::mechanisms::detail
