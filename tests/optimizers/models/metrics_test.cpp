#include <surety/optimizers/models/metrics.h>

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include <support/refusal.h>

namespace surety::optimizers::metrics_test {
namespace {

TEST(BinaryScores, AreTheFormulas) {
  const std::vector<double> log_odds{2, -1, 0, 0};
  const std::vector<double> labels{1, -1, 1, -1};
  const auto scores = binary_scores(log_odds, labels);
  EXPECT_DOUBLE_EQ(scores.log_loss, (std::log1p(std::exp(-2)) + std::log1p(std::exp(-1)) + 2 * std::log(2)) / 4);
  EXPECT_DOUBLE_EQ(scores.accuracy, 0.75);
  EXPECT_DOUBLE_EQ(scores.area_under_the_curve, (1 + 1 + 1 + 0.5) / 4);
}

// Against the definition: the share of ordered pairs, ties one half.
RC_GTEST_PROP(BinaryScores, AreaIsTheShareOfOrderedPairs, ()) {
  const auto size = *rc::gen::inRange<std::size_t>(2, 40);
  const auto log_odds =
      *rc::gen::container<std::vector<double>>(size, rc::gen::map(rc::gen::inRange(-5, 6), [](int i) { return i / 2.0; }));
  auto labels = *rc::gen::container<std::vector<double>>(size, rc::gen::element(-1.0, 1.0));
  labels[0] = 1;
  labels[1] = -1;
  double ordered = 0;
  double pairs = 0;
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      if (!(labels[i] > 0 && labels[j] < 0)) continue;
      ++pairs;
      ordered += log_odds[i] > log_odds[j] ? 1 : log_odds[i] == log_odds[j] ? 0.5 : 0;
    }
  }
  const double area = binary_scores(log_odds, labels).area_under_the_curve;
  RC_ASSERT(std::abs(area - ordered / pairs) < 1e-14);
  // Reversing the scores reverses the area.
  auto reversed = log_odds;
  for (double& score : reversed) score = -score;
  RC_ASSERT(std::abs(binary_scores(reversed, labels).area_under_the_curve + area - 1) < 1e-14);
}

RC_GTEST_PROP(ConstantScores, NoConstantIsBetter, ()) {
  const auto labels = *rc::gen::nonEmpty(rc::gen::container<std::vector<double>>(rc::gen::element(-1.0, 1.0)));
  const double log_odds = *rc::gen::inRange(-400, 401) / 100.0;
  const auto best = constant_scores(labels);
  const auto other = binary_scores(std::vector<double>(labels.size(), log_odds), labels);
  RC_ASSERT(best.log_loss <= other.log_loss + 1e-15);
  RC_ASSERT(best.accuracy >= other.accuracy);
}

TEST(BinaryScores, HandleExtremes) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> labels{1, 1};
  EXPECT_TRUE(std::isnan(binary_scores(std::vector<double>{1, 2}, labels).area_under_the_curve));
  EXPECT_EQ(binary_scores(std::vector<double>{infinity, 1e300}, labels).log_loss, 0);
  EXPECT_EQ(constant_scores(labels).log_loss, 0);
  const std::vector<double> nan(2, std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(refuses([&] { static_cast<void>(binary_scores(nan, labels)); }, ErrorCode::invalid_argument, {"not a number"}));
  EXPECT_TRUE(refuses([&] { static_cast<void>(binary_scores({}, {})); }, ErrorCode::invalid_argument, {"no labels"}));
  EXPECT_TRUE(
      refuses([&] { static_cast<void>(binary_scores(std::vector<double>{1}, labels)); }, ErrorCode::invalid_argument, {"1 predictions"}));
}

TEST(MeanSquaredError, IsTheFormula) {
  EXPECT_DOUBLE_EQ(mean_squared_error(std::vector<double>{1, 2}, std::vector<double>{0, 4}), 2.5);
  EXPECT_DOUBLE_EQ(constant_mean_squared_error(std::vector<double>{0, 4}), 4);
  EXPECT_TRUE(refuses([] { static_cast<void>(mean_squared_error({}, {})); }, ErrorCode::invalid_argument, {"no labels"}));
}

// Files, Arrow streams and ranks hold the same records in different orders.
RC_GTEST_PROP(Scores, AreTheSameInEveryOrderOfRecords, (std::uint64_t seed)) {
  std::mt19937_64 random{seed};
  std::normal_distribution<double> normal{0, 3};
  constexpr std::size_t classes = 3;
  const auto size = *rc::gen::inRange<std::size_t>(1, 60);
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<double> values(size * classes);
  for (double& value : values) value = normal(random);
  const auto all = [&] {
    std::vector<double> log_odds;
    std::vector<double> signs;
    std::vector<double> numbers;
    std::vector<double> places;
    std::vector<double> of_classes;
    for (const std::size_t i : order) {
      log_odds.push_back(values[classes * i]);
      numbers.push_back(values[classes * i + 1]);
      signs.push_back(values[classes * i + 2] > 0 ? 1 : -1);
      places.push_back(static_cast<double>(i % classes));
      of_classes.insert(of_classes.end(), values.begin() + static_cast<std::ptrdiff_t>(classes * i),
                        values.begin() + static_cast<std::ptrdiff_t>(classes * (i + 1)));
    }
    const auto binary = binary_scores(log_odds, signs);
    const auto several = class_scores(of_classes, places, classes);
    return std::vector<double>{binary.log_loss,
                               binary.accuracy,
                               constant_scores(signs).log_loss,
                               several.log_loss,
                               several.accuracy,
                               constant_class_scores(places, classes).log_loss,
                               mean_squared_error(log_odds, numbers),
                               constant_mean_squared_error(numbers)};
  };
  const auto before = all();
  std::shuffle(order.begin(), order.end(), random);
  RC_ASSERT(all() == before);
}

TEST(ClassScores, AreTheFormulas) {
  const std::vector<double> scores{3, 0, 0, 0, 0, 1, -1, 0, 2};
  const std::vector<double> labels{0, 1, 2};
  const auto found = class_scores(scores, labels, 3);
  const auto p = [](double score) { return 1 / (1 + std::exp(-score)); };
  const double expected = std::log(p(3) / (p(3) + 1)) + std::log(0.5 / (1 + p(1))) + std::log(p(2) / (p(-1) + 0.5 + p(2)));
  EXPECT_NEAR(found.log_loss, -expected / 3, 1e-14);
  EXPECT_DOUBLE_EQ(found.accuracy, 2.0 / 3);
  const auto by_softmax = class_scores(scores, labels, 3, ClassesBy::softmax);
  const auto share = [](double own, double a, double b) { return std::exp(own) / (std::exp(own) + std::exp(a) + std::exp(b)); };
  EXPECT_NEAR(by_softmax.log_loss, -(std::log(share(3, 0, 0)) + std::log(share(0, 0, 1)) + std::log(share(2, -1, 0))) / 3, 1e-14);
  EXPECT_EQ(by_softmax.accuracy, found.accuracy);
  const auto constant = constant_class_scores(std::vector<double>{0, 0, 1, 2}, 3);
  EXPECT_DOUBLE_EQ(constant.log_loss, 0.5 * std::log(2) + 0.5 * std::log(4));
  EXPECT_DOUBLE_EQ(constant.accuracy, 0.5);
  EXPECT_TRUE(refuses([] { static_cast<void>(class_scores({}, {}, 3)); }, ErrorCode::invalid_argument, {"no labels"}));
}

}  // namespace
}  // namespace surety::optimizers::metrics_test
