#include <surety/mechanisms/prefix_sums/factorized_sum.h>

#include <fmt/format.h>

#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/text/error.h>

namespace surety::mechanisms {

PushGate::PushGate(const FactorizedSumOptions& options)
    : steps_{options.steps.value()}, dimension_{options.dimension.value()}, grid_{options.grid} {
  if (steps_ > std::uint64_t{1} << 24) {
    throw Error{ErrorCode::invalid_argument, fmt::format("number of steps is {}, must be at most 2^24 for a factorized sum", steps_)};
  }
  if (dimension_ > std::uint64_t{1} << 32) {
    throw Error{ErrorCode::invalid_argument, fmt::format("dimension is {}, must be at most 2^32", dimension_)};
  }
}

void PushGate::begin(const GridVector& contribution) {
  home_.require_here("this sum");
  if (broken_) throw Error{ErrorCode::invalid_argument, "an earlier push failed half way, so this sum takes no more"};
  if (pushed_ == steps_) {
    throw Error{ErrorCode::invalid_argument, fmt::format("step is {}, must be at most the horizon {}", pushed_ + 1, steps_)};
  }
  if (contribution.grid != grid_) {
    throw Error{ErrorCode::invalid_argument, fmt::format("the contribution's grid has log2_step {}, must be the sum's {}",
                                                         contribution.grid.log2_step.value(), grid_.log2_step.value())};
  }
  if (contribution.steps.size() != dimension_) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("the contribution has {} coordinates, must have {}", contribution.steps.size(), dimension_)};
  }
  broken_ = true;  // until finish
}

void PushGate::finish() noexcept {
  ++pushed_;
  broken_ = false;
}

std::int64_t largest_coordinate(const FactorizedSumOptions& options) {
  const double steps = options.headroom.value() * options.sensitivity.value() * options.grid.steps_per_unit();
  if (!(steps >= 1 && steps <= 0x1p60)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("headroom * sensitivity is {} grid steps, must be from 1 to 2^60", steps)};
  }
  return checked_cast<std::int64_t>(steps);
}

StepSigma encoded_sigma(NoiseMultiplier multiplier, double encoded_sensitivity) {
  constexpr mpfr_prec_t precision = 128;
  const double sigma = (Interval{multiplier.value(), precision} * Interval{encoded_sensitivity, precision}).enclosure().upper;
  if (!(sigma <= 0x1p56)) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("sigma is {} units of the encoded stream, must be at most 2^56: take a coarser grid", sigma)};
  }
  return StepSigma{sigma};
}

}  // namespace surety::mechanisms
