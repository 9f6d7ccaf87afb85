// The sum over all records of x x^T, released once: what learners know of the shape of the features.
#pragma once

#include <cstddef>
#include <vector>

#include <surety/accounting/events/units.h>
#include <surety/mechanisms/queries/second_moment_sum.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/unit_rows.h>

namespace surety::optimizers {

/// Adds w x x^T of all records of weight w, each clipped; of units of several rows the mean of each. O(records features^2), less for sparse records, on up to
/// `threads` threads: the sum does not depend on them.
/// \pre data.features() is the sum's dimension; ends ascend strictly, and the last one is data.size().
void add_second_moments(const Dataset& data, mechanisms::SecondMomentSum& sum, std::size_t threads = 1, UnitEnds ends = {});

/// The symmetric matrix that d x d released entries make: the mean of the entries (j, k) and (k, j). Where these had independent noise of the
/// standard deviation sigma, those on the diagonal have it, the others sigma / sqrt 2: isotropic in Frobenius norm.
/// \pre released.size() == dimension^2
void symmetrize(std::size_t dimension, std::vector<double>& released);

/// About the operator norm of such noise, sigma sqrt(2 d): what is added to eigenvalues of the released matrix so that the true one is below.
/// It holds up to fluctuations of sigma d^(-1/6) and is nothing that a guarantee rests on.
/// \source the edge of the semicircle law: docs/proofs/shaped-descent.md#edge
[[nodiscard]] double noise_operator_norm(double sigma, std::size_t dimension);

}  // namespace surety::optimizers
