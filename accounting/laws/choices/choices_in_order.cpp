#include <surety/accounting/laws/choices/choices_in_order.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting {
namespace {

// Proved: docs/proofs/choices.md#in-order
struct Ordered {
  std::size_t cells;
  std::uint64_t count;
};

/// Whole numbers of steps that the ranges are at least, by rising range.
struct OrderedSteps {
  double step;
  std::vector<Ordered> choices;
};

/// With the largest range cut into so many cells.
OrderedSteps ordered_steps(const ChoiceCounts& counts, std::size_t cells) {
  constexpr double nearly = 1e-9;
  const double about = counts.rbegin()->first / static_cast<double>(cells);
  OrderedSteps found{about, {}};
  for (const auto& [range, count] : counts) {
    const auto whole = size_of(std::floor(range / about + nearly));
    if (whole == 0) continue;  // of so small a range nothing is seen
    found.choices.push_back({whole, count});
    found.step = std::min(found.step, (Lower{Exact{range}} / Exact{static_cast<double>(whole)}).value());
  }
  return found;
}

/// The steps that cut off least of the variances, of a few.
OrderedSteps best_ordered_steps(const ChoiceCounts& counts, std::size_t least) {
  constexpr std::size_t tries = 64;
  OrderedSteps best;
  double most = -1;
  for (std::size_t cells = least; cells < least + tries; ++cells) {
    OrderedSteps found = ordered_steps(counts, cells);
    double kept = 0;
    for (const auto& [whole, count] : found.choices)
      kept += static_cast<double>(count) * std::pow(found.step * static_cast<double>(whole), 2);
    if (!(kept > most)) continue;
    most = kept;
    best = std::move(found);
  }
  return best;
}

/// At most the masses of the losses t = j step and t - range, the range `cells` steps.
struct OrderedMasses {
  std::vector<double> hit;
  std::vector<double> miss;

  OrderedMasses(std::size_t cells, double step) {
    const auto rest_below = [&](std::size_t i) {  // 1 - e^-(i step)
      return -expm1(-(Lower{Exact{step}} * Exact{static_cast<double>(i)}));
    };
    const Upper all = -expm1(-(Upper{Exact{step}} * Exact{static_cast<double>(cells)}));
    for (std::size_t j = 0; j <= cells; ++j) {
      const Upper left = Upper{Exact{step}} * Exact{static_cast<double>(cells - j)};
      hit.push_back((rest_below(cells - j) / all).value());
      miss.push_back((exp(-left) * rest_below(j) / all).value());
    }
  }
};

/// The values with one choice before all that they are of.
void choose(MirroredValues& values, std::size_t cells, const OrderedMasses& masses) {
  const double* const at = values.at_zero();
  const auto after = [&](std::size_t i, std::size_t j) { return at + static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(j); };
  const auto about = [&](std::size_t i, std::size_t j) {
    const double* const hit = after(i, j);
    return masses.hit[j] * hit[0] + masses.miss[j] * hit[cells];
  };
  std::size_t move = 0;
  for (std::size_t j = 1; j <= cells; ++j) move = about(0, j) > about(0, move) ? j : move;
  std::vector<double> next(values.points());
  for (std::size_t i = 0; i < next.size(); ++i) {
    // Any move is one; the best hardly changes from one point to the next.
    double most = about(i, move);
    for (double other; move < cells && (other = about(i, move + 1)) > most; ++move) most = other;
    for (double other; move > 0 && (other = about(i, move - 1)) > most; --move) most = other;
    const double* const hit = after(i, move);
    const Lower worth = Lower{Exact{masses.hit[move]}} * Lower{Exact{hit[0]}} + Lower{Exact{masses.miss[move]}} * Lower{Exact{hit[cells]}};
    next[i] = std::max(0.0, worth.value());
  }
  values.take(next);
}

}  // namespace

ChoicesInOrder::ChoicesInOrder(const ChoiceCounts& counts, double reach, std::size_t points) {
  const double largest = counts.rbegin()->first;
  const double cells = std::ceil(largest / reach * static_cast<double>(points));
  const OrderedSteps steps = best_ordered_steps(counts, std::max<std::size_t>(2, size_of(cells)));
  const std::size_t margin = steps.choices.back().cells;
  MirroredValues values{margin, std::max(size_of(std::ceil(reach / steps.step)), margin) + 1, steps.step, margin};
  // The last choice first.
  for (auto kind = steps.choices.rbegin(); kind != steps.choices.rend(); ++kind) {
    const OrderedMasses masses{kind->cells, steps.step};
    for (std::uint64_t i = 0; i < kind->count; ++i) {
      poll_limit();
      choose(values, kind->cells, masses);
    }
  }
  curve_ = {steps.step, values.from_zero()};
}
// Proved so far.

}  // namespace surety::accounting
