#include <surety/accounting/laws/cells/tilted_law.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <surety/accounting/laws/losses/pieces.h>
#include <surety/base/numbers/ball.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting {
namespace {

// Proved: docs/proofs/pld.md#cells
/// What a sum of weights may lose to underflow.
constexpr double tiny = 1e-300;

/// Divides the weights by their sum and keeps that in log_scale; `direction` +1 rounds up and -1 down.
void normalise(TiltedLaw& law, double log_scale, int direction) {
  double sum = 0;
  for (const double w : law.weights) sum += w;
  if (sum == 0) {
    law.log_scale = log_scale;
    return;
  }
  if (!(sum < infinity)) laws::refuse_range();
  const double shift = std::log(sum);
  law.log_scale = log_scale + shift;
  // The logarithm is within 2.5 units; the sum of both is rounded, and so are three operations on a weight.
  const double factor = (1 + direction * share_of_units(4 + std::abs(log_scale) + 3 * std::abs(shift))) / sum;
  for (double& w : law.weights) w *= factor;
}

/// Relative error of mass * exp(log_scale + s l - shift) over the exact mass, tilted, and of a few operations on that. The tilt s l has a rounded
/// sum of the anchor and a rounded product.
double weight_error(const LossCell& cell, double tilt, double anchor_tilt, double shift) {
  const double size = std::abs(cell.log_scale) + std::abs(tilt) + std::abs(shift);
  return cell.mass_error + share_of_units(12 + 2 * size + std::abs(anchor_tilt));
}

class Merger {
 public:
  Merger(const LossCells& law, const TiltedGrid& grid, double shift) : law_{law}, grid_{grid} {
    PollNowAndThen poll;
    for (const auto& cell : law.cells) {
      poll();
      const double tilt = grid.s * (law.anchor + static_cast<double>(cell.index) * grid.step);
      const double weight =
          cell.mass * std::exp(cell.log_scale + tilt - shift) * (1 - weight_error(cell, tilt, grid.s * law.anchor, shift));
      // A loss that may lie far below its cell, for it has no digits there, is left out, which only lowers the law.
      const double excess = cell.excess - cell.excess_error;
      if (weight > 0 && excess > lowest_excess) pieces_.push_back({cell.index, weight, excess});
    }
  }

  TiltedLaw merge(double shift) {
    TiltedLaw out;
    if (pieces_.empty()) return out;
    choose_offset();
    for (int n = 0; n < table_size; ++n) {
      const double x = offset_ + (n - table_size / 2) * grid_.step;
      tilts_[static_cast<std::size_t>(n)] = std::exp(grid_.s * x);
      shifts_[static_cast<std::size_t>(n)] = std::expm1(x);
    }
    out.first = pieces_.front().index - 2;
    out.weights.assign(static_cast<std::size_t>(pieces_.back().index - out.first) + 4, 0.0);
    out.base = static_cast<long double>(law_.anchor) + static_cast<long double>(offset_);
    const double fall = exp(-(Upper{Exact{grid_.s}} * Exact{grid_.step})).value();
    PollNowAndThen poll;
    for (std::size_t j = 0; j < pieces_.size();) {
      poll();
      j = place_from(out, j, fall);
    }
    normalise(out, shift, -1);
    return out;
  }

 private:
  struct Piece {
    std::int64_t index;
    double weight;
    double excess;
  };
  static constexpr int table_size = 16;
  static constexpr double lowest_excess = -1;  // log 2 below the grid point

  /// Places piece j and what it takes along: all below one grid point are raised to it, for which pieces above it pay, or all go down a step, at the factor
  /// `fall`. Returns the first piece that is left.
  [[nodiscard]] std::size_t place_from(TiltedLaw& out, std::size_t j, double fall) {
    const Piece& piece = pieces_[j];
    // The first grid point above the piece, unless one lies below it by next to nothing.
    std::int64_t k = piece.index + checked_cast<std::int64_t>(std::floor((piece.excess - offset_) / grid_.step));
    double above = lift(piece, k);
    double below = above;
    if (above > 0) {
      for (; (below = lift(piece, k + 1)) > 0; ++k) above = below;
    } else {
      above = lift(piece, --k);
    }
    if (above > 0 && above < 1e-5 * grid_.step) {
      place(out, k, tilted(piece, k));
      return j + 1;
    }
    ++k;
    double need = 0;
    double mass = 0;
    const std::size_t before = j;
    do {
      const double weight = tilted(pieces_[j], k);
      need -= weight * below;
      mass += weight;
      ++j;
    } while (j < pieces_.size() && !((below = lift(pieces_[j], k)) > 0));
    // Of so many products that are not negative, each of one unit.
    need *= 1 + share_of_units(static_cast<double>(j - before + 2));
    while (need > 0 && j < pieces_.size()) {
      Piece& next = pieces_[j];
      // A partner across a gap costs more than going down one step.
      if (next.index - k > 2 && static_cast<double>(next.index - k) * grid_.step * (grid_.s + 1) > 2) break;
      const double weight = tilted(next, k);
      const double gain = lift(next, k);
      if (gain < 1e-4 * grid_.step) {
        // On the grid point itself: no partner, it would only be dragged down with the rest.
        place(out, k, weight);
        ++j;
        continue;
      }
      const double each = weight * gain;
      if (each > need) {
        const double share = std::min(1.0, need / each * (1 + share_of_units(4.0)));
        mass += weight * share * (1 - share_of_units(2.0));
        next.weight *= (1 - share) * (1 - share_of_units(2.0));
        need = 0;
      } else {
        mass += weight;
        need = (need - each) + share_of_units(4.0) * need;
        ++j;
      }
    }
    // A sum of at most so many weights, one more of which is shared.
    mass *= 1 - share_of_units(static_cast<double>(j - before + 2));
    if (need > 0) {
      place(out, k - 1, mass * fall);
    } else {
      place(out, k, mass);
    }
    return j;
  }

  /// 1 - e^(grid point k) Q / P of the piece, rounded down: above 0 where its loss lies above the grid point.
  [[nodiscard]] double lift(const Piece& piece, std::int64_t k) const {
    const std::int64_t n = k - piece.index + table_size / 2;
    const double x = offset_ + static_cast<double>(k - piece.index) * grid_.step;
    const double e = n >= 0 && n < table_size ? shifts_[static_cast<std::size_t>(n)] : std::expm1(x);
    return piece.excess - e * (1 - piece.excess) - share_of_units(8 * (std::abs(e) + std::abs(x) + std::abs(piece.excess)));
  }
  [[nodiscard]] double tilted(const Piece& piece, std::int64_t k) const {
    const std::int64_t n = k - piece.index + table_size / 2;
    const double x = offset_ + static_cast<double>(k - piece.index) * grid_.step;
    const double factor = n >= 0 && n < table_size ? tilts_[static_cast<std::size_t>(n)] : std::exp(grid_.s * x);
    return piece.weight * factor * (1 - share_of_units(5 + 2 * std::abs(grid_.s * x)));
  }
  /// What falls outside the array is dropped, which only lowers the law.
  void place(TiltedLaw& out, std::int64_t k, double weight) const {
    if (k < out.first || k - out.first >= static_cast<std::int64_t>(out.weights.size())) return;
    out.weights[static_cast<std::size_t>(k - out.first)] += weight * (1 - share_of_units(2.0));  // one of at most three sums
  }

  /// Where grid points should lie within the cells: just above most merged losses, or on the atoms.
  void choose_offset() {
    double deepest = 0;
    double total = 0;
    for (const auto& piece : pieces_) {
      deepest = std::max(deepest, -piece.excess);
      total += piece.weight;
    }
    const std::size_t stride = pieces_.size() / 1000 + 1;
    double best = infinity;
    for (int n = 0; n <= 20; ++n) {
      const double candidate = n == 0 ? -2 * deepest - share_of_units(2 * grid_.step) : grid_.step * (0.5 + 0.5 * std::pow(0.67, n));
      double cost = 0;
      for (std::size_t j = 0; j < pieces_.size(); ++j) {
        const auto& piece = pieces_[j];
        const bool heavy = piece.weight > 0.01 * total;
        if (!heavy && j % stride != 0) continue;
        const double position = (piece.excess * (1 + 0.5 * piece.excess) - candidate) / grid_.step;
        const double fraction = position - std::floor(position);
        if (fraction < 1e-5) continue;
        const double gap = j + 1 < pieces_.size() ? static_cast<double>(pieces_[j + 1].index - piece.index) : 1e9;
        cost += (heavy ? 1.0 : static_cast<double>(stride)) * piece.weight *
                std::min((1 - fraction) * std::max(gap, 1.0), 2 / ((grid_.s + 1) * grid_.step));
      }
      if (cost < best) {
        best = cost;
        offset_ = candidate;
      }
    }
  }

  const LossCells& law_;
  TiltedGrid grid_;
  std::vector<Piece> pieces_;
  double offset_ = 0;
  std::array<double, table_size> tilts_{};
  std::array<double, table_size> shifts_{};
};

}  // namespace

double log_of_largest(const LossCells& law, const TiltedGrid& grid) {
  if (law.cells.empty()) return 0;
  double largest = -infinity;
  PollNowAndThen poll;
  for (const auto& cell : law.cells) {
    poll();
    largest = std::max(largest, cell.log_scale + std::log(cell.mass) + grid.s * (law.anchor + static_cast<double>(cell.index) * grid.step));
  }
  return largest;
}

TiltedLaw spread(const LossCells& law, const TiltedGrid& grid, double shift) {
  TiltedLaw out;
  if (law.cells.empty()) {
    out.weights = {0.0};
    return out;
  }
  out.first = law.cells.front().index;
  out.weights.assign(static_cast<std::size_t>(law.cells.back().index - out.first) + 2, 0.0);
  out.base = static_cast<long double>(law.anchor) + static_cast<long double>(law.loss_error);
  // Lowered by what a quotient by it is rounded, too.
  const double spread_width = Lower::within(-std::expm1(-grid.step), LibraryError<double>::expm1 + 4).value();
  const double up = exp(Upper{Exact{grid.s}} * Exact{grid.step}).value();
  const double raise = 2 * grid.s * law.loss_error;
  PollNowAndThen poll;
  for (const auto& cell : law.cells) {
    poll();
    const double tilt = grid.s * (law.anchor + static_cast<double>(cell.index) * grid.step);
    const double weight =
        cell.mass * std::exp(cell.log_scale + tilt - shift) * (1 + weight_error(cell, tilt, grid.s * law.anchor, shift) + raise);
    // Were losses of a cell above its upper end, the grid would not dominate them.
    if (!(cell.excess - cell.excess_error - 2 * law.loss_error <= spread_width + 1e-9)) laws::refuse_range();
    const double share = (cell.excess + cell.excess_error + 2 * law.loss_error) / spread_width;
    const double beta = std::clamp(share, 0.0, 1.0);
    const auto at = static_cast<std::size_t>(cell.index - out.first);
    out.weights[at] += weight * (1 - beta);
    out.weights[at + 1] += weight * beta * up;
  }
  if (law.cut_below > 0) {
    const Ball tilt = (Exact{law.anchor} + Ball{Exact{static_cast<double>(out.first)}} * Exact{grid.step}) * Exact{grid.s};
    const Upper log_below = shortened(log(LongUpper{LongExact{law.cut_below}})) + tilt.upper() - Exact{shift};
    out.weights[0] = (exp(log_below) * (Upper{1} + Exact{raise}) + Exact{out.weights[0]}).value();
  }
  normalise(out, shift, +1);
  return out;
}

TiltedLaw merge(const LossCells& law, const TiltedGrid& grid, double shift) { return Merger{law, grid, shift}.merge(shift); }

CountedLaw counted(const LossCells& law, const TiltedGrid& grid, double shift) {
  CountedLaw out;
  if (law.cells.empty()) {
    // No outcome is counted.
    out.hits.weights = out.misses.weights = {0.0};
    return out;
  }
  const std::int64_t first = law.cells.front().index;
  const auto size = static_cast<std::size_t>(law.cells.back().index - first) + 1;
  for (auto* one : {&out.hits, &out.misses}) {
    one->first = first;
    one->base = static_cast<long double>(law.anchor);
    one->weights.assign(size, 0.0);
  }
  const double grown = exp(Upper{Exact{law.loss_error}}).value();
  PollNowAndThen poll;
  for (const auto& cell : law.cells) {
    poll();
    const double tilt = grid.s * (law.anchor + static_cast<double>(cell.index) * grid.step);
    const double weight = cell.mass * std::exp(cell.log_scale + tilt - shift);
    const double error = weight_error(cell, tilt, grid.s * law.anchor, shift);
    const auto at = static_cast<std::size_t>(cell.index - first);
    out.hits.weights[at] += weight * (1 - error);
    // Q-mass is P-mass e^-l (1 - excess) at the cell's lower end l, which is the grid point within the loss error.
    const double missed = std::clamp(1 - cell.excess + cell.excess_error, 0.0, 1.0) * grown;
    out.misses.weights[at] += weight * (1 + error) * missed;
  }
  normalise(out.hits, shift, -1);
  normalise(out.misses, shift, +1);
  return out;
}

std::vector<double> convolved(const std::vector<double>& x, const std::vector<double>& y, int direction) {
  if (x.empty() || y.empty()) return {};
  if (x.size() > y.size()) return convolved(y, x, direction);
  std::vector<double> out(x.size() + y.size() - 1, 0.0);
  // One product and at most x.size() sums of non-negative terms for each entry.
  const double units = static_cast<double>(x.size()) / 2 + 2;
  const double factor = direction > 0 ? Upper::within(1, units).value() : Lower::within(1, units).value();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double weight = x[i] * factor;
    if (weight == 0) continue;
    poll_limit();
    for (std::size_t j = 0; j < y.size(); ++j) out[i + j] += weight * y[j];
  }
  return out;
}

double log_transform(const std::vector<double>& weights, double step, double a) {
  const double n = static_cast<double>(weights.size());
  const double top = a > 0 ? a * (n - 1) * step : 0;
  double sum = 0;
  constexpr std::size_t block = 64;
  const double factor = std::exp(a * step);
  PollNowAndThen poll;
  for (std::size_t i = 0; i < weights.size(); i += block) {
    poll();
    double part = 0;
    for (std::size_t j = std::min(weights.size(), i + block); j-- > i;) part = part * factor + weights[j];
    sum += part * std::exp(a * static_cast<double>(i) * step - top);
  }
  // Of a block's powers, each an exponential more, with a product and a sum; of its exponential, and the sum of blocks; of all their arguments.
  constexpr double units_of_block = block * (LibraryError<double>::exp + 1) + LibraryError<double>::exp + 2;
  const double units = units_of_block + n / block + 2 * std::abs(a) * (n * step + block * step * block);
  return (log(Upper{Exact{sum}} * Exact{1 + share_of_units(units)} + Exact{tiny}) + Exact{top}).value();
}

// Proved so far.
}  // namespace surety::accounting
