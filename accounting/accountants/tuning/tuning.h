// The tuning accountant: the best of a secret random number of runs.
//
// With phi the generating function of the number of runs, (P, Q) the pair of one run and v(u) the least Q-mass of a set of P-mass u, an
// outcome of P-rank u is published with density phi'(u) dP, and with at least phi'(v(u)) dQ. So
//
//     delta(epsilon) <= sum over i of (A_(i+1) - A_i) delta_run(epsilon - log((A_(i+1) - A_i) / (B_(i+1) - B_i)))
//
// for any chain (B_i, A_i) from (0, 0) above all points (phi'(v(u)), phi'(u)), of which the concave hull is the best: only the curve of one
// run is asked for. From below runs are ranked by falling likelihood ratio, but for the outcomes that are rejected, which are moved to the
// rank at which each is most telling; that is known for Gaussian runs.
// docs/proofs/best-of.md derives every error term.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include <surety/accounting/accountants/seam/accountant.h>
#include <surety/accounting/laws/given/curves.h>

namespace surety::accounting {

struct Tuning {
  static constexpr std::string_view name = "tuning";
  /// Of runs that are not Gaussian: the upper end alone, and no narrower than it takes to say whether it is at most this, an epsilon or a delta as is
  /// asked for. Both ends, as narrow as can be, where there is none.
  std::optional<double> level = std::nullopt;
};

/// Which part of `event` there is no theorem for, and why; nothing where there is one. Makes no law and asks no curve; see accountant.h.
[[nodiscard]] std::optional<Refusal> why_not(const Tuning& accountant, const Event& event, const RunCurves& runs);
[[nodiscard]] inline bool supports(const Tuning& accountant, const Event& event, const RunCurves& runs) {
  return !why_not(accountant, event, runs);
}

/// Enclosure of the smallest delta at which `event`, one best_of alone, is (epsilon, delta)-differentially private. Narrow where a run is
/// one Gaussian release; of others the lower end is that of a run of constant score.
/// \param runs who knows the curve of a run. \param gaussian that of a Gaussian one.
/// \throws Error{unsupported} naming the event for any other, and where nobody knows a run.
/// \complexity Gaussian runs: some 10 ms. Others: some hundred points of the curve of a run.
/// \source docs/proofs/best-of.md.
[[nodiscard]] Enclosure delta(const Tuning& accountant, const Event& event, Epsilon epsilon, const RunCurves& runs,
                              const GaussianCurve& gaussian);

/// Enclosure of inf {epsilon >= 0 : delta(epsilon) <= delta}. Throws as above.
[[nodiscard]] Enclosure epsilon(const Tuning& accountant, const Event& event, Delta delta, const RunCurves& runs,
                                const GaussianCurve& gaussian);

/// Laws of one best_of that some scores attain, each the best one that is known at some epsilon. Empty where no law of a run is known from below.
/// \throws as `delta`. \source docs/proofs/best-of.md#pair.
[[nodiscard]] AttainedLaws tuning_laws(const Event& event, const RunCurves& runs);

/// Bounds on the curve of one best_of in both directions, at rising odds from below 1 to where delta has nearly faded; delta(odds) is convex,
/// so chords between them bound it as well, and beyond the last point it is at most as there. For composing it with other events.
/// \throws as `delta`.
[[nodiscard]] std::vector<CurvePoint> tuning_curve(const Event& event, std::size_t points, const RunCurves& runs);

}  // namespace surety::accounting
