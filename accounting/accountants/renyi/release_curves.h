// Divergences of single releases, evaluated in MPFR intervals and rounded up. docs/proofs/renyi.md#curves has each formula and its source.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>

#include <surety/accounting/accountants/renyi/order_bound.h>
#include <surety/accounting/events/event.h>
#include <surety/accounting/events/points.h>
#include <surety/base/numbers/interval.h>

namespace surety::accounting::renyi {

inline constexpr mpfr_prec_t precision = 128;
[[nodiscard]] inline Interval number(double value) { return {value, precision}; }
[[nodiscard]] inline Interval number(Count count) { return number(static_cast<double>(count.value())); }
[[nodiscard]] inline Interval square(const Interval& x) { return x * x; }
[[nodiscard]] inline double upper(const Interval& x) { return std::max(0.0, x.enclosure().upper); }

/// Anything (epsilon, 0)-private: binary randomized response is the worst case [KOV15, Theorem 3.1 (domination)], and is
/// (epsilon^2 / 2)-zCDP [BS16, Proposition 3.3], which is the better evaluation where epsilon is tiny.
[[nodiscard]] OrderBound pure_bound(const Interval& epsilon, double order);

/// The smallest epsilon of the releases that are (epsilon, 0)-private, if it is one.
[[nodiscard]] std::optional<Interval> pure_epsilon(const Event& event);

/// Whether no loss of either order of the pair is infinite, so that its divergences are not.
[[nodiscard]] bool has_divergences(const LawAtoms& atoms);
/// Atoms that are summed for each order within a millisecond.
inline constexpr std::size_t most_atoms = 1000;

/// D_order of a release that is no structure of others. \throws Error{internal} for one that is.
[[nodiscard]] OrderBound release_bound(const Event& release, double order);

}  // namespace surety::accounting::renyi
