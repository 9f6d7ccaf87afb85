// References to releasers, streams, selectors and losses: they pass on what they are given, and a copy refers to what the first one did.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include <surety/optimizers/doors/learner_releaser.h>
#include <surety/optimizers/doors/perturbing_releaser.h>
#include <surety/optimizers/doors/run.h>
#include <surety/optimizers/doors/sampled_releaser.h>
#include <surety/optimizers/doors/selector.h>
#include <surety/optimizers/doors/stream.h>

namespace surety::optimizers::references_test {
namespace {

const Event event = gaussian(NoiseMultiplier{2}, Adjacency::replace_one);
const L2Sensitivity sensitivity{0.5};
GridVector query(std::int64_t steps) { return {.grid = {.log2_step = -3}, .steps = {steps}}; }

/// Through a copy of a copy, whose originals are gone.
template <class Ref>
Ref copied(Ref ref) {
  Ref copy = ref;
  return Ref{copy};
}

// What releases nothing is no releaser.
struct Nothing {};
static_assert(!std::is_constructible_v<ReleaserRef, Nothing&> && !std::is_constructible_v<SamplingReleaserRef, ExactReleaser&>);
static_assert(!std::is_constructible_v<PerturbingReleaserRef, ExactReleaser&> && !std::is_constructible_v<SelectorRef, ExactReleaser&>);
static_assert(!std::is_constructible_v<StreamReleaserRef<>, ScriptedStream<L1Sensitivity>&>);

TEST(ReleaserRef, PassesOnWhatIsAskedAndAnswered) {
  ScriptedReleaser releaser{{{1}, {2}}};
  const ReleaserRef ref = copied<ReleaserRef>(releaser);
  EXPECT_EQ(ref.release(query(7), sensitivity, event), std::vector<double>{1});
  EXPECT_EQ(copied(ref).release(query(8), L2Sensitivity{3}, event), std::vector<double>{2});
  ASSERT_EQ(releaser.log().size(), 2U);
  EXPECT_EQ(releaser.log()[0].query.steps, std::vector<std::int64_t>{7});
  EXPECT_EQ(releaser.log()[1].sensitivity, L2Sensitivity{3});
  EXPECT_TRUE(releaser.log()[1].event == event);
  const ExactReleaser exact;  // one that does not change
  EXPECT_EQ(ReleaserRef{exact}.release(query(4), sensitivity, event), std::vector<double>{0.5});
}

TEST(SamplingReleaserRef, PassesOnBatchesAndBothKindsOfReleases) {
  ScriptedSamplingReleaser releaser{{{0, 2}}, {{1}, {2}}};
  const SamplingReleaserRef ref = copied<SamplingReleaserRef>(releaser);
  const auto batch = ref.draw_batch(3);
  EXPECT_EQ(std::vector<std::size_t>(batch.begin(), batch.end()), (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(ref.release_sampled(query(7), sensitivity, event), std::vector<double>{1});
  EXPECT_EQ(ref.release(query(8), sensitivity, event), std::vector<double>{2});
  ASSERT_EQ(releaser.log().size(), 2U);
  EXPECT_EQ(releaser.log()[0].batch, std::size_t{0});
  EXPECT_FALSE(releaser.log()[1].batch);
}

TEST(StreamReleaserRef, PassesOnPushesAndTheGrid) {
  ScriptedStream<> stream{{.log2_step = -3}, {{1}, {2}}};
  const StreamReleaserRef<> ref = copied<StreamReleaserRef<>>(stream);
  EXPECT_EQ(ref.grid(), stream.grid());
  EXPECT_EQ(ref.push(query(7), sensitivity), std::vector<double>{1});
  EXPECT_EQ(ref.push(query(8), L2Sensitivity{4}), std::vector<double>{2});
  ASSERT_EQ(stream.log().size(), 2U);
  EXPECT_EQ(stream.log()[0].contribution.steps, std::vector<std::int64_t>{7});
  EXPECT_EQ(stream.log()[1].sensitivity, L2Sensitivity{4});
}

TEST(SelectorRef, PassesOnScoresAndChoices) {
  ScriptedSelector selector{{1}};
  const SelectorRef ref = copied<SelectorRef>(selector);
  EXPECT_EQ(ref.select(std::vector<double>{3, 4}, ScoreSensitivity{2}, ScoreChange::one_way, event), 1U);
  ASSERT_EQ(selector.log().size(), 1U);
  EXPECT_EQ(selector.log()[0].scores, (std::vector<double>{3, 4}));
  EXPECT_EQ(selector.log()[0].sensitivity, ScoreSensitivity{2});
  EXPECT_EQ(selector.log()[0].change, ScoreChange::one_way);
}

/// Says what it was asked.
struct Echo {
  std::vector<double> perturb(std::size_t dimension, L2Sensitivity sigma, const Event& /*event*/) {
    return std::vector<double>(dimension, sigma.value());
  }
  std::vector<double> release(const GridVector& asked, L2Sensitivity /*sensitivity*/, const Event& /*event*/) {
    return mechanisms::to_reals(asked);
  }
  std::uint64_t rounds = 0;
  void begin(const GossipPass& pass) { rounds = pass.rounds; }
  std::vector<double> release(std::size_t learner, std::uint64_t round, const GridVector& /*query*/, L2Sensitivity bound) {
    return {static_cast<double>(learner), static_cast<double>(round), bound.value()};
  }
};

TEST(PerturbingReleaserRef, PassesOnPerturbationsAndReleases) {
  Echo echo;
  const auto ref = copied<PerturbingReleaserRef>(echo);
  EXPECT_EQ(ref.perturb(2, L2Sensitivity{3}, event), (std::vector<double>{3, 3}));
  EXPECT_EQ(ref.release(query(8), sensitivity, event), std::vector<double>{1});
}

TEST(LearnerReleaserRef, PassesOnPassesAndReleases) {
  Echo echo;
  const auto ref = copied<LearnerReleaserRef>(echo);
  ref.begin({.rounds = 9, .release = event, .pass = event});
  EXPECT_EQ(echo.rounds, 9U);
  EXPECT_EQ(ref.release(2, 3, query(1), sensitivity), (std::vector<double>{2, 3, 0.5}));
}

TEST(LearnerBitsRef, DrawsFromTheBitsOfTheLearner) {
  mechanisms::ReplayBits source{3};
  mechanisms::ReplayBits same{3};
  SharedBits shared{source};
  const auto ref = copied<LearnerBitsRef>(shared);
  for (const std::size_t learner : {0, 1, 0}) {
    const mechanisms::BitsRef bits = ref.of(learner);
    EXPECT_EQ(mechanisms::draw_word(bits), mechanisms::draw_word(same));
  }
}

}  // namespace
}  // namespace surety::optimizers::references_test
