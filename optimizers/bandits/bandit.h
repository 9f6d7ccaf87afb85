// What the bandits share: arms by their scores, and the warm-up in which the first users get arms by turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <surety/accounting/events/units.h>

namespace surety::optimizers {

/// The index of the first largest score; a NaN counts as less than every number. \pre scores is not empty.
[[nodiscard]] std::size_t best_arm(std::span<const double> scores);

/// A warm-up of `users_per_arm` users for each arm: public.
class WarmUp {
 public:
  /// \throws Error{invalid_argument} when it is longer than the horizon of `users` in all.
  WarmUp(Count arms, Count users_per_arm, Count users);

  /// Whose turn it is after `users` users; nobody's after the warm-up.
  [[nodiscard]] std::optional<std::size_t> turn(std::uint64_t users) const noexcept;

 private:
  Count arms_;
  Count users_per_arm_;
};

}  // namespace surety::optimizers
