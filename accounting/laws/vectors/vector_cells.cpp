#include <surety/accounting/laws/vectors/vector_cells.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include <mpfr.h>

#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/checked_cast.h>

namespace surety::accounting::laws {
namespace {

/// Masses below e^-this are left out.
constexpr double log_cut = 100;
constexpr int most_atoms = 4000;

std::vector<double> evenly(double first, double last, int count) {
  std::vector<double> ends;
  for (int i = 0; i <= count; ++i) ends.push_back(first + (last - first) * i / count);
  return ends;
}
/// \param log_density its logarithm from below, concave between the ends, or rising and convex where `rises`.
template <class LogDensity>
VectorCells cells_of(std::vector<double> ends, bool rises, bool mass_below, LogDensity log_density) {
  VectorCells found{std::move(ends), {}};
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

}  // namespace

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

double longest_vector(const VectorNoise& noise) {
  const double d = noise.dimension;
  const double middle = noise.is_squared ? std::sqrt(d) : d;
  const double spread = noise.is_squared ? 1 : std::sqrt(d);
  return noise.scale * (middle + 7 * spread + (noise.is_squared ? 2 : 40)) + 1;
}

VectorCells vector_radius_cells(const VectorNoise& noise, int count, bool mass_below) {
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
  return cells_of(evenly(std::max(0.0, noise.scale * (middle - 7 * spread) - 1), longest_vector(noise), count), false, mass_below,
                  log_radius);
}

VectorCells vector_place_cells(const VectorNoise& noise, int places, bool mass_below) {
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

VectorLosses::VectorLosses(double end) : end_{end}, sums_(most_atoms + 1) {}

void VectorLosses::add(double loss, Lower mass) {
  if (!std::isfinite(loss)) return;
  const double index = std::floor((loss / end_ + 1) * 0.5 * most_atoms);
  auto& sum = sums_[size_of(std::clamp(index, 0.0, static_cast<double>(most_atoms)))];
  sum.p += (mass * exp(Lower{Exact{loss}})).value();
  sum.q += mass.value();
  sum.count += 1;
}

AtomsBase VectorLosses::atoms() const {
  AtomsBase found{{}, 0, 0};
  for (const auto& sum : sums_) {
    const Lower p = Lower::of_sum(sum.p, sum.count);
    if (p.value() > 0) found.atoms.push_back({log(p / Upper::of_sum(sum.q, sum.count)).value(), p.value()});
  }
  std::sort(found.atoms.begin(), found.atoms.end(), [](const auto& x, const auto& y) { return x.loss < y.loss; });
  return found;
}

}  // namespace surety::accounting::laws
