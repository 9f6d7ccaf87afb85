#include <surety/accounting/laws/finite/finite_law.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <surety/accounting/events/points.h>
#include <surety/accounting/laws/finite/polygon_law.h>
#include <surety/base/numbers/ball.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::laws {
namespace {

/// Masses that are smaller have no relative error in double.
constexpr long double least_mass = 1e-290L;

/// What is given, scaled to a sum of 1 as docs/proofs/given.md#law says.
struct Given {
  std::map<double, LongBall> p;  ///< by finite loss
  LongBall infinite = 0;
  LongBall sum_p = 0;
  LongBall sum_q = 0;
  bool has_rest = false;  ///< Q has mass where P has none

  explicit Given(const LawAtoms& atoms) {
    for (const auto& [loss, mass] : atoms.all()) {
      if (mass == 0) continue;
      const LongBall ball{LongExact{mass}};
      sum_p += ball;
      if (loss == std::numeric_limits<double>::infinity()) {
        infinite += ball;
      } else {
        const auto [place, is_new] = p.try_emplace(loss, ball);
        if (!is_new) place->second += ball;
      }
    }
    for (const auto& [loss, mass] : p) sum_q += q(loss, mass);
    has_rest = sum_q.value() < 1 - static_cast<long double>(mass_tolerance);
  }
  [[nodiscard]] static LongBall q(double loss, LongBall mass) { return mass * exp(LongBall{LongExact{-static_cast<long double>(loss)}}); }
  /// By how much scaling moves a loss.
  [[nodiscard]] LongBall shift() const { return has_rest ? -log(sum_p) : log(sum_q) - log(sum_p); }
  /// At least the size of that.
  [[nodiscard]] double moved() const {
    const auto size = [](LongBall sum) {
      const LongBall found = log(sum);
      return LongUpper{LongExact{std::abs(found.value())}} + LongExact{found.radius()};
    };
    LongUpper all = size(sum_p);
    if (!has_rest) all += size(sum_q);
    return shortened(all).value();
  }
};

// Proved: docs/proofs/given.md#orders
/// The curves of both orders from epsilon 0 on, each a sum of max(0, 1 - e^(x - at)) mass over the outcomes of losses above 0, and what is at infinite
/// loss. Losses are rounded to doubles, up or down as `direction` is +1 or -1, so that both curves are linear in e^x between corners.
class CurvesOfOrders {
 public:
  CurvesOfOrders(const LawAtoms& atoms, int direction) : direction_{direction} {
    const Given given{atoms};
    const LongBall shift = given.shift();
    double largest = 0;
    for (const auto& [loss, mass] : given.p) largest = std::max(largest, std::abs(loss));
    blur_ = 4 * given.moved();
    least_ = blur_ + near * largest;
    for (const auto& [loss, mass] : given.p) {
      const LongBall moved = LongBall{LongExact{loss}} + shift;
      const LongBall q = Given::q(loss, mass);
      add(orders_[0], moved, mass / given.sum_p);
      add(orders_[1], -moved, given.has_rest ? q : q / given.sum_q);
    }
    if (given.infinite.value() > 0) orders_[0].infinite = given.infinite / given.sum_p;
    if (given.has_rest) orders_[1].infinite = 1 - given.sum_q;
    put_corners();
    for (auto& order : orders_) put_values(order);
  }

  /// Corners of a convex curve that lies on or above the larger of both, or below it.
  [[nodiscard]] std::vector<Corner> larger() const {
    std::vector<long double> values(corners_.size());
    for (std::size_t j = 0; j < corners_.size(); ++j) values[j] = std::max(value(0, j), value(1, j));
    std::vector<std::optional<Corner>> crossings(corners_.size());
    for (std::size_t j = 0; j + 1 < corners_.size(); ++j) {
      if (!changes(j)) continue;
      crossings[j] = crossing(j);
      if (crossings[j] || direction_ > 0) continue;
      // From below a line may not pass over the place where the curves cross: next to a corner where they meet, or next to either.
      const bool is_at_one = meet(j) || meet(j + 1);
      for (const std::size_t end : {j, j + 1}) {
        if (meet(end) || !is_at_one) values[end] = std::min(value(0, end), value(1, end));
      }
    }
    std::vector<Corner> found;
    for (std::size_t j = 0; j < corners_.size(); ++j) {
      const bool is_end = j == 0 || j + 1 == corners_.size();
      // Of a convex curve any corners may be left out from above.
      const bool is_near_the_first = direction_ > 0 && corners_[j] <= least_;
      if (is_end || (!is_near_the_first && (is_corner(0, j) || is_corner(1, j)))) found.push_back({corners_[j], values[j]});
      if (crossings[j]) found.push_back(*crossings[j]);
    }
    return found;
  }
  /// Points of a curve on or below the smaller of both.
  [[nodiscard]] std::vector<Corner> smaller() const {
    std::vector<Corner> found;
    for (std::size_t j = 0; j < corners_.size(); ++j) found.push_back({corners_[j], std::min(value(0, j), value(1, j))});
    return found;
  }

 private:
  struct Order {
    std::vector<std::pair<double, LongBall>> outcomes;  ///< of losses above 0
    LongBall infinite = 0;
    std::vector<LongBall> masses;  ///< by corner
    std::vector<LongBall> falls;   ///< of the curve between a corner and the next one, in units of e^-x at the latter
    std::vector<LongBall> values;  ///< by corner
  };
  /// What rounding may move, as a share: corners that are so near, or as near as scaling moves them, are one, and curves are one.
  static constexpr double near = 1e-14;

  void add(Order& order, LongBall loss, LongBall mass) const {
    const double at = direction_ > 0 ? shortened(loss.upper()).value() : shortened(loss.lower()).value();
    // From below what shows next to nothing shows nothing.
    if (at > (direction_ > 0 ? 0 : least_) && mass.value() > 0) order.outcomes.emplace_back(at, mass);
  }

  /// 0 and the losses; of those that are near each other the outermost for all.
  void put_corners() {
    std::vector<double> losses;
    for (const auto& order : orders_) {
      for (const auto& [at, mass] : order.outcomes) losses.push_back(at);
    }
    std::sort(losses.begin(), losses.end());
    corners_ = {0};
    std::map<double, std::size_t> places;
    for (std::size_t i = 0; i < losses.size();) {
      std::size_t end = i;
      while (end < losses.size() && losses[end] - losses[i] <= blur_ + near * losses[i]) places[losses[end++]] = corners_.size();
      corners_.push_back(direction_ > 0 ? losses[end - 1] : losses[i]);
      i = end;
    }
    for (auto& order : orders_) {
      order.masses.assign(corners_.size(), LongBall{0});
      for (const auto& [at, mass] : order.outcomes) order.masses[places.at(at)] += mass;
    }
  }

  /// Sums of what is not negative, from the largest loss down.
  void put_values(Order& order) const {
    const std::size_t last = corners_.size() - 1;
    order.values.assign(corners_.size(), order.infinite);
    order.falls.assign(corners_.size(), LongBall{0});
    LongBall fall = 0;
    for (std::size_t j = last; j > 0; --j) {
      const LongBall apart = LongBall{LongExact{corners_[j - 1]}} - LongBall{LongExact{corners_[j]}};
      fall += order.masses[j];
      order.falls[j - 1] = fall;
      order.values[j - 1] = order.values[j] + fall * -expm1(apart);
      fall = fall * exp(apart);
    }
  }

  [[nodiscard]] long double bound(LongBall ball) const {
    if (ball.value() == 0 && ball.radius() == 0) return 0;
    return direction_ > 0 ? std::min(ball.upper().value(), 1.0L) : std::max(ball.lower().value(), 0.0L);
  }
  [[nodiscard]] long double value(std::size_t order, std::size_t j) const { return bound(orders_[order].values[j]); }
  [[nodiscard]] long double more(std::size_t j) const { return value(0, j) - value(1, j); }
  /// Whether another curve is the larger one at the next corner.
  [[nodiscard]] bool changes(std::size_t j) const { return (more(j) > 0 && more(j + 1) < 0) || (more(j) < 0 && more(j + 1) > 0); }

  /// Whether both are one there, but for rounding.
  [[nodiscard]] bool meet(std::size_t j) const {
    return std::abs(more(j)) <= static_cast<long double>(near) * std::max(value(0, j), value(1, j));
  }

  /// Where the curves cross between this corner and the next; nothing where that is next to one of them.
  [[nodiscard]] std::optional<Corner> crossing(std::size_t j) const {
    if (meet(j) || meet(j + 1)) return std::nullopt;
    const long double share = more(j) / (more(j) - more(j + 1));
    const long double apart = static_cast<long double>(corners_[j]) - static_cast<long double>(corners_[j + 1]);
    const auto x = static_cast<double>(static_cast<long double>(corners_[j + 1]) + std::log(share + (1 - share) * std::exp(apart)));
    if (!(x > corners_[j] && x < corners_[j + 1])) return std::nullopt;
    const LongBall back = LongBall{LongExact{x}} - LongBall{LongExact{corners_[j + 1]}};
    const auto at = [&](const Order& order) { return bound(order.values[j + 1] + order.falls[j] * -expm1(back)); };
    // Below both lines from below: so is what joins it to either side.
    const long double one = at(orders_[0]);
    const long double other = at(orders_[1]);
    return Corner{x, direction_ > 0 ? std::max(one, other) : std::min(one, other)};
  }

  /// Whether the larger curve has a corner there.
  [[nodiscard]] bool is_corner(std::size_t order, std::size_t j) const {
    return orders_[order].masses[j].value() > 0 && value(order, j) >= value(1 - order, j) * (1 - static_cast<long double>(near));
  }

  int direction_;
  double blur_ = 0;
  double least_ = 0;
  std::array<Order, 2> orders_;
  std::vector<double> corners_;  ///< rising from 0
};

LossLaw law_of_corners(std::vector<Corner> corners, int direction) {
  // A corner at 0 that rounding makes is none: a line from the first loss to its mirror image lies above a convex curve.
  if (constexpr long double rounding = 1e-15L; direction > 0 && corners.size() > 1) {
    const long double unmoved =
        1 - corners[0].value + 2 * (corners[1].value - corners[0].value) / std::expm1(static_cast<long double>(corners[1].loss));
    if (unmoved < rounding) corners.erase(corners.begin());
  }
  const long double infinite = corners.back().value;
  LossLaw law = polygon_law(corners, direction);
  if (!(infinite > 0)) return law;
  return with_infinite(std::move(law), direction > 0 ? infinite : static_cast<long double>(round_down(infinite)), direction);
}
// Proved so far.

}  // namespace

LossLaw larger_of_orders(const LawAtoms& atoms, int direction) {
  const StandardFloatingPoint environment;
  return law_of_corners(CurvesOfOrders{atoms, direction}.larger(), direction);
}

bool equals_its_reverse(const LawAtoms& atoms) {
  constexpr double rounding = 1e-9;
  const auto near = [](double a, double b) { return std::abs(a - b) <= rounding * std::abs(a); };
  const LossLaw one = finite_law(atoms, false, +1);
  const LossLaw other = finite_law(atoms, true, +1);
  const auto& a = std::get<AtomsBase>(one.base).atoms;
  const auto& b = std::get<AtomsBase>(other.base).atoms;
  return near(one.infinite_mass, other.infinite_mass) &&
         std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](const auto& x, const auto& y) { return near(x.loss, y.loss) && near(x.mass, y.mass); });
}

std::optional<LossLaw> either_without_finite_losses(const LawAtoms& atoms) {
  const LossLaw one = finite_law(atoms, false, +1);
  const LossLaw other = finite_law(atoms, true, +1);
  for (const auto* law : {&one, &other}) {
    for (const auto& atom : std::get<AtomsBase>(law->base).atoms) {
      if (atom.loss != 0) return std::nullopt;
    }
  }
  return one.infinite_mass >= other.infinite_mass ? one : other;
}

LossLaw smaller_of_orders(const LawAtoms& atoms) {
  const StandardFloatingPoint environment;
  return law_of_corners(CurvesOfOrders{atoms, -1}.smaller(), -1);
}

bool has_finite_losses(const LawAtoms& atoms) {
  const StandardFloatingPoint environment;
  const Given given{atoms};
  return given.infinite.value() == 0 && !given.has_rest;
}

LossLaw finite_law(const LawAtoms& atoms, bool reversed, int direction) {
  const StandardFloatingPoint environment;
  const Given given{atoms};
  // Shares of the first law of the pair that is made: P, or Q.
  std::vector<std::pair<double, LongBall>> shares;
  LongBall infinite = 0;
  if (reversed) {
    for (const auto& [loss, mass] : given.p) {
      const LongBall q = Given::q(loss, mass);
      shares.emplace_back(-loss, given.has_rest ? q : q / given.sum_q);
    }
    std::reverse(shares.begin(), shares.end());
    if (given.has_rest) infinite = 1 - given.sum_q;
  } else {
    for (const auto& [loss, mass] : given.p) shares.emplace_back(loss, mass / given.sum_p);
    infinite = given.infinite / given.sum_p;
  }
  if (direction > 0) {
    for (const auto& [loss, share] : shares) {
      if (share.value() < least_mass) infinite += share;
    }
  }
  std::erase_if(shares, [](const auto& one) { return one.second.value() < least_mass; });
  LossLaw law{AtomsBase{{}, given.moved(), 0, false}};
  if (infinite.value() > 0) {
    law.infinite_mass = direction > 0 ? std::min(shortened(infinite.upper()).value(), std::nextafter(1.0, 0.0))
                                      : std::max(shortened(infinite.lower()).value(), 0.0);
  }
  // Masses are given as shares of what is finite.
  const LongBall finite = 1 - LongBall{LongExact{law.infinite_mass}};
  auto& base = std::get<AtomsBase>(law.base);
  base.atoms.reserve(shares.size());
  for (const auto& [loss, share] : shares) {
    const Ball mass = shortened(share / finite);
    base.atoms.push_back({loss, mass.value()});
    base.mass_error = std::max(base.mass_error, mass.share());
  }
  return law;
}

}  // namespace surety::accounting::laws
