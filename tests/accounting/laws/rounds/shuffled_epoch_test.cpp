#include <surety/accounting/laws/rounds/shuffled_epoch.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <surety/accounting/accountants/closed_form/closed_form.h>

#include <support/plain_law.h>

namespace surety::accounting::shuffled_epoch_test {
namespace {

using namespace testing;

std::vector<Atom> atoms_of(const AtomsBase& base, bool reversed) {
  std::vector<Atom> found;
  for (const auto& atom : base.atoms) {
    found.push_back(reversed ? Atom{-atom.loss, atom.mass * std::exp(-atom.loss)} : Atom{atom.loss, atom.mass});
  }
  return found;
}

TEST(LargestCoordinate, IsTwoProbabilityLaws) {
  for (const double z : {0.05, 0.7, 3.0, 200.0}) {
    for (const std::uint64_t batches : {1U, 2U, 50U, 1000000U}) {
      const auto base = largest_coordinate(z, batches);
      EXPECT_NEAR(delta_of(atoms_of(base, false), -infinity), 1, 1e-12) << z << ' ' << batches;
      EXPECT_NEAR(delta_of(atoms_of(base, true), -infinity), 1, 1e-11) << z << ' ' << batches;
      EXPECT_LT(base.loss_error, 3e-13);
      EXPECT_LT(base.mass_error, 2e-13);
      EXPECT_TRUE(std::is_sorted(base.atoms.begin(), base.atoms.end(), [](const auto& a, const auto& b) { return a.loss < b.loss; }));
    }
  }
}

// However a user's records fall into the batches: the ways add up to all of them.
TEST(LargestCoordinate, OfAUserIsTwoProbabilityLaws) {
  for (const std::uint64_t records : {1U, 2U, 3U, 5U}) {
    for (const std::uint64_t batches : {1U, 3U, 40U}) {
      const auto base = largest_coordinate_of_user(1.5, batches, records);
      EXPECT_NEAR(delta_of(atoms_of(base, false), -infinity), 1, 1e-12) << records << ' ' << batches;
      EXPECT_NEAR(delta_of(atoms_of(base, true), -infinity), 1, 1e-11) << records << ' ' << batches;
      EXPECT_LT(base.loss_error, 3e-13);
      EXPECT_LT(base.mass_error, 2e-13);
    }
  }
}

TEST(LargestCoordinate, OfOneBatchIsTheGaussianItself) {
  for (const double z : {0.5, 1.0, 5.0}) {
    const auto base = largest_coordinate(z, 1);
    for (const double at : {0.0, 0.5 / z, 2 / z}) {
      const auto truth = delta(ClosedForm{}, gaussian(NoiseMultiplier{z}, replace), Epsilon{at});
      for (const bool reversed : {false, true}) {
        const double found = delta_of(atoms_of(base, reversed), at);
        EXPECT_LT(found, truth.upper) << z << ' ' << at;
        EXPECT_GT(found, truth.lower * 0.999) << z << ' ' << at;
      }
    }
  }
}

/// delta of one of two batches in a secret order, larger direction, by a midpoint rule in the plane.
double two_batches(double mu, double epsilon) {
  const double step = 0.02;
  double added = 0;
  double removed = 0;
  for (double x = -8; x < 8 + mu; x += step) {
    for (double y = -8; y < 8 + mu; y += step) {
      const double q = std::exp(-0.5 * (x * x + y * y)) / (2 * M_PI);
      const double p = q * 0.5 * (std::exp(mu * x - 0.5 * mu * mu) + std::exp(mu * y - 0.5 * mu * mu));
      removed += std::max(0.0, p - std::exp(epsilon) * q);
      added += std::max(0.0, q - std::exp(epsilon) * p);
    }
  }
  return std::max(removed, added) * step * step;
}

TEST(Shuffled, HoldsTheTruthOfTwoBatches) {
  for (const double z : {0.5, 1.0, 2.0}) {
    for (const double at : {0.1, 0.6}) {
      const double truth = two_batches(1 / z, at);
      const auto found = delta_of("shuffled(10, 5, gaussian(" + std::to_string(z) + "))", at);
      EXPECT_LT(found.lower, truth * 1.0001) << z << ' ' << at;
      EXPECT_GT(found.lower, truth * (z > 1 ? 0.7 : 0.9)) << z << ' ' << at;
      EXPECT_GT(found.upper, truth) << z << ' ' << at;
    }
  }
}

TEST(Shuffled, CostsAtMostPublicBatchesAndShowsItsLowerBound) {
  for (const auto adjacency : {replace, zero}) {
    const auto secret = epsilon_of("repeat(20, shuffled(1000, 100, gaussian(2)))", 1e-6, 1e-3, adjacency);
    const auto known = epsilon_of("repeat(20, deterministic(1000, 100, gaussian(2)))", 1e-6, 1e-3, adjacency);
    EXPECT_NEAR(secret.upper, known.upper, 2e-3);
    EXPECT_GT(secret.lower, 0.25 * secret.upper);
    EXPECT_LT(secret.lower, secret.upper);
  }
  EXPECT_TRUE(overlap(epsilon_of("shuffled(100, 100, gaussian(2))", 1e-6),
                      epsilon(ClosedForm{}, parse_event("gaussian(2)", replace), Delta{1e-6})));
  EXPECT_LT(epsilon_of("shuffled(100, 100, gaussian(2))", 1e-6).width(), 1e-4);
}

// Whoever looks at the first of ten batches only sees a batch that the record joins with probability 1/10.
TEST(Shuffled, OtherReleasesAreSeenInOneBatch) {
  const auto found = epsilon_of("shuffled(1000, 100, pure(1))", 0, 1e-4);
  EXPECT_NEAR(found.lower, std::log1p(0.1 * std::expm1(1.0)), 1e-9);
  EXPECT_NEAR(found.upper, 1, 1e-9);
  const auto mixed = epsilon_of("shuffled(1000, 100, compose(laplace(2), gaussian(2)))", 1e-5, 1e-3);
  EXPECT_EQ(mixed.lower, 0);
  EXPECT_EQ(epsilon_of("shuffled(1000, 100, repeat(2, exponential(1)))", 1e-5, 1e-3).lower, 0);
  EXPECT_TRUE(overlap(mixed, {epsilon_of("compose(laplace(2), gaussian(2))", 1e-5, 1e-3).lower, infinity}));
}

TEST(Shuffled, IsNeverAPoissonSample) {
  const auto shuffled = epsilon_of("repeat(10, shuffled(1000, 10, gaussian(1)))", 1e-5, 1e-3, zero);
  const auto sampled = epsilon_of("repeat(1000, poisson(0.01, gaussian(1)))", 1e-5, 1e-3, zero);
  EXPECT_GT(shuffled.upper, 1.5 * sampled.upper);
  EXPECT_GT(shuffled.lower, 0.3 * sampled.lower);
}

}  // namespace
}  // namespace surety::accounting::shuffled_epoch_test
