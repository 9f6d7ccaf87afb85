// The laws of discrete noise in plain MPFR, from their formulas, and what they cost between neighbouring inputs, by enumeration.
#pragma once

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

DiscreteLaw discrete_gaussian_law(double sigma);

DiscreteLaw discrete_laplace_law(double scale);

/// The least delta at `epsilon` between a query of `shift` and one of 0.
double enumerated_delta(const DiscreteLaw& law, std::int64_t shift, double epsilon);

/// The Renyi divergence of order `order` between them.
double enumerated_renyi(const DiscreteLaw& law, std::int64_t shift, double order);

/// floor(2^count x) mod 2^64. \pre 0 <= x < 1.
std::uint64_t binary_digits(const reference::Real& x, int count);

}  // namespace surety::testing
