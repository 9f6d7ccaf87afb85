#include <surety/optimizers/doors/sampled_releaser.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include <surety/mechanisms/bits/random_bits.h>

#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::optimizers::sampled_releaser_test {
namespace {

using mechanisms::FixedSizeBatches;
using mechanisms::PoissonBatches;
using mechanisms::ReplayBits;

const PoissonBatches poisson{SamplingRate{0.25}};
const FixedSizeBatches fixed{Batches{Count{40}, Count{10}}};
const L2Sensitivity sensitivity{0.75};

GridVector zeros(std::size_t size) { return {.grid = {.log2_step = -20}, .steps = std::vector<std::int64_t>(size)}; }

Event adding(double z) { return gaussian(NoiseMultiplier{z}, Adjacency::add_or_remove_one); }
Event replacing(double z) { return gaussian(NoiseMultiplier{z}, Adjacency::replace_one); }
Event replacing_in_sum(double z) { return record_sum(NoiseMultiplier{z}, Adjacency::replace_one); }

class NoisySamplingReleaserTest : public ::testing::Test {
 protected:
  accounting::Reservation reserve(const Event& event) {
    return accounting::Ledger::create(folder_ / std::to_string(++ledgers_), event.adjacency()).reserve({.event = event});
  }

  TemporaryFolder folder_;
  int ledgers_ = 0;
  ReplayBits bits_{1};
};

// The batch is the sampler's own, bit by bit, and so is what is charged.
TEST_F(NoisySamplingReleaserTest, ChargesTheSamplerThatDrewTheBatch) {
  auto reservation = reserve(repeat(Count{3}, poisson.event(adding(2.5))));
  NoisySamplingReleaser releaser{reservation, bits_, poisson};
  ReplayBits same{1};
  const auto batch = releaser.draw_batch(1000);
  EXPECT_EQ(std::vector(batch.begin(), batch.end()), poisson.draw(1000, same));
  EXPECT_FALSE(reservation.released().event());
  static_cast<void>(releaser.release_sampled(zeros(2), sensitivity, adding(2.5)));
  EXPECT_EQ(reservation.released().event(), surety::poisson(SamplingRate{0.25}, adding(2.5)));
  static_cast<void>(releaser.draw_batch(1000));
  static_cast<void>(releaser.release_sampled(zeros(2), sensitivity, adding(2.5)));
  EXPECT_EQ(reservation.released().count(poisson.event(adding(2.5))), 2U);

  auto other = reserve(fixed.event(replacing(2.5)));
  NoisySamplingReleaser of_fixed_size{other, bits_, fixed};
  EXPECT_EQ(of_fixed_size.draw_batch(40).size(), 10U);
  static_cast<void>(of_fixed_size.release_sampled(zeros(2), sensitivity, replacing(2.5)));
  EXPECT_EQ(other.released().event(), without_replacement(Count{40}, Count{10}, replacing(2.5)));
}

TEST_F(NoisySamplingReleaserTest, ChargesBatchesOfALargestSize) {
  const mechanisms::TruncatedBatches truncated{SamplingRate{0.25}, Batches{Count{40}, Count{8}}, Adjacency::zero_out};
  const Event release = gaussian(NoiseMultiplier{2.5}, Adjacency::zero_out);
  auto reservation = reserve(repeat(Count{2}, truncated.event(release)));
  NoisySamplingReleaser releaser{reservation, bits_, truncated};
  for (std::uint64_t t = 1; t <= 2; ++t) {
    EXPECT_LE(releaser.draw_batch(40).size(), 8U);
    static_cast<void>(releaser.release_sampled(zeros(2), sensitivity, release));
    EXPECT_EQ(reservation.released().count(truncated_poisson(SamplingRate{0.25}, Count{8}, Count{40}, release)), t);
  }
  // What it costs depends on how many displace each other.
  EXPECT_TRUE(refuses([&] { static_cast<void>(releaser.draw_batch(39)); }, ErrorCode::invalid_argument, {"39 records, must have 40"}));
}

// A plan for one sampler is of no use to another: not for another rate, not for a fixed size, not for no sampler at all.
TEST_F(NoisySamplingReleaserTest, RefusesAPlanOfAnotherSampler) {
  const auto refused = [&](const Event& planned, const auto& sampler, const Event& event) {
    auto reservation = reserve(planned);
    NoisySamplingReleaser releaser{reservation, bits_, sampler};
    static_cast<void>(releaser.draw_batch(40));
    return refuses([&] { static_cast<void>(releaser.release_sampled(zeros(1), sensitivity, event)); }, ErrorCode::budget_exceeded,
                   {"beyond what is left of its plan"});
  };
  const PoissonBatches rounded{SamplingRate{std::nextafter(0.25, 1)}};
  EXPECT_TRUE(refused(poisson.event(adding(2)), rounded, adding(2)));
  EXPECT_TRUE(refused(fixed.event(replacing_in_sum(2)), poisson, replacing_in_sum(2)));
  EXPECT_TRUE(refused(poisson.event(replacing_in_sum(2)), fixed, replacing_in_sum(2)));
  EXPECT_TRUE(refused(shuffled(Count{40}, Count{10}, replacing(2)), fixed, replacing(2)));
  EXPECT_TRUE(refused(adding(2), poisson, adding(2)));
  // And a batch that is charged as all records would be overcharged: refused too.
  auto reservation = reserve(poisson.event(adding(2)));
  NoisySamplingReleaser releaser{reservation, bits_, poisson};
  EXPECT_TRUE(refuses([&] { static_cast<void>(releaser.release(zeros(1), sensitivity, adding(2))); }, ErrorCode::budget_exceeded, {}));
}

TEST_F(NoisySamplingReleaserTest, ReleasesABatchOnce) {
  auto reservation = reserve(repeat(Count{5}, poisson.event(adding(2))));
  NoisySamplingReleaser releaser{reservation, bits_, poisson};
  const auto refused = [&] {
    return refuses([&] { static_cast<void>(releaser.release_sampled(zeros(1), sensitivity, adding(2))); }, ErrorCode::internal,
                   {"a batch"});
  };
  EXPECT_TRUE(refused()) << "before any batch is drawn";
  static_cast<void>(releaser.draw_batch(100));
  static_cast<void>(releaser.release_sampled(zeros(1), sensitivity, adding(2)));
  EXPECT_TRUE(refused()) << "a second time";
  EXPECT_EQ(reservation.released().count(poisson.event(adding(2))), 1U);
  // A batch that served nothing costs nothing.
  static_cast<void>(releaser.draw_batch(100));
  static_cast<void>(releaser.draw_batch(100));
  static_cast<void>(releaser.release_sampled(zeros(1), sensitivity, adding(2)));
  EXPECT_EQ(reservation.released().count(poisson.event(adding(2))), 2U);
}

TEST_F(NoisySamplingReleaserTest, UsesABatchUpEvenWhenItsReleaseFails) {
  auto reservation = reserve(poisson.event(adding(2)));
  NoisySamplingReleaser releaser{reservation, bits_, poisson};
  static_cast<void>(releaser.draw_batch(100));
  EXPECT_TRUE(
      refuses([&] { static_cast<void>(releaser.release_sampled(zeros(1), sensitivity, adding(3))); }, ErrorCode::budget_exceeded, {}));
  EXPECT_TRUE(
      refuses([&] { static_cast<void>(releaser.release_sampled(zeros(1), sensitivity, adding(2))); }, ErrorCode::internal, {"a batch"}));
}

TEST_F(NoisySamplingReleaserTest, RefusesWhatIsNoGaussianReleaseOfOneBatch) {
  auto reservation = reserve(poisson.event(adding(2)));
  NoisySamplingReleaser releaser{reservation, bits_, poisson};
  static_cast<void>(releaser.draw_batch(100));
  const auto refused = [&](const Event& event) {
    return refuses([&] { static_cast<void>(releaser.release_sampled(zeros(1), sensitivity, event)); }, ErrorCode::unsupported,
                   {describe(event)});
  };
  EXPECT_TRUE(refused(laplace(NoiseScale{2}, Adjacency::add_or_remove_one)));
  EXPECT_TRUE(refused(repeat(Count{2}, adding(2))));
  EXPECT_TRUE(refused(compose({adding(2), adding(2)})));
  // No theorem for a Gaussian release of a Poisson batch under replace-one, nor for a batch of a batch.
  for (const Event& event : {replacing(2), poisson.event(adding(2))}) {
    EXPECT_TRUE(
        refuses([&] { static_cast<void>(releaser.release_sampled(zeros(1), sensitivity, event)); }, ErrorCode::invalid_argument, {}));
  }
  EXPECT_FALSE(reservation.released().event());
}

// The standard deviation of the root mean square of n draws is 1/sqrt(2n) = 0.16 %: six of them.
TEST_F(NoisySamplingReleaserTest, DrawsNoiseOfTheScaleOfTheEvent) {
  constexpr std::size_t n = 200'000;
  const auto deviation = [&](const std::vector<double>& released) {
    return std::sqrt(std::transform_reduce(released.begin(), released.end(), released.begin(), 0.0) / n);
  };
  auto reservation = reserve(compose({poisson.event(adding(2.5)), adding(4)}));
  NoisySamplingReleaser releaser{reservation, bits_, poisson};
  static_cast<void>(releaser.draw_batch(10));
  EXPECT_NEAR(deviation(releaser.release_sampled(zeros(n), sensitivity, adding(2.5))) / (2.5 * 0.75), 1, 0.0095);
  // All records, from the same reservation, without amplification.
  EXPECT_NEAR(deviation(releaser.release(zeros(n), sensitivity, adding(4))) / (4 * 0.75), 1, 0.0095);

  // Records of norm C, sensitivity 2C, noise z C.
  auto sums = reserve(poisson.event(replacing_in_sum(2.5)));
  NoisySamplingReleaser of_sums{sums, bits_, poisson};
  static_cast<void>(of_sums.draw_batch(10));
  EXPECT_NEAR(deviation(of_sums.release_sampled(zeros(n), L2Sensitivity{2 * 0.75}, replacing_in_sum(2.5))) / (2.5 * 0.75), 1, 0.0095);
}

// A step is spent in less than a microsecond, so a run of many steps is not spent ahead.
TEST_F(NoisySamplingReleaserTest, SpendsManyStepsOneByOne) {
  constexpr std::uint64_t steps = 2000;
  auto reservation = reserve(repeat(Count{steps}, poisson.event(adding(2))));
  NoisySamplingReleaser releaser{reservation, bits_, poisson};
  for (std::uint64_t t = 0; t < steps; ++t) {
    static_cast<void>(releaser.draw_batch(10));
    static_cast<void>(releaser.release_sampled(zeros(1), sensitivity, adding(2)));
  }
  EXPECT_TRUE(reservation.released() == accounting::Releases::of(repeat(Count{steps}, poisson.event(adding(2)))));
}

}  // namespace
}  // namespace surety::optimizers::sampled_releaser_test
