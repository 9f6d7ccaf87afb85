// One kind of release, repeated.
#pragma once

#include <optional>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/refusal.h>

namespace surety::accounting {

/// What a composition consists of: one leaf and how often it occurs.
struct Repetition {
  Event leaf;
  double count;
};

/// Nothing where the leaves differ.
[[nodiscard]] std::optional<Repetition> repetition(const Event& event);

/// Why a closed form is not computed: more than `most` releases, or losses whose exponential MPFR may not hold. `loss` is the largest of one release.
[[nodiscard]] std::optional<Refusal> why_too_large(const Repetition& repetition, double most, double loss);

}  // namespace surety::accounting
