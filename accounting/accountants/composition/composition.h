// Composition theorems: what releases cost of which only (epsilon_i, delta_i) is known. Three accountants, from the simplest to
// the best possible one.
//
//   basic     sum of epsilon_i at sum of delta_i
//   advanced  sqrt(2 log(1 / d) sum epsilon_i^2) + sum epsilon_i (e^epsilon_i - 1) at d + sum of delta_i      [DRV10, Theorem III.3]
//   optimal   the composition of the hardest releases there are [KOV15, Theorem 3.3; MV16, Theorem 1.5]: with probability delta_i
//             all is lost, otherwise one bit is shown, right with odds e^epsilon_i. delta(epsilon) =
//                 1 - prod (1 - delta_i) (1 - sum over outcomes of (P(outcome) - e^epsilon Q(outcome))_+)
//
// With one epsilon_i for all, the outcomes of `optimal` are those of a binomial law, and the sum is exact. Otherwise the losses
// are rounded to a grid as in [MV16, section 5], up for the upper and down for the lower end.
//
// [DRV10] Dwork, Rothblum, Vadhan: Boosting and differential privacy. [KOV15] Kairouz, Oh, Viswanath: The composition theorem for
// differential privacy. [MV16] Murtagh, Vadhan: The complexity of computing the optimal composition of differential privacy.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <surety/accounting/accountants/composition/promise.h>
#include <surety/accounting/accountants/seam/accountant.h>

namespace surety::accounting {

struct Composition {
  struct Basic {
    static constexpr std::string_view name = "basic-composition";
  };
  struct Advanced {
    static constexpr std::string_view name = "advanced-composition";
  };
  struct Optimal {
    static constexpr std::string_view name = "optimal-composition";
    /// Grid points of the losses on either side of 0, where the epsilons differ: each epsilon is moved by less than 2 (sum of all
    /// epsilons) / points, and the prevailing one by a relative 2^-28. \pre from 1 to 2^20.
    int points = 1 << 15;
  };
};

/// What k promises make together: the smallest epsilon at delta, and the smallest delta at epsilon, that the theorem proves.
/// Upper bounds (lower = 0) of what any such releases cost. No promises cost nothing.
/// \complexity O(number of promises).
[[nodiscard]] Enclosure epsilon(const Composition::Basic& accountant, std::span<const Promise> promises, Delta delta);
[[nodiscard]] Enclosure delta(const Composition::Basic& accountant, std::span<const Promise> promises, Epsilon epsilon);
[[nodiscard]] Enclosure epsilon(const Composition::Advanced& accountant, std::span<const Promise> promises, Delta delta);
[[nodiscard]] Enclosure delta(const Composition::Advanced& accountant, std::span<const Promise> promises, Epsilon epsilon);
/// Two-sided: the lower end is attained by some releases that keep the promises. Width relative 1e-15 for one epsilon, see
/// `Composition::Optimal::points` for several.
/// [0, sum of epsilons] where that sum exceeds 10^9.
/// \throws Error{unsupported} for more than 10^7 releases, or when points x releases exceeds 2 x 10^9 where epsilons differ.
/// \complexity one epsilon: O(sqrt(k)) terms of some microseconds; several: O(points x releases).
/// \source docs/proofs/composition.md#optimal.
[[nodiscard]] Enclosure epsilon(const Composition::Optimal& accountant, std::span<const Promise> promises, Delta delta);
[[nodiscard]] Enclosure delta(const Composition::Optimal& accountant, std::span<const Promise> promises, Epsilon epsilon);

/// One release of each promise on disjoint parts of the data: the largest epsilon with the largest delta. It may be composed
/// further as one promise. The maximum must come first: the largest epsilon of the parts' own compositions bounds nothing, since a
/// record may be in another part each time, and which part costs most depends on delta. \throws Error{invalid_argument} when `promises` is
/// empty or a count is not 1.
[[nodiscard]] Promise parallel_promise(std::span<const Promise> promises);

/// The releases of an event as promises, epsilons rounded up: pure, approx, laplace, discrete_laplace, randomized_response,
/// k_norm and exponential, repeated and composed; a parallel of single releases as their `parallel_promise`.
/// \throws Error{unsupported} naming a part that makes no such promise by itself, or a parallel of more than one release each.
[[nodiscard]] std::vector<Promise> promises(const Event& event);
/// The same, with the refusal as a value.
[[nodiscard]] OrRefusal<std::vector<Promise>> promises_of(const Event& event);

/// The same for events. `Optimal` is two-sided for pure and approx, whose meaning is the promise itself; for other leaves the
/// promise is only a bound and lower = 0.
[[nodiscard]] Enclosure epsilon(const Composition::Basic& accountant, const Event& event, Delta delta);
[[nodiscard]] Enclosure delta(const Composition::Basic& accountant, const Event& event, Epsilon epsilon);
[[nodiscard]] Enclosure epsilon(const Composition::Advanced& accountant, const Event& event, Delta delta);
[[nodiscard]] Enclosure delta(const Composition::Advanced& accountant, const Event& event, Epsilon epsilon);
[[nodiscard]] Enclosure epsilon(const Composition::Optimal& accountant, const Event& event, Delta delta);
[[nodiscard]] Enclosure delta(const Composition::Optimal& accountant, const Event& event, Epsilon epsilon);

/// Which part of `event` there is no theorem for, and why; nothing where there is one. Makes no law and asks no curve; see accountant.h.
[[nodiscard]] std::optional<Refusal> why_not(const Composition::Basic& accountant, const Event& event);
[[nodiscard]] inline bool supports(const Composition::Basic& accountant, const Event& event) { return !why_not(accountant, event); }
/// Which part of `event` there is no theorem for, and why; nothing where there is one. Makes no law and asks no curve; see accountant.h.
[[nodiscard]] std::optional<Refusal> why_not(const Composition::Advanced& accountant, const Event& event);
[[nodiscard]] inline bool supports(const Composition::Advanced& accountant, const Event& event) { return !why_not(accountant, event); }
/// Which part of `event` there is no theorem for, and why; nothing where there is one. Makes no law and asks no curve; see accountant.h.
[[nodiscard]] std::optional<Refusal> why_not(const Composition::Optimal& accountant, const Event& event);
[[nodiscard]] inline bool supports(const Composition::Optimal& accountant, const Event& event) { return !why_not(accountant, event); }

}  // namespace surety::accounting
