#include <surety/accounting/laws/vectors/moved_vector.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <mpfr.h>

#include <surety/accounting/laws/finite/polygon_law.h>
#include <surety/base/numbers/ball.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::laws {
namespace {

constexpr int radii = 800;
constexpr int places = 800;  // of the share of the coordinate that moves, on either side
constexpr int bins = 2000;   // of losses, on either side
/// Places are cut where about e^-this is left.
constexpr double log_cut = 100;

double log_gamma_below(double x) {
  mpfr_t value;
  mpfr_init2(value, 53);
  mpfr_set_d(value, x, MPFR_RNDN);
  int sign = 0;
  mpfr_lgamma(value, &sign, value, MPFR_RNDD);
  const double found = mpfr_get_d(value, MPFR_RNDN);
  mpfr_clear(value);
  return found;
}
double log_gamma_above(double x) { return std::nextafter(log_gamma_below(x), infinity); }

/// Cells of one coordinate: their ends, at least the probability of each, and of what they leave.
struct Cells {
  std::vector<double> ends;
  std::vector<Upper> masses;
  Upper rest{0};
};
/// Of a log-concave density. \param log_density its logarithm from above; \param slope that of the logarithm, which falls.
template <class LogDensity, class Slope>
Cells cells_of(double first, double last, int count, bool mass_above, LogDensity log_density, Slope slope) {
  Cells found;
  for (int i = 0; i <= count; ++i) found.ends.push_back(first + (last - first) * i / count);
  for (std::size_t i = 0; i + 1 < found.ends.size(); ++i) {
    const double from = found.ends[i];
    const double to = found.ends[i + 1];
    // Below the tangent somewhere about its middle: of r to either side 2 r sinh(y) / y, at most 2 r e^(y^2 / 6), y the slope times r.
    const double middle = from + 0.5 * (to - from);
    const Upper to_side = max(Upper{Exact{to}} - Exact{middle}, Upper{Exact{middle}} - Exact{from});
    const Ball at_middle = slope(middle);
    const Upper steepest = max(at_middle.upper(), -at_middle.lower());
    const Upper tilted = to_side * max(steepest, Upper{0});
    Upper mass = Exact{2} * to_side * exp(log_density(middle) + tilted * tilted / Exact{6});
    // Away from the peak at most the larger of the ends.
    const bool rises = slope(to).lower().value() > 0;
    const bool falls = slope(from).upper().value() < 0;
    if (rises || falls) mass = min(mass, (Upper{Exact{to}} - Exact{from}) * exp(log_density(rises ? to : from)));
    found.masses.push_back(mass_above ? mass : mass * Exact{0.98});
  }
  return found;
}

/// A log-concave density leaves at most its value over its slope beyond a point where that leads away.
Upper beyond(Upper log_density, Lower slope) { return slope.value() > 0 ? exp(log_density) / slope : Upper{1}; }

/// The length: t^(d - 1) e^(-t / b) / (b^d Gamma(d)).
Cells radius_cells(double d, double scale, bool mass_above) {
  const Exact b{scale};
  const Lower log_all = Exact{d} * log(Lower{b}) + Lower::claim(log_gamma_below(d));
  const auto log_radius = [&](double t) { return Exact{d - 1} * log(Upper{Exact{t}}) - Lower{Exact{t}} / Upper{b} - log_all; };
  const auto radius_slope = [&](double t) { return Ball{Exact{d - 1}} / Exact{t} - Ball{1} / b; };
  const double least = std::max(0.0, scale * (d - 12 * std::sqrt(d)));
  const double most = scale * (d + 7 * std::sqrt(d) + 40);
  Cells radius = cells_of(least, most, radii, mass_above, log_radius, radius_slope);
  radius.rest = beyond(log_radius(most), (-radius_slope(most)).lower());
  if (least > 0) radius.rest += beyond(log_radius(least), radius_slope(least).lower());
  return radius;
}

/// The share u of the coordinate that moves: (1 - u^2)^((d - 3) / 2) / B(1/2, (d - 1)/2), here of either sign.
Cells place_cells(double d, bool mass_above) {
  const double exponent = 0.5 * (d - 3);
  const Lower log_beta =
      Lower::claim(log_gamma_below(0.5)) + Lower::claim(log_gamma_below(0.5 * (d - 1))) - Upper::claim(log_gamma_above(0.5 * d));
  const auto log_place = [&](double u) { return Exact{exponent} * log(max(Upper{1} - Lower{Exact{u}} * Exact{u}, Upper{0})) - log_beta; };
  const auto place_slope = [&](double u) {
    return -(Exact{2 * exponent} * Ball{Exact{u}} / ((Ball{1} - Exact{u}) * (Ball{1} + Exact{u})));
  };
  const double furthest = exponent > 0 ? std::sqrt(-std::expm1(-log_cut / exponent)) : 1.0;
  Cells place = cells_of(0, furthest, places, mass_above, log_place, place_slope);
  place.rest = (Upper{1} - Exact{furthest}) * exp(log_place(furthest));
  return place;
}

struct Sum {
  double p = 0;
  double q = 0;
  double count = 0;
};

/// The curve where bins begin, told a few units further on: what is in a later bin lies above the lower of the two places, what is in none below the
/// other. Masses are what they are, and each sum of them is rounded outward.
LossLaw law_of(const std::vector<Sum>& sums, Upper end) {
  constexpr double units_of_place = 8;
  std::vector<Corner> corners{{end.value(), 0}};
  double p = 0;
  double q = 0;
  double count = 0;
  for (std::size_t i = bins; i > 0; --i) {
    p += sums[i].p;
    q += sums[i].q;
    count += sums[i].count + 1;
    const double x = end.value() * static_cast<double>(i - 1) / bins;
    const Upper value = Upper::of_sum(p, count) - exp(Lower::within(x, i > 1 ? units_of_place : 0)) * Lower::of_sum(q, count);
    corners.push_back(
        {i > 1 ? Upper::within(x, units_of_place).value() : 0, static_cast<long double>(std::clamp(value.value(), 0.0, 1.0))});
  }
  std::reverse(corners.begin(), corners.end());
  return polygon_law(corners, +1);
}

}  // namespace

LossLaw moved_vector(double dimension, double scale, const MovedTerms& terms) {
  const Exact b{scale};
  const Cells radius = radius_cells(dimension, scale, terms.mass_above);
  const Cells place = place_cells(dimension, terms.mass_above);
  const Upper end = Upper{1} / Lower{b};
  // (||x|| - ||x - v||) / b, which rises with the length and with the share, as (2 t u - 1) / (t + ||x - v||); at most 1 / b.
  const auto loss = [&](double t, double u) {
    const Ball apart = Ball{Exact{t}} - Exact{u};
    const Ball moved = sqrt(apart * apart + (Ball{1} - Exact{u}) * (Ball{1} + Exact{u}));
    const Ball nearer = (Exact{2} * Ball{Exact{t}} * Exact{u} - Exact{1}) / (Exact{t} + moved);
    return std::min((nearer / b).upper().value(), end.value());
  };
  std::vector<Sum> sums(bins + 1);  // of losses from 0 on
  const auto add = [&](double l, Upper mass) {
    if (!(l > 0)) return;
    auto& sum = sums[size_of(std::clamp(std::ceil(l / end.value() * bins), 1.0, static_cast<double>(bins)))];
    sum.p += (mass * exp(Upper{Exact{l}})).value();
    sum.q += mass.value();
    sum.count += 1;
  };
  PollNowAndThen poll;
  for (std::size_t j = 0; j < radius.masses.size(); ++j) {
    poll();
    const double t = terms.largest_loss ? radius.ends[j + 1] : radius.ends[j];
    for (std::size_t i = 0; i < place.masses.size(); ++i) {
      const Upper mass = radius.masses[j] * place.masses[i];
      add(loss(t, terms.largest_loss ? place.ends[i + 1] : place.ends[i]), mass);
      add(loss(t, terms.largest_loss ? -place.ends[i] : -place.ends[i + 1]), mass);
    }
  }
  // What no cell holds has the largest loss of all.
  add(end.value(), radius.rest + Exact{2} * place.rest);
  return law_of(sums, end);
}

}  // namespace surety::accounting::laws
