// Trade-off functions: how well a test can tell two neighbours apart.
//
//   f(alpha)  the smallest type II error (misses) of all tests with type I error (false alarms) at most alpha
//
// f and the curve delta(epsilon) say the same [DRS19, Proposition 2.12]: with delta the larger of both directions,
//
//   f(alpha) = sup over epsilon >= 0 of max(0, 1 - delta(epsilon) - e^epsilon alpha, e^-epsilon (1 - delta(epsilon) - alpha))
//   delta(epsilon) = sup over alpha of 1 - f(alpha) - e^epsilon alpha
//
// Here f belongs to an event: the largest convex function below the trade-off functions of all its pairs in both directions,
// hence symmetric, and exact for pairs that are their own reverse. Both suprema are of a concave function (of e^epsilon and of
// alpha), so values at a few points bound it everywhere, above and below.
//
// [DRS19] Dong, Roth, Su: Gaussian differential privacy.
#pragma once

#include <functional>
#include <limits>

#include <surety/accounting/accountants/seam/accountant.h>

namespace surety::accounting {

/// delta(epsilon), enclosed; and f(alpha), enclosed.
using PrivacyCurve = std::function<Enclosure(Epsilon)>;
using TradeoffCurve = std::function<Enclosure(Probability)>;

/// Enclosure of f(alpha), within [0, 1 - alpha]. Its width is a few times that of the curve's answers near the best epsilon, and
/// where these are exact some 1e-9. The lower end is the guarantee: no test does better.
/// The best epsilon is looked for to within `nearness`, which costs its square: more is enough for a curve that is wide itself.
/// \pre `curve` encloses one delta(epsilon), the curve of some event. \complexity some 100 evaluations of the curve, half as many at 1e-3.
[[nodiscard]] Enclosure tradeoff(const PrivacyCurve& curve, Probability alpha, double nearness = 1e-6);

/// The same around a known best log odds: the line of slope -e^t there, t = epsilon where it is not negative, is nearly the tangent at alpha.
/// \complexity 5 evaluations of the curve.
[[nodiscard]] Enclosure tradeoff_near(const PrivacyCurve& curve, Probability alpha, double t);

/// The same from what an accountant proves of the event. With an accountant that proves upper bounds of delta alone, the upper end
/// is 1 - alpha. \throws what the accountant throws.
template <Accountant A>
[[nodiscard]] Enclosure tradeoff(const A& accountant, const Event& event, Probability alpha) {
  return tradeoff([&](Epsilon at) { return delta(accountant, event, at); }, alpha);
}

/// The other way: delta(epsilon) of a trade-off function. \pre `curve` encloses one convex f with f(1) = 0.
[[nodiscard]] Enclosure delta_of_tradeoff(const TradeoffCurve& curve, Epsilon epsilon);

/// Phi(Phi^-1(1 - alpha) - mu), the trade-off function of N(0, 1) and N(mu, 1). Relative width some 1e-13 where alpha >= 1e-100.
[[nodiscard]] Enclosure gaussian_tradeoff(Mu mu, Probability alpha);

/// The mu whose trade-off function passes through (alpha, beta): Phi^-1(1 - alpha) - Phi^-1(beta), or 0 beyond mu = 0.
[[nodiscard]] Enclosure gaussian_mu(Probability alpha, Probability beta);

/// Encloses the least mu whose curve lies on or above `curve` at every epsilon from 0 to `last`: the event is mu-GDP as far as
/// these show. And the largest mu whose curve lies on or below it there. Certified between the `cells` + 1 points as well, by
/// monotonicity; more cells are narrower. \complexity cells + 1 evaluations of the curve and of `largest_mu` each.
[[nodiscard]] Enclosure least_mu_above(const PrivacyCurve& curve, Epsilon last, int cells = 128);
[[nodiscard]] Enclosure largest_mu_below(const PrivacyCurve& curve, Epsilon last, int cells = 128);

/// Where a search for a covering mu may stop.
struct CoverEffort {
  double width = 1e-6;                                    ///< of the enclosure, relative to its upper end
  int evaluations = 160;                                  ///< of the curve, at least 2
  double most = std::numeric_limits<double>::infinity();  ///< an upper end that is known otherwise
};
/// The same as least_mu_above, by chords of the curve, which err by the square of a cell's width, and cells that are halved where the bound
/// is largest. The upper end is infinity where delta is 1 within double. \complexity at most effort.evaluations of the curve.
/// \source docs/proofs/risk.md#covering-mu.
[[nodiscard]] Enclosure covering_mu(const PrivacyCurve& curve, Epsilon last, const CoverEffort& effort = {});

}  // namespace surety::accounting
