#include <surety/mechanisms/additive/discrete_laplace.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include <surety/base/numbers/checked_cast.h>

namespace surety::mechanisms {
namespace {

/// The double as a quotient, exactly.
Rational exactly(NoiseScale scale) {
  const double b = scale.value();
  if (!(b >= DiscreteLaplace::least_scale && b <= DiscreteLaplace::largest_scale)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("scale is {} integer steps, must be from 2^-10 to 2^56", b)};
  }
  // An integer of 53 bits times 2^exponent, with exponent from -62 to 4.
  const int exponent = std::ilogb(b) - 52;
  const auto mantissa = checked_cast<std::uint64_t>(std::ldexp(b, -exponent));
  if (exponent >= 0) return {.num = mantissa << exponent, .den = 1};
  const int common = std::min(-exponent, std::countr_zero(mantissa));
  return {.num = mantissa >> common, .den = std::uint64_t{1} << (-exponent - common)};
}

Count whole(L1Sensitivity sensitivity) {
  const double s = sensitivity.value();
  if (!(s >= 1 && s <= 0x1p53 && s == std::floor(s))) {
    throw Error{ErrorCode::invalid_argument, fmt::format("l1 sensitivity of integers is {}, must be a whole number from 1 to 2^53", s)};
  }
  return Count{checked_cast<std::uint64_t>(s)};
}

}  // namespace

DiscreteLaplace::DiscreteLaplace(Options options)
    : IntegerMechanism{surety::discrete_laplace(options.scale, whole(options.sensitivity), options.adjacency),
                       DiscreteLaplaceNoise{exactly(options.scale)}},
      options_{options} {}

}  // namespace surety::mechanisms
