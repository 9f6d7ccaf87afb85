#include <surety/accounting/laws/pairs/maximum_profile.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <surety/base/numbers/ball.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/text/error.h>

namespace surety::accounting {
namespace {

using Library = LibraryError<long double>;

/// An upper bound on the curve of one law, at any epsilon.
class Curve {
 public:
  Curve(const LossLaw& law, const LossCells& found, double step) : step_{step} {
    anchor = found.anchor;
    // Of its units one is for the sum that it is part of.
    infinite = LongUpper::within(static_cast<long double>(law.infinite_mass) + found.cut_above, 2).value();
    if (found.cells.empty()) return;
    const auto first_index = found.cells.front().index;
    const auto size = static_cast<std::size_t>(found.cells.back().index - first_index) + 2;
    least = static_cast<long double>(found.anchor) + static_cast<long double>(first_index) * step_;
    largest = least + static_cast<long double>(size) * step_;
    // The losses of all cells are raised by what they, and the positions computed here, may be wrong by.
    least += static_cast<long double>(found.loss_error) + LongBall::within(std::abs(least) + std::abs(largest) + step_, 8).radius();
    std::vector<long double> masses(size, 0.0L);
    const long double width = -std::expm1(-step_);
    // In units: what is multiplied, and four roundings more; of a share also that of its width.
    constexpr long double rounding_of_mass = share_of_units(Library::exp + 3);
    constexpr long double rounding_of_share = share_of_units(Library::expm1 + 3);
    constexpr long double rounding_of_rest = share_of_units(2.0L);
    PollNowAndThen poll;
    for (const auto& cell : found.cells) {
      poll();
      const long double mass = static_cast<long double>(cell.mass) * std::exp(static_cast<long double>(cell.log_scale)) *
                               (1 + static_cast<long double>(cell.mass_error) + rounding_of_mass);
      const long double share = (static_cast<long double>(cell.excess) + static_cast<long double>(cell.excess_error) +
                                 2 * static_cast<long double>(found.loss_error)) /
                                width;
      const long double right = std::clamp(share * (1 + rounding_of_share), 0.0L, 1.0L);
      const auto at = static_cast<std::size_t>(cell.index - first_index);
      masses[at] += mass * (1 - right) * (1 + rounding_of_rest);
      masses[at + 1] += mass * right;
    }
    masses[0] += found.cut_below;
    // B = sum of m_i e^-(l_i - x) and D = sum of m_i (1 - e^-(l_i - x)) over the losses from x on.
    plain_.resize(size);
    curve_.resize(size);
    const long double keep = std::exp(-step_);
    long double b = 0;
    long double d = 0;
    for (std::size_t j = size; j-- > 0;) {
      poll();
      d += width * b;
      b = masses[j] + keep * b;
      plain_[j] = b;
      curve_[j] = d;
    }
    // Each step multiplies by an exponential and rounds a product and a sum; the width and what is between two entries come once.
    relative_ = 1 + share_of_units((Library::exp + 2) * static_cast<long double>(size) + 2 * Library::expm1 + 8);
  }

  long double anchor = 0;
  long double infinite = 0;
  long double least = 0;
  long double largest = 0;

  [[nodiscard]] long double operator()(long double epsilon) const {
    if (plain_.empty()) return infinite;
    const auto j = static_cast<long double>(std::ceil((epsilon - least) / step_));
    if (j >= static_cast<long double>(plain_.size())) return infinite;
    const auto at = size_of(std::max(0.0L, j));
    const long double below = std::max(0.0L, least + static_cast<long double>(at) * step_ - epsilon);
    return infinite + (curve_[at] - std::expm1(-below) * plain_[at]) * relative_;
  }

 private:
  long double step_;
  long double relative_ = 1;
  std::vector<long double> plain_;
  std::vector<long double> curve_;
};

// A polygon in y = e^epsilon through bounds from above on a convex curve lies above the curve, whichever of them it joins. It starts
// at (0, 1), all mass, and is level after the last one. P-mass at a corner is y times the change of slope there.
class Polygon {
 public:
  explicit Polygon(long double step) : step_{step} {}

  /// The next bound, further on: corners that lie above what joins their neighbours go.
  void add(std::int64_t index, long double delta) {
    const Corner next{index, delta};
    while (!corners_.empty() && slope_before(corners_.size() - 1) >= slope_to(corners_.size() - 1, next)) corners_.pop_back();
    corners_.push_back(next);
  }

  /// The mass at each corner that has some.
  [[nodiscard]] std::vector<LossCell> cells() const {
    std::vector<LossCell> found;
    for (std::size_t j = 0; j < corners_.size(); ++j) {
      const long double before = slope_before(j);
      const bool is_last = j + 1 == corners_.size();
      const long double after = is_last ? 0 : slope_to(j, corners_[j + 1]);
      const long double rounding_of_rise = rounding_of_slope + share_of_units(is_last ? 0 : distance_to(j, corners_[j + 1]));
      const long double mass = after - before + (std::abs(before) * rounding_of_slope + std::abs(after) * rounding_of_rise);
      if (!(mass > 0)) continue;
      if (mass > 1e-290L) {
        found.push_back({corners_[j].index, 0, static_cast<double>(mass), share_of_units(1.0), 0, 0});
      } else {
        const auto log_mass = static_cast<double>(std::log(mass));
        found.push_back({corners_[j].index, log_mass, 1, share_of_units(1 + std::abs(log_mass)), 0, 0});
      }
    }
    return found;
  }

 private:
  struct Corner {
    std::int64_t index;
    long double delta;
  };
  // A slope is a difference over e^x - 1, whose units they are, with one each for x, the difference and the quotient. Where it rises to the next
  // corner it has as many more as x, which is rounded.
  static constexpr long double rounding_of_slope = share_of_units(Library::expm1 + 4);

  [[nodiscard]] long double distance_to(std::size_t j, const Corner& next) const {
    return step_ * static_cast<long double>(next.index - corners_[j].index);
  }
  /// Times y of the corner.
  [[nodiscard]] long double slope_before(std::size_t j) const {
    if (j == 0) return corners_[0].delta - 1;
    const std::int64_t steps = corners_[j].index - corners_[j - 1].index;
    return (corners_[j].delta - corners_[j - 1].delta) / (steps == 1 ? next_down_ : -std::expm1(-step_ * static_cast<long double>(steps)));
  }
  [[nodiscard]] long double slope_to(std::size_t j, const Corner& next) const {
    const bool is_next = next.index == corners_[j].index + 1;
    return (next.delta - corners_[j].delta) / (is_next ? next_up_ : std::expm1(distance_to(j, next)));
  }

  long double step_;
  // Most corners are neighbours on the grid.
  long double next_up_ = std::expm1(step_);
  long double next_down_ = -std::expm1(-step_);
  std::vector<Corner> corners_;
};

}  // namespace

LossCells maximum_cells(const std::vector<LossLaw>& laws, double step, const Cut& cut, const CellsOf& cells_of) {
  const StandardFloatingPoint environment;
  std::vector<Curve> curves;
  for (const auto& law : laws) curves.emplace_back(law, cells_of(law, step, cut), step);
  LossCells found{{}, 0, step, 0, 0, 0};
  long double least = curves.front().least;
  long double largest = curves.front().largest;
  long double infinite = 0;
  for (const auto& curve : curves) {
    if (found.anchor == 0) found.anchor = static_cast<double>(curve.anchor);  // isolated atoms on grid points, where there are any
    least = std::min(least, curve.least);
    largest = std::max(largest, curve.largest);
    infinite = std::max(infinite, curve.infinite);
  }
  found.cut_above = infinite;
  const long double h = step;
  if (!(std::abs(least) / h < 0x1p52L && std::abs(largest) / h < 0x1p52L)) {
    throw Error{ErrorCode::unsupported, "privacy-loss: the losses of parallel parts are out of range"};
  }
  const auto first = checked_cast<std::int64_t>(std::floor((least - static_cast<long double>(found.anchor)) / h));
  const auto last = checked_cast<std::int64_t>(std::ceil((largest - static_cast<long double>(found.anchor)) / h));
  Polygon polygon{h};
  PollNowAndThen poll;
  for (std::int64_t k = first; k <= last; ++k) {
    poll();
    const long double x = static_cast<long double>(found.anchor) + static_cast<long double>(k) * h;
    long double delta = infinite;
    for (const auto& curve : curves) delta = std::max(delta, curve(x));
    polygon.add(k, std::min(delta, 1.0L));
  }
  found.cells = polygon.cells();
  return found;
}

}  // namespace surety::accounting
