// What noise of squared norms shows at most, by how steep it is: against the plane by squares, and draws of more coordinates.
#include <surety/accounting/laws/vectors/smooth_vector.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <variant>
#include <vector>

#include <support/vector_noise_truth.h>
#include <surety/accounting/laws/cells/dominating_pair.h>

namespace surety::accounting::laws::smooth_vector_test {
namespace {

using namespace testing;

int passing(const SmoothTerms& terms, double above) {
  int found = 0;
  for (const auto& noise : noises) {
    if (above == 0 && noise.r > 3) continue;
    const LossLaw law = smooth_vector(noise, terms);
    EXPECT_LT(law.infinite_mass, 1e-270);
    for (const double at : {-0.3 / noise.scale, 0.0, 0.5 / noise.scale, 1.5 / noise.scale}) {
      const double exact = truth(noise, at);
      const double bound = curve_of(std::get<AtomsBase>(law.base), at);
      if (bound < exact * (1 - errors_of_squares)) ++found;
      if (above > 0 && at <= 0) {
        EXPECT_LT(bound, exact * (1 + above)) << noise.r << " " << at;
      }
    }
  }
  return found;
}

TEST(SmoothVector, LiesAboveTheNoiseAndNear) { EXPECT_EQ(passing({}, 0.5), 0); }
TEST(SmoothVector, IsPassedWithoutATerm) {
  EXPECT_GT(passing({.all_coordinates = false}, 0), 0);
  EXPECT_GT(passing({.whole_move = false}, 0), 0);
}

// The slope of -log density along v: of vectors along one coordinate, along some and along all, by draws.
TEST(SmoothVector, BoundsHowSteepTheNoiseIs) {
  constexpr int draws = 20'000;
  constexpr std::size_t dimension = 10;
  const std::vector<double> places{0, 0.5, 1, 2, 3};
  for (const double r : {3.0, 6.0}) {
    const VectorNoise noise{r, dimension, 1, true};
    const auto bounds = steepness_beyond(noise, places);
    for (const std::size_t moved : {1, 3, 10}) {
      std::mt19937_64 bits{20261127};
      std::gamma_distribution<double> power_of_one{1 / r, 1};
      std::chi_squared_distribution<double> power_of_all{dimension};
      std::vector<double> sums(places.size());
      std::vector<double> squares(places.size());
      for (int k = 0; k < draws; ++k) {
        double length = 0;
        double slope = 0;
        for (std::size_t i = 0; i < dimension; ++i) {
          const double power = power_of_one(bits);
          length += power;
          if (i < moved) slope += std::pow(power, 1 - 1 / r) * (bits() % 2 == 0 ? 1 : -1);
        }
        slope *= std::pow(static_cast<double>(moved), -1 / r) * std::pow(length, 1 / r - 1) * std::sqrt(power_of_all(bits));
        for (std::size_t i = 0; i < places.size(); ++i) {
          // The same of either sign.
          const double beyond = 0.5 * std::max(0.0, std::abs(slope) - places[i]);
          sums[i] += beyond;
          squares[i] += beyond * beyond;
        }
      }
      for (std::size_t i = 0; i < places.size(); ++i) {
        const double mean = sums[i] / draws;
        const double error = 5 * std::sqrt((squares[i] / draws - mean * mean) / draws);
        EXPECT_GT(bounds[i].value(), mean - error) << r << " " << moved << " " << places[i];
        if (moved == dimension && places[i] < 1) {
          EXPECT_LT(bounds[i].value(), 1.15 * mean + error) << r << " " << places[i];
        }
      }
    }
  }
}

// Far beyond a table of normal probabilities, and where noise or dimension are at the ends of what is looked at.
TEST(SmoothVector, HasTailsAndBothSides) {
  for (const VectorNoise& noise : {VectorNoise{2.000001, 2, 0.2, true}, VectorNoise{64, 1e6, 1000, true}, VectorNoise{3, 1e6, 1e3, true}}) {
    const LossLaw law = smooth_vector(noise);
    EXPECT_TRUE(is_symmetric(law)) << noise.r;
    EXPECT_LT(law.infinite_mass, 1e-200) << noise.r;
    const double mu = std::sqrt(noise.r - 1) / noise.scale;
    const auto& atoms = std::get<AtomsBase>(law.base);
    for (const double at : {0.0, mu, 4 * mu}) {
      EXPECT_LT(curve_of(atoms, at), gaussian_curve(mu, at) * 1.01) << noise.r << " " << at;
      EXPECT_GT(curve_of(atoms, at), 0.1 * gaussian_curve(1 / noise.scale, at)) << noise.r << " " << at;
    }
  }
}

}  // namespace
}  // namespace surety::accounting::laws::smooth_vector_test
