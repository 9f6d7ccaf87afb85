// Choices of bounded range by brute force: what the strategies of an analyst are worth, in extended precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace surety::reference {

/// What the best of strategies on a fine grid is worth: `ranges` are chosen one after the other, first to last, each loss t among
/// 0, range / moves, ..., range, and the last by its closed form. No more than the truth, and less by about 1 / moves^2.
inline long double played(const std::vector<long double>& ranges, long double x, int moves, std::size_t first = 0) {
  long double left = 0;
  for (std::size_t i = first; i < ranges.size(); ++i) left += ranges[i];
  if (x >= left) return 0;
  if (x <= -left) return -std::expm1(x);
  const long double e = ranges[first];
  if (first + 1 == ranges.size()) {
    const long double root = std::exp(e / 2) - std::exp(x / 2);
    return root * root / std::expm1(e);
  }
  const auto worth = [&](long double t) {
    const long double p = (std::exp(e) - std::exp(t)) / std::expm1(e);
    return p * played(ranges, x - t, moves, first + 1) + (1 - p) * played(ranges, x - t + e, moves, first + 1);
  };
  long double best = 0;
  for (int j = 0; j <= moves; ++j) best = std::max(best, worth(e * j / moves));
  return best;
}

}  // namespace surety::reference
