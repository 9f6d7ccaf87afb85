// What one run of a search may release: Gaussians that cost no more than the one that is charged for it.
#include <surety/optimizers/doors/run_releaser.h>

#include <gtest/gtest.h>

#include <cmath>
#include <concepts>
#include <vector>

#include <surety/mechanisms/bits/random_bits.h>
#include <surety/optimizers/doors/run.h>

#include <support/counting_bits.h>
#include <support/refusal.h>

namespace surety::optimizers::run_releaser_test {
namespace {

constexpr auto adjacency = Adjacency::replace_one;
const L2Sensitivity sensitivity{0.75};
const NoiseMultiplier run{2.5};

GridVector zeros(std::size_t size) { return {.grid = {.log2_step = -20}, .steps = std::vector<std::int64_t>(size)}; }
Event gaussian_of(double multiplier) { return gaussian(NoiseMultiplier{multiplier}, adjacency); }

/// How many releases of multiplier z a run may make, up to `most`.
int allowed(double multiplier, int most) {
  mechanisms::ReplayBits bits{1};
  RunReleaser releaser{run, adjacency, bits};
  for (int k = 0; k < most; ++k) {
    if (refuses([&] { static_cast<void>(releaser.release(zeros(1), sensitivity, gaussian_of(multiplier))); }, ErrorCode::internal,
                {"beyond what is charged for it, gaussian(2.5)"}))
      return k;
  }
  return most;
}

TEST(RunReleaser, AllowsWhatItsGaussianCostsAndNothingMore) {
  static_assert(std::derived_from<RunReleaser, Releaser>);
  EXPECT_EQ(allowed(2.5, 3), 1);  // itself, once, without a margin
  EXPECT_EQ(allowed(2.4999999999999996, 1), 0);
  for (const int steps : {2, 7, 30, 1000}) {
    const double exact = 2.5 * std::sqrt(steps);
    EXPECT_EQ(allowed(exact * (1 + 1e-12), steps + 1), steps);
    EXPECT_EQ(allowed(exact * (1 - 1e-12), steps), steps - 1);
  }
}

TEST(RunReleaser, AddsDifferentMultipliers) {
  // 1 / 2.5^2 = .16 = .0625 + .04 + .0575
  const auto rest = [](double last) {
    mechanisms::ReplayBits bits{1};
    RunReleaser releaser{run, adjacency, bits};
    static_cast<void>(releaser.release(zeros(1), sensitivity, gaussian_of(4)));
    static_cast<void>(releaser.release(zeros(1), sensitivity, gaussian_of(5)));
    return !refuses([&] { static_cast<void>(releaser.release(zeros(1), sensitivity, gaussian_of(last))); }, ErrorCode::internal, {});
  };
  const double exact = 1 / std::sqrt(0.0575);
  EXPECT_TRUE(rest(exact * (1 + 1e-12)));
  EXPECT_FALSE(rest(exact * (1 - 1e-12)));
  EXPECT_FALSE(rest(4));  // not forgotten when it comes again
}

TEST(RunReleaser, DrawsNoBitForWhatItRefuses) {
  testing::CountingBits bits;
  RunReleaser releaser{run, adjacency, bits};
  const auto refused = [&](const Event& event, ErrorCode code) {
    return refuses([&] { static_cast<void>(releaser.release(zeros(3), sensitivity, event)); }, code, {});
  };
  EXPECT_TRUE(refused(repeat(Count{1}, gaussian_of(3)), ErrorCode::unsupported));
  EXPECT_TRUE(refused(gaussian(NoiseMultiplier{3}, Adjacency::zero_out), ErrorCode::internal));
  EXPECT_TRUE(refused(gaussian_of(2.4), ErrorCode::internal));
  EXPECT_TRUE(refused(gaussian_of(1e300), ErrorCode::invalid_argument));
  EXPECT_EQ(bits.fills, 0);
}

TEST(RunReleaser, DrawsNoiseOfTheAskedScale) {
  mechanisms::ReplayBits bits{11};
  RunReleaser releaser{run, adjacency, bits};
  constexpr std::size_t n = 100'000;
  auto query = zeros(n);
  for (auto& steps : query.steps) steps = 5 << 20;
  double square = 0;
  for (const double value : releaser.release(query, sensitivity, gaussian_of(4))) square += (value - 5) * (value - 5);
  // The standard deviation of the root mean square is 1 / sqrt(2 n) = 0.22 %: six of them.
  EXPECT_NEAR(std::sqrt(square / n) / (4 * 0.75), 1, 0.0135);
}

TEST(SquaredMu, IsAtLeastTheSumAndKnowsGaussiansAlone) {
  const Event event = compose({gaussian_of(4), repeat(Count{3}, gaussian_of(5)), repeat(Count{2}, gaussian_of(4))});
  const double exact = 3.0 / 16 + 3.0 / 25;
  EXPECT_GE(squared_mu(event).value(), exact);
  EXPECT_LE(squared_mu(event).value(), exact * (1 + 1e-14));
  EXPECT_FALSE(squared_mu(poisson(SamplingRate{0.5}, gaussian(NoiseMultiplier{4}, Adjacency::zero_out))).has_value());
}

}  // namespace
}  // namespace surety::optimizers::run_releaser_test
