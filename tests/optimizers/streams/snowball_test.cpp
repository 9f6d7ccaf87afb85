#include <surety/optimizers/streams/snowball.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include <support/refusal.h>

namespace surety::optimizers::snowball_test {
namespace {

TEST(SnowballBatches, GrowAsTheStepsBehindThemBecomeFewer) {
  for (const auto& [records, steps] : {std::pair{1, 1}, {7, 7}, {100, 1}, {2000, 100}, {20190, 300}, {1'000'000, 2000}}) {
    const auto sizes = snowball_batches(Count{static_cast<std::uint64_t>(records)}, Count{static_cast<std::uint64_t>(steps)});
    double used = 0;
    double number = 0;
    double root = 1e300;  // the largest sqrt(M) with B_t >= sqrt(M / left) for all t
    for (const auto& [count, size] : sizes.all()) {
      // The first step of these has the most steps from it on.
      root = std::min(root, size * std::sqrt(steps - number));
      used += count * size;
      number += count;
    }
    EXPECT_EQ(number, steps);
    EXPECT_LE(used, records);
    // sum of ceil(sqrt(M / left)) is at most 2 sqrt(M T) + T.
    EXPECT_GE(root, std::max(1.0, (records - steps) / (2 * std::sqrt(steps)))) << records;
  }
}

TEST(SnowballBatches, AreRefusedBeyondAMillion) {
  EXPECT_TRUE(refuses([] { static_cast<void>(snowball_batches(Count{std::uint64_t{1} << 53}, Count{1'000'001})); },
                      ErrorCode::invalid_argument, {"steps are 1000001, must be at most 1000000"}));
  EXPECT_TRUE(refuses([] { static_cast<void>(snowball_batches(Count{std::uint64_t{1} << 53}, Count{1'000'000})); },
                      ErrorCode::invalid_argument, {"1000000 steps on 9007199254740992 records", "use fewer steps"}));
}

}  // namespace
}  // namespace surety::optimizers::snowball_test
