#include <surety/accounting/laws/pairs/vector_pair.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include <mpfr.h>

#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::privacy_loss {
namespace {

constexpr int radii = 800;
constexpr int places = 800;  // of the first coordinate, on either side
constexpr int atoms = 4000;
/// Masses below e^-this are left out.
constexpr double log_cut = 100;

/// log Gamma, from above (+1) or from below.
double log_gamma(double x, int direction) {
  mpfr_t value;
  mpfr_init2(value, 53);
  mpfr_set_d(value, x, MPFR_RNDN);
  int sign = 0;
  mpfr_lgamma(value, &sign, value, direction > 0 ? MPFR_RNDU : MPFR_RNDD);
  const double found = mpfr_get_d(value, MPFR_RNDN);
  mpfr_clear(value);
  return found;
}

/// x^r of a number that is not negative.
template <class Bound>
Bound power(Bound x, double r) {
  if (r == 1) return x;
  return r == 2 ? x * x : exp(Exact{r} * log(x));
}
Upper root(Upper x, double r) {
  if (r == 1) return x;
  return r == 2 ? sqrt(x) : exp(log(x) / Exact{r});
}

/// Cells of one coordinate: their ends, and no more than the probability of each.
struct Cells {
  std::vector<double> ends;
  std::vector<double> masses;
};
std::vector<double> evenly(double first, double last, int count) {
  std::vector<double> ends;
  for (int i = 0; i <= count; ++i) ends.push_back(first + (last - first) * i / count);
  return ends;
}
/// \param log_density its logarithm from below, concave between the ends, or rising and convex where `rises`.
template <class LogDensity>
Cells cells_of(std::vector<double> ends, bool rises, bool mass_below, LogDensity log_density) {
  Cells found{std::move(ends), {}};
  for (std::size_t i = 0; i + 1 < found.ends.size(); ++i) {
    const Lower at = log_density(found.ends[i]);
    const Lower next = log_density(found.ends[i + 1]);
    const Lower width = Lower{Exact{found.ends[i + 1]}} - Exact{found.ends[i]};
    // Of a log-concave density no more than the geometric mean of its ends.
    const Lower mean = rises ? at : Exact{0.5} * at + Exact{0.5} * next;
    found.masses.push_back((width * exp(mass_below ? mean : max(at, next) + Exact{0.01})).value());
  }
  return found;
}

/// Beyond so long a vector nothing is told of.
double longest(const VectorNoise& noise) {
  const double d = noise.dimension;
  const double middle = noise.is_squared ? std::sqrt(d) : d;
  const double spread = noise.is_squared ? 1 : std::sqrt(d);
  return noise.scale * (middle + 7 * spread + (noise.is_squared ? 2 : 40)) + 1;
}

/// The radius: t^(d - 1) e^(-t / b) / (b^d Gamma(d)), or t^(d - 1) e^(-t^2 / (2 z^2)) / (z^d 2^(d/2 - 1) Gamma(d/2)).
Cells radius_cells(const VectorNoise& noise, bool mass_below) {
  const double d = noise.dimension;
  const Exact scale{noise.scale};
  const Upper log_scale = Exact{d} * log(Upper{scale});
  const Upper log_all = noise.is_squared ? log_scale + Exact{0.5 * d} * log(Upper{2}) - log(Lower{2}) + Upper::claim(log_gamma(0.5 * d, +1))
                                         : log_scale + Upper::claim(log_gamma(d, +1));
  const auto log_radius = [&](double t) {
    const Upper size = Upper{Exact{t}} / scale;
    return Exact{d - 1} * log(Lower{Exact{t}}) - (noise.is_squared ? size * size * Exact{0.5} : size) - log_all;
  };
  const double middle = noise.is_squared ? std::sqrt(d) : d;
  const double spread = noise.is_squared ? 1 : std::sqrt(d);
  return cells_of(evenly(std::max(0.0, noise.scale * (middle - 7 * spread) - 1), longest(noise), radii), false, mass_below, log_radius);
}

/// The share u of the first coordinate: r (1 - |u|^r)^((d - 1)/r - 1) / (2 B(1/r, (d - 1)/r)).
Cells place_cells(const VectorNoise& noise, bool mass_below) {
  const double d = noise.dimension;
  const double r = noise.r;
  const double exponent = (d - 1) / r - 1;
  const Upper log_beta = Upper::claim(log_gamma(1 / r, +1)) + Upper::claim(log_gamma((d - 1) / r, +1)) - Lower::claim(log_gamma(d / r, -1));
  const auto log_place = [&](double u) {
    const Lower left = Lower{1} - power(Upper{Exact{u}}, r);
    const Lower of_left = exponent >= 0 ? Exact{exponent} * log(max(left, Lower{0}))
                                        : -(Exact{-exponent} * log(max(Upper{1} - power(Lower{Exact{u}}, r), Upper{0})));
    return of_left + log(Lower{Exact{r}}) - log(Upper{2}) - log_beta;
  };
  const double furthest = std::pow(-std::expm1(-log_cut * r / (d - 1)), 1 / r);
  std::vector<double> ends = evenly(0, std::min(furthest, 1.0), places);
  if (exponent < 0) {
    // Where the density has no end at 1: cells of about one mass as well.
    for (int i = 1; i < places; ++i) ends.push_back(std::pow(1 - std::pow(1 - static_cast<double>(i) / places, r / (d - 1)), 1 / r));
    std::sort(ends.begin(), ends.end());
  }
  return cells_of(std::move(ends), exponent < 0, mass_below, log_place);
}

/// The loss rises with the first coordinate, and ||x|| - ||x - e_1|| with the radius, too: from below where the radius is `t` to `last_t`.
double loss_at(const VectorNoise& noise, double t, double last_t, double u) {
  const double r = noise.r;
  const Exact scale{noise.scale};
  const Exact at{t};
  const Exact size{std::abs(u)};
  const Upper moved = u <= 0 ? Upper{1} + Upper{at} * size : max(Upper{at} * size - Exact{1}, Exact{1} - Lower{at} * size);
  const Upper rest = power(Upper{at}, r) * max(Upper{1} - power(Lower{size}, r), Upper{0});
  const Lower nearer = Lower{at} - root(rest + power(max(moved, Upper{0}), r), r);
  if (!noise.is_squared) return (nearer / scale).value();
  // (||x|| - ||x - e_1||)(||x|| + ||x - e_1||)
  const double a = nearer.value();
  const Lower product = a >= 0 ? Lower{Exact{a}} * max(Lower{2} * Exact{t} - Exact{a}, Lower{0})
                               : -(Upper{Exact{-a}} * (Upper{2} * Exact{last_t} - Exact{a}));
  return (product / scale / scale * Exact{0.5}).value();
}

}  // namespace

AtomsBase vector_pair(const VectorNoise& noise, const VectorTerms& terms) {
  const double most = longest(noise);
  const Cells radius = radius_cells(noise, terms.mass_below);
  const Cells place = place_cells(noise, terms.mass_below);
  const auto loss = [&](double t, double last_t, double u) { return loss_at(noise, t, last_t, u); };
  // Losses of a norm's noise lie within 1 / b; those of the other kind within what the furthest cells have.
  const double end = noise.is_squared ? std::max(std::abs(loss(most, most, 1)), std::abs(loss(most, most, -1))) : 1 / noise.scale;
  // Norms of many powers leave the range of double: of their cells nothing is known, and they are left out.
  if (!(end > 0 && std::isfinite(end))) return {};
  struct Mass {
    double p = 0;
    double q = 0;
    double count = 0;
  };
  std::vector<Mass> sums(atoms + 1);
  PollNowAndThen poll;
  for (std::size_t j = 0; j < radius.masses.size(); ++j) {
    poll();
    const double t = radius.ends[j];
    const double next_t = radius.ends[j + 1];
    for (std::size_t i = 0; i < place.masses.size(); ++i) {
      const Lower mass = Lower{Exact{radius.masses[j]}} * Exact{place.masses[i]};
      if (!(mass.value() > 0)) continue;
      for (const double u : {place.ends[i], -place.ends[i + 1]}) {
        const double l = terms.least_loss ? loss(t, next_t, u) : loss(next_t, next_t, u + (place.ends[i + 1] - place.ends[i]));
        if (!std::isfinite(l)) continue;
        const double index = std::floor((l / end + 1) * 0.5 * atoms);
        auto& sum = sums[size_of(std::clamp(index, 0.0, static_cast<double>(atoms)))];
        sum.p += (mass * exp(Lower{Exact{l}})).value();
        sum.q += mass.value();
        sum.count += 1;
      }
    }
  }
  AtomsBase found{{}, 0, 0};
  for (const auto& sum : sums) {
    const Lower p = Lower::of_sum(sum.p, sum.count);
    if (p.value() > 0) found.atoms.push_back({log(p / Upper::of_sum(sum.q, sum.count)).value(), p.value()});
  }
  std::sort(found.atoms.begin(), found.atoms.end(), [](const auto& x, const auto& y) { return x.loss < y.loss; });
  return found;
}

}  // namespace surety::accounting::privacy_loss
