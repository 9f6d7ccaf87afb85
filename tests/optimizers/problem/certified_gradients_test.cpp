#include <surety/optimizers/problem/certified_gradients.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <vector>

#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/loss.h>

#include <support/drawn_records.h>
#include <support/refusal.h>

namespace surety::optimizers::certified_gradients_test {
namespace {

long double exact_norm(std::span<const double> values) {
  long double sum = 0;
  for (const double value : values) sum += static_cast<long double>(value) * value;
  return std::sqrt(sum);
}

TEST(ClippedRows, HaveExactNormsAtMostTheRadius) {
  std::mt19937_64 random{5};
  for (const double radius : {1.0, 0.3, 1e-24, 1e-100, 1e30}) {
    std::vector<DrawnRecord> records;
    for (int i = 0; i < 500; ++i) {
      records.push_back(drawn_record(7, random));
      if (i % 3 == 0 && radius < 1) {
        for (auto& value : records.back().row) value *= radius;
      }
    }
    const Dataset data = assemble(records);
    const Dataset clipped = with_clipped_rows(data, Radius{radius});
    for (std::size_t i = 0; i < data.size(); ++i) {
      const long double norm = exact_norm(clipped.row(i).values);
      ASSERT_LE(norm, radius);
      if (data.row(i).norm < 0.99 * radius) {
        ASSERT_TRUE(std::ranges::equal(clipped.row(i).values, data.row(i).values));
      } else if (std::isfinite(data.row(i).norm)) {
        ASSERT_GT(norm, radius * (0.99 - 1e-12));
      }
    }
  }
  // Whose norm is beyond the range of double; a sparse row without entries.
  EXPECT_EQ(with_clipped_rows(Dataset::dense(2, {1.7e308, 1.7e308}, {1}), Radius{1}).row(0).norm, 0);
  const Dataset sparse = with_clipped_rows(Dataset::sparse(3, {0, 2}, {0, 2}, {3, 4}, {1, -1}), Radius{1});
  EXPECT_EQ(sparse.row(0).values.size(), 0U);
  EXPECT_NEAR(sparse.row(1).values[1], 0.8, 1e-14);
  EXPECT_EQ(sparse.label(1), -1);
  EXPECT_TRUE(refuses([] { static_cast<void>(with_clipped_rows(Dataset::dense(1, {1}, {1}), Radius{1e-300})); },
                      ErrorCode::invalid_argument, {"row norm is 1e-300"}));
}

TEST(ClippedRows, AreZeroForLabelsThatTheLossDoesNotHave) {
  const Dataset data = Dataset::dense(1, {0.5, 0.5, 0.5, 3}, {1, -1, 0, 5});
  const Dataset clipped = with_clipped_rows(data, Radius{1}, LogisticLoss{});
  EXPECT_EQ(clipped.row(0).norm, 0.5);
  EXPECT_EQ(clipped.row(1).norm, 0.5);
  EXPECT_EQ(clipped.row(2).norm, 0);  // 0 is encoded as -1
  EXPECT_EQ(clipped.row(3).norm, 0);
  EXPECT_EQ(with_clipped_rows(data, Radius{1}).row(2).norm, 0.5);
}

// The clipped gradient in long double, against what a sum of one record holds: at most the bound, and the better part of it at times.
TEST(RecordGradientError, BoundsWhatOneRecordIsOffBy) {
  std::mt19937_64 random{12};
  std::normal_distribution<double> normal;
  double largest = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::size_t features = 1 + random() % 40;
    const double reach = std::exp2(static_cast<int>(random() % 16));
    std::vector<double> row(features);
    std::vector<double> weights(features);
    for (auto& value : row) value = normal(random);
    for (auto& value : weights) value = normal(random);
    const auto scaled_to = [](std::vector<double>& values, double norm) {
      const double length = static_cast<double>(exact_norm(values)) * (1 + 1e-15);
      for (auto& value : values) value *= norm / length;
    };
    scaled_to(row, 0.999);
    scaled_to(weights, 0.999 * reach);
    const ClippingNorm clip{i % 2 == 0 ? 1 : 0.2};
    const Dataset data = Dataset::dense(features, row, {1});
    mechanisms::RecordSum sum{{.clip = clip, .grid = gradient_grid(clip), .dimension = features}};
    add_gradients(data, LogisticLoss{}, weights, sum);
    const auto found = sum.reals();
    long double score = 0;
    for (std::size_t j = 0; j < features; ++j) score += static_cast<long double>(row[j]) * weights[j];
    const long double factor = -1 / (1 + std::exp(score));
    const long double scale = std::min(1.0L, clip.value() / (std::abs(factor) * exact_norm(row)));
    long double square = 0;
    for (std::size_t j = 0; j < features; ++j) {
      const long double off = found[j] - scale * factor * row[j];
      square += off * off;
    }
    const GradientShape shape{.features = features,
                              .clip = clip,
                              .row_norm = Radius{1},
                              .slope = 0.25,
                              .derivative_error = LogisticLoss{}.monotone_derivative_error(reach)};
    const double share = static_cast<double>(std::sqrt(square)) / (1.01 * record_gradient_error(shape, reach));
    EXPECT_LE(share, 1) << features << " " << reach;
    largest = std::max(largest, share);
  }
  EXPECT_GT(largest, 0.5);
}

}  // namespace
}  // namespace surety::optimizers::certified_gradients_test
