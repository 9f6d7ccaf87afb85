// The same answer for every record, from one release: what is left to learn where noise drowns the features.
//
//     S = sum_i y_i / 2 + N(0, (z s)^2)   for classes y_i in {-1, 1}:  share = 1/2 + k S / n, score log(share / (1 - share)),
//     S = sum_i clip_B(y_i) + N(0, (z s)^2)   for numbers:             score k S / n,
//     S = sum_i e_(y_i) + N(0, (z s)^2 I)     for K classes:           shares 1/K + k (S / n - 1/K), scores their logarithms,
//
// where k = v / (v + (z s / n)^2) is what makes the mean square error least for a share that is uniform in [0, 1] (v = 1 / 12) or a mean that is
// uniform in [-B, B] (v = B^2 / 3), or for shares that are uniform in the simplex (v = (K - 1) / (K^2 (K + 1))): public, near 1 where the noise is
// small, and near 0 where it says nothing.
//
// A record of weight w in [0, 1] adds w e_(y), and counts are divided by their sum in the place of n. Two classes are then K = 2 classes, and so is a number, which adds
// w ((1 - t) / 2, (1 + t) / 2), t = clip_B(y) / B (docs/proofs/weights.md#constant).
//
// A unit of several rows adds the mean of what its rows add, a row without a label 0. One record or unit moves S by at most s = 1/2 or B where it
// appears, vanishes or is zeroed, and by twice that where it gives way to another; of K classes by 1 and by sqrt 2; of records with weights, too.
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

/// All public.
struct ConstantLearnerOptions {
  NoiseMultiplier noise_multiplier;  ///< z; of pure noise its scale b
  Adjacency adjacency = Adjacency::replace_one;
  bool is_pure = false;  ///< noise of density exp(-||x||_2 / (b s)) in the place of Gaussian noise (optimizers/doors/pure_noise.h)
  std::optional<LabelBound> label_bound = {};  ///< B; without it labels are classes, -1 or 1
  std::optional<Count> public_count = {};      ///< n; default the number of records or units, which add-or-remove-one keeps private
  UnitEnds unit_ends = {};  ///< where neighbours differ in units of several rows: each adds the mean of what its rows add
};

/// What a run releases: gaussian(z), or pure(1/b). \source docs/proofs/shaped-descent.md#constant
[[nodiscard]] Event plan(const ConstantLearnerOptions& options);

/// The score of every record as above, of a share kept within 1 / n of 0 and 1, or of a mean kept within B.
/// A record whose row is zero counts for nothing. O(records).
/// \throws Error{invalid_argument}, before the release, when the data have no labels, when there is no record and n is not given, or when n is not
///         given under add-or-remove-one; and what the releaser throws.
[[nodiscard]] double constant_learner(const Dataset& data, const ConstantLearnerOptions& options, Releaser& releaser);

/// The same of classes 0, ..., K - 1: the share of each, which are positive and add up to 1. A record of another label counts for nothing.
/// \pre options.label_bound is not given, classes > 1 \throws as above. O(records + K).
[[nodiscard]] std::vector<double> constant_class_shares(const Dataset& data, std::size_t classes, const ConstantLearnerOptions& options,
                                                        Releaser& releaser);

}  // namespace surety::optimizers
