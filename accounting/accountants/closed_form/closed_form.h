// The closed-form accountant: events whose privacy curve is known exactly.
//
// Gaussian releases (also repeated, composed and adaptively chosen) are together exactly as hard to tell apart as N(0, 1) and
// N(mu, 1) with mu^2 = sum of 1 / multiplier^2 [DRS19, Corollary 3.3 and Theorem 3.2], and that pair has the curve
//
//     delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)          [BW18, Theorem 8]
//
// One kind of release, repeated, has a law of the privacy loss that can be summed exactly:
//   pure, approx            one bit that is right with odds e^epsilon, everything shown with probability delta [KOV15]
//   randomized_response     three losses: +l, 0 and -l
//   shuffled_reports, shuffled_responses   one shuffle, by binomial sums on either side (laws/shuffled)
//   discrete_laplace(b, 1)  two losses, 1/b and -1/b
//   laplace, k_norm in one dimension   two atoms and a density e^(l/2) between them; sums of truncated powers times exponentials
//
// A Gaussian curve is evaluated in long double with its error bound where that decides; everything else, and all other curves, in MPFR interval
// arithmetic, at twice the precision until the answer is narrow.
//
// [DRS19] Dong, Roth, Su: Gaussian differential privacy. [BW18] Balle, Wang: Improving the Gaussian mechanism. [KOV15] Kairouz, Oh,
// Viswanath: The composition theorem for differential privacy.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include <surety/accounting/accountants/seam/accountant.h>

namespace surety::accounting {

struct ClosedForm {
  static constexpr std::string_view name = "closed-form";
};

/// Enclosure of delta(epsilon) of `event`, of relative width at most 2^-50 (absolute 5e-324 below the range of double).
/// \throws Error{unsupported} naming a part without a closed form; for more than 10,000 releases (50 of Laplace noise), and where
///         the largest loss exceeds 10^8.
/// \complexity Gaussian: some 10 microseconds for ordinary values, 100 where neighbouring doubles are not decided in long double, milliseconds where the two terms cancel deeply (mu below 1e-100);
///             others: O(T), some 5 microseconds a release; Laplace: O(T^3) simple operations, a millisecond at T = 30.
/// \source [BW18] Theorem 8, docs/proofs/closed-form.md#gaussian-curve, #three-losses, #laplace-curve.
[[nodiscard]] Enclosure delta(const ClosedForm& accountant, const Event& event, Epsilon epsilon);

/// Enclosure of inf {epsilon >= 0 : delta(epsilon) <= delta}, of relative width at most 1e-13 unless delta is so close to
/// delta(0) that the event itself leaves it open. delta = 0 costs infinity for Gaussians, the largest loss for bounded ones; at delta = 0 any composition of
/// Laplace and norm-shaped noise in any dimension is known, too: the sum of 1 / scale (docs/proofs/closed-form.md#largest-loss).
/// \throws as `delta`, but for that. \complexity as `delta`; Laplace: some 20 evaluations of it.
[[nodiscard]] Enclosure epsilon(const ClosedForm& accountant, const Event& event, Delta delta);

/// Which part of `event` there is no theorem for, and why; nothing where there is one. Makes no law and asks no curve; see accountant.h.
[[nodiscard]] std::optional<Refusal> why_not(const ClosedForm& accountant, const Event& event);
[[nodiscard]] inline bool supports(const ClosedForm& accountant, const Event& event) { return !why_not(accountant, event); }

/// delta of Gaussian releases at many epsilons, prepared once; nothing for other events. Its width is that of `delta`, or 1e-12 of delta where that is
/// computed in long double. \complexity a microsecond a point for ordinary values. \throws as `delta`.
[[nodiscard]] std::function<Enclosure(Epsilon)> rapid_gaussian_curve(const Event& event);

/// The curve of N(0, 1) against N(mu, 1); mu = 0 costs nothing. Widths as above.
[[nodiscard]] Enclosure gaussian_delta(Mu mu, Epsilon epsilon);
[[nodiscard]] Enclosure gaussian_epsilon(Mu mu, Delta delta);

/// mu*(epsilon, delta): the largest mu whose curve passes at or below (epsilon, delta), of relative width at most 1e-13.
/// Zero where delta = 0.
[[nodiscard]] Enclosure largest_mu(Epsilon epsilon, Delta delta);

}  // namespace surety::accounting
