// Which of the keys that nobody listed are shown, where their counts are not: each by itself with the largest probability that a count of one more or less
// allows, of all rules that are (epsilon, delta)-private for one key [DVGM22].
#pragma once

#include <cstdint>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/bits/bits_ref.h>

namespace surety::statistics {

/// The rule of one key, (epsilon, delta)-private where its count changes by one.
class KeySelection {
 public:
  /// \throws Error{unsupported} where delta is 0: then no key may be shown; Error{invalid_argument} unless epsilon > 0.
  KeySelection(Epsilon epsilon, Delta delta);

  /// With which probability a key of this count is shown: 0 for none, and from one count to the next as much more as is proved to be allowed, rounded down to
  /// a double. O(count) for the first question of a count so large, until it is 1.
  [[nodiscard]] double probability(std::uint64_t count);
  /// Whether it is shown: a draw with exactly that probability. \throws Error{environment} when the bits fail.
  [[nodiscard]] bool draw(std::uint64_t count, mechanisms::BitsRef bits);
  /// About the least count of which a key is shown with probability 1/2, from closed forms in doubles: for people, and for the choice of a rule.
  [[nodiscard]] double half() const;

 private:
  Epsilon epsilon_;
  Delta delta_;
  std::vector<double> probabilities_{0};  ///< of counts
  bool is_settled_ = false;               ///< further counts have the last probability
};

/// True with this probability, exactly. \pre 0 <= probability <= 1
[[nodiscard]] bool draw_exactly(double probability, mechanisms::BitsRef bits);

}  // namespace surety::statistics
