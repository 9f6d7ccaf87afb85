#include <surety/statistics/confidence_set.h>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <optional>
#include <random>
#include <vector>

namespace surety::statistics::confidence_set_test {
namespace {

// Closed forms, and for three scales the integral over the third of what two of them do, by the midpoint rule.
double of_two(double a, double b, double t) {
  t = std::abs(t);
  return (a * a * std::exp(-t / a) - b * b * std::exp(-t / b)) / (a * a - b * b);
}

double of_three(double a, double b, double c, double t) {
  // P(|X + Y + Z| > t) for symmetric U = X + Y: half of P(U > t - z) + P(U < -t - z), twice over.
  const auto above = [&](double x) { return x > 0 ? of_two(a, b, x) / 2 : 1 - of_two(a, b, x) / 2; };
  constexpr int cells = 400000;
  const double reach = 50 * c;
  const double width = 2 * reach / cells;
  double result = 0;
  for (int i = 0; i < cells; ++i) {
    const double z = -reach + (i + 0.5) * width;
    result += width * std::exp(-std::abs(z) / c) / (2 * c) * 2 * above(t - z);
  }
  return result;
}

TEST(Exceedance, AgreesWithClosedFormsAndQuadrature) {
  for (const double t : {0.01, 1.0, 7.0, 30.0}) {
    EXPECT_NEAR(exceedance(NoiseLaw::gaussian, std::array{3.0, 4.0}, t), std::erfc(t / 5 / std::sqrt(2.0)), 1e-14);
    EXPECT_NEAR(exceedance(NoiseLaw::laplace, std::array{2.0}, t), std::exp(-t / 2), 1e-15);
    EXPECT_NEAR(exceedance(NoiseLaw::laplace, std::array{0.0, 2.0}, t), std::exp(-t / 2), 1e-15);
    EXPECT_NEAR(exceedance(NoiseLaw::laplace, std::array{3.0, 1.0}, t), of_two(3, 1, t), 1e-14);
    // Equal scales are told apart upward.
    const double equal = (1 + t / 2) * std::exp(-t);
    EXPECT_GE(exceedance(NoiseLaw::laplace, std::array{1.0, 1.0}, t), equal);
    EXPECT_NEAR(exceedance(NoiseLaw::laplace, std::array{1.0, 1.0}, t), equal, 1e-4 * equal);
    EXPECT_NEAR(exceedance(NoiseLaw::laplace, std::array{1.0, 0.5, 2.0}, t), of_three(1, 0.5, 2, t), 1e-8);
    const double thrice = exceedance(NoiseLaw::laplace, std::array{1.0, 1.0, 1.0}, t);
    EXPECT_GE(thrice, (1 + t * (5 + t) / 8) * std::exp(-t));
    EXPECT_NEAR(thrice, (1 + t * (5 + t) / 8) * std::exp(-t), 1e-4 * thrice);
  }
  EXPECT_EQ(exceedance(NoiseLaw::laplace, std::array{1.0}, 0), 1);
  EXPECT_EQ(exceedance(NoiseLaw::gaussian, std::array{1.0}, -2), 1);
  EXPECT_EQ(exceedance(NoiseLaw::gaussian, std::array{0.0}, 1e-300), 0);
  EXPECT_LT(exceedance(NoiseLaw::laplace, std::array{1e-300, 1.0, 1e-200}, 1), std::exp(-1.0) * (1 + 1e-12));
}

TEST(NoiseTest, ExcludesFromTheQuantileOn) {
  for (const auto law : {NoiseLaw::gaussian, NoiseLaw::laplace}) {
    for (const double exceeded : {0.5, 0.05, 1e-12}) {
      const NoiseTest test{law, exceeded};
      const std::array scales{3.0, 0.7};
      double low = 0;
      double high = 1000;
      while (high - low > 1e-9) {
        const double t = (low + high) / 2;
        (test.excludes(scales, t) ? high : low) = t;
      }
      EXPECT_LE(exceedance(law, scales, high), exceeded);
      EXPECT_NEAR(exceedance(law, scales, high), exceeded, 1e-8 * exceeded);
    }
  }
}

// Scales that are far apart, near, equal and 0, and t on both sides of the quantile: yes is right, and is said wherever T(t) is a little below.
TEST(NoiseTest, IsRightForAllScales) {
  std::mt19937_64 bits{3};
  std::uniform_real_distribution<double> uniform{0, 1};
  for (const auto law : {NoiseLaw::gaussian, NoiseLaw::laplace}) {
    for (const double exceeded : {0.3, 0.05, 1e-9}) {
      const NoiseTest test{law, exceeded};
      int answered = 0;
      for (int i = 0; i < 48; ++i) {
        const double a = std::exp(6 * uniform(bits) - 3);
        const double b = i % 4 == 0   ? a * std::exp(20 * uniform(bits) - 10)
                         : i % 4 == 1 ? a * (1 + std::exp(-40 * uniform(bits)))
                         : i % 4 == 2 ? a
                                      : 0;
        const std::array scales{a, b};
        double low = 0;
        double high = 1e9;
        for (int k = 0; k < 90; ++k) {
          const double middle = (low + high) / 2;
          (exceedance(law, scales, middle) <= exceeded ? high : low) = middle;
        }
        // Equal scales are moved apart by 2^-20 of a scale, so t may have to be larger by as much.
        EXPECT_TRUE(test.excludes(scales, high * (1 + 0x1p-18))) << a << " " << b;
        const double t = high * (1 + (uniform(bits) - 0.5) * std::exp(-34 * uniform(bits)));
        if (!test.excludes(scales, t)) continue;
        ++answered;
        EXPECT_LE(exceedance(law, scales, t) * (1 - 0x1p-19 * (1 + t / std::max(a, b))), exceeded) << a << " " << b << " " << t;
      }
      EXPECT_GT(answered, 12);
    }
  }
}

TEST(HullOfTheRest, IsOutwardOfWhatIsLeftByTheTolerance) {
  // Left is [a, b] and, at times, a second piece.
  const auto found = [](double from, double to, const std::vector<std::array<double, 2>>& left) {
    return hull_of_the_rest(from, to, 1e-9, [&](double low, double high) {
      for (const auto& piece : left) {
        if (low <= piece[1] && high >= piece[0]) return false;
      }
      return true;
    });
  };
  const auto expect = [&](const std::optional<Enclosure>& found_hull, double lower, double upper) {
    ASSERT_TRUE(found_hull);
    const Enclosure hull = *found_hull;
    EXPECT_LE(hull.lower, lower);
    EXPECT_GE(hull.upper, upper);
    EXPECT_NEAR(hull.lower, lower, 4e-9);
    EXPECT_NEAR(hull.upper, upper, 4e-9);
  };
  expect(found(-1, 1, {{0.1, 0.3}}), 0.1, 0.3);
  expect(found(-1, 1, {{-0.7, -0.69}, {0.9, 1}}), -0.7, 1);
  expect(found(-1, 1, {{-1, 1}}), -1, 1);
  expect(found(-1, 1, {{-1, -1}}), -1, -1);
  expect(found(0, 1e6, {{123.456, 123.456}}), 123.456, 123.456);
  EXPECT_FALSE(found(-1, 1, {}));
}

}  // namespace
}  // namespace surety::statistics::confidence_set_test
