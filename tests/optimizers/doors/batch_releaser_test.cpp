#include <surety/optimizers/doors/batch_releaser.h>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <vector>

#include <surety/mechanisms/bits/random_bits.h>
#include <surety/optimizers/bandits/polyhedral_bandit.h>
#include <surety/optimizers/gossip/gossip.h>

#include <support/ledger_test.h>
#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::optimizers::batch_releaser_test {
namespace {

constexpr auto adjacency = Adjacency::replace_one;
const Event release_event = gaussian(NoiseMultiplier{3}, adjacency);
const GridVector query{.grid = {.log2_step = -20}, .steps = {1 << 20, 2 << 20}};

BatchPass three_batches() {
  return {.batches = Count{3}, .release = release_event, .pass = deterministic(Count{30}, Count{10}, release_event)};
}

class NoisyBatchReleaserTest : public surety::testing::LedgerTest {};

// A record is in one batch of a pass, so the pass is charged once, before its first release, and the next pass anew.
TEST_F(NoisyBatchReleaserTest, ChargesAPassAtItsFirstRelease) {
  const BatchPass pass = three_batches();
  auto reservation = reserve(repeat(Count{2}, pass.pass));
  NoisyBatchReleaser releaser{reservation, bits_, pass};
  for (int release = 0; release < 6; ++release) {
    EXPECT_EQ(releaser.release(query, L2Sensitivity{1}, release_event).size(), 2U);
    EXPECT_TRUE(reservation.released() == accounting::Releases::of(repeat(Count{release < 3 ? 1U : 2U}, pass.pass))) << release;
  }
  EXPECT_THROW(static_cast<void>(releaser.release(query, L2Sensitivity{1}, release_event)), Error) << "a third pass is not reserved";
}

TEST_F(NoisyBatchReleaserTest, ReleasesNothingButWhatThePassSays) {
  const BatchPass pass = three_batches();
  auto reservation = reserve(pass.pass);
  NoisyBatchReleaser releaser{reservation, bits_, pass};
  EXPECT_TRUE(refuses([&] { static_cast<void>(releaser.release(query, L2Sensitivity{1}, gaussian(NoiseMultiplier{2}, adjacency))); },
                      ErrorCode::internal, {"gaussian(2)", "gaussian(3)"}));
  EXPECT_FALSE(reservation.released().event());
}

// Noise of 3 x sensitivity, whatever the sensitivity of a batch: far below the grid's step it rounds to nothing.
TEST_F(NoisyBatchReleaserTest, ScalesItsNoiseToTheSensitivityOfTheBatch) {
  const BatchPass pass = three_batches();
  auto reservation = reserve(pass.pass);
  NoisyBatchReleaser releaser{reservation, bits_, pass};
  EXPECT_EQ(releaser.release(query, L2Sensitivity{1e-12}, release_event), (std::vector<double>{1, 2}));
  EXPECT_NE(releaser.release(query, L2Sensitivity{1}, release_event), (std::vector<double>{1, 2}));
}

/// Whether `action`, which works here, is refused in a copy of this process.
template <class Action>
bool is_refused_in_a_copy(Action action) {
  action();
  const pid_t child = fork();
  if (child == 0) _exit(refuses(action, ErrorCode::invalid_argument, {"another process"}) ? 1 : 0);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  action();
  return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

// What spends once and draws many times must know the copy by itself: the reservation is asked no more.
TEST_F(NoisyBatchReleaserTest, NothingIsDrawnTwiceForOneChargeByACopyOfTheProcess) {
  BatchPass pass = three_batches();
  auto batches = reserve(pass.pass);
  NoisyBatchReleaser releaser{batches, bits_, pass};
  EXPECT_TRUE(is_refused_in_a_copy([&] { static_cast<void>(releaser.release(query, L2Sensitivity{1e-12}, release_event)); }));

  const Event choices = repeat(Count{9}, surety::exponential(Epsilon{1}, adjacency));
  auto arms = reserve(choices);
  SharedSelector selector{arms, bits_, choices};
  const std::vector<double> scores{1, 2};
  EXPECT_TRUE(is_refused_in_a_copy([&] {
    static_cast<void>(selector.select(scores, ScoreSensitivity{1}, ScoreChange::either_way, surety::exponential(Epsilon{1}, adjacency)));
  }));

  auto learners = reserve(pass.pass);
  SharedBits bits{bits_};
  NoisyLearnerReleaser charged{learners, bits};
  NoisyLearnerReleaser charged_elsewhere{ChargedByFirstNode{}, bits};
  for (auto* door : {&charged, &charged_elsewhere}) {
    door->begin({.rounds = 100, .release = release_event, .pass = pass.pass});
    std::uint64_t round = 0;
    EXPECT_TRUE(is_refused_in_a_copy([&] { static_cast<void>(door->release(0, round++, query, L2Sensitivity{1})); }));
  }
}

}  // namespace
}  // namespace surety::optimizers::batch_releaser_test
