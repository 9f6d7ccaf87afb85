// That the law is exact: isochronous_sampler_test.
#include <surety/mechanisms/samplers/exact_rounding.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <surety/base/text/error.h>

namespace surety::mechanisms::exact_rounding_test {
namespace {

TEST(RoundedGaussian, AgreesWithItsDefinitionOnAStream) {
  for (const double sigma : {0.7, 100.0, 1e6, 0x1p33}) {
    ReplayBits fast{11};
    ReplayBits slow{11};
    const RoundedGaussian noise{StepSigma{sigma}};
    for (int i = 0; i < 20; ++i) ASSERT_EQ(noise(fast), rounded_gaussian_by_definition(slow, StepSigma{sigma})) << sigma << " " << i;
    ASSERT_EQ(draw_word(fast), draw_word(slow));
  }
}

TEST(RoundedGaussian, FillsDoublesWithTheSameSamplesInDataUnits) {
  ReplayBits one{6};
  ReplayBits other{6};
  const RoundedGaussian noise{StepSigma{1000}};
  std::vector<std::int64_t> steps(700);
  std::vector<double> values(700);
  noise.fill(steps, one);
  noise.fill(values, Grid{-4}, other);
  for (std::size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(values[i], static_cast<double>(steps[i]) / 16);
  EXPECT_EQ(draw_word(one), draw_word(other));
}

TEST(RoundedLaplace, IsTheIsochronousSamplersLaw) {
  for (const double scale : {1.5, 1e6}) {
    std::vector<std::int64_t> samples(1000);
    std::vector<std::int64_t> expected(1000);
    ReplayBits one{8};
    ReplayBits other{8};
    const RoundedLaplace noise{StepScale{scale}};
    EXPECT_EQ(noise.scale().value(), scale);
    noise.fill(samples, one);
    IsochronousSampler::rounded_laplace(scale).fill(expected, other);
    EXPECT_EQ(samples, expected);
  }
  EXPECT_THROW(StepScale{0x1p59}, Error);
}

TEST(StepSigma, IsPositiveAndAtMost2To60) {
  for (const double bad : {0.0, -1.0, std::nextafter(0x1p60, 1e300), std::numeric_limits<double>::infinity(), std::nan("")}) {
    EXPECT_THROW(StepSigma{bad}, Error) << bad;
  }
  try {
    StepSigma{0x1p61};
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(std::string{error.what()}, "sigma in grid steps is 2.305843009213694e+18, must be greater than 0 and at most 2^60");
  }
}

}  // namespace
}  // namespace surety::mechanisms::exact_rounding_test
