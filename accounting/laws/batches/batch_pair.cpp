#include <surety/accounting/laws/batches/batch_pair.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <surety/accounting/laws/cells/tilted_law.h>
#include <surety/accounting/laws/finite/polygon_law.h>
#include <surety/accounting/laws/losses/pieces.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::laws {
namespace {

/// Cells of the composed law.
constexpr double most_cells = 12000;
/// Of a mass in double, which is divided by what is finite.
constexpr double rounding_of_mass = share_of_units(4.0);
/// Where the tails of a law are cut.
constexpr Cut tails{-105, -105};
/// More than what all products that are too small for double add up to.
constexpr long double vanished = 1e-290L;
/// Relative, of a few operations of extended precision.
constexpr long double little = share_of_units(32.0L);

/// The step that atoms want, of at most `step`.
double aligned(const Parts& parts, double step) {
  double largest = 0;
  double distance = 0;
  for (const auto& part : parts) {
    if (const auto* atoms = std::get_if<AtomsBase>(&part.upper.base); atoms != nullptr && atoms->atoms.size() > 3) continue;
    const auto found = atom_distance(part.upper);
    if (!found || !(*found > 0) || static_cast<double>(part.count) * *found <= largest) continue;
    largest = static_cast<double>(part.count) * *found;
    distance = *found;
  }
  if (distance == 0) return step;
  // The cells between two atoms are merged in pairs.
  return step < distance ? distance / (2 * std::ceil(distance / step / 2)) : step;
}

/// The sum of independent losses on a grid, one law after the other.
struct GridSum {
  std::vector<double> weights{1.0};
  long double base = 0;
  long double magnitude = 0;
  std::int64_t first = 0;
  long double log_scale = 0;
  long double log_least = 0;  // of the smallest weight
  int direction;

  explicit GridSum(int rounding) : direction{rounding} {}

  void add(const TiltedLaw& law, std::uint64_t count) {
    std::vector<double> power = law.weights;
    for (std::uint64_t left = count; left > 0; left /= 2) {
      if (left % 2 == 1) weights = convolved(weights, power, direction);
      if (left > 1) power = convolved(power, power, direction);
    }
    double least = 1;
    for (const double weight : law.weights) least = weight > 0 ? std::min(least, weight) : least;
    const auto times = static_cast<long double>(count);
    log_least += times * std::log(static_cast<long double>(least));
    base += times * law.base;
    magnitude += times * (std::abs(law.base) + std::abs(static_cast<long double>(law.log_scale)));
    first += static_cast<std::int64_t>(count) * law.first;
    log_scale += times * static_cast<long double>(law.log_scale);
  }

  [[nodiscard]] std::vector<Outcomes::Outcome> outcomes(double step) const {
    std::vector<Outcomes::Outcome> found;
    const long double span =
        (std::abs(static_cast<long double>(first)) + static_cast<long double>(weights.size())) * static_cast<long double>(step);
    const long double doubt = little * (magnitude + span + std::abs(base));
    const long double factor = std::exp(log_scale) * (1 + direction * (little + little * magnitude));
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (!(weights[i] > 0)) continue;
      const long double loss = base + static_cast<long double>(first + static_cast<std::int64_t>(i)) * static_cast<long double>(step);
      found.push_back({loss + direction * doubt, static_cast<long double>(weights[i]) * factor});
    }
    return found;
  }
};

/// Q-mass of what is finite.
long double q_mass(const std::vector<Outcomes::Outcome>& outcomes) {
  long double total = 0;
  for (const auto& [loss, mass] : outcomes) total += mass * std::exp(-loss);
  return total;
}

/// log(1 - rate + rate e^loss), within `units_of_mixed_loss`; the least of all where the loss is -infinity. Where the sum is near 1 or above, its
/// distance from 1 has its own digits; where it is small, it is added up of two terms that are not negative. \pre 0 < rate < 1
/// \source docs/proofs/batches.md#shared
long double mixed_loss(long double loss, double rate) {
  constexpr long double largest_exponent = 11000;
  const long double q = rate;
  if (loss > largest_exponent) return loss + std::log((1 - q) * std::exp(-loss) + q);
  const long double more = q * std::expm1(loss);
  return more > -0.5L ? std::log1p(more) : std::log((1 - q) + q * std::exp(loss));
}
constexpr long double units_of_mixed_loss = 33;

class LawOfAtoms {
 public:
  /// `is_whole`: no term is left out.
  LawOfAtoms(int direction, bool is_whole) : direction_{direction}, is_whole_{is_whole} {}

  /// \pre losses rise.
  void add(long double loss, long double mass) {
    const long double rounded = mass * (1 + direction_ * little);
    if (!(rounded > 1e-300L)) {
      lost_ += rounded;
      return;
    }
    atoms_.push_back({direction_ > 0 ? round_up(loss) : round_down(loss), static_cast<double>(rounded)});
  }
  [[nodiscard]] LossLaw law(long double infinite) && {
    if (direction_ > 0 && is_whole_) {
      // What were lost would cost nothing.
      long double whole = infinite + lost_;
      for (const auto& atom : atoms_) whole += static_cast<long double>(atom.mass);
      if (!(whole > 1 - 1e-9L && whole < infinity)) refuse_range();
    }
    if (atoms_.empty()) atoms_.push_back({0, 0});
    LossLaw law{AtomsBase{std::move(atoms_), 0, rounding_of_mass}};
    if (direction_ > 0) return with_infinite(std::move(law), infinite * (1 + little) + (lost_ > 0 ? lost_ + vanished : 0));
    // Rounded down, the finite part is a share of at most what is left.
    const double least = std::max(0.0, round_down(infinite * (1 - little)));
    for (auto& atom : std::get<AtomsBase>(law.base).atoms) atom.mass /= 1 - least;
    law.infinite_mass = least;
    return law;
  }

 private:
  int direction_;
  bool is_whole_;
  std::vector<AtomsBase::Atom> atoms_;
  long double lost_ = 0;
};

/// What was moved down has more Q-mass than before. A pair has no more than 1: the lowest outcomes are left out, which only lowers curves.
void leave_out_excess(std::vector<Outcomes::Outcome>& lowest) {
  long double excess = q_mass(lowest) * (1 + 4096 * little) - 1;
  std::size_t dropped = 0;
  while (excess > 0 && dropped < lowest.size()) {
    const long double share = lowest[dropped].mass * std::exp(-lowest[dropped].loss);
    if (share > excess) {
      lowest[dropped].mass *= std::max(0.0L, 1 - excess / share * (1 + little)) * (1 - little);
      break;
    }
    excess -= share * (1 - little);
    ++dropped;
  }
  lowest.erase(lowest.begin(), lowest.begin() + static_cast<std::ptrdiff_t>(dropped));
}

/// Without the ends of an upper law that `tails` leaves out of others: mass of the largest losses goes to infinite loss, of the least to the
/// least one that is kept.
void cut(Outcomes& above) {
  auto& outcomes = above.finite;
  const auto least = std::exp(static_cast<long double>(tails.log_above));
  long double beyond = 0;
  long double terms = 2;
  while (outcomes.size() > 2 && beyond + outcomes.back().mass < least) {
    beyond += outcomes.back().mass;
    terms += 1;
    outcomes.pop_back();
  }
  above.infinite += beyond * (1 + little * terms);
  std::size_t first = 0;
  while (first + 2 < outcomes.size() && outcomes[first].mass + outcomes[first + 1].mass < least) {
    outcomes[first + 1].mass = (outcomes[first].mass + outcomes[first + 1].mass) * (1 + little);
    ++first;
  }
  outcomes.erase(outcomes.begin(), outcomes.begin() + static_cast<std::ptrdiff_t>(first));
}

}  // namespace

BatchPair batch_pair(const Parts& parts, const BatchTerms& terms) {
  double whole = 0;
  for (const auto& part : parts) {
    const auto bounds = range(part.upper, tails);
    whole += static_cast<double>(part.count) * (bounds.largest - bounds.least);
  }
  const double step = aligned(parts, std::max(whole / most_cells, 2e-4));
  const TiltedGrid grid{step, 0};
  GridSum up{+1};
  GridSum down{-1};
  long double finite_more = 0;  // logs of the mass that stays finite
  long double finite_less = 0;
  for (const auto& part : parts) {
    const auto times = static_cast<long double>(part.count);
    const auto cells_above = cells(part.upper, step, tails);
    up.add(spread(cells_above, grid, log_of_largest(cells_above, grid)), part.count);
    const long double infinite =
        static_cast<long double>(part.upper.infinite_mass) + (cells_above.cells.empty() ? 1 : cells_above.cut_above);
    finite_less += times * std::log1p(-std::min(infinite * (1 + little), 1 - little));
    if (!part.lower) continue;  // shows nothing
    const auto cells_below = part.same ? cells_above : cells(*part.lower, step, tails);
    const auto merged = merge(cells_below, grid, log_of_largest(cells_below, grid));
    if (merged.weights.empty()) continue;
    down.add(merged, part.count);
    finite_more += times * std::log1p(-static_cast<long double>(part.lower->infinite_mass));
  }
  BatchPair pair;
  pair.above = {up.outcomes(step), -std::expm1(finite_less) * (1 + little)};
  if (up.log_least < -650) pair.above.infinite += vanished;
  pair.below = {down.outcomes(step), std::max(0.0L, -std::expm1(finite_more) * (1 - little))};
  if (parts.size() == 1 && parts.front().count == 1) {
    // Outcomes that are given need no grid.
    const auto given = [&](const LossLaw& law, Outcomes& into, int direction) {
      const auto* atoms = std::get_if<AtomsBase>(&law.base);
      if (atoms == nullptr) return;
      const long double finite = 1 - static_cast<long double>(law.infinite_mass);
      const long double error = (static_cast<long double>(atoms->mass_error) + little) * direction;
      into = {{}, law.infinite_mass};
      for (const auto& atom : atoms->atoms) {
        into.finite.push_back({static_cast<long double>(atom.loss) + direction * static_cast<long double>(atoms->loss_error),
                               static_cast<long double>(atom.mass) * finite * (1 + error)});
      }
      if (atoms->has_tails && direction > 0) cut(into);
    };
    given(parts.front().upper, pair.above, +1);
    if (parts.front().lower) given(*parts.front().lower, pair.below, -1);
  }
  if (!terms.infinite) pair.above.infinite = 0;
  if (terms.rounding) leave_out_excess(pair.below.finite);
  return pair;
}

LossLaw batch_law(const BatchPair& pair, Mixing mixing, double rate, int direction, const BatchTerms& terms) {
  const auto& outcomes = direction > 0 ? pair.above : pair.below;
  const long double q = rate;
  const long double rest = 1 - q;
  const bool up = direction > 0;
  const auto outward = [&](long double mixed) {
    return up ? LongUpper::within(mixed, units_of_mixed_loss).value() : LongLower::within(mixed, units_of_mixed_loss).value();
  };
  const auto loss_of = [&](long double loss) { return outward(mixed_loss(loss, rate)); };
  const auto mirrored = [&](long double loss) { return outward(-mixed_loss(-loss, rate)); };
  const auto mixed_mass = [&](const Outcomes::Outcome& one) { return one.mass * (rest * std::exp(-one.loss) + q); };
  LawOfAtoms law{direction, terms.infinite && terms.rounding};
  switch (mixing) {
    case Mixing::remove: {
      // Q-mass without P-mass: the lowest loss there is.
      const long double alone = rest * std::max(0.0L, 1 - q_mass(outcomes.finite) * (1 - direction * 4096 * little));
      if (terms.rounding && alone > 0) law.add(loss_of(-infinity), alone);
      for (const auto& one : outcomes.finite) law.add(loss_of(one.loss), mixed_mass(one));
      return std::move(law).law(q * outcomes.infinite);
    }
    case Mixing::add: {
      for (const auto& one : outcomes.finite) law.add(mirrored(one.loss), one.mass);
      if (outcomes.infinite > 0) law.add(mirrored(infinity), outcomes.infinite);
      return std::move(law).law(0);
    }
    case Mixing::symmetric: {
      // Above 0 the mixture, below its mirror image, and at 0 the rest.
      long double zero = 1 - q * outcomes.infinite;
      std::vector<Outcomes::Outcome> right;
      for (const auto& one : outcomes.finite) {
        if (!(one.loss > 0)) continue;
        right.push_back(one);
        zero -= mixed_mass(one) + one.mass * std::exp(-one.loss);
      }
      for (std::size_t i = right.size(); i-- > 0;) {
        law.add(mirrored(-right[i].loss), right[i].mass * std::exp(-right[i].loss));
      }
      law.add(0, std::max(0.0L, zero) + 8192 * little);
      for (const auto& one : right) law.add(loss_of(one.loss), mixed_mass(one));
      return std::move(law).law(q * outcomes.infinite);
    }
    case Mixing::revealed: {
      bool hidden = false;
      for (const auto& one : outcomes.finite) {
        if (!hidden && one.loss >= 0) {
          law.add(0, rest);
          hidden = true;
        }
        law.add(one.loss, q * one.mass);
      }
      if (!hidden) law.add(0, rest);
      return std::move(law).law(q * outcomes.infinite);
    }
    case Mixing::opposite: break;
  }
  throw Error{ErrorCode::internal, "a batch of several releases has no opposite pair"};
}

double end_of_concentrated(double rho) { return rho + 2 * std::sqrt(rho * -tails.log_above); }

double end_of_curve(double order, double divergence) { return divergence - tails.log_above / (order - 1); }

ReleaseLaws divergence_part(double rho, double end, const std::function<double(double)>& curve) {
  constexpr int points = 1000;
  std::vector<Corner> corners;
  long double before = 1;
  for (int i = 0; i <= points; ++i) {
    const double at = end * i / points;
    before = std::min(before, static_cast<long double>(curve(at)));
    corners.push_back({at, before});
  }
  const LossLaw above = with_infinite(polygon_law(corners, +1), before);
  if (rho == 0) return {above, nothing(), false, 1};
  const Upper multiplier = 1 / sqrt(Lower{Exact{2 * rho}});
  return {above, LossLaw{GaussianBase{multiplier.value()}}, false, 1};
}

}  // namespace surety::accounting::laws
