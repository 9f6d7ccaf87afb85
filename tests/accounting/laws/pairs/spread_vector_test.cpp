// What a vector that moves along all its coordinates shows, and at most, against the density of the noise in the plane.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/event.h>
#include <surety/accounting/laws/pairs/dominating_pair.h>
#include <surety/accounting/laws/pairs/pairs.h>
#include <surety/accounting/laws/pairs/smooth_vector.h>
#include <surety/accounting/laws/pairs/spread_vector.h>
#include <surety/accounting/laws/pairs/vector_pair.h>

namespace surety::accounting::privacy_loss::spread_vector_test {
namespace {

double curve_of(const AtomsBase& law, double at) {
  double sum = 0;
  for (const auto& [loss, mass] : law.atoms) sum += mass * std::max(0.0, -std::expm1(at - loss));
  return sum;
}
double largest_loss(const AtomsBase& law) { return law.atoms.back().loss; }
double normal(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double gaussian_curve(double mu, double at) { return normal(mu / 2 - at / mu) - std::exp(at) * normal(-mu / 2 - at / mu); }

/// By the middles of squares, of a move along both coordinates.
double by_squares(const VectorNoise& noise, double at) {
  const double reach = 7 * noise.scale + 1;
  const double step = reach / 150;
  const double move = std::pow(2, -1 / noise.r);
  const auto exponent = [&](double x, double y) {
    const double length = std::pow(std::pow(std::abs(x), noise.r) + std::pow(std::abs(y), noise.r), 1 / noise.r);
    return -0.5 * length * length / (noise.scale * noise.scale);
  };
  double all = 0;
  double sum = 0;
  for (double x = -reach + step / 2; x < reach; x += step) {
    for (double y = -reach + step / 2; y < reach; y += step) {
      const double here = std::exp(exponent(x, y));
      all += here;
      sum += std::max(0.0, std::exp(exponent(x - move, y - move)) - std::exp(at) * here);
    }
  }
  return sum / all;
}

double truth(const VectorNoise& noise, double at) {
  static std::map<std::tuple<double, double, double>, double> known;
  const auto [found, is_new] = known.try_emplace({noise.r, noise.scale, at}, 0.0);
  if (is_new) found->second = by_squares(noise, at);
  return found->second;
}

const std::vector<VectorNoise> noises{{3, 2, 1.2, true}, {3, 2, 5, true}, {5, 2, 2, true}};
constexpr double errors_of_squares = 2e-4;  // relative; measured by halving the step

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
}  // namespace surety::accounting::privacy_loss::spread_vector_test
