// The laws of discrete noise in plain MPFR, from their formulas, and what they cost between neighbouring inputs, by enumeration.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <vector>

#include <support/real.h>

namespace surety::testing {

/// Probabilities of the integers from -reach to reach, beyond which less than 2^-200 is left.
class DiscreteLaw {
 public:
  /// `log_weight(k)` for k >= 0; the law is even.
  DiscreteLaw(std::int64_t reach, const std::function<reference::Real(const reference::Real&)>& log_weight) : reach_{reach} {
    reference::Real sum{0};
    for (std::int64_t k = 0; k <= reach; ++k) {
      half_.push_back(exp(log_weight(reference::Real{static_cast<double>(k)})));
      sum = sum + (k == 0 ? half_.back() : 2 * half_.back());
    }
    for (auto& weight : half_) weight = weight / sum;
  }

  [[nodiscard]] std::int64_t reach() const { return reach_; }
  [[nodiscard]] reference::Real operator()(std::int64_t k) const {
    return std::abs(k) <= reach_ ? half_[static_cast<std::size_t>(std::abs(k))] : reference::Real{0};
  }
  /// P(|k| >= j).
  [[nodiscard]] reference::Real beyond(std::int64_t j) const {
    reference::Real sum{0};
    for (std::int64_t k = reach_; k >= j; --k) sum = sum + (k == 0 ? (*this)(0) : 2 * (*this)(k));
    return sum;
  }

 private:
  std::int64_t reach_;
  std::vector<reference::Real> half_;
};

inline DiscreteLaw discrete_gaussian_law(double sigma) {
  const reference::Real twice_variance = 2 * reference::Real{sigma} * reference::Real{sigma};
  return {static_cast<std::int64_t>(20 * sigma) + 20, [&](const reference::Real& k) { return -(k * k) / twice_variance; }};
}

inline DiscreteLaw discrete_laplace_law(double scale) {
  return {static_cast<std::int64_t>(200 * scale) + 20, [&](const reference::Real& k) { return -k / reference::Real{scale}; }};
}

/// The least delta at `epsilon` between a query of `shift` and one of 0.
inline double enumerated_delta(const DiscreteLaw& law, std::int64_t shift, double epsilon) {
  const reference::Real factor = exp(reference::Real{epsilon});
  reference::Real sum{0};
  for (std::int64_t k = -law.reach(); k <= law.reach() + shift; ++k) {
    const reference::Real excess = law(k - shift) - factor * law(k);
    if (excess > 0) sum = sum + excess;
  }
  return sum.nearest_double();
}

/// The Renyi divergence of order `order` between them.
inline double enumerated_renyi(const DiscreteLaw& law, std::int64_t shift, double order) {
  reference::Real sum{0};
  for (std::int64_t k = shift - law.reach(); k <= law.reach(); ++k) {
    sum = sum + exp(order * log(law(k - shift)) - (order - 1) * log(law(k)));
  }
  return log(sum).nearest_double() / (order - 1);
}

/// floor(2^count x) mod 2^64. \pre 0 <= x < 1.
inline std::uint64_t binary_digits(const reference::Real& x, int count) {
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
