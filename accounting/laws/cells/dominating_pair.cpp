#include <surety/accounting/laws/cells/dominating_pair.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

#include <surety/accounting/laws/cells/maximum_profile.h>
#include <surety/accounting/laws/epochs/allocated_epoch.h>
#include <surety/accounting/laws/epochs/ratio_law.h>
#include <surety/accounting/laws/epochs/replaced_epoch.h>
#include <surety/accounting/laws/gaussian/gaussian_mixture.h>
#include <surety/accounting/laws/losses/pieces.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting {
namespace {

using namespace laws;

[[noreturn]] void refuse_lattice() {
  throw Error{ErrorCode::unsupported, "privacy-loss: discrete noise of this size is on more than 2^52 integers"};
}

// ---- bases: a coordinate x that rises with the loss, and the masses between two exact coordinates ----

// Proved: docs/proofs/batches.md#opposite-laplace
/// With c = 1 - q + q e^(-1/b): c e^(1/b), by which masses exceed those of Laplace noise of scale b / 2, and r = q e^(-1/b) / c.
struct OppositeLaplaceTerms {
  Ball mass;
  Ball rate;

  explicit OppositeLaplaceTerms(const OppositeLaplaceBase& base) : OppositeLaplaceTerms{Ball{1} / Exact{base.scale}, base.batch_rate} {}

 private:
  OppositeLaplaceTerms(Ball inverse, double q) : mass{(1 - Ball{Exact{q}}) * exp(inverse) + Ball{Exact{q}}}, rate{Ball{Exact{q}} / mass} {}
};
// Proved so far.

/// Losses between -largest and largest, where Q has density factor / 4 e^(-(l + largest) / 2) at loss l and P that times e^l: Laplace
/// noise between its two atoms, and bounded range, which has none.
struct ExponentialShape {
  double largest;
  Ball end;  // what `largest` is rounded from
  Ball factor;
  double rate_share = 0;  // of the rate that it is mixed at, what is rounded

  explicit ExponentialShape(const LaplaceBase& base) : ExponentialShape{Ball{1} / Exact{base.scale}, 1} {}
  explicit ExponentialShape(const OppositeLaplaceBase& base)
      : ExponentialShape{Ball{2} / Exact{base.scale}, OppositeLaplaceTerms{base}.mass} {
    rate_share = rate_share_of(base);
    factor = factor.widened(rate_share);
  }
  [[nodiscard]] static double rate_share_of(const OppositeLaplaceBase& base) {
    return OppositeLaplaceTerms{base}.rate.share() + share_of_units(1.0);
  }
  explicit ExponentialShape(const BoundedRangeBase& base) : ExponentialShape{Exact{base.epsilon}, 2 / -expm1(Ball{Exact{-base.epsilon}})} {}
  [[nodiscard]] double coordinate(double loss, bool) const { return std::clamp(loss, -largest, largest); }
  [[nodiscard]] double loss(double x) const { return x; }
  [[nodiscard]] double loss_above(double x) const { return x; }
  [[nodiscard]] static double zero() { return 0; }
  [[nodiscard]] double error(double, double) const { return Ball::within(largest, 2).radius() + rate_share; }
  [[nodiscard]] Piece piece(double l0, double l1) const {
    const Ball quarter = (Ball{Exact{l1}} - Exact{l0}) * Exact{0.25};
    const Ball middle = (Ball{Exact{l0}} + Exact{l1}) * Exact{0.5};
    const Ball log_scale = (middle + end) * Exact{-0.5};
    return piece_of(log_scale, factor * sinh(quarter), middle, Ball::of_share(1, rate_share));
  }

 private:
  ExponentialShape(Ball exact_end, Ball mass) : largest{exact_end.value()}, end{exact_end}, factor{mass} {}
};

// ---- bases on the integers: the coordinate is k, and the outcomes between x0 and x1 are x0 < k <= x1 ----

/// Where a grid point of loss falls exactly on the loss of an integer, rounding must not put that integer into the cell below it.
double lattice_coordinate(double position, double slack, bool reversed) {
  if (!std::isfinite(position)) return position;
  return reversed ? std::floor(position + slack) : std::ceil(position - slack) - 1;
}

struct DiscreteGaussianShape {
  double sigma;
  double shift;
  double slope;       // of the loss (k - shift / 2) slope
  Ball half_inverse;  // 1 / (2 sigma^2)
  Ball norm;          // sum of e^(-k^2 / (2 sigma^2))

  explicit DiscreteGaussianShape(const DiscreteGaussianBase& base)
      : sigma{base.sigma},
        shift{base.sensitivity},
        slope{base.sensitivity / base.sigma / base.sigma},
        half_inverse{Ball{Exact{0.5}} / Exact{base.sigma} / Exact{base.sigma}},
        norm{theta(base.sigma)} {
    if (!(slope * shift < 1e300 && slope > 1e-300)) refuse_range();
    if (!(sigma * 300 + shift < largest_index)) refuse_lattice();
  }

  /// Below 1 the sum itself, whose terms beyond 14 are below e^-98; else its Poisson dual, whose terms beyond 2 are below e^-177.
  static Ball theta(double sigma) {
    Ball sum = 1;
    if (sigma < 1) {
      for (int k = 14; k >= 1; --k) {
        const Ball at = Ball{k} / Exact{sigma};
        sum += 2 * exp(at * at * Exact{-0.5});
      }
      return sum;
    }
    const Ball turn = 2 * Ball::rounded(std::numbers::pi) * Exact{sigma};
    for (int k = 2; k >= 1; --k) sum += 2 * exp(turn * turn * Exact{-0.5 * k * k});
    return sum * Exact{sigma} / normal_density;
  }

  [[nodiscard]] double slack(double position) const { return Ball::within(std::abs(position) + shift + 1 + 1 / slope, 16).radius(); }
  [[nodiscard]] double coordinate(double loss, bool reversed) const {
    const double position = loss / slope + 0.5 * shift;
    return lattice_coordinate(position, slack(position), reversed);
  }
  [[nodiscard]] double loss(double k) const { return (k - 0.5 * shift) * slope; }
  [[nodiscard]] double loss_above(double k) const { return loss(k + 1); }
  [[nodiscard]] double zero() const { return std::floor(0.5 * shift); }
  [[nodiscard]] double error(double largest_loss, double) const { return Ball::within(1 + largest_loss + 2 * shift * slope, 32).radius(); }

  static constexpr double most_terms = 1e5;
  /// Sum of e^((r^2 - j^2) / (2 sigma^2)) over j = first, first + 1, ..., last, where |r| is the least |j|. A term e^-x errs by
  /// x e^-x (3 u) + 2 u e^-x, at most 4 u, and one term is 1.
  [[nodiscard]] Ball sum(double first, double last, double r) const {
    const double count = last - first + 1;
    const auto block_for = [&] {
      const double far = 1 + std::max(std::abs(first), std::abs(last)) / sigma;
      return count <= 8 ? 1 : std::max(1.0, std::floor(narrow * sigma / far));
    };
    double block = block_for();
    if (count > most_terms * block) {
      // Terms beyond `reach`, where j^2 >= r^2 + 2 digits sigma^2, add less than e^-100 together.
      const double digits = 100 + std::log(count);
      const double reach = std::abs(r) + 1 + std::min(sigma * std::sqrt(2 * digits), sigma * (sigma / std::abs(r)) * digits);
      first = std::max(first, std::ceil(-reach));
      last = std::min(last, std::floor(reach));
      block = block_for();
    }
    double total = 0;
    double blocks = 0;
    PollNowAndThen poll;
    for (double j = first; j <= last; j += block, ++blocks) {
      poll();
      const double n = std::min(block, last - j + 1);
      const double mid = j + 0.5 * (n - 1);
      total += std::exp(-(mid - r) * (mid + r) * half_inverse.value()) * (n > 1 ? n * shape(mid / sigma, n) : 1);
    }
    return Ball::within(total, 30 + 3 * blocks);
  }
  /// Mean of e^((m^2 - t^2) / 2) over n points t around m at distances 1 / sigma: as interval_shape, with the moments of the points.
  [[nodiscard]] double shape(double m, double n) const {
    const double s = m * m;
    const double squared = n * n;
    const double g = 0.25 / sigma / sigma;
    const double second = (s - 1) * (squared - 1) / 6;
    const double fourth = (s * (s - 6) + 3) * (squared - 1) * (3 * squared - 7) / 360;
    const double sixth = (s * (s * (s - 15) + 45) - 15) * (squared - 1) * (3 * squared * squared - 18 * squared + 31) / 15120;
    return 1 + g * (second + g * (fourth + g * sixth));
  }

  [[nodiscard]] Piece piece(double k0, double k1) const {
    const double first = k0 + 1;
    // The likeliest integers under either law; their differences and sums are exact.
    const double rq = std::clamp(0.0, first, k1);
    const double rp = std::clamp(shift, first, k1);
    const auto q = sum(first, k1, rq);
    const auto p = sum(first - shift, k1 - shift, rp - shift);
    const Ball log_scale = -(Ball{Exact{rq}} * Exact{rq} * half_inverse);
    const Ball loss_of_scales = Ball{Exact{rq - rp + shift}} * Exact{rq + rp - shift} * half_inverse;
    return piece_of(log_scale, q / norm, loss_of_scales, p / q);
  }
};

/// The integers strictly between 0 and the shift; those beyond are two atoms.
struct DiscreteLaplaceShape {
  double scale;
  double shift;
  Ball spread;  // cosh(1 / (2 scale))

  explicit DiscreteLaplaceShape(const DiscreteLaplaceBase& base) : scale{base.scale}, shift{base.sensitivity}, spread{0} {
    if (!(shift < largest_index)) refuse_lattice();
    const Ball half = sinh(Ball{Exact{0.25}} / Exact{scale});
    spread = 1 + 2 * (half * half);
  }
  [[nodiscard]] double coordinate(double loss, bool reversed) const {
    const double position = 0.5 * (loss * scale + shift);
    return lattice_coordinate(position, Ball::within(std::abs(position) + shift + scale, 16).radius(), reversed);
  }
  [[nodiscard]] double loss(double k) const { return (2 * k - shift) / scale; }
  [[nodiscard]] double loss_above(double k) const { return loss(k + 1); }
  [[nodiscard]] double zero() const { return std::floor(0.5 * shift); }
  [[nodiscard]] double error(double, double) const { return Ball::within(1 + shift / scale, 80).radius(); }
  /// A geometric sum around its middle: Q(k) = tanh(1 / (2 scale)) e^(-k / scale), P(k) that times e^loss(k).
  [[nodiscard]] Piece piece(double k0, double k1) const {
    const Ball half = Ball{Exact{0.5 * (k1 - k0)}} / Exact{scale};
    const Ball log_scale = Ball{Exact{-0.5 * (k0 + 1 + k1)}} / Exact{scale};
    const Ball loss_of_middle = Ball{Exact{k0 + 1 + k1 - shift}} / Exact{scale};
    return piece_of(log_scale, sinh(half) / spread, loss_of_middle, 1);
  }
};

// ---- mixing ----

LossCell cell(std::int64_t index, Ball log_scale, Ball mass, Ball excess) {
  return {.index = index,
          .log_scale = log_scale.value(),
          .mass = mass.value(),
          .mass_error = mass.widened(log_scale.radius()).share(),
          .excess = excess.value(),
          .excess_error = excess.radius()};
}
/// Appends the cells of one monotone continuous part. `reversed`: the loss of the pair is minus the mixed loss.
template <class Shape>
void add_continuous(std::vector<LossCell>& out, const Shape& shape, const Mix& mix, bool reversed, double anchor, double step, double x_low,
                    double x_high) {
  if (!(x_low < x_high)) return;
  const double low = mix.loss(shape.loss_above(x_low));
  const double high = mix.loss(shape.loss(x_high));
  const auto coordinate = [&](double l) { return shape.coordinate(mix.inverse(reversed ? -l : l), reversed); };
  const double units_of_anchor = std::abs(anchor);
  const auto add_cell = [&](std::int64_t i, double l, double from, double to) {
    const Piece piece = reversed ? shape.piece(to, from) : shape.piece(from, to);
    require_digits(piece);
    // Both terms of w are positive; each exponent is within 2 units of its terms.
    const double units = 8 + 2 * (std::abs(l) + units_of_anchor + std::abs(piece.loss));
    const double error = piece.ratio_error + share_of_units(units);
    if (reversed) {
      const double w = mix.rest * std::exp(l) + mix.rate * piece.ratio * std::exp(piece.loss + l);
      out.push_back({.index = i,
                     .log_scale = piece.log_scale,
                     .mass = piece.mass,
                     .mass_error = piece.mass_error,
                     .excess = 1 - w,
                     .excess_error = error * w + share_of_units(1.0)});
    } else {
      const double w = mix.rest * std::exp(-l) + mix.rate * piece.ratio * std::exp(piece.loss - l);
      const double scale = piece.log_scale + l;
      out.push_back({.index = i,
                     .log_scale = scale,
                     .mass = piece.mass * w,
                     .mass_error = piece.mass_error + error + share_of_units(1 + std::abs(scale)),
                     .excess = 1 - 1 / w,
                     .excess_error = 2 * error / w + share_of_units(1.0)});
    }
  };
  if (reversed) {
    sweep(out, anchor, step, -high, -low, x_high, x_low, coordinate, add_cell);
  } else {
    sweep(out, anchor, step, low, high, x_low, x_high, coordinate, add_cell);
  }
}

/// The pair of opposite shifts: its loss L(t) = log(rest + rate e^b(t)) - log(rest + rate e^b(-t)), b the loss of the base pair, is odd
/// and rises.
struct OppositeShape {
  const GaussianShape& shape;
  const Mix& mix;

  [[nodiscard]] double loss(double t) const { return mix.loss(shape.loss(t)) - mix.loss(shape.loss(-t)); }

  /// With y = e^(t / multiplier) and E = e^(-1 / (2 multiplier^2)), rest + rate E y = e^l (rest + rate E / y) is quadratic in y, and its
  /// solution is log y = l / 2 + asinh(v), v = sinh(l / 2) rest / (rate E).
  [[nodiscard]] double coordinate(double l) const {
    const double half = 0.5 * std::abs(l);
    const double exponent = 0.5 * shape.inverse * shape.inverse;
    const double log_rate = std::log(mix.rate);
    double rise = 0;
    if (exponent + half - log_rate < 300) {
      rise = std::asinh(std::exp(exponent) * (mix.rest / mix.rate) * std::sinh(half));
    } else if (half > 0) {
      // log v, without its overflow; asinh(v) is log(2 v) within 1 / v^2.
      const double log_v = exponent + std::log(mix.rest) - log_rate + half + std::log(-0.5 * std::expm1(-2 * half));
      rise = log_v < 300 ? std::asinh(std::exp(log_v)) : log_v + std::log(2.0);
    }
    return std::copysign((half + rise) * shape.multiplier, l);
  }

  /// Bound on |loss(coordinate(l)) - l| and on the rounding of loss(t), for losses and coordinates up to these.
  [[nodiscard]] double error(double largest_loss, double largest_t) const {
    return Ball::within(2 + largest_loss + largest_t * shape.inverse + shape.inverse * shape.inverse - std::log(mix.rate), 32).radius();
  }

  /// e^scale value, but for the share `error`: what one of the two mixtures has where Q has 1.
  struct Share {
    double scale;
    double value;
    double error;
  };
  [[nodiscard]] Share share(const Piece& piece) const {
    const double scale = std::max(0.0, piece.loss);
    const double value = mix.rest * std::exp(-scale) + mix.rate * piece.ratio * std::exp(piece.loss - scale);
    return {scale, value, piece.ratio_error + share_of_units(8 + std::abs(piece.loss))};
  }
};

void add_opposite(std::vector<LossCell>& out, const OppositeShape& pair, double step, double t_low, double t_high) {
  const auto add_cell = [&](std::int64_t i, double l, double from, double to) {
    const Piece piece = pair.shape.piece(from, to);
    const Piece mirrored = pair.shape.piece(-to, -from);
    require_digits(piece);
    require_digits(mirrored);
    const auto p = pair.share(piece);
    const auto q = pair.share(mirrored);
    const double y = q.value / p.value * std::exp(l + q.scale - p.scale);
    const double error = p.error + q.error + share_of_units(8 + 2 * (std::abs(l) + q.scale + p.scale));
    const double scale = piece.log_scale + p.scale;
    out.push_back({.index = i,
                   .log_scale = scale,
                   .mass = piece.mass * p.value,
                   .mass_error = piece.mass_error + p.error + share_of_units(1 + std::abs(scale)),
                   .excess = 1 - y,
                   .excess_error = error * y + share_of_units(1.0)});
  };
  sweep(
      out, 0, step, pair.loss(t_low), pair.loss(t_high), t_low, t_high, [&](double l) { return pair.coordinate(l); }, add_cell);
}

/// P-mass = mass e^log_p, and Q-mass likewise.
struct AtomOfBase {
  Ball loss;
  Ball log_p;
  Ball log_q;
  Ball mass;
};

std::vector<AtomOfBase> atoms_of(const BaseLaw& base) {
  // Both sides of a law with exponential tails: its atom of loss l and the mirrored one.
  const auto ends = [](Ball l, Ball mass) { return std::vector<AtomOfBase>{{-l, -l, 0, mass}, {l, 0, -l, mass}}; };
  if (const auto* laplace = std::get_if<LaplaceBase>(&base)) return ends(Ball{1} / Exact{laplace->scale}, Exact{0.5});
  if (const auto* laplace = std::get_if<OppositeLaplaceBase>(&base)) {
    const double share = ExponentialShape::rate_share_of(*laplace);
    const Ball end = Ball{2} / Exact{laplace->scale} + Ball::around(0, share);
    return ends(end, (OppositeLaplaceTerms{*laplace}.mass * Exact{0.5}).widened(share));
  }
  if (const auto* laplace = std::get_if<DiscreteLaplaceBase>(&base)) {
    const Exact scale{laplace->scale};
    return ends(Ball{Exact{laplace->sensitivity}} / scale, 1 / (1 + exp(-1 / Ball{scale})));
  }
  std::vector<AtomOfBase> found;
  if (const auto* atoms = std::get_if<AtomsBase>(&base)) {
    for (const auto& atom : atoms->atoms) {
      const Ball loss = Ball::around(atom.loss, atoms->loss_error);
      found.push_back({loss, 0, -loss, Ball::of_share(atom.mass, atoms->mass_error)});
    }
  }
  return found;
}

/// The same outcome in the mixed pair.
struct MixedAtom {
  Ball loss;
  Ball log_scale;
  Ball mass;
};
MixedAtom mixed(const AtomOfBase& atom, const Mix& mix, bool reversed) {
  const Ball loss = mix.loss(atom.loss);
  if (reversed) return {-loss, atom.log_q, atom.mass};
  if (mix.rest == 0) return {loss, atom.log_p, atom.mass};
  const Exact top{std::max(atom.log_q.value(), atom.log_p.value())};
  const Ball weight = mix.other * exp(atom.log_q - top) + Exact{mix.rate} * exp(atom.log_p - top);
  return {loss, top, weight * atom.mass};
}

/// Appends one outcome of known loss under the pair.
void add_atom(LossCells& out, const MixedAtom& atom) {
  if (!(atom.mass.value() > 0)) return;
  const double position = std::floor((atom.loss.value() - out.anchor) / out.step);
  if (!(std::abs(position) < largest_index)) refuse_range();
  auto index = checked_cast<std::int64_t>(position);
  // An atom a rounding error below a grid point is on it: its excess is then 0 within the error.
  const auto above = [&] { return atom.loss - (Exact{out.anchor} + Ball{Exact{static_cast<double>(index)}} * Exact{out.step}); };
  Ball up = above();
  constexpr double errors_below = 16;
  if (out.step - up.value() <= errors_below * up.radius()) {
    ++index;
    up = above();
  }
  if (up.value() < 0) up = Ball::around(0, (Exact{up.radius()} - up).upper().value());
  out.loss_error = std::max(out.loss_error, (errors_below + 2) * up.radius());
  out.cells.push_back(cell(index, atom.log_scale, atom.mass, -expm1(-up)));
}

/// A law whose masses are computed has all of its mass in the cells and beyond the cuts: what were lost would cost nothing.
void require_whole(const LossCells& law) {
  long double whole = law.cut_above + law.cut_below;
  PollNowAndThen poll;
  for (const auto& cell : law.cells) {
    poll();
    const bool is_plain = cell.log_scale < 600;  // for which double is enough, and much faster
    whole += static_cast<long double>(cell.mass) * (1 + cell.mass_error) *
             (is_plain ? std::exp(cell.log_scale) : std::exp(static_cast<long double>(cell.log_scale)));
  }
  if (!(whole > 1 - 1e-9L && whole < infinity)) refuse_range();
}

/// The part of the coordinate that is kept.
struct Coordinates {
  double low;
  double high;
};
Coordinates normal_cut(double shift, Mixing mixing, double rate, const Cut& cut) {
  const double above = tail_point(cut.log_above);
  const double below = tail_point(cut.log_below);
  if (mixing == Mixing::add) return {-above, below};
  return {rate == 1 ? shift - below : std::min(-below, shift - below), shift + above};
}
Coordinates kept(const GaussianShape& shape, const LossLaw& law, const Cut& cut) {
  return normal_cut(shape.inverse, law.mixing, law.rate, cut);
}
Coordinates kept(const ExponentialShape& shape, const LossLaw&, const Cut&) { return {-shape.largest, shape.largest}; }
Coordinates kept(const DiscreteGaussianShape& shape, const LossLaw& law, const Cut& cut) {
  const auto at = normal_cut(shape.shift / shape.sigma, law.mixing, law.rate, cut);
  return {std::floor(at.low * shape.sigma), std::max(std::ceil(at.high * shape.sigma) - 1, std::floor(at.low * shape.sigma) + 1)};
}
Coordinates kept(const DiscreteLaplaceShape& shape, const LossLaw&, const Cut&) { return {0, shape.shift - 1}; }

/// Calls use(shape) for the part of the base that is not finitely many atoms, if there is one.
template <class Use>
void with_shape(const BaseLaw& base, Use use) {
  if (const auto* gaussian = std::get_if<GaussianBase>(&base)) use(GaussianShape{*gaussian});
  if (const auto* laplace = std::get_if<LaplaceBase>(&base)) use(ExponentialShape{*laplace});
  if (const auto* laplace = std::get_if<OppositeLaplaceBase>(&base)) use(ExponentialShape{*laplace});
  if (const auto* bounded = std::get_if<BoundedRangeBase>(&base)) use(ExponentialShape{*bounded});
  if (const auto* gaussian = std::get_if<DiscreteGaussianBase>(&base)) use(DiscreteGaussianShape{*gaussian});
  if (const auto* laplace = std::get_if<DiscreteLaplaceBase>(&base)) use(DiscreteLaplaceShape{*laplace});
}

bool is_unbounded(const BaseLaw& base) {
  return std::holds_alternative<GaussianBase>(base) || std::holds_alternative<DiscreteGaussianBase>(base);
}

/// The atoms that a cut leaves, and at least the mass of the others.
struct KeptAtoms {
  std::size_t first;
  std::size_t end;
  LongUpper above{0};
  LongUpper below{0};
};
KeptAtoms kept_atoms(const AtomsBase& base, const Cut& cut) {
  KeptAtoms kept{0, base.atoms.size()};
  if (!base.has_tails) return kept;
  // Any place will do to cut, so masses are added as they are, and their sum is rounded once.
  const auto cut_off = [&](double log_mass, auto next, auto take) {
    const long double most = std::exp(static_cast<long double>(log_mass));
    long double sum = 0;
    long double number = 0;
    for (; kept.first + 1 < kept.end && sum + next() <= most; take(), ++number) sum += next();
    return LongUpper::of_sum(sum, number) * (LongUpper{1} + LongExact{base.mass_error});
  };
  const auto mass = [&](std::size_t i) { return static_cast<long double>(base.atoms[i].mass); };
  kept.above = cut_off(
      cut.log_above, [&] { return mass(kept.end - 1); }, [&] { --kept.end; });
  kept.below = cut_off(
      cut.log_below, [&] { return mass(kept.first); }, [&] { ++kept.first; });
  return kept;
}

/// The least and largest loss of the base.
LossRange base_range(const LossLaw& law, const Cut& cut) {
  if (const auto* given = std::get_if<AtomsBase>(&law.base); given != nullptr && given->has_tails && !given->atoms.empty()) {
    const auto kept = kept_atoms(*given, cut);
    return {given->atoms[kept.first].loss, given->atoms[kept.end - 1].loss};
  }
  const auto atoms = atoms_of(law.base);
  if (!atoms.empty()) return {atoms.front().loss.value(), atoms.back().loss.value()};
  LossRange found{0, 0};
  with_shape(law.base, [&](const auto& shape) {
    const auto at = kept(shape, law, cut);
    found = {shape.loss_above(at.low), shape.loss(at.high)};
    // A law that is nearly one atom still needs a few cells.
    if (std::is_same_v<decltype(shape), const DiscreteGaussianShape&>)
      found.least -= std::min(1.0, found.largest - shape.loss(at.high - 1));
  });
  return found;
}

const auto by_index_and_excess = [](const LossCell& a, const LossCell& b) {
  return a.index != b.index ? a.index < b.index : a.excess < b.excess;
};

void put_cuts(LossCells& out, LongUpper above, LongUpper below, bool is_symmetric) {
  out.cut_above = above.value();
  out.cut_below = (is_symmetric ? above + below : below).value();
}

/// How far rounding may put grid points of a loss up to `largest`.
double grid_error(double anchor, double largest) { return Ball::within(std::abs(anchor) + 2 * largest, 1).radius(); }

/// The cells of a law whose base is not Gaussian.
LossCells cells_of_others(const LossLaw& law, double step, const Cut& cut, double largest, double mixing_error) {
  LossCells found{.cells = {}, .anchor = 0, .step = step, .loss_error = 0, .cut_above = 0, .cut_below = 0};
  const Mix mix{law.rate};
  const bool reversed = law.mixing == Mixing::add;
  const bool symmetric = law.mixing == Mixing::symmetric;
  auto atoms = atoms_of(law.base);
  if (const auto* given = std::get_if<AtomsBase>(&law.base); given != nullptr && given->has_tails) {
    const auto kept = kept_atoms(*given, cut);
    atoms.erase(atoms.begin() + static_cast<std::ptrdiff_t>(kept.end), atoms.end());
    atoms.erase(atoms.begin(), atoms.begin() + static_cast<std::ptrdiff_t>(kept.first));
    put_cuts(found, kept.above, kept.below, false);
  }
  // A grid point lies on an outcome: on the likeliest one of the discrete Gaussian law under Q, else at the largest loss.
  found.anchor = range(law, cut).largest;
  with_shape(law.base, [&]<class Shape>(const Shape& shape) {
    found.loss_error = 2 * shape.error(largest - std::log(law.rate), 0) + mixing_error;
    if constexpr (std::is_same_v<Shape, DiscreteGaussianShape>) {
      const double likeliest = mix.loss(shape.loss(0));
      found.anchor = reversed ? -likeliest : likeliest;
      // P(k >= c) <= e^(-c^2 / (2 sigma^2)): each term is at most that times the one at k - c, and half the sum is at least 1.
      const double mean = shape.shift / shape.sigma;
      put_cuts(found, mass_beyond(cut.log_above, mean), mass_beyond(cut.log_below, mean), symmetric);
    }
  });
  found.loss_error += grid_error(found.anchor, largest);

  for (const bool side : {true, false}) {
    if (side != reversed && !symmetric) continue;
    for (const auto& atom : atoms) {
      if (symmetric && !(atom.loss.value() > 0)) continue;
      add_atom(found, mixed(atom, mix, side));
    }
    with_shape(law.base, [&]<class Shape>(const Shape& shape) {
      if constexpr (!std::is_same_v<Shape, GaussianShape>) {
        const auto at = kept(shape, law, cut);
        add_continuous(found.cells, shape, mix, side, found.anchor, step, symmetric ? std::max(at.low, shape.zero()) : at.low, at.high);
      }
    });
  }
  if (symmetric) {
    // What is neither above nor below is at loss 0.
    LongBall rest = 1;
    for (const auto& cell : found.cells) {
      const LongBall mass = LongBall::of_share(cell.mass, cell.mass_error);
      rest = rest - mass * exp(LongBall{LongExact{cell.log_scale}});
    }
    // Of what was cut it may have all or nothing.
    const Ball mass = shortened(rest + LongBall::around(0, 2 * (found.cut_above + found.cut_below)));
    add_atom(found, {0, 0, mass.value() > mass.radius() ? mass : Ball::around(mass.radius(), 2 * mass.radius())});
  }
  if (!std::is_sorted(found.cells.begin(), found.cells.end(), by_index_and_excess)) {
    std::stable_sort(found.cells.begin(), found.cells.end(), by_index_and_excess);
  }
  return found;
}

/// Steps of the ratios of an allocated epoch: sharp enough for any tail, and for bounds that do not meet anyhow; and the products of masses
/// that a law may take.
constexpr double coarsest_ratios = 0.1;
constexpr double finest_ratios_of_users = 0.01;
constexpr double most_products_of_ratios = 4e8;

/// The step from which on a law takes too long, roughly.
double finest_ratios(const AllocatedRatioBase& base, double log_cut) {
  const double mu = 1 / base.multiplier;
  const double span = mu * (mu + 2 * tail_point(log_cut));
  const double sums = 1.5 * std::log2(static_cast<double>(base.rounds)) + 1;
  const double finest = std::sqrt(6 * span * sums / most_products_of_ratios);
  return base.records > 1 ? std::max(finest, finest_ratios_of_users * std::max(1.0, mu)) : finest;
}

/// The cells of an allocated epoch by sums of ratios.
LossCells ratio_cells(const AllocatedRatioBase& base, bool reversed, double step, const Cut& cut) {
  using laws::RatioLaw;
  const auto bound = base.from_above ? RatioLaw::Bound::above : RatioLaw::Bound::below;
  const double log_cut = std::min(cut.log_above, cut.log_below);
  // Points of its own where the grid is coarse, on every so many points of it where that is needlessly fine.
  const double finer = std::exp2(std::max(0.0, std::ceil(std::log2(step / coarsest_ratios))));
  const double sparser = std::max(1.0, std::ceil(finest_ratios(base, log_cut) / step));
  const double own = step * sparser / finer;
  const auto law = base.records > 1
                       ? laws::allocated_users_ratio(base.multiplier, base.records, base.rounds, own, log_cut, reversed ? 0 : base.tilt)
                       : laws::allocated_ratio(bound, base.multiplier, base.rounds, own, log_cut);
  LossCells found = law.cells(reversed);
  found.step = step;
  for (auto& cell : found.cells) {
    const double at = static_cast<double>(cell.index) * sparser / finer;
    const double whole = std::floor(at - std::log1p(-cell.excess) / step);
    if (whole != at) {
      const Ball moved = Ball{Exact{whole}} - Exact{at};
      const Ball excess = 1 - (1 - Ball::around(cell.excess, cell.excess_error)) * exp(moved * Exact{step});
      cell.excess = excess.value();
      cell.excess_error = excess.radius();
    }
    cell.index = checked_cast<std::int64_t>(whole);
  }
  std::stable_sort(found.cells.begin(), found.cells.end(), by_index_and_excess);
  return found;
}

/// The base pair of a law that reveals whether there was one.
LossLaw base_pair(const LossLaw& law) { return LossLaw{law.base}; }

/// The laws that a base is made of; null where it is one itself.
const std::vector<LossLaw>* several(const BaseLaw& base) {
  if (const auto* maximum = std::get_if<MaximumBase>(&base)) return maximum->laws.get();
  const auto* mixture = std::get_if<PublicMixtureBase>(&base);
  return mixture != nullptr ? mixture->laws.get() : nullptr;
}

void scale_mass(LossCell& cell, Ball share) {
  const Ball mass = Ball::of_share(cell.mass, cell.mass_error) * share;
  cell.mass = mass.value();
  cell.mass_error = mass.share();
}

/// The cells of all laws, each with its share of the mass.
LossCells public_cells(const PublicMixtureBase& mixture, double step, const Cut& cut) {
  LossCells found{.cells = {}, .anchor = 0, .step = step, .loss_error = 0, .cut_above = 0, .cut_below = 0};
  for (std::size_t i = 0; i < mixture.laws->size(); ++i) {
    if (mixture.weights[i] == 0) continue;
    const LossCells one = cells((*mixture.laws)[i], step, cut);
    if (one.anchor != 0) throw Error{ErrorCode::unsupported, "privacy-loss: a public mixture of laws with atoms"};
    PollNowAndThen poll;
    for (LossCell cell : one.cells) {
      poll();
      scale_mass(cell, Ball::of_share(mixture.weights[i], mixture.weight_error));
      found.cells.push_back(cell);
    }
    found.loss_error = std::max(found.loss_error, one.loss_error);
    found.cut_above = std::max(found.cut_above, one.cut_above);
    found.cut_below = std::max(found.cut_below, one.cut_below);
  }
  std::stable_sort(found.cells.begin(), found.cells.end(), by_index_and_excess);
  return found;
}

/// The base pair's cells with a share `rate` of their mass, and an atom at loss 0 with the rest.
LossCells revealed_cells(const LossLaw& law, double step, const Cut& cut) {
  LossCells found = cells(base_pair(law), step, cut);
  const Ball log_rate = log(Ball{Exact{law.rate}});
  for (auto& one : found.cells) {
    const Ball excess = Ball::around(one.excess, one.excess_error);
    one = cell(one.index, Exact{one.log_scale} + log_rate, Ball::of_share(one.mass, one.mass_error), excess);
  }
  add_atom(found, {0, 0, 1 - Ball{Exact{law.rate}}});
  std::stable_sort(found.cells.begin(), found.cells.end(), by_index_and_excess);
  return found;
}

}  // namespace

bool is_symmetric(const LossLaw& law) {
  if (std::holds_alternative<ReplacedBase>(law.base)) return true;
  if (law.mixing == Mixing::revealed) return is_symmetric(base_pair(law));
  if (const auto* mixture = std::get_if<PublicMixtureBase>(&law.base)) {
    return std::all_of(mixture->laws->begin(), mixture->laws->end(), [](const LossLaw& one) { return is_symmetric(one); });
  }
  if (std::holds_alternative<GaussianMixtureBase>(law.base)) return law.mixing == Mixing::opposite;
  if (std::holds_alternative<AllocatedBase>(law.base) || std::holds_alternative<AllocatedRatioBase>(law.base)) return false;
  if (const auto* maximum = std::get_if<MaximumBase>(&law.base)) {
    return std::all_of(maximum->laws->begin(), maximum->laws->end(), [](const LossLaw& one) { return is_symmetric(one); });
  }
  if (law.mixing == Mixing::symmetric || law.mixing == Mixing::opposite) return true;
  if (law.rate != 1) return false;
  if (const auto* atoms = std::get_if<AtomsBase>(&law.base)) {
    if (!atoms->mirrors) return false;
    // (P, Q) and (Q, P) have equal laws when the atoms mirror each other.
    for (std::size_t i = 0; i < atoms->atoms.size(); ++i) {
      if (atoms->atoms[i].loss != -atoms->atoms[atoms->atoms.size() - 1 - i].loss) return false;
    }
  }
  return true;
}

std::optional<LossLaw> opposite_laplace(double scale, double batch_rate) {
  const StandardFloatingPoint environment;
  const OppositeLaplaceBase base{scale, batch_rate};
  const Ball rate = OppositeLaplaceTerms{base}.rate;
  if (!(rate.value() > 1e-290 && rate.share() < 1e-9)) return std::nullopt;
  return LossLaw{base, Mixing::symmetric, rate.value()};
}

std::optional<Enclosure> largest_loss(const LossLaw& law) {
  const StandardFloatingPoint environment;
  if (law.infinite_mass > 0) return std::nullopt;
  if (law.mixing == Mixing::revealed) return largest_loss(base_pair(law));
  if (const auto* mixture = std::get_if<GaussianMixtureBase>(&law.base)) return mixture_largest_loss(*mixture, law.mixing);
  if (std::holds_alternative<AllocatedBase>(law.base) || std::holds_alternative<AllocatedRatioBase>(law.base) ||
      std::holds_alternative<ReplacedBase>(law.base)) {
    return std::nullopt;
  }
  if (const auto* laws = several(law.base)) {
    Enclosure largest{0, 0};
    for (const auto& one : *laws) {
      const auto found = largest_loss(one);
      if (!found) return std::nullopt;
      largest = {std::max(largest.lower, found->lower), std::max(largest.upper, found->upper)};
    }
    return largest;
  }
  if (is_unbounded(law.base)) {
    if (law.mixing != Mixing::add || law.rate == 1) return std::nullopt;
    const Ball bound = -log1p(Ball{Exact{-law.rate}});
    return Enclosure{bound.lower().value(), bound.upper().value()};
  }
  const Mix mix{law.rate};
  auto atoms = atoms_of(law.base);
  if (const auto* bounded = std::get_if<BoundedRangeBase>(&law.base)) {
    for (const double end : {-bounded->epsilon, bounded->epsilon}) atoms.push_back({Exact{end}, 0, 0, 1});
  }
  Ball most = 0;
  for (const auto& atom : atoms) {
    const auto found = mixed(atom, mix, law.mixing == Mixing::add);
    if (found.loss.value() >= most.value()) most = found.loss;
  }
  return Enclosure{std::max(0.0, most.lower().value()), most.upper().value()};
}

std::optional<double> atom_distance(const LossLaw& law) {
  const StandardFloatingPoint environment;
  if (law.mixing == Mixing::revealed) {
    // Loss 0 is one more atom, halfway between two that mirror each other.
    const auto distance = atom_distance(base_pair(law));
    return distance && atoms_of(law.base).size() == 2 ? *distance / 2 : distance;
  }
  if (const auto* laws = several(law.base)) {
    for (const auto& one : *laws) {
      if (const auto distance = atom_distance(one)) return distance;
    }
    return std::nullopt;
  }
  const Mix mix{law.rate};
  if (const auto* gaussian = std::get_if<DiscreteGaussianBase>(&law.base)) {
    const DiscreteGaussianShape shape{*gaussian};
    return mix.loss(shape.loss(1)) - mix.loss(shape.loss(0));
  }
  if (const auto* laplace = std::get_if<DiscreteLaplaceBase>(&law.base)) {
    const DiscreteLaplaceShape shape{*laplace};
    return mix.loss(shape.loss(1)) - mix.loss(shape.loss(0));
  }
  // The two-point pairs below a bounded range have this distance.
  if (const auto* bounded = std::get_if<BoundedRangeBase>(&law.base))
    return mix.loss(bounded->epsilon / 2) - mix.loss(-bounded->epsilon / 2);
  const auto atoms = atoms_of(law.base);
  if (atoms.size() < 2) return std::nullopt;
  const auto loss_of = [&](const AtomOfBase& atom) { return mix.loss(atom.loss.value()); };
  const double first = loss_of(atoms.front());
  if (atoms.size() == 3) return loss_of(atoms[1]) - first;
  if (atoms.size() > 3) return std::abs(loss_of(atoms[1]) - first);
  return loss_of(atoms.back()) - first;
}

LossRange range(const LossLaw& law, const Cut& cut) {
  const StandardFloatingPoint environment;
  if (const auto* mixture = std::get_if<GaussianMixtureBase>(&law.base)) return mixture_range(*mixture, law.mixing, cut);
  if (const auto* allocated = std::get_if<AllocatedBase>(&law.base)) return allocated->epoch->range(law.mixing == Mixing::add, cut);
  if (const auto* replaced = std::get_if<ReplacedBase>(&law.base)) return replaced->epoch->range();
  if (const auto* allocated = std::get_if<AllocatedRatioBase>(&law.base)) {
    // At a coarse step.
    const auto found = ratio_cells(*allocated, law.mixing == Mixing::add, 0.1, cut);
    if (found.cells.empty()) return {0, 0};
    return {static_cast<double>(found.cells.front().index) * found.step, static_cast<double>(found.cells.back().index + 1) * found.step};
  }
  if (const auto* laws = several(law.base)) {
    LossRange all{infinity, -infinity};
    for (const auto& one : *laws) {
      const auto found = range(one, cut);
      all = {std::min(all.least, found.least), std::max(all.largest, found.largest)};
    }
    return all;
  }
  if (law.mixing == Mixing::revealed) {
    const auto inside = range(base_pair(law), cut);
    return {std::min(inside.least, 0.0), std::max(inside.largest, 0.0)};
  }
  const Mix mix{law.rate};
  if (law.mixing == Mixing::opposite) {
    const GaussianShape shape{std::get<GaussianBase>(law.base)};
    const auto at = kept(shape, law, cut);
    const OppositeShape pair{shape, mix};
    return {pair.loss(at.low), pair.loss(at.high)};
  }
  const auto base = base_range(law, cut);
  const double low = mix.loss(base.least);
  const double high = mix.loss(base.largest);
  if (law.mixing == Mixing::symmetric) return {-high, high};
  return law.mixing == Mixing::add ? LossRange{-high, -low} : LossRange{low, high};
}

LossCells cells(const LossLaw& law, double step, const Cut& cut) {
  const StandardFloatingPoint environment;
  if (const auto* maximum = std::get_if<MaximumBase>(&law.base)) return maximum_cells(*maximum->laws, step, cut, cells);
  if (const auto* mixture = std::get_if<PublicMixtureBase>(&law.base)) return public_cells(*mixture, step, cut);
  if (const auto* mixture = std::get_if<GaussianMixtureBase>(&law.base)) return mixture_cells(*mixture, law.mixing, step, cut);
  if (const auto* allocated = std::get_if<AllocatedBase>(&law.base)) return allocated->epoch->cells(law.mixing == Mixing::add, step, cut);
  if (const auto* replaced = std::get_if<ReplacedBase>(&law.base)) return replaced->epoch->cells(replaced->from_above, step);
  if (const auto* allocated = std::get_if<AllocatedRatioBase>(&law.base))
    return ratio_cells(*allocated, law.mixing == Mixing::add, step, cut);
  LossCells found{.cells = {}, .anchor = 0, .step = step, .loss_error = 0, .cut_above = 0, .cut_below = 0};
  const Mix mix{law.rate};
  const auto bounds = range(law, cut);
  const double largest = std::max(std::abs(bounds.least), std::abs(bounds.largest)) + step;
  const bool reversed = law.mixing == Mixing::add;
  const double mixing_error = law.rate == 1 ? 0 : Ball::within(2 + largest - std::log(law.rate), 8).radius();
  if (law.mixing == Mixing::revealed) {
    found = revealed_cells(law, step, cut);
  } else if (const auto* gaussian = std::get_if<GaussianBase>(&law.base)) {
    const GaussianShape shape{*gaussian};
    const auto at = kept(shape, law, cut);
    found.loss_error =
        shape.error(largest - std::log(law.rate), std::max(std::abs(at.low), std::abs(at.high))) + mixing_error + grid_error(0, largest);
    put_cuts(found, mass_beyond(cut.log_above, shape.inverse), mass_beyond(cut.log_below, shape.inverse), law.mixing == Mixing::symmetric);
    if (law.mixing == Mixing::symmetric) {
      // Loss 0 is at t = multiplier^-1 / 2, exactly where fl says within the loss error. Beyond it the mixed pair, and its mirror image.
      const double zero = 0.5 * shape.inverse;
      std::vector<LossCell> mirror;
      add_continuous(mirror, shape, mix, true, 0, step, zero, at.high);
      std::vector<LossCell> right;
      add_continuous(right, shape, mix, false, 0, step, zero, at.high);
      // P-mass of loss 0, all that is neither above nor below: (1 - rate) (1 - 2 tail), where tail = Q(t > zero).
      const Ball rest = mix.other * erf(root_half * Exact{zero});
      found.cells = std::move(mirror);
      if (rest.value() > 0) found.cells.push_back(cell(0, 0, rest, 1 - Ball::rounded(1)));
      found.cells.insert(found.cells.end(), right.begin(), right.end());
    } else if (law.mixing == Mixing::opposite) {
      const OppositeShape pair{shape, mix};
      found.loss_error = pair.error(largest, std::max(std::abs(at.low), std::abs(at.high)));
      add_opposite(found.cells, pair, step, at.low, at.high);
    } else {
      add_continuous(found.cells, shape, mix, reversed, 0, step, at.low, at.high);
    }
  } else {
    found = cells_of_others(law, step, cut, largest, mixing_error);
  }
  // Atoms are given, and may be a part.
  if (!std::holds_alternative<AtomsBase>(law.base)) require_whole(found);
  if (law.infinite_mass > 0) {
    const Ball finite = 1 - Ball{Exact{law.infinite_mass}};
    for (auto& one : found.cells) scale_mass(one, finite);
  }
  return found;
}

}  // namespace surety::accounting
