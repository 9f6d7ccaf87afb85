#include <surety/base/numbers/enclosure.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include <support/refusal.h>

namespace surety::enclosure_test {
namespace {

using reference::refusal_of;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(Enclosure, IsNeverEmptyAndHoldsNoNaN) {
  struct Ends {
    double lower;
    double upper;
  };
  for (const auto& [lower, upper] : {Ends{2, 1}, Ends{infinity, 1}, Ends{nan, 1}, Ends{1, nan}, Ends{nan, nan}}) {
    const auto refusal = refusal_of([lower = lower, upper = upper] { return Enclosure{lower, upper}; });
    EXPECT_TRUE(refusal.says(ErrorCode::internal, "empty or holds a NaN")) << lower << ' ' << upper << ' ' << refusal;
  }
}

TEST(Enclosure, MayBeOnePointOrUnbounded) {
  EXPECT_EQ((Enclosure{2.5, 2.5}).width(), 0);
  EXPECT_EQ((Enclosure{2.5, infinity}).width(), infinity);
  EXPECT_EQ((Enclosure{infinity, infinity}).width(), 0);
}

TEST(Enclosure, ContainsItsEndsAndNoMore) {
  const Enclosure enclosure{-1.5, 4};
  for (const double value : {-1.5, 0.0, 4.0}) EXPECT_TRUE(enclosure.contains(value)) << value;
  for (const double value : {-1.5000001, 4.0000001, infinity, nan}) EXPECT_FALSE(enclosure.contains(value)) << value;
}

TEST(Enclosure, AtMostReachesFromZeroToTheBound) { EXPECT_EQ(at_most(3.25), (Enclosure{0, 3.25})); }

TEST(Enclosure, OverlapIncludesTouching) {
  EXPECT_TRUE(overlap({1, 2}, {2, 3}));
  EXPECT_TRUE(overlap({1, 4}, {2, 3}));
  EXPECT_FALSE(overlap({1, 2}, {2.5, 3}));
  EXPECT_FALSE(overlap({2.5, 3}, {1, 2}));
}

RC_GTEST_PROP(Enclosure, OverlapsWhereOnePointIsInBoth, (int a, int b, int c, int d)) {
  const Enclosure first{static_cast<double>(std::min(a, b)), static_cast<double>(std::max(a, b))};
  const Enclosure second{static_cast<double>(std::min(c, d)), static_cast<double>(std::max(c, d))};
  const bool shares = first.contains(second.lower) || second.contains(first.lower);
  RC_ASSERT(overlap(first, second) == shares);
  RC_ASSERT(overlap(second, first) == shares);
}

}  // namespace
}  // namespace surety::enclosure_test
