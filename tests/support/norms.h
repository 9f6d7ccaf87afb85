// Norms, plainly.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace surety::testing {

/// The l_r norm, r = infinity among them.
inline double norm(const std::vector<double>& x, double r) {
  double sum = 0;
  for (const double value : x) {
    if (std::isinf(r)) {
      sum = std::max(sum, std::abs(value));
    } else {
      sum += r == 2 ? value * value : std::pow(std::abs(value), r);
    }
  }
  return std::isinf(r) ? sum : r == 2 ? std::sqrt(sum) : std::pow(sum, 1 / r);
}

}  // namespace surety::testing
