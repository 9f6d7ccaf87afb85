#include <surety/accounting/laws/cells/maximum_profile.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <variant>

#include <surety/base/numbers/ball.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/text/error.h>

namespace surety::accounting {
namespace {

using Library = LibraryError<long double>;

/// Masses of one law at the points of a grid, as an upper bound on its curve.
struct SpreadLaw {
  std::int64_t first = 0;  ///< index of masses[0]
  std::vector<long double> masses;
  long double loss_error = 0;  ///< all losses are to be raised by it
  long double anchor = 0;
  long double infinite = 0;

  [[nodiscard]] std::int64_t end() const { return first + static_cast<std::int64_t>(masses.size()); }
};

/// e^log_scale in double where that has all its digits, and what it errs by as a share.
struct Scale {
  long double value;
  long double error;
};
Scale scale_of(double log_scale) {
  constexpr double most_of_double = 600;
  if (std::abs(log_scale) > most_of_double) return {std::exp(static_cast<long double>(log_scale)), share_of_units(Library::exp)};
  return {std::exp(log_scale), share_of_units(LibraryError<double>::exp)};
}

SpreadLaw spread_law(const LossLaw& law, const LossCells& found, long double step) {
  SpreadLaw out;
  out.anchor = found.anchor;
  // Of its units one is for the sum that it is part of.
  out.infinite = LongUpper::within(static_cast<long double>(law.infinite_mass) + found.cut_above, 2).value();
  if (found.cells.empty()) return out;
  out.loss_error = found.loss_error;
  out.first = found.cells.front().index;
  out.masses.assign(size_of(static_cast<double>(found.cells.back().index - out.first)) + 2, 0.0L);
  const long double width = -std::expm1(-step);
  // In units: what is multiplied, and four roundings more; of a share also that of its width.
  constexpr long double rounding_of_mass = share_of_units(3.0L);
  constexpr long double rounding_of_share = share_of_units(Library::expm1 + 3);
  constexpr long double rounding_of_rest = share_of_units(2.0L);
  PollNowAndThen poll;
  for (const auto& cell : found.cells) {
    poll();
    const Scale scale = scale_of(cell.log_scale);
    const long double mass = static_cast<long double>(cell.mass) * scale.value *
                             (1 + static_cast<long double>(cell.mass_error) + scale.error + rounding_of_mass);
    const long double share = (static_cast<long double>(cell.excess) + static_cast<long double>(cell.excess_error) +
                               2 * static_cast<long double>(found.loss_error)) /
                              width;
    const long double right = std::clamp(share * (1 + rounding_of_share), 0.0L, 1.0L);
    const auto at = static_cast<std::size_t>(cell.index - out.first);
    out.masses[at] += mass * (1 - right) * (1 + rounding_of_rest);
    out.masses[at + 1] += mass * right;
  }
  out.masses[0] += found.cut_below;
  return out;
}

/// One of the laws that a law is made of, and its share.
struct Part {
  std::shared_ptr<const SpreadLaw> law;
  long double share;
};

/// The laws of a maximum, spread: public mixtures of Gaussian laws part by part, and a part that several of them have once.
class SpreadLaws {
 public:
  SpreadLaws(const std::vector<LossLaw>& laws, double step, const Cut& cut, const CellsOf& cells_of)
      : step_{step}, cut_{cut}, cells_of_{cells_of}, is_shared_{std::any_of(laws.begin(), laws.end(), is_mixture)} {}

  [[nodiscard]] std::vector<Part> parts(const LossLaw& law) {
    if (!is_mixture(law)) return {{is_shared_ && is_plain(law) ? kept(law) : spread(law), 1}};
    const auto* mixture = std::get_if<PublicMixtureBase>(&law.base);
    std::vector<Part> found;
    for (std::size_t i = 0; i < mixture->laws->size(); ++i) {
      if (mixture->weights[i] == 0) continue;
      const LongUpper share = LongUpper{LongExact{mixture->weights[i]}} * (LongUpper{1} + LongExact{mixture->weight_error});
      found.push_back({kept((*mixture->laws)[i]), share.value()});
    }
    return found;
  }

 private:
  struct Known {
    double multiplier;
    Mixing mixing;
    double rate;

    friend bool operator==(const Known&, const Known&) = default;
  };

  static bool is_plain(const LossLaw& law) { return std::holds_alternative<GaussianBase>(law.base) && law.infinite_mass == 0; }
  static bool is_mixture(const LossLaw& law) {
    const auto* mixture = std::get_if<PublicMixtureBase>(&law.base);
    return mixture != nullptr && law.infinite_mass == 0 && std::all_of(mixture->laws->begin(), mixture->laws->end(), is_plain);
  }
  [[nodiscard]] std::shared_ptr<const SpreadLaw> spread(const LossLaw& law) const {
    return std::make_shared<const SpreadLaw>(spread_law(law, cells_of_(law, step_, cut_), step_));
  }
  [[nodiscard]] std::shared_ptr<const SpreadLaw> kept(const LossLaw& law) {
    const Known known{std::get<GaussianBase>(law.base).multiplier, law.mixing, law.rate};
    for (const auto& [other, found] : kept_) {
      if (other == known) return found;
    }
    return kept_.emplace_back(known, spread(law)).second;
  }

  double step_;
  Cut cut_;
  const CellsOf& cells_of_;
  bool is_shared_;  ///< a law may be part of several
  std::vector<std::pair<Known, std::shared_ptr<const SpreadLaw>>> kept_;
};

/// An upper bound on the curve of one law, at any epsilon.
class Curve {
 public:
  /// \pre parts is not empty; several are laws without atoms, whose grids are one.
  Curve(const std::vector<Part>& parts, double step) : step_{step} {
    anchor = parts.front().law->anchor;
    long double loss_error = 0;
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t end = std::numeric_limits<std::int64_t>::min();
    for (const auto& [law, share] : parts) {
      infinite = std::max(infinite, law->infinite);
      if (law->masses.empty()) continue;
      if (law->anchor != anchor) throw Error{ErrorCode::internal, "maximum_cells: parts of a mixture lie on different grids"};
      first = std::min(first, law->first);
      end = std::max(end, law->end());
      loss_error = std::max(loss_error, law->loss_error);
    }
    if (end <= first) return;
    const auto size = static_cast<std::size_t>(end - first);
    least = anchor + static_cast<long double>(first) * step_;
    largest = least + static_cast<long double>(size) * step_;
    // The losses of all cells are raised by what they, and the positions computed here, may be wrong by.
    least += loss_error + LongBall::within(std::abs(least) + std::abs(largest) + step_, 8).radius();
    accumulate(parts, first, size);
  }

  long double anchor = 0;
  long double infinite = 0;
  long double least = 0;
  long double largest = 0;

  /// At grid point k of a grid with this anchor.
  [[nodiscard]] long double operator()(std::int64_t k) const {
    if (plain_.empty()) return infinite;
    const std::int64_t at = k - zero_;
    if (at >= static_cast<std::int64_t>(plain_.size())) return infinite;
    if (at < 0) {
      const long double below = least - (grid_anchor_ + static_cast<long double>(k) * step_);
      return infinite + (curve_[0] - std::expm1(-std::max(0.0L, below)) * plain_[0]) * relative_;
    }
    const auto j = static_cast<std::size_t>(at);
    return infinite + (curve_[j] + gained_ * plain_[j]) * relative_;
  }
  /// Chooses the grid: every one of its points lies as far below an entry as the first one does.
  void lay_on(double grid_anchor) {
    if (plain_.empty()) return;
    grid_anchor_ = grid_anchor;
    const long double near = std::floor((least - grid_anchor_) / step_);
    const long double at = grid_anchor_ + near * step_;
    const long double j = std::ceil((at - least) / step_);
    zero_ = checked_cast<std::int64_t>(static_cast<double>(near - j));
    gained_ = -std::expm1(-std::max(0.0L, least + j * step_ - at));
  }

 private:
  void accumulate(const std::vector<Part>& parts, std::int64_t first, std::size_t size) {
    // B = sum of m_i e^-(l_i - x) and D = sum of m_i (1 - e^-(l_i - x)) over the losses from x on.
    plain_.assign(size, 0.0L);
    for (const auto& [law, share] : parts) {
      const auto shift = static_cast<std::size_t>(law->first - first);
      for (std::size_t i = 0; i < law->masses.size(); ++i) plain_[shift + i] += share * law->masses[i];
    }
    curve_.resize(size);
    const long double width = -std::expm1(-step_);
    const long double keep = std::exp(-step_);
    long double b = 0;
    long double d = 0;
    PollNowAndThen poll;
    for (std::size_t j = size; j-- > 0;) {
      poll();
      d += width * b;
      b = plain_[j] + keep * b;
      plain_[j] = b;
      curve_[j] = d;
    }
    // Each step multiplies by an exponential and rounds a product and a sum; the width and what is between two entries come once, and each part is
    // multiplied by its share and added.
    relative_ = 1 + share_of_units((Library::exp + 2) * static_cast<long double>(size) + 2 * Library::expm1 + 8 +
                                   2 * static_cast<long double>(parts.size()));
  }

  long double step_;
  long double relative_ = 1;
  long double grid_anchor_ = 0;
  std::int64_t zero_ = 0;   ///< the grid point just below the first entry
  long double gained_ = 0;  ///< 1 - e^-distance to the entry above
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
        found.push_back({.index = corners_[j].index,
                         .log_scale = 0,
                         .mass = static_cast<double>(mass),
                         .mass_error = share_of_units(1.0),
                         .excess = 0,
                         .excess_error = 0});
      } else {
        const auto log_mass = static_cast<double>(std::log(mass));
        found.push_back({.index = corners_[j].index,
                         .log_scale = log_mass,
                         .mass = 1,
                         .mass_error = share_of_units(1 + std::abs(log_mass)),
                         .excess = 0,
                         .excess_error = 0});
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
  SpreadLaws spread{laws, step, cut, cells_of};
  std::vector<Curve> curves;
  for (const auto& law : laws) curves.emplace_back(spread.parts(law), step);
  LossCells found{.cells = {}, .anchor = 0, .step = step, .loss_error = 0, .cut_above = 0, .cut_below = 0};
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
  for (auto& curve : curves) curve.lay_on(found.anchor);
  Polygon polygon{h};
  PollNowAndThen poll;
  for (std::int64_t k = first; k <= last; ++k) {
    poll();
    long double delta = infinite;
    for (const auto& curve : curves) delta = std::max(delta, curve(k));
    polygon.add(k, std::min(delta, 1.0L));
  }
  found.cells = polygon.cells();
  return found;
}

}  // namespace surety::accounting
