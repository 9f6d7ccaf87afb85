#include <support/discrete_laws.h>

namespace surety::testing {

DiscreteLaw discrete_gaussian_law(double sigma) {
  const reference::Real twice_variance = 2 * reference::Real{sigma} * reference::Real{sigma};
  return {static_cast<std::int64_t>(20 * sigma) + 20, [&](const reference::Real& k) { return -(k * k) / twice_variance; }};
}

DiscreteLaw discrete_laplace_law(double scale) {
  return {static_cast<std::int64_t>(200 * scale) + 20, [&](const reference::Real& k) { return -k / reference::Real{scale}; }};
}

double enumerated_delta(const DiscreteLaw& law, std::int64_t shift, double epsilon) {
  const reference::Real factor = exp(reference::Real{epsilon});
  reference::Real sum{0};
  for (std::int64_t k = -law.reach(); k <= law.reach() + shift; ++k) {
    const reference::Real excess = law(k - shift) - factor * law(k);
    if (excess > 0) sum = sum + excess;
  }
  return sum.nearest_double();
}

double enumerated_renyi(const DiscreteLaw& law, std::int64_t shift, double order) {
  reference::Real sum{0};
  for (std::int64_t k = shift - law.reach(); k <= law.reach(); ++k) {
    sum = sum + exp(order * log(law(k - shift)) - (order - 1) * log(law(k)));
  }
  return log(sum).nearest_double() / (order - 1);
}

std::uint64_t binary_digits(const reference::Real& x, int count) {
  mpfr_t value;
  mpfr_init2(value, x.bits());
  mpfr_mul_2si(value, x.get(), count - 64, MPFR_RNDN);
  mpfr_frac(value, value, MPFR_RNDN);
  mpfr_mul_2ui(value, value, 64, MPFR_RNDN);
  const std::uint64_t digits = mpfr_get_ui(value, MPFR_RNDD);
  mpfr_clear(value);
  return digits;
}

}  // namespace surety::testing
