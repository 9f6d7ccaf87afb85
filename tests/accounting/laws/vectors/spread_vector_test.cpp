// What a vector that moves along all its coordinates shows, and at most, against the density of the noise in the plane.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <variant>
#include <vector>

#include <support/vector_noise_truth.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/event.h>
#include <surety/accounting/laws/cells/dominating_pair.h>
#include <surety/accounting/laws/pairs/pairs.h>
#include <surety/accounting/laws/vectors/spread_vector.h>
#include <surety/accounting/laws/vectors/vector_pair.h>

namespace surety::accounting::laws::spread_vector_test {
namespace {

using namespace testing;

double largest_loss(const AtomsBase& law) { return law.atoms.back().loss; }

int passed(const SpreadTerms& terms, double below) {
  int found = 0;
  for (const auto& noise : noises) {
    const auto law = spread_vector(noise, terms);
    for (const double at : {-0.3 / noise.scale, 0.0, 0.5 / noise.scale, 1.5 / noise.scale}) {
      const double exact = truth(noise, at);
      if (curve_of(law, at) > exact * (1 + errors_of_squares)) ++found;
      // Of steps that are not small beside a coordinate much is left out.
      if (below > 0 && noise.scale >= 5) {
        EXPECT_GT(curve_of(law, at), exact * (1 - below)) << noise.r << " " << at;
      }
    }
  }
  return found;
}

TEST(SpreadVector, LiesBelowTheNoiseAndNear) { EXPECT_EQ(passed({}, 0.2), 0); }
TEST(SpreadVector, PassesItWithoutATerm) {
  EXPECT_GT(passed({.bent = false}, 0), 0);
  EXPECT_GT(passed({.mass_below = false}, 0), 0);
}

// Of ten coordinates the move along all of them costs more than that along one; of a hundred much more, and less than the smoothest.
TEST(SpreadVector, OfManyCoordinatesShowsMore) {
  AtomsBase many;
  for (const double d : {10.0, 100.0}) {
    const VectorNoise noise{3, d, 5, true};
    many = spread_vector(noise);
    const auto one = vector_pair(noise);
    for (const double at : {0.0, 0.3, 0.6}) {
      EXPECT_GT(curve_of(many, at), 1.2 * curve_of(one, at)) << d << " " << at;
      EXPECT_LT(curve_of(many, at), gaussian_curve(std::sqrt(2.0) / 5, at)) << d << " " << at;
    }
  }
  // 1.458 = E g^4 / (E |g|^3)^(4/3), g of density e^-|g|^3.
  EXPECT_NEAR(curve_of(many, 0) / gaussian_curve(std::sqrt(1.458) / 5, 0), 1, 0.03);
}

/// The mean, and five of its standard deviations, of what the vector that has moved shows, by draws of the noise.
std::pair<double, double> by_draws(const VectorNoise& noise, double at) {
  constexpr int draws = 20'000;
  std::mt19937_64 bits{20261127};
  std::gamma_distribution<double> power_of_one{1 / noise.r, 1};
  std::gamma_distribution<double> power_of_all{noise.dimension / 2, 2};
  std::vector<double> x(static_cast<std::size_t>(noise.dimension));
  const double moved = std::min(noise.dimension, 100.0);
  const double move = std::pow(moved, -1 / noise.r);
  const auto length = [&](double by) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += std::pow(std::abs(x[i] + (static_cast<double>(i) < moved ? by : 0)), noise.r);
    return std::pow(sum, 1 / noise.r);
  };
  double sum = 0;
  double squares = 0;
  for (int k = 0; k < draws; ++k) {
    for (auto& one : x) one = std::pow(power_of_one(bits), 1 / noise.r) * (bits() % 2 == 0 ? 1 : -1);
    const double radius = noise.scale * std::sqrt(power_of_all(bits)) / length(0);
    for (auto& one : x) one *= radius;
    const double here = length(move);
    const double shown = std::max(0.0, -std::expm1(at - (here * here - length(0) * length(0)) / (2 * noise.scale * noise.scale)));
    sum += shown;
    squares += shown * shown;
  }
  const double mean = sum / draws;
  return {mean, 5 * std::sqrt((squares / draws - mean * mean) / draws)};
}

// In the plane all cells are those of one coordinate; of more, directions are put together, and beyond a hundred some stay where they are.
TEST(SpreadVector, LiesBelowTheNoiseOfManyCoordinates) {
  for (const VectorNoise& noise :
       {VectorNoise{3, 3, 1.2, true}, VectorNoise{3, 10, 5, true}, VectorNoise{5, 10, 2, true}, VectorNoise{3, 130, 3, true}}) {
    const auto law = spread_vector(noise);
    for (const double at : {0.0, 1 / noise.scale}) {
      const auto [mean, error] = by_draws(noise, at);
      EXPECT_LT(curve_of(law, at), mean + error) << noise.r << " " << noise.dimension << " " << at;
      EXPECT_GT(curve_of(law, at), 0.4 * mean) << noise.r << " " << noise.dimension << " " << at;
    }
  }
}

LossLaw from_above(const VectorNoise& noise) {
  const Event event = generalized_gaussian(NormExponent{noise.r}, Count{static_cast<std::uint64_t>(noise.dimension)},
                                           NoiseMultiplier{noise.scale}, Adjacency::add_or_remove_one);
  const auto parts = both_directions(event, curves_of_all().leaves).remove;
  EXPECT_EQ(parts.size(), 1);
  return parts.front().upper;
}

// What is said from above of little noise: a Gaussian release. One of the same multiplier would not do.
TEST(SpreadVector, CostsLessThanASmootherGaussian) {
  const VectorNoise noise{3, 2, 0.15, true};
  const double multiplier = std::get<GaussianBase>(from_above(noise).base).multiplier;
  for (const double at : {0.0, 10.0, 25.0}) {
    EXPECT_LT(truth(noise, at), gaussian_curve(1 / multiplier, at) * (1 + errors_of_squares)) << at;
  }
  EXPECT_GT(truth(noise, 25), gaussian_curve(1 / noise.scale, 25));
}

TEST(SpreadVector, LeavesOutWhatHasNoDigits) {
  for (const double r : {2.000001, 3.0, most_spread_exponent}) {
    for (const double z : {1e-3, 1e6}) {
      for (const double d : {2.0, 1e6}) {
        const auto law = spread_vector({r, d, z, true});
        double mass = 0;
        for (const auto& atom : law.atoms) {
          EXPECT_TRUE(std::isfinite(atom.loss)) << r << " " << z << " " << d;
          mass += atom.mass;
        }
        EXPECT_GE(mass, 0) << r << " " << z << " " << d;
        EXPECT_LE(mass, 1 + 1e-9) << r << " " << z << " " << d;
        if (!law.atoms.empty()) {
          EXPECT_LE(largest_loss(law), 1e9) << r << " " << z << " " << d;
        }
      }
    }
  }
}

}  // namespace
}  // namespace surety::accounting::laws::spread_vector_test
