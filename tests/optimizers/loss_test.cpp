#include <surety/optimizers/loss.h>

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <cmath>
#include <vector>

#include <surety/mechanisms/record_sum.h>

#include "optimizers/refusal.h"

namespace surety::optimizers {
namespace {

const SquaredLoss squared{.label_bound = LabelBound{2.5}, .weight_radius = Radius{3}};

/// A real number in [-bound, bound].
rc::Gen<double> within(double bound) {
  return rc::gen::map(rc::gen::inRange(-1'000'000, 1'000'001), [=](int i) { return bound * i / 1e6; });
}

std::vector<double> vector_within(std::size_t size, double bound) { return *rc::gen::container<std::vector<double>>(size, within(bound)); }

double norm(std::span<const double> v) { return mechanisms::l2_norm(v); }

/// One record with a random row and label, and the objective's gradient there.
template <Objective O>
std::vector<double> gradient(const O& objective, const Dataset& record, std::span<const double> weights) {
  std::vector<double> result(weights.size(), 0.0);
  add_gradient(objective, record.row(0), record.label(0), weights, result);
  return result;
}

template <Objective O>
void check_gradient(const O& objective) {
  const double label = *objective.encode_label(*rc::gen::element(-1.0, 0.0, 1.0));
  const Dataset record = Dataset::dense(3, vector_within(3, 4), {label});
  const auto weights = vector_within(3, 2);
  const auto exact = gradient(objective, record, weights);
  for (std::size_t j = 0; j < 3; ++j) {
    // Central differences err by h^2/6 times a third derivative (at most 0.1 |x|^3) and by rounding, 1e-16 x 50 / h.
    constexpr double h = 1e-5;
    auto up = weights;
    auto down = weights;
    up[j] += h;
    down[j] -= h;
    const double difference = (loss(objective, record.row(0), label, up) - loss(objective, record.row(0), label, down)) / (2 * h);
    RC_ASSERT(std::abs(difference - exact[j]) < 1e-8);
  }
}

RC_GTEST_PROP(LogisticLoss, GradientMatchesDifferences, ()) { check_gradient(LogisticLoss{}); }
RC_GTEST_PROP(SquaredLoss, GradientMatchesDifferences, ()) { check_gradient(squared); }

template <Objective O>
void check_bounds(const O& objective, double weight_bound) {
  const double label = *objective.encode_label(*rc::gen::element(-1.0, 0.0, 1.0));
  const Dataset record = Dataset::dense(3, vector_within(3, 4), {label});
  const double row_norm = record.row(0).norm;
  const auto u = vector_within(3, weight_bound);
  const auto v = vector_within(3, weight_bound);
  const auto at_u = gradient(objective, record, u);
  const auto at_v = gradient(objective, record, v);
  RC_ASSERT(norm(at_u) <= objective.gradient_bound(row_norm) * (1 + 1e-14));
  std::vector<double> gradients(3);
  std::vector<double> weights(3);
  for (std::size_t j = 0; j < 3; ++j) {
    gradients[j] = at_u[j] - at_v[j];
    weights[j] = u[j] - v[j];
  }
  RC_ASSERT(norm(gradients) <= objective.smoothness(row_norm) * norm(weights) * (1 + 1e-12) + 1e-13);
}

RC_GTEST_PROP(LogisticLoss, KeepsItsBounds, ()) { check_bounds(LogisticLoss{}, *rc::gen::element(0.01, 1.0, 100.0, 1e6)); }
// Vectors within 1.7 per coordinate stay in the ball of radius 3.
RC_GTEST_PROP(SquaredLoss, KeepsItsBounds, ()) { check_bounds(squared, 1.7); }

TEST(LogisticLoss, BoundsAreReached) {
  const LogisticLoss logistic;
  EXPECT_NEAR(-logistic.derivative(-40, 1), logistic.gradient_bound(1), 1e-15);
  EXPECT_NEAR((logistic.derivative(1e-4, 1) - logistic.derivative(-1e-4, 1)) / 2e-4, logistic.smoothness(1), 1e-8);
}

TEST(SquaredLoss, BoundsAreReached) {
  EXPECT_EQ(squared.gradient_bound(2), (2 * 3 + 2.5) * 2);
  EXPECT_EQ(squared.derivative(6, -2.5) * 2, squared.gradient_bound(2));
}

TEST(LogisticLoss, IsRightAtTheEnds) {
  const LogisticLoss logistic;
  EXPECT_DOUBLE_EQ(logistic.value(0, 1), std::log(2));
  EXPECT_EQ(logistic.value(1e308, -1), 1e308);
  EXPECT_EQ(logistic.value(1e308, 1), 0);
  EXPECT_DOUBLE_EQ(logistic.value(50, 1), std::exp(-50));  // log(1 + x) = x - x^2/2 + ...
  EXPECT_EQ(logistic.derivative(1e308, -1), 1);
  EXPECT_EQ(logistic.derivative(1e308, 1), 0);
}

TEST(EncodeLabels, LooksAtEachLabelAlone) {
  const Dataset data = Dataset::dense(1, {1, 2, 3, 4}, {0, 1, -1, 1});
  const Dataset logistic = encode_labels(LogisticLoss{}, data);
  EXPECT_EQ(std::vector<double>(logistic.labels().begin(), logistic.labels().end()), (std::vector<double>{-1, 1, -1, 1}));
  const Dataset clamped = encode_labels(squared, Dataset::dense(1, {1, 2, 3}, {-7, 0.5, 3}));
  EXPECT_EQ(std::vector<double>(clamped.labels().begin(), clamped.labels().end()), (std::vector<double>{-2.5, 0.5, 2.5}));
  EXPECT_TRUE(refuses(
      [] {
        static_cast<void>(encode_labels(LogisticLoss{}, Dataset::dense(1, {1, 2}, {1, 2})));
      },
      ErrorCode::bad_data, {"row 2", "label is 2", "-1, 0 or 1"}));
  EXPECT_TRUE(refuses([] { static_cast<void>(encode_labels(LogisticLoss{}, Dataset::dense(1, {1}, {}))); }, ErrorCode::invalid_argument,
                      {"no labels"}));
}

TEST(RegularizedLoss, IsTheFormula) {
  const Dataset data = Dataset::sparse(2, {1, 2}, {0, 1}, {2, 1}, {1, -1});
  const std::vector<double> weights{0.5, -3};
  EXPECT_DOUBLE_EQ(regularized_loss(squared, data, weights, Regularization{0.1}), (0.0 + 2.0) / 2 + 0.05 * 9.25);
}

}  // namespace
}  // namespace surety::optimizers
