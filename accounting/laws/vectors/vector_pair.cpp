#include <surety/accounting/laws/vectors/vector_pair.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <surety/accounting/laws/vectors/vector_cells.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::laws {
namespace {

constexpr int radii = 800;
constexpr int places = 800;  // of the first coordinate, on either side

Upper root(Upper x, double r) {
  if (r == 1) return x;
  return r == 2 ? sqrt(x) : exp(log(x) / Exact{r});
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
  const double most = longest_vector(noise);
  const VectorCells radius = vector_radius_cells(noise, radii, terms.mass_below);
  const VectorCells place = vector_place_cells(noise, places, terms.mass_below);
  const auto loss = [&](double t, double last_t, double u) { return loss_at(noise, t, last_t, u); };
  // Losses of a norm's noise lie within 1 / b; those of the other kind within what the furthest cells have.
  const double end = noise.is_squared ? std::max(std::abs(loss(most, most, 1)), std::abs(loss(most, most, -1))) : 1 / noise.scale;
  // Norms of many powers leave the range of double: of their cells nothing is known, and they are left out.
  if (!(end > 0 && std::isfinite(end))) return {};
  VectorLosses losses{end};
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
        losses.add(l, mass);
      }
    }
  }
  return losses.atoms();
}

}  // namespace surety::accounting::laws
