// Defects planted in the PLD accountant, one at a time: each is caught by a comparison with the truth that the accountant
// itself passes. A test that no defect fails would say nothing.
#include <surety/accounting/accountants/pld/terms.h>
#include <surety/accounting/answers/asked.h>
#include <surety/accounting/answers/best.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include <support/gaussian_truth.h>
#include <support/random.h>
#include <support/real.h>

namespace surety::accounting::pld_mutants_test {
namespace {

using reference::log_uniform;
using reference::Real;

constexpr auto adjacency = Adjacency::add_or_remove_one;
using Long = long double;

Long number(const Real& value) { return mpfr_get_ld(value.get(), MPFR_RNDN); }

/// What is left out, by the side of the enclosure that it serves.
enum class Mutant { none, no_rounding, no_cut_tail, no_tail_beyond, no_aliasing };

bool contains(const GridTerms& terms, Long truth, Mutant mutant = Mutant::none) {
  const auto& [upper, lower] = terms;
  const bool rounding = mutant != Mutant::no_rounding;
  const Long most = upper.sum + (rounding ? upper.rounding : 0) + (mutant == Mutant::no_tail_beyond ? 0 : upper.beyond) +
                    (mutant == Mutant::no_cut_tail ? 0 : upper.infinite);
  const Long least = lower.sum - (rounding ? lower.rounding : 0) - (mutant == Mutant::no_aliasing ? 0 : lower.aliasing) + lower.infinite;
  return least <= truth && truth <= most;
}

/// delta(epsilon) of `count` times the pair (e^a / (1 + e^a), 1 / (1 + e^a)) against its reverse.
Long binomial_delta(double a, unsigned count, double epsilon) {
  const Real loss{a, 400};
  const Real hit = 1.0 / (1.0 + exp(-loss));
  const Real miss = 1.0 / (1.0 + exp(loss));
  Real total{0, 400};
  Real term{1, 400};
  for (unsigned i = 0; i < count; ++i) term = term * hit;
  for (unsigned k = 0; k <= count; ++k) {
    const Real above = loss * (static_cast<double>(count) - 2.0 * k) - epsilon;
    if (above > 0.0) total = total - term * expm1(-above);
    term = term * (miss / hit) * (static_cast<double>(count - k) / (k + 1.0));
  }
  return number(total);
}

// Losses on a lattice have no error but rounding, and the window holds them all. A tilt of next to nothing makes rounding large beside
// so small a delta.
TEST(PldMutants, RoundingIsNeeded) {
  std::mt19937_64 words{61};
  int caught = 0;
  constexpr int asked = 60;
  for (int i = 0; i < asked; ++i) {
    const double a = log_uniform(words, 0.1, 0.5);
    const auto count = static_cast<unsigned>(log_uniform(words, 60, 150));
    const double at = 0.9 * a * count;
    const auto event = repeat(Count{count}, pure(Epsilon{a}, adjacency));
    const auto terms =
        grid_terms(event, Epsilon{at}, {.step = 2 * a, .tilt = 0.01, .least = -a * (count + 4), .largest = 20 * a * (count + 4)},
                   curves_of_all().leaves);
    const Long truth = binomial_delta(a, count, at);
    EXPECT_TRUE(contains(terms, truth)) << describe(event) << " at " << at;
    caught += !contains(terms, truth, Mutant::no_rounding);
  }
  EXPECT_GE(caught, asked / 2);
}

struct Gaussians {
  double multiplier;
  std::uint64_t count;
  double at;  // epsilon, in deviations of the loss above its mean

  [[nodiscard]] Event event() const { return repeat(Count{count}, gaussian(NoiseMultiplier{multiplier}, adjacency)); }
  [[nodiscard]] double mu() const { return std::sqrt(static_cast<double>(count)) / multiplier; }
  [[nodiscard]] double epsilon() const { return mu() * mu() / 2 + at * mu(); }
  [[nodiscard]] Long truth() const {
    return number(reference::gaussian_delta(sqrt(Real{static_cast<double>(count), 200}) / Real{multiplier, 200}, Real{epsilon(), 200}));
  }
};

Gaussians random_gaussians(std::mt19937_64& words) {
  const auto count = static_cast<std::uint64_t>(log_uniform(words, 2, 20));
  return {std::sqrt(static_cast<double>(count)) / log_uniform(words, 0.7, 2), count, log_uniform(words, 0.3, 2)};
}

/// Of 40 random compositions, how many enclosures without their term miss the truth; with it none may.
template <class ShapeOf>
int caught(Mutant mutant, ShapeOf shape_of) {
  std::mt19937_64 words{62};
  int found = 0;
  for (int i = 0; i < 40; ++i) {
    const auto one = random_gaussians(words);
    const auto terms = grid_terms(one.event(), Epsilon{one.epsilon()}, shape_of(one), curves_of_all().leaves);
    EXPECT_TRUE(contains(terms, one.truth())) << describe(one.event()) << " at " << one.epsilon();
    found += !contains(terms, one.truth(), mutant);
  }
  return found;
}

constexpr double step = 0x1p-10;

// A share of 1e-3 or less of every release lies above its cells.
TEST(PldMutants, TheCutTailIsNeeded) {
  EXPECT_GE(caught(Mutant::no_cut_tail,
                   [](const Gaussians&) { return GridShape{.step = step, .least = -32, .largest = 32, .log_cut = std::log(1e-3)}; }),
            36);
}

// A window that ends a quarter above epsilon and starts far below: what is beyond wraps around to where it does not count.
TEST(PldMutants, TheTailBeyondTheWindowIsNeeded) {
  EXPECT_GE(
      caught(Mutant::no_tail_beyond,
             [](const Gaussians& one) { return GridShape{.step = step, .least = one.epsilon() - 15.75, .largest = one.epsilon() + 0.25}; }),
      36);
}

// A window that starts just below epsilon and is short: what lies outside counts as if it were inside.
TEST(PldMutants, AliasingIsNeeded) {
  EXPECT_GE(
      caught(Mutant::no_aliasing,
             [](const Gaussians& one) { return GridShape{.step = step, .least = one.epsilon() - 0.25, .largest = one.epsilon() + 1.75}; }),
      36);
}

// ---- defects that are wrong events ----

bool truth_is_in(const Event& event, const Gaussians& one) {
  const auto found = delta(Pld{.width = 1e-3}, event, Epsilon{one.epsilon()});
  return static_cast<Long>(found.lower) <= one.truth() && one.truth() <= static_cast<Long>(found.upper);
}

TEST(PldMutants, ACountDroppedInSelfCompositionIsCaught) {
  std::mt19937_64 words{63};
  for (int i = 0; i < 20; ++i) {
    const auto one = random_gaussians(words);
    EXPECT_TRUE(truth_is_in(one.event(), one)) << describe(one.event());
    EXPECT_FALSE(truth_is_in(gaussian(NoiseMultiplier{one.multiplier}, adjacency), one)) << describe(one.event());
    EXPECT_FALSE(truth_is_in(repeat(Count{one.count - 1}, gaussian(NoiseMultiplier{one.multiplier}, adjacency)), one))
        << describe(one.event());
  }
}

TEST(PldMutants, ASensitivityOffByTwoIsCaught) {
  std::mt19937_64 words{64};
  for (int i = 0; i < 20; ++i) {
    const auto one = random_gaussians(words);
    for (const double factor : {0.5, 2.0}) {
      EXPECT_FALSE(truth_is_in(repeat(Count{one.count}, gaussian(NoiseMultiplier{factor * one.multiplier}, adjacency)), one));
    }
  }
}

// One sampled release has a closed form in each direction; the one in which the record is added costs less.
TEST(PldMutants, DirectionsSwappedAreCaught) {
  std::mt19937_64 words{65};
  for (int i = 0; i < 20; ++i) {
    const double rate = log_uniform(words, 0.01, 0.3);
    const double multiplier = log_uniform(words, 0.6, 2);
    const double at = rate * log_uniform(words, 0.3, 2);
    const auto event = poisson(SamplingRate{rate}, gaussian(NoiseMultiplier{multiplier}, adjacency));
    const Real q{rate, 200};
    const Real mu = 1.0 / Real{multiplier, 200};
    const Long removed = number(q * reference::gaussian_delta(mu, log1p(expm1(Real{at, 200}) / q)));
    const Real factor = 1.0 - exp(Real{at, 200}) * (1.0 - q);
    const Long added = factor > 0.0 ? number(factor * reference::gaussian_delta(mu, log(exp(Real{at, 200}) * q / factor))) : 0;
    GridShape shape{.step = 0x1p-12, .least = -12, .largest = 20};
    EXPECT_TRUE(contains(grid_terms(event, Epsilon{at}, shape, curves_of_all().leaves), removed)) << describe(event) << " at " << at;
    EXPECT_FALSE(contains(grid_terms(event, Epsilon{at}, shape, curves_of_all().leaves), added)) << describe(event) << " at " << at;
    shape.direction = Direction::add;
    EXPECT_TRUE(contains(grid_terms(event, Epsilon{at}, shape, curves_of_all().leaves), added)) << describe(event) << " at " << at;
    EXPECT_FALSE(contains(grid_terms(event, Epsilon{at}, shape, curves_of_all().leaves), removed)) << describe(event) << " at " << at;
  }
}

}  // namespace
}  // namespace surety::accounting::pld_mutants_test
