// What a vector that moves shows, against the densities of the noise in the plane and in space.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <variant>
#include <vector>

#include <surety/accounting/laws/vectors/moved_vector.h>
#include <surety/accounting/laws/vectors/vector_pair.h>

namespace surety::accounting::laws {
namespace {

double curve(const AtomsBase& law, double at) {
  double sum = 0;
  for (const auto& [loss, mass] : law.atoms) sum += mass * std::max(0.0, -std::expm1(at - loss));
  return sum;
}

double norm(double x, double y, double r) { return std::pow(std::pow(std::abs(x), r) + std::pow(std::abs(y), r), 1 / r); }

/// By the middles of squares: the plane, or space around the axis of the move where there are three coordinates (l2 alone).
class Truth {
 public:
  explicit Truth(const VectorNoise& noise) {
    const double reach = noise.scale * (noise.is_squared ? 7 : 22) + 1;
    const double step = reach / 200;
    double all = 0;
    for (double x = -reach + step / 2; x < reach; x += step) {
      for (double y = step / 2; y < reach; y += step) {
        const double weight = noise.dimension == 3 ? y : 1;
        const auto exponent = [&](double length) {
          return noise.is_squared ? -0.5 * length * length / (noise.scale * noise.scale) : -length / noise.scale;
        };
        const double here = exponent(norm(x, y, noise.r));
        const double mass = weight * std::exp(here);
        all += mass;
        masses_.push_back(mass);
        ratios_.push_back(std::exp(exponent(norm(x - 1, y, noise.r)) - here));
      }
    }
    for (double& mass : masses_) mass /= all;
  }
  [[nodiscard]] double delta(double at) const {
    double sum = 0;
    for (std::size_t i = 0; i < masses_.size(); ++i) sum += masses_[i] * std::max(0.0, ratios_[i] - std::exp(at));
    return sum;
  }

 private:
  std::vector<double> masses_;
  std::vector<double> ratios_;
};

const std::vector<VectorNoise> noises{{2, 3, 0.7, false}, {2, 3, 1.5, true}, {3, 2, 1.2, true}};
constexpr double errors_of_squares = 2e-4;  // relative; measured by halving the step

int passed(const VectorTerms& terms, double below) {
  int found = 0;
  static const auto truths = [] {
    std::vector<Truth> all;
    for (const auto& noise : noises) all.emplace_back(noise);
    return all;
  }();
  for (std::size_t i = 0; i < noises.size(); ++i) {
    const auto& noise = noises[i];
    const auto& truth = truths[i];
    const auto law = vector_pair(noise, terms);
    const double largest = law.atoms.back().loss;
    for (const double share : {-0.3, 0.0, 0.3}) {
      const double at = share * largest;
      const double exact = truth.delta(at);
      if (curve(law, at) > exact * (1 + errors_of_squares)) ++found;
      if (below > 0) {
        EXPECT_GT(curve(law, at), exact * (1 - below)) << noise.r << " " << noise.dimension << " " << at;
      }
    }
  }
  return found;
}

TEST(VectorPair, LiesBelowTheNoiseAndNear) { EXPECT_EQ(passed({}, 0.08), 0); }
TEST(VectorPair, PassesItWithoutATerm) {
  EXPECT_GT(passed({.mass_below = false}, 0), 0);
  EXPECT_GT(passed({.least_loss = false}, 0), 0);
}

/// How often the law from above lies below the noise in space.
int undercut(const MovedTerms& terms, double above) {
  const VectorNoise noise{2, 3, 0.7, false};
  static const Truth truth{noise};
  const auto law = std::get<AtomsBase>(moved_vector(noise.dimension, noise.scale, terms).base);
  int found = 0;
  for (const double share : {-0.8, -0.3, 0.0, 0.1, 0.3, 0.8}) {
    const double at = share / noise.scale;
    const double exact = truth.delta(at);
    if (curve(law, at) < exact * (1 - errors_of_squares)) ++found;
    if (above > 0) {
      EXPECT_LT(curve(law, at), exact * (1 + above)) << at;
    }
  }
  return found;
}
TEST(MovedVector, LiesAboveTheNoiseAndNear) { EXPECT_EQ(undercut({}, 0.05), 0); }
TEST(MovedVector, IsPassedWithoutATerm) {
  EXPECT_GT(undercut({.mass_above = false}, 0), 0);
  EXPECT_GT(undercut({.largest_loss = false}, 0), 0);
}
// A shorter move, of any direction, shows less: the law from below of one is below it, and the two are near where the move is as long as it may be.
TEST(MovedVector, LiesAboveEveryLawFromBelow) {
  for (const auto& [d, b] : {std::pair{3.0, 0.5}, {10.0, 1.0}, {100.0, 5.0}, {5000.0, 0.1}}) {
    const auto above = std::get<AtomsBase>(moved_vector(d, b).base);
    const auto below = vector_pair({2, d, b, false});
    const auto shorter = vector_pair({2, d, b / 0.7, false});  // a move of .7
    for (const double share : {-0.5, 0.0, 0.05, 0.2, 0.6, 0.9}) {
      const double at = share / b;
      EXPECT_GE(curve(above, at), curve(below, at)) << d << " " << at;
      EXPECT_GE(curve(above, at), curve(shorter, at)) << d << " " << at;
    }
    EXPECT_LT(curve(above, 0), 1.1 * curve(below, 0)) << d;
  }
}

// A quarter of a million coordinates: nearly Gaussian noise of 1 / (b sqrt(d)).
TEST(VectorPair, OfManyCoordinatesIsNearlyGaussian) {
  const double d = 250'000;
  const double mu = 1;
  const auto law = vector_pair({2, d, 1 / (mu * std::sqrt(d)), false});
  const auto normal = [](double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); };
  for (const double at : {0.5, 1.0, 2.0}) {
    EXPECT_NEAR(curve(law, at) / (normal(mu / 2 - at / mu) - std::exp(at) * normal(-mu / 2 - at / mu)), 1, 0.03) << at;
  }
}

// Powers that leave the range of double leave cells out, and no NaN.
TEST(VectorPair, LeavesOutWhatHasNoDigits) {
  for (const double r : {1.0, 2761.852665437841, 1e6}) {
    for (const bool is_squared : {true, false}) {
      double mass = 0;
      for (const auto& atom : vector_pair({r, 24, 160.87708320407748, is_squared}).atoms) {
        EXPECT_TRUE(std::isfinite(atom.loss)) << r;
        mass += atom.mass;
      }
      EXPECT_GE(mass, 0) << r;
      EXPECT_LE(mass, 1 + 1e-9) << r;
    }
  }
}

}  // namespace
}  // namespace surety::accounting::laws
