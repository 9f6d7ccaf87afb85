#include <surety/optimizers/streams/one_pass_sgd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <surety/accounting/answers/best.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/testing/releaser.h>

#include <support/drawn_cases.h>
#include <support/drawn_records.h>
#include <support/noisy_sgd_options.h>
#include <support/refusal.h>
#include <support/taint.h>

namespace surety::optimizers::one_pass_sgd_test {
namespace {

const L2Ball ball{Radius{2}};

NoisySgdOptions options(std::uint64_t records, std::uint64_t size, Adjacency adjacency = Adjacency::replace_one) {
  return noisy_sgd_options(records, size, 1, 2, adjacency);
}

/// What the stream shows after every record.
auto run(const NoisySgdOptions& options) {
  return [=](const Dataset& data, const auto& domain, auto& releaser) {
    OnePassSgd algorithm{LogisticLoss{}, domain, options, Count{data.features()}};
    std::vector<double> shown;
    for (std::size_t i = 0; i < data.size(); ++i) {
      algorithm.observe(data.row(i), data.label(i), releaser);
      shown.insert(shown.end(), algorithm.weights().begin(), algorithm.weights().end());
    }
    return shown;
  };
}

TEST(OnePassSgd, IsOnePassOfNoisySgd) {
  std::mt19937_64 random{3};
  for (const std::uint64_t size : {1U, 3U, 4U, 10U}) {
    std::vector<DrawnRecord> records;
    for (int i = 0; i < 10; ++i) records.push_back(drawn_record(3, random));
    const Dataset data = assemble(records);
    testing::ExactReleaser releaser;
    // In the second one every step ends at the border.
    for (const L2Ball& domain : {ball, L2Ball{Radius{0.01}}}) {
      const auto expected = noisy_sgd(data, LogisticLoss{}, domain, options(10, size), releaser);
      const auto shown = run(options(10, size))(data, domain, releaser);
      for (std::size_t j = 0; j < 3; ++j) EXPECT_NEAR(shown[27 + j], expected[j], 1e-14) << size;
      EXPECT_LE(mechanisms::l2_norm(std::span{shown}.last(3)), domain.radius.value() * (1 + 1e-12));
    }
  }
}

// 10,000 streams, each with one record replaced: ordinary, beyond the clip, opposite, at the first step.
TEST(OnePassSgd, LeaksNothingAndMovesOneReleaseByAtMostItsSensitivity) {
  expect_all_within_sensitivity(20240603, [](std::mt19937_64& random) {
    const auto [features, count, adjacency, drawn, released] = drawn_stream(8, random);
    const std::uint64_t size = 1 + random() % count;
    const auto algorithm = run(options(count, size, adjacency));
    // The record is in the release of its own batch alone.
    const auto a = trace(algorithm, drawn.data, ball, released).requests;
    const auto b = trace(algorithm, drawn.neighbour, ball, released).requests;
    for (std::size_t k = 0; k < a.size(); ++k) {
      EXPECT_TRUE(k == drawn.place / size || a[k].query == b[k].query) << "batch " << k;
    }
    return Difference{untainted(algorithm, drawn.data, drawn.neighbour, ball, released),
                      largest_sensitivity_ratio(algorithm, drawn.data, drawn.neighbour, ball, released)};
  });
}

/// A batch whose sum is not cleared, and weights from a sum without noise.
enum class Mistake { batch_kept, exact_step };

auto run_with(Mistake mistake) {
  return [=](const Dataset& data, const auto& domain, auto& releaser) {
    std::vector<double> weights(data.features(), 0.0);
    mechanisms::RecordSum sum{{.clip = ClippingNorm{0.7}, .grid = Grid{.log2_step = -30}, .dimension = data.features()}};
    for (std::size_t i = 0; i < data.size(); ++i) {
      add_clipped(LogisticLoss{}.derivative(data.row(i).dot(weights), data.label(i)), data.row(i), sum);
      if (i % 2 == 0) continue;
      auto released = releaser.release(sum.sum(), L2Sensitivity{1.4}, gaussian(NoiseMultiplier{2}, Adjacency::replace_one));
      if (mistake == Mistake::exact_step) released = mechanisms::to_reals(sum.sum());
      if (mistake != Mistake::batch_kept) sum.clear();
      for (std::size_t j = 0; j < weights.size(); ++j) weights[j] -= 0.4 * released[j];
      domain.project(weights);
    }
    return weights;
  };
}

TEST(OnePassSgd, PlantedViolationsAreCaught) {
  const std::vector<DrawnRecord> records{{{3, 0.1}, 1}, {{-0.3, 0.4}, -1}, {{0.2, 0.7}, 1}, {{0.6, 0.1}, 1}};
  auto neighbours = records;
  for (auto& value : neighbours[0].row) value = -value;
  const std::vector<std::vector<double>> released{{1, 2}, {0.5, -1}};
  const Dataset data = assemble(records);
  const Dataset neighbour = assemble(neighbours);
  EXPECT_FALSE(untainted(run_with(Mistake::exact_step), data, neighbour, ball, released));
  const auto a = trace(run_with(Mistake::batch_kept), data, ball, released).requests;
  const auto b = trace(run_with(Mistake::batch_kept), neighbour, ball, released).requests;
  EXPECT_NE(a[1].query, b[1].query);
}

TEST(OnePassSgd, CostsOneReleaseAndRefusesMoreRecordsOrPasses) {
  const Event event = plan(options(1000, 30));
  EXPECT_NEAR(accounting::quick_epsilon(event, Delta{1e-6}).upper,
              accounting::quick_epsilon(gaussian(NoiseMultiplier{2}, Adjacency::replace_one), Delta{1e-6}).upper, 1e-9);
  auto twice = options(4, 2);
  twice.passes = Count{2};
  EXPECT_TRUE(refuses([&] { OnePassSgd{LogisticLoss{}, ball, twice, Count{1}}; }, ErrorCode::invalid_argument, {"passes are 2"}));
  OnePassSgd algorithm{LogisticLoss{}, ball, options(1, 1), Count{1}};
  testing::ExactReleaser releaser;
  const Dataset data = assemble({{{0.5}, 1}});
  algorithm.observe(data.row(0), 1, releaser);
  EXPECT_TRUE(refuses([&] { algorithm.observe(data.row(0), 1, releaser); }, ErrorCode::invalid_argument, {"record is 2"}));
}

}  // namespace
}  // namespace surety::optimizers::one_pass_sgd_test
