#include <surety/mechanisms/additive/vector_rounding.h>

#include <algorithm>
#include <bit>

#include <surety/base/numbers/floating_point.h>

namespace surety::mechanisms {
namespace {

// Proved: docs/proofs/vector-noise.md#vector-rounding
constexpr int digits = FixedPoint::digits;
/// The highest digit of a number of 190.
constexpr std::size_t high_digits = 190;
/// Reals are below 2^7, in units of 2^-159.
constexpr std::size_t real_digits = magnitude_digits + 7;
/// More than the error of an exponential function or a square, in units.
constexpr std::uint64_t exp_error = 1 << 8;
constexpr std::uint64_t square_error = 260;
/// More than the errors of all logarithms of a factor.
constexpr UnsignedWide log_error = 1 << 16;
/// A factor is in units of 2^-131, from exp(-46) to exp(39).
constexpr std::size_t factor_digits = 131;
constexpr unsigned highest_power = 60;

using Sum = WideInteger<4>;

/// A number in units of 2^-159, from `low` to `high`.
struct Bounds {
  Sum low;
  Sum high;
};

Sum of_real(const IdealReal& real) { return resized<4>(real.magnitude().low); }

Bounds square(const IdealReal& real) {
  const auto magnitude = real.magnitude().low;
  const Sum low = resized<4>(shifted_down(product(magnitude, magnitude), magnitude_digits));
  return {low, low + Sum::of(square_error)};
}

Bounds sum(std::span<const IdealReal> reals) {
  Sum low;
  for (const IdealReal& real : reals) low = low + of_real(real);
  return {low, low + Sum::of(reals.size())};
}

/// 2 (E_1 + ...), plus N^2 where there is one.
Bounds chi_square(const VectorDraw& draw) {
  Bounds result = sum(draw.exponentials);
  result = {result.low + result.low, result.high + result.high};
  for (const IdealReal& real : draw.normal) {
    const Bounds squared = square(real);
    result = {result.low + squared.low, result.high + squared.high};
  }
  return result;
}

/// \param bits the sum is below 2^bits, which is public
WideFactor factor_of_sum(const Bounds& bounds, std::size_t bits) {
  const std::size_t shift = bits > high_digits ? bits - high_digits : 0;
  const auto low = resized<3>(shifted_down(bounds.low, shift));
  const auto high = resized<3>(shifted_down(bounds.high, shift)) + WideInteger<3>::of(1);
  return {.low = low, .width = high - low, .exponent = static_cast<int>(shift) - magnitude_digits};
}

WideFactor factor_of_root(const Bounds& bounds, std::size_t bits) {
  // Odd, as 159 is.
  const std::size_t shift = (2 * high_digits - bits - 1) / 2 * 2 + 1;
  const auto root = [shift](const Sum& of) { return square_root(shifted_up(resized<6>(of), shift)); };
  const WideInteger<3> low = root(bounds.low);
  const WideInteger<3> high = root(bounds.high) + WideInteger<3>::of(1);
  return {.low = low, .width = high - low, .exponent = -static_cast<int>((shift + magnitude_digits) / 2)};
}

UnsignedWide half_of_signed(UnsignedWide x) {
  __extension__ using Signed = __int128;
  return static_cast<UnsignedWide>(static_cast<Signed>(x) >> 1);
}
UnsignedWide log_of(const Sum& x) { return fixed_point::log_of(normalized(x), magnitude_digits); }

/// exp(log) 2^131, with its errors below and above. \pre `log` is from -46 to 39
WideInteger<3> exp_of(UnsignedWide log, bool is_upper) {
  const FixedPoint below{fixed_point::log_of_2.times(highest_power).value - log};
  const auto n = static_cast<unsigned>((below * fixed_point::inverse_log_of_2).value >> digits);
  const UnsignedWide mantissa = fixed_point::exp_of_minus(below - fixed_point::log_of_2.times(n)).value;
  const auto scaled = [n](UnsignedWide x) {
    return shifted_down_by_secret(shifted_up(resized<3>(WideInteger<2>::of(x)), highest_power + factor_digits - digits), n);
  };
  return is_upper ? scaled(mantissa + 2 * exp_error) + WideInteger<3>::of(1) : scaled(mantissa - 2 * exp_error);
}

/// A factor between exp(low) and exp(high). Signed logarithms.
WideFactor factor_of_logs(UnsignedWide low, UnsignedWide high, std::int64_t& in_doubt) {
  low -= log_error;
  high += log_error;
  for (const UnsignedWide log : {low, high}) {
    const UnsignedWide below = fixed_point::log_of_2.times(highest_power).value - log;
    in_doubt |= where(below - fixed_point::whole(2) >= fixed_point::whole(PowerTrial::largest_exponent - 2), std::int64_t{-1});
  }
  const WideInteger<3> from = exp_of(low, false);
  return {.low = from, .width = exp_of(high, true) - from, .exponent = -static_cast<int>(factor_digits)};
}

}  // namespace

VectorRounding::VectorRounding(const VectorLaw& law)
    : law_{law}, scale_{WideFactor::product_of(law.scale)}, inverse_dimension_{fixed_point::whole(1) / law.dimension} {
  const StandardFloatingPoint environment;
  if (law.is_normalized()) power_.emplace(law.shape == VectorLaw::Shape::power ? law.r : 2.0);
}

WideFactor VectorRounding::factor(const VectorDraw& draw, std::int64_t& in_doubt) const {
  if (!law_.is_normalized()) {
    if (law_.radial == VectorLaw::Radial::none) return scale_;
    const auto count = static_cast<std::uint64_t>(draw.exponentials.size());
    if (law_.radial == VectorLaw::Radial::gamma)
      return scale_ * factor_of_sum(sum(draw.exponentials), real_digits + std::bit_width(count) + 1);
    // Twice the exponentials, and a square below 2^14.
    return scale_ * factor_of_root(chi_square(draw), real_digits + 8 + std::bit_width(count));
  }

  UnsignedWide low = 0;
  UnsignedWide high = 0;
  if (law_.radial == VectorLaw::Radial::root_of_chi_square) {
    const Bounds squared = chi_square(draw);
    low = half_of_signed(log_of(squared.low));
    high = half_of_signed(log_of(squared.high));
  } else if (law_.radial == VectorLaw::Radial::ball) {
    low = high = UnsignedWide{0} - (draw.exponentials[0].fixed() * inverse_dimension_).value;
  }

  if (law_.shape != VectorLaw::Shape::power) {
    Bounds squares;
    for (const IdealReal& real : draw.magnitudes) {
      const Bounds squared = square(real);
      squares = {squares.low + squared.low, squares.high + squared.high};
    }
    return scale_ * factor_of_logs(low - half_of_signed(log_of(squares.high)), high - half_of_signed(log_of(squares.low)), in_doubt);
  }
  // Signed numbers in the order of unsigned ones.
  constexpr UnsignedWide middle = UnsignedWide{1} << 127;
  UnsignedWide largest = 0;
  for (const UnsignedWide log : draw.logs) largest = select(largest < log + middle, log + middle, largest);
  // The largest magnitude is so small that few of its digits are known.
  in_doubt |= where(largest < middle - fixed_point::log_of_2.times(IdealReals::log2_cells).value, std::int64_t{-1});
  Sum powers;
  for (const UnsignedWide log : draw.logs) {
    const UnsignedWide below = power_->times_r(largest - (log + middle), fixed_point::whole(PowerTrial::largest_exponent));
    powers = powers + Sum::of(fixed_point::exp_of_minus({below}).value);
  }
  // The sum is at least 1.
  const Sum error = resized<4>(product(WideInteger<2>::of(exp_error), WideInteger<2>::of(draw.logs.size())));
  const Sum one = Sum::of(fixed_point::whole(1));
  const Sum least = select(powers < one + error, one, powers - error);
  const auto over_r = [&](const Sum& of) {
    // It may be computed as less than 0.
    return power_->over_r(fixed_point::at_least_zero(fixed_point::log_of(normalized(of), digits)));
  };
  low = low - (largest - middle) - over_r(powers + error);
  high = high - (largest - middle) - over_r(least);
  return scale_ * factor_of_logs(low, high, in_doubt);
}

std::int64_t VectorRounding::round(const VectorDraw& draw, std::span<std::int64_t> integers) const {
  std::int64_t in_doubt = 0;
  const WideFactor common = factor(draw, in_doubt);
  const bool is_power = law_.shape == VectorLaw::Shape::power;
  for (std::size_t i = 0; i < integers.size(); ++i) {
    const Magnitude magnitude = is_power ? power_->magnitude(draw.magnitudes[i], draw.tails[i]) : draw.magnitudes[i].magnitude();
    const RoundedProduct rounded = rounded_product(common, magnitude, draw.is_negative(i));
    integers[i] = rounded.value;
    in_doubt |= rounded.in_doubt;
  }
  return in_doubt;
}

// Proved so far.
}  // namespace surety::mechanisms
