// The real data of experiments on classification, and what the best weights reach on them.
//
// a9a, covtype.20k, covtype_sample, ijcnn1 and randhie. A constant feature is added and rows are scaled to unit norm, one by one. Covertype:
// class 2 against the rest, its ten measured features first mapped to [-1, 1] from ranges in the source file. randhie: mdvis > 0, columns as
// `surety train` takes them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/units.h>

namespace surety::experiments {

/// The data of this name from the files of `folder`.
[[nodiscard]] data::Dataset classification_data(const std::string& name, const std::string& folder);

/// Of the mean logistic loss with lambda / 2 |w|^2, in plain double.
struct SecondOrder {
  std::vector<double> gradient;
  std::vector<double> hessian;  ///< the lower triangle of a d x d matrix, row by row
};
[[nodiscard]] SecondOrder second_order(const data::Dataset& data, std::span<const double> weights, optimizers::Regularization lambda);

/// Solves A x = b for a symmetric positive definite A, given by its lower triangle, in place: `b` becomes x. \complexity O(d^3).
void solve(std::vector<double>& a, std::vector<double>& b);

/// The least value of the logistic loss with lambda / 2 |w|^2. Newton's method with halved steps, until half of the squared decrement is
/// below 10^-11: within 10^-10 of the infimum.
[[nodiscard]] double logistic_optimum(const data::Dataset& data, optimizers::Regularization lambda);

}  // namespace surety::experiments
