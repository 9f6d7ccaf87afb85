#include <surety/optimizers/doors/stream.h>

#include <gtest/gtest.h>

#include <concepts>
#include <optional>
#include <vector>

#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/additive/scaled_noise.h>
#include <surety/mechanisms/bits/random_bits.h>

#include <support/temporary_folder.h>

namespace surety::optimizers::stream_test {
namespace {

using mechanisms::AdaptiveTreeSum;
using mechanisms::ReplayBits;
using mechanisms::RestartedSum;
using mechanisms::ScaledGaussian;
using mechanisms::TreeSum;

const Grid grid{-20};
constexpr auto adjacency = Adjacency::replace_one;

GridVector contribution(std::int64_t steps) { return {.grid = grid, .steps = {steps}}; }

TreeSum<mechanisms::Gaussian> tree_sum(Count steps) {
  return {mechanisms::Gaussian{{.multiplier = NoiseMultiplier{2}, .sensitivity = L2Sensitivity{1}, .grid = grid, .adjacency = adjacency}},
          steps, Count{1}};
}
AdaptiveTreeSum<ScaledGaussian> adaptive_sum(Count steps, double multiplier = 2) {
  return {ScaledGaussian{{.multiplier = NoiseMultiplier{multiplier}, .grid = grid, .adjacency = adjacency}}, steps, Count{1}};
}

class NoisyStreamTest : public ::testing::Test {
 protected:
  accounting::Reservation& reserve(const Event& event) {
    reservation_.emplace(ledger_.reserve({.event = event, .note = "a stream"}));
    return *reservation_;
  }

  TemporaryFolder folder_;
  accounting::Ledger ledger_ = accounting::Ledger::create(folder_ / "ledger", adjacency);
  std::optional<accounting::Reservation> reservation_;
  ReplayBits bits_{1};
};

TEST_F(NoisyStreamTest, SpendsTheWholeSumBeforeItsFirstDraw) {
  const auto sum = tree_sum(Count{8});
  auto& reservation = reserve(sum.event());
  NoisyStream stream{reservation, bits_, sum, L2Sensitivity{1}};
  EXPECT_FALSE(reservation.released().event());
  for (int t = 0; t < 3; ++t) {
    EXPECT_EQ(stream.push(contribution(0), L2Sensitivity{1}).size(), 1U);
    EXPECT_EQ(reservation.released().event(), sum.event());
  }
}

TEST_F(NoisyStreamTest, DrawsNothingThatIsNotReserved) {
  NoisyStream stream{reserve(tree_sum(Count{7}).event()), bits_, tree_sum(Count{8}), L2Sensitivity{1}};
  EXPECT_THROW(static_cast<void>(stream.push(contribution(0), L2Sensitivity{1})), Error);
  EXPECT_EQ(mechanisms::draw_word(bits_), [] {
    ReplayBits same{1};
    return mechanisms::draw_word(same);
  }());
}

TEST_F(NoisyStreamTest, RefusesAPushBeyondItsSensitivity) {
  const auto sum = tree_sum(Count{8});
  NoisyStream stream{reserve(sum.event()), bits_, sum, L2Sensitivity{1}};
  EXPECT_THROW(static_cast<void>(stream.push(contribution(0), L2Sensitivity{1.5})), Error);
  EXPECT_FALSE(reservation_->released().event());
}

// The noise of an adaptive sum follows what each push says.
TEST_F(NoisyStreamTest, TellsAnAdaptiveSumItsSensitivities) {
  static_assert(std::derived_from<NoisyStream<AdaptiveTreeSum<ScaledGaussian>>, StreamReleaser<>>);
  const auto sum = adaptive_sum(Count{8});
  NoisyStream stream{reserve(sum.event()), bits_, sum, L2Sensitivity{1}};
  // Noise far below a grid step rounds to nothing; that of a large sensitivity does not.
  EXPECT_EQ(stream.push(contribution(5), L2Sensitivity{1e-12}), std::vector<double>{5 * grid.step()});
  EXPECT_NE(stream.push(contribution(5), L2Sensitivity{1}), std::vector<double>{10 * grid.step()});
  EXPECT_THROW(static_cast<void>(stream.push(contribution(5), L2Sensitivity{2})), Error);
}

TEST_F(NoisyStreamTest, ChargesAllEpochsOfARestartedSumAhead) {
  const RestartedSum<AdaptiveTreeSum<ScaledGaussian>> sum{Count{100}, [](Count epoch) { return adaptive_sum(epoch, 3); }};
  auto& reservation = reserve(sum.event());
  NoisyStream stream{reservation, bits_, sum, L2Sensitivity{1}};
  EXPECT_EQ(stream.push(contribution(0), L2Sensitivity{1}).size(), 1U);
  EXPECT_EQ(reservation.released().event(), sum.event());
  for (int t = 2; t <= 100; ++t) EXPECT_EQ(stream.push(contribution(0), L2Sensitivity{1}).size(), 1U) << t;
  EXPECT_THROW(static_cast<void>(stream.push(contribution(0), L2Sensitivity{1})), Error);
}

}  // namespace
}  // namespace surety::optimizers::stream_test
