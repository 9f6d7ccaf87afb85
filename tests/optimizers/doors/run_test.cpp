#include <surety/optimizers/doors/run.h>

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <cmath>
#include <concepts>
#include <vector>

#include <surety/mechanisms/bits/random_bits.h>

#include <support/counting_bits.h>
#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::optimizers::run_test {
namespace {

constexpr auto adjacency = Adjacency::replace_one;
const Event leaf = gaussian(NoiseMultiplier{2.5}, adjacency);
const L2Sensitivity sensitivity{0.75};

GridVector zeros(std::size_t size) { return {.grid = {.log2_step = -20}, .steps = std::vector<std::int64_t>(size)}; }

accounting::Reservation reserve(const TemporaryFolder& folder, const Event& event) {
  auto ledger = accounting::Ledger::open_or_create(folder / "ledger.db", adjacency);
  return ledger.reserve({.event = event, .not_private = true});
}

TEST(NoisyReleaser, SpendsThenDrawsNoiseOfTheAskedScale) {
  const TemporaryFolder folder;
  auto reservation = reserve(folder, repeat(Count{2}, leaf));
  mechanisms::ReplayBits bits{11};
  NoisyReleaser releaser{reservation, bits};
  static_assert(std::derived_from<decltype(releaser), Releaser>);
  // The standard deviation of the root mean square of n draws is 1/sqrt(2n) = 0.16 %: six of them.
  constexpr std::size_t n = 200'000;
  auto query = zeros(n);
  for (auto& steps : query.steps) steps = 5 << 20;
  const auto released = releaser.release(query, sensitivity, leaf);
  double square = 0;
  for (const double value : released) square += (value - 5) * (value - 5);
  EXPECT_NEAR(std::sqrt(square / n) / (2.5 * 0.75), 1, 0.0095);
  static_cast<void>(releaser.release(zeros(1), sensitivity, leaf));
  EXPECT_TRUE(refuses([&] { static_cast<void>(releaser.release(zeros(1), sensitivity, leaf)); }, ErrorCode::budget_exceeded, {}));
}

TEST(NoisyReleaser, DrawsNoBitBeforeTheEventIsSpent) {
  const TemporaryFolder folder;
  auto reservation = reserve(folder, leaf);
  testing::CountingBits bits;
  NoisyReleaser releaser{reservation, bits};
  const auto refused = [&](const Event& event, ErrorCode code) {
    return refuses([&] { static_cast<void>(releaser.release(zeros(3), sensitivity, event)); }, code, {});
  };
  EXPECT_TRUE(refused(repeat(Count{1}, leaf), ErrorCode::unsupported));
  EXPECT_TRUE(refused(gaussian(NoiseMultiplier{2.4}, adjacency), ErrorCode::budget_exceeded));
  EXPECT_TRUE(refused(gaussian(NoiseMultiplier{2.5}, Adjacency::zero_out), ErrorCode::budget_exceeded));
  EXPECT_TRUE(refused(gaussian(NoiseMultiplier{1e300}, adjacency), ErrorCode::invalid_argument));
  EXPECT_EQ(bits.fills, 0);
  // Parameters were checked before the event was spent: it is still there.
  EXPECT_EQ(releaser.release(zeros(3), sensitivity, leaf).size(), 3U);
  EXPECT_GT(bits.fills, 0);
}

}  // namespace
}  // namespace surety::optimizers::run_test
