#include <surety/accounting/dominating_pair.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <surety/accounting/maximum_profile.h>

namespace surety::accounting {
namespace {

/// Where a loss has no grid index, also because the losses of other parts have put the anchor beyond double.
[[noreturn]] void refuse_range() { throw Error{ErrorCode::unsupported, "privacy-loss: its losses are out of range"}; }

constexpr double unit = 0x1p-53;  // the relative error of one operation
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double inverse_sqrt_two_pi = 0.39894228040143267794;

/// Masses of an interval of base outcomes: Q-mass = mass e^log_scale, P-mass / Q-mass = ratio e^loss.
struct Piece {
  double log_scale;
  double mass;
  double mass_error;  // relative
  double loss;        // absolute error counted in ratio_error
  double ratio;
  double ratio_error;  // relative, of ratio e^loss
};

/// (1 - Phi(t)) e^(t^2 / 2) for t >= 0, within a relative 16 u (1 + t^2) below 8 and 16 u beyond.
double scaled_tail(double t) {
  if (t < 8) return 0.5 * std::erfc(t * 0.70710678118654752440) * std::exp(0.5 * t * t);
  // Laplace's continued fraction; 24 terms leave less than 1e-40 at t = 8, and its terms are all positive.
  double fraction = t;
  for (int k = 24; k >= 1; --k) fraction = t + k / fraction;
  return inverse_sqrt_two_pi / fraction;
}

/// Integral of e^((m^2 - t^2) / 2) over an interval of length d around m, over d: Taylor in d with Hermite polynomials.
/// \pre d (1 + |m|) <= 0.04; the first omitted term is below 3e-16 of the sum.
double interval_shape(double m, double d) {
  const double s = m * m;
  const double g = 0.25 * d * d;
  const double second = s - 1;
  const double fourth = s * (s - 6) + 3;
  const double sixth = s * (s * (s - 15) + 45) - 15;
  return 1 + g * (second / 6 + g * (fourth / 120 + g * sixth / 5040));
}

constexpr double narrow = 0.04;

/// One standard normal mass of (t0, t1) as mass e^log_scale with a relative error.
struct TailMass {
  double log_scale;
  double mass;
  double error;
};
TailMass wide_mass(double t0, double t1) {
  if (t0 < 0 && t1 > 0) {
    const double mass = 0.5 * (std::erf(t1 * 0.70710678118654752440) - std::erf(t0 * 0.70710678118654752440));
    return {0, mass, 24 * unit};
  }
  const double near = t0 >= 0 ? t0 : -t1;
  const double far = t0 >= 0 ? t1 : -t0;
  const double first = scaled_tail(near);
  const double second = scaled_tail(far) * std::exp(-0.5 * (far - near) * (far + near));
  const double mass = first - second;
  const double argument = 1 + near * near;
  const double error = mass > 0 ? 24 * unit * argument * (first + second * (1 + far * far)) / mass : infinity;
  return {-0.5 * near * near, mass, error};
}

// ---- bases: a coordinate x that rises with the loss, and the masses between two exact coordinates ----

struct GaussianShape {
  double multiplier;
  double inverse;  // fl(1 / multiplier)

  explicit GaussianShape(const GaussianBase& base) : multiplier{base.multiplier}, inverse{1 / base.multiplier} {}

  [[nodiscard]] double coordinate(double loss) const { return multiplier * loss + 0.5 * inverse; }
  [[nodiscard]] double loss(double t) const { return (t - 0.5 * inverse) * inverse; }
  /// Bound on |loss(coordinate(l)) - l| and on the rounding of loss(t), for losses and coordinates up to these.
  [[nodiscard]] double error(double largest_loss, double largest_t) const {
    return 6 * unit * (largest_loss + inverse * inverse + largest_t * inverse);
  }

  [[nodiscard]] Piece piece(double t0, double t1) const {
    const double d = t1 - t0;
    const double m = 0.5 * (t0 + t1);
    const double u = loss(m);
    const double far = 1 + std::max(std::abs(m), std::abs(m - inverse));
    const double error = unit * (40 + 6 * (std::abs(u) + std::abs(m) * inverse + inverse * inverse));
    const double size = d * far;
    if (size <= narrow) {
      const double shape = interval_shape(m, d);
      return {-0.5 * m * m, d * inverse_sqrt_two_pi * shape, unit * (24 + 3 * m * m), u, interval_shape(m - inverse, d) / shape, error};
    }
    if (size <= 24 * narrow) {
      const int parts = static_cast<int>(std::ceil(size / narrow * 1.3));
      const double width = d / parts;
      double q_mass = 0;
      double p_mass = 0;
      for (int k = 0; k < parts; ++k) {
        const double shift = (k + 0.5 - 0.5 * parts) * width;
        const double mid = m + shift;
        const double weight = std::exp(-0.5 * shift * (m + mid));
        q_mass += weight * interval_shape(mid, width);
        p_mass += weight * std::exp(shift * inverse) * interval_shape(mid - inverse, width);
      }
      const double inner = 60 * unit * (1 + m * m + inverse * inverse);
      return {-0.5 * m * m, width * inverse_sqrt_two_pi * q_mass, inner, u, p_mass / q_mass, error + 2 * inner};
    }
    const TailMass q = wide_mass(t0, t1);
    const TailMass p = wide_mass(t0 - inverse, t1 - inverse);
    // The shifted ends are rounded: a relative |t| |error of t| of a tail each.
    const double far_end = std::max(std::abs(t0), std::abs(t1)) + inverse;
    const double shift_error = 8 * unit * far_end * (1 + far_end) * (1 + p.error / (24 * unit));
    const double centre = p.log_scale - q.log_scale;
    const double ratio_error = 2 * (q.error + p.error + shift_error) + unit * (16 + 4 * (std::abs(p.log_scale) + std::abs(q.log_scale)));
    return {q.log_scale, q.mass, q.error + unit * (4 + 2 * std::abs(q.log_scale)), centre, p.mass / q.mass, ratio_error};
  }
};

struct LaplaceShape {
  double inverse;  // fl(1 / scale): the loss lies between -1 / scale and 1 / scale

  explicit LaplaceShape(const LaplaceBase& base) : inverse{1 / base.scale} {}
  [[nodiscard]] double coordinate(double loss) const { return std::clamp(loss, -inverse, inverse); }
  [[nodiscard]] double loss(double x) const { return x; }
  [[nodiscard]] double error(double, double) const { return 4 * unit * inverse; }
  /// Q has density e^(-(l + 1 / scale) / 2) / 4 at loss l between the two atoms, P that times e^l.
  [[nodiscard]] Piece piece(double l0, double l1) const {
    const double half = 0.25 * (l1 - l0);
    const double mid = 0.5 * (l0 + l1);
    return {-0.5 * (mid + inverse), std::sinh(half), unit * (12 + 4 * inverse), mid, 1, unit * (4 + 4 * inverse)};
  }
};

// ---- mixing ----

/// 1 - rate is exact from 1/2 on; below, and for a rate of 1, its error is a relative u.
struct Mix {
  double rate;
  double rest;
  explicit Mix(double sampling) : rate{sampling}, rest{1 - sampling} {}

  /// The base loss u at which log(1 - rate + rate e^u) = l; -infinity below the range.
  [[nodiscard]] double inverse(double l) const {
    if (rest == 0) return l;
    // rate e^u = e^l - rest, in the form with the smaller cancellation.
    const double scaled = l < -0.7 ? std::exp(l) - rest : std::expm1(l) + rate;
    if (!(scaled > 0)) return -infinity;
    return l < 700 ? std::log(scaled / rate) : l - std::log(rate);
  }
  [[nodiscard]] double loss(double u) const {
    if (rest == 0) return u;
    return u < 0 ? std::log1p(rate * std::expm1(u)) : u + std::log(rate + rest * std::exp(-u));
  }
};

constexpr double largest_index = 0x1p52;

/// Digits that a cell cannot do without.
void require_digits(const Piece& piece) {
  if (piece.mass > 0 && piece.mass_error < 0.5 && piece.ratio > 0 && piece.ratio_error < 0.5) return;
  throw Error{ErrorCode::unsupported, "a release has too little noise for the privacy-loss accountant: its losses have no accurate digits"};
}

/// The cells of losses from `least` to `most`, a monotone function of coordinates from `start` to `end`: `add_cell` appends each to
/// `out`, given its index, its grid point and its two coordinates; `coordinate` is the inverse of the loss.
template <class Coordinate, class AddCell>
void sweep(std::vector<LossCell>& out, double anchor, double step, double least, double most, double start, double end,
           const Coordinate& coordinate, const AddCell& add_cell) {
  const auto point = [&](std::int64_t i) { return anchor + static_cast<double>(i) * step; };
  if (!(std::abs(least - anchor) / step < largest_index && std::abs(most - anchor) / step < largest_index)) refuse_range();
  const auto first = static_cast<std::int64_t>(std::floor((least - anchor) / step)) - 1;
  const auto last = static_cast<std::int64_t>(std::ceil((most - anchor) / step)) + 1;
  out.reserve(out.size() + static_cast<std::size_t>(last - first));
  // From the least loss up; the outermost cells take all that is left.
  double from = start;
  for (std::int64_t i = first; i < last; ++i) {
    const double to = i + 1 == last ? end : std::clamp(coordinate(point(i + 1)), std::min(start, end), std::max(start, end));
    if (end > start ? !(to > from) : !(to < from)) continue;
    add_cell(i, point(i), from, to);
    from = to;
  }
}

/// Appends the cells of one monotone continuous part. `reversed`: the loss of the pair is minus the mixed loss.
template <class Shape>
void add_continuous(std::vector<LossCell>& out, const Shape& shape, const Mix& mix, bool reversed, double anchor, double step, double x_low,
                    double x_high) {
  if (!(x_low < x_high)) return;
  const double low = mix.loss(shape.loss(x_low));
  const double high = mix.loss(shape.loss(x_high));
  const auto coordinate = [&](double l) { return shape.coordinate(mix.inverse(reversed ? -l : l)); };
  const auto add_cell = [&](std::int64_t i, double l, double from, double to) {
    const Piece piece = reversed ? shape.piece(to, from) : shape.piece(from, to);
    require_digits(piece);
    const double rounding = unit * (16 + 4 * std::abs(l));
    if (reversed) {
      const double w = mix.rest * std::exp(l) + mix.rate * piece.ratio * std::exp(piece.loss + l);
      out.push_back({i, piece.log_scale, piece.mass, piece.mass_error + unit * (4 + std::abs(piece.log_scale)), 1 - w,
                     (piece.ratio_error + rounding + unit * 4 * std::abs(piece.loss)) * w});
    } else {
      const double w = mix.rest * std::exp(-l) + mix.rate * piece.ratio * std::exp(piece.loss - l);
      const double error = piece.ratio_error + rounding + unit * 4 * std::abs(piece.loss);
      out.push_back({i, piece.log_scale + l, piece.mass * w,
                     piece.mass_error + error + unit * (8 + std::abs(piece.log_scale) + std::abs(l)), 1 - 1 / w, 2 * error / w});
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
    return 64 * unit * (2 + largest_loss + largest_t * shape.inverse + shape.inverse * shape.inverse - std::log(mix.rate));
  }

  /// e^scale value, within a relative error: what one of the two mixtures has where Q has 1.
  struct Share {
    double scale;
    double value;
    double error;
  };
  [[nodiscard]] Share share(const Piece& piece) const {
    const double scale = std::max(0.0, piece.loss);
    const double value = mix.rest * std::exp(-scale) + mix.rate * piece.ratio * std::exp(piece.loss - scale);
    return {scale, value, piece.ratio_error + unit * (16 + 4 * std::abs(piece.loss))};
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
    const double exponent = l + q.scale - p.scale;
    const double y = q.value / p.value * std::exp(exponent);
    const double error = p.error + q.error + unit * (16 + 4 * (std::abs(l) + q.scale + p.scale));
    out.push_back({i, piece.log_scale + p.scale, piece.mass * p.value,
                   piece.mass_error + p.error + unit * (8 + std::abs(piece.log_scale) + p.scale), 1 - y, error * y});
  };
  sweep(
      out, 0, step, pair.loss(t_low), pair.loss(t_high), t_low, t_high, [&](double l) { return pair.coordinate(l); }, add_cell);
}

/// Appends one outcome of known loss under the pair.
void add_atom(std::vector<LossCell>& out, double loss, double loss_error, double mass, double mass_error, double anchor, double step) {
  if (!(mass > 0)) return;
  const double position = std::floor((loss - anchor) / step);
  if (!(std::abs(position) < largest_index)) refuse_range();
  auto index = static_cast<std::int64_t>(position);
  // An atom a rounding error below a grid point is on it: its excess is then 0 within the error.
  double above = loss - (anchor + static_cast<double>(index) * step);
  if (step - above <= 16 * (loss_error + unit * (std::abs(loss) + std::abs(anchor)))) {
    ++index;
    above = 0;
  } else if (above < 0) {
    above = 0;
  }
  const double error = 20 * (loss_error + unit * (std::abs(loss) + std::abs(anchor)));
  out.push_back({index, 0, mass, mass_error + 4 * unit, -std::expm1(-above), error + 4 * unit});
}

struct AtomOfBase {
  double loss;
  double loss_error;
  double mass_p;
  double mass_q;
  double mass_error;
};

std::vector<AtomOfBase> atoms_of(const BaseLaw& base) {
  if (const auto* laplace = std::get_if<LaplaceBase>(&base)) {
    const double l = 1 / laplace->scale;
    const double small = 0.5 * std::exp(-l);
    return {{-l, 2 * unit * l, small, 0.5, unit * (4 + 2 * l)}, {l, 2 * unit * l, 0.5, small, unit * (4 + 2 * l)}};
  }
  std::vector<AtomOfBase> found;
  if (const auto* atoms = std::get_if<AtomsBase>(&base)) {
    for (const auto& atom : atoms->atoms) {
      found.push_back({atom.loss, atoms->loss_error, atom.mass, atom.mass * std::exp(-atom.loss),
                       atoms->mass_error + 2 * atoms->loss_error + unit * (4 + 2 * std::abs(atom.loss))});
    }
  }
  return found;
}

/// The same outcome in the mixed pair.
struct MixedAtom {
  double loss;
  double loss_error;
  double mass;
  double mass_error;
};
MixedAtom mixed(const AtomOfBase& atom, const Mix& mix, bool reversed) {
  const double loss = mix.loss(atom.loss);
  const double loss_error = atom.loss_error + unit * (8 + 4 * std::abs(loss) + 4 * std::abs(atom.loss));
  const double exact_error = mix.rest == 0 ? atom.loss_error : loss_error;
  if (reversed) return {-loss, exact_error, atom.mass_q, atom.mass_error};
  return {loss, exact_error, mix.rest * atom.mass_q + mix.rate * atom.mass_p, atom.mass_error + 8 * unit};
}

/// t such that a standard normal exceeds it with probability at most e^log_mass.
double tail_point(double log_mass) { return std::sqrt(2 * std::max(-log_mass, 0.5)); }

struct Coordinates {
  double low;
  double high;
};
Coordinates gaussian_cut(const GaussianBase& base, Mixing mixing, double rate, const Cut& cut) {
  const double shift = 1 / base.multiplier;
  const double above = tail_point(cut.log_above);
  const double below = tail_point(cut.log_below);
  if (mixing == Mixing::added) return {-above, below};
  return {rate == 1 ? shift - below : std::min(-below, shift - below), shift + above};
}

}  // namespace

bool is_symmetric(const LossLaw& law) {
  if (const auto* maximum = std::get_if<MaximumBase>(&law.base)) {
    return std::all_of(maximum->laws->begin(), maximum->laws->end(), [](const LossLaw& one) { return is_symmetric(one); });
  }
  if (law.mixing == Mixing::symmetric || law.mixing == Mixing::opposite) return true;
  if (law.rate != 1) return false;
  if (const auto* atoms = std::get_if<AtomsBase>(&law.base)) {
    // (P, Q) and (Q, P) have equal laws when the atoms mirror each other.
    for (std::size_t i = 0; i < atoms->atoms.size(); ++i) {
      if (atoms->atoms[i].loss != -atoms->atoms[atoms->atoms.size() - 1 - i].loss) return false;
    }
  }
  return true;
}

std::optional<Enclosure> largest_loss(const LossLaw& law) {
  if (law.infinite_mass > 0) return std::nullopt;
  if (const auto* maximum = std::get_if<MaximumBase>(&law.base)) {
    Enclosure largest{0, 0};
    for (const auto& one : *maximum->laws) {
      const auto found = largest_loss(one);
      if (!found) return std::nullopt;
      largest = {std::max(largest.lower, found->lower), std::max(largest.upper, found->upper)};
    }
    return largest;
  }
  if (std::holds_alternative<GaussianBase>(law.base)) {
    if (law.mixing != Mixing::added || law.rate == 1) return std::nullopt;
    const double bound = -std::log1p(-law.rate);
    return Enclosure{bound * (1 - 8 * unit), bound * (1 + 8 * unit)};
  }
  const Mix mix{law.rate};
  double most = 0;
  double error = 0;
  for (const auto& atom : atoms_of(law.base)) {
    const auto found = mixed(atom, mix, law.mixing == Mixing::added);
    if (found.loss >= most) {
      most = found.loss;
      error = found.loss_error + 2 * unit * most;
    }
  }
  return Enclosure{std::max(0.0, most - error), most + error};
}

std::optional<double> atom_distance(const LossLaw& law) {
  if (const auto* maximum = std::get_if<MaximumBase>(&law.base)) {
    for (const auto& one : *maximum->laws) {
      if (const auto distance = atom_distance(one)) return distance;
    }
    return std::nullopt;
  }
  const auto atoms = atoms_of(law.base);
  if (atoms.size() < 2) return std::nullopt;
  const Mix mix{law.rate};
  const double first = mix.loss(atoms.front().loss);
  const double last = mix.loss(atoms.back().loss);
  if (atoms.size() == 3) return mix.loss(atoms[1].loss) - first;
  if (atoms.size() > 3) return std::abs(mix.loss(atoms[1].loss) - first);
  return last - first;
}

LossRange range(const LossLaw& law, const Cut& cut) {
  if (const auto* maximum = std::get_if<MaximumBase>(&law.base)) {
    LossRange all{infinity, -infinity};
    for (const auto& one : *maximum->laws) {
      const auto found = range(one, cut);
      all = {std::min(all.least, found.least), std::max(all.largest, found.largest)};
    }
    return all;
  }
  const Mix mix{law.rate};
  if (const auto* gaussian = std::get_if<GaussianBase>(&law.base)) {
    const GaussianShape shape{*gaussian};
    const auto at = gaussian_cut(*gaussian, law.mixing, law.rate, cut);
    if (law.mixing == Mixing::opposite) {
      const OppositeShape pair{shape, mix};
      return {pair.loss(at.low), pair.loss(at.high)};
    }
    const double low = mix.loss(shape.loss(at.low));
    const double high = mix.loss(shape.loss(at.high));
    if (law.mixing == Mixing::symmetric) return {-high, high};
    return law.mixing == Mixing::added ? LossRange{-high, -low} : LossRange{low, high};
  }
  const auto atoms = atoms_of(law.base);
  const double low = mix.loss(atoms.front().loss);
  const double high = mix.loss(atoms.back().loss);
  return law.mixing == Mixing::added ? LossRange{-high, -low} : LossRange{low, high};
}

LossCells cells(const LossLaw& law, double step, const Cut& cut) {
  if (const auto* maximum = std::get_if<MaximumBase>(&law.base)) return maximum_cells(*maximum->laws, step, cut);
  LossCells found{{}, 0, step, 0, 0, 0};
  const Mix mix{law.rate};
  const auto bounds = range(law, cut);
  const double largest = std::max(std::abs(bounds.least), std::abs(bounds.largest)) + step;
  const bool reversed = law.mixing == Mixing::added;
  const double mixing_error = law.rate == 1 ? 0 : 16 * unit * (2 + largest - std::log(law.rate));
  if (const auto* gaussian = std::get_if<GaussianBase>(&law.base)) {
    const GaussianShape shape{*gaussian};
    const auto at = gaussian_cut(*gaussian, law.mixing, law.rate, cut);
    found.loss_error =
        shape.error(largest - std::log(law.rate), std::max(std::abs(at.low), std::abs(at.high))) + mixing_error + 4 * unit * largest;
    // Each component leaves at most e^(-t^2 / 2) beyond t; the margin covers the rounding of the ends.
    found.cut_above = std::exp(static_cast<long double>(cut.log_above)) * 1.0000001L;
    found.cut_below = std::exp(static_cast<long double>(cut.log_below)) * 1.0000001L;
    if (law.mixing == Mixing::symmetric) found.cut_below += found.cut_above;
    if (law.mixing == Mixing::symmetric) {
      // Loss 0 is at t = multiplier^-1 / 2, exactly where fl says within the loss error. Beyond it the mixed pair, and its mirror image.
      const double zero = 0.5 * shape.inverse;
      std::vector<LossCell> mirror;
      add_continuous(mirror, shape, mix, true, 0, step, zero, at.high);
      std::vector<LossCell> right;
      add_continuous(right, shape, mix, false, 0, step, zero, at.high);
      // P-mass of loss 0, all that is neither above nor below: (1 - rate) (1 - 2 tail), where tail = Q(t > 1 / (2 multiplier)).
      const double tail = 0.5 * std::erfc(0.5 * shape.inverse * 0.70710678118654752440);
      const double rest = mix.rest * (1 - 2 * tail);
      found.cells = std::move(mirror);
      if (rest > 0) found.cells.push_back({0, 0, rest, 0, 0, 4 * unit});
      if (rest > 0) found.cells.back().mass_error = 16 * unit * (1 + shape.inverse * shape.inverse) / std::max(1 - 2 * tail, unit);
      found.cells.insert(found.cells.end(), right.begin(), right.end());
    } else if (law.mixing == Mixing::opposite) {
      const OppositeShape pair{shape, mix};
      found.loss_error = pair.error(largest, std::max(std::abs(at.low), std::abs(at.high)));
      add_opposite(found.cells, pair, step, at.low, at.high);
    } else {
      add_continuous(found.cells, shape, mix, reversed, 0, step, at.low, at.high);
    }
  } else {
    const auto atoms = atoms_of(law.base);
    std::vector<LossCell> pieces;
    found.anchor = mixed(reversed ? atoms.front() : atoms.back(), mix, reversed).loss;
    for (const auto& atom : atoms) found.loss_error = std::max(found.loss_error, mixed(atom, mix, reversed).loss_error);
    found.loss_error = 32 * (found.loss_error + unit * largest) + mixing_error;
    for (const auto& atom : atoms) {
      const auto at = mixed(atom, mix, reversed);
      add_atom(pieces, at.loss, at.loss_error, at.mass, at.mass_error, found.anchor, step);
    }
    if (const auto* laplace = std::get_if<LaplaceBase>(&law.base)) {
      const LaplaceShape shape{*laplace};
      found.loss_error += 2 * shape.error(0, 0);
      add_continuous(pieces, shape, mix, reversed, found.anchor, step, -shape.inverse, shape.inverse);
    }
    std::stable_sort(pieces.begin(), pieces.end(),
                     [](const LossCell& a, const LossCell& b) { return a.index != b.index ? a.index < b.index : a.excess < b.excess; });
    found.cells = std::move(pieces);
  }
  if (law.infinite_mass > 0) {
    const double finite = 1 - law.infinite_mass;
    for (auto& cell : found.cells) {
      cell.mass *= finite;
      cell.mass_error += 2 * unit;
    }
  }
  return found;
}

}  // namespace surety::accounting
