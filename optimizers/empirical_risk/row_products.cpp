#include <surety/optimizers/empirical_risk/row_products.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include <surety/base/numbers/vectorized.h>

namespace surety::optimizers {
namespace {

using Four = double __attribute__((vector_size(4 * sizeof(double))));

/// The numbers of a row that are not 0, and their places.
struct Entries {
  const std::uint32_t* places;
  const double* values;
  std::size_t count;
};

/// Columns of the product that are computed together: 4 vectors at once hide what one addition takes.
template <std::size_t vectors>
__attribute__((always_inline)) inline void write_columns(const Entries& row, const double* matrix, std::size_t stride, std::size_t size,
                                                         double* products) {
  Four sums[vectors] = {};  // NOLINT: as arrays of the library these do not stay in registers
  for (std::size_t k = 0; k < row.count; ++k) {
    const double* const from = matrix + row.places[k] * stride;
    const double value = row.values[k];
    for (std::size_t v = 0; v < vectors; ++v) {
      Four numbers;
      std::memcpy(&numbers, from + 4 * v, sizeof numbers);
      sums[v] += value * numbers;
    }
  }
  std::memcpy(products, sums, std::min(size, 4 * vectors) * sizeof(double));
}

constexpr std::size_t strip = 32;  ///< columns that all rows use before the next ones: of 181 features they take 46 KB

/// \param products of the first row, of so many numbers as a row has
SURETY_VECTORIZED void write_sparse(const Entries* rows, std::size_t count, const double* matrix, std::size_t stride, std::size_t size,
                                    double* products) {
  for (std::size_t j = 0; j < size; j += strip) {
    for (std::size_t i = 0; i < count; ++i) {
      double* const target = products + i * size + j;
      switch (std::min(strip, stride - j)) {
        case 8: write_columns<2>(rows[i], matrix + j, stride, size - j, target); break;
        case 16: write_columns<4>(rows[i], matrix + j, stride, size - j, target); break;
        case 24: write_columns<6>(rows[i], matrix + j, stride, size - j, target); break;
        default: write_columns<8>(rows[i], matrix + j, stride, size - j, target); break;
      }
    }
  }
}

constexpr std::size_t products_together = 4;

/// The same of four rows with few zeros, which share what is read of the matrix.
SURETY_VECTORIZED void write_dense(const std::array<const double*, products_together>& values, const double* matrix, std::size_t stride,
                                   std::size_t size, double* products) {
  for (std::size_t j = 0; j < size; j += 8) {
    Four left[products_together] = {};   // NOLINT
    Four right[products_together] = {};  // NOLINT
    for (std::size_t k = 0; k < size; ++k) {
      Four of_left;
      Four of_right;
      std::memcpy(&of_left, matrix + k * stride + j, sizeof of_left);
      std::memcpy(&of_right, matrix + k * stride + j + 4, sizeof of_right);
      for (std::size_t r = 0; r < products_together; ++r) {
        left[r] += values[r][k] * of_left;
        right[r] += values[r][k] * of_right;
      }
    }
    const std::size_t in_left = std::min<std::size_t>(size - j, 4);
    const std::size_t in_right = std::min<std::size_t>(size - j, 8) - in_left;
    for (std::size_t r = 0; r < products_together; ++r) {
      std::memcpy(products + r * size + j, &left[r], in_left * sizeof(double));
      std::memcpy(products + r * size + j + 4, &right[r], in_right * sizeof(double));
    }
  }
}

std::size_t nonzeros(const data::RowView& row) {
  return row.values.size() - static_cast<std::size_t>(std::count(row.values.begin(), row.values.end(), 0.0));
}

}  // namespace

RowProducts::RowProducts(std::span<const double> matrix, std::size_t size)
    : size_{size}, stride_{(size + 7) / 8 * 8}, matrix_(size_ * stride_, 0.0) {
  for (std::size_t k = 0; k < size; ++k) std::copy_n(matrix.data() + k * size, size, matrix_.data() + k * stride_);
}

void RowProducts::write(std::span<const data::RowView> rows, std::span<double> products) const {
  constexpr std::size_t most_together = 16;
  const auto is_full = [&](const data::RowView& row) {
    return !row.is_sparse() && row.values.size() == size_ && 2 * nonzeros(row) > size_;
  };
  // One place more for each row: a number is written before it is known whether it counts.
  std::size_t most = 1;
  for (const auto& row : rows) most = std::max(most, row.values.size() + 1);
  std::vector<std::uint32_t> places(most_together * most);
  std::vector<double> values(most_together * most);
  std::array<Entries, most_together> entries;
  for (std::size_t i = 0; i < rows.size();) {
    const auto next = rows.subspan(i);
    double* const target = products.data() + i * size_;
    if (next.size() >= products_together && std::all_of(next.begin(), next.begin() + products_together, is_full)) {
      std::array<const double*, products_together> of_rows;
      for (std::size_t r = 0; r < products_together; ++r) of_rows[r] = next[r].values.data();
      write_dense(of_rows, matrix_.data(), stride_, size_, target);
      i += products_together;
      continue;
    }
    std::size_t together = 0;
    while (together < std::min(most_together, next.size()) && (together == 0 || !is_full(next[together]))) {
      const auto& row = next[together];
      std::uint32_t* const own_places = places.data() + together * most;
      double* const own_values = values.data() + together * most;
      std::size_t count = 0;
      for (std::size_t k = 0; k < row.values.size(); ++k) {
        own_places[count] = row.is_sparse() ? row.indices[k] : static_cast<std::uint32_t>(k);
        own_values[count] = row.values[k];
        count += row.values[k] != 0 ? 1 : 0;
      }
      entries[together++] = {own_places, own_values, count};
    }
    write_sparse(entries.data(), together, matrix_.data(), stride_, size_, target);
    i += together;
  }
}

}  // namespace surety::optimizers
