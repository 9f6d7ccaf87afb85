#include <surety/optimizers/printed/printed_svrg_noise.h>

#include <cmath>

#include <fmt/format.h>

#include <surety/base/text/error.h>

namespace surety::optimizers {

void refuse_printed_svrg_noise(Count records, Count steps) {
  const double drawn = -std::expm1(static_cast<double>(steps.value()) * std::log1p(-1 / static_cast<double>(records.value())));
  throw Error{
      ErrorCode::unsupported,
      fmt::format(
          "noise is that of the paper, must be calibrated for SVRG: in {} steps each of {} records is drawn with probability {:.3g}, and the printed noise does not hide one that is drawn",
          steps.value(), records.value(), drawn)};
}

}  // namespace surety::optimizers
