// Doors as interfaces: what is no door of a kind is refused by its type, and whoever holds the interface reaches the door itself.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <surety/mechanisms/bits/random_bits.h>
#include <surety/optimizers/doors/batch_releaser.h>
#include <surety/optimizers/doors/epoch_releaser.h>
#include <surety/optimizers/doors/learner_releaser.h>
#include <surety/optimizers/doors/perturbing_releaser.h>
#include <surety/optimizers/doors/run.h>
#include <surety/optimizers/doors/run_releaser.h>
#include <surety/optimizers/doors/sampled_releaser.h>
#include <surety/optimizers/doors/score_releaser.h>
#include <surety/optimizers/doors/selector.h>
#include <surety/optimizers/doors/stream.h>
#include <surety/optimizers/doors/vector_releaser.h>
#include <surety/testing/releaser.h>
#include <surety/testing/sampling_releaser.h>
#include <surety/testing/selector.h>
#include <surety/testing/stream.h>

namespace surety::optimizers::interfaces_test {
namespace {

const Event event = gaussian(NoiseMultiplier{2}, Adjacency::replace_one);
const L2Sensitivity sensitivity{0.5};
GridVector query(std::int64_t steps) { return {.grid = {.log2_step = -3}, .steps = {steps}}; }

template <class Object, class Door>
constexpr bool is_door = std::is_convertible_v<Object&, Door&>;

// What releases nothing is no releaser, and one kind is no other.
struct Nothing {};
static_assert(!is_door<Nothing, Releaser> && !is_door<testing::ExactReleaser, SamplingReleaser>);
static_assert(!is_door<testing::ExactReleaser, PerturbingReleaser> && !is_door<testing::ExactReleaser, Selector>);
static_assert(!is_door<testing::ScriptedStream<L1Sensitivity>, StreamReleaser<>>);
// A function that has the words of a door, and does not say that it is one, is none.
struct HasTheWords {
  std::vector<double> release(const GridVector& /*query*/, L2Sensitivity /*sensitivity*/, const Event& /*event*/) { return {}; }
};
static_assert(!is_door<HasTheWords, Releaser>);

static_assert(is_door<NoisyReleaser, Releaser> && is_door<NoisyVectorReleaser, Releaser> && is_door<NoisyBatchReleaser, Releaser>);
static_assert(is_door<RunReleaser, Releaser> && is_door<ScoreReleaser, Releaser>);
static_assert(is_door<NoisySamplingReleaser<mechanisms::PoissonBatches>, SamplingReleaser>);
static_assert(is_door<NoisySamplingReleaser<mechanisms::FixedSizeBatches>, SamplingReleaser>);
static_assert(is_door<NoisySamplingReleaser<mechanisms::TruncatedBatches>, SamplingReleaser>);
static_assert(is_door<NoisyEpochReleaser, SamplingReleaser> && is_door<NoisyPerturbingReleaser, PerturbingReleaser>);
static_assert(is_door<NoisyLearnerReleaser, LearnerReleaser> && is_door<SharedBits, LearnerBits>);
static_assert(is_door<NoisySelector, Selector> && is_door<SharedSelector, Selector>);
// Each of these is a releaser of whole queries too.
static_assert(is_door<SamplingReleaser, Releaser> && is_door<PerturbingReleaser, Releaser>);

TEST(Releaser, IsAskedThroughItsInterface) {
  testing::ScriptedReleaser script{{{1}, {2}}};
  Releaser& releaser = script;
  EXPECT_EQ(releaser.release(query(7), sensitivity, event), std::vector<double>{1});
  EXPECT_EQ(releaser.release(query(8), L2Sensitivity{3}, event), std::vector<double>{2});
  ASSERT_EQ(script.log().size(), 2U);
  EXPECT_EQ(script.log()[0].query.steps, std::vector<std::int64_t>{7});
  EXPECT_EQ(script.log()[1].sensitivity, L2Sensitivity{3});
  EXPECT_TRUE(script.log()[1].event == event);
  testing::ExactReleaser exact;
  EXPECT_EQ(static_cast<Releaser&>(exact).release(query(4), sensitivity, event), std::vector<double>{0.5});
}

TEST(SamplingReleaser, IsAskedForBatchesAndBothKindsOfReleases) {
  testing::ScriptedSamplingReleaser script{{{0, 2}}, {{1}, {2}}};
  SamplingReleaser& releaser = script;
  const auto batch = releaser.draw_batch(3);
  EXPECT_EQ(std::vector<std::size_t>(batch.begin(), batch.end()), (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(releaser.release_sampled(query(7), sensitivity, event), std::vector<double>{1});
  EXPECT_EQ(static_cast<Releaser&>(releaser).release(query(8), sensitivity, event), std::vector<double>{2});
  ASSERT_EQ(script.log().size(), 2U);
  EXPECT_EQ(script.log()[0].batch, std::size_t{0});
  EXPECT_FALSE(script.log()[1].batch);
}

TEST(StreamReleaser, IsAskedForPushesAndTheGrid) {
  testing::ScriptedStream<> script{{.log2_step = -3}, {{1}, {2}}};
  StreamReleaser<>& stream = script;
  EXPECT_EQ(stream.grid(), Grid{.log2_step = -3});
  EXPECT_EQ(stream.push(query(7), sensitivity), std::vector<double>{1});
  EXPECT_EQ(stream.push(query(8), L2Sensitivity{4}), std::vector<double>{2});
  ASSERT_EQ(script.log().size(), 2U);
  EXPECT_EQ(script.log()[0].contribution.steps, std::vector<std::int64_t>{7});
  EXPECT_EQ(script.log()[1].sensitivity, L2Sensitivity{4});
}

TEST(Selector, IsAskedForChoices) {
  testing::ScriptedSelector script{{1}};
  Selector& selector = script;
  EXPECT_EQ(selector.select(std::vector<double>{3, 4}, ScoreSensitivity{2}, ScoreChange::one_way, event), 1U);
  ASSERT_EQ(script.log().size(), 1U);
  EXPECT_EQ(script.log()[0].scores, (std::vector<double>{3, 4}));
  EXPECT_EQ(script.log()[0].sensitivity, ScoreSensitivity{2});
  EXPECT_EQ(script.log()[0].change, ScoreChange::one_way);
}

/// Says what it was asked.
class PerturbingEcho final : public PerturbingReleaser {
 public:
  std::vector<double> perturb(std::size_t dimension, L2Sensitivity sigma, const Event& /*event*/) override {
    return std::vector<double>(dimension, sigma.value());
  }
  std::vector<double> release(const GridVector& asked, L2Sensitivity /*sensitivity*/, const Event& /*event*/) override {
    return mechanisms::to_reals(asked);
  }
};

TEST(PerturbingReleaser, IsAskedForPerturbationsAndReleases) {
  PerturbingEcho echo;
  PerturbingReleaser& releaser = echo;
  EXPECT_EQ(releaser.perturb(2, L2Sensitivity{3}, event), (std::vector<double>{3, 3}));
  EXPECT_EQ(static_cast<Releaser&>(releaser).release(query(8), sensitivity, event), std::vector<double>{1});
}

class LearnerEcho final : public LearnerReleaser {
 public:
  void begin(const GossipPass& pass) override { rounds = pass.rounds; }
  std::vector<double> release(std::size_t learner, std::uint64_t round, const GridVector& /*query*/, L2Sensitivity bound) override {
    return {static_cast<double>(learner), static_cast<double>(round), bound.value()};
  }
  std::uint64_t rounds = 0;
};

TEST(LearnerReleaser, IsAskedForPassesAndReleases) {
  LearnerEcho echo;
  LearnerReleaser& releaser = echo;
  releaser.begin({.rounds = 9, .release = event, .pass = event});
  EXPECT_EQ(echo.rounds, 9U);
  EXPECT_EQ(releaser.release(2, 3, query(1), sensitivity), (std::vector<double>{2, 3, 0.5}));
}

TEST(LearnerBits, DrawsFromTheBitsOfTheLearner) {
  mechanisms::ReplayBits source{3};
  mechanisms::ReplayBits same{3};
  SharedBits shared{source};
  LearnerBits& all = shared;
  for (const std::size_t learner : {0, 1, 0}) {
    const mechanisms::BitsRef bits = all.of(learner);
    EXPECT_EQ(mechanisms::draw_word(bits), mechanisms::draw_word(same));
  }
}

}  // namespace
}  // namespace surety::optimizers::interfaces_test
