// Enclosures of binomial and Skellam probabilities against plain MPFR. Their samplers: isochronous_sampler_test.cpp.
#include <surety/mechanisms/samplers/integer_law.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <surety/mechanisms/samplers/lattice_noise.h>
#include <surety/mechanisms/samplers/trial_loops.h>

#include <support/foreign_floating_point.h>
#include <support/integer_laws.h>

namespace surety::mechanisms::integer_law_test {
namespace {

using reference::Real;

/// Of the reference, which has some 60 less after the decimal point.
constexpr mpfr_prec_t bits = 224;
constexpr auto most_flips = std::uint64_t{1} << 52;

/// A law from its definition and what is under test.
struct Law {
  std::string name;
  IntegerLaw law;
  std::function<Real(std::uint64_t)> probability;

  [[nodiscard]] double sigma() const { return std::sqrt(law.variance()); }
};

Law binomial(std::uint64_t n) {
  return {"binomial " + std::to_string(n), IntegerLaw::binomial(n),
          [n](std::uint64_t k) { return testing::binomial_probability(n, k, bits); }};
}
Law skellam(double mean) {
  return {"Skellam " + std::to_string(mean), IntegerLaw::skellam(mean),
          [mean](std::uint64_t k) { return testing::skellam_probability(mean, k, bits); }};
}

const std::vector<Law>& narrow_laws() {
  static const std::vector<Law> laws{binomial(2),   binomial(4),    binomial(6),     binomial(62),  binomial(64),
                                     binomial(100), binomial(1000), binomial(65536), skellam(1e-5), skellam(0.3),
                                     skellam(1),    skellam(40.7),  skellam(2000)};
  return laws;
}
const std::vector<Law>& wide_laws() {
  static const std::vector<Law> laws{binomial(65538),          binomial(131002), binomial(1'000'002), binomial(std::uint64_t{1} << 40),
                                     binomial(most_flips - 2), skellam(8192.1),  skellam(50'000.7)};
  return laws;
}

/// `enclosure` contains `truth`, which is known to 2^-150.
bool contains(const Interval& enclosure, const Real& truth) {
  const Real slack{0x1p-150};
  return truth - slack <= Real{enclosure.upper()} && truth + slack >= Real{enclosure.lower()};
}
double width(const Interval& enclosure) { return (Real{enclosure.upper()} - Real{enclosure.lower()}).rounded_up(); }

// ---- Probabilities ----

TEST(IntegerLaw, ProbabilitiesAreEnclosedNarrowly) {
  for (const auto& law : wide_laws()) {
    SCOPED_TRACE(law.name);
    for (const double at : {0.0, 0.01, 1.0, 3.7, 6.0, 9.0}) {
      const auto k = static_cast<std::uint64_t>(at * law.sigma());
      const Real truth = law.probability(k);
      for (const mpfr_prec_t precision : {64, 128, 140}) {
        const Interval found = law.law.probability(k, precision);
        EXPECT_TRUE(contains(found, truth)) << k << " at " << precision;
        EXPECT_LE(width(found), std::ldexp(1.0, 3 - static_cast<int>(precision))) << k << " at " << precision;
      }
      EXPECT_FALSE(contains(law.law.probability(k, 140), law.probability(k + 1))) << k;
    }
  }
}

// Where the error terms are what there is to see: too small a period, whose other members count; too few values, by a period where nothing else errs.
TEST(IntegerLaw, SumsOfFewValuesEncloseWhatTheyLeaveOut) {
  for (const auto& law : {binomial(131002), skellam(50'000.7)}) {
    SCOPED_TRACE(law.name);
    for (const double at : {0.0, 1.0, 2.0, 3.0}) {
      const auto k = static_cast<std::uint64_t>(at * law.sigma());
      const Real truth = law.probability(k);
      for (const double deviations : {5.0, 8.0, 60.0}) {
        const auto period = static_cast<std::uint64_t>(deviations * law.sigma()) / 4 * 4;
        for (const mpfr_prec_t precision : {8, 10, 12, 14, 16, 64}) {
          const Interval found = law.law.probability_by_sum(k, period, precision);
          EXPECT_TRUE(contains(found, truth)) << k << " of " << period << " at " << precision;
          if (deviations == 60) {
            EXPECT_LE(width(found), std::ldexp(2.1, -static_cast<int>(precision)));
          }
        }
      }
    }
  }
}

TEST(IntegerLaw, ProbabilitiesFarOutAndBeyondTheEndAreEnclosed) {
  const auto law = binomial(65538);
  for (const std::uint64_t k : {20'000U, 32'768U, 32'769U}) EXPECT_TRUE(contains(law.law.probability(k, 128), law.probability(k))) << k;
  EXPECT_EQ(law.law.probability(32'770, 128).enclosure().upper, 0);
  EXPECT_TRUE(contains(IntegerLaw::skellam(8192.1).probability(40'000, 128), testing::skellam_probability(8192.1, 40'000)));
}

/// Larger than the definition can be summed: I_(k+1) / I_k of x lies within Amos' bounds (Amos 1974).
TEST(IntegerLaw, NeighboursOfTheWidestSkellamLawHaveTheRatioOfBesselFunctions) {
  const double x = 0x1p51;
  const auto law = IntegerLaw::skellam(0x1p50);
  for (const double at : {0.5, 4.0}) {
    const auto k = static_cast<std::uint64_t>(at * 0x1.6ap25);
    const Real ratio = Real{law.probability(k + 1, 300).upper()} / Real{law.probability(k, 300).lower()};
    const Real order{static_cast<double>(k), bits};
    const Real x_here{x, bits};
    const auto bound = [&](double shift) { return x_here / (order + 0.5 + sqrt((order + shift) * (order + shift) + x_here * x_here)); };
    EXPECT_LE(ratio, bound(0.5));
    EXPECT_GE(ratio, bound(1.5));
    EXPECT_LT((bound(0.5) / bound(1.5) - 1).nearest_double(), 1e-15);
  }
}

TEST(IntegerLaw, WeightsAreThoseOfTheLaw) {
  for (const auto& law : narrow_laws()) {
    SCOPED_TRACE(law.name);
    const auto weights = law.law.weights(256, 0);
    Interval sum{0, 256};
    for (const auto& weight : weights) sum = sum + weight + weight;
    for (std::uint64_t k = 0; k + 1 < weights.size(); k += 1 + weights.size() / 17) {
      const Real truth = law.probability(k);
      const Interval found = weights[k] * Interval{k == 0 ? 2.0 : 1.0, 256} / sum;
      EXPECT_TRUE(contains(found, truth)) << k;
      EXPECT_LE(width(found), 0x1p-200) << k;
    }
    // The last one encloses the rest.
    Real rest{0, bits};
    for (std::uint64_t k = weights.size() - 1; k < weights.size() + 200; ++k) rest = rest + law.probability(k);
    EXPECT_TRUE(contains(weights.back() / sum, rest));
    EXPECT_GE(Real{(weights.back() / sum).upper()} * 1.0000001, rest);
  }
}

TEST(IntegerLaw, WeightsOfFewFlipsAreExact) {
  const auto weights = IntegerLaw::binomial(6).weights(128, 0);
  ASSERT_EQ(weights.size(), 4U);
  const std::vector<double> expected{10, 15, 6, 1};
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_EQ(weights[k].enclosure().lower, expected[k]);
    EXPECT_EQ(width(weights[k]), 0);
  }
  // Of 400 flips, once the precision holds C(400, 200).
  for (const auto& weight : IntegerLaw::binomial(400).weights(464, 400)) EXPECT_EQ(width(weight), 0);
}

TEST(CosineSum, EnclosesTheWeights) {
  auto laws = wide_laws();
  laws.push_back(binomial(1024));
  laws.push_back(skellam(128));
  for (const auto& law : laws) {
    SCOPED_TRACE(law.name);
    const int log2_scale = std::ilogb(law.sigma());
    for (const mpfr_prec_t accuracy : {8, 52, 114}) {
      const double reach = 13 * law.sigma();
      const CosineSum sum = law.law.cosine_sum(log2_scale, static_cast<std::uint64_t>(reach), accuracy);
      EXPECT_LE(sum.left_out, std::ldexp(4, -static_cast<int>(accuracy)));
      for (double at = 0; at <= 13; at += 13.0 / 16) {
        const auto k = static_cast<std::uint64_t>(at * law.sigma());
        const Real truth = law.probability(k) * std::ldexp(1.0, log2_scale);
        const Interval found = sum.at(k);
        EXPECT_TRUE(contains(found, truth)) << k << " at " << accuracy;
        EXPECT_LE(width(found), 2.01 * sum.left_out) << k << " at " << accuracy;
        EXPECT_FALSE(contains(found, truth + std::ldexp(32.0, -static_cast<int>(accuracy)))) << k << " at " << accuracy;
      }
    }
  }
}

// Where what is left out is what there is to see: sums that are computed to few digits.
TEST(CosineSum, EnclosesWhatItLeavesOut) {
  for (const auto& law : {binomial(131002), skellam(50'000.7)}) {
    SCOPED_TRACE(law.name);
    const int log2_scale = std::ilogb(law.sigma());
    const auto farthest = static_cast<std::uint64_t>(0.1 * law.sigma());
    double most = 0;
    for (const mpfr_prec_t accuracy : {4, 6, 8, 10}) {
      const CosineSum sum = law.law.cosine_sum(log2_scale, farthest, accuracy);
      for (const std::uint64_t k : {std::uint64_t{0}, farthest}) {
        const Real truth = law.probability(k) * std::ldexp(1.0, log2_scale);
        EXPECT_TRUE(contains(sum.at(k), truth)) << k << " at " << accuracy;
        const Real middle = (Real{sum.at(k).lower()} + Real{sum.at(k).upper()}) / 2;
        most = std::max(most, std::abs((middle - truth).nearest_double()) / sum.left_out);
      }
    }
    EXPECT_GT(most, 0.01);
  }
}

// ---- The samplers ----

TEST(IntegerSampler, IsTheSameInEveryFloatingPointEnvironment) {
  const auto made = [] {
    std::vector<std::int64_t> samples(600);
    std::vector<double> doubles;
    const std::vector samplers{IsochronousSampler::binomial(1'000'002), IsochronousSampler::skellam(50'000.7),
                               IsochronousSampler::skellam(0.3), IsochronousSampler::skellam(5e-324)};
    for (std::size_t i = 0; i < samplers.size(); ++i) {
      ReplayBits source{17};
      samplers[i].fill(std::span{samples}.subspan(150 * i, 150), source);
      const TrialConstants& constants = samplers[i].constants();
      for (const auto* part : {&constants.heights, &constants.thresholds, &constants.coefficients}) {
        doubles.insert(doubles.end(), part->begin(), part->end());
      }
    }
    return std::pair{samples, doubles};
  };
  const auto expected = made();
  for (const auto& environment : reference::foreign_environments()) {
    EXPECT_TRUE(reference::in(environment, made) == expected) << environment.name;
  }
}

TEST(IntegerSampler, TheEndsOfBothRangesAreLaws) {
  for (const auto& sampler :
       {IsochronousSampler::binomial(most_flips), IsochronousSampler::skellam(0x1p50), IsochronousSampler::skellam(5e-324)}) {
    ReplayBits source{1};
    EXPECT_LT(std::abs(static_cast<double>(sampler(source))), 0x1p29);
  }
  EXPECT_EQ(BinomialNoise{64}.flips(), 64U);
  EXPECT_EQ(SkellamNoise{2.5}.mean(), 2.5);
}

}  // namespace
}  // namespace surety::mechanisms::integer_law_test
