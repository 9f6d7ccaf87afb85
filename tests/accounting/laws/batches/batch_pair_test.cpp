#include <surety/accounting/answers/best.h>
#include <surety/accounting/laws/batches/batch_pair.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <support/real.h>
#include <surety/accounting/accountants/renyi/renyi.h>
#include <surety/accounting/answers/asked.h>

namespace surety::accounting::laws::batch_pair_test {
namespace {

constexpr auto add_remove = Adjacency::add_or_remove_one;
constexpr auto zero = Adjacency::zero_out;
constexpr auto replace = Adjacency::replace_one;

Enclosure delta_at(const std::string& text, double at, Adjacency adjacency) {
  return delta(Pld{}, parse_event(text, adjacency), Epsilon{at});
}

/// Probabilities of finitely many outcomes under both data sets.
struct Pair {
  std::vector<double> p;
  std::vector<double> q;

  [[nodiscard]] double delta(double epsilon) const {
    double total = 0;
    for (std::size_t i = 0; i < p.size(); ++i) total += std::max(0.0, p[i] - std::exp(epsilon) * q[i]);
    return total;
  }
  [[nodiscard]] Pair reversed() const { return {q, p}; }
  [[nodiscard]] Pair sampled(double rate) const {
    Pair found = *this;
    for (std::size_t i = 0; i < p.size(); ++i) found.p[i] = (1 - rate) * q[i] + rate * p[i];
    return found;
  }
  /// An outcome of its own where nobody was in the batch.
  [[nodiscard]] Pair revealed(double rate) const {
    Pair found = *this;
    for (auto* one : {&found.p, &found.q}) {
      for (double& mass : *one) mass *= rate;
      one->push_back(1 - rate);
    }
    return found;
  }
  friend Pair operator*(const Pair& x, const Pair& y) {
    Pair found;
    for (std::size_t i = 0; i < x.p.size(); ++i) {
      for (std::size_t j = 0; j < y.p.size(); ++j) {
        found.p.push_back(x.p[i] * y.p[j]);
        found.q.push_back(x.q[i] * y.q[j]);
      }
    }
    return found;
  }
};

/// approx(epsilon, delta) at its worst.
Pair approximate(double epsilon, double delta) {
  const double hit = (1 - delta) / (1 + std::exp(-epsilon));
  const double miss = (1 - delta) / (1 + std::exp(epsilon));
  return {{delta, hit, miss, 0}, {0, miss, hit, delta}};
}
Pair answered(double truth) { return {{truth, 1 - truth}, {1 - truth, truth}}; }

/// Of two rounds, the second of which is seen from the side that is the worse after the first.
double either_way(const Pair& one, double at) {
  double best = 0;
  for (const Pair& first : {one, one.reversed()}) {
    double total = 0;
    for (std::size_t i = 0; i < first.p.size(); ++i) {
      if (!(first.p[i] > 0)) continue;
      const double left = first.q[i] > 0 ? at + std::log(first.q[i] / first.p[i]) : -1e300;
      total += first.p[i] * std::max(one.delta(left), one.reversed().delta(left));
    }
    best = std::max(best, total);
  }
  return best;
}

void expect_near(const Enclosure& found, double truth, double share, const std::string& what) {
  EXPECT_LE(found.lower, truth * (1 + 1e-12) + 1e-15) << what;
  EXPECT_GE(found.upper, truth * (1 - 1e-12) - 1e-15) << what;
  EXPECT_LE(found.width(), share * found.upper + 1e-15) << what;
}

TEST(BatchPair, OfApproximatePrivacyIsItsMixture) {
  const struct {
    double epsilon, delta, rate;
    const char* text;
  } cases[] = {{1, 0.01, 0.1, "approx(1, 0.01)"}, {0.3, 1e-6, 0.5, "approx(0.3, 1e-06)"}, {2, 0.3, 0.03, "approx(2, 0.3)"}};
  for (const auto& c : cases) {
    const Pair pair = approximate(c.epsilon, c.delta);
    const std::string batch = "repeat(2, poisson(" + std::to_string(c.rate) + ", " + c.text + "))";
    for (const double at : {0.0, 0.01, 0.2, 0.9, 1.7}) {
      const Pair one = pair.sampled(c.rate);
      const double truth = std::max((one * one).delta(at), (one * one).reversed().delta(at));
      expect_near(delta_at(batch, at, add_remove), truth, 3e-3, batch);
      const Pair seen = pair.revealed(c.rate);
      expect_near(delta_at(batch, at, zero), (seen * seen).delta(at), 3e-3, batch + " zero-out");
    }
  }
}

TEST(BatchPair, OfSeveralReleasesIsThatOfAllTogether) {
  const Pair both = answered(0.8) * answered(0.65) * approximate(0.4, 0.02);
  const std::string releases = "compose(randomized_response(0.8, 2), randomized_response(0.65, 2), approx(0.4, 0.02))";
  const std::string pures = "compose(pure(1.3862943611198906), pure(0.6190392084062234), approx(0.4, 0.02))";
  for (const double at : {0.0, 0.05, 0.3, 1.0, 2.0}) {
    const Pair one = both.sampled(0.2);
    expect_near(delta_at("repeat(2, poisson(0.2, " + pures + "))", at, add_remove),
                std::max((one * one).delta(at), (one * one).reversed().delta(at)), 1e-3, pures);
    const Pair seen = both.revealed(0.2);
    expect_near(delta_at("repeat(2, poisson(0.2, " + releases + "))", at, zero), (seen * seen).delta(at), 3e-3, releases);
    // Where everybody else is equal; above it the pair that is its own reverse.
    const auto fixed = delta_at("repeat(2, without_replacement(10, 2, " + releases + "))", at, replace);
    EXPECT_GE(fixed.upper, (one * one).delta(at));
    const double played = either_way(one, at);
    EXPECT_LE(fixed.lower, played * (1 + 1e-12));
    EXPECT_GE(fixed.lower, 0.997 * played);
    expect_near(delta_at("without_replacement(10, 2, " + releases + ")", at, replace), one.delta(at), 3e-3, releases + " fixed");
  }
}

/// delta of laplace(1) with gaussian(2), by quadrature over the loss of the first.
double of_two_noises(double at) {
  const auto gaussian = [](double x) {
    const auto above = [](double t) { return 0.5 * std::erfc(t / std::sqrt(2.0)); };
    return above(2 * x - 0.25) - std::exp(x) * above(2 * x + 0.25);
  };
  constexpr int points = 4000;
  double total = 0.5 * gaussian(at - 1) + 0.5 * std::exp(-1) * gaussian(at + 1);
  for (int i = 0; i <= points; ++i) {
    const double loss = -1 + 2.0 * i / points;
    const double weight = (i == 0 || i == points ? 1 : (i % 2 == 1 ? 4 : 2)) * (2.0 / points) / 3;
    total += weight * 0.25 * std::exp((loss - 1) / 2) * gaussian(at - loss);
  }
  return total;
}

TEST(BatchPair, OfTwoNoisesIsThatOfTheirQuadrature) {
  for (const double rate : {0.01, 0.4}) {
    const std::string batch = "poisson(" + std::to_string(rate) + ", compose(laplace(1), gaussian(2)))";
    for (const double at : {0.02, 0.1, 0.5, 1.5}) {
      const double removed = rate * of_two_noises(std::log1p(std::expm1(at) / rate));
      const double left = 1 - std::exp(at) * (1 - rate);
      const double added = left > 0 ? left * of_two_noises(std::log(std::exp(at) * rate / left)) : 0;
      for (const auto adjacency : {add_remove, zero}) {
        expect_near(delta_at(batch, at, adjacency), std::max(removed, added), 3e-3, batch);
      }
    }
  }
}

/// What a law costs: the sum over its atoms.
long double curve(const LossLaw& law, long double x) {
  long double total = law.infinite_mass;
  for (const auto& atom : std::get<AtomsBase>(law.base).atoms) {
    const long double loss = atom.loss;
    if (loss > x) total += static_cast<long double>((1 - law.infinite_mass) * atom.mass) * -std::expm1(x - loss);
  }
  return total;
}

TEST(BatchPair, OfWhatIsConcentratedDominatesWhatIs) {
  // All of these are 0.5-zCDP.
  const auto law = divergence_part(0.5, end_of_concentrated(0.5), [](double at) {
                     return curves_of_all().leaves.of_divergences(zcdp(Rho{0.5}, Adjacency::zero_out), Epsilon{at});
                   }).upper;
  for (const auto* text : {"gaussian(1)", "pure(1)", "exponential(2)", "compose(exponential(1), gaussian(1.1547005383792517))"}) {
    for (double at = -3; at < 9; at += 0.37) {
      const double there = delta_at(text, std::abs(at), zero).lower;
      const double truth = at >= 0 ? there : -std::expm1(at) + std::exp(at) * there;
      EXPECT_GE(curve(law, at), truth * (1 - 1e-12)) << text << " " << at;
    }
  }
  for (const auto* batch : {"repeat(100, poisson(0.01, zcdp(0.5)))", "repeat(7, poisson(0.3, compose(zcdp(0.2), zcdp(0.3))))"}) {
    for (const auto adjacency : {add_remove, zero}) {
      const auto found = epsilon(Pld{}, parse_event(batch, adjacency), Delta{1e-5});
      EXPECT_GT(found.lower, 0.5 * found.upper) << batch;
      if (adjacency == add_remove) {
        EXPECT_LT(found.upper, epsilon(Renyi{}, parse_event(batch, adjacency), Delta{1e-5}).upper) << batch;
      }
    }
  }
}

// From below it is the Gaussian release of that rho, or of a little less.
TEST(BatchPair, OfWhatIsConcentratedCostsNoLessThanItsGaussian) {
  for (const double rho : {0.1, 0.3, 0.5, 0.7, 1.1, 3.0}) {
    const auto part = divergence_part(rho, end_of_concentrated(rho), [](double at) { return std::exp(-at); });
    const reference::Real multiplier{std::get<GaussianBase>(part.lower.value().base).multiplier, 200};
    EXPECT_TRUE(multiplier * multiplier * rho * 2.0 >= 1) << rho;
    EXPECT_TRUE(multiplier * multiplier * rho * 2.0 <= 1 + 1e-14) << rho;
  }
}

TEST(BatchPair, NeedsEveryTerm) {
  const Pair pair = approximate(1, 0.3);
  LossLaw law{AtomsBase{{{-1, 1 / (1 + std::exp(1))}, {1, 1 / (1 + std::exp(-1))}}, 0, 1e-15}};
  law.infinite_mass = 0.3;
  const Parts parts{{law, law, true, 1}};
  const auto falls_below = [&](const BatchTerms& terms) {
    const auto found = batch_pair(parts, terms);
    for (const double at : {-0.3, -0.05, 0.0, 0.1, 0.6}) {
      const Pair one = pair.sampled(0.2);
      if (curve(batch_law(found, Mixing::remove, 0.2, +1, terms), at) < one.delta(at) * (1 - 1e-12)) return true;
      if (curve(batch_law(found, Mixing::add, 0.2, +1, terms), at) < one.reversed().delta(at) * (1 - 1e-12)) return true;
      EXPECT_LE(curve(batch_law(found, Mixing::remove, 0.2, -1), at), one.delta(at) * (1 + 1e-12));
      EXPECT_LE(curve(batch_law(found, Mixing::add, 0.2, -1), at), one.reversed().delta(at) * (1 + 1e-12));
    }
    return false;
  };
  EXPECT_FALSE(falls_below({}));
  EXPECT_TRUE(falls_below({.infinite = false}));
  EXPECT_TRUE(falls_below({.rounding = false}));
}

/// log(1 - rate + rate e^loss) at 200 bits.
reference::Real mixed(double rate, double loss) {
  constexpr mpfr_prec_t bits = 200;
  return log1p(rate * expm1(reference::Real{loss, bits}));
}

/// The loss and the mass of one outcome's atom in each direction enclose the exact ones, by little more than the digits of double.
void expect_enclosed(const LossLaw& above, const LossLaw& below, std::size_t which, const reference::Real& loss,
                     const reference::Real& mass) {
  const auto& higher = std::get<AtomsBase>(above.base);
  const auto& lower = std::get<AtomsBase>(below.base);
  ASSERT_GT(std::min(higher.atoms.size(), lower.atoms.size()), which);
  EXPECT_TRUE(loss <= higher.atoms[which].loss + higher.loss_error);
  EXPECT_TRUE(loss >= lower.atoms[which].loss - lower.loss_error);
  const double distance = 5e-16 * std::abs(loss.nearest_double()) + 1e-320;
  EXPECT_TRUE(higher.atoms[which].loss - loss <= distance);
  EXPECT_TRUE(loss - lower.atoms[which].loss <= distance);
  EXPECT_TRUE(mass <= higher.atoms[which].mass * (1 + higher.mass_error));
  EXPECT_TRUE(mass >= lower.atoms[which].mass * (1 - lower.mass_error));
  EXPECT_LT(reference::relative_error(higher.atoms[which].mass, mass), 1e-15);
}

// Rates from where a record is hardly ever there to where it is hardly ever missing. Losses near -log(rate) and near log(1 - rate), where the mixture
// turns, and those whose exponentials are beyond every long double.
TEST(BatchPair, MixesOutcomesWithAllTheirDigits) {
  constexpr double mass = 0.25;
  const std::vector<double> rates{1e-200, 1e-30, 1e-18, 1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 0.1, 0.5, 0.9, 1 - 1e-6, 1 - 1e-12, 1 - 0x1p-53};
  for (const double rate : rates) {
    std::vector<double> losses{1e-300, 1e-12, 1e-6, 1e-3, 0.1, 0.7, 1, 2, 5, 9, 15, 21, 30, 44, 60, 100, 690, 10999, 11001, 12000};
    for (const double factor : {0.5, 0.9, 0.999, 1.0, 1.001, 1.1}) {
      losses.push_back(factor * -std::log(rate));
      losses.push_back(factor * -std::log1p(-rate));
    }
    for (const double size : losses) {
      for (const double loss : {size, -size}) {
        SCOPED_TRACE(testing::Message() << "rate " << rate << " loss " << loss);
        const BatchTerms of_one{.rounding = false};
        const BatchPair pair{{{{loss, mass}}, 0}, {{{loss, mass}}, 0}};
        const auto law = [&](Mixing mixing, int direction) { return batch_law(pair, mixing, rate, direction, of_one); };
        // With a loss below -700 there is more Q-mass than a double holds.
        const reference::Real others = exp(reference::Real{-loss, 200});
        if (loss > -600) {
          const reference::Real removed = mass * (rate + (reference::Real{1, 200} - rate) * others);
          expect_enclosed(law(Mixing::remove, +1), law(Mixing::remove, -1), 0, mixed(rate, loss), removed);
        }
        expect_enclosed(law(Mixing::add, +1), law(Mixing::add, -1), 0, -mixed(rate, -loss), reference::Real{mass, 200});
        if (loss <= 0 || loss > 600) continue;
        // The mirror image comes first, then the middle.
        const auto both = law(Mixing::symmetric, +1);
        EXPECT_TRUE(-mixed(rate, loss) <= std::get<AtomsBase>(both.base).atoms.at(0).loss);
        EXPECT_TRUE(mixed(rate, loss) <= std::get<AtomsBase>(both.base).atoms.at(2).loss);
      }
    }
    // What only one of both has, at the ends.
    const BatchPair apart{{{{0, 0.5}}, 0.5}, {{{0, 0.5}}, 0.5}};
    const auto end = log1p(-reference::Real{rate, 200});
    const auto at = [&](Mixing mixing, int direction, std::size_t which) {
      return std::get<AtomsBase>(batch_law(apart, mixing, rate, direction).base).atoms.at(which).loss;
    };
    EXPECT_TRUE(-end <= at(Mixing::add, +1, 1) && -end >= at(Mixing::add, -1, 1)) << rate;
    EXPECT_TRUE(end >= at(Mixing::remove, -1, 0)) << rate;
  }
}

// Losses so large that one cell of the grid is wider than the exponents of double, or that a double does not tell them from their neighbours by a
// cell: the mass of such a release must not be lost.
TEST(BatchPair, LosesNoMassOfHugeLosses) {
  for (const char* inner :
       {"compose(discrete_laplace(4, 48135189597), gaussian(1))", "compose(laplace(1e-9), zcdp(1))",
        "compose(discrete_laplace(0.093, 6), discrete_laplace(4, 48135189597), zcdp(4))", "compose(exponential(1e9), gaussian(1))",
        "compose(discrete_gaussian(4, 48135189597), laplace(1))", "approx(1e20, 0.344)", "approx(1e235, 0.344)"}) {
    const Event event = poisson(SamplingRate{0.25}, parse_event(inner, Adjacency::add_or_remove_one));
    for (const double at : {1e-10, 1e-3, 0.01}) {
      try {
        EXPECT_GT(epsilon(Pld{}, event, Delta{at}).upper, 100) << inner << ' ' << at;
      } catch (const Error& error) {
        EXPECT_TRUE(error.code() == ErrorCode::unsupported || error.code() == ErrorCode::memory) << error.what();
      }
    }
  }
}

// Atoms with tails, as a curve of many points has them: what lies above a loss is no less than before, however few of its digits are beside 1.
TEST(BatchPair, KeepsTheMassThatItCutsFromTails) {
  AtomsBase given{{}, 0, 0, true, true};
  for (int i = -40; i <= 40; ++i) given.atoms.push_back({0.5 * i, std::exp(-5.0 * std::abs(i))});
  given.atoms[40].mass = 0.98;
  const LossLaw law{given};
  const auto found = batch_pair({{law, law, true, 1}}).above;
  ASSERT_LT(found.finite.size(), given.atoms.size());
  const auto sums = [](const auto& atoms, double loss, long double infinite) {
    std::pair<long double, long double> sum{0, infinite};
    for (const auto& atom : atoms) (atom.loss < loss ? sum.first : sum.second) += static_cast<long double>(atom.mass);
    return sum;
  };
  const long double little = 1e-15L;
  // Above the largest loss that is kept, and up to the least one.
  const double beyond = static_cast<double>(found.finite.back().loss) + 0.25;
  EXPECT_GE(sums(found.finite, beyond, found.infinite).second, sums(given.atoms, beyond, 0).second * (1 - little));
  EXPECT_LE(found.infinite, 2 * sums(given.atoms, beyond, 0).second);
  const double least = static_cast<double>(found.finite.front().loss) + 0.25;
  EXPECT_GE(sums(found.finite, least, 0).first, sums(given.atoms, least, 0).first * (1 - little));
}

TEST(BatchPair, FromBelowIsAPair) {
  // Laws whose atoms fit no common grid are moved down while they are merged, which makes Q-mass.
  Parts parts;
  for (const double scale : {0.7, 1.3, 2.9}) {
    const LossLaw law{LaplaceBase{scale}};
    parts.push_back({law, law, true, 2});
  }
  const auto q_mass = [&](const BatchTerms& terms) {
    long double total = 0;
    for (const auto& one : batch_pair(parts, terms).below.finite) total += one.mass * std::exp(-one.loss);
    return total;
  };
  EXPECT_LE(q_mass({}), 1);
  EXPECT_GT(q_mass({.rounding = false}), 1);
}

TEST(BatchPair, RefusesWhatItCannotMix) {
  const auto refused = [](const char* text) {
    try {
      static_cast<void>(epsilon(Pld{}, parse_event(text, zero), Delta{1e-6}));
      return std::string{};
    } catch (const Error& error) {
      return std::string{error.what()};
    }
  };
  EXPECT_NE(refused("poisson(0.1, repeat(2000, laplace(9)))").find("more than 1000"), std::string::npos);
  EXPECT_NE(refused("poisson(0.1, zcdp(20000))").find("rho"), std::string::npos);
  EXPECT_EQ(refused("poisson(0.1, generalized_gaussian(4, 2, 0.1))"), "") << "a batch of Gaussian noise dominates it";
}

}  // namespace
}  // namespace surety::accounting::laws::batch_pair_test
