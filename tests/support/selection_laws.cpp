#include <support/selection_laws.h>

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace surety::testing {

Real best_of(const std::vector<Real>& scores) {
  return *std::max_element(scores.begin(), scores.end(), [](const Real& a, const Real& b) { return a < b; });
}

std::vector<Real> softmax(const std::vector<Real>& scores) {
  const Real best = best_of(scores);
  Real sum{0};
  for (const auto& s : scores) sum = sum + exp(s - best);
  std::vector<Real> law;
  for (const auto& s : scores) law.push_back(exp(s - best) / sum);
  return law;
}

std::vector<Real> exponential_noise_law(const std::vector<Real>& scores) {
  const std::size_t k = scores.size();
  const Real best = best_of(scores);
  std::vector<Real> law(k, Real{0});
  for (std::size_t i = 0; i < k; ++i) {
    for (std::size_t set = 0; set < std::size_t{1} << k; ++set) {
      if ((set >> i & 1) != 0) continue;
      Real term = exp(scores[i] - best);
      double factors = 1;
      for (std::size_t j = 0; j < k; ++j) {
        if ((set >> j & 1) == 0) continue;
        term = -term * exp(scores[j] - best);
        ++factors;
      }
      law[i] = law[i] + term / factors;
    }
  }
  return law;
}

std::vector<Real> permute_and_flip_law(const std::vector<Real>& scores) {
  const Real best = best_of(scores);
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<Real> law(scores.size(), Real{0});
  double orders = 0;
  do {
    Real reached{1};
    for (const auto i : order) {
      const Real passes = exp(scores[i] - best);
      law[i] = law[i] + reached * passes;
      reached = reached * (1 - passes);
    }
    ++orders;
  } while (std::next_permutation(order.begin(), order.end()));
  for (auto& p : law) p = p / orders;
  return law;
}

std::vector<Real> laplace_noise_law(const std::vector<Real>& scores) {
  const Real x = scores[0] - scores[1];
  const Real distance = x < 0 ? -x : x;
  const Real loses = (1 + distance / 2) * exp(-distance) / 2;
  if (x < 0) return {loses, 1 - loses};
  return {1 - loses, loses};
}

}  // namespace surety::testing
