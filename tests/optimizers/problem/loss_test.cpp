#include <surety/optimizers/problem/loss.h>

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <surety/mechanisms/queries/record_sum.h>

#include <support/refusal.h>

namespace surety::optimizers::loss_test {
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
  RC_ASSERT(norm(gradients) <= objective.gradient_difference_bound(row_norm) * (1 + 1e-14));
  RC_ASSERT(norm(weights) == 0 || norm(gradients) <= objective.smoothness(row_norm) * norm(weights) * (1 + 1e-12) + 1e-13);
}

RC_GTEST_PROP(LogisticLoss, KeepsItsBounds, ()) { check_bounds(LogisticLoss{}, *rc::gen::element(0.01, 1.0, 100.0, 1e6)); }
// Vectors within 1.7 per coordinate stay in the ball of radius 3.
RC_GTEST_PROP(SquaredLoss, KeepsItsBounds, ()) { check_bounds(squared, 1.7); }

RC_GTEST_PROP(HingeLoss, KeepsItsBounds, ()) { check_bounds(HingeLoss{}, *rc::gen::element(0.01, 1.0, 100.0, 1e6)); }
RC_GTEST_PROP(SmoothedHingeLoss, KeepsItsBounds, ()) {
  check_bounds(SmoothedHingeLoss{.width = SmoothingWidth{*rc::gen::element(0.01, 0.3, 1.0)}}, *rc::gen::element(0.01, 1.0, 100.0, 1e6));
}

/// How much of each bound is used by records of norm `row_norm` and weights in the ball of radius 3, by brute force over scores.
struct BoundsUsed {
  double gradient = 0;
  double difference = 0;
  double smoothness = 0;
};

template <Objective O>
BoundsUsed bounds_used(const O& objective, double row_norm) {
  constexpr int points = 600;  // multiples of 0.01 row_norm, the ends and the corners among them
  const auto score = [&](int k) { return 3 * row_norm * k / (points / 2) - 3 * row_norm; };
  BoundsUsed used;
  for (const double given : {-9.0, -1.0, 0.0, 1.0}) {
    const auto label = objective.encode_label(given);
    if (!label) continue;
    for (int i = 0; i <= points; ++i) {
      const double at = objective.derivative(score(i), *label);
      used.gradient = std::max(used.gradient, std::abs(at) * row_norm / objective.gradient_bound(row_norm));
      for (int j = 0; j < i; ++j) {
        const double change = std::abs(at - objective.derivative(score(j), *label)) * row_norm;
        used.difference = std::max(used.difference, change / objective.gradient_difference_bound(row_norm));
        // Weights that differ along the row differ by the change of the score over its norm.
        used.smoothness = std::max(used.smoothness, change / (objective.smoothness(row_norm) * (score(i) - score(j)) / row_norm));
      }
    }
  }
  return used;
}

template <Objective O>
void expect_tight_bounds(const O& objective) {
  for (const double row_norm : {0.75, 2.0}) {
    const auto used = bounds_used(objective, row_norm);
    for (const double share : {used.gradient, used.difference, used.smoothness}) {
      EXPECT_LE(share, 1 + 1e-12) << O::name << ' ' << row_norm;
      EXPECT_GE(share, 0.75) << O::name << ' ' << row_norm;
    }
  }
}

TEST(Loss, BoundsAreTight) {
  expect_tight_bounds(LogisticLoss{});
  expect_tight_bounds(squared);
  expect_tight_bounds(SmoothedHingeLoss{.width = SmoothingWidth{0.5}});
  const auto hinge = bounds_used(HingeLoss{}, 2);
  EXPECT_EQ(hinge.gradient, 1);
  EXPECT_EQ(hinge.difference, 1);
  EXPECT_EQ(hinge.smoothness, 0);  // nothing is larger than an infinite bound
}

/// Bounds that somebody might believe: each is too small, and brute force says so.
template <Objective O>
struct Believed : O {
  double gradient_factor = 1;
  double difference_factor = 1;
  double smoothness_factor = 1;
  [[nodiscard]] double gradient_bound(double norm) const { return gradient_factor * O::gradient_bound(norm); }
  [[nodiscard]] double gradient_difference_bound(double norm) const { return difference_factor * O::gradient_difference_bound(norm); }
  [[nodiscard]] double smoothness(double norm) const { return smoothness_factor * O::smoothness(norm); }
};

TEST(Loss, BruteForceCatchesBoundsThatAreTooSmall) {
  const Believed<SmoothedHingeLoss> hinge{{.width = SmoothingWidth{0.5}}, 0.9, 0.5, 0.5};  // 1/(4 h) for 1/(2 h)
  EXPECT_GT(bounds_used(hinge, 2).gradient, 1.1);
  EXPECT_GT(bounds_used(hinge, 2).difference, 1.9);
  EXPECT_GT(bounds_used(hinge, 2).smoothness, 1.9);
  const Believed<LogisticLoss> logistic{{}, 0.9, 0.5, 0.5};
  EXPECT_GT(bounds_used(logistic, 2).gradient, 1.05);
  EXPECT_GT(bounds_used(logistic, 2).difference, 1.9);
  EXPECT_GT(bounds_used(logistic, 2).smoothness, 1.9);
  const Believed<SquaredLoss> parabola{squared, 0.9, 0.5, 0.9};  // half of what is right: of one sign the derivative is not
  EXPECT_GT(bounds_used(parabola, 2).gradient, 1.1);
  EXPECT_GT(bounds_used(parabola, 2).difference, 1.9);
  EXPECT_GT(bounds_used(parabola, 2).smoothness, 1.1);
}

TEST(LogisticLoss, BoundsAreReached) {
  const LogisticLoss logistic;
  EXPECT_NEAR(-logistic.derivative(-40, 1), logistic.gradient_bound(1), 1e-15);
  EXPECT_NEAR((logistic.derivative(1e-4, 1) - logistic.derivative(-1e-4, 1)) / 2e-4, logistic.smoothness(1), 1e-8);
}

TEST(SquaredLoss, BoundsAreReached) {
  EXPECT_EQ(squared.gradient_bound(2), (2 * 3 + 2.5) * 2);
  EXPECT_EQ(squared.derivative(6, -2.5) * 2, squared.gradient_bound(2));
}

TEST(SmoothedHingeLoss, IsTheFormula) {
  const SmoothedHingeLoss smoothed{.width = SmoothingWidth{0.25}};
  for (const double label : {-1.0, 1.0}) {
    EXPECT_EQ(smoothed.value(label * 1.25, label), 0);
    EXPECT_EQ(smoothed.value(label * 0.75, label), 0.25);
    EXPECT_DOUBLE_EQ(smoothed.value(label, label), 0.0625);  // h/4 above the hinge
    EXPECT_EQ(smoothed.value(label * -3, label), 4);
    EXPECT_EQ(smoothed.derivative(label * 1.3, label), 0);
    EXPECT_EQ(smoothed.derivative(label, label), -0.5 * label);
    EXPECT_EQ(smoothed.derivative(label * -1e300, label), -label);
  }
  EXPECT_EQ(smoothed.encode_label(0), -1.0);
  EXPECT_EQ(smoothed.encode_label(0.5), std::nullopt);
  for (const double bad : {0.0, -0.5, 1.01, std::nan("")}) EXPECT_THROW(SmoothingWidth{bad}, Error) << bad;
}

TEST(SmoothedHingeLoss, DerivativeMatchesDifferences) {
  constexpr double h = 1e-5;
  for (const double width : {0.1, 0.5, 1.0}) {
    const SmoothedHingeLoss smoothed{.width = SmoothingWidth{width}};
    for (const double label : {-1.0, 1.0}) {
      for (int k = -300; k <= 300; ++k) {
        const double score = k * 0.01 + 0.003;  // further than h from where the pieces meet: there differences of parabolas are exact
        const double difference = (smoothed.value(score + h, label) - smoothed.value(score - h, label)) / (2 * h);
        ASSERT_NEAR(smoothed.derivative(score, label), difference, 1e-9) << score;
        const double above = smoothed.value(score, label) - HingeLoss{}.value(score, label);
        ASSERT_GE(above, -1e-15);
        ASSERT_LE(above, width / 4);
      }
    }
  }
}

TEST(HingeLoss, IsTheFormula) {
  const HingeLoss hinge;
  EXPECT_EQ(hinge.value(0.25, 1), 0.75);
  EXPECT_EQ(hinge.value(0.25, -1), 1.25);
  EXPECT_EQ(hinge.value(7, 1), 0);
  EXPECT_EQ(hinge.derivative(0.25, 1), -1);
  EXPECT_EQ(hinge.derivative(0.25, -1), 1);
  EXPECT_EQ(hinge.derivative(1, 1), 0);
  EXPECT_EQ(hinge.smoothness(1), HUGE_VAL);
  EXPECT_EQ(hinge.encode_label(0), -1.0);
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
}  // namespace surety::optimizers::loss_test
