// The participation accountant: secret batches with so little noise that whoever sees a release sees whether the record was drawn.
//
// Then the cost is about how often the record takes part: K ~ Binomial(N, q) times in N batches of rate q. Given K = k the releases are
// Gaussian of mu_k^2 = mu_0^2 + k mu^2 (mu_0: what is released outside batches), and with delta_G their curve
//
//     sum over k of P(K = k) delta_G(mu_k; epsilon + k log(1/q) + (N - k) log(1/(1-q)))  <=  delta(epsilon)
//     delta(epsilon)  <=  sum over k of P(K = k) delta_G(mu_k; epsilon)                  who is told K knows no less
//
// and the upper bound comes as near to the lower one as the noise is small: docs/proofs/participation.md. Where the noise hides the
// record, use the PLD accountant; where it does not, losses of 10^5 fit no grid, and these sums have some ten terms.
#pragma once

#include <optional>
#include <string_view>

#include <surety/accounting/accountants/seam/accountant.h>
#include <surety/accounting/laws/given/curves.h>

namespace surety::accounting {

struct Participation {
  static constexpr std::string_view name = "participation";

  /// Larger noise multipliers inside a batch, and batches that draw a record more often than this on average, are refused.
  static constexpr double largest_multiplier = 0.2;
  static constexpr double largest_mean = 32;
};

/// Which part of `event` there is no theorem for, and why; nothing where there is one. Makes no law and asks no curve; see accountant.h.
[[nodiscard]] std::optional<Refusal> why_not(const Participation& accountant, const Event& event);
[[nodiscard]] inline bool supports(const Participation& accountant, const Event& event) { return !why_not(accountant, event); }

/// Enclosure of the smallest delta at which `event` is (epsilon, delta)-differentially private. Known are batches of Gaussian releases of
/// one rate and one noise multiplier, beside any other Gaussian releases: fixed size under replace-one, Poisson under add-or-remove-one
/// and zero-out.
/// \param gaussian the curve that is averaged.
/// \throws Error{unsupported} naming the event for any other, and beyond the limits above.
/// \complexity one Gaussian curve in MPFR for each number of participations that counts, some 50 microseconds each.
/// \source docs/proofs/participation.md.
[[nodiscard]] Enclosure delta(const Participation& accountant, const Event& event, Epsilon epsilon, const GaussianCurve& gaussian);

/// Enclosure of inf {epsilon >= 0 : delta(epsilon) <= delta}: each end is where its bound on delta crosses, within a relative 1e-8.
/// delta = 0 costs infinity. \throws as above. \complexity a few times `delta`.
[[nodiscard]] Enclosure epsilon(const Participation& accountant, const Event& event, Delta delta, const GaussianCurve& gaussian);

}  // namespace surety::accounting
