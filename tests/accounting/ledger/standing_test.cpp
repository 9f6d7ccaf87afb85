// Where a ledger stands, and what its runs cost.
#include <surety/accounting/ledger/standing.h>

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <optional>
#include <string>

#include <surety/accounting/answers/best.h>

namespace surety::accounting::standing_test {
namespace {

constexpr auto adjacency = Adjacency::add_or_remove_one;
const Target promise{.epsilon = Epsilon{1.25}, .delta = Delta{1e-6}, .adjacency = adjacency};

Event noise(double multiplier) { return gaussian(NoiseMultiplier{multiplier}, adjacency); }

class StandingTest : public ::testing::Test {
 protected:
  StandingTest() { std::filesystem::create_directory(folder_); }
  ~StandingTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] Ledger made(const std::optional<Budget>& budget = {}) const {
    return Ledger::create(folder_ / "run.db", adjacency, budget);
  }
  std::filesystem::path folder_ = std::filesystem::temp_directory_path() / ("surety-standing-" + std::to_string(::getpid()));
};

TEST_F(StandingTest, OfRunsIsTheirCostAtTheirPromises) {
  auto ledger = made();
  static_cast<void>(ledger.reserve({.event = noise(9), .promise = promise}));
  static_cast<void>(ledger.reserve({.event = noise(9), .promise = promise, .not_private = true}));
  static_cast<void>(ledger.reserve({.event = noise(9)}));
  ledger.reserve({.event = noise(9), .promise = promise}).settle(Stopping::data_independent);
  RunCosts costs;
  const auto runs = ledger.runs();
  const auto own = quick_epsilon(noise(9), promise.delta);
  EXPECT_EQ(costs.of(runs[0]), own);
  EXPECT_EQ(costs.of(runs[1])->lower, own.lower);
  EXPECT_TRUE(std::isinf(costs.of(runs[1])->upper)) << "replayed noise promises nothing";
  EXPECT_FALSE(costs.of(runs[2]));
  EXPECT_EQ(costs.of(runs[3]), (Enclosure{0, 0})) << "nothing was released";
  EXPECT_EQ(to_json(runs[0], costs)["state"], "reserved");
  EXPECT_EQ(to_json(runs[3], costs)["state"], "settled");
  EXPECT_FALSE(to_json(runs[2], costs).contains("promise"));
}

TEST_F(StandingTest, WithoutABudgetBoundsNothing) {
  auto ledger = made();
  static_cast<void>(ledger.reserve({.event = noise(9)}));
  const Standing stands{ledger};
  EXPECT_EQ(stands.runs, 1U);
  EXPECT_FALSE(stands.balance || stands.like_the_last || stands.counts);
  EXPECT_FALSE(to_json(stands).contains("left"));
}

TEST_F(StandingTest, OfABudgetIsWhatItAdmits) {
  auto ledger = made(Budget{.target = promise, .filter = FilterKind::renyi});
  EXPECT_FALSE(Standing{ledger}.like_the_last) << "no run is the last";
  static_cast<void>(ledger.reserve({.event = noise(13), .promise = promise}));
  const Standing stands{ledger};
  ASSERT_TRUE(stands.like_the_last && stands.counts);
  EXPECT_EQ(epsilon_of_count(stands.balance->budget), 0.125);
  EXPECT_EQ(to_json(stands)["left"]["like_the_last"]["runs"], stands.like_the_last->runs);
  // As many as it says, and no more.
  for (std::uint64_t run = 0; run < stands.like_the_last->runs; ++run) {
    static_cast<void>(ledger.reserve({.event = noise(13), .promise = promise}));
  }
  EXPECT_THROW(static_cast<void>(ledger.reserve({.event = noise(13), .promise = promise})), Error);
  EXPECT_EQ(Standing{ledger}.like_the_last->runs, 0U);
}

}  // namespace
}  // namespace surety::accounting::standing_test
