// The contour accountant: delta(epsilon) as a Laplace inversion integral over a vertical line, for privacy losses with a density.
//
// For a pair of laws P, Q with loss L = log(dP/dQ) under P and M(z) = E_P[exp(z L)], every s > 0 gives
//
//     delta(epsilon) = E_P[(1 - exp(epsilon - L))_+] = 1/(2 pi) int M(s + it) exp(-(s + it) epsilon) / ((s + it)(s + it + 1)) dt
//
// and M of a composition is the product of the parts' M. The integrand is analytic and falls off like a Gaussian, so that some
// 50 points of the trapezoid rule give 12 digits of delta, however small delta is: s is the saddle point, and every error is
// relative to the answer. It is independent of the PLD accountant; the two must overlap wherever both answer.
//
// It knows Gaussian releases, Poisson-sampled batches of them, and discrete Gaussian releases of several kinds, repeated and composed, also of different
// parameters. The pair
// ((1 - q) N(0, 1) + q N(mu, 1), N(0, 1)) and its reverse dominate a sampled batch, are attained by concrete data, and are
// composed each in its own direction [ZDW22, Theorems 10 and 11]. Its errors (aliasing, truncation, quadrature, rounding) are
// derived in docs/proofs/contour.md.
//
// [ZDW22] Zhu, Dong, Wang: Optimal accounting of differential privacy via characteristic function.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include <surety/accounting/accountants/seam/accountant.h>
#include <surety/accounting/laws/given/direction.h>

namespace surety::accounting {

struct Contour {
  /// The width in epsilon to aim at; the answer is wider where rounding does not allow it. \pre positive.
  double width = 1e-8;
  static constexpr std::string_view name = "contour";
};

/// Enclosure of the smallest delta at which `event` is (epsilon, delta)-differentially private: the larger of both directions.
/// \throws Error{unsupported} naming the event where no theorem is known here, or where the provable error is above 0.1 % of
///         delta or would need too many points (a loss with atoms or nearly so, one or two releases at a tiny rate).
/// \complexity some 10^4 to 10^6 products per different part: 0.1 to 10 ms a part, most where there are few.
/// \source docs/proofs/contour.md.
[[nodiscard]] Enclosure delta(const Contour& accountant, const Event& event, Epsilon epsilon);

/// Enclosure of inf {epsilon >= 0 : delta(epsilon) <= delta}; delta = 0 costs infinity.
/// \throws Error{unsupported} as above.
[[nodiscard]] Enclosure epsilon(const Contour& accountant, const Event& event, Delta delta);

/// Which part of `event` there is no theorem for, and why; nothing where there is one. Makes no law and asks no curve; see accountant.h.
[[nodiscard]] std::optional<Refusal> why_not(const Contour& accountant, const Event& event);
[[nodiscard]] inline bool supports(const Contour& accountant, const Event& event) { return !why_not(accountant, event); }

/// delta of one event at many epsilons: a line serves all that are near its own, as narrowly. Copies share what was prepared; not for
/// several threads at once. \complexity of a further epsilon near others: microseconds.
class ContourCurve {
 public:
  /// \param enough a line made for another epsilon also serves where it errs by this share of delta
  /// \throws Error{unsupported} where no theorem is known for the event.
  explicit ContourCurve(const Event& event, const Contour& accountant = {}, double enough = 0);
  /// As `delta`, and no wider but for rounding and for what is enough. \throws as `delta`.
  [[nodiscard]] Enclosure operator()(Epsilon epsilon) const;

 private:
  struct Prepared;
  std::shared_ptr<Prepared> prepared_;
};

/// The same in one direction alone: every part of `event` is composed in that direction.
[[nodiscard]] Enclosure delta(const Contour& accountant, const Event& event, Epsilon epsilon, Direction direction);
[[nodiscard]] Enclosure epsilon(const Contour& accountant, const Event& event, Delta delta, Direction direction);

}  // namespace surety::accounting
