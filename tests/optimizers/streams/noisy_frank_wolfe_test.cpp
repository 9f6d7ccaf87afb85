#include <surety/optimizers/streams/noisy_frank_wolfe.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <surety/accounting/answers/best.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/testing/releaser.h>

#include <support/batch_taint.h>
#include <support/drawn_cases.h>
#include <support/drawn_records.h>
#include <support/empirical_epsilon.h>
#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::optimizers::noisy_frank_wolfe_test {
namespace {

NoisyFrankWolfeOptions options(std::uint64_t iterations, Adjacency adjacency = Adjacency::replace_one) {
  return {.noise_multiplier = NoiseMultiplier{3},
          .iterations = Count{iterations},
          .adjacency = adjacency,
          .clip = ClippingNorm{0.8},
          .step_scale = StepScaleFactor{0.9}};
}

auto run(const NoisyFrankWolfeOptions& options) {
  return [=](const Dataset& data, auto& releaser) { return noisy_frank_wolfe(data, LogisticLoss{}, L2Ball{Radius{2}}, options, releaser); };
}

TEST(NoisyFrankWolfe, BatchesAreDisjointAndHoldEveryRecord) {
  for (std::size_t records = 1; records <= 60; ++records) {
    for (std::uint64_t batches = 1; batches <= records / 2 + 1; ++batches) {
      EXPECT_EQ(first_of_batch(records, batches, 0), 0U);
      EXPECT_EQ(first_of_batch(records, batches, batches), records);
      for (std::uint64_t k = 0; k < batches; ++k) {
        EXPECT_LT(first_of_batch(records, batches, k), first_of_batch(records, batches, k + 1)) << records << " " << batches << " " << k;
      }
      EXPECT_EQ(first_of_batch(records, batches, 1), batches == 1 ? records : records - records / 2);
    }
  }
}

// 10,000 pairs of neighbours.
TEST(NoisyFrankWolfe, ARecordMovesOneQueryByAtMostItsSensitivity) {
  double largest_late = 0;
  expect_all_within_sensitivity(20240504, [&](std::mt19937_64& random) {
    const std::size_t features = 1 + random() % 4;
    const std::size_t size = 2 + random() % 7;
    const std::uint64_t iterations = 1 + random() % (size / 2 + 1);
    const auto adjacency = drawn_adjacency(random);
    const auto [data, neighbour, place] = drawn_neighbours(size, features, adjacency, random);
    const auto released = drawn_script(iterations, features, random);
    const auto found = batch_difference(run(options(iterations, adjacency)), data, neighbour, iterations, released);
    if (place >= size - size / 2) largest_late = std::max(largest_late, found.ratio);
    return found;
  });
  EXPECT_GT(largest_late, 0.99);
}

// d_k and w_k in another order of operations, on exact sums.
TEST(NoisyFrankWolfe, WithoutNoiseFollowsItsRecursion) {
  const std::vector<double> rows{0.6, -0.1, -0.3, 0.4, 0.2, 0.7, 0.5, 0.5};
  const Dataset data = Dataset::dense(2, rows, {1, -1, 1, -1});
  auto wide = options(3);
  wide.clip = ClippingNorm{100};
  testing::ExactReleaser exact;
  const auto found = run(wide)(data, exact);
  const LogisticLoss loss;
  const L2Ball ball{Radius{2}};
  std::vector<double> d(2, 0.0);
  std::vector<double> w(2, 0.0);
  std::vector<double> before(2, 0.0);
  for (std::size_t k = 0; k < 3; ++k) {
    const double e = 0.9 / (static_cast<double>(k) + 1);
    std::vector<double> here(2, 0.0);
    std::vector<double> there(2, 0.0);
    const std::size_t first = k == 0 ? 0 : k + 1;
    const std::size_t count = k == 0 ? 2 : 1;
    for (std::size_t i = first; i < first + count; ++i) {
      add_gradient(loss, data.row(i), data.label(i), w, here);
      add_gradient(loss, data.row(i), data.label(i), before, there);
    }
    for (std::size_t j = 0; j < 2; ++j) {
      here[j] /= static_cast<double>(count);
      there[j] /= static_cast<double>(count);
      d[j] = k == 0 ? here[j] : here[j] + (1 - e) * (d[j] - there[j]);
    }
    const auto vertex = ball.minimize_linear(d);
    before = w;
    for (std::size_t j = 0; j < 2; ++j) w[j] += e * (vertex[j] - w[j]);
  }
  EXPECT_NEAR(found[0], w[0], 1e-5);  // the grid has 2^-20 steps to a unit here
  EXPECT_NEAR(found[1], w[1], 1e-5);  // the grid has 2^-20 steps to a unit here
}

enum class Mistake { full_clip_at_late_steps, kept_record, vertex_of_exact_sum };

auto run_with(Mistake mistake) {
  return [=](const Dataset& data, auto& releaser) {
    const auto settings = options(2);
    const BatchPass planned = pass(settings);
    const Grid grid =
        mechanisms::grid_for(mechanisms::sensitivity_of_clipped_sum(settings.clip, settings.adjacency), settings.noise_multiplier);
    std::vector<double> weights(data.features(), 0.0);
    for (std::size_t k = 0; k < 2; ++k) {
      const double e = 0.9 / (static_cast<double>(k) + 1);
      const ClippingNorm said{k == 0 ? settings.clip.value() : e * settings.clip.value()};
      const ClippingNorm used = mistake == Mistake::full_clip_at_late_steps ? settings.clip : said;
      mechanisms::RecordSum sum{{.clip = used, .grid = grid, .dimension = data.features()}};
      const std::size_t first = mistake == Mistake::kept_record ? 0 : first_of_batch(data.size(), 2, k);
      for (std::size_t i = first; i < first_of_batch(data.size(), 2, k + 1); ++i) {
        add_clipped(LogisticLoss{}.derivative(data.row(i).dot(weights), data.label(i)), data.row(i), sum);
      }
      auto direction = releaser.release(sum.sum(), mechanisms::sensitivity_of_clipped_sum(said, settings.adjacency), planned.release);
      if (mistake == Mistake::vertex_of_exact_sum) direction = mechanisms::to_reals(sum.sum());
      const auto vertex = L2Ball{Radius{2}}.minimize_linear(direction);
      for (std::size_t j = 0; j < weights.size(); ++j) weights[j] += e * (vertex[j] - weights[j]);
    }
    return weights;
  };
}

TEST(NoisyFrankWolfe, PlantedViolationsAreCaught) {
  const std::vector<DrawnRecord> records{{{0.1, 0.2}, 1}, {{30, 10}, -1}, {{3, 4}, 1}, {{50, 0}, 1}};
  const std::vector<std::vector<double>> released{{1, 2}, {-1, 0.5}};
  const auto difference = [&](Mistake mistake, std::size_t place) {
    return batch_difference(run_with(mistake), assemble(records), assemble(turned(records, place)), 2, released);
  };
  EXPECT_GT(difference(Mistake::full_clip_at_late_steps, 3).ratio, 1);
  EXPECT_FALSE(difference(Mistake::kept_record, 1).untainted);
  EXPECT_FALSE(difference(Mistake::vertex_of_exact_sum, 3).untainted);
}

TEST(NoisyFrankWolfe, SpendsOneReleaseForItsPass) {
  const TemporaryFolder folder;
  std::mt19937_64 random{6};
  std::vector<DrawnRecord> records;
  for (int i = 0; i < 10; ++i) records.push_back(drawn_record(2, random));
  const auto settings = options(4);
  auto ledger = accounting::Ledger::open_or_create(folder / "ledger.db", Adjacency::replace_one);
  auto reservation = ledger.reserve({.event = plan(settings), .not_private = true});
  mechanisms::ReplayBits bits{11};
  NoisyBatchReleaser releaser{reservation, bits, pass(settings)};
  EXPECT_EQ(run(settings)(assemble(records), releaser).size(), 2U);
  EXPECT_TRUE(reservation.released() == accounting::Releases::of(gaussian(NoiseMultiplier{3}, Adjacency::replace_one)));
  EXPECT_TRUE(refuses([&] { static_cast<void>(run(settings)(assemble(records), releaser)); }, ErrorCode::budget_exceeded, {}));
  EXPECT_TRUE(refuses(
      [&] {
        auto other = settings;
        other.noise_multiplier = NoiseMultiplier{2};
        static_cast<void>(run(other)(assemble(records), releaser));
      },
      ErrorCode::internal, {"gaussian(2)", "gaussian(3)"}));
}

// Three records, the last one at the clip in the second batch: its release has mean e_1 C or -e_1 C and deviation 2 e_1 C z.
TEST(NoisyFrankWolfe, LosesNoMoreThanItIsCharged) {
  const TemporaryFolder folder;
  constexpr double delta = 1e-3;
  constexpr std::uint64_t runs = 30'000;
  auto settings = options(2);
  settings.noise_multiplier = NoiseMultiplier{1};
  auto ledger = accounting::Ledger::open_or_create(folder / "ledger.db", Adjacency::replace_one);
  const auto hits = [&](double label) {
    auto reservation = ledger.reserve({.event = repeat(Count{runs}, plan(settings)), .not_private = true});
    const Dataset data = Dataset::dense(1, {0, 0, 1e6}, {1, 1, label});
    // The loss is 2.25 at 2.25 standard deviations.
    return hits_of_releases(reservation, pass(settings), static_cast<std::uint64_t>(label + 50), runs, [&](auto& releaser) {
      static_cast<void>(noisy_frank_wolfe(data, LinearLoss{}, L2Ball{Radius{2}}, settings, releaser));
      return releaser.last > 2.25 * 2 * 0.45 * settings.clip.value();
    });
  };
  const double lower = reference::empirical_epsilon(hits(1), hits(-1), delta, 1e-9);
  expect_charged(lower, accounting::best_epsilon(plan(settings), Delta{delta}).value.upper);
}

TEST(NoisyFrankWolfe, RefusesWhatItHasNoGuaranteeFor) {
  const Dataset data = Dataset::dense(1, {0.5, -0.2}, {1, 1});
  testing::ExactReleaser exact;
  EXPECT_TRUE(refuses([] { static_cast<void>(plan(options(10, Adjacency::add_or_remove_one))); }, ErrorCode::unsupported,
                      {"adjacency is add-or-remove-one"}));
  EXPECT_TRUE(
      refuses([&] { static_cast<void>(run(options(3))(data, exact)); }, ErrorCode::invalid_argument, {"iterations is 3", "at most 2"}));
  auto fast = options(2);
  fast.step_scale = StepScaleFactor{1.5};
  EXPECT_TRUE(refuses([&] { static_cast<void>(run(fast)(data, exact)); }, ErrorCode::invalid_argument, {"step scale is 1.5"}));
}

}  // namespace
}  // namespace surety::optimizers::noisy_frank_wolfe_test
