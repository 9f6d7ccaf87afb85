// The moment generating function of one part, and of all: M(z) = E[r(U)^w], U standard normal, r = 1 - q + q exp(mu U - mu^2 / 2), by the
// trapezoid rule on nodes of U, with a bound on every error.
//
// Definitions:
//   shift      y >= 0, mu y < pi: the nodes are u + i y, u real. There |r^(it)| = exp(-t arg r), which falls with t as |M(s + it)| itself
//              does, so that few nodes are enough and little cancels; at y = 0 nodes are as dense as the integrand oscillates.
#pragma once

#include <algorithm>
#include <limits>
#include <numbers>
#include <vector>

#include <surety/accounting/accountants/contour/loss.h>
#include <surety/base/numbers/ball.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::contour {

/// What a long sum of so many terms errs by, as a share of the sum of their sizes: its accumulators are long doubles.
[[nodiscard]] constexpr double rounding_of_sum(double terms) {
  return static_cast<double>(share_of_units(static_cast<long double>(terms)));
}
/// Bound on the relative error of exp, expm1, log, log1p, sin, cos, atan2 of the C library, in units of what one operation errs by.
inline constexpr double library =
    2 * std::max({LibraryError<double>::exp, LibraryError<double>::expm1, LibraryError<double>::log, LibraryError<double>::log1p,
                  LibraryError<double>::sin, LibraryError<double>::cos, LibraryError<double>::atan2});
/// From a bound that was itself computed in double, by fewer than 2^24 operations on numbers that are not negative, of relative errors of which each
/// is below 2^-29: a share of 2^-27 is more than their rounding and what is of second order in them.
[[nodiscard]] inline Upper covered(double bound) { return Upper::within(bound, 0x1p25); }
inline constexpr double log_sqrt_two_pi = log_root_of_two_pi;
inline constexpr Lower pi_below = Lower::rounded(std::numbers::pi);

/// Upper bound on |log(1 + x)| for |x| <= relative.
[[nodiscard]] inline Upper log_error(Upper relative) { return relative.value() < 0.5 ? -log1p(-relative) : Upper{Exact{infinity}}; }

/// remove: M(z) = E[r^(z + 1)]; add: M(z) = E[r^(-z)].
[[nodiscard]] double power(Direction direction, double s);

/// x with `bits` bits, rounded down: sums and small multiples of it are exact.
[[nodiscard]] double shorten(double x, int bits);

[[nodiscard]] double log_expm1(double x);
[[nodiscard]] Lower log_expm1(Lower x);

/// log of a bound on the integral of |integrand| over the line Im U = y, over M(s): y^2 / 2 + w log cos(mu y / 2), w < 0, and t mu |y| where
/// y < 0; convex in y. \pre |mu y| < pi.
[[nodiscard]] double log_line(double mu, double y, double t, double w);

/// Logarithm of a bound on |trapezoid sum - M(s + it)| / M(s) at t >= 0 on the nodes of a shift: N / (exp(2 pi a / step) - 1) for each side,
/// a being any width of the strip there and N the largest `log_line` in it [TW14, Theorem 5.1, each side by itself].
[[nodiscard]] double log_quadrature(double mu, double step, double t, double w, double shift = 0);

/// A step at which that is at most -digits.
[[nodiscard]] double step_for(double mu, double t, double w, double digits, double shift = 0);

/// Digits (to base e) of one part's moments that leave the whole with `tolerance`.
[[nodiscard]] double digits_for(const Loss& loss, double tolerance);

struct Range {
  double low;
  double high;
};
/// Where the density of U tilted by r^w is above exp(-digits) or so.
[[nodiscard]] Range range_of(const SampledReleases& part, double w, double digits);
/// Bound on what the nodes outside the range would add, over exp(log_moment): r^w <= 1 - q + q exp(w (mu u - mu^2 / 2)) for w >= 1
/// and for w <= 0 (convexity), r^w <= (1 - q)^w for w <= 0; nodes beyond an end of a falling density sum to less than its
/// integral from there, P(N(0, 1) > x) <= exp(-x^2 / 2) / 2, and all nodes of a density to less than 2 for steps below 2.
[[nodiscard]] double range_error(const SampledReleases& part, double w, const Range& range, double log_moment);

/// Nodes u + i shift, u = first step, (first + 1) step, ...; log r = loss + i angle at each, with a bound on its error.
struct NodeGrid {
  SampledReleases part;
  double step = 0;
  double shift = 0;
  Range range{};
  std::vector<double> u;
  std::vector<double> loss;
  std::vector<double> angle;  ///< none without a shift
  std::vector<double> loss_error;
  double farthest = 0;    ///< the largest |u|
  double largest = 0;     ///< the largest |loss| + angle
  double worst_loss = 0;  ///< the largest error of a log r and of its product with an exact number, over that number
};
/// \throws Unsuitable where there would be too many, or the largest loss is beyond double.
/// \pre a shift has at most 12 bits, and mu times it is at most `most_angle`.
void fill(NodeGrid& grid, const SampledReleases& part, double step, const Range& range, double shift = 0);
inline constexpr double most_angle = 1.5707;
/// Of a grid: with more of them a grid of losses would do better.
inline constexpr double most_nodes = 20'000;
/// Whether a shift leaves the squares of e^x within double.
[[nodiscard]] bool can_be_shifted(const SampledReleases& part, const Range& range);

/// 1 / (1 - x), infinite from x = 1/2 on: more than (e^x - 1) / x, and what becomes of an error that is relative to a number known within x.
[[nodiscard]] double over_one_less(double x);

/// The law of U tilted by r^w on the nodes, at real s.
struct Tilt {
  double log_moment = 0;  ///< log M(s)
  double rounding = 0;    ///< of M(s), relative
  double loss_error = 0;  ///< mean error of t L per unit of t, with that of the product
  double worst = 0;       ///< relative error of a single term of M(s), at most
  double mean = 0;        ///< of log r
  double variance = 0;
};
/// \param f becomes the nodes' probabilities
[[nodiscard]] Tilt tilt(const NodeGrid& grid, double w, std::vector<double>& f);
/// log M(s) with all that its nodes leave out, and their rounding.
[[nodiscard]] Ball log_moment(const NodeGrid& grid, double w, const Tilt& at);

/// The terms of the trapezoid sum over M(s) at t = 0 on shifted nodes, f e^(i phase); at t each is exp(t (i loss - angle)) times that.
struct ShiftedTilt {
  double modulus = 0;     ///< sum of the terms' moduli at t = from, and a bound on it beyond
  double rounding = 0;    ///< of their sum, absolute, and for all t >= from, but for t times `loss_error`
  double loss_error = 0;  ///< error of t (log r) per unit of t, with that of the product
  double worst = 0;       ///< as of a `Tilt`
};
/// \param log_moment log M(s), whose error is not counted here
[[nodiscard]] ShiftedTilt shifted_tilt(const NodeGrid& grid, double w, double from, double log_moment, std::vector<double>& f,
                                       std::vector<double>& phase);

/// log max over x > 0 of (1 - e^-x) e^(-s x): delta(epsilon) <= that times M(s) e^(-s epsilon).
[[nodiscard]] Upper log_chernoff(double s);

}  // namespace surety::accounting::contour
