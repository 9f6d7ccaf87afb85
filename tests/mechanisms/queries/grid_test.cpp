#include <surety/mechanisms/queries/grid.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <surety/base/text/error.h>

namespace surety::mechanisms::grid_test {
namespace {

TEST(Grid, ReadsAsAnAggregate) {
  const Grid grid{.log2_step = -20};
  EXPECT_EQ(grid.step(), 0x1p-20);
  EXPECT_EQ(grid.steps_per_unit(), 0x1p20);
}

TEST(Grid, RefusesAStepWhoseMultiplesAreNotAllNormal) {
  for (const int outside : {-901, 901}) {
    try {
      const Grid grid{.log2_step = outside};
      ADD_FAILURE() << grid.step();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string{error.what()}.find("must be from -900 to 900"), std::string::npos) << error.what();
    }
  }
  for (const int inside : {-900, 900}) {
    const Grid grid{.log2_step = inside};
    EXPECT_TRUE(std::isnormal(grid.step()));
    EXPECT_TRUE(std::isnormal(grid.steps_per_unit()));
    EXPECT_TRUE(std::isnormal(to_reals({grid, {std::numeric_limits<std::int64_t>::min()}}).front()));
  }
}

TEST(Grid, HasThePowerOfTwoAsItsStep) {
  for (int exponent = Log2Step::lowest; exponent <= Log2Step::highest; ++exponent) {
    const Grid grid{exponent};
    ASSERT_EQ(grid.step(), std::ldexp(1.0, exponent)) << exponent;
    ASSERT_EQ(grid.steps_per_unit(), std::ldexp(1.0, -exponent)) << exponent;
  }
}

TEST(RoundToNearest, TakesTheNearestPointAndHalvesAwayFromZero) {
  const std::array values{0.0, -0.0, 0.624, 0.625, -0.625, 1e-300, -7.9, 0.12499999999999999};
  const auto rounded = round_to_nearest(values, Grid{-2});
  EXPECT_EQ(rounded.steps, (std::vector<std::int64_t>{0, 0, 2, 3, -3, 0, -32, 0}));
}

TEST(RoundToNearest, SaturatesAndNeverThrows) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::array values{infinity, -infinity, std::nan(""), 1e308, -1e308, 0x1p62, 0x1.fffffffffffffp61, 5e-324};
  const auto steps = round_to_nearest(values, Grid{0}).steps;
  EXPECT_EQ(steps, (std::vector<std::int64_t>{largest_sum, -largest_sum, 0, largest_sum, -largest_sum, largest_sum, largest_sum - 512, 0}));
  EXPECT_EQ(round_to_nearest(std::array{1e308}, Grid{-900}).steps.front(), largest_sum);
  EXPECT_EQ(round_to_nearest(std::array{1e280}, Grid{900}).steps.front(), std::llround(std::ldexp(1e280, -900)));
}

RC_GTEST_PROP(RoundToNearest, MovesAValueByAtMostHalfAStep, ()) {
  const int exponent = *rc::gen::inRange(-40, 40);
  const double value = *rc::gen::arbitrary<double>();
  const Grid grid{exponent};
  RC_PRE(std::abs(value) < 0x1p50 * grid.step());
  const double rounded = to_reals(round_to_nearest(std::array{value}, grid)).front();
  RC_ASSERT(std::abs(rounded - value) <= grid.step() / 2);
}

RC_GTEST_PROP(RoundToNearest, InvertsToRealsUpTo53Bits, (const std::vector<std::int32_t>& steps)) {
  const GridVector vector{Grid{*rc::gen::inRange(-900, 901)}, {steps.begin(), steps.end()}};
  RC_ASSERT(round_to_nearest(to_reals(vector), vector.grid) == vector);
}

TEST(SaturatingAdd, IsTheClampedSumOfUnsaturatedNoise) {
  __extension__ using Wide = __int128;
  constexpr std::int64_t greatest = std::numeric_limits<std::int64_t>::max();
  const std::array<Wide, 12> magnitudes{0,
                                        1,
                                        77,
                                        largest_sum - 2,
                                        largest_sum - 1,
                                        largest_sum,
                                        largest_sum + 1,
                                        greatest - 1,
                                        greatest,
                                        Wide{greatest} + 1,
                                        Wide{greatest} + largest_sum,
                                        Wide{greatest} * greatest};
  const auto clamped = [](Wide value, Wide limit) { return static_cast<std::int64_t>(std::clamp(value, -limit, limit)); };
  for (const Wide exact : magnitudes) {
    for (const Wide noise : magnitudes) {
      for (const auto& [a, b] : {std::pair{exact, noise}, {exact, -noise}, {-exact, noise}, {-exact, -noise}}) {
        const auto expected = clamped(Wide{clamped(a, largest_sum)} + b, largest_sum - 1);
        EXPECT_EQ(saturating_add(clamped(a, greatest), clamped(b, greatest)), expected);
      }
    }
  }
  EXPECT_EQ(saturating_add(-greatest - 1, 5), -largest_sum + 5);
}

TEST(ToReals, IsTheNearestDoubleBeyond53Bits) {
  EXPECT_EQ(to_reals({Grid{-1}, {(std::int64_t{1} << 53) + 1, (std::int64_t{1} << 53) + 3}}), (std::vector{0x1p52, 0x1p52 + 2}));
}

}  // namespace
}  // namespace surety::mechanisms::grid_test
