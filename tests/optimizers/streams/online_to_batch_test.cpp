#include <surety/optimizers/streams/online_to_batch.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/continual.h>
#include <surety/data/features/features.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/testing/stream.h>

#include <support/drawn_records.h>
#include <support/refusal.h>
#include <support/stream_taint.h>

namespace surety::optimizers::online_to_batch_test {

using namespace data;

namespace {

const Grid grid{.log2_step = -30};
const Grid coarse{.log2_step = -22};  // for clipping norms that never clip
const L2Ball ball{Radius{2}};
constexpr double clip = 0.7;

/// All iterates of a run with `learner`.
template <std::derived_from<OnlineLearner> L>
auto run(const OnlineToBatchOptions& options, L learner) {
  return [=](const Dataset& data, auto& stream) { return iterates_of(OnlineToBatch{LogisticLoss{}, learner, options}, data, stream); };
}

SubgradientDescent<L2Ball> descent(std::size_t features) { return {ball, std::vector<double>(features, 0.0)}; }

// Algorithm 1 step by step: the gradients themselves in place of factors, sums in place of recursions.
TEST(OnlineToBatch, WithoutNoiseFollowsTheAlgorithmOfThePaper) {
  const Dataset data = assemble({{{0.6, -0.1}, 1}, {{-0.3, 0.4}, -1}, {{0.2, 0.7}, 1}, {{0.5, 0.5}, -1}, {{-0.9, 0.1}, 1}});
  const LogisticLoss loss;
  for (const std::uint64_t k : {1U, 2U, 3U}) {
    const OnlineToBatchOptions options{.steps = Count{5},
                                       .power = Count{k},
                                       .scale = FixedScale{ClippingNorm{100}},
                                       .regularization = Regularization{0.4},
                                       .strong_convexity = Regularization{0.3}};
    OnlineToBatch algorithm{loss, descent(2), options};
    testing::ExactStream stream{coarse};
    auto learner = descent(2);
    std::vector<std::vector<double>> played;
    std::vector<double> g(2, 0.0);
    std::vector<double> before(2, 0.0);
    for (std::size_t i = 0; i < data.size(); ++i) {
      const double t = static_cast<double>(i) + 1;
      played.emplace_back(learner.predict().begin(), learner.predict().end());
      std::vector<double> x(2, 0.0);
      double total = 0;
      for (std::size_t s = 0; s <= i; ++s) {
        const double beta = std::pow(static_cast<double>(s) + 1, static_cast<double>(k));
        total += beta;
        for (std::size_t j = 0; j < 2; ++j) x[j] += beta * played[s][j];
      }
      for (auto& coordinate : x) coordinate /= total;
      std::vector<double> here(2, 0.0);
      std::vector<double> there(2, 0.0);
      add_gradient(loss, data.row(i), data.label(i), x, here);
      add_gradient(loss, data.row(i), data.label(i), before, there);
      const double beta = std::pow(t, static_cast<double>(k));
      for (std::size_t j = 0; j < 2; ++j) g[j] += beta * here[j] - std::pow(t - 1, static_cast<double>(k)) * there[j];
      auto told = g;
      for (std::size_t j = 0; j < 2; ++j) told[j] += beta * (0.4 * x[j] + 0.3 / 2 * (played[i][j] - x[j]));
      learner.update({.gradient = told});
      before = x;
      algorithm.observe(data.row(i), data.label(i), stream);
      EXPECT_NEAR(algorithm.weights()[0], x[0], 1e-5) << t;
      EXPECT_NEAR(algorithm.weights()[1], x[1], 1e-5) << t;
    }
  }
}

// Where the loss is as Lipschitz and as smooth as the options say, the scale that follows the iterates clips nothing, and is needed.
TEST(OnlineToBatch, TheFollowingScaleBoundsGradientDifferencesOfSmoothLosses) {
  std::mt19937_64 random{5};
  double largest = 0;
  for (int c = 0; c < 2000; ++c) {
    const std::size_t features = 1 + random() % 3;
    const std::uint64_t k = 1 + random() % 3;
    // Squared loss on |w| <= 2, |y| <= 1: G = 3, H = 1 for unit rows.
    const SquaredLoss loss{.label_bound = LabelBound{1}, .weight_radius = Radius{2}};
    const OnlineToBatchOptions tight{
        .steps = Count{6},
        .power = Count{k},
        .scale = FollowingScale{.gradient_bound = GradientBound{3}, .smoothness = Smoothness{1}, .diameter = DomainDiameter{4}}};
    OnlineToBatchOptions wide = tight;
    wide.scale = FixedScale{ClippingNorm{1000}};
    std::vector<DrawnRecord> records;
    for (int i = 0; i < 6; ++i) {
      std::vector<double> row(features);
      for (auto& x : row) x = std::normal_distribution<double>{}(random);
      scale_to_unit_norm(row);
      records.push_back({row, random() % 2 == 0 ? 1.0 : -1.0});
    }
    std::vector<std::vector<double>> released;
    for (int i = 0; i < 6; ++i) {
      auto answer = records[static_cast<std::size_t>(i)].row;
      for (auto& x : answer) x *= random() % 2 == 0 ? 10 : -10;
      released.push_back(answer);
    }
    const auto trace_of = [&](const OnlineToBatchOptions& options) {
      testing::ScriptedStream<> stream{coarse, released};
      OnlineToBatch algorithm{loss, descent(features), options};
      const Dataset data = assemble(records);
      for (std::size_t i = 0; i < data.size(); ++i) algorithm.observe(data.row(i), data.label(i), stream);
      return stream.log();
    };
    const auto clipped = trace_of(tight);
    const auto free = trace_of(wide);
    for (std::size_t t = 0; t < 6; ++t) {
      // Clipping to exactly the norm may cost some grid steps.
      EXPECT_LE(query_distance(clipped[t].contribution, free[t].contribution), 100 * coarse.step()) << c << ", step " << t;
      const GridVector zero{.grid = coarse, .steps = std::vector<std::int64_t>(features)};
      largest = std::max(largest, query_distance(free[t].contribution, zero) / (clipped[t].sensitivity.value() / 2));
    }
  }
  EXPECT_LE(largest, 1 + 1e-5);
  EXPECT_GT(largest, 0.9);
}

struct Largest {
  double anywhere = 0;
  double at_first = 0;
  double later = 0;
};

/// One stream with a record replaced (ordinary, beyond the clip, opposite, at the first step) through one learner.
template <std::derived_from<OnlineLearner> L>
void check_case(std::mt19937_64& random, OnlineToBatchOptions options, std::size_t features, L learner, Largest& largest, int c) {
  const std::size_t size = options.steps.value();
  const auto [data, neighbour, place] = drawn_neighbours(size, features, options.adjacency, random);
  const auto released = drawn_script(size, features, random);
  const auto found = stream_difference(run(options, learner), data, neighbour, place, grid, released);
  ASSERT_TRUE(found.untainted) << "case " << c;
  ASSERT_LE(found.ratio, 1) << "case " << c;
  largest.anywhere = std::max(largest.anywhere, found.ratio);
  (place == 0 ? largest.at_first : largest.later) = std::max(place == 0 ? largest.at_first : largest.later, found.ratio);
  // No push may be more sensitive than what the stream was calibrated for.
  for (const auto& request : stream_trace(run(options, learner), data, grid, released).requests) {
    ASSERT_LE(request.sensitivity, shape(options, Count{features}).sensitivity);
  }
}

// 12,000 streams over all learners, scales, powers, regularisers and adjacencies.
TEST(OnlineToBatch, LeaksNothingAndMovesOnePushByAtMostItsSensitivity) {
  std::mt19937_64 random{20240601};
  std::array<Largest, 3> largest;
  for (int c = 0; c < 12'000; ++c) {
    const std::size_t features = 1 + random() % 4;
    const std::size_t scale = random() % 3;
    OnlineToBatchOptions options{.steps = Count{1 + random() % 6}, .power = Count{1 + random() % 3}};
    options.adjacency = random() % 2 == 0 ? Adjacency::replace_one : Adjacency::zero_out;
    if (scale == 0) options.scale = FixedScale{ClippingNorm{clip}};
    if (scale == 1) options.scale = FollowingScale{GradientBound{0.2}, Smoothness{0.1}, DomainDiameter{4}};
    if (scale == 2) options.scale = PrintedScale{GradientBound{0.02}, Smoothness{0.01}, DomainDiameter{4}};
    if (random() % 2 == 0) options.towards_start = TowardsStart{Regularization{0.2}, Regularization{0.3}, Regularization{0.1}};
    if (c % 5 == 3 || random() % 3 == 0) options.strong_convexity = Regularization{0.2};
    if (c % 3 == 0) options.regularization = Regularization{0.2};
    const std::vector<double> start(features, random() % 2 == 0 ? 0.0 : 0.3);
    switch (c % 5) {
      case 0: check_case(random, options, features, SubgradientDescent{ball, start}, largest[scale], c); break;
      case 1: check_case(random, options, features, DualAveraging<L2Ball>{ball, start}, largest[scale], c); break;
      case 2: check_case(random, options, features, OptimisticAveraging<L2Ball>{ball, start}, largest[scale], c); break;
      case 3: check_case(random, options, features, StronglyConvexDescent{ball, start}, largest[scale], c); break;
      default: check_case(random, options, features, CoinBetting{ball, start, {GradientBound{50}, InitialWealth{1}}}, largest[scale], c);
    }
    if (HasFatalFailure()) return;
  }
  for (std::size_t scale = 0; scale < 3; ++scale) {
    EXPECT_GT(largest[scale].at_first, 0.99) << scale;
    EXPECT_GT(largest[scale].later, 0.99) << scale;
    RecordProperty("largest_ratio_" + std::to_string(scale), std::to_string(largest[scale].anywhere));
  }
}

TEST(OnlineToBatch, AsksForAStreamOfOnePushPerRecord) {
  const OnlineToBatchOptions fixed{.steps = Count{1000}, .scale = FixedScale{ClippingNorm{0.5}}};
  EXPECT_EQ(shape(fixed, Count{7}).steps, Count{1000});
  EXPECT_EQ(shape(fixed, Count{7}).dimension, Count{7});
  EXPECT_EQ(shape(fixed, Count{7}).sensitivity, L2Sensitivity{1});
  auto other = fixed;
  other.power = Count{2};  // 1000^2 - 999^2 = 1999
  EXPECT_EQ(shape(other, Count{7}).sensitivity, L2Sensitivity{1999});
  other.adjacency = Adjacency::zero_out;
  EXPECT_EQ(shape(other, Count{7}).sensitivity, L2Sensitivity{999.5});
  other.power = Count{9};
  EXPECT_TRUE(refuses([&] { static_cast<void>(shape(other, Count{7})); }, ErrorCode::invalid_argument, {"power is 9"}));
  other = fixed;
  other.adjacency = Adjacency::add_or_remove_one;
  EXPECT_TRUE(refuses([&] { static_cast<void>(shape(other, Count{7})); }, ErrorCode::unsupported, {"adjacency is add-or-remove-one"}));
}

TEST(OnlineToBatch, APushBelowTheGridStepIsZeroAndNotRefused) {
  const OnlineToBatchOptions options{.steps = Count{2}, .power = Count{8}, .scale = FixedScale{ClippingNorm{0.5}}};
  testing::ScriptedStream<> stream{Grid{.log2_step = 3}, {{1, 1}, {1, 1}}};
  OnlineToBatch algorithm{LogisticLoss{}, descent(2), options};
  const Dataset data = assemble({{{0.6, -0.1}, 1}, {{-300, 400}, -1}});
  for (std::size_t i = 0; i < 2; ++i) algorithm.observe(data.row(i), data.label(i), stream);
  EXPECT_EQ(stream.log()[0].contribution.steps, (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(stream.log()[0].sensitivity, L2Sensitivity{1});
  EXPECT_NE(stream.log()[1].contribution.steps, (std::vector<std::int64_t>{0, 0}));
}

// ---- Planted violations: each is a way in which such an algorithm was or could be written, and each is caught. ----

/// `Mistake` rewrites one line of the algorithm.
enum class Mistake { none, first_step_weight, no_clip, raw_state, point_of_exact_sum, unclipped_difference, scale_of_data };

auto run_with(Mistake mistake) {
  return [=](const Dataset& data, auto& stream) {
    const LogisticLoss loss;
    auto learner = descent(data.features());
    auto raw_learner = descent(data.features());
    std::vector<double> point(data.features(), 0.0);
    auto before = point;
    std::vector<double> exact(data.features(), 0.0);
    std::vector<std::vector<double>> iterates;
    for (std::size_t i = 0; i < data.size(); ++i) {
      const RowView row = data.row(i);
      const double t = static_cast<double>(i) + 1;
      before = point;
      const auto played = mistake == Mistake::point_of_exact_sum ? raw_learner.predict() : learner.predict();
      for (std::size_t j = 0; j < point.size(); ++j) point[j] += 2 / (t + 1) * (played[j] - point[j]);
      double factor = t * loss.derivative(row.dot(point), data.label(i)) - (t - 1) * loss.derivative(row.dot(before), data.label(i));
      if (mistake == Mistake::first_step_weight && i == 0) factor *= 2;
      if (mistake == Mistake::raw_state) factor += 1e-9 * exact[0];
      double used = clip;
      if (mistake == Mistake::no_clip || (mistake == Mistake::first_step_weight && i == 0)) used = 1.4;
      // Each gradient clipped by itself, with its weight: 2 t - 1 times what the difference may be.
      if (mistake == Mistake::unclipped_difference) used = clip * (2 * t + 1);
      double said = 2 * clip;
      if (mistake == Mistake::scale_of_data) said *= 1 + 1e-9 * std::abs(factor);
      const auto contribution = clipped_contribution(factor, row, ClippingNorm{used}, grid, data.features());
      const auto sum = stream.push(contribution, L2Sensitivity{said});
      const auto added = mechanisms::to_reals(contribution);
      for (std::size_t j = 0; j < exact.size(); ++j) exact[j] += added[j];
      raw_learner.update({.gradient = exact});
      learner.update({.gradient = sum});
      iterates.push_back(point);
    }
    return iterates;
  };
}

TEST(OnlineToBatch, PlantedViolationsAreCaught) {
  const auto difference = [](Mistake mistake) { return planted_difference(run_with(mistake), grid); };
  EXPECT_TRUE(difference(Mistake::none).untainted);
  EXPECT_LE(difference(Mistake::none).ratio, 1);
  EXPECT_GT(difference(Mistake::first_step_weight).ratio, 1);
  EXPECT_GT(difference(Mistake::no_clip).ratio, 1);
  EXPECT_GT(difference(Mistake::unclipped_difference).ratio, 1);
  EXPECT_FALSE(difference(Mistake::raw_state).untainted);
  EXPECT_FALSE(difference(Mistake::point_of_exact_sum).untainted);
  // A scale that follows the record itself: here the first record's own, so the label must differ for the factor to.
  auto neighbours = planted_records;
  neighbours[0].row = {0.1, 0.1};
  neighbours[1].row = {0.1, 0.1};
  EXPECT_FALSE(
      stream_difference(run_with(Mistake::scale_of_data), assemble(planted_records), assemble(neighbours), 1, grid, planted_releases)
          .untainted);
}

}  // namespace
}  // namespace surety::optimizers::online_to_batch_test
