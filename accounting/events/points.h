// Lists of pairs of numbers that an event is written with: points of a curve, atoms of a law, bounds of orders, shifts with their weights.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

namespace surety {

struct NumberPair {
  double first;
  double second;
  friend bool operator==(const NumberPair&, const NumberPair&) = default;
};

/// Pairs that satisfy `Rule::check`, in the order in which they were written. \throws Error{invalid_argument} by name, value and constraint.
template <class Rule>
class Pairs {
 public:
  Pairs(std::initializer_list<NumberPair> pairs) : Pairs(std::vector<NumberPair>(pairs)) {}
  explicit Pairs(std::vector<NumberPair> pairs) : pairs_{std::move(pairs)} { Rule::check(pairs_); }
  [[nodiscard]] const std::vector<NumberPair>& all() const noexcept { return pairs_; }
  friend bool operator==(const Pairs&, const Pairs&) = default;

 private:
  std::vector<NumberPair> pairs_;
};

/// How far masses may be from a sum of 1: what digits of a program lose. Those that are no farther are scaled to it.
inline constexpr double mass_tolerance = 1e-12;

/// (epsilon, delta): epsilons at least 0 that rise, deltas from 0 to 1 that do not, the last one below 1; convex in e^epsilon but for rounding (a
/// share of 1e-9). At most 10,000.
struct CurveRule {
  static void check(const std::vector<NumberPair>& points);
};
/// (loss, mass): losses finite or infinity, in any order, also equal ones; masses that sum to 1, and those of the other side, mass e^-loss, to at most 1
/// and at least 1e-12. At most 20,000.
struct LawRule {
  static void check(const std::vector<NumberPair>& atoms);
};
/// (order, bound): orders above 1 that rise, bounds at least 0. At most 256.
struct RenyiRule {
  static void check(const std::vector<NumberPair>& bounds);
};
/// (weight, shift): weights that sum to 1, shifts at least 0. At most 256.
struct MixtureRule {
  static void check(const std::vector<NumberPair>& components);
};
/// (steps, size): so many steps, each on a batch of so many records; integers from 1 to 2^53, as are the steps of all together. At most 10,000.
struct BatchSizesRule {
  static void check(const std::vector<NumberPair>& sizes);
};

using CurvePoints = Pairs<CurveRule>;
using LawAtoms = Pairs<LawRule>;
using RenyiBounds = Pairs<RenyiRule>;
using MixtureParts = Pairs<MixtureRule>;
using BatchSizes = Pairs<BatchSizesRule>;

}  // namespace surety
