#include <surety/accounting/accountants/pld/choice_laws.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/laws/pairs/pairs.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <surety/accounting/answers/asked.h>

#include <support/choice_strategies.h>

namespace surety::accounting::pld::choice_laws_test {
namespace {

using reference::played;

Enclosure delta_at(const std::string& text, double at) { return delta(Pld{}, parse_event(text, Adjacency::replace_one), Epsilon{at}); }

/// What a law costs: the sum over its atoms.
long double curve(const LossLaw& law, long double x) {
  long double total = law.infinite_mass;
  for (const auto& atom : std::get<AtomsBase>(law.base).atoms) {
    const long double loss = atom.loss;
    if (loss > x) total += static_cast<long double>((1 - law.infinite_mass) * atom.mass) * -std::expm1(x - loss);
  }
  return total;
}

long double one_choice(long double range, long double x) {
  const long double root = std::expm1((std::abs(x) - range) / 2);
  const long double above = std::abs(x) < range ? root * root / -std::expm1(-range) : 0;
  return x >= 0 ? above : -std::expm1(x) + std::exp(x) * above;
}

/// By how much the laws of one choice err on the wrong side of its closed form, at points on and between those of the grid.
long double escape(const ChoiceLawTerms& terms, std::size_t points) {
  const ChoiceGame game{{{2.0, 1, 32}}, {points, 200}};
  const auto laws = choice_laws(game, 2.0, terms);
  long double most = -1;
  for (int i = -230; i <= 230; ++i) {
    const long double x = 0.01L * i;
    const long double truth = one_choice(2, x);
    most = std::max({most, truth - curve(laws.upper, x), curve(laws.lower, x) - truth});
  }
  return most;
}

TEST(ChoiceLaws, LieOnBothSidesOfTheCurveOfOne) {
  EXPECT_LE(escape({}, 64), 1e-18L);
  EXPECT_LE(escape({}, 200), 1e-18L);
  EXPECT_GT(escape({.minorant = false}, 200), 1e-6L);
}

// On so fine a grid that the curve hardly bends in a cell: a line that is off by a millionth of its slope crosses it.
TEST(ChoiceLaws, LieOnBothSidesOfTheCurveOfOneOnAFineGrid) {
  const ChoiceGame game{{{2.0, 1, 100'000}}, {100'100, 100'100}};
  const auto laws = choice_laws(game, 2.0);
  for (int i = 1; i < 40; ++i) {
    const long double x = 0.05003L * i;
    const long double truth = one_choice(2, x);
    const auto below = curve(laws.lower, x);
    EXPECT_LE(below, truth) << i;
    EXPECT_LE(truth - below, 1e-10L) << i;
    EXPECT_GE(curve(laws.upper, x), truth) << i;
  }
}

TEST(ChoiceLaws, CountWhatIsBeyondTheGrid) {
  // 64 cells of the largest range and 128 more points at least, of 20 ranges.
  const ChoiceGame game{{{1.0, 20, 64}}, {192, 2000}};
  const double end = game.step() * static_cast<double>(game.points() - 1);
  const auto bound = choice_laws(game, 20);
  EXPECT_GE(curve(bound.upper, end + 1), game.above(game.points() - 1) * (1 - 1e-12));
  EXPECT_LT(curve(choice_laws(game, 20, {.beyond = false}).upper, end + 1), 0.5 * game.above(game.points() - 1));
  EXPECT_LT(curve(choice_laws(game, 20, {.beyond = false}).upper, end - 0.1), game.lower(end - 0.1));
}

TEST(ChoiceLaws, OfSeveralAreAsCloseAsTheGame) {
  const ChoiceGame game{{{1.0, 3, 200}, {0.4, 1, 80}}, {800, 800}};
  const auto laws = choice_laws(game, 3.4);
  for (double x = -3.5; x < 3.5; x += 0.0371) {
    const auto below = curve(laws.lower, x);
    const auto above = curve(laws.upper, x);
    EXPECT_LE(below, above);
    EXPECT_LE(above - below, 2e-4L) << x;
    if (x < 0) continue;
    EXPECT_LE(below, game.upper(x) * (1 + 1e-15L)) << x;
    EXPECT_GE(above, game.lower(x) * (1 - 1e-15L)) << x;
  }
}

/// delta of one randomized response of losses +-loss before choices.
long double answered_first(double truth, const std::vector<long double>& ranges, long double x, int moves) {
  const long double p = truth;
  const long double loss = std::log(p / (1 - p));
  return p * played(ranges, x - loss, moves) + (1 - p) * played(ranges, x + loss, moves);
}

TEST(ChoicesAmongOthers, CostWhatTheyCostAfterAllOthers) {
  for (const double at : {0.2, 1.1, 2.0, 2.7}) {
    // One that is asked in between costs no more than one that is asked first.
    const long double first = answered_first(0.7, {1, 1}, at, 1000);
    long double between = 0;
    for (int j = 0; j <= 1000; ++j) {
      const long double t = 0.001L * j;
      const long double p = (std::exp(1.0L) - std::exp(t)) / std::expm1(1.0L);
      between = std::max(between, p * answered_first(0.7, {1}, at - t, 1000) + (1 - p) * answered_first(0.7, {1}, at - t + 1, 1000));
    }
    const auto found = delta_at("compose(exponential(1), randomized_response(0.7, 2), exponential(1))", at);
    EXPECT_LE(between, first * (1 + 1e-6L)) << at;
    EXPECT_GE(found.upper, first) << at;
    EXPECT_LE(found.lower, first * (1 + 1e-5L)) << at;
    EXPECT_LE(found.width(), 3e-4 * found.upper) << at;
    // Different ranges in the order that suits what was answered.
    const auto best = [&](long double x) { return std::max(played({1, 0.3L}, x, 1000), played({0.3L, 1}, x, 1000)); };
    const long double loss = std::log(0.7L / 0.3L);
    const long double several = 0.7L * best(at - loss) + 0.3L * best(at + loss);
    const auto mixed = delta_at("compose(exponential(1), randomized_response(0.7, 2), exponential(0.3))", at);
    EXPECT_GE(mixed.upper, several) << at;
    EXPECT_LE(mixed.lower, several * (1 + 1e-5L)) << at;
  }
}

TEST(ChoicesAmongOthers, OfParallelPartsAreThoseOfOnePart) {
  // A record makes three choices or is in a noisy sum, never both.
  const auto found = [](const char* text, double at) { return delta_at(text, at); };
  for (const double at : {0.1, 0.5, 1.0, 2.0}) {
    const auto both = found("compose(parallel(repeat(3, exponential(0.5)), laplace(0.8)), gaussian(2))", at);
    const auto all = found("compose(repeat(3, exponential(0.5)), gaussian(2))", at);
    const auto other = found("compose(laplace(0.8), gaussian(2))", at);
    EXPECT_LE(both.lower, std::max(all.upper, other.upper)) << at;
    EXPECT_GE(both.upper, std::max(all.lower, other.lower)) << at;
  }
  const auto upper = [](laws::ReleaseLaws part) { return std::holds_alternative<BoundedRangeBase>(part.upper.base); };
  const Event event = parse_event("compose(parallel(repeat(3, exponential(0.5)), laplace(0.8)), gaussian(2))", Adjacency::replace_one);
  auto directions = laws::both_directions(event, curves_of_all().leaves);
  const ChoicesAmongOthers choices{directions, {std::nullopt, 1e-5}, 1e-4};
  // With another part of the parallel ones chosen, the choices are none of the record's.
  for (auto* parts : {&directions.remove, &directions.add}) {
    for (auto& part : *parts) {
      if (upper(part)) part.lower = laws::nothing();
    }
  }
  EXPECT_EQ(choices.joined(directions).remove.size(), directions.remove.size());
}

TEST(ChoicesAmongOthers, AreAsNarrowAsChoicesAlone) {
  // By quadrature over the loss of the Gaussian release, of strategies on a grid of 800 moves.
  const struct {
    const char* event;
    double delta, truth;
  } cases[] = {{"compose(exponential(1), gaussian(1))", 1e-2, 2.7541699},
               {"compose(exponential(1), gaussian(1))", 1e-6, 5.4804193},
               {"compose(repeat(2, exponential(1)), gaussian(1))", 1e-2, 3.1273332},
               {"compose(repeat(2, exponential(1)), gaussian(1))", 1e-6, 6.0383224}};
  for (const auto& c : cases) {
    const auto found = epsilon(Pld{}, parse_event(c.event, Adjacency::zero_out), Delta{c.delta});
    EXPECT_LE(found.lower, c.truth + 1e-6) << c.event;
    EXPECT_GE(found.upper, c.truth - 1e-6) << c.event;
    EXPECT_LE(found.width(), 1.5e-5) << c.event;
  }
  const Event long_one =
      parse_event("compose(repeat(10, exponential(0.3)), repeat(100, poisson(0.02, gaussian(1))), laplace(4))", Adjacency::zero_out);
  EXPECT_LE(epsilon(Pld{}, long_one, Delta{1e-6}).width(), 2e-5);
  // Nothing is at infinite loss.
  const Event bounded = parse_event("compose(repeat(3, exponential(0.5)), laplace(2))", Adjacency::zero_out);
  EXPECT_NEAR(epsilon(Pld{}, bounded, Delta{0}).upper, 2, 1e-12);
  EXPECT_NEAR(epsilon(Pld{}, bounded, Delta{1e-30}).upper, 2, 1e-6);
}

// The losses of what is released beside the choices may leave no digits for a guess at their tilt.
TEST(ChoiceLaws, BesideHugeLossesAreRefusedOrAnswered) {
  for (const char* text : {"repeat(8, compose(discrete_gaussian(0.0001911948510225908, 8), exponential(1.5605482318568769)))",
                           "repeat(9, compose(exponential(0.2021050127243801), approx(3.062847439610486e+60, 0.26806580772465594)))"}) {
    for (const double at : {0.0, 106.3, 1e5}) {
      try {
        EXPECT_EQ(delta(Pld{}, parse_event(text, Adjacency::zero_out), Epsilon{at}).upper, 1) << text;
      } catch (const Error& error) {
        EXPECT_TRUE(error.code() == ErrorCode::unsupported || error.code() == ErrorCode::memory) << error.what();
      }
    }
  }
}

std::string different(int number, double least, double most) {
  std::string text = "compose(";
  for (int i = 0; i < number; ++i)
    text += (i > 0 ? ", exponential(" : "exponential(") + std::to_string(least + (most - least) * i / (number - 1)) + ")";
  return text + ")";
}

// Sixteen ranges .01, .016, .., .1 cost .48707 at delta 1e-6: the game on all 65,536 multisets by a program of its own.
TEST(ManyDifferentChoices, CostAtLeastWhatTheyDoInTheOrderOfTheirRanges) {
  const Event event = parse_event(different(16, 0.01, 0.1), Adjacency::replace_one);
  const auto found = epsilon(Pld{}, event, Delta{1e-6});
  EXPECT_GT(found.lower, 0.4868);
  EXPECT_LT(found.lower, 0.48709);
  EXPECT_GT(found.upper, 0.48707);
  const auto beside = delta(Pld{}, event, Epsilon{found.lower});
  EXPECT_GT(beside.lower, 0.98e-6);
  EXPECT_GT(beside.upper, 1e-6);
}

// Of ranges so tiny that the usual width is a large share of what they cost.
TEST(ManyDifferentChoices, OfTinyRangesAreAsNarrow) {
  const auto found = epsilon(Pld{}, parse_event(different(60, 0.0001, 0.0006), Adjacency::replace_one), Delta{1e-6});
  EXPECT_GT(found.lower, 0.97 * found.upper);
}

// The fewest choices of which one Gaussian release is looked at as a bound: each by itself costs more.
TEST(ManyDifferentChoices, MayCostNoMoreThanAGaussianRelease) {
  const auto share = [](int number) {
    const Event event = repeat(Count{static_cast<std::uint64_t>(number)}, exponential(Epsilon{0.0615}, Adjacency::replace_one));
    const auto found = epsilon(Pld{}, event, Delta{1e-6});
    return (found.upper - found.lower) / found.upper;
  };
  EXPECT_GT(share(19), 0.08);
  EXPECT_LT(share(20), 0.06);
}

}  // namespace
}  // namespace surety::accounting::pld::choice_laws_test
