// Each door is of the class that its maker names, and what it releases is charged where it says.
#include <surety/jobs/doors/releasers.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include <surety/mechanisms/bits/random_bits.h>
#include <surety/optimizers/doors/epoch_releaser.h>
#include <surety/optimizers/doors/run_releaser.h>
#include <surety/optimizers/doors/score_releaser.h>
#include <surety/optimizers/doors/vector_releaser.h>

#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::releasers_test {
namespace {

using namespace optimizers;
using mechanisms::ReplayBits;

constexpr auto adjacency = Adjacency::replace_one;
const Event leaf = gaussian(NoiseMultiplier{2}, adjacency);
const GridVector query{.grid = {.log2_step = -20}, .steps = {0, 0, 0}};
const L2Sensitivity sensitivity{0.5};

class ReleasersTest : public ::testing::Test {
 protected:
  accounting::Reservation reserve(const Event& event) {
    return accounting::Ledger::create(folder_ / std::to_string(++ledgers_), event.adjacency()).reserve({.event = event});
  }

  TemporaryFolder folder_;
  int ledgers_ = 0;
  ReplayBits bits_{1};
};

template <class Class, class Door>
bool is(const std::unique_ptr<Door>& door) {
  return dynamic_cast<const Class*>(door.get()) != nullptr;
}

TEST_F(ReleasersTest, AreOfTheClassesThatTheyName) {
  auto reservation = reserve(leaf);
  auto& make = jobs::releasers();
  EXPECT_TRUE(is<NoisyReleaser>(make.gaussian(reservation, bits_)));
  EXPECT_TRUE(is<NoisyVectorReleaser>(make.of_vector(reservation, bits_)));
  EXPECT_TRUE(is<NoisyBatchReleaser>(make.of_batches(reservation, bits_, {.batches = Count{2}, .release = leaf, .pass = leaf})));
  EXPECT_TRUE(is<RunReleaser>(make.of_run(NoiseMultiplier{2}, adjacency, bits_)));
  EXPECT_TRUE(is<ScoreReleaser>(make.of_score(reservation, bits_)));
  EXPECT_TRUE(is<NoisyPerturbingReleaser>(make.perturbing(reservation, bits_)));
  EXPECT_TRUE(is<NoisySelector>(make.selector(reservation, bits_)));
  SharedBits shared{bits_};
  EXPECT_TRUE(is<NoisyLearnerReleaser>(make.of_learners(reservation, shared)));
  EXPECT_TRUE(is<NoisyLearnerReleaser>(make.of_learners(ChargedByFirstNode{}, shared)));
  EXPECT_EQ(&jobs::releasers(), &make) << "one maker";
}

// The sampler of a door is the one that was asked for: what it charges is that one's event.
TEST_F(ReleasersTest, ChargeTheSamplerThatWasAskedFor) {
  const Event added = gaussian(NoiseMultiplier{2}, Adjacency::add_or_remove_one);
  const mechanisms::PoissonBatches poisson{SamplingRate{0.25}};
  const mechanisms::Allocation allocation{Count{4}};
  for (const auto& [sampler, event] :
       {std::pair<AnySampler, Event>{poisson, poisson.event(added)}, {allocation, allocation.event(added)}}) {
    auto reservation = reserve(event);
    const auto door = jobs::releasers().sampling(reservation, bits_, sampler);
    EXPECT_EQ(is<NoisyEpochReleaser>(door), std::holds_alternative<mechanisms::Allocation>(sampler));
    static_cast<void>(door->draw_batch(100));
    EXPECT_EQ(door->release_sampled(query, sensitivity, added).size(), 3U);
    EXPECT_EQ(reservation.released().event(), event);
  }
}

// A reservation is spent by the door that holds it, its bits are the noise, and where nothing is left nothing is drawn.
TEST_F(ReleasersTest, SpendTheReservationThatTheyAreGiven) {
  auto reservation = reserve(leaf);
  const auto door = jobs::releasers().gaussian(reservation, bits_);
  const auto released = door->release(query, sensitivity, leaf);
  EXPECT_EQ(reservation.released().event(), leaf);
  ReplayBits same{1};
  auto other = reserve(leaf);
  NoisyReleaser itself{other, same};
  EXPECT_EQ(itself.release(query, sensitivity, leaf), released);
  EXPECT_TRUE(refuses([&] { static_cast<void>(door->release(query, sensitivity, leaf)); }, ErrorCode::budget_exceeded, {}));

  const auto grid = mechanisms::continual_grid(mechanisms::Factorization::tree, Count{4}, sensitivity, NoiseMultiplier{2});
  const Event stream_event = continual_event(mechanisms::Factorization::tree, Count{4}, NoiseMultiplier{2}, adjacency);
  auto of_stream = reserve(stream_event);
  const auto stream = jobs::releasers().of_stream(of_stream, bits_,
                                                  mechanisms::GaussianContinualSum{{.factorization = mechanisms::Factorization::tree,
                                                                                    .steps = Count{4},
                                                                                    .dimension = Count{1},
                                                                                    .sensitivity = sensitivity,
                                                                                    .multiplier = NoiseMultiplier{2},
                                                                                    .grid = grid,
                                                                                    .adjacency = adjacency}},
                                                  sensitivity);
  EXPECT_EQ(stream->push({.grid = grid, .steps = {0}}, sensitivity).size(), 1U);
  EXPECT_EQ(of_stream.released().event(), stream_event);
  EXPECT_TRUE(refuses([&] { static_cast<void>(stream->push({.grid = grid, .steps = {0}}, L2Sensitivity{1})); }, ErrorCode::internal, {}));
}

}  // namespace
}  // namespace surety::releasers_test
