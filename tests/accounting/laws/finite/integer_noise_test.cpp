// Laws of coin flips and of differences of Poisson variables against sums of their probabilities at 300 bits.
#include <surety/accounting/laws/finite/integer_noise.h>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <support/integer_laws.h>
#include <support/real.h>

namespace surety::accounting::laws::integer_noise_test {
namespace {

using reference::Real;
Real real(double x) { return Real{x, 300}; }

/// Probabilities of 0, 1, ..., n heads: integer_laws.h has those of even n only.
std::vector<Real> flips(unsigned n) {
  std::vector<Real> found{exp(real(-static_cast<double>(n)) * log(real(2)))};
  for (unsigned k = 1; k <= n; ++k) found.push_back(found.back() * static_cast<double>(n - k + 1) / static_cast<double>(k));
  return found;
}

/// Probabilities of -reach, ..., reach.
std::vector<Real> differences(double mean, unsigned reach) {
  std::vector<Real> half;
  for (unsigned d = 0; d <= reach; ++d) half.push_back(surety::testing::skellam_probability(mean, d, 300));
  std::vector<Real> found(half.rbegin(), half.rend());
  found.insert(found.end(), half.begin() + 1, half.end());
  return found;
}

/// sum of max(0, p(k - s) - e^epsilon p(k)).
Real truth(const std::vector<Real>& p, unsigned s, double epsilon) {
  const Real factor = exp(real(epsilon));
  Real sum = real(0);
  for (std::size_t k = s; k < p.size() + s; ++k) {
    const Real excess = k < p.size() ? p[k - s] - factor * p[k] : p[k - s];
    if (excess > 0.0) sum = sum + excess;
  }
  return sum;
}

/// delta of the atoms, each moved by what it may be wrong by, upwards or downwards.
Real curve(const LossLaw& law, double at, int direction) {
  const auto& base = std::get<AtomsBase>(law.base);
  Real total = real(0);
  for (const auto& atom : base.atoms) {
    const Real loss = real(atom.loss) + direction * base.loss_error;
    if (loss > at) total = total - atom.mass * (1 + direction * base.mass_error) * expm1(at - loss);
  }
  return law.infinite_mass + (1.0 - real(law.infinite_mass)) * total;
}

struct Found {
  bool above;    ///< nowhere less than the truth
  bool below;    ///< nowhere more
  double width;  ///< the largest, as a share of the truth that is above 1e-250
};

Found compared(const IntegerNoiseLaws& laws, const std::vector<Real>& p, unsigned s, double scale) {
  Found found{true, true, 0};
  for (const double share : {0.0, 0.1, 0.5, 1.0, 2.0, 4.0}) {
    const Real wanted = truth(p, s, share * scale);
    const Real upper = curve(laws.upper, share * scale, +1);
    const Real lower = curve(laws.lower.value(), share * scale, -1);
    found.above = found.above && upper >= wanted;
    found.below = found.below && lower <= wanted;
    found.width = std::max(found.width, ((upper - lower) / (wanted + 1e-250)).nearest_double());
  }
  return found;
}

double scale_of(double variance, double s) { return s * s / variance / 2 + s / std::sqrt(variance); }

TEST(IntegerNoise, OfFlipsEnclosesTheSums) {
  for (const unsigned n : {1U, 2U, 3U, 7U, 20U, 101U, 1000U, 1500U}) {
    for (const unsigned s : {1U, 2U, 5U, 40U}) {
      const auto laws = binomial_laws(Count{n}, Count{s});
      SCOPED_TRACE(::testing::Message() << n << " " << s);
      if (s > n) {
        EXPECT_FALSE(laws);
        continue;
      }
      ASSERT_TRUE(laws && laws->lower);
      const auto found = compared(*laws, flips(n), s, scale_of(n / 4.0, s));
      EXPECT_TRUE(found.above);
      EXPECT_TRUE(found.below);
      EXPECT_LE(found.width, 1e-10);
    }
  }
}

TEST(IntegerNoise, OfPoissonVariablesEnclosesTheSums) {
  for (const double mean : {1e-3, 0.3, 1.0, 17.5, 200.0}) {
    for (const unsigned s : {1U, 2U, 9U}) {
      const auto laws = skellam_laws(PoissonMean{mean}, Count{s});
      SCOPED_TRACE(::testing::Message() << mean << " " << s);
      ASSERT_TRUE(laws && laws->lower);
      // Of little noise the tails are long.
      const auto found = compared(*laws, differences(mean, 300), s, mean < 1 ? 2.0 : scale_of(2 * mean, s));
      EXPECT_TRUE(found.above);
      EXPECT_TRUE(found.below);
      EXPECT_LE(found.width, 1e-10);
    }
  }
}

TEST(IntegerNoise, EnclosesTheSumsWhereNeighboursAreTakenTogether) {
  IntegerNoiseTerms terms;
  terms.most_places = 300;
  for (const unsigned n : {1000U, 2001U}) {
    for (const unsigned s : {1U, 4U}) {
      SCOPED_TRACE(::testing::Message() << n << " " << s);
      const auto found = compared(binomial_laws(Count{n}, Count{s}, terms).value(), flips(n), s, scale_of(n / 4.0, s));
      EXPECT_TRUE(found.above);
      EXPECT_TRUE(found.below);
      EXPECT_GT(found.width, 1e-6);
      EXPECT_LE(found.width, 1e-1);
    }
  }
  IntegerNoiseTerms few;
  few.most_places = 100;
  const auto found = compared(skellam_laws(PoissonMean{200}, Count{3}, few).value(), differences(200, 800), 3, scale_of(400, 3));
  EXPECT_TRUE(found.above && found.below);
}

TEST(IntegerNoise, EachTermIsNeeded) {
  IntegerNoiseTerms within;
  within.outside = false;
  EXPECT_FALSE(compared(binomial_laws(Count{20}, Count{2}, within).value(), flips(20), 2, scale_of(5, 2)).above);
  IntegerNoiseTerms merged;
  merged.most_places = 300;
  merged.chords = false;
  EXPECT_FALSE(compared(binomial_laws(Count{4000}, Count{2}, merged).value(), flips(4000), 2, scale_of(1000, 2)).above);
}

TEST(IntegerNoise, IsItsOwnReverse) {
  for (const auto& laws :
       {binomial_laws(Count{101}, Count{3}), binomial_laws(Count{100}, Count{4}), skellam_laws(PoissonMean{5}, Count{3})}) {
    const auto& atoms = std::get<AtomsBase>(laws->upper.base).atoms;
    double whole = 0;
    for (std::size_t i = 0; i < atoms.size(); ++i) {
      EXPECT_EQ(atoms[i].loss, -atoms[atoms.size() - 1 - i].loss);
      whole += atoms[i].mass;
    }
    EXPECT_NEAR(whole, 1, 1e-13);
  }
}

TEST(IntegerNoise, HasNoLawsWhereTheTwoHaveLittleInCommon) {
  EXPECT_FALSE(binomial_laws(Count{4}, Count{5}));
  EXPECT_FALSE(binomial_laws(Count{100000}, Count{std::uint64_t{1} << 40}));
  EXPECT_FALSE(binomial_laws(Count{100000}, Count{9000}));
  EXPECT_FALSE(skellam_laws(PoissonMean{1e-300}, Count{1}));
  EXPECT_FALSE(skellam_laws(PoissonMean{100}, Count{std::uint64_t{1} << 53}));
}

// The largest noise: losses are still known to 2e-12, and the curve is nearly that of a Gaussian release.
TEST(IntegerNoise, OfTheLargestDeviationIsNearlyGaussian) {
  const auto nearly = [](const LossLaw& law, double error) {
    const auto& base = std::get<AtomsBase>(law.base);
    EXPECT_LE(base.loss_error, error);
    const double mu = 6554.0 / 65536;
    const double epsilon = 0.5;
    double delta = 0;
    for (const auto& atom : base.atoms) delta += atom.loss > epsilon ? atom.mass * -std::expm1(epsilon - atom.loss) : 0;
    const auto tail = [](double x) { return 0.5 * std::erfc(x / std::sqrt(2.0)); };
    const double gaussian = tail(epsilon / mu - mu / 2) - std::exp(epsilon) * tail(epsilon / mu + mu / 2);
    EXPECT_NEAR(delta, gaussian, 1e-5 * gaussian);
  };
  nearly(binomial_laws(Count{std::uint64_t{1} << 34}, Count{6554}).value().upper, 1e-14);
  nearly(skellam_laws(PoissonMean{0x1p31}, Count{6554}).value().upper, 2e-12);
}

}  // namespace
}  // namespace surety::accounting::laws::integer_noise_test
