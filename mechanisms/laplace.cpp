#include <surety/mechanisms/laplace.h>

#include <limits>

#include <fmt/format.h>

#include <surety/accounting/interval.h>

namespace surety::mechanisms {
namespace {

using accounting::Interval;

/// `value` as a point: both halves and their sum are exact.
Interval exactly(std::uint64_t value, mpfr_prec_t precision) {
  return Interval{static_cast<double>(value >> 32), precision} * Interval{0x1p32, precision} +
         Interval{static_cast<double>(value & 0xffffffff), precision};
}

/// The integer part of a number that is not negative, saturating at the end of int64. Infinity saturates.
std::int64_t integer_part(const mpfr_t& value) {
  if (mpfr_cmp_d(value, 0x1p63) >= 0) return std::numeric_limits<std::int64_t>::max();
  static_assert(sizeof(unsigned long) == 8);
  return static_cast<std::int64_t>(mpfr_get_ui(value, MPFR_RNDZ));
}

}  // namespace

Laplace::Laplace(Options options)
    : options_{options},
      steps_{
          (Interval{options.scale.value(), 128} * Interval{options.sensitivity.value(), 128} * Interval{options.grid.steps_per_unit(), 128})
              .enclosure()
              .upper} {
  if (!(steps_ <= 0x1p56)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("the scale of the noise is {} grid steps, must be at most 2^56", steps_)};
  }
}

void Laplace::require_same_grid(const Grid& grid) const {
  if (grid != options_.grid) {
    throw Error{ErrorCode::invalid_argument, fmt::format("the query's grid has log2_step {}, must be the mechanism's {}",
                                                         grid.log2_step.value(), options_.grid.log2_step.value())};
  }
}

// The magnitude is X = -(b / g) log T for a uniform T, whose binary digits are drawn in order after one bit for the sign. The nearest
// integer is returned once it is the same for every T that the digits leave open.
std::int64_t Laplace::draw(const std::function<std::uint64_t()>& next_word) const {
  std::uint64_t word = next_word();
  const bool is_negative = (word & 1) != 0;
  word >>= 1;
  mpfr_prec_t precision = 192;  // always at least 128 bits more than T has
  Interval low = exactly(word, precision) / Interval{0x1p63, precision};
  Interval width = Interval{1.0, precision} / Interval{0x1p63, precision};
  for (;;) {
    const auto magnitude = [&](const Interval& t) { return Interval{steps_, precision} * -log(t) + Interval{0.5, precision}; };
    const Interval high = low + width;
    // log 0 has no enclosure, so a T whose digits are all 0 so far asks for more.
    if (low.compare(0) > 0) {
      const std::int64_t least = integer_part(magnitude(high).lower());
      const std::int64_t most = integer_part(magnitude(low).upper());
      if (least == most) return is_negative ? -least : least;
    }
    word = next_word();
    precision += 64;
    const Interval shift{0x1p-64, precision};
    width = width * shift;
    low = low + exactly(word, precision) * width;
  }
}

}  // namespace surety::mechanisms
