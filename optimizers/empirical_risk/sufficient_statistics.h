// Least squares from one release: the sufficient statistics sum_i z_i z_i^T of all records, z_i = (x_i, b y_i / B), and what follows from them.
//
// Labels are clamped to [-B, B], then z is clipped to l2 norm C = sqrt(1 + b^2) and rounded as one vector (`SecondMomentSum`): rows of norm 1 lose
// nothing by it, and the sensitivity rests on that clip alone. It is 1 + b^2 in Frobenius norm, sqrt(2) (1 + b^2) under replace-one. Of the
// released matrix, made symmetric, A is the block of the features and c the column of the label:
//
//     w = (max(A, 0) + r I)^-1 c B / b,   r = c_r sigma sqrt(2 (d + 1)),   max(A, 0) with negative eigenvalues as 0,
//
// so the ridge r is a public multiple of the operator norm that the noise is expected to have, and no inverse is larger than 1 / r. Where all rows are publicly
// orthogonal to some vectors, as those of additive terms are, A is restricted to what is orthogonal to them, where w lies and of whose dimension r is. Or the ridge
// only fills up what the least eigenvalue lacks of that, r = max(0, c_r sigma sqrt(2 (d + 1)) - max(e_1, 0)), after AdaSSP [Wang18, algorithm 2],
// where e_1 is a release of its own; here it is read from the released matrix.
//
// The noise has a known law, so sets that hold what the same fit would have been without noise follow from the release, at no cost.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/units.h>
#include <surety/optimizers/doors/run.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/optimizers/problem/unit_rows.h>

namespace surety::optimizers {

struct LabelWeightRule : Positive {
  static constexpr std::string_view name = "label weight";
};
/// b.
using LabelWeight = Quantity<LabelWeightRule>;

struct RidgeFactorRule : Positive {
  static constexpr std::string_view name = "ridge factor";
};
/// c_r.
using RidgeFactor = Quantity<RidgeFactorRule>;

struct ConfidenceRule {
  static constexpr std::string_view name = "confidence";
  static constexpr std::string_view constraint = "greater than 0 and less than 1";
  static bool holds(double x) { return x > 0 && x < 1; }
};
using Confidence = Quantity<ConfidenceRule>;

enum class RidgeRule {
  fixed,             ///< follows from public numbers alone
  least_eigenvalue,  ///< and from the least eigenvalue of what was released
};

/// All public.
struct SufficientStatisticsOptions {
  NoiseMultiplier noise_multiplier;  ///< z
  LabelBound label_bound;            ///< B
  Adjacency adjacency = Adjacency::replace_one;
  LabelWeight label_weight{0.5};  ///< b
  RidgeFactor ridge{0.3};         ///< c_r
  RidgeRule ridge_rule = RidgeRule::fixed;
  std::optional<Count> public_count = {};  ///< for the grid alone; default as many as a data set may have, or all where that is public
  /// Linearly independent vectors that every row is orthogonal to, as its feature map says.
  std::vector<std::vector<double>> relations = {};
  UnitEnds unit_ends = {};  ///< where neighbours differ in units of several rows: each adds the mean of its z_i z_i^T
  std::size_t threads = 1;  ///< results do not depend on it
};

/// What was released, and the public numbers that say how.
struct ReleasedMoments {
  std::size_t features;                             ///< d
  std::vector<double> matrix;                       ///< (d + 1) x (d + 1), symmetric, row by row: the label's row is the last
  double sigma;                                     ///< of the noise of each of the (d + 1)^2 entries, before they were made symmetric
  double step;                                      ///< to which that noise was rounded
  double label_scale;                               ///< B / b
  double ridge;                                     ///< r
  RidgeRule ridge_rule = RidgeRule::fixed;          ///< by which it was found
  std::vector<std::vector<double>> relations = {};  ///< as in the options

  /// d less the relations.
  [[nodiscard]] std::size_t directions() const noexcept { return features - relations.size(); }
};

/// \throws Error{invalid_argument} for more than 1023 features: their second moment, with the label, has the square of that.
void require_joint_moments(std::size_t features);

/// What a run releases: gaussian(z). \source docs/proofs/sufficient-statistics.md#charge
[[nodiscard]] Event plan(const SufficientStatisticsOptions& options);

/// One release. Nothing is divided by the number of records, so add-or-remove-one needs none.
/// \throws Error{invalid_argument}, before the release, when the data have no labels or more than 1023 features, or for relations of another length or as many
///         as the features; and what the releaser throws.
/// \complexity O(n d^2) time for n records, O(d^2) memory.
[[nodiscard]] ReleasedMoments release_moments(const Dataset& data, const SufficientStatisticsOptions& options, Releaser& releaser);

/// w as above. O(d^3). Post-processing.
[[nodiscard]] std::vector<double> ridge_weights(const ReleasedMoments& moments);

/// Intervals for all coefficients at once.
struct CoefficientIntervals {
  std::vector<double> centre;      ///< one per feature; not the weights of `ridge_weights`
  std::vector<double> half_width;  ///< likewise
};

/// Holds all coefficients of (S_xx + r I)^-1 S_xy B / b at once with at least the given probability over the noise, for every data set: S is
/// sum_i z_i z_i^T of the records as they were clipped and rounded, without noise, restricted to what is orthogonal to the relations, and r the ridge of `moments`. It is about these records: neither
/// about sampling, nor about what clipping changed, nor about r = 0. Nothing where no finite interval follows from the release: the noise is
/// too large for some direction of the features, or the ridge is not fixed, so that what the intervals are about depends on the noise. Computed in double precision. O(d^3).
/// \pre nothing saturated: not more records than the count that the grid was made for
/// \source docs/proofs/sufficient-statistics.md#intervals
[[nodiscard]] std::optional<CoefficientIntervals> coefficient_intervals(const ReleasedMoments& moments, Confidence confidence);

}  // namespace surety::optimizers
