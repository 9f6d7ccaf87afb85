#include <surety/mechanisms/samplers/lattice_noise.h>

#include <gtest/gtest.h>

namespace surety::mechanisms::lattice_noise_test {
namespace {

TEST(DiscreteNoise, IsTheLatticeSamplersLaw) {
  const auto agree = [](const LatticeNoise& noise, const LatticeSampler& sampler) {
    ReplayBits one{9};
    ReplayBits other{9};
    for (int i = 0; i < 1000; ++i) {
      if (noise(one) != sampler(other)) return false;
    }
    return true;
  };
  EXPECT_TRUE(agree(DiscreteGaussianNoise{{7, 2}}, LatticeSampler::discrete_gaussian({7, 2})));
  EXPECT_TRUE(agree(DiscreteLaplaceNoise{{7, 2}}, LatticeSampler::discrete_laplace({7, 2})));
  EXPECT_TRUE(agree(GeometricNoise{{7, 2}}, LatticeSampler::geometric({7, 2})));
}

}  // namespace
}  // namespace surety::mechanisms::lattice_noise_test
