// What a release of moments says along the directions in which rows may differ.
#pragma once

#include <cstddef>
#include <vector>

#include <Eigen/Core>

namespace surety::optimizers::detail {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// An orthonormal basis, in columns, of what is orthogonal to all `relations`, which are linearly independent and at least one. O(d^3) for d features.
Matrix free_directions(std::size_t features, const std::vector<std::vector<double>>& relations);

/// A of the features, within what the relations leave, by its eigenvalues and vectors, and c in their coordinates. O(d^3) for d features.
struct ReleasedDirections {
  Eigen::VectorXd eigenvalues;
  Matrix vectors;  ///< of all features, in columns
  Eigen::VectorXd along;

  /// \param matrix of `features` + 1 rows, of which the last is the label's, row by row
  ReleasedDirections(std::size_t features, const std::vector<double>& matrix, const std::vector<std::vector<double>>& relations);

 private:
  void decompose(const Matrix& matrix);
};

}  // namespace surety::optimizers::detail
