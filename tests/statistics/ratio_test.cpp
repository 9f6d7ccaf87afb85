#include <surety/statistics/ratio.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace surety::statistics::ratio_test {
namespace {

using data::Bounds;

/// The ideal noise by a generator that shares nothing with the library, rounded to whole steps as mechanisms do.
double drawn(NoiseLaw law, double scale, std::mt19937_64& bits) {
  const double ideal = law == NoiseLaw::gaussian
                           ? std::normal_distribution<double>{0, scale}(bits)
                           : std::exponential_distribution<double>{1 / scale}(bits) * (std::bernoulli_distribution{0.5}(bits) ? 1 : -1);
  return std::round(ideal);
}

struct Case {
  NoiseLaw law;
  double mean;  ///< of the records, in [-1, 1]
  double records;
  double scale;  ///< of the noise, in records; sum and count have steps of 1/64
};

/// The least t with P(|noise| > t) <= exceeded, ideal.
double reach(NoiseLaw law, double scale, double exceeded) {
  double low = 0;
  double high = 100 * scale;
  for (int i = 0; i < 60; ++i) {
    const double t = (low + high) / 2;
    (exceedance(law, std::array{scale}, t) <= exceeded ? high : low) = t;
  }
  return high;
}

struct Coverage {
  int covered = 0;
  int forgetful = 0;  ///< by the mutant without the ratio's factor before the count's noise
  double width = 0;
  double union_width = 0;  ///< of a quotient of intervals that take half of the error each
};

Coverage coverage(const Case& each, double exceeded, int runs, int mutants) {
  constexpr double step = 1.0 / 64;
  std::mt19937_64 bits{42};
  const Bounds possible{-1, 1};
  const RatioNoise noise{each.scale, each.scale, step / 2, step / 2};
  auto without_count = noise;
  without_count.count_scale = 0;
  without_count.count_rounding = 0;
  const NoiseTest test{each.law, exceeded};
  const double half = reach(each.law, each.scale, exceeded / 2);
  Coverage result;
  for (int run = 0; run < runs; ++run) {
    const double sum = each.mean * each.records + step * drawn(each.law, each.scale / step, bits);
    const double count = each.records + step * drawn(each.law, each.scale / step, bits);
    const auto interval = ratio_interval(sum, count, possible, noise, test);
    const double value = ratio_value(sum, count, possible);
    EXPECT_LE(interval.lower, value);
    EXPECT_GE(interval.upper, value);
    EXPECT_GE(interval.lower, -1);
    EXPECT_LE(interval.upper, 1);
    result.covered += interval.lower <= each.mean && each.mean <= interval.upper ? 1 : 0;
    result.width += (interval.upper - interval.lower) / runs;
    const std::array quotients{(sum - half) / std::max(1.0, count - half), (sum - half) / std::max(1.0, count + half),
                               (sum + half) / std::max(1.0, count - half), (sum + half) / std::max(1.0, count + half)};
    result.union_width += (std::clamp(*std::max_element(quotients.begin(), quotients.end()), -1.0, 1.0) -
                           std::clamp(*std::min_element(quotients.begin(), quotients.end()), -1.0, 1.0)) /
                          runs;
    if (run < mutants) {
      const auto narrow = ratio_interval(sum, count, possible, without_count, test);
      result.forgetful += narrow.lower <= each.mean && each.mean <= narrow.upper ? 1 : 0;
    }
  }
  return result;
}

int coverage_runs() {
  const char* const asked = std::getenv("SURETY_COVERAGE_RUNS");
  return asked != nullptr ? std::stoi(asked) : 150;
}

// 150 releases of each case, and as many as SURETY_COVERAGE_RUNS says: a case alarms falsely, where coverage is exactly 95 %, 5 standard errors below, once in 3.5 million; it misses a coverage 8 standard errors
// below once in 740: 1.2 points with 20,000 releases.
TEST(RatioInterval, CoversAsOftenAsItSaysAndIsNarrowerThanTheUnionBound) {
  constexpr double exceeded = 0.05;
  for (const Case& each :
       {Case{NoiseLaw::gaussian, 0.5, 500, 3}, Case{NoiseLaw::laplace, 0.5, 500, 3}, Case{NoiseLaw::gaussian, -0.9, 40, 10},
        Case{NoiseLaw::laplace, 0.9, 40, 10}, Case{NoiseLaw::gaussian, 0.25, 4, 5}, Case{NoiseLaw::laplace, 0, 4, 5},
        Case{NoiseLaw::gaussian, 0.05, 1000, 0.03}, Case{NoiseLaw::laplace, 1, 1000, 3}}) {
    const int runs = coverage_runs();
    const double error = std::sqrt(exceeded * (1 - exceeded) / runs);
    const auto found = coverage(each, exceeded, runs, 0);
    const double covered = static_cast<double>(found.covered) / runs;
    EXPECT_GE(covered, 1 - exceeded - 5 * error) << each.mean << " " << each.records << " " << each.scale;
    if (each.records >= 10 * each.scale && std::abs(each.mean) < 1 && each.scale > 1) {
      // Nothing cut it short, and it is exact but for rounding.
      EXPECT_LE(covered, 1 - exceeded + 5 * error) << each.mean << " " << each.records << " " << each.scale;
    }
    if (each.records > 4) {
      EXPECT_LT(found.width, found.union_width);
    }
    if (runs > 150) {
      std::printf("mean %g of %g records, scale %g: covered %.4f, %.3f times as narrow as before\n", each.mean, each.records, each.scale,
                  covered, found.union_width / found.width);
    }
  }
}

TEST(RatioInterval, WithoutTheFactorOfTheRatioFallsShort) {
  constexpr int runs = 300;
  const auto found = coverage({NoiseLaw::gaussian, 0.9, 500, 3}, 0.05, runs, runs);
  EXPECT_LT(static_cast<double>(found.forgetful) / runs, 0.95 - 5 * std::sqrt(0.05 * 0.95 / runs));
}

TEST(RatioInterval, AgreesWithFiellersFormula) {
  // |s - theta n| = z sigma sqrt(1 + theta^2), a quadratic.
  const double z = reach(NoiseLaw::gaussian, 1, 0.05);
  for (const double sum : {-30.0, 0.0, 45.0}) {
    for (const double count : {70.0, 900.0}) {
      const double sigma = 5;
      const double a = count * count - z * z * sigma * sigma;
      const double b = -2 * sum * count;
      const double c = sum * sum - z * z * sigma * sigma;
      const double root = std::sqrt(b * b - 4 * a * c);
      const auto found = ratio_interval(sum, count, {-1, 1}, {sigma, sigma, 0, 0}, NoiseTest{NoiseLaw::gaussian, 0.05});
      const double width = root / a;
      EXPECT_LE(found.lower, std::max(-1.0, (-b - root) / (2 * a)) + 1e-12);
      EXPECT_GE(found.upper, std::min(1.0, (-b + root) / (2 * a)) - 1e-12);
      EXPECT_NEAR(found.lower, std::max(-1.0, (-b - root) / (2 * a)), 1e-3 * width);
      EXPECT_NEAR(found.upper, std::min(1.0, (-b + root) / (2 * a)), 1e-3 * width);
    }
  }
}

TEST(RatioInterval, IsAllThatIsPossibleWhereTheCountIsLostInNoise) {
  const Bounds possible{-2, 3};
  for (const auto law : {NoiseLaw::gaussian, NoiseLaw::laplace}) {
    const NoiseTest test{law, 0.05};
    for (const double count : {-5.0, -1.0, 0.0, 1.0, 5.0}) {
      const auto found = ratio_interval(1, count, possible, {10, 10, 0.5, 0.5}, test);
      EXPECT_EQ(found.lower, -2) << count;
      EXPECT_EQ(found.upper, 3) << count;
    }
    // Two rays, a hull that is all; a sum beyond its bound; nothing that fits, with and without a count.
    const auto rays = ratio_interval(-40, 2, possible, {10, 30, 0, 0}, test);
    EXPECT_LE(rays.lower, -2);
    const auto beyond = ratio_interval(3.02e4, 1e4, possible, {10, 10, 0.5, 0.5}, test);
    EXPECT_EQ(beyond.lower, 3);
    EXPECT_EQ(beyond.upper, 3);
    const auto contrary = ratio_interval(4e4, -1e4, possible, {10, 10, 0.5, 0.5}, test);
    EXPECT_EQ(contrary.lower, -2);
    EXPECT_EQ(contrary.upper, 3);
  }
  // A public count: the plain interval of a sum.
  const auto plain = ratio_interval(50, 100, possible, {4, 0, 0.5, 0}, NoiseTest{NoiseLaw::laplace, 0.05});
  const double t = 4 * std::log(20.0) + 0.5;
  EXPECT_NEAR(plain.lower, (50 - t) / 100, 1e-4);
  EXPECT_NEAR(plain.upper, (50 + t) / 100, 1e-4);
  EXPECT_LE(plain.lower, (50 - t) / 100);
  EXPECT_GE(plain.upper, (50 + t) / 100);
}

}  // namespace
}  // namespace surety::statistics::ratio_test
