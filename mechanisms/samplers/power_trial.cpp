#include <surety/mechanisms/samplers/power_trial.h>

#include <cmath>

#include <surety/base/numbers/floating_point.h>
#include <surety/mechanisms/samplers/lazy_digits.h>

namespace surety::mechanisms {
namespace {

// Proved: docs/proofs/vector-noise.md#vector-rounding
constexpr int digits = FixedPoint::digits;
/// Digits of a magnitude that a fixed-point number does not have.
constexpr std::size_t further_digits = magnitude_digits - digits;
/// More than the error of 1 + E / r.
constexpr UnsignedWide tail_error = 1 << 8;
/// r log g beyond is an exponent above 88 in the tail: exp(5.5) is 244.
constexpr UnsignedWide largest_log = (UnsignedWide{11} << digits) / 2;
/// exp(5.5), towards zero.
constexpr FixedPoint exp_of_largest{(UnsignedWide{0xf4b122790ddfb129} << 64) | 0x8c834010b3969829};

WideInteger<3> of_fixed(UnsignedWide x) { return shifted_up(resized<3>(WideInteger<2>::of(x)), further_digits); }

}  // namespace

PowerTrial::PowerTrial(double r) : r_{r} {
  const StandardFloatingPoint environment;
  int exponent = 0;
  mantissa_ = static_cast<std::uint64_t>(std::ldexp(std::frexp(r, &exponent), 53));
  shift_ = static_cast<std::size_t>(53 - exponent);
  constexpr mpfr_prec_t precision = 2 * first_precision;
  const Interval one{1, precision};
  inverse_.value = floor_digits((one / Interval{r, precision}).lower(), digits);
  tail_ = floor_digits(tail_probability(precision).lower(), 128);
  margin_ = UnsignedWide{static_cast<std::uint64_t>(std::ceil(r))} << 22;
}

UnsignedWide PowerTrial::times_r(UnsignedWide x, UnsignedWide limit) const {
  const WideInteger<3> exact = shifted_down(product(WideInteger<2>::of(x), WideInteger<1>{{mantissa_}}), shift_);
  const UnsignedWide low = UnsignedWide{exact.limbs[1]} << 64 | exact.limbs[0];
  return select((exact.limbs[2] == 0) & (low < limit), low, limit);
}

PowerTrial::Decision PowerTrial::decide(const IdealReal& e, const IdealReal& v, const std::array<std::uint64_t, 2>& t,
                                        const std::array<std::uint64_t, 2>& u) const {
  const UnsignedWide coin = UnsignedWide{t[0]} << 64 | t[1];
  const bool is_tail = coin < tail_;
  bool in_doubt = coin == tail_;

  const UnsignedWide exponential = e.fixed().value;
  const UnsignedWide one = fixed_point::whole(1);
  const WideInteger<3> g = select(is_tail, of_fixed(one + over_r(exponential)), v.magnitude().low);
  const UnsignedWide log = fixed_point::log_of(normalized(g), magnitude_digits);
  const UnsignedWide size = fixed_point::at_least_zero(select(is_tail, log, UnsignedWide{0} - log));
  const UnsignedWide limit = fixed_point::whole(largest_exponent);
  const UnsignedWide power_log = times_r(size, select(is_tail, largest_log, limit));
  const FixedPoint power = fixed_point::exp_of_minus({select(is_tail, largest_log - power_log, power_log)});
  // g^r - 1 - E may be computed as less than 0.
  const UnsignedWide above_tangent = (power * exp_of_largest).value - one - exponential;
  const bool is_below = above_tangent > fixed_point::whole(250);
  const UnsignedWide exponent = select(is_tail, where(!is_below, above_tangent), power.value);
  const UnsignedWide probability = fixed_point::exp_of_minus({fixed_point::at_most(exponent, limit)}).value;

  const UnsignedWide known = (UnsignedWide{u[0]} << 64 | u[1]) >> (128 - digits);
  in_doubt |= probability - known + margin_ <= 2 * margin_;
  Decision result;
  result.accepted = where(known < probability, std::int64_t{-1});
  result.in_doubt = where(in_doubt, std::int64_t{-1});
  result.is_tail = where(is_tail, ~std::uint64_t{0});
  result.real = {select(is_tail, e.k, v.k), {select(is_tail, e.digits[0], v.digits[0]), select(is_tail, e.digits[1], v.digits[1])}};
  result.log = log;
  return result;
}

Magnitude PowerTrial::magnitude(const IdealReal& real, std::uint64_t is_tail) const {
  const UnsignedWide one = fixed_point::whole(1);
  const bool tail = (is_tail & 1) != 0;
  const auto width = static_cast<std::uint64_t>(2 * tail_error) << further_digits;
  return {.low = select(tail, of_fixed(one + over_r(real.fixed().value) - tail_error), real.magnitude().low),
          .width = select(tail, width, std::uint64_t{1})};
}

// Proved so far.

Interval PowerTrial::tail_probability(mpfr_prec_t precision) const {
  const Interval one{1, precision};
  return one / (one + exp(one) * Interval{r_, precision});
}

Interval PowerTrial::enclose(const Interval& real, bool is_tail) const {
  if (!is_tail) return real;
  return Interval{1, real.precision()} + real / Interval{r_, real.precision()};
}

Interval PowerTrial::exponent(const Interval& real, bool is_tail) const {
  const Interval exact_r{r_, real.precision()};
  if (!is_tail) return exp(exact_r * log(real));
  return expm1(exact_r * log1p(real / exact_r)) - real;
}

}  // namespace surety::mechanisms
