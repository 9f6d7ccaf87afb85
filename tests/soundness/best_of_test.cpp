// The best of several runs by enumeration: pairs of few outcomes, every order in which a score can rank them, the law of the number of runs as
// a power series. The truth is a sum over outcomes and knows no theorem of accounting/accountants.
//
// SURETY_BEST_OF_CASES sets how many pairs are drawn (scripts/soundness).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/accountants/tuning/search_bounds.h>
#include <surety/accounting/accountants/tuning/search_orders.h>
#include <surety/accounting/accountants/tuning/several_runs.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/event_kinds.h>

namespace surety::accounting::best_of_test {
namespace {

using Words = std::mt19937_64;
double uniform(Words& words) { return static_cast<double>(words() >> 11) * 0x1p-53; }

int cases() {
  const char* text = std::getenv("SURETY_BEST_OF_CASES");
  if (text != nullptr) return std::atoi(text);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 10;
#else
  return 150;
#endif
}

// ---- The number of runs, from its probabilities alone ----

/// phi(z) = sum of P(K = k) z^k, by its first terms.
class PowerSeries {
 public:
  explicit PowerSeries(const Runs& runs) {
    const double mean = runs.mean();
    if (runs.law() == RunsLaw::poisson) {
      double mass = std::exp(-mean);
      for (int k = 0; k < 400 && (mass > 1e-18 || k < mean); ++k) {
        masses_.push_back(mass);
        mass *= mean / (k + 1);
      }
      return;
    }
    if (runs.cap()) {
      // By bisection for the share of searches that go on after a run: what is left at the cap stops there.
      const std::uint64_t cap = runs.cap()->value();
      double low = 0;
      double high = 1;
      for (int i = 0; i < 60; ++i) {
        const double goes_on = 0.5 * (low + high);
        masses_.assign(1, 0.0);
        double left = 1;
        double found = 0;
        for (std::uint64_t k = 1; k <= cap; ++k) {
          masses_.push_back(k == cap ? left : left * (1 - goes_on));
          found += static_cast<double>(k) * masses_.back();
          left *= goes_on;
        }
        (found < mean ? low : high) = goes_on;
      }
      return;
    }
    const double shape = runs.law() == RunsLaw::geometric ? 1 : runs.law() == RunsLaw::logarithmic ? 0 : runs.shape();
    // By bisection for the share s of P(k + 1) / P(k) = s (k + shape) / (k + 1) that gives the mean.
    double low = 0;
    double high = 1;
    for (int i = 0; i < 60; ++i) {
      const double share = 0.5 * (low + high);
      fill(share, shape);
      double found = 0;
      for (std::size_t k = 0; k < masses_.size(); ++k) found += static_cast<double>(k) * masses_[k];
      (found < mean ? low : high) = share;
    }
  }

  [[nodiscard]] double operator()(double z) const {
    double sum = 0;
    for (std::size_t k = masses_.size(); k-- > 0;) sum = sum * z + masses_[k];
    return sum;
  }

 private:
  void fill(double share, double shape) {
    masses_.assign(1, 0.0);
    double mass = 1;
    double sum = 0x1p-1000;
    for (int k = 1; k < 1200 && mass > 1e-17 * sum; ++k) {
      masses_.push_back(mass);
      sum += mass;
      mass *= share * (k + shape) / (k + 1);
    }
    for (double& one : masses_) one /= sum;
  }
  std::vector<double> masses_;
};

// ---- The truth ----

struct Pair {
  std::vector<double> p;
  std::vector<double> q;
};

double curve_of(const Pair& pair, double odds) {
  double sum = 0;
  for (std::size_t i = 0; i < pair.p.size(); ++i) sum += std::max(0.0, pair.p[i] - odds * pair.q[i]);
  return sum;
}

/// What the best run publishes where outcomes are ranked in this order.
std::vector<double> published(const PowerSeries& phi, const std::vector<double>& law, const std::vector<std::size_t>& order) {
  std::vector<double> found(law.size());
  double below = 0;
  for (const std::size_t i : order) {
    found[i] = phi(std::min(1.0, below + law[i])) - phi(below);
    below += law[i];
  }
  return found;
}

/// The largest delta of the best run over all orders, and over a score that says nothing.
double worst_of_all_orders(const PowerSeries& phi, const Pair& pair, double odds) {
  std::vector<std::size_t> order(pair.p.size());
  std::iota(order.begin(), order.end(), 0);
  double worst = (1 - phi(0)) * curve_of(pair, odds);
  do {
    worst = std::max(worst, curve_of({published(phi, pair.p, order), published(phi, pair.q, order)}, odds));
  } while (std::next_permutation(order.begin(), order.end()));
  return worst;
}

/// Every way to rank so many outcomes with ties: their ranks, from 0 on, none left out.
std::vector<std::vector<unsigned>> rankings(std::size_t outcomes) {
  std::vector<std::vector<unsigned>> all;
  std::vector<unsigned> ranks(outcomes, 0);
  for (;;) {
    unsigned used = 0;
    for (const unsigned rank : ranks) used |= 1U << rank;
    if ((used & (used + 1)) == 0) all.push_back(ranks);
    std::size_t i = 0;
    while (i < outcomes && ++ranks[i] == outcomes) ranks[i++] = 0;
    if (i == outcomes) return all;
  }
}

/// The largest delta of the best run over all scores with ties, in one direction. Outcomes of one rank share what their rank is published with.
class AllScores {
 public:
  AllScores(const PowerSeries& phi, Pair pair) : pair_{std::move(pair)} {
    static const std::vector<std::vector<std::vector<unsigned>>> known{{},          rankings(1), rankings(2), rankings(3),
                                                                       rankings(4), rankings(5), rankings(6)};
    rankings_ = &known.at(pair_.p.size());
    for (unsigned mask = 0; mask < 1U << pair_.p.size(); ++mask) {
      p_.push_back(phi(mass(pair_.p, mask)));
      q_.push_back(phi(mass(pair_.q, mask)));
    }
  }
  [[nodiscard]] double operator()(double odds) const {
    double worst = 0;
    for (const auto& ranks : *rankings_) worst = std::max(worst, of(ranks, odds));
    return worst;
  }

 private:
  static double mass(const std::vector<double>& law, unsigned mask) {
    double sum = 0;
    for (std::size_t i = 0; i < law.size(); ++i) sum += (mask >> i & 1U) != 0 ? law[i] : 0;
    return std::min(1.0, sum);
  }
  [[nodiscard]] double of(const std::vector<unsigned>& ranks, double odds) const {
    double sum = 0;
    unsigned below = 0;
    for (unsigned rank = 0; rank < ranks.size(); ++rank) {
      unsigned here = 0;
      for (std::size_t i = 0; i < ranks.size(); ++i) here |= ranks[i] == rank ? 1U << i : 0U;
      const double p = p_[below | here] - p_[below];
      const double q = q_[below | here] - q_[below];
      const double all_p = mass(pair_.p, here);
      const double all_q = mass(pair_.q, here);
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        if (ranks[i] == rank)
          sum += std::max(0.0, (all_p > 0 ? p * pair_.p[i] / all_p : 0) - odds * (all_q > 0 ? q * pair_.q[i] / all_q : 0));
      }
      below |= here;
    }
    return sum;
  }
  Pair pair_;
  const std::vector<std::vector<unsigned>>* rankings_;
  std::vector<double> p_;  // phi of the mass of each set
  std::vector<double> q_;
};

/// Each outcome as two, which a coin of their own tells apart.
Pair halved(const Pair& pair) {
  Pair found;
  for (std::size_t i = 0; i < pair.p.size(); ++i) {
    for (int half = 0; half < 2; ++half) {
      found.p.push_back(0.5 * pair.p[i]);
      found.q.push_back(0.5 * pair.q[i]);
    }
  }
  return found;
}

// ---- What is tested ----

Pair draw_pair(Words& words) {
  const std::size_t outcomes = 2 + words() % 4;
  Pair pair;
  const auto draw = [&] {
    std::vector<double> law;
    // Outcomes that are rare, and now and then impossible.
    for (std::size_t i = 0; i < outcomes; ++i) law.push_back(words() % 12 == 0 ? 0 : std::exp(-6 * uniform(words)));
    law[words() % outcomes] += 0.05;
    const double sum = std::accumulate(law.begin(), law.end(), 0.0);
    for (double& one : law) one /= sum;
    return law;
  };
  pair.p = draw();
  pair.q = words() % 3 == 0 ? draw() : pair.p;
  // Near each other more often than not.
  double sum = 0;
  for (double& one : pair.q) sum += one *= std::exp(uniform(words) - 0.5);
  for (double& one : pair.q) one /= sum;
  return pair;
}

Runs draw_runs(Words& words) {
  const double mean = std::exp(std::log(0.3) + uniform(words) * std::log(6 / 0.3));
  switch (words() % 4) {
    case 0: return {RunsLaw::geometric, 1 + mean};
    case 1: return {RunsLaw::logarithmic, 1 + mean};
    case 2: return Runs::negative_binomial(1 + mean, 3 * uniform(words) - 0.5);
    default: return {RunsLaw::poisson, mean};
  }
}

/// With a cap in one case of five.
Runs draw_any_runs(Words& words) {
  if (words() % 5 > 0) return draw_runs(words);
  const double mean = std::exp(std::log(0.3) + uniform(words) * std::log(6 / 0.3));
  return Runs::capped_geometric(1 + mean, Count{static_cast<std::uint64_t>(3 + mean * (1 + 3 * uniform(words)))});
}

/// Points of the larger of both curves, by which a run is known to the accountant.
std::vector<CurvePoint> points_of(const Pair& pair) {
  std::vector<double> odds;
  for (int i = 0; i <= 400; ++i) odds.push_back(std::exp(0.02 * i));
  // Where the curve bends.
  for (std::size_t i = 0; i < pair.p.size(); ++i) {
    for (const double ratio : {pair.p[i] / pair.q[i], pair.q[i] / pair.p[i]}) {
      if (ratio > 1 && ratio < 1e3) odds.push_back(ratio * (1 + 1e-14));
    }
  }
  std::sort(odds.begin(), odds.end());
  std::vector<CurvePoint> points;
  for (const double at : odds) points.push_back({at, std::max(curve_of(pair, at), curve_of({pair.q, pair.p}, at)) * (1 + 1e-14)});
  return points;
}

using Bound = std::function<std::function<double(double)>(const Runs& runs, const Pair& pair)>;

/// How many of the cases show a delta above the bound, and by how much the bound is above on average, as a factor.
struct Found {
  int above = 0;
  double looseness = 0;
};
Found compare(const Bound& bound, int count, const std::function<Runs(Words&)>& drawn = draw_runs) {
  Words words{20261122};
  Found found;
  int told = 0;
  for (int i = 0; i < count; ++i) {
    const Pair pair = draw_pair(words);
    const Runs runs = drawn(words);
    const PowerSeries phi{runs};
    const auto above = bound(runs, pair);
    for (const double epsilon : {0.0, 0.3, 1.0, 2.0}) {
      const double odds = std::exp(epsilon);
      const double truth = std::max(worst_of_all_orders(phi, pair, odds), worst_of_all_orders(phi, {pair.q, pair.p}, odds));
      const double claimed = above(epsilon);
      found.above += truth > claimed * (1 + 1e-9) + 1e-12;
      if (truth > 1e-6) {
        found.looseness += std::log(claimed / truth);
        ++told;
      }
    }
  }
  found.looseness = std::exp(found.looseness / told);
  return found;
}

Bound by_curve() {
  return [](const Runs& runs, const Pair& pair) -> std::function<double(double)> {
    return [search = SearchByCurve{runs, points_of(pair)}](double epsilon) { return search.above(epsilon); };
  };
}

TEST(BestOf, NoOrderOfFewOutcomesCostsMoreThanTheBound) {
  const auto found = compare(by_curve(), cases(), draw_any_runs);
  EXPECT_EQ(found.above, 0);
  // So little is not left to any order: the bound is for pairs of one curve, and most of these are not the worst of theirs.
  EXPECT_LT(found.looseness, 3.0);
}

// ---- One direction by its own law ----

/// The curve of a pair where it bends, at odds of any size.
std::vector<CurvePoint> points_of_law(const Pair& pair) {
  std::vector<double> odds;
  for (std::size_t i = 0; i < pair.p.size(); ++i) {
    if (pair.p[i] > 0 && pair.q[i] > 0) odds.push_back(pair.p[i] / pair.q[i] * (1 + 1e-15));
  }
  std::sort(odds.begin(), odds.end());
  std::vector<CurvePoint> points;
  for (const double at : odds) points.push_back({at, std::min(1.0, curve_of(pair, at) * (1 + 1e-14) + 1e-15)});
  return points;
}

/// In how many cases some score costs more in one direction than is claimed of a law, which is made of the pair in that direction.
int scores_above(const std::function<Pair(const Pair&)>& law, int count) {
  Words words{20261126};
  int above = 0;
  for (int i = 0; i < count; ++i) {
    const Pair pair = draw_pair(words);
    const Runs runs = draw_any_runs(words);
    const PowerSeries phi{runs};
    for (const Pair& one : {pair, Pair{pair.q, pair.p}}) {
      const AllScores truth{phi, one.p.size() <= 3 ? halved(one) : one};
      const auto bound = SearchByCurve::in_one_direction(runs, points_of_law(law(one)));
      for (const double epsilon : {0.0, 0.3, 1.0}) above += truth(std::exp(epsilon)) > bound.above(epsilon) * (1 + 1e-9) + 1e-12;
    }
  }
  return above;
}

TEST(BestOf, NoScoreCostsMoreThanTheLawOfItsDirection) {
  EXPECT_EQ(scores_above([](const Pair& pair) { return pair; }, cases()), 0);
  // The other direction's law; and all losses below 0 as one, which is the same curve from epsilon 0 on.
  EXPECT_GT(scores_above([](const Pair& pair) { return Pair{pair.q, pair.p}; }, 60), 5);
  const auto lumped = [](const Pair& pair) {
    Pair found{{0}, {0}};
    for (std::size_t i = 0; i < pair.p.size(); ++i) {
      if (pair.p[i] < pair.q[i]) {
        found.p.front() += pair.p[i];
        found.q.front() += pair.q[i];
      } else {
        found.p.push_back(pair.p[i]);
        found.q.push_back(pair.q[i]);
      }
    }
    return found;
  };
  EXPECT_GT(scores_above(lumped, 60), 0);
}

/// A pair as atoms by falling loss.
std::vector<WeighedAtom> atoms_of(const Pair& pair) {
  std::vector<WeighedAtom> atoms;
  for (std::size_t i = 0; i < pair.p.size(); ++i) {
    if (pair.p[i] > 0) atoms.push_back({pair.p[i], pair.q[i]});
  }
  std::sort(atoms.begin(), atoms.end(), [](const WeighedAtom& x, const WeighedAtom& y) { return x.p * y.q > y.p * x.q; });
  return atoms;
}

TEST(BestOf, OrdersCostNoMoreThanTheLawOfTheirDirection) {
  Words words{20261127};
  double looseness = 0;
  int told = 0;
  for (int i = 0; i < cases() / 5; ++i) {
    const Pair pair = draw_pair(words);
    const Runs runs = draw_any_runs(words);
    const PowerSeries phi{runs};
    const SearchOrders orders{runs, atoms_of(pair)};
    const auto bound = SearchByCurve::in_one_direction(runs, points_of_law(pair));
    const double epsilon = i % 2 == 0 ? 0.2 : 1;
    const double below = orders.below(epsilon);
    const double above = bound.above(epsilon);
    EXPECT_LE(below, above * (1 + 1e-9)) << i;
    // Mostly better than all that can be said without coins.
    const double scores = AllScores{phi, pair}(std::exp(epsilon));
    if (scores > 1e-6) {
      looseness += std::log(scores / std::max(below, 1e-9));
      ++told;
    }
    // So does whatever order is published in a composition, at every real epsilon: below 0 as the other direction sees it.
    const auto reverse = SearchByCurve::in_one_direction(runs, points_of_law({pair.q, pair.p}));
    for (const auto& law : orders.published_by_several()) {
      const auto costs = [&](double odds) {
        double found = 0;
        for (const auto& one : law) found += std::max(0.0, one.p - odds * one.q);
        return found;
      };
      EXPECT_LE(costs(std::exp(epsilon)), above * (1 + 1e-9)) << i;
      EXPECT_LE(costs(std::exp(-epsilon)), 1 - std::exp(-epsilon) * (1 - reverse.above(epsilon)) + 1e-9) << i;
    }
    // What one order publishes is nearly all there is: of P no more, of Q no less.
    double p = 0;
    double q = 0;
    double sum = 0;
    for (const auto& one : orders.published(epsilon)) {
      p += one.p;
      q += one.q;
      sum += std::max(0.0, one.p - std::exp(epsilon) * one.q);
    }
    EXPECT_LE(p, 1 + 1e-12) << i;
    EXPECT_GE(p, 1 - 1e-2) << i;
    EXPECT_GE(sum, below * (1 - 1e-9)) << i;
    const double seen = std::inner_product(pair.p.begin(), pair.p.end(), pair.q.begin(), 0.0, std::plus<>{},
                                           [](double one, double other) { return one > 0 ? other : 0.0; });
    if (seen > 1 - 1e-12) {
      EXPECT_GE(q, 1 - 1e-9) << i;
    }
  }
  EXPECT_LT(std::exp(looseness / told), 1.02);
}

// ---- All runs published ----

/// In how many cases some score costs more than E delta_K is said to be; what is said of k runs is the curve of k - `fewer` of them.
int scores_above_published(std::size_t fewer, int count) {
  Words words{20261128};
  int above = 0;
  const std::vector<std::size_t> counts{1, 2, 3, 5};
  for (int i = 0; i < count; ++i) {
    const Pair pair = draw_pair(words);
    const Runs runs = draw_any_runs(words);
    const AllScores truth{PowerSeries{runs}, pair};
    // 5 runs are up to 5^5 outcomes.
    std::vector<Pair> several{{{1}, {1}}};
    for (std::size_t k = 1; k <= counts.back(); ++k) {
      Pair next;
      for (std::size_t j = 0; j < several.back().p.size(); ++j) {
        for (std::size_t l = 0; l < pair.p.size(); ++l) {
          next.p.push_back(several.back().p[j] * pair.p[l]);
          next.q.push_back(several.back().q[j] * pair.q[l]);
        }
      }
      several.push_back(std::move(next));
    }
    const SeveralRuns published{runs, counts};
    for (const double odds : {1.0, 1.5}) {
      above +=
          truth(odds) > published.above([&](std::size_t j) { return curve_of(several[counts[j] - fewer], odds); }) * (1 + 1e-9) + 1e-12;
    }
  }
  return above;
}

TEST(BestOf, NoScoreCostsMoreThanAllRunsPublished) {
  EXPECT_EQ(scores_above_published(0, cases() / 2), 0);
  EXPECT_GT(scores_above_published(1, 40), 0);
}

// ---- What would pass for the bound ----

/// E_Q of the supremum over u of (slope(u) l - e^epsilon slope(v(u)))_+ by 2000 values of u, and whether v is the least Q-mass.
Bound by_definition(const std::function<double(const PowerSeries&, double)>& slope, bool is_least) {
  return [=](const Runs& runs, const Pair& pair) -> std::function<double(double)> {
    return [=, phi = PowerSeries{runs}](double epsilon) {
      const auto one_way = [&](const Pair& from) {
        std::vector<std::size_t> order(from.p.size());
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
          const auto share = [&](std::size_t k) { return from.p[k] > 0 ? from.p[k] / (from.p[k] + from.q[k]) : 0.0; };
          return is_least ? share(i) > share(j) : share(i) < share(j);
        });
        // Some values of u, among them those at which v bends.
        std::vector<double> values;
        for (int k = 0; k <= 400; ++k) values.push_back(k / 400.0);
        double up_to = 0;
        for (const std::size_t i : order) values.push_back(std::min(1.0, up_to += from.p[i]));
        std::vector<std::pair<double, double>> slopes;
        for (const double u : values) {
          double left = u;
          double v = 0;
          for (const std::size_t i : order) {
            if (from.p[i] > 0) v += from.q[i] * std::min(1.0, left / from.p[i]);
            left = std::max(0.0, left - from.p[i]);
          }
          slopes.emplace_back(slope(phi, u), slope(phi, std::min(1.0, v)));
        }
        double sum = 0;
        for (std::size_t i = 0; i < from.p.size(); ++i) {
          double best = 0;
          for (const auto& [a, b] : slopes) best = std::max(best, a * from.p[i] - std::exp(epsilon) * b * from.q[i]);
          sum += best;
        }
        return std::min(1.0, sum * 1.05);  // of values between these
      };
      return std::max(one_way(pair), one_way({pair.q, pair.p}));
    };
  };
}
double derivative(const PowerSeries& phi, double z) {
  constexpr double h = 1e-6;
  return (phi(std::min(1.0, z + h)) - phi(std::max(0.0, z - h))) / (std::min(1.0, z + h) - std::max(0.0, z - h));
}

TEST(BestOf, WhatWouldPassForTheBoundIsFound) {
  constexpr int count = 60;
  EXPECT_EQ(compare(by_definition(derivative, true), count / 2).above, 0);
  // The generating function for its derivative, and the largest Q-mass for the least.
  EXPECT_GT(compare(by_definition([](const PowerSeries& phi, double z) { return phi(z); }, true), count / 2).above, count / 20);
  EXPECT_GT(compare(by_definition(derivative, false), count / 2).above, count / 20);
  // Half of the runs, one direction alone, one run.
  const auto fewer = [](const Runs& runs, const Pair& pair) -> std::function<double(double)> {
    const double less = runs.law() == RunsLaw::poisson ? runs.mean() / 2 : 1 + (runs.mean() - 1) / 2;
    const Runs half = runs.law() == RunsLaw::negative_binomial ? Runs::negative_binomial(less, runs.shape())
                      : runs.cap()                             ? Runs::capped_geometric(less, *runs.cap())
                                                               : Runs{runs.law(), less};
    return [search = SearchByCurve{half, points_of(pair)}](double epsilon) { return search.above(epsilon); };
  };
  EXPECT_GT(compare(fewer, count).above, count / 20);
  const auto one_way = [](const Runs& runs, const Pair& pair) -> std::function<double(double)> {
    auto points = points_of(pair);
    for (auto& point : points) point.delta = curve_of(pair, point.odds) * (1 + 1e-14);
    return [search = SearchByCurve{runs, points}](double epsilon) { return search.above(epsilon); };
  };
  EXPECT_GT(compare(one_way, count).above, count / 20);
  // Caps near the mean, where the number of runs is hardly random. Pairs of few outcomes lie too far below the bound to miss a cap:
  // accounting/accountants/tuning/tuning_test does.
  const auto capped = [](Words& words) {
    const double mean = 1.5 + 5 * uniform(words);
    return Runs::capped_geometric(mean, Count{static_cast<std::uint64_t>(mean + 1 + uniform(words))});
  };
  EXPECT_EQ(compare(by_curve(), count, capped).above, 0);
  const auto once = [](const Runs&, const Pair& pair) -> std::function<double(double)> {
    return [pair](double epsilon) { return std::max(curve_of(pair, std::exp(epsilon)), curve_of({pair.q, pair.p}, std::exp(epsilon))); };
  };
  EXPECT_GT(compare(once, count).above, count / 5);
}

// ---- Events whose worst pairs have few outcomes ----

TEST(BestOf, EventsOfFewOutcomesAreEnclosed) {
  struct Known {
    std::string run;
    Pair pair;
  };
  const double e = std::exp(0.7);
  const std::vector<Known> runs{
      {"pure(0.7)", {{e / (1 + e), 1 / (1 + e)}, {1 / (1 + e), e / (1 + e)}}},
      {"approx(0.7, 0.01)", {{0.01, 0.99 * e / (1 + e), 0.99 / (1 + e), 0}, {0, 0.99 / (1 + e), 0.99 * e / (1 + e), 0.01}}},
      {"randomized_response(0.6, 4)", {{0.6, 0.4 / 3, 0.8 / 3}, {0.4 / 3, 0.6, 0.8 / 3}}},
  };
  for (const auto& [run, pair] : runs) {
    for (const std::string law : {"poisson_runs, 5", "geometric_runs, 5", "logarithmic_runs, 5", "negative_binomial_runs, 5, 2.5",
                                  "capped_geometric_runs, 5, 8", "capped_geometric_runs, 5, 6"}) {
      const auto event = parse_event(fmt::format("best_of({}, {})", law, run), Adjacency::replace_one);
      const PowerSeries phi{std::get<Event::BestOf>(event.node()).runs};
      for (const double epsilon : {0.3, 1.5}) {
        const double truth = worst_of_all_orders(phi, pair, std::exp(epsilon));
        const auto found = best_delta(event, Epsilon{epsilon}).value;
        EXPECT_LE(truth, found.upper + 1e-12) << describe(event) << ' ' << epsilon;
        // Scores may draw coins of their own, as candidates do: no order of a few outcomes says all, but the law of a run does.
        const auto bound = SearchByCurve::in_one_direction(std::get<Event::BestOf>(event.node()).runs, points_of_law(pair));
        EXPECT_LE(found.lower, bound.above(epsilon) + 1e-12) << describe(event) << ' ' << epsilon;
        EXPECT_GE(found.lower, truth * 0.97) << describe(event) << ' ' << epsilon;
      }
    }
  }
}

}  // namespace
}  // namespace surety::accounting::best_of_test
