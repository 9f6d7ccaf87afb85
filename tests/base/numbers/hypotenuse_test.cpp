#include <surety/base/numbers/hypotenuse.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace surety::accounting::hypotenuse_test {
namespace {

TEST(Hypotenuse, IsThatOfTheCLibraryToTheBit) {
  std::mt19937_64 words{3};
  std::uniform_real_distribution<double> exponents{-1070, 1020};
  for (int i = 0; i < 100'000; ++i) {
    const double x = std::exp2(exponents(words));
    const double y = i % 2 == 0 ? std::exp2(exponents(words)) : x * std::exp2(exponents(words) / 100);
    EXPECT_EQ(hypotenuse(x, y), std::hypot(x, y)) << x << ' ' << y;
    EXPECT_EQ(hypotenuse(-x, y), hypotenuse(x, y));
  }
  constexpr double largest = std::numeric_limits<double>::max();
  EXPECT_EQ(hypotenuse(largest / 2, largest / 2), largest / 2 * std::sqrt(2.0));
  EXPECT_EQ(hypotenuse(0, 5e-324), 5e-324);
  EXPECT_EQ(hypotenuse(3, 4), 5);
}

}  // namespace
}  // namespace surety::accounting::hypotenuse_test
