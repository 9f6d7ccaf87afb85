// The tuning accountant against orders of outcomes that are simulated on a grid, against quadrature of its own bound, and against values
// that another program found. What few outcomes can show is in soundness/best_of_test.
#include <surety/accounting/answers/asked.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <surety/accounting/accountants/tuning/search_bounds.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/laws/finite/search_pair.h>
#include <surety/base/numbers/rounding.h>

#include <support/refusal.h>

namespace surety::accounting::tuning_test {
namespace {

using reference::refusal_of;

constexpr auto adjacency = Adjacency::add_or_remove_one;
Event event_of(const std::string& text) { return parse_event(text, adjacency); }
Enclosure epsilon_of(const std::string& text, double delta) { return epsilon(Tuning{}, event_of(text), Delta{delta}); }

// ---- The truth from below: an order of the outcomes of a Gaussian run, cut into cells ----

/// phi' and phi of a number of runs, from the formulas of Poisson and geometric laws, and by sums of a capped one.
struct Law {
  Runs runs;
  std::vector<double> masses = masses_of(runs);  // P(K = k) where there is a cap

  [[nodiscard]] double a() const { return runs.mean() - 1; }  // of the geometric one
  [[nodiscard]] double slope(double bar) const {
    if (!masses.empty()) {
      double sum = 0;
      for (std::size_t k = masses.size(); k-- > 1;) sum = sum * (1 - bar) + static_cast<double>(k) * masses[k];
      return sum;
    }
    return runs.law() == RunsLaw::poisson ? runs.mean() * std::exp(-runs.mean() * bar) : runs.mean() / std::pow(1 + a() * bar, 2);
  }
  /// phi(1 - from + width) - phi(1 - from).
  [[nodiscard]] double between(double from, double width) const {
    if (!masses.empty()) {
      // phi(y) - phi(x) = (y - x) sum over k of P(K = k) (y^(k - 1) + y^(k - 2) x + ... + x^(k - 1)).
      const double x = std::max(0.0, 1 - from);
      const double y = std::min(1.0, 1 - from + width);
      double sum = 0;
      double power = 1;
      double steps = 0;
      for (std::size_t k = 1; k < masses.size(); ++k) {
        steps = steps * y + power;
        sum += masses[k] * steps;
        power *= x;
      }
      return width * sum;
    }
    if (runs.law() == RunsLaw::poisson) return std::exp(-runs.mean() * from) * std::expm1(runs.mean() * width);
    // The integral of m (1 + a x)^-2.
    return runs.mean() * width / ((1 + a() * from) * (1 + a() * std::max(0.0, from - width)));
  }

  /// By bisection for the chance to go on; what is left at the cap stops there.
  static std::vector<double> masses_of(const Runs& runs) {
    std::vector<double> found;
    const std::size_t cap = runs.cap() ? runs.cap()->value() : 0;
    double low = 0;
    double high = 1;
    for (int i = 0; cap > 0 && i < 60; ++i) {
      const double goes_on = 0.5 * (low + high);
      found.assign(1, 0.0);
      double left = 1;
      double mean = 0;
      for (std::size_t k = 1; k <= cap; ++k, left *= goes_on) {
        found.push_back(k == cap ? left : left * (1 - goes_on));
        mean += static_cast<double>(k) * found.back();
      }
      (mean < runs.mean() ? low : high) = goes_on;
    }
    return found;
  }
};

double below(double x) { return 0.5 * std::erfc(-x * std::sqrt(0.5)); }

/// delta(epsilon) of the best run where outcomes are ranked by falling likelihood ratio, but for those that are rejected, each of which goes
/// where phi'(u) l - e^epsilon phi'(v) is largest. Any such simulation is a score that somebody may use.
double simulated(const Law& law, double mu, double epsilon, int count) {
  struct Cell {
    double p;
    double q;
    double rank;  ///< a threshold: high ones are ranked low
    double ratio;
  };
  const double least = -9;
  const double step = (mu + 18) / count;
  // By falling thresholds t: phi' at P(x > t) and at Q(x > t).
  std::vector<std::pair<double, double>> points;
  for (int k = 0; k <= 2000; ++k) {
    const double t = mu + 9 - (mu + 18) * k / 2000;
    points.emplace_back(law.slope(below(t - mu)), law.slope(below(t)));
  }
  std::vector<Cell> cells;
  for (int i = 0; i < count; ++i) {
    const double from = least + i * step;
    const double to = from + step;
    Cell cell{from > mu ? below(mu - from) - below(mu - to) : below(to - mu) - below(from - mu),
              from > 0 ? below(-from) - below(-to) : below(to) - below(from), to, 0};
    cell.ratio = cell.p / cell.q;
    double best = 0;
    for (std::size_t k = 0; k < points.size() && cell.ratio > 1; ++k) {
      const double value = points[k].first * cell.ratio - std::exp(epsilon) * points[k].second;
      if (!(value > best)) continue;
      best = value;
      cell.rank = mu + 9 - (mu + 18) * static_cast<double>(k) / 2000;
    }
    cells.push_back(cell);
  }
  std::sort(cells.begin(), cells.end(),
            [](const Cell& a, const Cell& b) { return a.rank > b.rank || (a.rank == b.rank && a.ratio < b.ratio); });
  double p_above = 0;
  double q_above = 0;
  for (const auto& cell : cells) {
    p_above += cell.p;
    q_above += cell.q;
  }
  double sum = 0;
  for (const auto& cell : cells) {
    const double p = law.between(p_above, cell.p);
    const double q = law.between(q_above, cell.q);
    sum += std::max(0.0, p - std::exp(epsilon) * q);
    p_above -= cell.p;
    q_above -= cell.q;
  }
  return sum;
}

struct Searched {
  Runs runs;
  double mu;
  std::vector<double> epsilons;
};
std::vector<Searched> searched() {
  return {{Runs{RunsLaw::poisson, 10}, 1, {5, 7, 8.66, 10}},
          {Runs{RunsLaw::geometric, 10}, 1, {4, 6, 6.9, 8}},
          {Runs{RunsLaw::poisson, 2}, 2, {6, 10}},
          {Runs{RunsLaw::geometric, 50}, 0.3, {1, 1.5, 2.5}},
          {Runs::capped_geometric(10, Count{20}), 1, {4, 6, 7.13, 8}},
          {Runs::capped_geometric(6, Count{7}), 0.3, {1, 1.8, 2.5}}};
}

// Of one run and of as many as are published at once; Phi(mu / 2 - x / mu) - e^x Phi(-mu / 2 - x / mu) in extended precision.
TEST(GaussianRun, IsBoundedFromAboveAndClosely) {
  for (const long double mu : {0.01L, 0.5L, 3.0L, 9.0L, 60.0L}) {
    for (const long double share : {-2.0L, -0.5L, 0.0L, 0.3L, 1.0L, 2.0L}) {
      const long double x = share * mu * (1 + mu / 2);
      const auto tail = [](long double t) { return std::erfc(t / std::sqrt(2.0L)) / 2; };
      const long double truth = tail(x / mu - mu / 2) - std::exp(x) * tail(x / mu + mu / 2);
      const double found = gaussian_run_above(static_cast<double>(mu), static_cast<double>(x));
      EXPECT_GE(found, truth * (1 - 1e-15L) - 1e-18L) << mu << " " << x;
      if (mu < 10) {
        EXPECT_LE(found, truth + 1e-11L) << mu << " " << x;
      }
    }
  }
}

TEST(Tuning, AnOrderOfOutcomesLiesBetweenTheBoundsAndNearlyAttainsThem) {
  for (const auto& [runs, mu, epsilons] : searched()) {
    const GaussianSearch search{runs, {mu, mu}};
    for (const double epsilon : epsilons) {
      const double truth = simulated({runs}, mu, epsilon, 3000);
      EXPECT_LE(truth, search.above(epsilon) * (1 + 1e-9)) << name(runs.law()) << ' ' << mu << ' ' << epsilon;
      // What cells cost, and little else.
      EXPECT_GE(truth, search.below(epsilon) * 0.995) << name(runs.law()) << ' ' << mu << ' ' << epsilon;
      // Where so much is rejected that ranks depend on it the two are apart.
      if (truth < 1e-5) {
        EXPECT_LE(search.above(epsilon), search.below(epsilon) * 1.02) << name(runs.law()) << ' ' << mu << ' ' << epsilon;
      }
    }
  }
}

// Each is a bound that an order of outcomes beats, or one that no order can meet.
TEST(Tuning, WhatIsLeftOutIsFound) {
  const Searched one = searched().front();
  const double epsilon = 8.66;
  const double truth = simulated({one.runs}, one.mu, epsilon, 3000);
  const GaussianSearch fewer{Runs{RunsLaw::poisson, 9.8}, {1, 1}};
  EXPECT_GT(truth, fewer.above(epsilon));
  const GaussianSearch farther{one.runs, {0.995, 0.995}};
  EXPECT_GT(truth, farther.above(epsilon));
  const GaussianSearch nearer{one.runs, {1.01, 1.01}};
  EXPECT_LT(truth, nearer.below(epsilon));
  // phi for phi': m times too little.
  EXPECT_GT(truth, GaussianSearch(one.runs, {1, 1}).above(epsilon) / one.runs.mean());
  // A cap that is forgotten, or larger than it is, and one that no order can meet.
  const Runs capped = Runs::capped_geometric(10, Count{20});
  const double truth_of_capped = simulated({capped}, 1, 7.13, 3000);
  EXPECT_GT(truth_of_capped, GaussianSearch(Runs{RunsLaw::geometric, 10}, {1, 1}).above(7.13));
  EXPECT_GT(truth_of_capped, GaussianSearch(Runs::capped_geometric(10, Count{22}), {1, 1}).above(7.13));
  EXPECT_LT(truth_of_capped, GaussianSearch(Runs::capped_geometric(10, Count{18}), {1, 1}).below(7.13));
}

// ---- The bound itself ----

/// E_P sup over u of (phi'(u) - e^(epsilon - loss) phi'(v(u)))_+ on a grid of outcomes, from below but for what lies between ranks.
double by_definition(const Law& law, double mu, double epsilon) {
  constexpr int ranks = 20000;
  std::vector<std::pair<double, double>> points;
  for (int k = 0; k <= ranks; ++k) {
    const double t = mu + 9 - (mu + 18) * k / ranks;
    points.emplace_back(law.slope(below(t - mu)), law.slope(below(t)));
  }
  // The hull's corner for a loss moves one way as the loss rises, so one pass over both is enough on the concave part; here all are looked at.
  constexpr int outcomes = 600;
  double sum = 0;
  for (int i = 0; i < outcomes; ++i) {
    const double x = 0.5 * mu + (i + 0.5) * 12 / outcomes;
    const double odds = std::exp(epsilon - mu * (x - 0.5 * mu));
    double best = 0;
    for (const auto& [a, b] : points) best = std::max(best, a - odds * b);
    sum += best * std::exp(-0.5 * (x - mu) * (x - mu)) / std::sqrt(2 * std::acos(-1.0)) * 12 / outcomes;
  }
  return sum;
}

TEST(Tuning, IsTheIntegralThatItIsDerivedFrom) {
  for (const auto& [runs, mu, epsilons] : searched()) {
    const GaussianSearch search{runs, {mu, mu}};
    const double epsilon = epsilons.back();
    const double defined = by_definition({runs}, mu, epsilon);
    EXPECT_NEAR(search.above(epsilon) / defined, 1, 2e-3) << name(runs.law()) << ' ' << mu;
  }
}

TEST(Tuning, AgreesWithKnownValues) {
  struct Known {
    std::string law;
    double lower;
    double upper;
    double bound;  ///< the integral, to its last digit
  };
  for (const auto& [law, lower, upper, bound] :
       {Known{"poisson_runs, 10", 8.666066, 8.666129, 8.6661280}, Known{"geometric_runs, 10", 6.900704, 6.900726, 6.9007250},
        Known{"logarithmic_runs, 10", 6.553079, 6.553134, 6.5531312}, Known{"capped_geometric_runs, 10, 20", 7.130520, 7.130543, 7.1305421},
        Known{"capped_geometric_runs, 10, 50", 6.906302, 6.906325, 6.9063232}}) {
    const auto found = epsilon_of("best_of(" + law + ", gaussian(1))", 1e-6);
    EXPECT_GE(found.lower, lower) << law;
    EXPECT_LE(found.upper, upper) << law;
    EXPECT_GE(found.upper, bound - 5e-8) << law;
    EXPECT_LE(found.upper, bound + 1e-6) << law;
    const auto delta_there = delta(Tuning{}, event_of("best_of(" + law + ", gaussian(1))"), Epsilon{found.upper});
    EXPECT_LE(delta_there.upper, 1e-6 * (1 + 1e-9)) << law;
    EXPECT_GE(delta_there.upper, 1e-6 * (1 - 1e-9)) << law;
  }
}

// ---- Laws ----

TEST(Tuning, KnowsOneLawByTwoNames) {
  for (const double mean : {1.01, 3.0}) {
    const auto geometric = Runs{RunsLaw::geometric, mean};
    const auto as_binomial = Runs::negative_binomial(mean, 1);
    const auto logarithmic = Runs{RunsLaw::logarithmic, mean};
    const auto near_zero = Runs::negative_binomial(mean, 1e-9);
    const auto poisson = Runs{RunsLaw::poisson, mean};
    for (const double epsilon : {0.5, 3.0}) {
      const auto above = [&](const Runs& runs) { return GaussianSearch{runs, {0.5, 0.5}}.above(epsilon); };
      EXPECT_NEAR(above(geometric) / above(as_binomial), 1, 1e-9) << mean;
      EXPECT_NEAR(above(logarithmic) / above(near_zero), 1, 1e-6) << mean;
      // The heavier the tail, the smaller the cost.
      if (above(geometric) < 0.05) {
        EXPECT_LT(above(logarithmic), above(geometric)) << mean;
      }
      if (mean > 2) {
        EXPECT_LT(above(geometric), above(poisson) * (1 + 1e-12)) << mean;
      }
    }
  }
}

TEST(Tuning, OfAboutOneRunCostsThatRun) {
  for (const std::string run : {"gaussian(2)", "laplace(2)", "pure(0.4)"}) {
    const auto once = best_delta(event_of(run), Epsilon{0.2}).value;
    const auto searched_once = best_delta(event_of("best_of(geometric_runs, 1.0000001, " + run + ")"), Epsilon{0.2}).value;
    EXPECT_GE(searched_once.upper, once.lower) << run;
    EXPECT_LE(searched_once.upper, once.upper * (1 + 1e-4)) << run;
    EXPECT_GE(searched_once.lower, once.lower * (1 - 1e-6)) << run;
  }
}

// ---- Any run ----

TEST(Tuning, KnowsAGaussianRunByItsCurveToo) {
  const Runs runs{RunsLaw::geometric, 10};
  const GaussianSearch direct{runs, {0.5, 0.5}};
  std::vector<CurvePoint> points;
  for (int i = 0; i <= 800; ++i) {
    const double loss = 0.006 * i;
    const double delta = below(0.25 - loss / 0.5) - std::exp(loss) * below(-0.25 - loss / 0.5);
    points.push_back({std::exp(loss) * (1 + 1e-14), delta * (1 + 1e-12) + 1e-18});
  }
  const SearchByCurve by_curve{runs, points};
  for (const double epsilon : {0.5, 1.0, 2.0, 3.0}) {
    EXPECT_GE(by_curve.above(epsilon), direct.below(epsilon)) << epsilon;
    EXPECT_LE(by_curve.above(epsilon), direct.above(epsilon) * 1.01) << epsilon;
    EXPECT_GE(by_curve.above(epsilon), direct.above(epsilon) * 0.99) << epsilon;
  }
}

TEST(Tuning, AnswersForRunsThatAllAccountantsKnow) {
  for (const std::string run :
       {"laplace(1)", "repeat(1000, poisson(0.01, record_sum(1)))", "repeat(3, exponential(0.3))", "zcdp(0.1)", "approx(0.5, 1e-9)"}) {
    const auto once = best_epsilon(event_of(run), Delta{1e-6}).value;
    const auto found = epsilon_of("best_of(geometric_runs, 10, " + run + ")", 1e-6);
    EXPECT_GE(found.upper, once.lower) << run;
    EXPECT_LE(found.upper, 4 * once.upper + 1) << run;
    EXPECT_GE(found.lower, once.lower * (1 - 1e-9)) << run;
  }
  // All of a bounded loss, and the steepest slope, log(phi'(u) / phi'(v)).
  const auto pure = epsilon_of("best_of(geometric_runs, 10, pure(0.5))", 0);
  EXPECT_GE(pure.upper, 0.5);
  EXPECT_LT(pure.upper, 1.5);
  EXPECT_EQ(epsilon_of("best_of(geometric_runs, 10, gaussian(1))", 0), Enclosure(infinity, infinity));
}

/// delta of atoms, and of points by chords, at some odds.
double of_atoms(const std::vector<WeighedAtom>& atoms, double odds) {
  double sum = 0;
  for (const auto& atom : atoms) sum += std::max(0.0, atom.p - odds * atom.q);
  return sum;
}
double of_points(const std::vector<CurvePoint>& points, double odds) {
  const auto next = std::upper_bound(points.begin(), points.end(), odds, [](double x, const CurvePoint& one) { return x < one.odds; });
  if (next == points.end()) return points.back().delta;
  const CurvePoint from = next == points.begin() ? CurvePoint{0, 1} : *(next - 1);
  return from.delta + (next->delta - from.delta) * (odds - from.odds) / (next->odds - from.odds);
}

TEST(Tuning, LawsOfARunLieOnBothSidesOfItsCurve) {
  const auto run = event_of("repeat(1000, poisson(0.01, gaussian(1)))");
  const auto laws = curves_of_all().runs.laws(run, Delta{1e-7});
  ASSERT_TRUE(laws && laws->add);
  for (const auto* law : {&laws->remove, &*laws->add}) {
    double p = 0;
    ASSERT_EQ(law->below.size(), 1U);
    const auto& below = law->below.front();
    for (const auto& atom : below) p += atom.p;
    EXPECT_LE(p, 1 - 1e-15);
    EXPECT_GE(p, 1 - 1e-6);
    const auto& reverse = law == &laws->remove ? *laws->add : laws->remove;
    for (const double x : {0.1, 0.5, 1.0, 2.0}) {
      // On this side of 0, and on the other one as the other direction sees it.
      const double odds = std::exp(x);
      EXPECT_LE(of_atoms(below, odds), of_points(law->above, odds)) << x;
      EXPECT_GE(of_atoms(below, odds), of_points(law->above, odds) * 0.998 - 1e-9) << x;
      const double mirrored = 1 - 1 / odds + of_points(reverse.above, odds) / odds;
      EXPECT_LE(of_atoms(below, 1 / odds), mirrored + 1e-15) << x;
      EXPECT_GE(of_atoms(below, 1 / odds), mirrored - 1e-4) << x;
    }
  }
  // Whom a record leaves sees more.
  EXPECT_GT(of_points(laws->remove.above, std::exp(1)), 1.5 * of_points(laws->add->above, std::exp(1)));
  for (const double x : {0.1, 1.0, 2.0}) {
    const auto truth = best_delta(run, Epsilon{x}).value;
    EXPECT_LE(std::max(of_atoms(laws->remove.below.front(), std::exp(x)), of_atoms(laws->add->below.front(), std::exp(x))), truth.upper)
        << x;
    EXPECT_GE(std::max(of_points(laws->remove.above, std::exp(x)), of_points(laws->add->above, std::exp(x))), truth.lower) << x;
  }
}

TEST(Tuning, IsNarrowWhereTheLawOfARunIsKnown) {
  // Two programs of their own found 2.9657 of the first.
  const auto is_about = [](const std::string& search, double value) {
    const auto found = epsilon_of(search, 1e-6);
    EXPECT_LE(found.lower, value) << search;
    EXPECT_GE(found.upper, value) << search;
    EXPECT_LE(found.width(), 5e-4 * value) << search << ' ' << found.lower << ' ' << found.upper;
  };
  is_about("best_of(geometric_runs, 10, repeat(1000, poisson(0.01, gaussian(1))))", 2.9657);
  is_about("best_of(logarithmic_runs, 10, repeat(1000, poisson(0.01, gaussian(1))))", 2.8403);
  is_about("best_of(geometric_runs, 10, compose(pure(0.3), repeat(10, gaussian(5))))", 4.5405);
  const auto chosen = epsilon_of("best_of(geometric_runs, 10, exponential(1))", 1e-6);
  EXPECT_GE(chosen.lower, 1.325);
  EXPECT_LE(chosen.upper, 2.03);
}

// A search asks whether the upper end is at most a level: what it is told lies on the side on which all answers together lie, and holds.
TEST(Tuning, SaysOnWhichSideOfALevelItsUpperEndLies) {
  const Delta at{1e-6};
  for (const std::string text : {"best_of(geometric_runs, 9, repeat(40, poisson(0.01, gaussian(1.47))))",
                                 "best_of(poisson_runs, 6, compose(gaussian(20), repeat(3, laplace(40))))",
                                 "best_of(geometric_runs, 10, gaussian(2))", "best_of(geometric_runs, 3, laplace(2))"}) {
    const auto event = event_of(text);
    const auto all = epsilon(Tuning{}, event, at);
    for (const double factor : {0.5, 0.999999, 1.000001, 2.0}) {
      const double level = factor * all.upper;
      const auto found = epsilon(Tuning{.level = level}, event, at);
      EXPECT_EQ(found.upper <= level, factor > 1) << text << ' ' << factor;
      EXPECT_GE(found.upper, all.lower) << text;
      const auto of_delta = delta(Tuning{.level = at.value()}, event, Epsilon{level});
      EXPECT_EQ(of_delta.upper <= at.value(), factor > 1) << text << ' ' << factor;
      EXPECT_GE(of_delta.upper, delta(Tuning{}, event, Epsilon{level}).lower) << text;
    }
  }
}

TEST(Tuning, IsNarrowWhereDeltaIsLarge) {
  // Below by a greedy order, above by all runs published, both found by another program to these digits.
  const auto lies_in = [](const std::string& search, double epsilon, const Enclosure& known) {
    const auto found = delta(Tuning{}, event_of(search), Epsilon{epsilon}, curves_of_all().runs, curves_of_all().gaussian);
    EXPECT_GE(found.lower, known.lower) << search;
    EXPECT_LE(found.upper, known.upper) << search;
  };
  lies_in("best_of(geometric_runs, 10, gaussian(2))", 0, {0.3932, 0.49985});
  lies_in("best_of(geometric_runs, 2, gaussian(1))", 0, {0.47927, 0.48925});
  lies_in("best_of(logarithmic_runs, 2, discrete_gaussian(3.71, 5))", 0.117, {0.57, 0.584});
}

/// What is kept at multiples of `kept_step` is the bound there, whatever was asked before.
TEST(Tuning, KeepsABoundOnlyForTheEpsilonThatItIsOf) {
  const Runs runs{RunsLaw::geometric, 10};
  const GaussianSearch asked{runs, {0.5, 0.5}};
  const GaussianSearch asked_backwards{runs, {0.5, 0.5}};
  std::vector<double> all;
  for (int i = 0; i <= 24; ++i) all.push_back(3 + i * 0.5 * kept_step);
  std::vector<double> forwards;
  std::vector<double> backwards;
  for (const double epsilon : all) forwards.push_back(asked.above_alone(epsilon));
  for (std::size_t i = all.size(); i-- > 0;) backwards.push_back(asked_backwards.above_alone(all[i]));
  std::reverse(backwards.begin(), backwards.end());
  EXPECT_EQ(forwards, backwards);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(asked.above_alone(all[i]), forwards[i]);
    if (i > 0) {
      EXPECT_LT(forwards[i], forwards[i - 1]);
    }
  }
}

TEST(Tuning, ComposesByItsPair) {
  for (const double x : {0.5, 1.0, 2.0, 3.0}) {
    const auto search = event_of("best_of(geometric_runs, 10, gaussian(2))");
    const auto law = laws::search_pair(search, curves_of_all().leaves);
    double sum = law.infinite_mass;
    for (const auto& atom : std::get<AtomsBase>(law.base).atoms) {
      sum += (1 - law.infinite_mass) * atom.mass * std::max(0.0, 1 - std::exp(x - atom.loss));
    }
    const auto found = delta(Tuning{}, search, Epsilon{x});
    EXPECT_GE(sum, x < 1.5 ? found.lower : found.upper * (1 - 1e-8)) << x;
    EXPECT_LE(sum, found.upper * (x < 1.5 ? 1.005 : 1.001)) << x;  // of fewer numbers of runs where delta is large
  }
  const auto alone = epsilon_of("best_of(geometric_runs, 10, gaussian(2))", 1e-6);
  const auto beside = best_epsilon(event_of("compose(best_of(geometric_runs, 10, gaussian(2)), gaussian(1000))"), Delta{1e-6}).value;
  EXPECT_GE(beside.upper, alone.lower);
  EXPECT_LE(beside.upper, alone.upper + 0.01);
  const auto twice = best_epsilon(event_of("repeat(2, best_of(geometric_runs, 10, gaussian(2)))"), Delta{1e-6}).value;
  EXPECT_GT(twice.upper, alone.upper);
  EXPECT_LT(twice.upper, 2 * alone.upper);
  // One order for each direction, of some that are known.
  const auto attained = curves_of_all().leaves.attained_by_search(event_of("best_of(geometric_runs, 3, poisson(0.2, gaussian(1)))"));
  const auto most = [](const std::vector<std::vector<WeighedAtom>>& laws) {
    double found = 0;
    for (const auto& law : laws) found = std::max(found, of_atoms(law, std::exp(1.5)));
    return found;
  };
  EXPECT_GT(most(attained.remove), 1.5 * most(attained.add));
  EXPECT_GE(best_epsilon(event_of("repeat(2, best_of(geometric_runs, 10, gaussian(4)))"), Delta{1e-6}).value.lower, 2.4824);
  EXPECT_GE(best_epsilon(event_of("repeat(5, best_of(geometric_runs, 10, gaussian(4)))"), Delta{1e-6}).value.lower, 4.7152);
}

TEST(Tuning, RefusesByName) {
  const auto says = [](const std::string& text, const std::string& reason) {
    const auto refusal = refusal_of([&] { return epsilon_of(text, 1e-6); });
    EXPECT_TRUE(refusal.says(ErrorCode::unsupported, reason)) << refusal;
    EXPECT_FALSE(supports(Tuning{}, event_of(text)) && text.find("gaussian(1e-9)") == std::string::npos) << text;
  };
  says("gaussian(1)", "tuning: gaussian(1) is not one best_of alone");
  says("repeat(2, best_of(geometric_runs, 10, gaussian(1)))", "is not one best_of alone");
  says("best_of(geometric_runs, 2, best_of(geometric_runs, 2, best_of(geometric_runs, 2, gaussian(1))))", "a search of searches");
  says("best_of(geometric_runs, 10, gaussian(1e-9))", "tuning: a run of gaussian(1e-09) costs mu = ");
}

}  // namespace
}  // namespace surety::accounting::tuning_test
