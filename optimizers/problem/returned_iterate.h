// Which of its iterates w_0 .. w_T a method returns: the last, an average, or one at an index that was drawn beforehand.
//
// All of them are functions of released values, so each choice that does not look at the data is free. An index that is drawn before the
// run is such a choice; the best of the iterates by their losses is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include <surety/accounting/events/units.h>
#include <surety/mechanisms/bits/lazy_real.h>
#include <surety/mechanisms/bits/random_bits.h>

namespace surety::optimizers {

/// w_T.
struct LastIterate {};
/// The mean of the last `of_last` of w_1 .. w_T.
struct AverageIterate {
  std::optional<Count> of_last = {};  ///< default all of them
};
/// w_index, 0 <= index <= T.
struct IterateAt {
  std::uint64_t index;
};
using ReturnedIterate = std::variant<LastIterate, AverageIterate, IterateAt>;

/// One of w_0 .. w_(T-1), each with the same probability, exactly: the output for which [WYX17] Theorem 6.3 bounds the gradient of a loss
/// that need not be convex. Any bits will do, known ones too.
template <mechanisms::BitSource Bits>
[[nodiscard]] IterateAt random_iterate(Count steps, Bits& bits) {
  return {mechanisms::uniform_below(steps.value(), [&bits] { return mechanisms::draw_word(bits); })};
}

/// Sees w_0, w_1, .., w_T and keeps what is to be returned. O(features) memory.
class IterateKeeper {
 public:
  /// \throws Error{invalid_argument} when `which` asks for iterates that T steps do not make.
  IterateKeeper(const ReturnedIterate& which, Count steps);

  void see(std::span<const double> weights);

  /// \pre w_0 .. w_T were seen.
  [[nodiscard]] std::vector<double> result() && { return std::move(kept_); }

 private:
  ReturnedIterate which_;
  std::uint64_t steps_;
  std::uint64_t seen_ = 0;
  std::vector<double> kept_;
};

}  // namespace surety::optimizers
