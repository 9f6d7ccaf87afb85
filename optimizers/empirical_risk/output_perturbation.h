// Output perturbation: [CMS11] Algorithm 1. The minimiser of the regularised loss, then noise:
//
//     w = argmin_v  weight sum_i loss_C(<v, x_i>, y_i) + (lambda/2) ||v||^2   + noise,      weight = 1/n .
//
// One record moves the minimiser by at most 2C / (n lambda) under replace-one and C / (n lambda) otherwise, in l2. Differences from the
// paper: rows are scaled and gradients clipped, so that nothing need be true of the data; what the solver and rounding leave is part of the
// sensitivity; noise is Gaussian, or of density exp(-||x||_2 / b) as there; and under add-or-remove-one, where n is a public guess, weights
// shrink a little as records are more (`record_weight`), so that no number of records costs more.
//
// [CMS11] Chaudhuri, Monteleoni, Sarwate: Differentially Private Empirical Risk Minimization, JMLR 2011.
#pragma once

#include <cstddef>
#include <optional>
#include <variant>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/vector_releaser.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/problem.h>
#include <surety/optimizers/problem/units.h>

namespace surety::optimizers {

/// All public.
struct OutputPerturbationOptions {
  std::variant<NoiseMultiplier, NoiseScale> noise;  ///< Gaussian of that multiplier, or l2 K-norm noise of that scale: 1 / epsilon
  Regularization regularization;                    ///< lambda, greater than 0
  Adjacency adjacency = Adjacency::replace_one;
  ClippingNorm clip{1};                    ///< C
  Radius row_norm{1};                      ///< R: longer rows are scaled down to it
  std::optional<Count> public_count = {};  ///< n; default the number of records, which add-or-remove-one keeps private
  std::size_t threads = 1;                 ///< the result does not depend on them
};

/// What a run releases, with `features` weights.
[[nodiscard]] Event plan(const OutputPerturbationOptions& options, Count features);

/// The weight of each of `records` records: 1/n under replace-one and zero-out. Under add-or-remove-one (1 - N / (256 n)) / n for N records
/// up to 128 n, and 64 / N beyond: then adding one to N records moves a sum of vectors of norm at most C by at most C / n, and the weights
/// sum to at most 64, for every N.
/// \source docs/proofs/output-perturbation.md#weights
[[nodiscard]] double record_weight(Adjacency adjacency, Count public_count, std::size_t records);

/// How far one record can move the minimiser, as computed, before rounding to a grid. Rounded up.
/// \throws as `minimum_distance`. \source docs/proofs/output-perturbation.md#output-perturbation
[[nodiscard]] L2Sensitivity minimizer_sensitivity(ConvexObjectiveRef objective, const OutputPerturbationOptions& options,
                                                  Count public_count, std::size_t features);

/// Runs the algorithm above; returns the released weights, one per feature. `plan(options, features)` is what `releaser` is asked for,
/// once. The guarantee needs nothing of the data but labels that the loss knows.
///
/// \pre   labels are as the objective wants them (`encode_labels`).
/// \throws Error{invalid_argument}, before the release, when the data have no labels, when there is no record and n is not given, when n is
///         not given under add-or-remove-one or is not the number of records otherwise, and as `minimum_distance`; and what the releaser
///         throws.
/// \complexity as `minimize`, with the data once more in memory.
/// \source [CMS11] Algorithm 1, Theorem 6; docs/proofs/output-perturbation.md.
[[nodiscard]] std::vector<double> output_perturbation(const Dataset& data, ConvexObjectiveRef objective,
                                                      const OutputPerturbationOptions& options, Releaser& releaser);

}  // namespace surety::optimizers
