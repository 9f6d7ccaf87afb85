// Base polytopes of submodular functions, by a value oracle: a domain for algorithms that ask for no projection.
//
// A function f of the subsets S of 0 .. n - 1 with f(empty) = 0 is submodular when f(S + i) + f(S + j) >= f(S + i + j) + f(S) for all S and
// all i != j outside S. Its base polytope is
//
//     {x : sum of x over S <= f(S) for every S, sum of x = f(all)}     [Edm70]
//
// Ranks of matroids are such functions, and theirs are the polytopes of matroid.h; others are coverage, cuts of graphs, and concave functions of
// the number of elements. Values may be negative, and so may coordinates.
//
// [Edm70] Edmonds: Submodular functions, matroids, and certain polyhedra.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <surety/optimizers/problem/domain.h>

namespace surety::optimizers {

/// The base polytope of a function that was found to be submodular on all of its sets.
/// \source docs/proofs/domains.md#submodular
class SubmodularPolytope final : public LinearlyMinimizable {
 public:
  /// The value of a set, whose elements come in ascending order. Asked once for every set but the empty one.
  using Value = std::function<double(std::span<const std::size_t> set)>;

  /// What enumeration reaches: 2^16 sets.
  static constexpr std::size_t most_elements = 16;

  /// An inequality may fail by 2^-40 of the largest |f|, which is rounding.
  /// \throws Error{invalid_argument} for no elements, for a value that is not finite, and when f is not submodular, naming two elements and
  ///         the size of a set where the inequality fails; Error{unsupported} for more than `most_elements`. What `value` throws.
  /// \complexity O(2^size size^2) and 2^size - 1 questions, once.
  SubmodularPolytope(std::size_t size, const Value& value);

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// A vertex of smallest cost, by the greedy algorithm: with elements in the order of their costs, equal ones by index, coordinate e is
  /// f(those up to e) - f(those before e). Sums over sets exceed f by at most 2^-32 of the largest |f|. O(size log size).
  /// \throws Error{invalid_argument} when there are not `size` costs.
  [[nodiscard]] std::vector<double> minimize_linear(std::span<const double> costs) const override;

  /// In l_r an upper bound: coordinate e is between f(all) - f(all but e) and f(e), and differences of points have sums of magnitudes of at
  /// most twice what all coordinates together are above their least ones, or below their largest. Exact for ranks of uniform matroids.
  /// \throws Error{invalid_argument} when `dimension` is not `size`.
  [[nodiscard]] double diameter(LpExponent r, std::size_t dimension) const;
  [[nodiscard]] double diameter(Norm norm, std::size_t dimension) const { return diameter(exponent(norm), dimension); }

 private:
  [[nodiscard]] double at(std::size_t set) const { return (*values_)[set]; }

  std::size_t size_;
  std::shared_ptr<const std::vector<double>> values_;  ///< of the set whose elements are the bits of the index
};

static_assert(BoundedInEveryNorm<SubmodularPolytope>);

}  // namespace surety::optimizers
