#include <surety/optimizers/problem/matroid.h>

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include <surety/mechanisms/queries/record_sum.h>

#include <support/refusal.h>

namespace surety::optimizers::matroid_test {
namespace {

using Mask = std::uint32_t;
using Independent = std::function<bool(Mask)>;
using Sets = std::set<std::set<std::size_t>>;

/// A small matroid with the definition of its independent sets, as the tests read it, beside the library's.
template <class M>
struct Case {
  M matroid;
  Independent independent;
};

std::vector<std::size_t> elements(Mask set) {
  std::vector<std::size_t> result;
  for (std::size_t e = 0; e < 32; ++e) {
    if (set >> e & 1) result.push_back(e);
  }
  return result;
}

Case<UniformMatroid> any_uniform() {
  const auto size = *rc::gen::inRange<std::size_t>(1, 9);
  const auto rank = *rc::gen::inRange<std::size_t>(0, size + 1);
  return {UniformMatroid{{.size = size, .rank = rank}}, [=](Mask set) { return static_cast<std::size_t>(std::popcount(set)) <= rank; }};
}

Case<PartitionMatroid> any_partition() {
  const auto size = *rc::gen::inRange<std::size_t>(1, 9);
  const auto blocks = *rc::gen::inRange<std::size_t>(1, 4);
  const auto block_of = *rc::gen::container<std::vector<std::size_t>>(size, rc::gen::inRange<std::size_t>(0, blocks));
  const auto capacities = *rc::gen::container<std::vector<std::size_t>>(blocks, rc::gen::inRange<std::size_t>(0, 4));
  return {PartitionMatroid{{.block_of = block_of, .capacities = capacities}}, [=](Mask set) {
            for (std::size_t b = 0; b < blocks; ++b) {
              std::size_t count = 0;
              for (const std::size_t e : elements(set)) count += block_of[e] == b ? 1 : 0;
              if (count > capacities[b]) return false;
            }
            return true;
          }};
}

/// A forest has as many parts less as it has edges; parts by spreading labels.
bool is_forest(const GraphicMatroid::Options& graph, Mask set) {
  std::vector<std::size_t> label(graph.vertices);
  for (std::size_t v = 0; v < graph.vertices; ++v) label[v] = v;
  for (std::size_t round = 0; round < graph.vertices; ++round) {
    for (const std::size_t e : elements(set)) {
      const auto [a, b] = graph.edges[e];
      label[a] = label[b] = std::min(label[a], label[b]);
    }
  }
  const std::set<std::size_t> parts(label.begin(), label.end());
  return parts.size() + elements(set).size() == graph.vertices;
}

/// A random tree and random further edges, parallel ones and loops among them, in any order.
Case<GraphicMatroid> any_graphic() {
  GraphicMatroid::Options graph{.vertices = *rc::gen::inRange<std::size_t>(2, 7), .edges = {}};
  for (std::size_t v = 1; v < graph.vertices; ++v) graph.edges.push_back({v, *rc::gen::inRange<std::size_t>(0, v)});
  const auto more = *rc::gen::inRange<std::size_t>(0, 5);
  for (std::size_t k = 0; k < more; ++k) {
    graph.edges.push_back({*rc::gen::inRange<std::size_t>(0, graph.vertices), *rc::gen::inRange<std::size_t>(0, graph.vertices)});
  }
  const auto turn = *rc::gen::inRange<std::size_t>(0, graph.edges.size());
  std::rotate(graph.edges.begin(), graph.edges.begin() + static_cast<std::ptrdiff_t>(turn), graph.edges.end());
  return {GraphicMatroid{graph}, [=](Mask set) { return is_forest(graph, set); }};
}

/// Columns of bits; independent when no part of them adds up to zero modulo 2.
Case<OracleMatroid> any_binary() {
  const auto size = *rc::gen::inRange<std::size_t>(1, 8);
  const auto columns = *rc::gen::container<std::vector<unsigned>>(size, rc::gen::inRange(0U, 16U));
  const auto rank = [columns](std::span<const std::size_t> set) {
    std::vector<unsigned> echelon;
    for (const std::size_t e : set) {
      unsigned column = columns[e];
      for (const unsigned pivot : echelon) column = std::min(column, column ^ pivot);
      if (column != 0) echelon.push_back(column);
    }
    return echelon.size();
  };
  return {OracleMatroid{size, [rank](std::span<const std::size_t> set) { return rank(set) == set.size(); }}, [columns](Mask set) {
            for (Mask part = set; part != 0; part = (part - 1) & set) {
              unsigned total = 0;
              for (const std::size_t e : elements(part)) total ^= columns[e];
              if (total == 0) return false;
            }
            return true;
          }};
}

int rank_of(const Independent& independent, Mask set) {
  int rank = 0;
  for (Mask part = set;; part = (part - 1) & set) {
    if (independent(part)) rank = std::max(rank, std::popcount(part));
    if (part == 0) return rank;
  }
}

std::vector<Mask> all_bases(const Independent& independent, std::size_t size) {
  const Mask all = (Mask{1} << size) - 1;
  const int rank = rank_of(independent, all);
  std::vector<Mask> bases;
  for (Mask set = 0; set <= all; ++set) {
    if (std::popcount(set) == rank && independent(set)) bases.push_back(set);
  }
  return bases;
}

/// Membership by every inequality of the polytope.
bool contains(const Independent& independent, std::span<const double> x, double tolerance) {
  const Mask all = (Mask{1} << x.size()) - 1;
  for (Mask set = 1; set <= all; ++set) {
    double sum = 0;
    for (const std::size_t e : elements(set)) sum += x[e];
    const int rank = rank_of(independent, set);
    if (sum > rank + tolerance || (set == all && sum < rank - tolerance)) return false;
  }
  return *std::min_element(x.begin(), x.end()) >= -tolerance;
}

Mask mask(std::span<const double> indicator) {
  Mask set = 0;
  for (std::size_t e = 0; e < indicator.size(); ++e) set |= indicator[e] != 0 ? Mask{1} << e : 0;
  return set;
}

std::vector<double> any_costs(std::size_t size) {
  const double scale = *rc::gen::element(1e-320, 1.0, 1e300);
  const auto few = rc::gen::map(rc::gen::inRange(-2, 3), [](int i) { return 1.0 * i; });
  const auto many = rc::gen::map(rc::gen::inRange(-1000, 1001), [](int i) { return 1e-3 * i; });
  auto costs = *rc::gen::container<std::vector<double>>(size, rc::gen::oneOf(few, many));
  for (double& cost : costs) cost *= scale;
  return costs;
}

long double cost(Mask set, std::span<const double> costs) {
  long double sum = 0;
  for (const std::size_t e : elements(set)) sum += costs[e];
  return sum;
}

/// Elements e of a base and f outside it are together when the base with f in place of e is one: those classes are the components.
Sets components_by_exchange(const std::vector<Mask>& bases, std::size_t size) {
  std::vector<std::size_t> label(size);
  for (std::size_t e = 0; e < size; ++e) label[e] = e;
  for (std::size_t round = 0; round < size; ++round) {
    for (const Mask other : bases) {
      if (std::popcount(bases[0] ^ other) != 2) continue;
      const auto pair = elements(bases[0] ^ other);
      label[pair[0]] = label[pair[1]] = std::min(label[pair[0]], label[pair[1]]);
    }
  }
  std::vector<std::set<std::size_t>> classes(size);
  for (std::size_t e = 0; e < size; ++e) classes[label[e]].insert(e);
  Sets result(classes.begin(), classes.end());
  result.erase(std::set<std::size_t>{});
  return result;
}

template <class M>
void check(const Case<M>& example) {
  const BasePolytope polytope{example.matroid};
  const std::size_t size = polytope.size();
  const auto bases = all_bases(example.independent, size);
  RC_ASSERT(polytope.rank() == static_cast<std::size_t>(std::popcount(bases[0])));

  const auto costs = any_costs(size);
  const auto vertex = polytope.minimize_linear(costs);
  for (const double x : vertex) RC_ASSERT(x == 0 || x == 1);
  const Mask found = mask(vertex);
  RC_ASSERT(std::find(bases.begin(), bases.end(), found) != bases.end());
  RC_ASSERT(contains(example.independent, vertex, 0));
  for (const Mask base : bases) RC_ASSERT(cost(found, costs) <= cost(base, costs) * (1 + 0x1p-60L * (cost(base, costs) > 0 ? 1 : -1)));
  // Of equal costs those of lower index: the base whose sorted elements come first.
  const auto first = mask(polytope.minimize_linear(std::vector<double>(size, -3.5)));
  for (const Mask base : bases) RC_ASSERT(elements(first) <= elements(base));

  int exchanged = 0;
  for (const Mask a : bases) {
    for (const Mask b : bases) exchanged = std::max(exchanged, std::popcount(a ^ b));
  }
  for (const double r : {1.0, 1.5, 2.0, std::numeric_limits<double>::infinity()}) {
    const double reached = exchanged == 0 ? 0 : std::pow(exchanged, 1 / r);
    const double diameter = polytope.diameter(LpExponent{r}, size);
    RC_ASSERT(reached <= diameter * (1 + 1e-14));
    if constexpr (SumOfUniforms<M>) RC_ASSERT(diameter <= reached * (1 + 1e-14));
  }
  RC_ASSERT(polytope.diameter(Norm::l2, size) == polytope.diameter(LpExponent{2}, size));

  if constexpr (Decomposed<M>) {
    Sets found_components;
    std::size_t covered = 0;
    for (const auto& component : polytope.matroid().components()) {
      found_components.emplace(component.begin(), component.end());
      covered += component.size();
    }
    RC_ASSERT(covered == size);
    RC_ASSERT(found_components == components_by_exchange(bases, size));
  }
  if constexpr (HasInnerBall<BasePolytope<M>>) {
    const InnerBall ball = polytope.inner_ball(size);
    RC_ASSERT(contains(example.independent, ball.centre, 1e-12));
    bool leaves = ball.dimension() == 0;
    // Toward each inequality x_e >= 0 and x_e <= 1, which are all that bound sums of uniform matroids, and in any direction.
    for (std::size_t trial = 0; trial < 2 * size + 1; ++trial) {
      auto direction = trial < 2 * size ? std::vector<double>(size, 0.0) : any_costs(size);
      if (trial < 2 * size) direction[trial / 2] = trial % 2 == 0 ? 1 : -1;
      ball.project_direction(direction);
      const double length = mechanisms::l2_norm(direction);
      if (!(length > 1e-9)) continue;
      auto at_radius = ball.centre;
      auto beyond = ball.centre;
      for (std::size_t e = 0; e < size; ++e) {
        at_radius[e] += ball.radius * (direction[e] / length);
        beyond[e] += ball.radius * (1 + 1e-6) * (direction[e] / length);
      }
      RC_ASSERT(contains(example.independent, at_radius, 1e-9));
      leaves = leaves || !contains(example.independent, beyond, 1e-9);
    }
    RC_ASSERT(leaves);
    for (const Mask base : bases) {  // the hull holds every base
      for (const auto& group : ball.fixed_sums) {
        double sum = 0;
        double at_centre = 0;
        for (const std::size_t e : group) {
          sum += base >> e & 1;
          at_centre += ball.centre[e];
        }
        RC_ASSERT(std::abs(sum - at_centre) <= 1e-12);
      }
    }
  }
}

RC_GTEST_PROP(UniformMatroid, AgreesWithAllItsBases, ()) { check(any_uniform()); }
RC_GTEST_PROP(PartitionMatroid, AgreesWithAllItsBases, ()) { check(any_partition()); }
RC_GTEST_PROP(GraphicMatroid, AgreesWithAllItsBases, ()) { check(any_graphic()); }
RC_GTEST_PROP(OracleMatroid, AgreesWithAllItsBases, ()) { check(any_binary()); }

TEST(BasePolytope, TakesAnyCosts) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const BasePolytope polytope{UniformMatroid{{.size = 5, .rank = 2}}};
  EXPECT_EQ(polytope.minimize_linear(std::vector{nan, -infinity, 1.0, infinity, nan}), (std::vector{1.0, 1.0, 0.0, 0.0, 0.0}));
  EXPECT_EQ(polytope.minimize_linear(std::vector{infinity, nan, -1e300, infinity, 1e-320}), (std::vector{0.0, 1.0, 1.0, 0.0, 0.0}));
  EXPECT_EQ(polytope.minimize_linear(std::vector{nan, nan, nan, nan, nan}), (std::vector{1.0, 1.0, 0.0, 0.0, 0.0}));
}

TEST(GraphicMatroid, TakesALongPath) {
  // A recursive search would run out of stack. The last edge closes a circle: one block, of which a tree leaves out the dearest edge.
  constexpr std::size_t vertices = 300'000;
  GraphicMatroid::Options circle{.vertices = vertices, .edges = {}};
  for (std::size_t v = 0; v < vertices; ++v) circle.edges.push_back({v, (v + 1) % vertices});
  const BasePolytope polytope{GraphicMatroid{circle}};
  EXPECT_EQ(polytope.matroid().components().size(), 1);
  EXPECT_EQ(polytope.rank(), vertices - 1);
  std::vector<double> costs(vertices, -1.0);
  costs[1234] = 0;
  const auto tree = polytope.minimize_linear(costs);
  EXPECT_EQ(tree[1234], 0);
  EXPECT_EQ(polytope.diameter(Norm::l2, vertices), std::sqrt(2.0));
}

TEST(Matroids, RefuseOptionsThatDoNotFit) {
  const auto says = [](auto action, const std::vector<std::string_view>& words) {
    return refuses(action, ErrorCode::invalid_argument, words);
  };
  EXPECT_TRUE(says([] { UniformMatroid{{.size = 3, .rank = 5}}; }, {"rank", "is 5", "at most its size, 3"}));
  EXPECT_TRUE(says([] { PartitionMatroid{{.block_of = {0, 2}, .capacities = {1, 1}}}; }, {"element 1 is 2", "less than", "capacities, 2"}));
  EXPECT_TRUE(says([] { GraphicMatroid{{.vertices = 0, .edges = {}}}; }, {"vertices is 0", "at least 1"}));
  EXPECT_TRUE(says([] { GraphicMatroid{{.vertices = 2, .edges = {{0, 1}, {1, 2}}}}; }, {"edge 1 is 2", "less than", "vertices, 2"}));
  EXPECT_TRUE(says([] { GraphicMatroid{{.vertices = 4, .edges = {{0, 1}, {2, 2}}}}; }, {"connected parts of the graph is 3", "must be 1"}));
  EXPECT_TRUE(says([] { OracleMatroid{3, {}}; }, {"oracle is empty"}));
  EXPECT_TRUE(says([] { OracleMatroid{3, [](auto) { return false; }}; }, {"empty set is false", "must be true"}));
  EXPECT_TRUE(says([] { BasePolytope{UniformMatroid{{.size = 0, .rank = 0}}}; }, {"dimension is 0", "at least 1"}));
  const BasePolytope polytope{UniformMatroid{{.size = 2, .rank = 1}}};
  const std::vector<double> three(3, 1.0);
  EXPECT_TRUE(says([&] { (void)polytope.minimize_linear(three); }, {"cost vector has 3 coordinates", "must have 2"}));
  EXPECT_TRUE(says([&] { (void)polytope.diameter(Norm::l2, 3); }, {"has 3 coordinates", "must have 2"}));
  EXPECT_TRUE(says([&] { (void)polytope.inner_ball(3); }, {"has 3 coordinates", "must have 2"}));
}

}  // namespace
}  // namespace surety::optimizers::matroid_test
