#include <surety/optimizers/doors/epoch_releaser.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include <surety/mechanisms/bits/random_bits.h>

#include <support/child_process.h>
#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::optimizers::epoch_releaser_test {
namespace {

using mechanisms::Allocation;
using mechanisms::ReplayBits;
using reference::in_child;

const Allocation allocation{Count{4}};
const L2Sensitivity sensitivity{0.75};

GridVector zeros(std::size_t size) { return {.grid = {.log2_step = -20}, .steps = std::vector<std::int64_t>(size)}; }
Event adding(double z) { return gaussian(NoiseMultiplier{z}, Adjacency::add_or_remove_one); }
const Event epoch = surety::allocated(Count{4}, adding(2.5));

class NoisyEpochReleaserTest : public ::testing::Test {
 protected:
  accounting::Reservation reserve(const Event& event) {
    return accounting::Ledger::create(folder_ / std::to_string(++ledgers_), event.adjacency()).reserve({.event = event});
  }
  /// One round, of 100 records.
  static void release(NoisyEpochReleaser& releaser, double z = 2.5) {
    static_cast<void>(releaser.draw_batch(100));
    static_cast<void>(releaser.release_sampled(zeros(2), sensitivity, adding(z)));
  }

  TemporaryFolder folder_;
  int ledgers_ = 0;
  ReplayBits bits_{1};
};

TEST_F(NoisyEpochReleaserTest, ServesEachRecordOnceAnEpochAndDealsAnew) {
  auto reservation = reserve(repeat(Count{2}, epoch));
  NoisyEpochReleaser releaser{reservation, bits_, allocation};
  ReplayBits same{1};
  std::vector<std::vector<std::size_t>> first_batches;
  const auto dealt = allocation.deal(1000, same);
  std::vector<int> served(1000);
  for (std::uint64_t round = 0; round < 8; ++round) {
    const auto batch = releaser.draw_batch(1000);
    for (const std::size_t place : batch) ++served[place];
    // The deal is the sampler's own, bit by bit.
    if (round < 4) {
      const auto own = dealt.batch(round);
      EXPECT_TRUE(std::equal(batch.begin(), batch.end(), own.begin(), own.end()));
    }
    if (round % 4 == 0) first_batches.emplace_back(batch.begin(), batch.end());
    EXPECT_EQ(std::accumulate(served.begin(), served.end(), 0) == 1000, round == 3) << round;
    if (round == 3) {
      for (const int times : served) EXPECT_EQ(times, 1);
    }
  }
  for (const int times : served) EXPECT_EQ(times, 2);
  EXPECT_NE(first_batches[0], first_batches[1]);
}

// Who stops after the first round has paid for the epoch, and who goes on pays no more.
TEST_F(NoisyEpochReleaserTest, ChargesAnEpochBeforeItsFirstRelease) {
  auto reservation = reserve(repeat(Count{3}, epoch));
  NoisyEpochReleaser releaser{reservation, bits_, allocation};
  static_cast<void>(releaser.draw_batch(100));
  EXPECT_FALSE(reservation.released().event());
  static_cast<void>(releaser.release_sampled(zeros(2), sensitivity, adding(2.5)));
  EXPECT_EQ(reservation.released().event(), epoch);
  for (int round = 1; round < 4; ++round) {
    release(releaser);
    EXPECT_EQ(reservation.released().count(epoch), 1U);
  }
  release(releaser);
  EXPECT_EQ(reservation.released().count(epoch), 2U);
  // The third epoch's first round serves nothing: its second one is charged for.
  for (int round = 1; round < 4; ++round) release(releaser);
  static_cast<void>(releaser.draw_batch(100));
  EXPECT_EQ(reservation.released().count(epoch), 2U);
  release(releaser);
  EXPECT_EQ(reservation.released().count(epoch), 3U);
  // An epoch beyond the plan.
  for (int round = 2; round < 4; ++round) release(releaser);
  EXPECT_TRUE(refuses([&] { release(releaser); }, ErrorCode::budget_exceeded, {"beyond what is left of its plan"}));
  EXPECT_EQ(reservation.released().count(epoch), 3U);
}

// Everybody's round may be empty: it is drawn and released like any other.
TEST_F(NoisyEpochReleaserTest, ServesEmptyRounds) {
  auto reservation = reserve(epoch);
  NoisyEpochReleaser releaser{reservation, bits_, allocation};
  for (int round = 0; round < 4; ++round) {
    EXPECT_TRUE(releaser.draw_batch(0).empty());
    EXPECT_NE(releaser.release_sampled(zeros(1), sensitivity, adding(2.5))[0], 0);
  }
  EXPECT_EQ(reservation.released().event(), epoch);
}

TEST_F(NoisyEpochReleaserTest, RefusesAPlanOfAnotherSampler) {
  const auto refused = [&](const Event& planned) {
    auto reservation = reserve(planned);
    NoisyEpochReleaser releaser{reservation, bits_, allocation};
    return refuses([&] { release(releaser); }, ErrorCode::budget_exceeded, {"beyond what is left of its plan"});
  };
  EXPECT_TRUE(refused(repeat(Count{4}, poisson(SamplingRate{0.25}, adding(2.5)))));
  EXPECT_TRUE(refused(surety::allocated(Count{5}, adding(2.5))));
  EXPECT_TRUE(refused(surety::allocated(Count{4}, adding(3))));
  EXPECT_TRUE(refused(adding(2.5)));
  EXPECT_FALSE(refused(epoch));
}

TEST_F(NoisyEpochReleaserTest, ReleasesARoundOnce) {
  auto reservation = reserve(repeat(Count{5}, epoch));
  NoisyEpochReleaser releaser{reservation, bits_, allocation};
  const auto refused = [&] {
    return refuses([&] { static_cast<void>(releaser.release_sampled(zeros(1), sensitivity, adding(2.5))); }, ErrorCode::internal,
                   {"a batch"});
  };
  EXPECT_TRUE(refused()) << "before any is drawn";
  release(releaser);
  EXPECT_TRUE(refused()) << "a second time";
  // Also when its release fails.
  auto other = reserve(surety::allocated(Count{4}, adding(3)));
  NoisyEpochReleaser failing{other, bits_, allocation};
  EXPECT_TRUE(refuses([&] { release(failing); }, ErrorCode::budget_exceeded, {"beyond what is left of its plan"}));
  EXPECT_TRUE(
      refuses([&] { static_cast<void>(failing.release_sampled(zeros(1), sensitivity, adding(3))); }, ErrorCode::internal, {"a batch"}));
}

// All of an epoch is one deal of one number of records, for one kind of release.
TEST_F(NoisyEpochReleaserTest, RefusesWhatIsNotOfItsEpoch) {
  auto reservation = reserve(compose({epoch, epoch, surety::allocated(Count{4}, adding(3)), adding(4)}));
  NoisyEpochReleaser releaser{reservation, bits_, allocation};
  const auto refused = [&](auto action, std::string_view words) { return refuses(action, ErrorCode::internal, {words}); };
  static_cast<void>(releaser.release(zeros(1), sensitivity, adding(4)));
  release(releaser);
  EXPECT_TRUE(refused([&] { release(releaser, 3); }, "must be 'gaussian(2.5)' in all rounds of this epoch"));
  EXPECT_TRUE(refused([&] { static_cast<void>(releaser.draw_batch(99)); }, "the number of records changes inside an epoch"));
  EXPECT_TRUE(refused([&] { static_cast<void>(releaser.release(zeros(1), sensitivity, adding(4))); }, "inside an epoch"));
  release(releaser);
  release(releaser);
  // The next one may be of others.
  static_cast<void>(releaser.draw_batch(99));
  static_cast<void>(releaser.release_sampled(zeros(1), sensitivity, adding(3)));
  EXPECT_EQ(reservation.released().count(epoch), 1U);
  EXPECT_EQ(reservation.released().count(surety::allocated(Count{4}, adding(3))), 1U);
}

TEST_F(NoisyEpochReleaserTest, RefusesWhatIsNoGaussianRelease) {
  auto reservation = reserve(epoch);
  NoisyEpochReleaser releaser{reservation, bits_, allocation};
  static_cast<void>(releaser.draw_batch(100));
  const auto refused = [&](const Event& event) {
    return refuses([&] { static_cast<void>(releaser.release_sampled(zeros(1), sensitivity, event)); }, ErrorCode::invalid_argument, {});
  };
  EXPECT_TRUE(refused(surety::laplace(NoiseScale{2}, Adjacency::add_or_remove_one)));
  EXPECT_TRUE(refused(poisson(SamplingRate{0.5}, adding(2.5))));
  EXPECT_TRUE(refused(gaussian(NoiseMultiplier{2.5}, Adjacency::replace_one)));
  EXPECT_FALSE(reservation.released().event());
}

// 200,000 draws in each round: the standard deviation of their root mean square is 0.16 %; six of them.
TEST_F(NoisyEpochReleaserTest, DrawsNoiseOfTheScaleOfTheEventInEveryRound) {
  auto reservation = reserve(epoch);
  NoisyEpochReleaser releaser{reservation, bits_, allocation};
  for (int round = 0; round < 4; ++round) {
    static_cast<void>(releaser.draw_batch(10));
    const auto released = releaser.release_sampled(zeros(200'000), sensitivity, adding(2.5));
    const double squares = std::transform_reduce(released.begin(), released.end(), released.begin(), 0.0);
    EXPECT_NEAR(std::sqrt(squares / 200'000) / (2.5 * 0.75), 1, 0.0095);
  }
}

// An epoch is charged once and released many times: its further rounds must not be had twice.
TEST_F(NoisyEpochReleaserTest, NothingIsDrawnByACopyOfTheProcess) {
  auto reservation = reserve(epoch);
  NoisyEpochReleaser releaser{reservation, bits_, allocation};
  release(releaser);
  static_cast<void>(releaser.draw_batch(100));
  EXPECT_EQ(in_child([&] {
              const auto refused = [](auto action) { return refuses(action, ErrorCode::invalid_argument, {"another process"}); };
              const bool all = refused([&] { static_cast<void>(releaser.release_sampled(zeros(2), sensitivity, adding(2.5))); }) &&
                               refused([&] { static_cast<void>(releaser.draw_batch(100)); });
              return all ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace surety::optimizers::epoch_releaser_test
