#include <surety/mechanisms/additive/skellam.h>

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

namespace surety::mechanisms::skellam_test {
namespace {

using reference::refusal_of;

Skellam with(PoissonMean mean, std::uint64_t sensitivity) {
  return Skellam{{.mean = mean, .sensitivity = CoordinateSensitivity{Count{sensitivity}}, .adjacency = Adjacency::zero_out}};
}

TEST(Skellam, KnowsItsEvent) {
  const auto mechanism = with(PoissonMean{2.5}, 3);
  EXPECT_EQ(mechanism.event(), skellam(PoissonMean{2.5}, Count{3}, Adjacency::zero_out));
  EXPECT_EQ(mechanism.options().mean, PoissonMean{2.5});
  EXPECT_EQ(mechanism.noise().mean(), double{2.5});
}

// To 2^-63: a release changes its mind where the law that the *event* names has its thresholds.
TEST(Skellam, DrawsFromTheLawThatItsEventNames) {
  const auto mechanism = with(PoissonMean{2.5}, 2);
  const auto threshold = [](double mean, std::int64_t j) {
    reference::Real sum{0};
    for (std::int64_t k = 60; k >= j; --k) sum = sum + 2 * testing::skellam_probability(mean, static_cast<std::uint64_t>(k));
    return testing::binary_digits(sum, 63);
  };
  for (const std::int64_t j : {1, 2, 5}) {
    expect_threshold(mechanism, j, threshold(2.5, j));
    EXPECT_NE(threshold(2.5, j), threshold(2.25, j));
  }
}

TEST(Skellam, ReleasesTheQueryPlusItsNoise) {
  expect_the_query_plus_its_noise(with(PoissonMean{2.5}, 1));
  expect_the_query_plus_its_noise(with(PoissonMean{100'000}, 1));
}

TEST(Skellam, ClampsAsAFunctionOfTheSum) {
  const auto mechanism = with(PoissonMean{100'000}, 1);
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

TEST(Skellam, RefusesWhatIsOutOfRange) {
  EXPECT_TRUE(refusal_of([] {
                return with(PoissonMean{0x1.1p50}, 1);
              }).says(ErrorCode::invalid_argument, "must be greater than 0 and at most 2^50"));
  EXPECT_TRUE(refusal_of([] { return with(PoissonMean{0}, 1); }).refused);
  EXPECT_TRUE(refusal_of([] { return with(PoissonMean{2.5}, 0); }).refused);
  for (const double bad : {-1.0, 1e300, std::numeric_limits<double>::infinity(), std::nan("")}) {
    EXPECT_TRUE(refusal_of([&] { return with(PoissonMean{bad}, 1); }).refused) << bad;
  }
}

}  // namespace
}  // namespace surety::mechanisms::skellam_test
