// The value of the game of choices.h at the points of a grid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace surety::accounting {

/// `count` choices of loss range `range`, which is `cells` steps of the grid.
struct ChoiceKind {
  double range;
  std::uint64_t count;
  std::size_t cells;
};

/// A choice of a larger range has no game here.
inline constexpr double largest_choice_range = 256;
/// What is left of the choices is the state of the game: with c_i choices of range e_i there are prod (c_i + 1) of them. For more there is none.
inline constexpr double most_choice_states = 1e5;

/// How many choices there are of each range.
using ChoiceCounts = std::map<double, std::uint64_t>;
/// Whole numbers of cells for each range, of which the largest has at least `cells`, and less than twice as many, so that the ratios of
/// the ranges are met as well as may be.
/// \pre there is a choice. \complexity O(cells x kinds).
[[nodiscard]] std::vector<ChoiceKind> choice_kinds(const ChoiceCounts& counts, std::size_t cells);

/// What the bounds are made of. A test leaves one out and sees the truth escape.
struct GameTerms {
  bool between = true;   ///< what a move between two grid points may add to the better of the two
  bool beyond = true;    ///< what is beyond the last point, and above 0 there
  bool rounding = true;  ///< of floating point
  bool ranges = true;    ///< ranges that are no whole number of steps, outward
  bool chord = true;     ///< the curve between two grid points
};

/// The points 0, ..., points - 1, and how far below the sum of all ranges they count: elsewhere the bounds are 1 and 0.
struct GameWindow {
  std::size_t points;
  std::size_t depth;
};

/// Bounds on H at the end of the game: `above` and `below` hold those of H(i step), i = 0, 1, ..., each with a step of its own, of which
/// `cells` make at least, or at most, the range of each kind.
class ChoiceGame {
 public:
  /// \pre the kinds have different ranges of at least 2 cells and a count of at least 1; points > 0.
  /// \complexity states x points x (number of kinds) x 40 ns; the memory of 32 bytes for each point and each state that is kept: the product
  ///             of (count + 1) of all kinds but the one that is most frequent.
  ChoiceGame(std::vector<ChoiceKind> kinds, const GameWindow& asked, const GameTerms& terms = {});

  /// Bounds on H(x), 0 <= x; within the grid, above it the last value and 0.
  [[nodiscard]] double upper(double x) const;
  [[nodiscard]] double lower(double x) const;

  [[nodiscard]] std::size_t points() const { return above_.size(); }
  [[nodiscard]] double step() const { return step_above_; }
  [[nodiscard]] double step_below() const { return step_below_; }
  [[nodiscard]] double above(std::size_t i) const { return above_[i]; }
  [[nodiscard]] double below(std::size_t i) const { return below_[i]; }

 private:
  [[nodiscard]] long double chord(long double x) const;

  GameTerms terms_;
  double step_above_;
  double step_below_;
  std::vector<double> above_;
  std::vector<double> below_;
};

}  // namespace surety::accounting
