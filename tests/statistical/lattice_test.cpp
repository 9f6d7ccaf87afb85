// Every sampler of integers against its exact law, at scales from a fraction of a step to 2^40 steps: 25 statistics of n = 2e7 samples each
// (sample_size), a false alarm of any with probability at most 1e-9 in a whole run (suite.h). What deviations are found:
// docs/proofs/statistical-power.md#power, and mutants_test.cpp.
#include <support/lattice.h>

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/additive/laplace.h>
#include <surety/mechanisms/samplers/exact_rounding.h>
#include <surety/mechanisms/samplers/lattice_noise.h>

namespace surety::statistical::lattice_test {
namespace {

using mechanisms::ReplayBits;

struct Case {
  LatticeLaw law;
  std::function<mechanisms::LatticeNoise()> sampler;
};

std::vector<Case> cases() {
  using namespace mechanisms;
  std::vector<Case> all;
  for (const double sigma : {0.3, 1.0, 8.0, 30.7, 1024.5, 0x1p20 + 0.3, 0x1p40}) {
    all.push_back({rounded_gaussian(sigma), [sigma] { return RoundedGaussian{StepSigma{sigma}}; }});
  }
  for (const double scale : {0.4, 1.0, 20.5, 1024.0, 0x1p20 + 0.3, 0x1p40}) {
    all.push_back({rounded_laplace(scale), [scale] { return RoundedLaplace{StepScale{scale}}; }});
  }
  for (const Rational variance : {Rational{1, 1}, Rational{7, 3}, Rational{100, 1}, Rational{10000, 1}, Rational{1000000, 1}}) {
    const double value = static_cast<double>(variance.num) / static_cast<double>(variance.den);
    all.push_back({discrete_gaussian(value), [variance] { return DiscreteGaussianNoise{variance}; }});
  }
  for (const Rational scale : {Rational{1, 2}, Rational{10, 1}, Rational{1024, 1}}) {
    const double value = static_cast<double>(scale.num) / static_cast<double>(scale.den);
    all.push_back({discrete_laplace(value), [scale] { return DiscreteLaplaceNoise{scale}; }});
    all.push_back({geometric(4 * value), [scale] { return GeometricNoise{Rational{4 * scale.num, scale.den}}; }});
  }
  // The small ones of a table, the others of blocks, 2^52 flips of two words. Others: mutants_test.cpp.
  for (const std::uint64_t flips : {std::uint64_t{100}, std::uint64_t{1'000'000}, std::uint64_t{1} << 52}) {
    all.push_back({binomial(flips), [flips] { return BinomialNoise{flips}; }});
  }
  for (const double mean : {0.3, 500'000.25}) {
    all.push_back({skellam(mean), [mean] { return SkellamNoise{mean}; }});
  }
  return all;
}

class LatticeSamples : public ::testing::TestWithParam<Case> {};

TEST_P(LatticeSamples, FitTheirLaw) {
  const auto& [law, make] = GetParam();
  const auto sampler = make();
  auto bits = ReplayBits{seed}.substream(law.name);
  const auto n = sample_size();
  const auto report = judge(
      law, [&](Samples samples) { sampler.fill(samples, bits); }, n);
  report_fit(law.name, n, report);
  EXPECT_TRUE(fits(report));
}

INSTANTIATE_TEST_SUITE_P(Laws, LatticeSamples, ::testing::ValuesIn(cases()), [](const auto& test) {
  std::string name;
  for (const char c : test.param.law.name) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
});

// One at a time: the same law, a slower way.
TEST(ScalarSamples, FitTheirLaw) {
  const mechanisms::RoundedGaussian sampler{StepSigma{1024.5}};
  auto bits = ReplayBits{seed}.substream("scalar");
  const auto law = rounded_gaussian(1024.5);
  const auto n = sample_size() / 4;
  const auto report = judge(
      law,
      [&](Samples samples) {
        for (auto& sample : samples) sample = sampler(bits);
      },
      n);
  report_fit(law.name + ", one at a time", n, report);
  EXPECT_TRUE(fits(report));
}

// Whole mechanisms, with numbers chosen so that a wrong unit is a wrong scale: sigma = 1.7 x 3 is 81.6 steps of 1/16, and b = 0.7 x 3
// is 33.6.
template <class Mechanism>
Report judge_mechanism(const Mechanism& mechanism, const LatticeLaw& law, std::string_view stream, std::int64_t n) {
  auto bits = ReplayBits{seed}.substream(stream);
  return judge(
      law,
      [&](Samples samples) {
        const GridVector query{Grid{-4}, std::vector<std::int64_t>(samples.size(), 1000)};
        const auto released = mechanism.release(query, bits);
        for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = std::llround(released[i] * 16) - 1000;
      },
      n);
}

TEST(GaussianMechanism, ReleasesFitTheirLaw) {
  const mechanisms::Gaussian mechanism{
      {.multiplier = NoiseMultiplier{1.7}, .sensitivity = L2Sensitivity{3}, .grid = {-4}, .adjacency = Adjacency::replace_one}};
  const auto n = sample_size() / 4;
  const auto report = judge_mechanism(mechanism, rounded_gaussian(81.6), "Gaussian", n);
  report_fit("releases of Gaussian, sigma 81.6 steps", n, report);
  EXPECT_TRUE(fits(report));
}

TEST(LaplaceMechanism, ReleasesFitTheirLaw) {
  const mechanisms::Laplace mechanism{
      {.scale = NoiseScale{0.7}, .sensitivity = L1Sensitivity{3}, .grid = {-4}, .adjacency = Adjacency::replace_one}};
  const auto n = sample_size() / 400;  // some 20 microseconds a coordinate
  const auto report = judge_mechanism(mechanism, rounded_laplace(33.6), "Laplace", n);
  report_fit("releases of Laplace, b 33.6 steps", n, report);
  EXPECT_TRUE(fits(report));
}

}  // namespace
}  // namespace surety::statistical::lattice_test
