// The noise that [WYX17] prints for empirical risk minimization, as events, so that an accountant can say what it costs.
//
// With n records, gradients of l2 norm at most G, and one constant c that the paper leaves open:
//
//     DP-GD     sigma^2 = c G^2 T log(1/delta) / (n epsilon)^2                  (11), T full gradients
//     DP-SVRG   sigma^2 = c G^2 T m log(1/delta) / (n epsilon)^2                 (3), T epochs of m steps
//     DP-SVRG++ sigma^2 = c G^2 2^T m log(2/delta) / (n epsilon)^2               (6), (2^(T+1) - 2) m steps, twice what the formula counts
//     DP-AccMD  sigma^2 as DP-GD                                                 (9), but one of its two steps uses the gradient itself
//
// sigma is the standard deviation of the noise on the mean gradient. What one record of others under replace-one moves:
//   full gradient    2 G / n, attained
//   sampled part     of grad f(x, z_i) - grad f(x~, z_i) with one record drawn: 4 G in general, 2 G for a generalized linear model, whose
//                    derivative has one sign (the paper's proof has G)
//
// Where c is said, an implementer's c = 1 is a promise, and an audit tells that it is broken:
//   surety audit --event EVENT --adjacency replace-one --epsilon 0.2 --delta 1e-3
//
// [WYX17] Wang, Ye, Xu: Differentially private empirical risk minimization revisited: faster and more general. Formulas are numbered
// as there.
#pragma once

#include <string_view>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/units.h>

namespace surety::papers {

/// What the printed formulas are about. `steps_per_epoch` is m of DP-SVRG and DP-SVRG++, and 1 elsewhere.
struct PrintedErm {
  Count records;
  Count epochs;  ///< T
  Count steps_per_epoch{1};
  double constant = 1;  ///< c; greater than 0
};

/// How far one record moves a difference of its two gradients, in units of G.
enum class GradientDifference { general = 4, linear = 2 };

/// The share of the variance of DP-SVRG's one noise that is charged to the full gradient. Every inner step adds that noise to a sampled
/// difference and the full gradient at x~; N(0, sigma^2) is the sum of N(0, (1 - s) sigma^2) on the one and N(0, s sigma^2) on the other,
/// and who sees the two sees the release. So what the event costs is an upper bound of what the algorithm costs, for every share: large
/// shares are better at a small epsilon, small ones at a large epsilon. 0 charges the differences alone, as if full gradients were public:
/// no guarantee, but it says what the differences alone show.
struct FullGradientShareRule {
  static constexpr std::string_view name = "share of the full gradient";
  static constexpr std::string_view constraint = "at least 0 and less than 1";
  static bool holds(double x) { return x >= 0 && x < 1; }
};
using FullGradientShare = Quantity<FullGradientShareRule>;

/// T releases of the full gradient.
/// \throws Error{invalid_argument} for epsilon or delta 0 or a constant that is not positive; Error{unsupported} unless replace-one.
[[nodiscard]] Event printed_gradient_descent_noise(const PrintedErm& problem, const Target& target);

/// T m steps, each on one record drawn afresh. \throws as above.
[[nodiscard]] Event printed_svrg_noise(const PrintedErm& problem, const Target& target,
                                       GradientDifference difference = GradientDifference::general,
                                       FullGradientShare share = FullGradientShare{0.1});

/// (2^(T+1) - 2) m steps: epoch s has 2^s m of them. \throws as above; Error{invalid_argument} for more than 40 epochs.
[[nodiscard]] Event printed_svrg_plus_plus_noise(const PrintedErm& problem, const Target& target,
                                                 GradientDifference difference = GradientDifference::general,
                                                 FullGradientShare share = FullGradientShare{0.1});

/// What the noise of DP-AccMD would cost if both of its steps used the noisy gradient: as DP-GD.
/// \throws Error{unsupported} as printed, where y_(k+1) is a step along the gradient itself: y_T is returned, and after one step it is a
///         function of the data without any noise. No epsilon covers that at any delta below 1.
enum class MirrorStep { as_printed, of_the_noisy_gradient };
[[nodiscard]] Event printed_accelerated_mirror_descent_noise(const PrintedErm& problem, const Target& target,
                                                             MirrorStep step = MirrorStep::as_printed);

}  // namespace surety::papers
