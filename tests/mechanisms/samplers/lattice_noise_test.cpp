#include <surety/mechanisms/samplers/lattice_noise.h>

#include <gtest/gtest.h>

namespace surety::mechanisms::lattice_noise_test {
namespace {

TEST(DiscreteNoise, IsTheIsochronousSamplersLaw) {
  const auto agree = [](const LatticeNoise& noise, const IsochronousSampler& sampler) {
    ReplayBits one{9};
    ReplayBits other{9};
    for (int i = 0; i < 1000; ++i) {
      if (noise(one) != sampler(other)) return false;
    }
    return true;
  };
  EXPECT_TRUE(agree(DiscreteGaussianNoise{{7, 2}}, IsochronousSampler::discrete_gaussian({7, 2})));
  EXPECT_TRUE(agree(DiscreteLaplaceNoise{{7, 2}}, IsochronousSampler::discrete_laplace({7, 2})));
  EXPECT_TRUE(agree(GeometricNoise{{7, 2}}, IsochronousSampler::geometric({7, 2})));
}

}  // namespace
}  // namespace surety::mechanisms::lattice_noise_test
