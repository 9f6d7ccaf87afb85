#include <surety/optimizers/empirical_risk/full_gradient.h>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <surety/optimizers/problem/loss.h>
#include <surety/testing/releaser.h>

#include <support/refusal.h>

namespace surety::optimizers::full_gradient_test {
namespace {

const Dataset data = Dataset::dense(2, {0.6, 0.8, 3, 4}, {1, -1});

const LogisticLoss logistic;

FullGradientOptions options(Adjacency adjacency) {
  return {.noise_multiplier = NoiseMultiplier{3}, .adjacency = adjacency, .public_count = Count{5}};
}

TEST(NoisyFullGradient, IsTheClippedMeanOverThePublicCount) {
  testing::ExactReleaser exact;
  NoisyFullGradient gradient{data, logistic, options(Adjacency::replace_one), exact};
  const LogisticLoss loss;
  const std::vector<double> weights{0.5, -0.25};
  const auto found = gradient(weights);
  const double first = loss.derivative(0.5 * 0.6 - 0.25 * 0.8, 1);
  // The second record's gradient is 5 |loss'| long, and clipped to the default of 1.
  const double second = loss.derivative(0.5 * 3 - 0.25 * 4, -1);
  ASSERT_GT(5 * second, 1);
  EXPECT_NEAR(found[0], (first * 0.6 + 0.6) / 5, 1e-7);
  EXPECT_NEAR(found[1], (first * 0.8 + 0.8) / 5, 1e-7);
}

TEST(NoisyFullGradient, AsksForOneGaussianReleaseACall) {
  for (const auto& [adjacency, sensitivity] : {std::pair{Adjacency::replace_one, 1.0}, std::pair{Adjacency::add_or_remove_one, 0.5}}) {
    testing::ScriptedReleaser releaser{{{1, 2}, {3, 4}, {5, 6}}};
    auto settings = options(adjacency);
    settings.clip = ClippingNorm{0.5};
    NoisyFullGradient gradient{data, logistic, settings, releaser};
    EXPECT_DOUBLE_EQ(gradient.noise(), 3 * sensitivity / 5);
    EXPECT_EQ(gradient(std::vector<double>{0, 0}), (std::vector<double>{0.2, 0.4}));
    EXPECT_EQ(gradient(std::vector<double>{0, 1}), (std::vector<double>{0.6, 0.8}));
    EXPECT_EQ(gradient(std::vector<double>{0, 0}), (std::vector<double>{1, 1.2}));
    ASSERT_EQ(releaser.log().size(), 3U);
    for (const auto& request : releaser.log()) {
      EXPECT_EQ(request.sensitivity.value(), sensitivity);
      EXPECT_EQ(request.event, gaussian(NoiseMultiplier{3}, adjacency));
    }
    // Each query starts from zero: what was summed before does not stay.
    EXPECT_EQ(releaser.log()[0].query.steps, releaser.log()[2].query.steps);
    EXPECT_NE(releaser.log()[0].query.steps, releaser.log()[1].query.steps);
  }
}

TEST(NoisyFullGradient, DoesNotDependOnThreads) {
  std::vector<double> values;
  std::vector<double> labels;
  for (int i = 0; i < 3000; ++i) {
    values.insert(values.end(), {std::sin(i), std::cos(2 * i), 1e-3 * i});
    labels.push_back(i % 3 == 0 ? 1 : -1);
  }
  const Dataset many = Dataset::dense(3, values, labels);
  const std::vector<double> weights{0.1, -2, 0.3};
  const auto by = [&](std::size_t threads) {
    testing::ExactReleaser exact;
    auto settings = options(Adjacency::replace_one);
    settings.threads = threads;
    NoisyFullGradient gradient{many, logistic, settings, exact};
    return gradient(weights);
  };
  EXPECT_EQ(by(1), by(2));
  EXPECT_EQ(by(1), by(3));
}

TEST(NoisyFullGradient, RefusesWithoutALabelARecordOrAPublicCount) {
  const auto refused = [](const Dataset& records, const FullGradientOptions& settings, std::string_view words) {
    testing::ExactReleaser exact;
    return refuses([&] { NoisyFullGradient(records, logistic, settings, exact); }, ErrorCode::invalid_argument, {words});
  };
  auto settings = options(Adjacency::add_or_remove_one);
  EXPECT_TRUE(refused(Dataset::dense(2, {1, 2}, {}), settings, "labels"));
  settings.public_count = std::nullopt;
  EXPECT_TRUE(refused(data, settings, "public count"));
  settings.adjacency = Adjacency::zero_out;
  EXPECT_TRUE(refused(Dataset::dense(2, {}, {}), settings, "count is 0"));
}

TEST(NoisyFullGradient, TakesAUnitOfSeveralRowsForOneRecord) {
  const Dataset rows = Dataset::dense(1, {0.5, 0.25, 3, 3, 3}, {1, 1, -1, -1, -1});
  const std::vector<std::size_t> ends{2, 5};
  auto settings = options(Adjacency::replace_one);
  settings.unit_ends = ends;
  settings.public_count.reset();
  testing::ExactReleaser exact;
  // The loss's derivative at 0 is -1/2 for one class: the mean of the first two rows, and the others clipped to 1, over two units.
  EXPECT_NEAR((NoisyFullGradient{rows, logistic, settings, exact}(std::vector<double>{0})[0]), (-0.375 / 2 + 1) / 2, 1e-7);
  testing::ScriptedReleaser releaser{{{1}}};
  NoisyFullGradient gradient{rows, logistic, settings, releaser};
  static_cast<void>(gradient(std::vector<double>{0}));
  EXPECT_EQ(releaser.log()[0].sensitivity.value(), 2);
}

}  // namespace
}  // namespace surety::optimizers::full_gradient_test
