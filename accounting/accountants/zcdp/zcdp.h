// The zCDP accountant: a second bound, independent of the closed form, from the Renyi divergence of every order at once.
//
// A Gaussian release of multiplier z is rho-zCDP with rho = 1 / (2 z^2); rho adds up over (adaptive) releases [BS16,
// Proposition 1.6 and Lemma 1.7]. rho-zCDP implies, for every t = order - 1 > 0 [CKS20, Corollary 13 and Proposition 12],
//
//     log delta = t ((1 + t) rho - epsilon) - log t + (1 + t) log(t / (1 + t)).
//
// A release whose divergence of every order a is at most xi + rho a costs at epsilon what one of rho costs at epsilon - xi; both numbers add up.
//
// Every t proves an upper bound; the best one has a stationarity condition that is solved in double, and the bound at the t
// found is then evaluated with outward rounding. Only upper bounds are proved: lower = 0.
//
// [BS16] Bun, Steinke: Concentrated differential privacy. [CKS20] Canonne, Kamath, Steinke: The discrete Gaussian.
#pragma once

#include <optional>
#include <string_view>

#include <surety/accounting/accountants/seam/accountant.h>

namespace surety {
class Interval;
}

namespace surety::accounting {

struct Zcdp {
  static constexpr std::string_view name = "zcdp";
};

/// [0, upper] with upper a bound on delta(epsilon), at most 1.
/// \throws Error{unsupported} naming a part for which no rho is known. \complexity microseconds.
/// \source [CKS20] Corollary 13, docs/proofs/zcdp.md#zcdp.
[[nodiscard]] Enclosure delta(const Zcdp& accountant, const Event& event, Epsilon epsilon);

/// [0, upper] with upper a bound on epsilon(delta); infinity for delta = 0.
/// \throws Error{unsupported} naming a part for which no rho is known.
[[nodiscard]] Enclosure epsilon(const Zcdp& accountant, const Event& event, Delta delta);

/// Which part of `event` there is no theorem for, and why; nothing where there is one. Makes no law and asks no curve; see accountant.h.
[[nodiscard]] std::optional<Refusal> why_not(const Zcdp& accountant, const Event& event);
[[nodiscard]] inline bool supports(const Zcdp& accountant, const Event& event) { return !why_not(accountant, event); }

/// The rho that the event's releases add up to, as an interval of the given precision in bits (numbers/interval.h).
/// \throws Error{unsupported} naming a part for which no rho is known, or one of xi above 0.
[[nodiscard]] Interval zcdp_rho(const Event& event, long precision);

/// xi + rho order of the event's releases: at least their divergence of that order. \throws Error{unsupported} naming a part for which no rho is known.
[[nodiscard]] Interval zcdp_divergence(const Event& event, RenyiOrder order, long precision);

}  // namespace surety::accounting
