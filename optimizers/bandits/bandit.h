// What the bandits share: arms by their scores.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>

namespace surety::optimizers {

/// The index of the first largest score; a NaN counts as less than every number. \pre scores is not empty.
[[nodiscard]] inline std::size_t best_arm(std::span<const double> scores) {
  std::size_t best = 0;
  for (std::size_t arm = 1; arm < scores.size(); ++arm) {
    if (scores[arm] > scores[best] || (std::isnan(scores[best]) && !std::isnan(scores[arm]))) best = arm;
  }
  return best;
}

}  // namespace surety::optimizers
