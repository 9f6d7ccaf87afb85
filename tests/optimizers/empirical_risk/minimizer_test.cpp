#include <surety/optimizers/empirical_risk/minimizer.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <surety/optimizers/problem/loss.h>

#include <support/drawn_records.h>
#include <support/refusal.h>

namespace surety::optimizers::minimizer_test {
namespace {

long double exact_norm(std::span<const double> values) {
  long double sum = 0;
  for (const double value : values) sum += static_cast<long double>(value) * value;
  return std::sqrt(sum);
}

/// The clipped losses' derivatives by the score, in long double.
long double slope(const LogisticLoss&, long double score, long double label) { return -label / (1 + std::exp(label * score)); }
long double slope(const SquaredLoss&, long double score, long double label) { return score - label; }
long double slope(const SmoothedHingeLoss& loss, long double score, long double label) {
  const long double h = loss.width.value();
  return -label * std::clamp((1 + h - label * score) / (2 * h), 0.0L, 1.0L);
}

/// ||gradient of J||_2 by its definition.
template <class O>
long double gradient_norm(const Dataset& data, const O& objective, double weight, std::span<const double> linear, const MinimumShape& shape,
                          std::span<const double> weights) {
  std::vector<long double> gradient(data.features());
  for (std::size_t i = 0; i < data.size(); ++i) {
    const RowView row = data.row(i);
    const long double norm = exact_norm(row.values);
    if (norm == 0) continue;
    long double score = 0;
    for (std::size_t k = 0; k < row.values.size(); ++k) {
      score += static_cast<long double>(row.values[k]) * weights[row.is_sparse() ? row.indices[k] : k];
    }
    const long double largest = shape.clip.value() / norm;
    const long double derivative = std::clamp(slope(objective, score, data.label(i)), -largest, largest);
    for (std::size_t k = 0; k < row.values.size(); ++k) {
      gradient[row.is_sparse() ? row.indices[k] : k] += weight * derivative * row.values[k];
    }
  }
  long double sum = 0;
  for (std::size_t j = 0; j < gradient.size(); ++j) {
    gradient[j] += static_cast<long double>(shape.lambda.value()) * weights[j] + (linear.empty() ? 0 : linear[j]);
    sum += gradient[j] * gradient[j];
  }
  return std::sqrt(sum);
}

struct Instance {
  Dataset data;
  std::vector<double> linear;
  MinimumShape shape;
  double weight;
};

template <class O>
Instance drawn_instance(const O& objective, std::mt19937_64& random) {
  const std::size_t features = 1 + random() % 5;
  const std::size_t size = 1 + random() % 40;
  std::vector<DrawnRecord> records;
  for (std::size_t i = 0; i < size; ++i) {
    records.push_back(drawn_record(features, random));
    records.back().label = *objective.encode_label(records.back().label);
  }
  const double largest = random() % 2 == 0 ? 0 : 0.5;
  std::vector<double> linear(features);
  for (auto& c : linear) c = largest * std::uniform_real_distribution<double>{-1, 1}(random) / std::sqrt(features);
  const Radius row_norm{random() % 2 == 0 ? 1.0 : 0.3};
  const ClippingNorm clip{std::exp(std::uniform_real_distribution<double>{-3, 1}(random))};
  const Regularization lambda{std::exp(std::uniform_real_distribution<double>{-6, 1}(random))};
  return {.data = with_clipped_rows(assemble(records), row_norm),
          .linear = linear,
          .shape = minimum_shape(objective, 1.0001, clip, row_norm, lambda, largest * 1.0001, features),
          .weight = 1 / static_cast<double>(size)};
}

template <class O>
void expect_certified(const O& objective, std::mt19937_64& random, double& largest) {
  const auto instance = drawn_instance(objective, random);
  const auto weights = minimize(instance.data, objective, instance.weight, instance.linear, instance.shape);
  // The distance to the minimiser is at most ||gradient|| / lambda, by strong convexity.
  const long double distance =
      gradient_norm(instance.data, objective, instance.weight, instance.linear, instance.shape, weights) / instance.shape.lambda.value();
  const double claimed = minimum_distance(instance.shape);
  ASSERT_LE(distance, claimed);
  largest = std::max(largest, static_cast<double>(distance / claimed));
}

TEST(Minimizer, EndsWithinItsDistanceOfTheMinimum) {
  std::mt19937_64 random{99};
  double largest = 0;
  for (int c = 0; c < 300; ++c) {
    expect_certified(LogisticLoss{}, random, largest);
    expect_certified(SmoothedHingeLoss{.width = SmoothingWidth{0.3}}, random, largest);
    expect_certified(SquaredLoss{.label_bound = LabelBound{1}, .weight_radius = Radius{1}}, random, largest);
  }
  RecordProperty("largest_ratio", std::to_string(largest));
  EXPECT_GT(largest, 0.1);  // the solver stops where it may
}

// docs/proofs/output-perturbation.md#minimizer, term by term, with shapes in which every term is a good part of the whole.
TEST(Minimizer, ItsDistanceIsTheFormulaOfItsProof) {
  struct Case {
    double weight, clip, row_norm, lambda, linear, slope, error;
    std::size_t features;
  };
  for (const Case& c : {Case{1, 0.3, 1, 0.05, 0, 0.25, 1e-16, 7}, Case{64, 0.7, 0.3, 0.01, 0.4, 0.9, 1e-14, 3},
                        Case{1.5, 3, 2, 2, 5, 0.25, 1e-13, 1}, Case{0.5, 1e-3, 40, 0.5, 1e-3, 3, 1e-17, 2000}}) {
    const MinimumShape shape{.total_weight = c.weight,
                             .clip = ClippingNorm{c.clip},
                             .row_norm = Radius{c.row_norm},
                             .lambda = Regularization{c.lambda},
                             .linear_norm = c.linear,
                             .features = c.features,
                             .slope = c.slope,
                             .derivative_error = c.error};
    const double u = 0x1p-53;
    const double d = static_cast<double>(c.features);
    const double reach = 1.01 * (c.weight * c.clip + c.linear) / c.lambda;  // D, and W = 3 D
    const double largest = c.weight * c.clip + c.lambda * 3 * reach + c.linear;
    const double g = std::exp2(std::floor(std::log2(c.clip)) - 39);
    const double score = d * u * c.row_norm * 3 * reach + d * 0x1p-1074;
    const double gradient =
        1.01 * (c.weight * (c.row_norm * (c.slope * score + c.error) + c.clip * (2 * d + 60) * u + g * std::sqrt(d)) + 8 * u * largest);
    const double smoothness = 1.01 * (c.weight * c.slope * c.row_norm * c.row_norm + c.lambda);
    const double step = 1.01 * 4 * u * (smoothness * 3 * reach + largest);
    EXPECT_NEAR(minimum_distance(shape) / (1.01 * 4 * (gradient + step) / c.lambda), 1, 1e-12) << c.features;
    EXPECT_NEAR(shape.score_bound() / (1.01 * 3 * reach * c.row_norm), 1, 1e-12);
    EXPECT_EQ(gradient_grid(ClippingNorm{c.clip}).step(), g);
  }
}

TEST(Minimizer, AsksTheLossForItsConstants) {
  const auto shape = minimum_shape(LogisticLoss{}, 1.5, ClippingNorm{0.3}, Radius{0.6}, Regularization{0.05}, 0.2, 7);
  EXPECT_EQ(shape.slope, 0.25);
  EXPECT_EQ(shape.derivative_error, LogisticLoss{}.monotone_derivative_error(shape.score_bound()));
  EXPECT_GT(shape.derivative_error, 0);
}

// The slow method ends where the proof says, with no gradient to certify it.
TEST(Minimizer, SlowMethodEndsWithinTheDistanceToo) {
  std::mt19937_64 random{100};
  for (int c = 0; c < 30; ++c) {
    const auto instance = drawn_instance(LogisticLoss{}, random);
    const auto slow = minimize(instance.data, LogisticLoss{}, instance.weight, instance.linear, instance.shape, {.fast_steps = 0});
    const auto norm = gradient_norm(instance.data, LogisticLoss{}, instance.weight, instance.linear, instance.shape, slow);
    ASSERT_LE(norm / instance.shape.lambda.value(), minimum_distance(instance.shape));
  }
}

// By bisection of the increasing derivative of J, in one dimension.
TEST(Minimizer, FindsTheRootOfTheDerivative) {
  const Dataset data = Dataset::dense(1, {0.9, -0.4, 0.7}, {1, 1, -1});
  const double weight = 1.0 / 3;
  const auto shape = minimum_shape(LogisticLoss{}, 1.0001, ClippingNorm{0.3}, Radius{1}, Regularization{0.05}, 0.2, 1);
  const std::vector<double> linear{-0.11};
  const auto derivative = [&](long double w) {
    long double sum = 0.05L * w - 0.11L;
    for (std::size_t i = 0; i < 3; ++i) {
      const long double x = data.row(i).values[0];
      sum += weight * std::clamp(slope(LogisticLoss{}, w * x, data.label(i)) * x, -0.3L, 0.3L);
    }
    return sum;
  };
  long double low = -100;
  long double high = 100;
  for (int i = 0; i < 100; ++i) (derivative((low + high) / 2) < 0 ? low : high) = (low + high) / 2;
  const auto weights = minimize(data, LogisticLoss{}, weight, linear, shape);
  EXPECT_LE(std::abs(static_cast<double>(weights[0] - low)), minimum_distance(shape));
  EXPECT_LT(minimum_distance(shape), 1e-8);
}

TEST(Minimizer, SparseRowsAndThreadsChangeNothing) {
  const Dataset dense = Dataset::dense(3, {0, 0.5, -0.1, 0, 0, 0, 0.3, 0, 0.25}, {1, 1, -1});
  const Dataset sparse = Dataset::sparse(3, {2, 2, 4}, {1, 2, 0, 2}, {0.5, -0.1, 0.3, 0.25}, {1, 1, -1});
  const auto shape = minimum_shape(LogisticLoss{}, 1.0001, ClippingNorm{0.3}, Radius{1}, Regularization{0.05}, 0, 3);
  EXPECT_EQ(minimize(dense, LogisticLoss{}, 1.0 / 3, {}, shape), minimize(sparse, LogisticLoss{}, 1.0 / 3, {}, shape, {.threads = 2}));
}

TEST(Minimizer, RefusesWhatRoundingErrorsWouldSpoil) {
  const auto distance = [](double lambda) {
    return minimum_distance(minimum_shape(LogisticLoss{}, 1, ClippingNorm{1}, Radius{1}, Regularization{lambda}, 0, 10));
  };
  EXPECT_LT(distance(1e-4), 1e-5);
  EXPECT_TRUE(refuses([&] { static_cast<void>(distance(0)); }, ErrorCode::invalid_argument, {"regularization is 0"}));
  EXPECT_TRUE(refuses([&] { static_cast<void>(distance(1e-16)); }, ErrorCode::invalid_argument, {"rounding errors", "1e-16 is too small"}));
}

}  // namespace
}  // namespace surety::optimizers::minimizer_test
