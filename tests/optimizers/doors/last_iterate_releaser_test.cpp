#include <surety/optimizers/doors/last_iterate_releaser.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include <surety/accounting/events/event_kinds.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/optimizers/problem/loss.h>

#include <support/counting_bits.h>
#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::optimizers::last_iterate_releaser_test {
namespace {

constexpr auto replaced = Adjacency::replace_one;
/// So little noise that a run is the descent without noise: some 10^-9.
const NoiseMultiplier hardly_any{1e-9};

LastIterateDescent descent(std::variant<AllRecords, PublicBatches, GrowingBatches> batches, NoiseMultiplier z = hardly_any) {
  return {.noise_multiplier = z, .adjacency = replaced, .batches = std::move(batches), .step_size = StepSize{1}, .clip = ClippingNorm{1}};
}

std::vector<double> run(const Dataset& data, ConvexObjectiveRef objective, const LastIterateDescent& how, std::uint64_t seed = 1) {
  const TemporaryFolder folder;
  auto ledger = accounting::Ledger::open_or_create(folder / "ledger.db", how.adjacency);
  auto reservation = ledger.reserve({.event = plan(how, objective), .not_private = true});
  mechanisms::ReplayBits bits{seed};
  return NoisyLastIterateReleaser{reservation, bits}.release(data, objective, how);
}

struct Records {
  std::vector<double> values;
  std::vector<double> labels;

  [[nodiscard]] Dataset dataset(std::size_t features) const { return Dataset::dense(features, values, labels); }
};

/// Rows of lengths up to `length`, labels -1 and 1.
Records drawn(std::size_t records, std::size_t features, double length, std::mt19937_64& engine) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform{0, length};
  Records drawn;
  for (std::size_t i = 0; i < records; ++i) {
    std::vector<double> row(features);
    double square = 0;
    for (double& value : row) {
      value = normal(engine);
      square += value * value;
    }
    const double scale = uniform(engine) / std::sqrt(square);
    for (const double value : row) drawn.values.push_back(scale * value);
    drawn.labels.push_back(engine() % 2 == 0 ? 1 : -1);
  }
  return drawn;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double square = 0;
  for (std::size_t j = 0; j < a.size(); ++j) square += (a[j] - b[j]) * (a[j] - b[j]);
  return std::sqrt(square);
}

/// The descent of logistic loss without noise, in plain arithmetic: steps on records of each range, divided by its size.
std::vector<double> plain(const Records& records, std::size_t features, const LastIterateDescent& how,
                          const std::vector<std::pair<std::size_t, std::size_t>>& ranges, std::size_t divisor) {
  std::vector<double> w(features, 0.0);
  for (const auto& [first, end] : ranges) {
    std::vector<double> sum(features, 0.0);
    for (std::size_t i = first; i < end; ++i) {
      std::vector<double> x(&records.values[i * features], &records.values[i * features] + features);
      const double norm = distance(x, std::vector<double>(features, 0.0));
      for (double& value : x) value *= std::min(1.0, how.row_norm.value() / norm);
      double score = 0;
      for (std::size_t j = 0; j < features; ++j) score += w[j] * x[j];
      const double factor = LogisticLoss{}.derivative(score, records.labels[i]);
      const double clip = std::min(1.0, how.clip.value() / (std::abs(factor) * std::min(norm, how.row_norm.value())));
      for (std::size_t j = 0; j < features; ++j) sum[j] += clip * factor * x[j];
    }
    const double b = static_cast<double>(divisor == 0 ? end - first : divisor);
    for (std::size_t j = 0; j < features; ++j) w[j] -= how.step_size.value() * (sum[j] / b + how.regularization.value() * w[j]);
    const double length = distance(w, std::vector<double>(features, 0.0));
    if (length > how.radius.value()) {
      for (double& value : w) value *= how.radius.value() / length;
    }
  }
  return w;
}

TEST(LastIterateReleaser, DescendsAlongTheBatches) {
  std::mt19937_64 engine{5};
  const auto records = drawn(23, 4, 3, engine);
  const auto data = records.dataset(4);
  const auto near = [&](const LastIterateDescent& how, const std::vector<std::pair<std::size_t, std::size_t>>& ranges,
                        std::size_t divisor) {
    EXPECT_LT(distance(run(data, LogisticLoss{}, how), plain(records, 4, how, ranges, divisor)), 1e-3);
  };
  auto how = descent(AllRecords{Count{30}});
  how.clip = ClippingNorm{0.4};
  how.regularization = Regularization{0.1};
  near(how, std::vector<std::pair<std::size_t, std::size_t>>(30, {0, 23}), 0);
  how.radius = Radius{0.3};
  near(how, std::vector<std::pair<std::size_t, std::size_t>>(30, {0, 23}), 0);
  how.radius = Radius{10};
  how.batches = PublicBatches{.records = Count{23}, .size = Count{10}, .passes = Count{2}};
  near(how, {{0, 10}, {10, 20}, {20, 23}, {0, 10}, {10, 20}, {20, 23}}, 10);
  how.batches = GrowingBatches{BatchSizes{{2, 3}, {1, 5}}};
  near(how, {{0, 3}, {3, 6}, {6, 11}}, 0);
}

TEST(LastIterateReleaser, DrawsTheNoiseOfItsEvent) {
  constexpr std::size_t d = 40'000;
  const Dataset zeros = Dataset::sparse(d, {0, 0, 0, 0}, {}, {}, {1, -1, 1, -1});
  const auto deviation = [&](LastIterateDescent how) {
    how.step_size = StepSize{3};
    how.clip = ClippingNorm{0.5};
    how.radius = Radius{1e4};
    double square = 0;
    for (const double weight : run(zeros, LogisticLoss{}, how)) square += weight * weight;
    return std::sqrt(square / d);
  };
  // eta z 2 C (1 + 2^-10) / b. The root mean square of d draws deviates by .35 %: five of them.
  const double step = 3 * 2.5 * (1 + 0x1p-10);
  EXPECT_NEAR(deviation(descent(AllRecords{Count{1}}, NoiseMultiplier{2.5})) / (step / 4), 1, 0.018);
  EXPECT_NEAR(
      deviation(descent(PublicBatches{.records = Count{4}, .size = Count{4}, .passes = Count{1}}, NoiseMultiplier{2.5})) / (step / 4), 1,
      0.018);
  EXPECT_NEAR(deviation(descent(GrowingBatches{BatchSizes{{1, 3}}}, NoiseMultiplier{2.5})) / step, 1, 0.018);
  // The second step has noise of its own, and the last batch of one record the noise of a batch of three.
  EXPECT_NEAR(deviation(descent(AllRecords{Count{2}}, NoiseMultiplier{2.5})) / (step / 4 * std::sqrt(2)), 1, 0.018);
  EXPECT_NEAR(deviation(descent(PublicBatches{.records = Count{4}, .size = Count{3}, .passes = Count{1}}, NoiseMultiplier{2.5})) /
                  (step / 3 * std::sqrt(2)),
              1, 0.018);
  auto zeroed = descent(AllRecords{Count{1}}, NoiseMultiplier{2.5});
  zeroed.adjacency = Adjacency::zero_out;
  EXPECT_NEAR(deviation(zeroed) / (step / 8), 1, 0.018);
}

/// What the theorem rests on: one record moves a step by at most s, and a step brings two points no further apart than c.
TEST(LastIterateReleaser, MovesNoFurtherThanItsMaps) {
  std::mt19937_64 engine{7};
  double largest = 0;
  for (int i = 0; i < 60; ++i) {
    const std::size_t records = 4 + engine() % 30;
    const std::size_t features = 1 + engine() % 3;
    const double length = i % 3 == 0 ? 1 : i % 3 == 1 ? 30 : 1e200;  // longer rows are scaled down
    auto a = drawn(records, features, length, engine);
    auto b = a;
    const std::size_t which = i % 4 == 1 ? 0 : engine() % records;  // 0: once, and then many steps that must not drive the two apart
    for (std::size_t j = 0; j < features; ++j) b.values[which * features + j] *= i % 2 == 0 ? -1 : 0;
    if (i % 5 == 0) b.labels[which] = 1e6;  // no label of the loss
    auto how = descent(AllRecords{Count{1 + engine() % 40}});
    how.clip = ClippingNorm{i % 4 == 0 ? 0.05 : 1};
    how.regularization = Regularization{i % 2 == 0 ? 0 : 0.2};
    how.step_size = StepSize{i % 3 == 0 ? 7.9 / (1 + 4 * how.regularization.value()) : 1};
    const bool in_batches = i % 2 == 1;
    if (in_batches)
      how.batches = PublicBatches{.records = Count{records}, .size = Count{2}, .passes = Count{i % 4 == 1 ? 1 : 1 + engine() % 9}};
    const double c = step_constant(how, LogisticLoss{}).value();
    const auto l = in_batches ? (records + 1) / 2 : 1;
    const auto steps =
        in_batches ? std::get<PublicBatches>(how.batches).passes.value() * l : std::get<AllRecords>(how.batches).steps.value();
    const double s = how.step_size.value() * 2 * how.clip.value() / static_cast<double>(in_batches ? 2 : records);
    double most = 0;
    for (std::uint64_t step = 0; step < steps; ++step) most = c * most + (step % l == (in_batches ? which / 2 : 0) ? s : 0);
    const double moved = distance(run(a.dataset(features), LogisticLoss{}, how), run(b.dataset(features), LogisticLoss{}, how));
    EXPECT_LE(moved, most * (1 + 0x1p-9) + 1e-6) << i;
    largest = std::max(largest, moved / most);
  }
  EXPECT_GT(largest, 0.4);
}

/// The promise about the derivative is for labels of the loss.
TEST(LastIterateReleaser, IgnoresRecordsOfOtherLabels) {
  const auto how = descent(AllRecords{Count{20}});
  const auto with = run(Dataset::dense(1, {0.3, 1, -0.8}, {1, 1e6, -1}), LogisticLoss{}, how);
  EXPECT_EQ(with, run(Dataset::dense(1, {0.3, 0, -0.8}, {1, 1, -1}), LogisticLoss{}, how));
  const SquaredLoss squared{.label_bound = LabelBound{2}, .weight_radius = Radius{1}};
  EXPECT_EQ(run(Dataset::dense(1, {0.3, 1}, {-2, 2.5}), squared, how), run(Dataset::dense(1, {0.3, 0}, {-2, 0}), squared, how));
}

TEST(LastIterateReleaser, ReleasesTheEventOfItsBatches) {
  auto how = descent(AllRecords{Count{9}}, NoiseMultiplier{3});
  const Event step = gaussian(NoiseMultiplier{3}, replaced);
  EXPECT_EQ(plan(how, LogisticLoss{}), last_iterate(Count{9}, LipschitzConstant{1}, step));
  how.regularization = Regularization{0.25};
  const double c = step_constant(how, LogisticLoss{}).value();
  EXPECT_GE(c, 0.75);
  EXPECT_LE(c, 0.75 + 1e-15);
  how.step_size = StepSize{3.9};  // 3.9 (1/4 + 1/4) - 1
  EXPECT_NEAR(step_constant(how, LogisticLoss{}).value(), 0.95, 1e-5);
  EXPECT_GE(step_constant(how, LogisticLoss{}).value(), 0.95);
  how.row_norm = Radius{0.5};  // 1 - 3.9 / 4, and 3.9 (1/16 + 1/4) - 1
  EXPECT_NEAR(step_constant(how, LogisticLoss{}).value(), 0.21875, 1e-5);
  how.batches = PublicBatches{.records = Count{10}, .size = Count{4}, .passes = Count{6}};
  EXPECT_EQ(plan(how, LogisticLoss{}), last_iterate_of_passes(Count{6}, Count{3}, step_constant(how, LogisticLoss{}), step));
  how.batches = GrowingBatches{BatchSizes{{3, 2}, {1, 4}}};
  EXPECT_EQ(plan(how, LogisticLoss{}), last_iterate_of_batches(BatchSizes{{3, 2}, {1, 4}}, step));
}

TEST(LastIterateReleaser, DrawsNoBitBeforeTheEventIsSpent) {
  const TemporaryFolder folder;
  const auto how = descent(AllRecords{Count{2}}, NoiseMultiplier{3});
  auto ledger = accounting::Ledger::open_or_create(folder / "ledger.db", replaced);
  auto reservation = ledger.reserve({.event = plan(how, LogisticLoss{}), .not_private = true});
  testing::CountingBits bits;
  NoisyLastIterateReleaser releaser{reservation, bits};
  const Dataset data = Dataset::dense(2, {1, 0, 0, 1}, {1, -1});
  const auto refused = [&](const Dataset& records, const LastIterateDescent& other, ErrorCode code,
                           const std::vector<std::string_view>& words = {}) {
    return refuses([&] { static_cast<void>(releaser.release(records, LogisticLoss{}, other)); }, code, words);
  };
  auto other = how;
  other.batches = AllRecords{Count{3}};
  EXPECT_TRUE(refused(data, other, ErrorCode::budget_exceeded));
  other = how;
  other.adjacency = Adjacency::add_or_remove_one;
  EXPECT_TRUE(refused(data, other, ErrorCode::invalid_argument, {"adjacency is add-or-remove-one"}));
  other = how;
  other.step_size = StepSize{8.1};
  EXPECT_TRUE(refused(data, other, ErrorCode::invalid_argument, {"step size is 8.1, must be at most 7.99"}));
  other = how;
  other.radius = Radius{1e12};
  EXPECT_TRUE(refused(data, other, ErrorCode::invalid_argument, {"use a smaller radius"}));
  other = how;
  other.batches = PublicBatches{.records = Count{3}, .size = Count{2}, .passes = Count{1}};
  EXPECT_TRUE(refused(data, other, ErrorCode::invalid_argument, {"has 2 records, must have 3"}));
  other.batches = GrowingBatches{BatchSizes{{1, 1}, {1, 2}}};
  EXPECT_TRUE(refused(data, other, ErrorCode::invalid_argument, {"has 2 records, must have at least 3"}));
  EXPECT_TRUE(refused(Dataset::dense(1, {1}, {}), how, ErrorCode::invalid_argument, {"needs labels"}));
  EXPECT_TRUE(refused(Dataset::dense(1, {}, {}), how, ErrorCode::invalid_argument));
  EXPECT_EQ(bits.fills, 0);
  // Parameters were checked before the event was spent: it is still there, once.
  EXPECT_EQ(releaser.release(data, LogisticLoss{}, how).size(), 2U);
  EXPECT_GT(bits.fills, 0);
  EXPECT_TRUE(refused(data, how, ErrorCode::budget_exceeded));
}

/// The rounding of ten million records of 1,000 features is covered, and that of a hundred million is not.
TEST(LastIterateReleaser, RefusesStepsWhoseRoundingItsNoiseDoesNotCover) {
  const auto at = [](std::size_t records) {
    require_last_iterate(records, 1000, LogisticLoss{}, descent(AllRecords{Count{1}}, NoiseMultiplier{1}));
  };
  EXPECT_NO_THROW(at(10'000'000));
  EXPECT_TRUE(refuses([&] { at(100'000'000); }, ErrorCode::invalid_argument, {"use a smaller radius"}));
}

}  // namespace
}  // namespace surety::optimizers::last_iterate_releaser_test
