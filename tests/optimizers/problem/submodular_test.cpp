#include <surety/optimizers/problem/submodular.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include <surety/optimizers/problem/matroid.h>

#include <support/refusal.h>

namespace surety::optimizers::submodular_test {
namespace {

using Set = std::span<const std::size_t>;
using Point = std::vector<double>;

/// The weight of what the elements cover together, less a sum over them: submodular, and neither monotone nor positive.
SubmodularPolytope::Value coverage(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  std::vector<std::uint64_t> covers;
  Point prices;
  for (std::size_t e = 0; e < size; ++e) {
    covers.push_back(random() & random() & 0xfff);
    prices.push_back(static_cast<double>(random() % 100) / 50);
  }
  return [=](Set set) {
    std::uint64_t covered = 0;
    double value = 0;
    for (const std::size_t e : set) {
      covered |= covers[e];
      value -= prices[e];
    }
    for (int k = 0; k < 12; ++k) value += (covered >> k & 1U) != 0 ? 0.3 + k : 0;
    return value;
  };
}

/// f of the elements whose bits are set.
double value_of(const SubmodularPolytope::Value& f, std::size_t mask) {
  std::vector<std::size_t> set;
  for (std::size_t e = 0; mask >> e != 0; ++e) {
    if ((mask >> e & 1U) != 0) set.push_back(e);
  }
  return set.empty() ? 0 : f(set);
}

double dot(std::span<const double> a, std::span<const double> b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

// Every order of five elements makes a vertex; no others are there [Edm70].
TEST(SubmodularPolytope, FindsTheLeastOfAllVerticesWithinTheConstraints) {
  constexpr std::size_t n = 5;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto f = coverage(n, seed);
    const SubmodularPolytope polytope{n, f};
    std::mt19937_64 random{seed};
    Point costs(n);
    for (double& cost : costs) cost = static_cast<double>(random() % 7) - 3;  // with ties
    const Point found = polytope.minimize_linear(costs);

    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    double least = std::numeric_limits<double>::infinity();
    std::vector<Point> vertices;
    do {
      Point vertex(n);
      std::size_t mask = 0;
      for (const std::size_t e : order) {
        vertex[e] = value_of(f, mask | std::size_t{1} << e) - value_of(f, mask);
        mask |= std::size_t{1} << e;
      }
      least = std::min(least, dot(costs, vertex));
      vertices.push_back(vertex);
    } while (std::next_permutation(order.begin(), order.end()));
    EXPECT_NEAR(dot(costs, found), least, 1e-10);

    for (std::size_t mask = 1; mask < 1U << n; ++mask) {
      double sum = 0;
      for (std::size_t e = 0; e < n; ++e) sum += (mask >> e & 1U) != 0 ? found[e] : 0;
      EXPECT_LE(sum, value_of(f, mask) + 1e-10);
    }
    EXPECT_NEAR(std::accumulate(found.begin(), found.end(), 0.0), value_of(f, (1U << n) - 1), 1e-10);
    for (const double r : {1.0, 2.0, 3.5}) {
      double farthest = 0;
      for (const Point& u : vertices) {
        Point difference = u;
        for (std::size_t e = 0; e < n; ++e) difference[e] -= vertices.front()[e];
        farthest = std::max(farthest, lp_norm(difference, LpExponent{r}));
      }
      EXPECT_GE(polytope.diameter(LpExponent{r}, n), farthest);
    }
  }
}

TEST(SubmodularPolytope, OfARankIsThatOfTheMatroid) {
  constexpr std::size_t n = 7;
  for (std::size_t rank = 0; rank <= n; ++rank) {
    const BasePolytope matroid{UniformMatroid{{.size = n, .rank = rank}}};
    const SubmodularPolytope polytope{n, [=](Set set) { return static_cast<double>(std::min(set.size(), rank)); }};
    EXPECT_EQ(polytope.minimize_linear(Point{3, -1, 2, 2, 0, -5, 1}), matroid.minimize_linear(Point{3, -1, 2, 2, 0, -5, 1}));
    EXPECT_NEAR(polytope.diameter(Norm::l2, n), matroid.diameter(Norm::l2, n), 1e-9);
  }
}

TEST(SubmodularPolytope, RefusesWhatIsNotSubmodular) {
  const auto of = [](std::size_t size, const SubmodularPolytope::Value& f) {
    return [=] { static_cast<void>(SubmodularPolytope{size, f}); };
  };
  const auto square = [](Set set) { return static_cast<double>(set.size() * set.size()); };
  EXPECT_TRUE(refuses(of(3, square), ErrorCode::invalid_argument, {"not submodular", "beside 0 others, elements 0 and 1"}));
  // One set of twelve elements' worth of sets is out of line.
  const auto planted = [f = coverage(6, 1)](Set set) {
    const bool is_it = set.size() == 4 && set[0] == 0 && set[1] == 2 && set[2] == 3 && set[3] == 5;
    return f(set) - (is_it ? 100 : 0);
  };
  EXPECT_TRUE(refuses(of(6, planted), ErrorCode::invalid_argument, {"not submodular", "beside 3 others"}));
  EXPECT_TRUE(refuses(of(2, [](Set) { return std::nan(""); }), ErrorCode::invalid_argument, {"value", "nan"}));
  EXPECT_TRUE(refuses(of(0, square), ErrorCode::invalid_argument, {"elements is 0"}));
  EXPECT_TRUE(refuses(of(17, square), ErrorCode::unsupported, {"elements is 17", "at most 16"}));
  const SubmodularPolytope polytope{3, [](Set set) { return std::sqrt(static_cast<double>(set.size())); }};
  EXPECT_TRUE(refuses([&] { static_cast<void>(polytope.minimize_linear(Point{1, 2})); }, ErrorCode::invalid_argument, {"2", "3"}));
}

}  // namespace
}  // namespace surety::optimizers::submodular_test
