#include <surety/mechanisms/queries/sensitivity.h>

#include <support/refusal.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <type_traits>

namespace surety::mechanisms::sensitivity_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(Sensitivity, IsFiniteAndPositiveAndNamesItsNorm) {
  EXPECT_EQ(refusal([] { return L1Sensitivity{0}; }), "l1 sensitivity is 0, must be finite and greater than 0");
  EXPECT_EQ(refusal([] { return L2Sensitivity{-1}; }), "l2 sensitivity is -1, must be finite and greater than 0");
  EXPECT_EQ(refusal([] { return LinfSensitivity{infinity}; }), "l-infinity sensitivity is inf, must be finite and greater than 0");
  EXPECT_EQ(refusal([] { return ClippingNorm{std::nan("")}; }), "clipping norm is nan, must be finite and greater than 0");
}

TEST(Sensitivity, OneNormIsNotAnother) {
  static_assert(!std::is_convertible_v<L1Sensitivity, L2Sensitivity> && !std::is_constructible_v<L2Sensitivity, L1Sensitivity>);
  static_assert(!std::is_constructible_v<L2Sensitivity, LinfSensitivity> && !std::is_convertible_v<double, L2Sensitivity>);
}

TEST(SensitivityOfClippedSum, IsTwiceTheNormUnderReplaceOneAlone) {
  const ClippingNorm clip{0.7};
  EXPECT_EQ(sensitivity_of_clipped_sum(clip, Adjacency::replace_one).value(), 1.4);
  EXPECT_EQ(sensitivity_of_clipped_sum(clip, Adjacency::add_or_remove_one).value(), 0.7);
  EXPECT_EQ(sensitivity_of_clipped_sum(clip, Adjacency::zero_out).value(), 0.7);
}

TEST(SensitivityOfClippedSum, RefusesToOverflow) {
  EXPECT_EQ(refusal([] { return sensitivity_of_clipped_sum(ClippingNorm{1e308}, Adjacency::replace_one); }),
            "l2 sensitivity is inf, must be finite and greater than 0");
}

TEST(AfterRounding, AddsTheChargeOfItsNorm) {
  const Grid grid{.log2_step = -4};
  EXPECT_EQ(after_rounding(L1Sensitivity{3}, grid, 9).value(), 3 + 9.0 / 16);
  EXPECT_EQ(after_rounding(L2Sensitivity{3}, grid, 9).value(), 3 + 3.0 / 16);
  EXPECT_EQ(after_rounding(LinfSensitivity{3}, grid, 9).value(), 3 + 1.0 / 16);
}

TEST(AfterRounding, RoundsUpwardWhereTheChargeIsNotADouble) {
  EXPECT_EQ(after_rounding(LinfSensitivity{1}, Grid{-900}, 1).value(), std::nextafter(1, 2));
  EXPECT_EQ(after_rounding(L2Sensitivity{1e-300}, Grid{-900}, 3).value(), std::nextafter(0x1p-900 * std::sqrt(3.0), 1));
}

RC_GTEST_PROP(AfterRounding, GrowsWithEveryArgumentAndByTheStep, ()) {
  const int exponent = *rc::gen::inRange(-60, 10);
  const auto dimension = *rc::gen::inRange<std::size_t>(1, 1'000'000);
  const double before = std::exp(*rc::gen::inRange(-1000, 1000) / 100.0);
  const double after = after_rounding(L2Sensitivity{before}, Grid{exponent}, dimension).value();
  RC_ASSERT(after > before);
  RC_ASSERT(after <= (before + std::ldexp(1.0, exponent) * std::sqrt(static_cast<double>(dimension))) * (1 + 0x1p-50));
  RC_ASSERT(after_rounding(L2Sensitivity{before}, Grid{exponent + 1}, dimension).value() >= after);
  RC_ASSERT(after_rounding(L2Sensitivity{before}, Grid{exponent}, dimension + 1).value() >= after);
  RC_ASSERT(after_rounding(L1Sensitivity{before}, Grid{exponent}, dimension).value() >= after);
}

TEST(AfterRounding, RefusesADimensionOutOfRange) {
  EXPECT_EQ(refusal([] { return after_rounding(L2Sensitivity{1}, Grid{0}, 0); }), "dimension is 0, must be from 1 to 2^53");
  EXPECT_EQ(refusal([] { return after_rounding(LinfSensitivity{1}, Grid{0}, (std::size_t{1} << 53) + 1); }),
            "dimension is 9007199254740993, must be from 1 to 2^53");
}

}  // namespace
}  // namespace surety::mechanisms::sensitivity_test
