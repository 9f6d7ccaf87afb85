#include <surety/optimizers/problem/problem.h>

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include <surety/optimizers/problem/loss.h>

namespace surety::optimizers::problem_test {
namespace {

/// score^2 label, whose sums are easy to do by hand; it knows the labels 1 and 2.
struct Parabola {
  static constexpr std::string_view name = "parabola";
  static constexpr std::string_view label_constraint = "must be 1 or 2";
  [[nodiscard]] double value(double score, double label) const { return score * score * label; }
  [[nodiscard]] double derivative(double score, double label) const { return 2 * score * label; }
  [[nodiscard]] double gradient_bound(double norm) const { return norm; }
  [[nodiscard]] double gradient_difference_bound(double norm) const { return 2 * norm; }
  [[nodiscard]] double smoothness(double norm) const { return norm < 10 ? 4 * norm * norm : HUGE_VAL; }
  [[nodiscard]] std::optional<double> encode_label(double label) const {
    return label == 1 || label == 2 ? std::optional{3 - label} : std::nullopt;
  }
};
static_assert(Objective<Parabola>);
static_assert(!Objective<Regularization>);

const std::vector<double> weights{2, -1};
Dataset dense() { return Dataset::dense(2, {1, 1, 0, 3}, {1, 2}); }
Dataset sparse() { return Dataset::sparse(2, {2, 3}, {0, 1, 1}, {1, 1, 3}, {1, 2}); }

static_assert(!ConvexObjective<Parabola> && !std::is_constructible_v<ConvexObjectiveRef, const Parabola&>);

TEST(ObjectiveRef, SaysWhatTheLossSays) {
  const Parabola parabola;
  const ObjectiveRef ref = parabola;
  const ObjectiveRef copy = ref;
  EXPECT_EQ(copy.name(), "parabola");
  EXPECT_EQ(copy.label_constraint(), "must be 1 or 2");
  EXPECT_EQ(copy.value(3, 2), 18);
  EXPECT_EQ(copy.derivative(3, 2), 12);
  std::vector<double> scores{3, -1, 0.5};
  copy.derivatives(scores, std::vector<double>{2, 1, 4});
  EXPECT_EQ(scores, (std::vector<double>{12, -2, 4}));
  EXPECT_EQ(copy.gradient_bound(5), 5);
  EXPECT_EQ(copy.gradient_difference_bound(5), 10);
  EXPECT_EQ(copy.smoothness(2), 16);
  EXPECT_EQ(copy.encode_label(1), 2);
  EXPECT_FALSE(copy.encode_label(7));
}

TEST(ObjectiveRef, OfAConvexLossKeepsItsPromise) {
  const SquaredLoss squared{.label_bound = LabelBound{1}, .weight_radius = Radius{2}};
  const ConvexObjectiveRef ref = squared;
  EXPECT_EQ(ref.monotone_derivative_error(3), squared.monotone_derivative_error(3));
  EXPECT_FALSE(ref.derivative_has_one_sign());
  EXPECT_TRUE(ConvexObjectiveRef{LogisticLoss{}}.derivative_has_one_sign());
  const ObjectiveRef less = ref;
  EXPECT_EQ(less.derivative(3, 1), 2);
}

TEST(Problem, LossSeesTheRecordThroughItsScore) {
  for (const auto& data : {dense(), sparse()}) {
    EXPECT_EQ(loss(Parabola{}, data.row(0), data.label(0), weights), 1);   // score 1
    EXPECT_EQ(loss(Parabola{}, data.row(1), data.label(1), weights), 18);  // score -3
  }
}

TEST(Problem, GradientIsTheDerivativeTimesTheRowAndIsAdded) {
  for (const auto& data : {dense(), sparse()}) {
    std::vector<double> gradient{10, 20};
    add_gradient(Parabola{}, data.row(0), data.label(0), weights, gradient);
    EXPECT_EQ(gradient, (std::vector<double>{12, 22}));
    add_gradient(Parabola{}, data.row(1), data.label(1), weights, gradient);
    EXPECT_EQ(gradient, (std::vector<double>{12, 22 - 36}));
  }
}

TEST(Problem, RegularizedLossIsTheMeanAndHalfLambdaTimesTheSquaredNorm) {
  for (const auto& data : {dense(), sparse()}) {
    EXPECT_EQ(regularized_loss(Parabola{}, data, weights, Regularization{0}), 9.5);
    EXPECT_EQ(regularized_loss(Parabola{}, data, weights, Regularization{0.5}), 9.5 + 0.25 * 5);
  }
}

TEST(Problem, EncodesLabelsAndLeavesRowsAlone) {
  const auto encoded = encode_labels(Parabola{}, sparse());
  EXPECT_EQ(encoded.label(0), 2);
  EXPECT_EQ(encoded.label(1), 1);
  EXPECT_EQ(encoded.row(1).dot(weights), sparse().row(1).dot(weights));
}

TEST(Problem, NamesTheFirstRecordWhoseLabelIsUnknown) {
  try {
    static_cast<void>(encode_labels(Parabola{}, Dataset::dense(1, {1, 1, 1}, {1, 7, 8})));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_data);
    EXPECT_STREQ(error.what(), "row 2: label is 7, must be 1 or 2 for parabola loss");
  }
}

TEST(Problem, RequiresSmoothnessWhereItIsNeeded) {
  EXPECT_EQ(require_smoothness(Parabola{}, 3, "this test"), 36);
  try {
    static_cast<void>(require_smoothness(Parabola{}, 10, "this test"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_STREQ(error.what(), "smoothness of parabola loss is inf, must be finite for this test");
  }
}

TEST(Problem, RefusesRecordsWithoutLabels) {
  try {
    static_cast<void>(encode_labels(Parabola{}, Dataset::dense(1, {1, 1}, {})));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_STREQ(error.what(), "the data set has no labels");
  }
}

TEST(Problem, RegularizationIsFiniteAndNotNegative) {
  EXPECT_EQ(Regularization{0}.value(), 0);
  for (const double bad : {-1e-300, static_cast<double>(INFINITY), std::nan("")}) EXPECT_THROW(Regularization{bad}, Error) << bad;
}

}  // namespace
}  // namespace surety::optimizers::problem_test
