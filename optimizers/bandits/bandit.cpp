#include <surety/optimizers/bandits/bandit.h>

#include <cmath>

#include <fmt/format.h>

#include <surety/base/text/error.h>

namespace surety::optimizers {

std::size_t best_arm(std::span<const double> scores) {
  std::size_t best = 0;
  for (std::size_t arm = 1; arm < scores.size(); ++arm) {
    if (scores[arm] > scores[best] || (std::isnan(scores[best]) && !std::isnan(scores[arm]))) best = arm;
  }
  return best;
}

WarmUp::WarmUp(Count arms, Count users_per_arm, Count users) : arms_{arms}, users_per_arm_{users_per_arm} {
  if (!(static_cast<double>(arms.value()) * static_cast<double>(users_per_arm.value()) <= static_cast<double>(users.value()))) {
    throw Error{ErrorCode::invalid_argument, fmt::format("warm-up is {} users for each of {} arms, must be at most the {} users in all",
                                                         users_per_arm.value(), arms.value(), users.value())};
  }
}

std::optional<std::size_t> WarmUp::turn(std::uint64_t users) const noexcept {
  const std::uint64_t arm = users / users_per_arm_.value();
  if (arm < arms_.value()) return static_cast<std::size_t>(arm);
  return std::nullopt;
}

}  // namespace surety::optimizers
