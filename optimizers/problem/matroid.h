// Matroids, and the polytopes of their bases: domains for algorithms that ask for no projection.
//
// A matroid is a set of elements 0 .. size - 1 and a family of independent subsets: the empty set is one, subsets of independent sets are
// independent, and of two independent sets the smaller can be enlarged by an element of the larger. Its bases, the largest independent
// sets, have one size, the rank. The base polytope is the convex hull of their indicator vectors:
//
//     {x >= 0 : sum of x over S <= rank(S) for every S, sum of x = rank}     [Edm70]
//
// [Edm70] Edmonds: Submodular functions, matroids, and certain polyhedra.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <surety/optimizers/problem/domain.h>

namespace surety::optimizers {

/// add(e): keeps e if the set stays independent, and says whether it did. No element is offered twice.
template <class S>
concept IndependentSet = requires(S set, std::size_t element) {
  { set.add(element) } -> std::same_as<bool>;
};

/// size(), and empty_set(), an independent set to grow. Whoever models this promises the three axioms above.
template <class M>
concept Matroid = requires(const M& matroid) {
  { matroid.size() } -> std::same_as<std::size_t>;
  { matroid.empty_set() } -> IndependentSet;
};

/// components(): disjoint sets of elements that make up the whole, such that a set is independent if and only if its part in each is. None
/// of them can be divided further.
template <class M>
concept Decomposed = Matroid<M> && requires(const M& matroid) {
  { matroid.components() } -> std::same_as<std::vector<std::vector<std::size_t>>>;
};

/// Within each component every set of at most so many elements is independent.
template <class M>
concept SumOfUniforms = Decomposed<M> && M::components_are_uniform;

/// Independent: at most `rank` elements. The polytope {0 <= x <= 1, sum x = rank}, for rank 1 the simplex.
class UniformMatroid {
 public:
  struct Options {
    std::size_t size;
    std::size_t rank;
  };
  static constexpr bool components_are_uniform = true;

  /// \throws Error{invalid_argument} unless 0 <= rank <= size.
  explicit UniformMatroid(Options options);

  class Set {
   public:
    explicit Set(std::size_t room) : room_{room} {}
    bool add(std::size_t /*element*/) { return room_ > 0 ? (--room_, true) : false; }

   private:
    std::size_t room_;
  };
  [[nodiscard]] std::size_t size() const noexcept { return options_.size; }
  [[nodiscard]] Set empty_set() const { return Set{options_.rank}; }
  [[nodiscard]] std::vector<std::vector<std::size_t>> components() const;

 private:
  Options options_;
};

/// Independent: at most capacities[b] elements of each block b.
class PartitionMatroid {
 public:
  struct Options {
    std::vector<std::size_t> block_of;    ///< one per element, an index of `capacities`
    std::vector<std::size_t> capacities;  ///< one per block; more than its elements means all of them
  };
  static constexpr bool components_are_uniform = true;

  /// \throws Error{invalid_argument} when an element's block has no capacity.
  explicit PartitionMatroid(Options options);

  class Set {
   public:
    explicit Set(const Options& options) : block_of_{options.block_of}, room_{options.capacities} {}
    bool add(std::size_t element) {
      std::size_t& room = room_[block_of_[element]];
      return room > 0 ? (--room, true) : false;
    }

   private:
    std::span<const std::size_t> block_of_;
    std::vector<std::size_t> room_;
  };
  [[nodiscard]] std::size_t size() const noexcept { return options_.block_of.size(); }
  [[nodiscard]] Set empty_set() const { return Set{options_}; }
  [[nodiscard]] std::vector<std::vector<std::size_t>> components() const;

 private:
  Options options_;
};

/// Elements are the edges of a connected graph; independent: no cycle. Bases are the spanning trees. Parallel edges are fine, and so are
/// edges from a vertex to itself, which no base has.
class GraphicMatroid {
 public:
  struct Edge {
    std::size_t a;
    std::size_t b;
  };
  struct Options {
    std::size_t vertices;
    std::vector<Edge> edges;
  };

  /// \throws Error{invalid_argument} when an end of an edge is not a vertex, or the graph is not connected.
  explicit GraphicMatroid(Options options);

  /// A forest: union-find over the vertices.
  class Set {
   public:
    explicit Set(const Options& options);
    bool add(std::size_t element);

   private:
    std::size_t root(std::size_t vertex);

    std::span<const Edge> edges_;
    std::vector<std::size_t> parent_;
    std::vector<std::size_t> tree_size_;
  };
  [[nodiscard]] std::size_t size() const noexcept { return options_.edges.size(); }
  [[nodiscard]] Set empty_set() const { return Set{options_}; }
  /// The blocks of the graph: edges are together when a cycle without repeated vertices has both. O(vertices + edges).
  [[nodiscard]] std::vector<std::vector<std::size_t>> components() const;

 private:
  Options options_;
};

/// Any other matroid, by the question which sets are independent. The sets asked about are independent ones and one element more.
class OracleMatroid {
 public:
  using Oracle = std::function<bool(std::span<const std::size_t>)>;

  /// \throws Error{invalid_argument} when there is no oracle, or it says that the empty set is not independent.
  OracleMatroid(std::size_t size, Oracle is_independent);

  class Set {
   public:
    explicit Set(const Oracle& is_independent) : is_independent_{&is_independent} {}
    bool add(std::size_t element) {
      elements_.push_back(element);
      if ((*is_independent_)(elements_)) return true;
      elements_.pop_back();
      return false;
    }

   private:
    const Oracle* is_independent_;
    std::vector<std::size_t> elements_;
  };
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] Set empty_set() const { return Set{is_independent_}; }

 private:
  std::size_t size_;
  Oracle is_independent_;
};

/// The convex hull of the indicator vectors of the bases; a `Domain` in R^size.
///
/// Every vertex is a vector of zeros and ones, and `minimize_linear` of any costs is one: so is a first iterate.
/// \source docs/proofs/domains.md#base-polytope
template <Matroid M>
class BasePolytope final : public LinearlyMinimizable {
 public:
  /// O(size) questions to the matroid. \throws Error{invalid_argument} when the matroid has no element.
  explicit BasePolytope(M matroid) : matroid_{std::move(matroid)} {
    require_positive_dimension(matroid_.size());
    auto all = elements(matroid_.size());
    const std::vector<double> base = first_base(all);
    if constexpr (Decomposed<M>) {
      components_ = matroid_.components();
    } else {
      components_ = {std::move(all)};
    }
    for (const auto& component : components_) {
      std::size_t in_base = 0;
      for (const std::size_t element : component) in_base += base[element] > 0 ? 1 : 0;
      ranks_.push_back(in_base);
    }
  }

  [[nodiscard]] const M& matroid() const noexcept { return matroid_; }
  [[nodiscard]] std::size_t size() const noexcept { return matroid_.size(); }
  [[nodiscard]] std::size_t rank() const {
    std::size_t sum = 0;
    for (const std::size_t one : ranks_) sum += one;
    return sum;
  }

  /// The indicator of a base of smallest cost, by the greedy algorithm: of the cheapest elements that keep the set independent, those of
  /// equal cost by index. Exact: costs are compared, never added. O(size log size) and `size` questions to the matroid.
  /// \throws Error{invalid_argument} when there are not `size` costs.
  [[nodiscard]] std::vector<double> minimize_linear(std::span<const double> costs) const override {
    require_dimension("a cost vector", costs.size(), size());
    auto order = elements(costs.size());
    std::stable_sort(order.begin(), order.end(), [&](auto i, auto j) { return completed(costs[i]) < completed(costs[j]); });
    return first_base(order);
  }

  /// In l_r: (2 m)^(1/r), where m = sum over components of min(rank, size - rank) is at least how many elements a base can have outside
  /// another, and equal to it for sums of uniform matroids. Otherwise an upper bound. Within a relative 2^-50.
  /// \throws Error{invalid_argument} when `dimension` is not `size`.
  [[nodiscard]] double diameter(LpExponent r, std::size_t dimension) const {
    require_dimension("a base polytope's space", dimension, size());
    std::size_t exchanged = 0;
    for (std::size_t c = 0; c < components_.size(); ++c) exchanged += std::min(ranks_[c], components_[c].size() - ranks_[c]);
    return exchanged == 0 ? 0 : std::pow(2 * static_cast<double>(exchanged), 1 / r.value());
  }
  [[nodiscard]] double diameter(Norm norm, std::size_t dimension) const { return diameter(exponent(norm), dimension); }

  /// Around the mean of all bases, the largest ball there is. With k of n elements of a component in each base, coordinates are k/n there,
  /// and min(k, n - k) / n sqrt(n / (n - 1)) is how far one can go along the hull before a coordinate leaves [0, 1].
  /// \throws Error{invalid_argument} when `dimension` is not `size`.
  [[nodiscard]] InnerBall inner_ball(std::size_t dimension) const requires SumOfUniforms<M> {
    require_dimension("a base polytope's space", dimension, size());
    InnerBall ball{.centre = std::vector<double>(dimension), .radius = std::numeric_limits<double>::infinity(), .fixed_sums = components_};
    for (std::size_t c = 0; c < components_.size(); ++c) {
      const auto n = static_cast<double>(components_[c].size());
      const auto k = static_cast<double>(ranks_[c]);
      for (const std::size_t element : components_[c]) ball.centre[element] = k / n;
      if (n > 1) ball.radius = std::min(ball.radius, std::min(k, n - k) / std::sqrt(n * (n - 1)));
    }
    if (ball.dimension() == 0) ball.radius = 0;
    return ball;
  }

 private:
  /// 0, 1, ..., count - 1.
  static std::vector<std::size_t> elements(std::size_t count) {
    std::vector<std::size_t> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = i;
    return all;
  }
  /// The indicator of the base that takes each element of `order` in turn if it can.
  [[nodiscard]] std::vector<double> first_base(std::span<const std::size_t> order) const {
    std::vector<double> base(order.size(), 0.0);
    auto set = matroid_.empty_set();
    for (const std::size_t element : order) {
      if (set.add(element)) base[element] = 1;
    }
    return base;
  }

  M matroid_;
  std::vector<std::vector<std::size_t>> components_;
  std::vector<std::size_t> ranks_;  ///< of each component
};

static_assert(Decomposed<UniformMatroid> && Decomposed<PartitionMatroid> && Decomposed<GraphicMatroid> && Matroid<OracleMatroid>);
static_assert(BoundedInEveryNorm<BasePolytope<OracleMatroid>>);
static_assert(HasInnerBall<BasePolytope<PartitionMatroid>> && !HasInnerBall<BasePolytope<GraphicMatroid>>);

}  // namespace surety::optimizers
