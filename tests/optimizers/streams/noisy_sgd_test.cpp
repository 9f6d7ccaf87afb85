#include <surety/optimizers/streams/noisy_sgd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/testing/releaser.h>

#include <support/batch_taint.h>
#include <support/drawn_cases.h>
#include <support/drawn_records.h>
#include <support/empirical_epsilon.h>
#include <support/noisy_sgd_options.h>
#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::optimizers::noisy_sgd_test {
namespace {

NoisySgdOptions options(std::uint64_t records, std::uint64_t size, Adjacency adjacency = Adjacency::replace_one) {
  return noisy_sgd_options(records, size, 2, 3, adjacency);
}

auto run(const NoisySgdOptions& options) {
  return [=](const Dataset& data, auto& releaser) { return noisy_sgd(data, LogisticLoss{}, L2Ball{Radius{2}}, options, releaser); };
}

// 10,000 pairs of neighbours.
TEST(NoisySgd, ARecordMovesOneQueryOfEachPassByAtMostItsSensitivity) {
  expect_all_within_sensitivity(20240503, [](std::mt19937_64& random) {
    const std::size_t features = 1 + random() % 4;
    const std::size_t size = 1 + random() % 7;
    const std::size_t batch = 1 + random() % size;
    const auto adjacency = drawn_adjacency(random);
    const auto [data, neighbour, place] = drawn_neighbours(size, features, adjacency, random);
    const auto settings = options(size, batch, adjacency);
    const std::uint64_t batches = pass(settings).batches.value();
    return batch_difference(run(settings), data, neighbour, batches, drawn_script(2 * batches, features, random));
  });
}

enum class Mistake { overlapping_batches, sensitivity_of_a_mean, raw_momentum };

auto run_with(Mistake mistake) {
  return [=](const Dataset& data, auto& releaser) {
    const auto settings = options(data.size(), 2);
    const BatchPass planned = pass(settings);
    const auto sensitivity = mechanisms::sensitivity_of_clipped_sum(settings.clip, settings.adjacency);
    const Grid grid = mechanisms::grid_for(sensitivity, settings.noise_multiplier);
    mechanisms::RecordSum sum{{.clip = settings.clip, .grid = grid, .dimension = data.features()}};
    std::vector<double> weights(data.features(), 0.0);
    for (std::size_t k = 0; k < planned.batches.value(); ++k) {
      sum.clear();
      const std::size_t end = std::min<std::size_t>(2 * k + (mistake == Mistake::overlapping_batches ? 3 : 2), data.size());
      for (std::size_t i = 2 * k; i < end; ++i) {
        add_clipped(LogisticLoss{}.derivative(data.row(i).dot(weights), data.label(i)), data.row(i), sum);
      }
      const L2Sensitivity said{mistake == Mistake::sensitivity_of_a_mean ? sensitivity.value() / 2 : sensitivity.value()};
      const auto released = releaser.release(sum.sum(), said, planned.release);
      const auto raw = mechanisms::to_reals(sum.sum());
      for (std::size_t j = 0; j < weights.size(); ++j) weights[j] -= released[j] + (mistake == Mistake::raw_momentum ? 0.1 * raw[j] : 0);
    }
    return weights;
  };
}

TEST(NoisySgd, PlantedViolationsAreCaught) {
  const std::vector<DrawnRecord> records{{{0.1, 0.2}, 1}, {{1, 1}, -1}, {{3, 4}, 1}, {{0.5, 0}, 1}};
  auto neighbours = records;
  neighbours[2].row = {-3, -4};
  const std::vector<std::vector<double>> released{{1, 2}, {-1, 0.5}};
  const auto difference = [&](Mistake mistake) {
    return batch_difference(run_with(mistake), assemble(records), assemble(neighbours), 2, released);
  };
  EXPECT_FALSE(difference(Mistake::overlapping_batches).untainted);
  EXPECT_GT(difference(Mistake::sensitivity_of_a_mean).ratio, 1);
  EXPECT_FALSE(difference(Mistake::raw_momentum).untainted);
}

TEST(NoisySgd, AveragesTheLastHalfOfProjectedSteps) {
  // One feature, batches of 1: w_k by hand.
  const Dataset data = Dataset::dense(1, {0.5, -0.2}, {1, 1});
  const auto settings = options(2, 1);
  testing::ExactReleaser exact;
  const LogisticLoss loss;
  std::vector<double> iterates;
  double w = 0;
  for (int step = 0; step < 4; ++step) {
    const double x = step % 2 == 0 ? 0.5 : -0.2;
    w -= 0.7 * loss.derivative(w * x, 1) * x;
    iterates.push_back(w);
  }
  const auto found = noisy_sgd(data, loss, L2Ball{Radius{2}}, settings, exact);
  EXPECT_NEAR(found[0], (iterates[2] + iterates[3]) / 2, 1e-8);
}

TEST(NoisySgd, SpendsItsPassesAndNoMore) {
  const TemporaryFolder folder;
  const Target target{.epsilon = Epsilon{1}, .delta = Delta{1e-4}, .adjacency = Adjacency::replace_one};
  const auto at = [](NoiseMultiplier z) {
    auto settings = options(10, 3);
    settings.noise_multiplier = z;
    return settings;
  };
  const auto found = calibrate([&](NoiseMultiplier z) { return plan(at(z)); }, target,
                               {[](const Event& event, Epsilon epsilon) { return accounting::quick_delta(event, epsilon); },
                                [](const Event& event, Delta delta) { return accounting::quick_epsilon(event, delta); }});
  // As much as two Gaussian releases: a record is in one batch of each pass.
  const auto two = calibrate([](NoiseMultiplier z) { return repeat(Count{2}, gaussian(z, Adjacency::replace_one)); }, target);
  EXPECT_NEAR(found.value.value(), two.value.value(), 1e-9 * two.value.value());

  std::mt19937_64 random{5};
  std::vector<DrawnRecord> records;
  for (int i = 0; i < 10; ++i) records.push_back(drawn_record(2, random));
  auto ledger = accounting::Ledger::open_or_create(folder / "ledger.db", Adjacency::replace_one);
  auto reservation = ledger.reserve({.event = found.event, .promise = target, .not_private = true});
  mechanisms::ReplayBits bits{11};
  NoisyBatchReleaser releaser{reservation, bits, pass(at(found.value))};
  static_assert(std::derived_from<decltype(releaser), Releaser>);
  EXPECT_EQ(run(at(found.value))(assemble(records), releaser).size(), 2U);
  EXPECT_TRUE(reservation.released() == accounting::Releases::of(found.event));
  EXPECT_TRUE(refuses([&] { static_cast<void>(run(at(found.value))(assemble(records), releaser)); }, ErrorCode::budget_exceeded, {}));
}

// One record whose gradient is at the clip in both passes: the sum of the two releases has mean 2 C or -2 C and variance 2 sigma^2.
TEST(NoisySgd, LosesNoMoreThanItIsCharged) {
  const TemporaryFolder folder;
  constexpr double delta = 1e-3;
  constexpr std::uint64_t runs = 30'000;
  auto settings = options(1, 1);
  settings.noise_multiplier = NoiseMultiplier{std::sqrt(2.0)};  // mu = sqrt(2) / z = 1
  auto ledger = accounting::Ledger::open_or_create(folder / "ledger.db", Adjacency::replace_one);
  const auto hits = [&](double label) {
    auto reservation = ledger.reserve({.event = repeat(Count{runs}, plan(settings)), .not_private = true});
    const Dataset data = Dataset::dense(1, {1e6}, {label});
    // The loss is 2.25 at 2.25 sigma sqrt(2) / mu = 2.25 * 2 s = 9 C.
    return hits_of_releases(reservation, pass(settings), static_cast<std::uint64_t>(label + 40), runs, [&](auto& releaser) {
      static_cast<void>(noisy_sgd(data, LinearLoss{}, L2Ball{Radius{2}}, settings, releaser));
      return releaser.sum > 9 * settings.clip.value();
    });
  };
  const double lower = reference::empirical_epsilon(hits(1), hits(-1), delta, 1e-9);
  expect_charged(lower, accounting::best_epsilon(plan(settings), Delta{delta}).value.upper);
}

TEST(NoisySgd, RefusesWhatItHasNoGuaranteeFor) {
  const Dataset data = Dataset::dense(1, {0.5, -0.2}, {1, 1});
  testing::ExactReleaser exact;
  EXPECT_TRUE(refuses([] { static_cast<void>(plan(options(10, 2, Adjacency::add_or_remove_one))); }, ErrorCode::unsupported,
                      {"adjacency is add-or-remove-one"}));
  EXPECT_TRUE(
      refuses([&] { static_cast<void>(run(options(3, 1))(data, exact)); }, ErrorCode::invalid_argument, {"2 records", "must have 3"}));
  const Dataset unlabelled = Dataset::dense(1, {0.5, -0.2}, {});
  EXPECT_TRUE(refuses([&] { static_cast<void>(run(options(2, 1))(unlabelled, exact)); }, ErrorCode::invalid_argument, {"labels"}));
}

}  // namespace
}  // namespace surety::optimizers::noisy_sgd_test
