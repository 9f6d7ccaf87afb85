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

#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/units.h>
#include <surety/accounting/numbers/error.h>

namespace surety::optimizers {

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

namespace printed {

inline void require_replace_one(const Target& target) {
  if (target.adjacency == Adjacency::replace_one) return;
  throw Error{
      ErrorCode::unsupported,
      fmt::format("adjacency is {}, must be replace-one: the printed noise divides by the number of records", name(target.adjacency))};
}

/// sigma / G of `releases` releases as the formula counts them. \throws Error{invalid_argument} where it is 0 or no number.
inline double deviation(const PrintedErm& problem, double releases, const Target& target, double of_delta) {
  require_replace_one(target);
  if (!(problem.constant > 0 && std::isfinite(problem.constant))) {
    throw Error{ErrorCode::invalid_argument, fmt::format("constant is {}, must be finite and greater than 0", problem.constant)};
  }
  if (!(target.epsilon.value() > 0)) throw Error{ErrorCode::invalid_argument, "epsilon is 0, must be greater than 0"};
  if (!(target.delta.value() > 0)) throw Error{ErrorCode::invalid_argument, "delta is 0, must be greater than 0"};
  const auto n = static_cast<double>(problem.records.value());
  return std::sqrt(problem.constant * releases * std::log(of_delta / target.delta.value())) / (n * target.epsilon.value());
}

inline double counted(Count count) { return static_cast<double>(count.value()); }

/// `steps` inner steps of one drawn record each, noise of standard deviation `sigma` in units of G.
inline Event variance_reduced(const PrintedErm& problem, Count steps, double sigma, GradientDifference difference,
                              FullGradientShare share) {
  const Batches one_record{problem.records, Count{1}};
  const double on_difference = sigma * std::sqrt(1 - share.value()) / static_cast<double>(difference);
  auto drawn = repeat(steps, without_replacement(one_record, gaussian(NoiseMultiplier{on_difference}, Adjacency::replace_one)));
  if (share.value() == 0) return drawn;
  const double on_gradient = sigma * std::sqrt(share.value()) * counted(problem.records) / 2;
  return compose({std::move(drawn), repeat(steps, gaussian(NoiseMultiplier{on_gradient}, Adjacency::replace_one))});
}

}  // namespace printed

/// T releases of the full gradient.
/// \throws Error{invalid_argument} for epsilon or delta 0 or a constant that is not positive; Error{unsupported} unless replace-one.
[[nodiscard]] inline Event printed_gradient_descent_noise(const PrintedErm& problem, const Target& target) {
  const double sigma = printed::deviation(problem, printed::counted(problem.epochs), target, 1);
  const NoiseMultiplier multiplier{sigma * printed::counted(problem.records) / 2};
  return repeat(problem.epochs, gaussian(multiplier, Adjacency::replace_one));
}

/// T m steps, each on one record drawn afresh. \throws as above.
[[nodiscard]] inline Event printed_svrg_noise(const PrintedErm& problem, const Target& target,
                                              GradientDifference difference = GradientDifference::general,
                                              FullGradientShare share = FullGradientShare{0.1}) {
  const Count steps{problem.epochs.value() * problem.steps_per_epoch.value()};
  return printed::variance_reduced(problem, steps, printed::deviation(problem, printed::counted(steps), target, 1), difference, share);
}

/// (2^(T+1) - 2) m steps: epoch s has 2^s m of them. \throws as above; Error{invalid_argument} for more than 40 epochs.
[[nodiscard]] inline Event printed_svrg_plus_plus_noise(const PrintedErm& problem, const Target& target,
                                                        GradientDifference difference = GradientDifference::general,
                                                        FullGradientShare share = FullGradientShare{0.1}) {
  if (problem.epochs.value() > 40) {
    throw Error{ErrorCode::invalid_argument, fmt::format("epochs is {}, must be at most 40", problem.epochs.value())};
  }
  const std::uint64_t doubled = std::uint64_t{1} << problem.epochs.value();
  const double counted = static_cast<double>(doubled) * printed::counted(problem.steps_per_epoch);
  const Count steps{(2 * doubled - 2) * problem.steps_per_epoch.value()};
  return printed::variance_reduced(problem, steps, printed::deviation(problem, counted, target, 2), difference, share);
}

/// What the noise of DP-AccMD would cost if both of its steps used the noisy gradient: as DP-GD.
/// \throws Error{unsupported} as printed, where y_(k+1) is a step along the gradient itself: y_T is returned, and after one step it is a
///         function of the data without any noise. No epsilon covers that at any delta below 1.
enum class MirrorStep { as_printed, of_the_noisy_gradient };
[[nodiscard]] inline Event printed_accelerated_mirror_descent_noise(const PrintedErm& problem, const Target& target,
                                                                    MirrorStep step = MirrorStep::as_printed) {
  if (step == MirrorStep::as_printed) {
    throw Error{
        ErrorCode::unsupported,
        "the printed y-step uses the exact gradient, must use the noisy one: it releases a function of the data without noise, which "
        "no epsilon covers"};
  }
  return printed_gradient_descent_noise(problem, target);
}

}  // namespace surety::optimizers
