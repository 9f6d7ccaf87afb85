// The Renyi accountant: the divergence of every order, added up over releases, then turned into (epsilon, delta).
//
//   D_a(P || Q) = 1 / (a - 1) log E_Q[(dP/dQ)^a],    D_a(event) = its supremum over neighbours in both directions, a > 1
//
// D_a of (adaptively chosen) releases adds up, order by order [Mir17, Proposition 1]. Each order a proves [CKS20, Proposition 12]
//
//   log delta = (a - 1) (D_a - epsilon) + (a - 1) log(1 - 1/a) - log a,
//
// which is convex in a, so the best order is found by descent over the continuum (1 + 1e-6, 1 + 1e6), not from a list. Every
// curve is rounded up with its errors, and the conversion at the order found is evaluated with outward rounding. Only upper
// bounds are proved: lower = 0.
//
// [Mir17] Mironov: Renyi differential privacy. [CKS20] Canonne, Kamath, Steinke: The discrete Gaussian.
#pragma once

#include <optional>
#include <string_view>

#include <surety/accounting/accountants/seam/accountant.h>

namespace surety::accounting {

struct Renyi {
  static constexpr std::string_view name = "renyi";
};

/// The moments accountant: the Renyi accountant restricted to the integer orders 2 to `largest_order`, which are the moments 1
/// to largest_order - 1 of the privacy loss. \source [Abadi et al. 2016: Deep learning with differential privacy], Theorem 2,
/// with the conversion above in place of its older and weaker one.
struct Moments {
  static constexpr std::string_view name = "moments";
  Count largest_order{256};
};

/// A point of a Renyi curve. `exact`: the supremum over what the event allows, up to rounding; otherwise the best bound known.
struct RenyiDivergence {
  Enclosure divergence;
  bool exact;
};

/// Which part of `event` there is no theorem for, and why; nothing where there is one. Makes no law and asks no curve; see accountant.h.
[[nodiscard]] std::optional<Refusal> why_not(const Renyi& accountant, const Event& event);
[[nodiscard]] inline bool supports(const Renyi& accountant, const Event& event) { return !why_not(accountant, event); }
/// Which part of `event` there is no theorem for, and why; nothing where there is one. Makes no law and asks no curve; see accountant.h.
[[nodiscard]] std::optional<Refusal> why_not(const Moments& accountant, const Event& event);
[[nodiscard]] inline bool supports(const Moments& accountant, const Event& event) { return !why_not(accountant, event); }

/// [0, upper] with upper >= D_order(event).
/// \throws Error{unsupported} naming a part for which no curve is known.
/// \complexity one part costs about a microsecond; a sampled part some 60 nodes of a quadrature or, where it is not Gaussian, a
///             sum of `order` terms. \source docs/proofs/renyi.md, one entry per kind of event.
[[nodiscard]] RenyiDivergence renyi_divergence(const Event& event, RenyiOrder order);

/// An answer with the order that proves it.
struct RenyiReport {
  Enclosure bound;       ///< of epsilon or of delta
  RenyiOrder order;      ///< the order that proves it
  bool at_end_of_range;  ///< the best order is at an end of the range searched: one beyond it may prove more
  bool exact_curve;      ///< every part's divergence at that order is exact; otherwise some are the best bound known
};

/// Both \throw Error{unsupported} naming a part for which no curve is known. delta = 0 costs infinity.
[[nodiscard]] RenyiReport explain_epsilon(const Renyi& accountant, const Event& event, Delta delta);
[[nodiscard]] RenyiReport explain_delta(const Renyi& accountant, const Event& event, Epsilon epsilon);
[[nodiscard]] RenyiReport explain_epsilon(const Moments& accountant, const Event& event, Delta delta);
[[nodiscard]] RenyiReport explain_delta(const Moments& accountant, const Event& event, Epsilon epsilon);

[[nodiscard]] Enclosure epsilon(const Renyi& accountant, const Event& event, Delta delta);
[[nodiscard]] Enclosure delta(const Renyi& accountant, const Event& event, Epsilon epsilon);
/// \throws also Error{invalid_argument} when the largest order is below 2.
[[nodiscard]] Enclosure epsilon(const Moments& accountant, const Event& event, Delta delta);
[[nodiscard]] Enclosure delta(const Moments& accountant, const Event& event, Epsilon epsilon);

}  // namespace surety::accounting
