#include <surety/accounting/laws/choices/choice_game.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>
#include <surety/base/numbers/vectorized.h>

namespace surety::accounting {
namespace {

// Proved: docs/proofs/choices.md#above
/// So many points are looked at together; among them the best move hardly changes.
constexpr std::size_t tile = 64;
/// Smaller values count as this from above and as 0 from below, so that nothing underflows.
constexpr double tiny = 1e-290;
/// Relative, of one value from those before it: docs/proofs/choices.md#rounding.
constexpr double move_rounding = share_of_units(8.0);
constexpr double value_rounding = share_of_units(4.0);
/// Of a place in its cell: two exponentials less one, their quotient, and its product with this.
constexpr long double rounding_of_place = share_of_units(2 * LibraryError<long double>::expm1 + 2);

/// The P-masses of the losses t = j step and t - range, j = 0, ..., cells: within a relative 2 u.
struct Moves {
  std::vector<double> hit;
  std::vector<double> miss;

  Moves(std::size_t cells, double step) : hit(cells + 1), miss(cells + 1) {
    const long double h = step;
    const auto at = [&](std::size_t j) { return h * static_cast<long double>(j); };
    const long double all = -std::expm1(-at(cells));
    for (std::size_t j = 0; j <= cells; ++j) {
      hit[j] = static_cast<double>(-std::expm1(-at(cells - j)) / all);
      miss[j] = static_cast<double>(std::exp(-at(cells - j)) * -std::expm1(-at(j)) / all);
    }
  }
};

/// One move at the points of a tile: where its losses lead, how likely, and what bounds the moves between this one and the one before.
struct Move {
  const double* after_hit;
  const double* after_miss;
  double hit;
  double miss;
  double kept;  // e^-range
  double bend;
  double doubt;  // of `bend` times the values, by rounding
};

struct Tile {
  std::array<double, tile> best{};
  std::array<double, tile> worth{};   // of the move before
  std::array<double, tile> curved{};  // falls by what the moves between two may curve
};

void start(const Move& move, Tile& __restrict at) {
  for (std::size_t l = 0; l < tile; ++l) {
    at.best[l] = at.worth[l] = move.hit * move.after_hit[l] + move.miss * move.after_miss[l];
    at.curved[l] = move.after_hit[l] - move.kept * move.after_miss[l];
  }
}

/// What is between two moves is at most the top of a parabola through the worth of both.
SURETY_VECTORIZED void look_near(const Move& move, Tile& __restrict at) {
  const double* __restrict hit = move.after_hit;
  const double* __restrict miss = move.after_miss;
  for (std::size_t l = 0; l < tile; ++l) {
    const double here = move.hit * hit[l] + move.miss * miss[l];
    const double curved = hit[l] - move.kept * miss[l];
    const double rise = move.bend * (curved - at.curved[l]) + move.doubt * hit[l];
    const double over = std::max(0.0, rise - 0.25 * std::abs(here - at.worth[l]));
    at.best[l] = std::max(at.best[l], std::max(here, at.worth[l]) + over * (over / std::max(rise, tiny)));
    at.worth[l] = here;
    at.curved[l] = curved;
  }
}

/// The same with a simpler bound, for moves that are not near the best one: no division. What both say once would not be vectorized.
SURETY_VECTORIZED void look_far(const Move& move, Tile& __restrict at) {
  const double* __restrict hit = move.after_hit;
  const double* __restrict miss = move.after_miss;
  for (std::size_t l = 0; l < tile; ++l) {
    const double here = move.hit * hit[l] + move.miss * miss[l];
    const double curved = hit[l] - move.kept * miss[l];
    const double rise = move.bend * (curved - at.curved[l]) + move.doubt * hit[l];
    const double over = std::max(0.0, rise - 0.25 * std::abs(here - at.worth[l]));
    at.best[l] = std::max(at.best[l], std::max(here, at.worth[l]) + over);
    at.worth[l] = here;
    at.curved[l] = curved;
  }
}

SURETY_VECTORIZED void look_below(const Move& move, Tile& __restrict at) {
  const double* __restrict hit = move.after_hit;
  const double* __restrict miss = move.after_miss;
  for (std::size_t l = 0; l < tile; ++l) {
    at.best[l] = std::max(at.best[l], move.hit * hit[l] + move.miss * miss[l]);
  }
}

struct KnownChoice {
  ChoiceKind choice;
  Moves above;
  Moves below;
  double kept;               // e^-range
  std::vector<double> bend;  // by the logarithm of the number of cells between two moves
};

/// Values at the grid points -margin, ..., points + margin - 1.
struct Values {
  std::vector<double> above;
  std::vector<double> below;
};

class Game {
 public:
  Game(const std::vector<ChoiceKind>& kinds, const GameWindow& window, double step_above, double step_below, const GameTerms& terms)
      : terms_{terms}, points_{window.points}, depth_{window.depth}, step_above_{step_above}, step_below_{step_below} {
    for (const auto& kind : kinds) {
      margin_ = std::max(margin_, kind.cells + tile);
      const long double all = -std::expm1(-static_cast<long double>(step_above) * static_cast<long double>(kind.cells));
      const LongLower least_all = -expm1(-(LongLower{LongExact{step_above}} * LongExact{static_cast<long double>(kind.cells)}));
      std::vector<double> bend;
      for (std::size_t size = 1;; size *= 2) {
        const LongUpper wide = LongUpper{LongExact{step_above}} * LongExact{static_cast<long double>(size)};
        bend.push_back(shortened(exp(wide) * expm1(wide) / (4 * least_all)).value());
        if (size > kind.cells) break;
      }
      kinds_.push_back({kind, Moves{kind.cells, step_above}, Moves{kind.cells, step_below}, static_cast<double>(1 - all), std::move(bend)});
    }
    for (auto* mirror : {&mirror_above_, &mirror_below_}) {
      const long double h = mirror == &mirror_above_ ? step_above : step_below;
      for (std::size_t i = 0; i <= margin_; ++i) {
        const long double x = h * static_cast<long double>(i);
        mirror->push_back({static_cast<double>(-std::expm1(-x)), static_cast<double>(std::exp(-x))});
      }
    }
  }

  /// The values once all choices are made.
  [[nodiscard]] Values play() const {
    // States are kept for one number of the first kind at a time, the others counted as digits.
    std::vector<std::size_t> stride(kinds_.size(), 0);
    std::size_t row = 1;
    for (std::size_t a = 1; a < kinds_.size(); ++a) {
      stride[a] = row;
      row *= static_cast<std::size_t>(kinds_[a].choice.count) + 1;
    }
    std::vector<Values> before(row);
    std::vector<Values> now(row);
    for (std::uint64_t first = 0; first <= kinds_[0].choice.count; ++first) {
      for (std::size_t state = 0; state < row; ++state) {
        poll_limit();
        std::uint64_t total = first;
        std::size_t support = static_cast<std::size_t>(first) * kinds_[0].choice.cells;
        std::size_t only = 0;
        std::vector<const Values*> sources(kinds_.size(), nullptr);
        if (first > 0) sources[0] = &before[state];
        for (std::size_t a = 1; a < kinds_.size(); ++a) {
          const std::size_t left = state / stride[a] % (static_cast<std::size_t>(kinds_[a].choice.count) + 1);
          total += left;
          support += left * kinds_[a].choice.cells;
          if (left == 0) continue;
          sources[a] = &now[state - stride[a]];
          only = a;
        }
        if (total == 0) continue;
        now[state] = total == 1 ? one_choice(kinds_[only]) : best_of(sources, support);
      }
      std::swap(before, now);
    }
    return std::move(before[row - 1]);
  }

  [[nodiscard]] std::size_t margin() const { return margin_; }

 private:
  struct Mirror {
    double rest;  // 1 - e^-x
    double share;
  };

  [[nodiscard]] Values blank() const {
    const std::size_t size = points_ + 2 * margin_;
    return {std::vector<double>(size, 0.0), std::vector<double>(size, 0.0)};
  }

  /// One choice has a closed form.
  [[nodiscard]] Values one_choice(const KnownChoice& kind) const {
    Values values = blank();
    const auto at = [&](std::size_t i, double step) {
      const long double left = static_cast<long double>(kind.choice.cells - i) * static_cast<long double>(step);
      const long double root = -std::expm1(-left / 2);
      const long double all = -std::expm1(-static_cast<long double>(kind.choice.cells) * static_cast<long double>(step));
      return static_cast<double>(root * root / all);
    };
    const std::size_t support = std::min(points_, kind.choice.cells);
    for (std::size_t i = 0; i < support; ++i) {
      values.above[margin_ + i] = at(i, step_above_);
      values.below[margin_ + i] = at(i, step_below_);
    }
    settle(values, kind.choice.cells, value_rounding);
    return values;
  }

  /// The best choice of those that are left.
  [[nodiscard]] Values best_of(const std::vector<const Values*>& sources, std::size_t support) const {
    Values values = blank();
    const std::size_t first = first_of(support);
    for (std::size_t a = 0; a < kinds_.size(); ++a) {
      if (sources[a] != nullptr) raise(kinds_[a], *sources[a], first, std::min(points_, support), values);
    }
    settle(values, support, move_rounding);
    return values;
  }

  /// The first point that counts: no choice brings the loss that is left farther from the largest one that is left.
  [[nodiscard]] std::size_t first_of(std::size_t support) const {
    return std::min(support > depth_ ? (support - depth_) / tile * tile : 0, points_ - tile);
  }

  /// What follows from the values at 0, ..., points - 1: rounding outward, a falling curve, the points on either side.
  void settle(Values& values, std::size_t support, double rounding) const {
    const double more = terms_.rounding ? 1 + rounding : 1;
    const double less = terms_.rounding ? 1 - rounding : 1;
    double last = 1;
    const std::size_t first = margin_ + first_of(support);
    std::fill(values.above.begin(), values.above.begin() + static_cast<std::ptrdiff_t>(first), 1.0);
    for (std::size_t i = first; i < margin_ + points_; ++i) {
      last = std::min(last, std::max(values.above[i] * more, tiny));
      values.above[i] = i - margin_ < support ? last : tiny;
      const double below = values.below[i] * less;
      values.below[i] = below < tiny ? 0 : below;
    }
    const bool is_cut = support > points_ && terms_.beyond;
    for (std::size_t i = margin_ + points_; i < values.above.size(); ++i) values.above[i] = is_cut ? last : tiny;
    for (std::size_t i = 1; i <= margin_; ++i) {
      const auto& up = mirror_above_[i];
      const auto& down = mirror_below_[i];
      values.above[margin_ - i] = (up.rest + up.share * values.above[margin_ + i]) * (terms_.rounding ? 1 + value_rounding : 1);
      values.below[margin_ - i] = (down.rest + down.share * values.below[margin_ + i]) * (terms_.rounding ? 1 - value_rounding : 1);
    }
  }

  /// What move j is worth at a point.
  [[nodiscard]] static double worth_of(const KnownChoice& kind, const double* at, std::size_t j) {
    const double* hit = at - j;
    return kind.above.hit[j] * *hit + kind.above.miss[j] * *(hit + kind.choice.cells);
  }

  /// The move that is worth most at a point; `move` where none is worth more.
  [[nodiscard]] static std::size_t best_move(const KnownChoice& kind, const double* at, std::size_t move) {
    std::size_t best = move;
    double most = std::max(worth_of(kind, at, best), 2 * tiny);
    for (std::size_t j = 0; j <= kind.choice.cells; ++j) {
      const double here = worth_of(kind, at, j);
      if (here > most) {
        most = here;
        best = j;
      }
    }
    return best;
  }

  /// Nearly the same, from a move that is near.
  [[nodiscard]] static std::size_t climb(const KnownChoice& kind, const double* at, std::size_t move) {
    const auto worth = [&](std::size_t j) { return worth_of(kind, at, j); };
    double here = worth(move);
    if (here <= 2 * tiny) return best_move(kind, at, move);  // nothing to climb by
    for (const bool up : {true, false}) {
      while (up ? move < kind.choice.cells : move > 0) {
        const std::size_t next = up ? move + 1 : move - 1;
        const double there = worth(next);
        if (!(there > here)) break;
        here = there;
        move = next;
      }
    }
    return move;
  }

  /// The same from the best of a few moves: there may be two that are better than all near them, and which is best changes at some point.
  [[nodiscard]] static std::size_t good_move(const KnownChoice& kind, const double* at, std::size_t near) {
    constexpr std::size_t few = 32;
    std::size_t from = near;
    double most = worth_of(kind, at, near);
    for (std::size_t k = 0; k <= few; ++k) {
      const std::size_t j = kind.choice.cells * k / few;
      const double here = worth_of(kind, at, j);
      if (here > most) {
        most = here;
        from = j;
      }
    }
    return climb(kind, at, from);
  }

  /// Adds moves until no two are so far apart that those between them might be worth more than `best` at one of two points.
  void split(const KnownChoice& kind, const std::array<const double*, 2>& points, const std::array<double, 2>& best, std::size_t from,
             std::size_t to, std::vector<std::size_t>& moves) const {
    moves.push_back(from);
    const double bend = kind.bend[log2_up(to - from)];
    const auto might = [&](std::size_t k) {
      const auto curved = [&](std::size_t j) {
        return points[k][-offset(j)] - kind.kept * points[k][offset(kind.choice.cells) - offset(j)];
      };
      const double one = worth_of(kind, points[k], from);
      const double other = worth_of(kind, points[k], to);
      return std::max(one, other) + std::max(0.0, bend * (curved(to) - curved(from)) - 0.25 * std::abs(one - other)) > best[k];
    };
    if (to - from < 2 || !(might(0) || might(1))) return;
    const std::size_t middle = from + (to - from) / 2;
    split(kind, points, best, from, middle, moves);
    split(kind, points, best, middle, to, moves);
  }
  [[nodiscard]] static std::ptrdiff_t offset(std::size_t j) { return static_cast<std::ptrdiff_t>(j); }
  /// The logarithm of the smallest power of two that is no less. \pre apart >= 1.
  [[nodiscard]] static std::size_t log2_up(std::size_t apart) { return static_cast<std::size_t>(std::bit_width(apart - 1)); }

  /// Raises `into` to what one choice of this kind is worth before `from`, at the points `begin` to `support`.
  void raise(const KnownChoice& kind, const Values& from, std::size_t begin, std::size_t support, Values& into) const {
    const std::size_t cells = kind.choice.cells;
    std::size_t move = best_move(kind, from.above.data() + margin_ + begin, cells / 2);
    std::vector<std::size_t> moves;
    for (std::size_t first = begin; first < support; first += tile) {
      poll_limit();
      const double* above = from.above.data() + margin_ + first;
      const double* below = from.below.data() + margin_ + first;
      const std::size_t low = good_move(kind, above, move);
      // The last point of the support is worth nothing.
      const std::size_t last = std::min(tile - 1, support - first - std::min<std::size_t>(support - first, 2));
      const std::size_t high = good_move(kind, above + last, low);
      move = high;
      const std::size_t near_low = std::min(low, high) - std::min<std::size_t>(std::min(low, high), 2);
      const std::size_t near_high = std::min(std::max(low, high) + 2, cells);
      moves.clear();
      const std::array points{above, above + last};
      const std::array best{worth_of(kind, points[0], low), worth_of(kind, points[1], high)};
      for (std::size_t at = near_low, size = 1; at > 0; size *= 2) {
        const std::size_t next = at - std::min(at, size);
        split(kind, points, best, next, at, moves);
        at = next;
      }
      moves.push_back(0);
      for (std::size_t at = near_low; at <= near_high; ++at) moves.push_back(at);
      for (std::size_t at = near_high, size = 1; at < cells; size *= 2) {
        const std::size_t next = std::min(cells, at + size);
        split(kind, points, best, at, next, moves);
        at = next;
      }
      moves.push_back(cells);
      std::sort(moves.begin(), moves.end());
      moves.erase(std::unique(moves.begin(), moves.end()), moves.end());
      bound_above(kind, above, moves, into.above.data() + margin_ + first);
      play_below(kind, below, near_low, near_high, into.below.data() + margin_ + first);
    }
  }

  /// Every move lies between two of `moves`.
  void bound_above(const KnownChoice& kind, const double* from, const std::vector<std::size_t>& moves, double* into) const {
    Tile best;
    start({.after_hit = from,
           .after_miss = from + kind.choice.cells,
           .hit = kind.above.hit[0],
           .miss = kind.above.miss[0],
           .kept = kind.kept,
           .bend = 0,
           .doubt = 0},
          best);
    for (std::size_t k = 1; k < moves.size(); ++k) {
      const std::size_t j = moves[k];
      const std::size_t apart = j - moves[k - 1];
      const double bend = terms_.between ? kind.bend[log2_up(apart)] : 0;
      const double* hit = from - j;
      const Move move{.after_hit = hit,
                      .after_miss = hit + kind.choice.cells,
                      .hit = kind.above.hit[j],
                      .miss = kind.above.miss[j],
                      .kept = kind.kept,
                      .bend = bend,
                      .doubt = move_rounding * bend};
      apart == 1 ? look_near(move, best) : look_far(move, best);
    }
    for (std::size_t l = 0; l < tile; ++l) into[l] = std::max(into[l], best.best[l]);
  }

  static void play_below(const KnownChoice& kind, const double* from, std::size_t first, std::size_t last, double* into) {
    Tile best;
    for (std::size_t j = first; j <= last; ++j) {
      const double* hit = from - j;
      look_below({.after_hit = hit,
                  .after_miss = hit + kind.choice.cells,
                  .hit = kind.below.hit[j],
                  .miss = kind.below.miss[j],
                  .kept = 0,
                  .bend = 0,
                  .doubt = 0},
                 best);
    }
    for (std::size_t l = 0; l < tile; ++l) into[l] = std::max(into[l], best.best[l]);
  }

  GameTerms terms_;
  std::size_t points_;
  std::size_t depth_;
  double step_above_;
  double step_below_;
  std::size_t margin_ = 0;
  std::vector<KnownChoice> kinds_;
  std::vector<Mirror> mirror_above_;
  std::vector<Mirror> mirror_below_;
};

/// The steps of which the cells make at least, or at most, every range.
struct Steps {
  double above;
  double below;
};
Steps steps_of(const std::vector<ChoiceKind>& kinds, const GameTerms& terms) {
  Steps steps{0, infinity};
  for (const auto& kind : kinds) {
    const double step = kind.range / static_cast<double>(kind.cells);
    if (!terms.ranges) return {step, step};
    steps = {std::max(steps.above, std::nextafter(step, infinity)), std::min(steps.below, std::nextafter(step, 0.0))};
  }
  return steps;
}

}  // namespace

std::vector<ChoiceKind> choice_kinds(const ChoiceCounts& counts, std::size_t cells) {
  const double largest_range = counts.rbegin()->first;
  const auto whole = [&](std::size_t most) {
    std::vector<ChoiceKind> kinds;
    double least = infinity;
    double largest = 0;
    for (const auto& [range, count] : counts) {
      const double exact = range / largest_range * static_cast<double>(most);
      const auto found = std::max<std::size_t>(2, size_of(exact + 0.5));
      kinds.push_back({range, count, found});
      least = std::min(least, range / static_cast<double>(found));
      largest = std::max(largest, range / static_cast<double>(found));
    }
    return std::pair{kinds, largest / least - 1};
  };
  cells += cells % 2;
  auto best = whole(cells);
  for (std::size_t more = cells + 2; more < 2 * cells && best.second > 1e-13; more += 2) {
    auto other = whole(more);
    // Finer steps take longer, so they have to be worth it.
    if (other.second < 0.5 * best.second) best = std::move(other);
  }
  return best.first;
}

ChoiceGame::ChoiceGame(std::vector<ChoiceKind> kinds, const GameWindow& asked, const GameTerms& terms) : terms_{terms} {
  std::stable_sort(kinds.begin(), kinds.end(), [](const ChoiceKind& x, const ChoiceKind& y) { return x.count > y.count; });
  const auto steps = steps_of(kinds, terms);
  step_above_ = steps.above;
  step_below_ = steps.below;
  std::size_t points = asked.points;
  for (const auto& kind : kinds) points = std::max(points, kind.cells + 2 * tile);
  points = (points + tile - 1) / tile * tile;
  const Game game{kinds, {points, asked.depth}, step_above_, step_below_, terms};
  auto values = game.play();
  const auto begin = static_cast<std::ptrdiff_t>(game.margin());
  const auto end = begin + static_cast<std::ptrdiff_t>(points);
  above_.assign(values.above.begin() + begin, values.above.begin() + end);
  below_.assign(values.below.begin() + begin, values.below.begin() + end);
}

/// H is convex in e^x, so the chord over bounds from above is one. The last value serves beyond.
long double ChoiceGame::chord(long double x) const {
  const long double h = step_above_;
  const long double place = std::floor(x / h);
  if (!(place < static_cast<long double>(points() - 1))) return above_.back();
  const auto i = size_of(std::max(place, 0.0L));
  const long double into = std::clamp(std::expm1(x - h * static_cast<long double>(i)) / std::expm1(h), 0.0L, 1.0L);
  const long double weight = terms_.rounding ? into * (1 - rounding_of_place) : into;  // the left end is the higher one
  return above_[i] + weight * (static_cast<long double>(above_[i + 1]) - static_cast<long double>(above_[i]));
}

double ChoiceGame::upper(double x) const {
  if (!terms_.chord) return above_[std::min(points() - 1, size_of(x / step_above_ + 0.5))];
  // The place of x within its cell is known to some 2^-60 of x.
  const long double doubt = terms_.rounding ? 0x1p-58L * (static_cast<long double>(x) + static_cast<long double>(step_above_)) : 0;
  return std::min(1.0, round_up(chord(std::max(0.0L, static_cast<long double>(x) - doubt))));
}

/// A convex curve lies above each of its chords, outside the two points.
double ChoiceGame::lower(double x) const {
  const long double h = step_below_;
  const long double at = static_cast<long double>(x) + 0x1p-58L * (static_cast<long double>(x) + h);
  const long double place = std::floor(at / h);
  if (!(place + 2 < static_cast<long double>(points()))) return 0;
  const auto i = size_of(place);
  const auto near = [&](std::size_t j) { return h * static_cast<long double>(j); };
  const auto above_at = [&](std::size_t j) { return static_cast<long double>(upper(std::nextafter(static_cast<double>(near(j)), 0.0))); };
  const long double next = below_[i + 1];
  const long double back = std::max(0.0L, -std::expm1(at - near(i + 1)) / std::expm1(h) * (1 - rounding_of_place));
  long double best = next + back * std::max(0.0L, next - above_at(i + 2));
  if (i > 0) {
    const long double here = below_[i];
    const long double ahead = std::max(0.0L, std::expm1(at - near(i)) / -std::expm1(-h) * (1 + rounding_of_place));
    best = std::max(best, here - ahead * std::max(0.0L, above_at(i - 1) - here));
  }
  return std::max(0.0, round_down(best));
}

// Proved so far.
}  // namespace surety::accounting
