// One kind of release, repeated.
#pragma once

#include <optional>

#include <surety/accounting/events/event.h>

namespace surety::accounting {

/// What a composition consists of: one leaf and how often it occurs.
struct Repetition {
  Event leaf;
  double count;
};

/// Nothing where the leaves differ.
[[nodiscard]] std::optional<Repetition> repetition(const Event& event);

/// Refuses more than `most` releases, and losses whose exponential MPFR may not hold. `loss` is the largest of one release.
/// \throws Error{unsupported}.
void check_size(const Repetition& repetition, double most, double loss);

}  // namespace surety::accounting
