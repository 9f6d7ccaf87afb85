#include <surety/mechanisms/additive/discrete_gaussian.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>

namespace surety::mechanisms {
namespace {

/// sigma = mantissa 2^exponent with mantissa < 2^32 and -31 <= exponent <= 0: the square of each part fits 64 bits.
struct Dyadic {
  std::uint64_t mantissa;
  int exponent;
};

Dyadic dyadic_from(NoiseScale wanted) {
  const double sigma = wanted.value();
  if (!(sigma >= DiscreteGaussian::least_sigma && sigma <= DiscreteGaussian::largest_sigma)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("sigma is {} integer steps, must be from 2^-10 to 2^32 - 1", sigma)};
  }
  int exponent = std::max(-31, std::ilogb(sigma) - 31);
  auto mantissa = checked_cast<std::uint64_t>(std::ceil(std::ldexp(sigma, -exponent)));  // exact before it is rounded up
  if (mantissa == std::uint64_t{1} << 32) {
    mantissa >>= 1;
    ++exponent;
  }
  return {mantissa, exponent};
}

/// sigma^2, exactly.
Rational variance_of(NoiseScale sigma) {
  const Dyadic dyadic = dyadic_from(sigma);
  return {.num = dyadic.mantissa * dyadic.mantissa, .den = std::uint64_t{1} << (-2 * dyadic.exponent)};
}

struct EventOf {
  NoiseScale sigma;
  Adjacency adjacency;

  Event operator()(CoordinateSensitivity sensitivity) const { return surety::discrete_gaussian(sigma, sensitivity.value(), adjacency); }
  Event operator()(L2Sensitivity sensitivity) const {
    constexpr mpfr_prec_t precision = 256;
    const Interval multiplier = Interval{sensitivity.value(), precision} / Interval{sigma.value(), precision};
    return surety::zcdp(Rho{(multiplier * multiplier / Interval{2, precision}).enclosure().upper}, adjacency);
  }
};

}  // namespace

NoiseScale DiscreteGaussian::sigma_for(NoiseScale wanted) {
  const StandardFloatingPoint environment;
  const Dyadic dyadic = dyadic_from(wanted);
  return NoiseScale{std::ldexp(static_cast<double>(dyadic.mantissa), dyadic.exponent)};
}

DiscreteGaussian::DiscreteGaussian(Options options)
    : IntegerMechanism{std::visit(EventOf{sigma_for(options.sigma), options.adjacency}, options.sensitivity),
                       DiscreteGaussianNoise{variance_of(sigma_for(options.sigma))}},
      options_{options},
      sigma_{sigma_for(options.sigma)} {}

}  // namespace surety::mechanisms
