#include <surety/mechanisms/choices/batch_sampler.h>

#include <cmath>

#include <fmt/format.h>

#include <surety/accounting/numbers/checked_cast.h>
#include <surety/accounting/numbers/error.h>
#include <surety/accounting/numbers/interval.h>

namespace surety::mechanisms {

using accounting::Interval;

ExactRate::ExactRate(SamplingRate rate) : rate_{rate.value()}, minus_log_{-std::log1p(-rate_)}, whole_{rate_ == 1} {
  // q = fraction 2^exponent with a fraction in [1/2, 1) of 53 digits.
  int exponent = 0;
  const double fraction = std::frexp(rate_, &exponent);
  mantissa_ = checked_cast<std::uint64_t>(fraction * 0x1p53);
  last_place_ = 53 - exponent;
  const int zeros = std::countr_zero(mantissa_);
  mantissa_ >>= zeros;
  last_place_ -= zeros;
}

std::size_t ExactRate::gap_by_intervals(LazyUniform uniform, std::size_t limit, const NextWord& next_word) const {
  for (;;) {
    const auto precision = precision_for(uniform.words());
    const Interval gaps = noise(NoiseShape::exponential, uniform, precision) / -log1p(Interval{-rate_, precision});
    if (mpfr_cmp_ui(gaps.lower(), limit) >= 0) return limit;
    const std::size_t found = mpfr_get_ui(gaps.lower(), MPFR_RNDD);
    if (mpfr_cmp_ui(gaps.upper(), found + 1) < 0) return found;
    uniform.draw_another_word(next_word);
  }
}

void FixedSizeBatches::require_records(std::size_t records) const {
  if (records == batches_.records().value()) return;
  throw Error{ErrorCode::invalid_argument, fmt::format("the data set has {} records, must have {}, for which the batches were made",
                                                       records, batches_.records().value())};
}

}  // namespace surety::mechanisms
