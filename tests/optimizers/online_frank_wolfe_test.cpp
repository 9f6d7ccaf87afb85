#include <surety/optimizers/online_frank_wolfe.h>

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <surety/accounting/continual.h>
#include <surety/mechanisms/lp_noise.h>
#include <surety/mechanisms/random_bits.h>
#include <surety/optimizers/loss.h>

#include "optimizers/drawn_records.h"
#include "optimizers/refusal.h"
#include "optimizers/stream_taint.h"
#include "optimizers/temporary_folder.h"

namespace surety::optimizers {
namespace {

const Grid grid{.log2_step = -30};

OnlineFrankWolfeOptions options(std::uint64_t steps, Adjacency adjacency = Adjacency::replace_one) {
  return {.steps = Count{steps}, .adjacency = adjacency, .clip = ClippingNorm{0.7}, .step_scale = StepScaleFactor{1.3}};
}

/// All iterates of a run.
template <class Options>
auto run(const Options& options) {
  return [=](const Dataset& data, auto& stream) {
    OnlineFrankWolfe algorithm{LogisticLoss{}, L2Ball{Radius{2}}, options, Count{data.features()}};
    std::vector<std::vector<double>> iterates;
    for (std::size_t i = 0; i < data.size(); ++i) {
      algorithm.observe(data.row(i), data.label(i), stream);
      iterates.emplace_back(algorithm.weights().begin(), algorithm.weights().end());
    }
    return iterates;
  };
}

TEST(OnlineFrankWolfe, WithoutNoiseFollowsTheRecursionOfThePaper) {
  // d_t = grad f(w_t, z_t) + (1 - 1/t) (d_{t-1} - grad f(w_{t-1}, z_t)), here step by step as the recursion and not as the sum.
  const Dataset data = assemble({{{0.6, -0.1}, 1}, {{-0.3, 0.4}, -1}, {{0.2, 0.7}, 1}, {{0.5, 0.5}, -1}});
  auto wide = options(4);
  wide.clip = ClippingNorm{100};
  OnlineFrankWolfe algorithm{LogisticLoss{}, L2Ball{Radius{2}}, wide, Count{2}};
  ExactStream stream{grid};
  const LogisticLoss loss;
  const L2Ball ball{Radius{2}};
  std::vector<double> now(2, 0.0);
  std::vector<double> before(2, 0.0);
  std::vector<double> d(2, 0.0);
  for (std::size_t i = 0; i < 4; ++i) {
    const double t = static_cast<double>(i) + 1;
    const RowView row = data.row(i);
    std::vector<double> here(2, 0.0);
    std::vector<double> there(2, 0.0);
    add_gradient(loss, row, data.label(i), now, here);
    add_gradient(loss, row, data.label(i), before, there);
    for (std::size_t j = 0; j < 2; ++j) d[j] = here[j] + (1 - 1 / t) * (d[j] - there[j]);
    const auto vertex = ball.minimize_linear(d);
    before = now;
    for (std::size_t j = 0; j < 2; ++j) now[j] += 1.3 / (t + 1) * (vertex[j] - now[j]);
    algorithm.observe(row, data.label(i), stream);
    EXPECT_NEAR(algorithm.weights()[0], now[0], 1e-7) << t;
    EXPECT_NEAR(algorithm.weights()[1], now[1], 1e-7) << t;
  }
}

// 10,000 streams, each with one record replaced: ordinary, beyond the clip, opposite, at the first step.
TEST(OnlineFrankWolfe, LeaksNothingAndMovesOnePushByAtMostItsSensitivity) {
  std::mt19937_64 random{20240501};
  double largest = 0;
  double largest_at_first = 0;
  for (int c = 0; c < 10'000; ++c) {
    const std::size_t features = 1 + random() % 4;
    const std::size_t size = 1 + random() % 6;
    const auto adjacency = random() % 2 == 0 ? Adjacency::replace_one : Adjacency::zero_out;
    const auto [data, neighbour, place] = drawn_neighbours(size, features, adjacency, random);
    std::vector<std::vector<double>> released;
    for (std::size_t i = 0; i < size; ++i) released.push_back(drawn_vector(features, random));
    const auto found = stream_difference(run(options(size, adjacency)), data, neighbour, place, grid, released);
    ASSERT_TRUE(found.untainted) << "case " << c;
    ASSERT_LE(found.ratio, 1) << "case " << c;
    largest = std::max(largest, found.ratio);
    if (place == 0) largest_at_first = std::max(largest_at_first, found.ratio);
  }
  EXPECT_GT(largest, 0.99);
  EXPECT_GT(largest_at_first, 0.99);
  RecordProperty("largest_ratio", std::to_string(largest));
}

// The same for gradients clipped in l_r, whose distances are measured in l_r.
TEST(OnlineFrankWolfe, MovesOnePushByAtMostItsSensitivityInLr) {
  std::mt19937_64 random{20240506};
  double largest = 0;
  for (int c = 0; c < 10'000; ++c) {
    const std::size_t features = 1 + random() % 4;
    const std::size_t size = 1 + random() % 6;
    const auto adjacency = random() % 2 == 0 ? Adjacency::replace_one : Adjacency::zero_out;
    const double r = random() % 2 == 0 ? 3 : 7.5;
    const GeneralizedFrankWolfeOptions settings{.steps = Count{size},
                                                .adjacency = adjacency,
                                                .clip = {.r = NormExponent{r}, .norm = ClippingNorm{0.7}},
                                                .step_scale = StepScaleFactor{1.3}};
    const auto [data, neighbour, place] = drawn_neighbours(size, features, adjacency, random);
    std::vector<std::vector<double>> released;
    for (std::size_t i = 0; i < size; ++i) released.push_back(drawn_vector(features, random));
    const auto in_lr = [&](const GridVector& a, const GridVector& b, LrSensitivity /*norm*/) {
      long double sum = 0;
      for (std::size_t j = 0; j < a.steps.size(); ++j) {
        sum += std::pow(std::abs(static_cast<long double>(a.steps[j] - b.steps[j])), static_cast<long double>(r));
      }
      return static_cast<double>(std::pow(sum, 1 / static_cast<long double>(r)) * 0x1p-30L);
    };
    const auto found = stream_difference<LrSensitivity>(run(settings), data, neighbour, place, grid, released, in_lr);
    ASSERT_TRUE(found.untainted) << "case " << c;
    ASSERT_LE(found.ratio, 1) << "case " << c;
    largest = std::max(largest, found.ratio);
  }
  EXPECT_GT(largest, 0.99);
  RecordProperty("largest_ratio", std::to_string(largest));
}

// Noise of the shape of the norm, charged for a tree.
TEST(OnlineFrankWolfe, RunsOnATreeOfGeneralizedGaussians) {
  const TemporaryFolder folder;
  const GeneralizedFrankWolfeOptions settings{.steps = Count{8}, .clip = {.r = NormExponent{3}, .norm = ClippingNorm{0.7}}};
  const auto asked = shape(settings, Count{2});
  const mechanisms::GeneralizedGaussian node{{.r = settings.clip.r,
                                              .multiplier = NoiseMultiplier{4},
                                              .sensitivity = asked.sensitivity,
                                              .grid = grid,
                                              .dimension = asked.dimension,
                                              .adjacency = asked.adjacency}};
  const mechanisms::TreeSum sum{node, asked.steps, asked.dimension};
  auto ledger = accounting::Ledger::open_or_create(folder / "ledger.db", asked.adjacency);
  auto reservation = ledger.reserve({.event = sum.event(), .not_private = true});
  mechanisms::ReplayBits bits{3};
  NoisyStream<mechanisms::TreeSum<mechanisms::GeneralizedGaussian>, mechanisms::ReplayBits, LrSensitivity> stream{reservation, bits, sum,
                                                                                                                  asked.sensitivity};
  std::mt19937_64 random{7};
  std::vector<DrawnRecord> records;
  for (int i = 0; i < 8; ++i) records.push_back(drawn_record(2, random));
  EXPECT_EQ(run(settings)(assemble(records), stream).size(), 8U);
  EXPECT_TRUE(reservation.released() == accounting::Releases::of(sum.event()));
}

TEST(OnlineFrankWolfe, AsksForAStreamOfOnePushPerRecord) {
  const auto asked = shape(options(1000), Count{7});
  EXPECT_EQ(asked.steps, Count{1000});
  EXPECT_EQ(asked.dimension, Count{7});
  EXPECT_EQ(asked.sensitivity, L2Sensitivity{1.4});
  EXPECT_EQ(shape(options(1000, Adjacency::zero_out), Count{7}).sensitivity, L2Sensitivity{0.7});
  EXPECT_TRUE(refuses([] { static_cast<void>(shape(options(1000, Adjacency::add_or_remove_one), Count{7})); }, ErrorCode::unsupported,
                      {"adjacency is add-or-remove-one"}));
}

// ---- Planted violations: each is a way in which such an algorithm was or could be written, and each is caught. ----

/// `Mistake` rewrites one line of the algorithm.
enum class Mistake { first_step_weight, no_clip, raw_state, vertex_of_exact_sum };

auto run_with(Mistake mistake) {
  return [=](const Dataset& data, auto& stream) {
    const L2Ball ball{Radius{2}};
    const LogisticLoss loss;
    const ClippingNorm clip{0.7};
    std::vector<double> now(data.features(), 0.0);
    auto before = now;
    std::vector<double> exact(data.features(), 0.0);
    std::vector<std::vector<double>> iterates;
    for (std::size_t i = 0; i < data.size(); ++i) {
      const RowView row = data.row(i);
      const double t = static_cast<double>(i) + 1;
      const double here = loss.derivative(row.dot(now), data.label(i));
      double factor = t * here - (t - 1) * loss.derivative(row.dot(before), data.label(i));
      if (mistake == Mistake::first_step_weight && i == 0) factor *= 2;
      if (mistake == Mistake::raw_state) factor += 1e-9 * exact[0];
      const auto used = mistake == Mistake::no_clip || (mistake == Mistake::first_step_weight && i == 0) ? ClippingNorm{1.4} : clip;
      const auto contribution = clipped_contribution(factor, row, used, grid, data.features());
      auto sum = stream.push(contribution, L2Sensitivity{1.4});
      const auto added = mechanisms::to_reals(contribution);
      for (std::size_t j = 0; j < exact.size(); ++j) exact[j] += added[j];
      if (mistake == Mistake::vertex_of_exact_sum) sum = exact;
      const auto vertex = ball.minimize_linear(sum);
      before = now;
      for (std::size_t j = 0; j < now.size(); ++j) now[j] += 1.3 / (t + 1) * (vertex[j] - now[j]);
      iterates.push_back(now);
    }
    return iterates;
  };
}

TEST(OnlineFrankWolfe, PlantedViolationsAreCaught) {
  const std::vector<DrawnRecord> records{{{3, 0.1}, 1}, {{-0.3, 0.4}, -1}, {{0.2, 0.7}, 1}};
  const std::vector<std::vector<double>> released{{1, 2}, {0.5, -1}, {-2, 1}};
  const auto difference = [&](Mistake mistake) {
    auto neighbours = records;
    for (auto& value : neighbours[0].row) value = -value;
    return stream_difference(run_with(mistake), assemble(records), assemble(neighbours), 0, grid, released);
  };
  EXPECT_GT(difference(Mistake::first_step_weight).ratio, 1);
  EXPECT_GT(difference(Mistake::no_clip).ratio, 1);
  EXPECT_FALSE(difference(Mistake::raw_state).untainted);
  EXPECT_FALSE(difference(Mistake::vertex_of_exact_sum).untainted);
}

}  // namespace
}  // namespace surety::optimizers
