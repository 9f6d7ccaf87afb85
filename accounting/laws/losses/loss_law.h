// Laws of the privacy loss, and their cells on a grid: the words in which the PLD accountant speaks of pairs.
//
// Definitions:
//   pair      two distributions P, Q of outcomes; the loss of an outcome is L = log dP/dQ, its ratio y = dQ/dP = e^-L
//   law       the distribution of L under P, a measure on the line, and mass at infinite loss. It determines Q up to a
//             part where P has no mass, and delta(epsilon) = integral of max(0, 1 - e^(epsilon - L)) dP
//   cell i    the outcomes whose loss lies between anchor + i step and anchor + (i + 1) step
//   excess    of a cell: v = 1 - e^(l_i) Q(cell) / P(cell), between 0 and 1 - e^-step; its merged loss is l_i - log(1 - v)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <variant>
#include <vector>

namespace surety::accounting {

/// N(1 / multiplier, 1) against N(0, 1).
struct GaussianBase {
  double multiplier;
};
/// Laplace noise of scale `scale` around 0 against around 1.
struct LaplaceBase {
  double scale;
};
/// Of a batch of rate q that either of two opposite records is in or not: (1 - q) f(0) + q f(1) against (1 - q) f(0) + q f(-1), f(v) Laplace noise of scale
/// `scale` around v. Its losses above 0 are those of Laplace noise of half the scale, mixed at the rate r of `opposite_laplace_rate`: mixed as `symmetric`
/// at that rate, with nothing at loss 0.
struct OppositeLaplaceBase {
  double scale;
  double batch_rate;
};
/// The envelope of all choices of loss range epsilon: Q has density e^(-(l + epsilon) / 2) / (2 (1 - e^-epsilon)) at loss l between
/// -epsilon and epsilon. \pre epsilon > 0.
struct BoundedRangeBase {
  double epsilon;
};
/// An integer k with probability proportional to exp(-(k - sensitivity)^2 / (2 sigma^2)) against exp(-k^2 / (2 sigma^2)).
/// \pre sensitivity is a whole number, at least 1.
struct DiscreteGaussianBase {
  double sigma;
  double sensitivity;
};
/// The same for exp(-|k - sensitivity| / scale) against exp(-|k| / scale).
struct DiscreteLaplaceBase {
  double scale;
  double sensitivity;
};
/// Finitely many outcomes. `loss` is within `loss_error` of the logarithm of the exact ratio of their probabilities, of which
/// `mass` is the one under P, within a relative `mass_error`.
struct AtomsBase {
  struct Atom {
    double loss;
    double mass;
  };
  std::vector<Atom> atoms;  ///< by rising loss
  double loss_error;
  double mass_error;
  bool mirrors = true;  ///< losses that mirror each other say that the law is its own reverse
  bool has_tails =
      false;  ///< to be cut as those of other laws are, where it has hundreds of atoms. \pre mixed with a rate of 1 only, as `remove`
};
/// N(s_i / multiplier, 1) with probability e^log_weights[i], i = 0, 1, ..., against N(0, 1): what a user's records add up to. Each logarithm is
/// within `weight_error`; the first is -infinity where its share is 0. s_i is i, or given, rising from 0. \pre at least two weights; rate 1.
struct GaussianMixtureBase {
  double multiplier;
  std::vector<double> log_weights;
  double weight_error;
  std::vector<double> shifts = {};
  /// For a law from below: what lies farther from 0 than this is in no cell, and up to there either density is known within e^density_error.
  double farthest = std::numeric_limits<double>::infinity();
  double density_error = 0;

  [[nodiscard]] double shift(std::size_t i) const { return shifts.empty() ? static_cast<double>(i) : shifts[i]; }
};
class AllocatedEpoch;
/// The ratio is the mean of t independent log-normals: allocated_epoch.h. Mixed with a rate of 1 only, as `remove` or `add`.
struct AllocatedBase {
  std::shared_ptr<const AllocatedEpoch> epoch;
};
/// The same by sums of ratios on a grid (ratio_law.h), from above or from below: it has digits in the farthest tail, and for little noise;
/// and what `records` records of one user add up to, from above alone. Mixed with a rate of 1 only, as `remove` or `add`.
struct AllocatedRatioBase {
  double multiplier;
  std::uint64_t rounds;
  std::uint64_t records;
  bool from_above;
  double tilt = 0;  ///< s of e^(s loss), for which it is told who shares a round (allocated_users_ratio); any is sound
};
class ReplacedEpoch;
/// The same where a record is replaced by one that adds the opposite (replaced_epoch.h), from above or from below. Not to be mixed.
struct ReplacedBase {
  std::shared_ptr<const ReplacedEpoch> epoch;
  bool from_above;
};
struct LossLaw;
/// One of `laws`, and everybody knows which: law i with probability weights[i], within a relative `weight_error`. Not to be mixed.
struct PublicMixtureBase {
  std::shared_ptr<const std::vector<LossLaw>> laws;
  std::vector<double> weights;
  double weight_error;
};
/// The pair whose curve is at every epsilon the largest of those of `laws`. Not to be mixed.
struct MaximumBase {
  std::shared_ptr<const std::vector<LossLaw>> laws;
};
using BaseLaw =
    std::variant<GaussianBase, LaplaceBase, OppositeLaplaceBase, BoundedRangeBase, DiscreteGaussianBase, DiscreteLaplaceBase, AtomsBase,
                 GaussianMixtureBase, AllocatedBase, AllocatedRatioBase, ReplacedBase, PublicMixtureBase, MaximumBase>;

/// How the pair of one release follows from its base pair (P, Q).
///   remove     (1 - rate) Q + rate P against Q. With rate = 1 this is the base pair itself.
///   add        Q against (1 - rate) Q + rate P.
///   symmetric  the pair whose curve is that of `remove` at every epsilon >= 0 and which equals its own reverse
///   opposite   (1 - rate) Q + rate P against (1 - rate) Q + rate P', P' the mirror image of P about Q; Gaussian and mixtures only
///   revealed   with probability rate the base pair, else one outcome that both have alike and that no outcome of the base pair is
enum class Mixing { remove, add, symmetric, opposite, revealed };

struct LossLaw {
  BaseLaw base;
  Mixing mixing = Mixing::remove;
  double rate = 1;
  double infinite_mass = 0;  ///< P = (1 - infinite_mass) of all of the above, and the rest at infinite loss
};

/// One cell. Its P-mass is mass * exp(log_scale), within a relative mass_error; its excess is within excess_error.
struct LossCell {
  std::int64_t index;
  double log_scale;
  double mass;
  double mass_error;
  double excess;
  double excess_error;
};

/// The cells of a law, by rising index, each index at most a few times.
struct LossCells {
  std::vector<LossCell> cells;
  double anchor;  ///< grid point i is anchor + i step, exactly
  double step;
  double loss_error;  ///< losses in cell i lie within this of the ends of the cell
  /// Upper bounds on the P-mass that is in no cell: above all cells, and below all cells.
  long double cut_above;
  long double cut_below;
};

/// The merged loss of a cell for those who guess: of one with hardly any Q-mass as if it had some.
[[nodiscard]] inline double rough_loss(const LossCells& law, const LossCell& cell) {
  return law.anchor + static_cast<double>(cell.index) * law.step - std::log1p(-std::min(cell.excess, 1 - 0x1p-10));
}

/// Where to cut the tails of a law, as natural logarithms of the P-mass that may be lost.
struct Cut {
  double log_above;
  double log_below;
};

/// The least and largest loss of what a cut leaves.
struct LossRange {
  double least;
  double largest;
};

}  // namespace surety::accounting
