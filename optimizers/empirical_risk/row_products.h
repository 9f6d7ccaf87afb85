// Products of rows with one square matrix, for rows of which most numbers may be 0: of eight hat functions of a column six are.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <surety/data/features/dataset.h>

namespace surety::optimizers {

class RowProducts {
 public:
  /// A copy of the matrix, row after row. \pre matrix.size() == size * size
  RowProducts(std::span<const double> matrix, std::size_t size);

  /// Writes the product x^T M of each row x, one after the other. Each number is 0 + x_0 M_0j + x_1 M_1j + ..., rounded in this order, whatever rows are
  /// together and whether zeros are skipped: a zero changes no sum of finite numbers.
  /// \pre the matrix is finite; dense rows have `size` numbers or none, indices of sparse ones are below size and may repeat; products.size() == rows.size() * size
  /// \complexity O(size) for each number that is not 0
  void write(std::span<const data::RowView> rows, std::span<double> products) const;

 private:
  std::size_t size_;
  std::size_t stride_;  ///< a multiple of 8: zeros follow the numbers of a row of the matrix
  std::vector<double> matrix_;
};

}  // namespace surety::optimizers
