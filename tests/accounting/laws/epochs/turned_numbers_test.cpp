#include <surety/accounting/laws/epochs/turned_numbers.h>

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

namespace surety::accounting::turned_numbers_test {
namespace {

using Complex = std::complex<long double>;

TEST(TurnedNumbers, ProductIsTheOperators) {
  const Complex x{1.5L, -0.25L};
  const Complex y{-3, 0.125L};
  EXPECT_EQ(times(x, y), x * y);  // exact in binary
}

// Near 0 by its series, where e^z - 1 as it is written has lost half of its digits.
TEST(TurnedNumbers, ExponentialLessOneKeepsItsDigits) {
  constexpr long double unit = std::numeric_limits<long double>::epsilon();
  for (const long double size : {1e-12L, 1e-6L, 1e-3L}) {
    for (const long double angle : {1.6L, 2.0L, 2.9L, 3.1L}) {
      const Complex z = std::polar(size, angle);
      const Complex series = z * (1.0L + z / 2.0L * (1.0L + z / 3.0L * (1.0L + z / 4.0L * (1.0L + z / 5.0L * (1.0L + z / 6.0L)))));
      EXPECT_LT(std::abs(exponential_less_one(z) - series), 8 * unit * size) << z;
    }
  }
  for (const Complex z : {Complex{-0.7L, 30}, Complex{-20, 1}, Complex{0, 2}}) {
    EXPECT_LT(std::abs(exponential_less_one(z) - (std::exp(z) - 1.0L)), 8 * unit) << z;
  }
  EXPECT_EQ(exponential_less_one({-60, 3}), (Complex{-1, 0}));
}

}  // namespace
}  // namespace surety::accounting::turned_numbers_test
