// Products of rows skip zeros and compute several numbers at once: not one bit may differ from the sums as they are written.
#include <surety/optimizers/empirical_risk/row_products.h>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace surety::optimizers {
namespace {

/// Every number times its row of the matrix, zeros as well.
std::vector<double> dense_product(const std::vector<double>& row, const std::vector<double>& matrix, std::size_t size) {
  std::vector<double> product(size);
  for (std::size_t j = 0; j < size; ++j) {
    double sum = 0;
    for (std::size_t k = 0; k < size; ++k) sum += row[k] * matrix[k * size + j];
    product[j] = sum;
  }
  return product;
}

struct Row {
  std::vector<double> values;
  std::vector<std::uint32_t> indices = {};
};

class RowProductsOf : public ::testing::TestWithParam<std::size_t> {};

TEST_P(RowProductsOf, AreTheSameBitsAsTheDenseSums) {
  const std::size_t size = GetParam();
  std::mt19937_64 random{size};
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<double> matrix(size * size);
  for (double& value : matrix) value = normal(random) * std::exp(3 * normal(random));
  const RowProducts products{matrix, size};
  // Shares of zeros that change, so that all kinds of rows stand beside each other; negative zeros as well.
  std::vector<Row> rows;
  std::vector<double> expected;
  for (std::size_t i = 0; i < 45; ++i) {
    const double share = i % 20 < 9 ? 0.05 : uniform(random) < 0.5 ? 0.7 : 1;
    std::vector<double> row(size);
    for (double& value : row) value = uniform(random) < share ? (uniform(random) < 0.5 ? 0.0 : -0.0) : normal(random);
    const auto own = dense_product(row, matrix, size);
    expected.insert(expected.end(), own.begin(), own.end());
    if (i % 7 != 3) {
      rows.push_back({.values = std::move(row)});
      continue;
    }
    Row sparse;
    for (std::size_t k = 0; k < size; ++k) {
      if (row[k] == 0) continue;
      sparse.indices.push_back(static_cast<std::uint32_t>(k));
      sparse.values.push_back(row[k]);
    }
    rows.push_back(std::move(sparse));
  }
  std::vector<data::RowView> views;
  for (const auto& row : rows) views.push_back({.indices = row.indices, .values = row.values, .norm = 1});
  std::vector<double> found(expected.size());
  products.write(views, found);
  for (std::size_t k = 0; k < found.size(); ++k) {
    ASSERT_EQ(std::bit_cast<std::uint64_t>(found[k]), std::bit_cast<std::uint64_t>(expected[k])) << "row " << k / size << ", " << k % size;
  }
}

// Indices of a file that someone else wrote may repeat: each number is added.
TEST(RowProducts, AddEachNumberOfARowThatRepeatsAnIndex) {
  const RowProducts products{std::vector<double>{1, 2, 3, 4}, 2};
  const std::vector<std::uint32_t> indices(4096, 1);
  const std::vector<double> values(indices.size(), 1);
  const std::vector<data::RowView> views(20, {.indices = indices, .values = values, .norm = 1});
  std::vector<double> found(2 * views.size());
  products.write(views, found);
  for (std::size_t k = 0; k < found.size(); ++k) EXPECT_EQ(found[k], (k % 2 == 0 ? 3 : 4) * 4096.0);
}

INSTANTIATE_TEST_SUITE_P(Sizes, RowProductsOf, ::testing::Values(1, 7, 8, 12, 21, 31, 32, 33, 64, 91, 181));

}  // namespace
}  // namespace surety::optimizers
