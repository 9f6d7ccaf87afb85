#include <surety/accounting/laws/vectors/smooth_vector.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>

#include <surety/accounting/laws/finite/polygon_law.h>
#include <surety/base/numbers/ball.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::laws {
namespace {

constexpr double least_power = 1e-300;  // of a test, that is looked at
constexpr int places_of_slope = 40;     // in a root of the curvature, at least
constexpr std::size_t most_corners = 8000;
constexpr std::size_t steepest_tilts = 44;
constexpr double ratio_of_shares = 1.004;

// Proved: docs/proofs/vector-noise.md#steepness
/// log Gamma of a number that may be rounded by a unit.
Upper log_gamma_above(double x) {
  const double before = std::nextafter(x, 0);
  const double after = std::nextafter(x, infinity);
  return Upper::claim(std::max(log_gamma(before, +1), log_gamma(after, +1)));
}
Lower log_gamma_below(double x) {
  const double before = std::nextafter(x, 0);
  const double after = std::nextafter(x, infinity);
  return Lower::claim(std::nextafter(std::min(log_gamma(before, -1), log_gamma(after, -1)), -infinity));
}

/// E(X - at)_+ of X ~ N(0, variance), and how it rises with the variance.
struct NormalHinge {
  Ball value;
  Ball slope;
};
NormalHinge normal_hinge(Ball variance, double at) {
  const Ball root = sqrt(variance);
  const Ball places = Ball{Exact{at}} / root;
  const Ball density = exp(-(places * places * Exact{0.5})) / sqrt(Ball{Exact{2}} * Ball::rounded(std::numbers::pi));
  const Ball beyond = erfc(places / sqrt(Ball{2})) * Exact{0.5};
  return {root * density - beyond * Exact{at}, density / root * Exact{0.5}};
}

/// The variances M of the mixture sqrt(M) N that |g|^(r - 1), of either sign, is; g of density proportional to e^-|g|^r.
class Variances {
 public:
  explicit Variances(double r) : r_{r} {
    const Lower all = log_gamma_below(1 / r);
    for (double k = 1; k <= most_terms; ++k)
      coefficients_.push_back(exp(log_gamma_above((2 * k * (r - 1) + 1) / r) - all - log_gamma_below(2 * k + 1)));
  }
  /// E M
  [[nodiscard]] Upper mean() const { return Exact{2} * coefficients_.front(); }

  /// log E e^(tilt M), if the terms come to an end.
  [[nodiscard]] Upper log_mean_of_exponential(Upper tilt) const {
    const Upper doubled = Exact{2} * tilt;
    Upper sum{0};
    Upper powers{1};
    for (std::size_t i = 0; i < coefficients_.size(); ++i) {
      powers = powers * doubled;
      const Upper term = coefficients_[i] * powers;
      sum += term;
      if (!(sum.value() < 1e280)) break;
      if (term.value() > 1e-18 * sum.value()) continue;
      // A term over the one before it, which falls from here on.
      const double k = static_cast<double>(i + 1);
      const Upper ratio = doubled * exp(log(Upper{Exact{2 * k + 2}}) * (Upper{1} - Lower{2} / Upper{Exact{r_}})) / Exact{2 * k + 1};
      if (ratio.value() <= 0.5) return log1p(sum + term);
    }
    return Upper::claim(infinity);
  }

 private:
  static constexpr double most_terms = 400;
  double r_;
  std::vector<Upper> coefficients_;
};

/// At least log E e^(tilt V) of V = sum of q_i M_i for all q_i >= 0 of which the sum of q_i^(r/2) is at most 1.
Upper largest_log_mean(const Variances& variances, double r, double moved, double tilt) {
  const auto of_share = [&](Upper share) { return variances.log_mean_of_exponential(Exact{tilt} * exp(log(share) * Exact{2} / Exact{r})); };
  // Any slope is right; this is that of the logarithm where all shares are alike.
  const double alike = 1 / moved;
  const double here = of_share(Exact{alike}).value();
  const double apart = alike / 64;
  const double further = of_share(Exact{alike + apart}).value();
  const double slope = (further - here) / apart;
  if (!(slope >= 0 && std::isfinite(slope))) return Upper::claim(infinity);
  double from = 0;
  double to = 1e-3 * alike;
  Upper most{0};
  PollNowAndThen poll;
  while (from < 1) {
    poll();
    most = max(most, of_share(Exact{to}) - Lower{Exact{slope}} * Exact{from});
    if (!std::isfinite(most.value())) return most;
    from = to;
    to = std::min(1.0, ratio_of_shares * to);
  }
  return Exact{moved} * most + Exact{slope};
}

/// e^(tilt V) at most in the mean, of every V.
struct Tilt {
  double tilt;
  Upper log_mean;
};

/// What is known of all sums V, of so many coordinates that move: by multiples of e^(tilt V) that lie above what is asked.
class MixedVariances {
 public:
  MixedVariances(double r, double moved) {
    const Variances variances{r};
    mean_ = variances.mean().value() * std::pow(moved, 1 - 2 / r);
    for (std::size_t i = 0; i < steepest_tilts; ++i) {
      const double tilt = 0.004 / mean_ * std::pow(1.25, static_cast<double>(i));
      const Upper log_mean = largest_log_mean(variances, r, moved, tilt);
      if (std::isfinite(log_mean.value())) tilts_.push_back({tilt, log_mean});
    }
    for (double where = 0.5 * mean_; where < 8 * mean_; where *= 1.03) {
      places_.push_back(where);
      for (const auto& known : tilts_) {
        const double place = known.tilt * where;
        touches_.push_back({.tilt = &known,
                            .where = where,
                            .grown = std::expm1(known.log_mean.value() - place) / known.tilt,
                            .at_nothing = std::expm1(-place) / known.tilt,
                            .crossed = place * where + 0.5 * where});
      }
    }
  }
  MixedVariances(const MixedVariances&) = delete;
  MixedVariances& operator=(const MixedVariances&) = delete;

  /// log of at least the largest E V^k: V^k is at most (k / (e tilt))^k e^(tilt V).
  [[nodiscard]] Upper log_moment(double k) const {
    Upper least = Upper::claim(infinity);
    for (const auto& [tilt, log_mean] : tilts_) least = min(least, log_mean + Exact{k} * (log(Upper{Exact{k}} / Exact{tilt}) - Exact{1}));
    return least;
  }

  /// At least the largest E of normal_hinge(V, at): a multiple of e^(tilt V) and a constant.
  [[nodiscard]] Upper hinge(double at) const {
    double least = infinity;
    const Touch* best = nullptr;
    const Touch* touch = touches_.data();
    for (const double where : places_) {
      const double root = std::sqrt(where);
      const double density = std::exp(-0.5 * at * at / where) / std::sqrt(2 * std::numbers::pi);
      const double value = root * density - 0.5 * at * std::erfc(at / root / std::numbers::sqrt2);
      const double slope = 0.5 * density / root;
      for (std::size_t i = 0; i < tilts_.size(); ++i, ++touch) {
        const double bound = value + slope * touch->grown;
        if (bound >= least || touch->crossed < 0.5 * at * at || value + slope * touch->at_nothing < 1e-9 * value) continue;
        least = bound;
        best = touch;
      }
    }
    return best != nullptr ? above(*best->tilt, best->where, at) : Upper::claim(infinity);
  }

 private:
  /// A e^(tilt V) + D that touches the hinge at a variance, if it lies above it at every other.
  static Upper above(const Tilt& tilt, double where, double at) {
    const NormalHinge hinge = normal_hinge(Ball{Exact{where}}, at);
    const Ball scaled = hinge.slope / Exact{tilt.tilt};
    const Ball place = Ball{Exact{tilt.tilt}} * Exact{where};
    const Ball crossed = place * Exact{where} + Exact{0.5} * (Ball{Exact{where}} - Ball{Exact{at}} * Exact{at});
    const Ball at_nothing = hinge.value + scaled * expm1(-place);
    if (crossed.lower().value() < 0 || at_nothing.lower().value() < 0) return Upper::claim(infinity);
    const Upper grown = expm1(tilt.log_mean - place.lower());
    return hinge.value.upper() + (grown.value() >= 0 ? scaled.upper() * grown : -(scaled.lower() * Lower::claim(-grown.value())));
  }

  /// Where a multiple of e^(tilt V) may touch, and what it comes to there for a slope of 1: in the mean, and at V = 0.
  struct Touch {
    const Tilt* tilt;
    double where;
    double grown;
    double at_nothing;
    double crossed;
  };

  double mean_;
  std::vector<Tilt> tilts_;
  std::vector<double> places_;
  std::vector<Touch> touches_;
};

/// log of at least E S^(2k), k = 1, 2, .., where the scale is 1.
std::vector<Upper> log_moments(double r, double d, const MixedVariances& variances) {
  constexpr double most_moments = 80;
  std::vector<Upper> found;
  for (double k = 1; k <= most_moments; ++k) {
    const Upper normal = Exact{k} * log(Upper{2}) + log_gamma_above(k + 0.5) - log_gamma_below(0.5);
    const Upper radius = Exact{k} * log(Upper{2}) + log_gamma_above(0.5 * d + k) - log_gamma_below(0.5 * d);
    const Lower told = log_gamma_below((d + 2 * k * (r - 1)) / r) - log_gamma_above(d / r);
    found.push_back(normal + variances.log_moment(k) + radius - told);
  }
  return found;
}

/// At least E(S - at)_+ by them: s^(2k) / (4 k t^(2k - 1)), t = 2 k at / (2 k - 1), touches half of |s| - at.
Upper hinge_of_moments(const std::vector<Upper>& logs, Lower at) {
  if (!(at.value() > 0)) return Upper::claim(infinity);
  Upper least = Upper::claim(infinity);
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const double k = static_cast<double>(i + 1);
    const Lower touched = Exact{2 * k} * at / Exact{2 * k - 1};
    least = min(least, logs[i] - log(Lower{Exact{4 * k}}) - Exact{2 * k - 1} * log(touched));
  }
  return exp(least);
}

/// E R / E t of t^2 ~ Gamma(d/r), R = t^((r - 1)/r) here and a radius of chi there.
Upper ratio_of_radii(double r, double d) {
  const Upper above = Exact{0.5} * log(Upper{2}) + log_gamma_above(0.5 * (d + 1)) + log_gamma_above(d / r);
  const Lower below = log_gamma_below(0.5 * d) + log_gamma_below((d + r - 1) / r);
  return exp(above - below);
}

Upper curvature_of(const VectorNoise& noise) { return Upper{Exact{noise.r}} - Exact{1}; }

/// Lines u -> slope u + offset, of slopes that are multiples of a step, all of them above how fast the power u of a test grows.
class Lines {
 public:
  Lines(double step, std::vector<Upper> beyond) : step_{step}, beyond_{std::move(beyond)} {}
  [[nodiscard]] int last() const { return static_cast<int>(beyond_.size()) - 1; }
  [[nodiscard]] double slope(int j) const { return step_ * j; }
  [[nodiscard]] Upper at(int j, double u) const {
    const Upper beyond = beyond_[static_cast<std::size_t>(std::abs(j))];
    if (j >= 0) return beyond + Upper{Exact{slope(j)}} * Exact{u};
    return beyond + Exact{-slope(j)} * (Upper{1} - Exact{u});
  }
  /// About the least one at u, which lies at `from` or before it.
  [[nodiscard]] int least(double u, int from) const {
    constexpr int ahead = 8;
    for (int j = from - 1; j >= std::max(-last(), from - ahead); --j) {
      if (at(j, u).value() <= at(from, u).value()) return least(u, j);
    }
    return from;
  }

 private:
  double step_;
  std::vector<Upper> beyond_;
};

/// The power of a test that grows along lines, in steps of which `steps` are one move, and the lines that it took.
struct Growth {
  std::vector<double> powers;
  std::vector<int> lines;
};
Growth growth_of(const Lines& lines, int steps) {
  Growth found;
  const double time = 1.0 / steps;
  const auto rise = [&](int j) {
    const double slope = lines.slope(j);
    if (j == 0) return Upper{Exact{time}};
    return j > 0 ? expm1(Upper{Exact{slope * time}}) / Exact{slope} : (Upper{0} - expm1(Lower{Exact{slope * time}})) / Exact{-slope};
  };
  int line = lines.last();
  double u = least_power;
  PollNowAndThen poll;
  // As far as where the loss is 0, which is halfway.
  for (int after = 0; after<2 * steps; after += u> 0.5 ? 1 : 0) {
    poll();
    line = lines.least(u, line);
    line = lines.least(u + 0.5 * time * lines.at(line, u).value(), line);
    found.powers.push_back(u);
    found.lines.push_back(line);
    u = std::min(1.0, (Upper{Exact{u}} + lines.at(line, u) * rise(line)).value());
  }
  found.powers.push_back(u);
  return found;
}

/// The curve at the losses that `growth` has, by rising loss.
std::vector<Corner> corners_of(const Growth& growth, double step, int steps) {
  std::vector<Corner> found;
  const auto ahead = static_cast<std::size_t>(steps);
  long sum = 0;
  for (std::size_t i = 0; i < growth.lines.size(); ++i) {
    sum += growth.lines[i];
    if (i + 1 < ahead) continue;
    const std::size_t k = i + 1 - ahead;
    if (k > 0) sum -= growth.lines[k - 1];
    if (sum < 0) break;
    const double loss = step * static_cast<double>(sum) / steps;
    const Upper value = Upper{Exact{growth.powers[i + 1]}} - exp(Lower{Exact{loss}}) * Exact{growth.powers[k]};
    // By falling loss.
    if (!found.empty() && !(loss < found.back().loss && value.value() > static_cast<double>(found.back().value))) continue;
    found.push_back({loss, static_cast<long double>(std::clamp(value.value(), 0.0, 1.0))});
  }
  std::reverse(found.begin(), found.end());
  if (found.size() <= most_corners) return found;
  std::vector<Corner> some;
  const std::size_t stride = found.size() / most_corners + 1;
  for (std::size_t i = 0; i < found.size(); i += stride) some.push_back(found[i]);
  if (some.back().loss < found.back().loss) some.push_back(found.back());
  return some;
}

/// The same law with all of its losses below 0, of which a polygon has only those of no tiny mass, and with tails that may be cut.
LossLaw with_both_sides(LossLaw law) {
  auto& base = std::get<AtomsBase>(law.base);
  base.has_tails = true;
  const auto is_mirrored = [&](const AtomsBase::Atom& atom) { return !base.atoms.empty() && base.atoms.front().loss <= -atom.loss; };
  std::vector<AtomsBase::Atom> more;
  Upper lost{Exact{law.infinite_mass}};
  while (!base.atoms.empty() && !is_mirrored(base.atoms.back())) {
    const auto atom = base.atoms.back();
    base.atoms.pop_back();
    const Upper mirrored = Upper{Exact{atom.mass}} * exp(Upper{Exact{-atom.loss}});
    if (mirrored.value() > 1e-300) {
      more.push_back({-atom.loss, mirrored.value()});
      more.push_back(atom);
    } else {
      lost += Upper{Exact{2 * atom.mass}};
    }
  }
  base.atoms.insert(base.atoms.end(), more.begin(), more.end());
  std::sort(base.atoms.begin(), base.atoms.end(), [](const auto& x, const auto& y) { return x.loss < y.loss; });
  law.infinite_mass = lost.value();
  return law;
}

}  // namespace

std::vector<Upper> steepness_beyond(const VectorNoise& noise, const std::vector<double>& at, const SmoothTerms& terms) {
  const Exact z{noise.scale};
  const Ball variance = (Ball{Exact{noise.r}} - Exact{1}) / z / z;
  const double moved = terms.all_coordinates ? noise.dimension : 1;
  const MixedVariances variances{noise.r, moved};
  const auto moments = log_moments(noise.r, noise.dimension, variances);
  const Upper scale = ratio_of_radii(noise.r, noise.dimension) / z;
  std::vector<Upper> found;
  // Further out moments say more.
  constexpr double furthest = 6;
  for (const double x : at) {
    const Lower of_unit_scale = Lower{Exact{x}} * z;
    Upper hinge = hinge_of_moments(moments, of_unit_scale) / z;
    if (terms.all_coordinates) hinge = min(hinge, normal_hinge(variance, x).value.upper());
    if (x < furthest * std::sqrt(variance.value())) hinge = min(hinge, scale * variances.hinge((Lower{Exact{x}} / scale).value()));
    found.push_back(hinge);
  }
  return found;
}

LossLaw smooth_vector(const VectorNoise& noise, const SmoothTerms& terms) {
  const double root = std::sqrt(noise.r - 1) / noise.scale;
  // Powers of two, so that their multiples are exact.
  const double step = std::exp2(std::floor(std::log2(root / places_of_slope)));
  const int steps = static_cast<int>(std::exp2(std::max(0.0, std::ceil(std::log2(64 * root)))));
  constexpr double furthest = 38.5;
  std::vector<double> slopes;
  for (double j = 0; j * step < furthest * root; ++j) slopes.push_back(j * step);
  const Lines lines{step, steepness_beyond(noise, slopes, terms)};
  auto corners = corners_of(growth_of(lines, steps), step, terms.whole_move ? steps : std::max(1, steps / 2));
  // Beyond them at most what curvature alone leaves: the mass of a normal law beyond a place.
  const Upper most = sqrt(curvature_of(noise)) / Exact{noise.scale};
  for (double place = 1; place < furthest; place += 1) {
    const double loss = corners.back().loss + root * place;
    const Lower beyond = (Lower{Exact{loss}} / most - Exact{0.5} * most) / sqrt(Upper{2});
    const auto value = static_cast<long double>((Exact{0.5} * erfc(beyond)).value());
    if (value < corners.back().value) corners.push_back({loss, value});
  }
  return with_both_sides(with_infinite(polygon_law(corners, +1), corners.back().value));
}
// Proved so far.

}  // namespace surety::accounting::laws
