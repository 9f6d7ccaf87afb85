#include <support/drawn_cases.h>

#include <algorithm>
#include <string>

namespace surety::optimizers {

void expect_all_within_sensitivity(std::uint64_t seed, const std::function<Difference(std::mt19937_64& random)>& one_case, double nearly) {
  std::mt19937_64 random{seed};
  double largest = 0;
  for (int c = 0; c < 10'000; ++c) {
    const Difference found = one_case(random);
    ASSERT_TRUE(found.untainted) << "case " << c;
    ASSERT_LE(found.ratio, 1) << "case " << c;
    if (::testing::Test::HasFailure()) return;
    largest = std::max(largest, found.ratio);
  }
  EXPECT_GT(largest, nearly);
  ::testing::Test::RecordProperty("largest_ratio", std::to_string(largest));
}

void expect_charged(double lower, double charged, double part) {
  EXPECT_LE(lower, charged);
  EXPECT_GE(lower, part * charged);
  ::testing::Test::RecordProperty("lower_over_upper", std::to_string(lower / charged));
}

}  // namespace surety::optimizers
