// A number of runs with a cap: derivatives of its generating function against their sums, and how it bends against pairs of ranks.
#include <surety/accounting/accountants/tuning/capped_runs.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <surety/accounting/events/runs_law.h>

namespace surety::accounting::capped_runs_test {
namespace {

/// P(K = k) of the smaller of the cap and a geometric number, and derivatives of its generating function, as sums.
class Polynomial {
 public:
  explicit Polynomial(const Runs& runs) {
    const auto w = minus_log_stopping(runs, 64).enclosure();
    const long double stops = std::exp(-static_cast<long double>(w.lower));
    long double left = 1;
    masses_.push_back(0);
    for (std::uint64_t k = 1; k < runs.cap()->value(); ++k) {
      masses_.push_back(left * stops);
      left *= 1 - stops;
    }
    masses_.push_back(left);
  }
  [[nodiscard]] long double derivative(int order, long double z) const {
    long double sum = 0;
    for (std::size_t k = masses_.size(); k-- > static_cast<std::size_t>(order);) {
      long double factor = masses_[k];
      for (int i = 0; i < order; ++i) factor *= static_cast<long double>(k) - i;
      sum = sum * z + factor;
    }
    return sum;
  }

 private:
  std::vector<long double> masses_;
};

struct Law {
  double mean;
  std::uint64_t cap;
  [[nodiscard]] Runs runs() const { return Runs::capped_geometric(mean, Count{cap}); }
};
const std::vector<Law> laws{{1.3, 2}, {1.0001, 3}, {2.9, 3},   {3, 5},       {10, 11},  {10, 20},
                            {10, 50}, {10, 400},   {300, 400}, {399.9, 400}, {50, 3000}};
const std::vector<double> bars{0, 1e-12, 1e-4, 0.003, 0.02, 0.1, 0.3, 0.5, 0.8, 0.99, 1 - 1e-9, 1};

/// How often bounds of the law that `claimed` makes of one do not hold the truth.
template <class Claimed>
int outside(Claimed claimed) {
  int found = 0;
  for (const auto& law : laws) {
    const CappedRuns capped{claimed(law).runs()};
    const Polynomial truth{law.runs()};
    for (int order = 1; order <= 4; ++order) {
      for (const double bar : bars) {
        // The sum rounds, too, and the mean is known to a double.
        const auto value = static_cast<double>(truth.derivative(order, 1 - static_cast<long double>(bar)));
        const double below = capped.below(order, bar);
        const double above = capped.above(order, bar);
        found += value < below * (1 - 1e-13) || value > above * (1 + 1e-13) ? 1 : 0;
        EXPECT_LE(below, above);
        EXPECT_LE(above - below, above * 1e-11 + 1e-290) << law.mean << ' ' << law.cap << ' ' << order << ' ' << bar;
      }
    }
  }
  return found;
}

TEST(CappedRuns, EncloseTheDerivativesOfTheirPolynomial) {
  EXPECT_EQ(outside([](const Law& law) { return law; }), 0);
  const auto all = static_cast<int>(laws.size() * bars.size() * 4);
  EXPECT_GT(outside([](const Law& law) { return Law{law.mean, law.cap + 1}; }), all / 2);
  EXPECT_GT(outside([](const Law& law) { return Law{law.mean * (1 + 1e-9), law.cap}; }), all / 2);
}

TEST(CappedRuns, HaveTheirMeanAndBegin) {
  for (const auto& law : laws) {
    const CappedRuns capped{law.runs()};
    EXPECT_NEAR(capped.above(1, 0) / law.mean, 1, 1e-11) << law.mean << ' ' << law.cap;
    const double stops = std::exp(-minus_log_stopping(law.runs(), 64).enclosure().lower);
    EXPECT_NEAR(capped.above(1, 1) / stops, 1, 1e-11) << law.mean << ' ' << law.cap;
  }
}

// Ranks u, with v the Q-mass of N(mu, 1) against N(0, 1): cells of thresholds, and points between their ends.
TEST(CappedRuns, BendNoMoreThanTheyAreSaidTo) {
  std::mt19937_64 words{20261123};
  const auto unit = [&] { return static_cast<double>(words() >> 11) * 0x1p-53; };
  const auto bar_of = [](double x) { return 0.5 * std::erfc(-x * std::sqrt(0.5)); };  // 1 - P(N > x)
  std::vector<CappedRuns> bounds;
  std::vector<Polynomial> truths;
  for (const auto& law : laws) {
    bounds.emplace_back(law.runs());
    truths.emplace_back(law.runs());
  }
  int beyond_both_ends = 0;
  double narrowest = 1;
  for (int i = 0; i < 600; ++i) {
    const std::size_t chosen = words() % (laws.size() - 1);  // the last one is long
    const auto& law = laws[chosen];
    const CappedRuns& capped = bounds[chosen];
    const Polynomial& polynomial = truths[chosen];
    const double mu = std::exp(-8 * unit());
    const double length = std::exp(-10 * unit());
    const double from = 3 - 6 * unit();
    double nearest = 1;
    double farthest = 0;
    struct Point {
      double u;
      double v;
    };
    std::vector<Point> points;
    for (int k = 0; k <= 20; ++k) {
      const double t = from - length * k / 20;
      points.push_back({bar_of(t - mu), bar_of(t)});
      nearest = std::min(nearest, points.back().v - points.back().u);
      farthest = std::max(farthest, points.back().v - points.back().u);
    }
    const auto bend = capped.bend({.u_least = points.back().u,
                                   .u_most = points.front().u,
                                   .v_least = points.back().v,
                                   .v_most = points.front().v,
                                   .nearest = nearest,
                                   .farthest = farthest});
    const auto h = [&](double bar) { return static_cast<double>(std::log(polynomial.derivative(2, 1 - static_cast<long double>(bar)))); };
    bool is_between = true;
    for (const auto& [u, v] : points) {
      const double found = h(u) - h(v);
      EXPECT_LE(found, bend.most + 1e-12) << law.mean << ' ' << law.cap << ' ' << mu << ' ' << length;
      EXPECT_GE(found, bend.least - 1e-12) << law.mean << ' ' << law.cap << ' ' << mu << ' ' << length;
      // What the bound would be if the logarithm of slopes changed with the distance alone.
      const double at = points.back().u;
      is_between = is_between && found <= h(at) - h(at + farthest) + 1e-12 && found >= h(at) - h(at + nearest) - 1e-12;
    }
    beyond_both_ends += is_between ? 0 : 1;
    const double ends = h(points.back().u) - h(points.front().v) - (h(points.front().u) - h(points.back().v));
    if (ends > 1e-6) narrowest = std::min(narrowest, (bend.most - bend.least) / ends);
    EXPECT_LE(bend.most - bend.least, ends + 1e-10);
  }
  EXPECT_GT(beyond_both_ends, 150);
  // Where u and v are near each other the second bound is the narrower one.
  EXPECT_LT(narrowest, 0.01);
}

}  // namespace
}  // namespace surety::accounting::capped_runs_test
