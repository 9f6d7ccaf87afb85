// Private descent in coordinates that fit the data: the second moment of the features is released once, and noisy gradients are taken, clipped
// and preconditioned in the norm that it gives.
//
//     A~ = sum_i x_i x_i^T + noise, symmetrised;   A~ = V diag(e) V^T;   e_j <- max(e_j, 0) + op,   op = sigma_A sqrt(2 d),
//     m_j = (e_j / n)^p,   z_i = diag(m)^(-1/2) V^T x_i,   w = V diag(m)^(-1/2) u,
//     g_t = sum_i clip_C(loss'(<u, z_i>, y_i) z_i) + N(0, (z s)^2 I),
//     u <- u - (g_t / n + r u + lambda u / m) / (beta e / (n m) + lambda / m + max(r, d_0)),
//
// for T steps from 0: the first 8 T / 15 (with regularization T / 2) with Nesterov's momentum, the others plain, and their mean is the answer. Where directions differ much in
// scale, as those of real features do, noise that is isotropic in w drowns the small ones and a step for the large ones leaves them unlearned;
// in u all are of about one scale. That e_j has op added keeps A below it, so that no step is too long.
//
// C^2 = G^2 k min(max_j 1 / m_j, sum_j (e_j - op / 2) / (n m_j)), G what bounds |loss'|: a share k of about the mean of |z|^2. With the noise's size in the
// mean gradient, nu = d s_1 / (n mu) for s_1 the sensitivity of a sum of unit vectors, k = min(1, max(.3, .6 (nu / .01)^-.4)). The ridge
// r = c_2 sqrt(d) C s_1 / (n mu B) and the damping d_0 = c_0 sqrt(d) C s_1 / (n mu B) are of the size of that noise, too. They are added to
// curvatures, which have no unit, and C is in that of derivatives: B, the bound of labels for squared loss and 1 for classes, takes it away.
//
// One record moves the second moment by at most R^2 (sqrt(2) R^2 under replace-one), R what rows are clipped to, and each sum of gradients by
// at most s = C s_1. So a run is compose(gaussian(z_A), repeat(T, gaussian(z))); the share of the matrix in mu^2 is public.
//
// A unit of several rows adds the mean of its x_i x_i^T, and the mean of its gradients in the new coordinates, clipped as one vector.
//
// Several classes are K models in the same coordinates, one against the rest or by softmax: the gradients of one record are one vector of K d numbers,
// which is clipped as one, so the charge is that of one model. One against the rest G is then sqrt 2 times the bound of one derivative: a record is pushed
// away from one wrong class and towards its own. By softmax G is that bound, which only records go beyond whose class is thought to be unlikely, beta is
// 1/2, and what released gradients of all classes have in common is taken away from each.
//
// Of squared loss the clip G can be chosen from the data (`ResidualClip`, optimizers/empirical_risk/residual_clip.h). Where the last feature is constant, the mean label
// and the sizes of the residuals are released first, the descent begins at that mean, to which the ridge r pulls, and the mean residual is released last and corrects
// the intercept: compose(gaussian(z_A), gaussian(z_s), gaussian(z_h), repeat(T, gaussian(z)), gaussian(z_f)). Elsewhere residuals are counted before the first and after the
// last accelerated step: compose(gaussian(z_A), repeat(2, gaussian(z_h)), repeat(T, gaussian(z))).
//
// Of classes the result can be shrunk by an estimate of its risk from numbers that are released or public (optimizers/empirical_risk/stein_shrinkage.h), for
// the ridge R among r, 1.5 r, ..., 1.5^9 r, and where some features are curves beside others, for a penalty of their weights:
//
//     h_j = beta kappa (e_j - op / 2) / (n m_j),      kappa = .5,
//
// v_j is the variance that the T steps make of the noise of gradients on a quadratic of curvature h_j, and that of the records, h_j / (n (h_j + r)^2). So one run has the
// result of many ridges. h_j is about the mean curvature: that of the loss, less where predictions are far from 1/2, of the second moment without the noise that e_j has.
// By softmax beta is 1 / K here. With curves (e_j - op / 2) is an estimate for each direction, since a curve is in part a sum of other features, and what
// a descent without noise would reach in T steps is counted, since it comes less far in such directions.
//
// A record of weight w adds w times what is clipped. All sums are then divided by about the sum of the weights, which the released second moment shows, in the place of
// n (docs/proofs/weights.md).
//
// Of two classes the descent can begin at the released share of the class, to which the ridge then pulls: one more gaussian(z_c)
// (docs/proofs/shaped-descent.md#class-share).
//
// A pure run has the same releases with noise of density exp(-||x||_2 / (b s)), for delta = 0; mu is then that of Gaussian noise of the same length
// (docs/proofs/shaped-descent.md#pure).
//
// Constants were fitted on public data (docs/decisions/optimization.md). No guarantee depends on any of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/units.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/run.h>
#include <surety/optimizers/problem/classes.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/problem/unit_rows.h>
#include <surety/optimizers/problem/units.h>

namespace surety::optimizers {

struct MatrixShareRule {
  static constexpr std::string_view name = "matrix share";
  static constexpr std::string_view constraint = "greater than 0 and less than 1";
  static bool holds(double x) { return x > 0 && x < 1; }
};
/// Of mu^2, for the release of the second moment.
using MatrixShare = Quantity<MatrixShareRule>;

struct NoiseFactorRule : NonNegative {
  static constexpr std::string_view name = "factor of the noise";
};
using NoiseFactor = Quantity<NoiseFactorRule>;

struct ShapeExponentRule {
  static constexpr std::string_view name = "shape";
  static constexpr std::string_view constraint = "at least 0 and at most 1";
  static bool holds(double x) { return x >= 0 && x <= 1; }
};
using ShapeExponent = Quantity<ShapeExponentRule>;

/// Derivatives of squared loss are clipped to a bound that is chosen from released residuals, so that the mean of skewed labels is fitted, not their median.
struct ResidualClip {
  LabelBound label_bound;  ///< B
  /// What the last feature is in every row but those of damaged records; nothing where it is not a constant, as in rows of unit norm. With it the mean label is
  /// released first and the mean residual last; without it residuals are counted a second time, after the accelerated steps.
  std::optional<double> intercept = {};
};

/// All public. The defaults were fixed once, for rows of unit norm, and do not look at the data at hand.
struct ShapedDescentOptions {
  NoiseMultiplier noise_multiplier;  ///< z, of gradients; of a pure run the scale b of their noise
  Adjacency adjacency = Adjacency::replace_one;
  /// Noise of density exp(-||x||_2 / (b s)) in the place of Gaussian noise (optimizers/doors/pure_noise.h); shares are then of the whole epsilon.
  bool is_pure = false;
  std::optional<Count> steps = {};                 ///< T; default 30, with regularization 15, else with a residual clip 12
  Regularization regularization{0};                ///< lambda
  MatrixShare matrix_share{0.1};                   ///< of mu^2
  ShapeExponent shape{0.5};                        ///< p; 0 for coordinates as they are, which are then rotated alone
  std::optional<double> clip_share = {};           ///< k, from 0 to 1; default as above
  std::optional<double> derivative_bound = {};     ///< G; default the loss's gradient bound at row norm 1
  std::optional<ResidualClip> residual_clip = {};  ///< in the place of G, of squared loss; then k is 1 by default
  /// Of logistic loss with labels -1 and 1: the mean label is released first, and the descent begins at the model that says its share, to which the ridge pulls.
  /// \pre the last feature is an intercept: greater than 2^-60 but for damaged records
  bool starts_at_class_share = false;
  /// Of logistic loss: at the end u goes towards its start, in each direction as far as an estimate of the risk says.
  bool shrinks = false;
  std::vector<std::size_t> curves = {};   ///< with it: features whose weights have a penalty of their own, as hat functions beside a number
  double label_unit = 1;                  ///< B: what derivatives are measured in; of squared loss the bound of its labels
  std::optional<NoiseFactor> ridge = {};  ///< c_2; default .03, with regularization 0
  std::optional<NoiseFactor> damping = {};  ///< c_0; default .5, with regularization 0
  ClippingNorm row_norm{1};                 ///< R: rows are clipped to it in the second moment
  /// Of records with weights: what the last feature is in every row but those of damaged records; nothing where rows have unit norm.
  std::optional<double> constant_feature = {};
  std::vector<double> class_weights = {};                  ///< c: K of them for labels 0, ..., K - 1; none for one model
  ClassesBy classes_by = ClassesBy::one_against_the_rest;  ///< of several; by softmax the objective is not asked for derivatives
  std::optional<Count> public_count = {};            ///< n; default the number of records or units, which add-or-remove-one keeps private
  UnitEnds unit_ends = {};                           ///< where neighbours differ in units of several rows: each adds means over its rows
  std::size_t threads = 1;                           ///< results do not depend on it
  std::function<void(std::uint64_t)> progress = {};  ///< called with the number of steps done, which is public, after each
};

struct ShapedDescentResult {
  std::vector<double> weights;  ///< one per feature; of several classes one model behind the other
};

/// The largest number of features: the second moment has its square.
inline constexpr std::size_t most_shaped_features = 1024;
/// \throws Error{invalid_argument} for more.
void require_shapeable(std::size_t features);

/// k of records where nothing is said, of nu. \pre nu > 0
[[nodiscard]] double shaped_clip_share(double nu);

/// T.
[[nodiscard]] std::uint64_t steps_of(const ShapedDescentOptions& options);

/// What a run releases: compose(gaussian(z_A), repeat(T, gaussian(z))) with z_A = z sqrt((1 - share) / (share T)); with a residual clip what it releases, too.
/// A pure run: compose(pure(T share / ((1 - share) b)), repeat(T, pure(1/b))), and likewise. \source docs/proofs/shaped-descent.md#pure
/// \source [DRS19] Corollary 3.3 (adaptive composition), docs/proofs/shaped-descent.md#charge.
[[nodiscard]] Event plan(const ShapedDescentOptions& options);

/// Minimises F(w) with lambda of the options. `plan(options)` is what `releaser` will be asked for: the second moment first, then T gradients.
///
/// The guarantee needs nothing of the data: rows longer than R, labels out of range and overflowing scores are clipped or count as zero.
///
/// \pre   labels are as the objective wants them (`encode_labels`).
/// \throws Error{invalid_argument}, before the first release, for a curve that is no feature, for class weights and a unit of labels that are not greater than 0 and finite, for a residual clip with classes, with a derivative bound or with an intercept
///         that is not greater than 0 and finite, when the data
///         have no labels or more than most_shaped_features features, when there is no record and n is not given, or when n is not given under add-or-remove-one; Error{unsupported} when the loss is not smooth; and
///         what the releaser throws.
/// \complexity for n records of d features O(T n d + n d^2 + d^3) time, T n K d for K classes, and O(d^2) memory besides `data`, whose dense rows are
///         changed where they are: move them here. Sparse rows, and those that stay in a file, are mapped again at each step: then time is
///         O(T k d + d^3) for k numbers that are not zero.
/// \source docs/proofs/shaped-descent.md.
[[nodiscard]] ShapedDescentResult shaped_descent(Dataset data, ObjectiveRef objective, const ShapedDescentOptions& options,
                                                 Releaser& releaser);

}  // namespace surety::optimizers
