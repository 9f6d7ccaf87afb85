#include <surety/mechanisms/additive/binomial.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include <surety/accounting/events/event_kinds.h>

#include <support/additive_checks.h>
#include <support/discrete_laws.h>
#include <support/integer_laws.h>
#include <support/refusal.h>

namespace surety::mechanisms::binomial_test {
namespace {

using reference::refusal_of;

Binomial with(Count flips, std::uint64_t sensitivity) {
  return Binomial{{.flips = flips, .sensitivity = CoordinateSensitivity{Count{sensitivity}}, .adjacency = Adjacency::zero_out}};
}

TEST(Binomial, KnowsItsEvent) {
  const auto mechanism = with(Count{100}, 3);
  EXPECT_EQ(mechanism.event(), binomial(Count{100}, Count{3}, Adjacency::zero_out));
  EXPECT_EQ(mechanism.options().flips, Count{100});
  EXPECT_EQ(mechanism.noise().flips(), std::uint64_t{100});
}

// To 2^-63: a release changes its mind where the law that the *event* names has its thresholds.
TEST(Binomial, DrawsFromTheLawThatItsEventNames) {
  const auto mechanism = with(Count{100}, 2);
  const auto threshold = [](std::uint64_t flips, std::int64_t j) {
    reference::Real sum{0};
    for (std::int64_t k = 60; k >= j; --k) sum = sum + 2 * testing::binomial_probability(flips, static_cast<std::uint64_t>(k));
    return testing::binary_digits(sum, 63);
  };
  for (const std::int64_t j : {1, 2, 5}) {
    expect_threshold(mechanism, j, threshold(100, j));
    EXPECT_NE(threshold(100, j), threshold(98, j));
  }
}

TEST(Binomial, ReleasesTheQueryPlusItsNoise) {
  expect_the_query_plus_its_noise(with(Count{100}, 1));
  expect_the_query_plus_its_noise(with(Count{100'000}, 1));
}

TEST(Binomial, ClampsAsAFunctionOfTheSum) {
  const auto mechanism = with(Count{100'000}, 1);
  const auto release = [&](std::int64_t query) {
    ReplayBits bits{5};
    return mechanism.release(query, bits);
  };
  const std::int64_t noise = release(0);
  EXPECT_GT(std::abs(noise), 2);
  EXPECT_EQ(release(largest_sum - 1), noise > 0 ? largest_sum - 1 : largest_sum - 1 + noise);
  EXPECT_EQ(release(std::numeric_limits<std::int64_t>::max()), release(largest_sum));
  EXPECT_EQ(release(std::numeric_limits<std::int64_t>::min()), release(-largest_sum));
}

TEST(Binomial, RefusesWhatIsOutOfRange) {
  EXPECT_TRUE(refusal_of([] { return with(Count{7}, 1); }).says(ErrorCode::invalid_argument, "flips is 7, must be even, from 2 to 2^52"));
  EXPECT_TRUE(refusal_of([] { return with(Count{0}, 1); }).refused);
  EXPECT_TRUE(refusal_of([] { return with(Count{100}, 0); }).refused);
}

}  // namespace
}  // namespace surety::mechanisms::binomial_test
