// What two neighbours cost, from the definition: two laws on the same finite list of outcomes, written down in MPFR, and their
// hockey-stick divergence. Nothing here knows a theorem about any mechanism.
//
//   delta(epsilon) = sum over outcomes of max(0, p - e^epsilon q)
//   epsilon(delta) = max over sets S of log((P(S) - delta) / Q(S)), at least 0; a set of largest p / q attains it
//
// both as the larger of the two directions. Lumping outcomes together is post-processing, so it never makes a cost larger.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include <support/real.h>

namespace surety::reference {

class Neighbours {
 public:
  /// \pre as many in `p` as in `q`, all of them positive.
  Neighbours(std::vector<Real> p, std::vector<Real> q) : p_{std::move(p)}, q_{std::move(q)} {}

  [[nodiscard]] std::size_t size() const { return p_.size(); }
  [[nodiscard]] Real delta(double epsilon) const {
    return std::max(delta(p_, q_, epsilon), delta(q_, p_, epsilon), [](const Real& a, const Real& b) { return a < b; });
  }
  [[nodiscard]] Real epsilon(double delta) const {
    return std::max(epsilon(p_, q_, delta), epsilon(q_, p_, delta), [](const Real& a, const Real& b) { return a < b; });
  }

  /// Both are released, independently.
  friend Neighbours operator*(const Neighbours& a, const Neighbours& b) { return {outer_product(a.p_, b.p_), outer_product(a.q_, b.q_)}; }

 private:
  static Real delta(const std::vector<Real>& p, const std::vector<Real>& q, double epsilon) {
    const Real factor = exp(Real{epsilon, p.front().bits()});
    Real sum{0, p.front().bits()};
    for (std::size_t i = 0; i < p.size(); ++i) {
      const Real excess = p[i] - factor * q[i];
      if (excess > 0) sum = sum + excess;
    }
    return sum;
  }

  static Real epsilon(const std::vector<Real>& p, const std::vector<Real>& q, double delta) {
    std::vector<Real> ratio;
    ratio.reserve(p.size());
    for (std::size_t i = 0; i < p.size(); ++i) ratio.push_back(p[i] / q[i]);
    std::vector<std::size_t> order(p.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return ratio[b] < ratio[a]; });
    Real of_p{-delta, p.front().bits()};
    Real of_q{0, p.front().bits()};
    Real most{1, p.front().bits()};
    for (const auto i : order) {
      of_p = of_p + p[i];
      of_q = of_q + q[i];
      const Real odds = of_p / of_q;
      if (odds > most) most = odds;
    }
    return log(most);
  }

  static std::vector<Real> outer_product(const std::vector<Real>& a, const std::vector<Real>& b) {
    std::vector<Real> result;
    result.reserve(a.size() * b.size());
    for (const auto& x : a) {
      for (const auto& y : b) result.push_back(x * y);
    }
    return result;
  }

  std::vector<Real> p_;
  std::vector<Real> q_;
};

/// A symmetric law on the integers, by P(noise >= k) for k >= 1.
struct SymmetricLaw {
  std::function<Real(std::int64_t)> at_least;
  std::int64_t reach;  ///< what lies further out is negligible or has one loss
};

/// Two queries that are `shift` steps apart, plus noise of this law: every result within `reach` of both, and what is beyond lumped
/// together on each side.
inline Neighbours shifted(const SymmetricLaw& law, std::int64_t shift) {
  shift = shift < 0 ? -shift : shift;
  std::vector<Real> at_least;  // of 1, 2, ...
  for (std::int64_t k = 1; k <= shift + law.reach + 2; ++k) at_least.push_back(law.at_least(k));
  const auto tail = [&](std::int64_t k) {
    return k >= 1 ? at_least[static_cast<std::size_t>(k - 1)] : 1.0 - at_least[static_cast<std::size_t>(-k)];
  };
  const auto mass = [&](std::int64_t k) {
    k = k < 0 ? -k : k;
    return tail(k) - tail(k + 1);
  };
  // A result r is noise r around 0 and noise r - shift around shift; left tails are mirrored right ones.
  const std::int64_t low = -law.reach;
  const std::int64_t high = shift + law.reach;
  std::vector<Real> p{tail(1 - low)};
  std::vector<Real> q{tail(1 - low + shift)};
  for (std::int64_t r = low; r <= high; ++r) {
    p.push_back(mass(r));
    q.push_back(mass(r - shift));
  }
  p.push_back(tail(high + 1));
  q.push_back(tail(high + 1 - shift));
  return {std::move(p), std::move(q)};
}

}  // namespace surety::reference
