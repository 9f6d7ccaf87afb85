// The certified accountant on events that say how releases share the data: shuffled epochs and parallel parts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <surety/accounting/best.h>
#include <surety/accounting/closed_form.h>
#include <surety/accounting/maximum_profile.h>
#include <surety/accounting/parallel_parts.h>
#include <surety/accounting/privacy_loss.h>
#include <surety/accounting/shuffled_epoch.h>

namespace surety::accounting {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr auto replace = Adjacency::replace_one;
constexpr auto zero = Adjacency::zero_out;

Enclosure epsilon_of(const std::string& text, double delta, double width = 1e-4, Adjacency adjacency = replace) {
  return epsilon(PrivacyLoss{.width = width}, parse_event(text, adjacency), Delta{delta});
}
Enclosure delta_of(const std::string& text, double epsilon, double width = 1e-4, Adjacency adjacency = replace) {
  return delta(PrivacyLoss{.width = width}, parse_event(text, adjacency), Epsilon{epsilon});
}

/// What plain double arithmetic makes of a law: exact up to some 1e-12.
struct Atom {
  double loss;
  double mass;
};
double delta_of(const std::vector<Atom>& atoms, double epsilon) {
  double sum = 0;
  for (const auto& [loss, mass] : atoms) sum += mass * std::max(0.0, loss == infinity ? 1 : -std::expm1(epsilon - loss));
  return sum;
}
std::vector<Atom> atoms_of(const AtomsBase& base, bool reversed) {
  std::vector<Atom> found;
  for (const auto& atom : base.atoms) {
    found.push_back(reversed ? Atom{-atom.loss, atom.mass * std::exp(-atom.loss)} : Atom{atom.loss, atom.mass});
  }
  return found;
}

// ---- shuffled epochs ----

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

// ---- parallel parts ----

TEST(Parallel, OfEqualPartsIsOnePart) {
  for (const std::string part :
       {"gaussian(2)", "compose(laplace(8), gaussian(5))", "repeat(3, pure(0.3))", "repeat(30, poisson(0.1, gaussian(1)))"}) {
    for (const std::string times : {"1", "7"}) {
      const auto several = epsilon_of("repeat(" + times + ", parallel(" + part + ", " + part + ", " + part + "))", 1e-4, 1e-3, zero);
      const auto one = epsilon_of("repeat(" + times + ", " + part + ")", 1e-4, 1e-3, zero);
      EXPECT_EQ(several.lower, one.lower) << part;
      EXPECT_EQ(several.upper, one.upper) << part;
    }
  }
}

TEST(Parallel, DropsWhatCostsNoMore) {
  const auto left = [](const std::string& text) {
    const auto event = parse_event(text, zero);
    std::vector<std::string> found;
    for (const auto& part : undominated(std::get<Event::Parallel>(event.node()))) found.push_back(describe(part));
    return found;
  };
  using Parts = std::vector<std::string>;
  EXPECT_EQ(left("parallel(gaussian(2), gaussian(1), gaussian(3))"), Parts{"gaussian(1)"});
  EXPECT_EQ(left("parallel(gaussian(1), repeat(4, gaussian(2)), compose(gaussian(1.3), gaussian(1.3)))"),
            Parts{"compose(gaussian(1.3), gaussian(1.3))"});
  EXPECT_EQ(left("parallel(poisson(0.1, gaussian(2)), poisson(0.2, gaussian(1.5)), parallel(pure(1), pure(2)))"),
            (Parts{"poisson(0.2, gaussian(1.5))", "pure(2)"}));
  EXPECT_EQ(left("parallel(exponential(1), approx(1, 1e-6), pure(0.5), laplace(2), shuffled(10, 2, laplace(3)))"),
            (Parts{"approx(1, 1e-06)", "laplace(2)"}));
  EXPECT_EQ(left("parallel(repeat(2, laplace(1)), compose(laplace(1), repeat(2, laplace(1))))"),
            Parts{"compose(laplace(1), repeat(2, laplace(1)))"});
  EXPECT_EQ(left("parallel(poisson(0.2, gaussian(2)), poisson(0.1, gaussian(1)))").size(), 2U);
  EXPECT_EQ(left("parallel(repeat(3, laplace(2)), repeat(2, laplace(1)))").size(), 2U);
}

/// Connect the dots of the larger of two curves, finely, in plain double arithmetic.
std::vector<Atom> larger(const std::vector<Atom>& a, const std::vector<Atom>& b) {
  const double step = 1e-3;
  const int least = -1800;
  const int largest = 1800;
  std::vector<double> delta;
  for (int i = least; i <= largest; ++i) delta.push_back(std::max(delta_of(a, i * step), delta_of(b, i * step)));
  std::vector<Atom> found;
  for (std::size_t i = 0; i < delta.size(); ++i) {
    const double before = i == 0 ? delta[i] - 1 : (delta[i] - delta[i - 1]) / -std::expm1(-step);
    const double after = i + 1 == delta.size() ? 0 : (delta[i + 1] - delta[i]) / std::expm1(step);
    found.push_back({(static_cast<int>(i) + least) * step, after - before});
  }
  return found;
}
std::vector<Atom> twice(const std::vector<Atom>& law) {
  std::vector<Atom> found;
  for (const auto& a : law) {
    for (const auto& b : law) {
      if (std::abs(a.mass * b.mass) > 1e-18) found.push_back({a.loss + b.loss, a.mass * b.mass});
    }
  }
  return found;
}

// Neither curve lies above the other: one has the larger losses, the other more mass on them.
TEST(Parallel, ComposesTheLargerOfTwoCurves) {
  const double e = std::exp(1.0);
  const std::vector<Atom> pure{{-1, 1 / (1 + e)}, {1, e / (1 + e)}};
  const double loss = std::log(0.3 * 9 / 0.7);
  const std::vector<Atom> response{{-loss, 0.7 / 9}, {0, 0.7 / 9 * 8}, {loss, 0.3}};
  const std::string text = "parallel(pure(1), randomized_response(0.3, 10))";
  const auto brute = larger(pure, response);
  for (const double at : {0.0, 0.4, 0.9, 1.2}) {
    const double once = std::max(delta_of(pure, at), delta_of(response, at));
    EXPECT_NEAR(delta_of(text, at, 1e-5).upper, once, 1e-7) << at;
    EXPECT_NEAR(delta_of(text, at, 1e-5).lower, once, 1e-7) << at;
  }
  for (const double at : {0.0, 0.4, 0.9, 1.2, 1.7, 2.2}) {
    const double truth = delta_of(twice(brute), at);
    const auto found = delta_of("repeat(2, " + text + ")", at, 1e-5);
    EXPECT_NEAR(found.upper, truth, 5e-5) << at;
    EXPECT_LE(found.lower, truth + 1e-9) << at;
    // More than twice either part, and their lower bounds hold.
    EXPECT_GE(found.upper, delta_of(twice(pure), at)) << at;
    EXPECT_GE(found.upper, delta_of(twice(response), at)) << at;
    EXPECT_GE(found.lower, std::max(delta_of(twice(pure), at), delta_of(twice(response), at)) * 0.9 - 1e-9) << at;
  }
}

TEST(Parallel, LiesOnOrAboveEachOfItsCurves) {
  const std::vector<LossLaw> laws{LossLaw{GaussianBase{1.5}}, LossLaw{LaplaceBase{1.2}}, LossLaw{GaussianBase{0.7}, Mixing::removed, 0.2}};
  const Cut cut{-40, -40};
  for (const double step : {0.1, 0.01, 1e-3}) {
    const auto found = maximum_cells(laws, step, cut);
    std::vector<Atom> all{{infinity, static_cast<double>(found.cut_above)}};
    double total = 0;
    for (const auto& cell : found.cells) {
      all.push_back({found.anchor + static_cast<double>(cell.index) * step, cell.mass * std::exp(cell.log_scale)});
      total += all.back().mass;
    }
    EXPECT_NEAR(total, 1, 1e-12);
    double highest = 0;
    for (const auto& law : laws) {
      // The cells' own merged losses bound the curve of the law from below.
      const auto cells_of = cells(law, 1e-3, cut);
      std::vector<Atom> below;
      for (const auto& cell : cells_of.cells) {
        below.push_back(
            {cells_of.anchor + static_cast<double>(cell.index) * 1e-3 - std::log1p(-cell.excess), cell.mass * std::exp(cell.log_scale)});
      }
      for (double at = -6; at < 6; at += 0.037) {
        EXPECT_GE(delta_of(all, at), delta_of(below, at) * (1 - 1e-9)) << at << ' ' << step;
        highest = std::max(highest, delta_of(below, at));
      }
    }
    EXPECT_GT(highest, 0.9);
  }
}

TEST(Parallel, CostsAtLeastEachPartWhateverIsReleasedBeside) {
  const std::vector<std::string> parts{"laplace(4)", "gaussian(3)", "repeat(3, pure(0.1))", "poisson(0.5, gaussian(1.6))"};
  for (const std::string beside : {"gaussian(5)", "repeat(4, randomized_response(0.6, 3))"}) {
    const std::string all = "parallel(" + parts[0] + ", " + parts[1] + ", " + parts[2] + ", " + parts[3] + ")";
    const auto found = epsilon_of("compose(repeat(5, " + all + "), " + beside + ")", 1e-5, 1e-3, zero);
    double most = 0;
    double least = infinity;
    for (const auto& part : parts) {
      const auto one = epsilon_of("compose(repeat(5, " + part + "), " + beside + ")", 1e-5, 1e-3, zero);
      EXPECT_LE(one.lower, found.upper) << part;
      most = std::max(most, one.upper);
      least = std::min(least, one.upper);
    }
    EXPECT_GT(found.lower, least) << beside;
    EXPECT_NEAR(found.lower, most, 0.02 * most) << beside;
    EXPECT_LT(found.upper, 1.5 * most) << beside;
  }
}

TEST(Parallel, AloneCostsItsWorstPart) {
  const auto found =
      epsilon_of("parallel(repeat(10, gaussian(4)), repeat(100, poisson(0.02, gaussian(1))), approx(0.3, 1e-7))", 1e-5, 1e-4, zero);
  const auto worst = epsilon_of("repeat(10, gaussian(4))", 1e-5, 1e-4, zero);
  EXPECT_EQ(found.lower, worst.lower);
  EXPECT_EQ(found.upper, worst.upper);
  EXPECT_EQ(epsilon_of("parallel(pure(1), laplace(2), pure(0.2))", 0).upper, epsilon_of("pure(1)", 0).upper);
}

// A fresh batch meets each of the parts; under fixed-size batches the number that falls into one part tells of the other.
TEST(Parallel, SharesAPoissonBatchAndNoOther) {
  const auto inside = epsilon_of("repeat(50, poisson(0.1, parallel(gaussian(2), laplace(3))))", 1e-5, 1e-3, zero);
  const auto outside = epsilon_of("repeat(50, parallel(poisson(0.1, gaussian(2)), poisson(0.1, laplace(3))))", 1e-5, 1e-3, zero);
  EXPECT_EQ(inside.upper, outside.upper);
  EXPECT_LT(inside.width(), 0.1 * inside.upper);
  try {
    (void)epsilon_of("without_replacement(10, 2, parallel(gaussian(2), gaussian(3)))", 1e-5);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string{error.what()}.find("one batch of fixed size among parallel parts"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace surety::accounting
