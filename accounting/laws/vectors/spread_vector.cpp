#include <surety/accounting/laws/vectors/spread_vector.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::laws {
namespace {

constexpr double most_moved = 100;
constexpr int radii = 1600;
constexpr int places = 200;                  // of a coordinate, on either side
constexpr double places_of_rising = 10'000;  // of all whose density rises
constexpr int slopes = 600;                  // that are told apart

// Proved: docs/proofs/vector-noise.md#spread
/// x^(a / r), of a number that is not negative.
template <class Bound>
Bound power(Bound x, double a, double r) {
  return exp(log(x) * Exact{a} / Exact{r});
}

/// An event of the direction u: no more than its probability; of the sum of |u_i|^(r-1) sgn(u_i) over what moves no more than the mean, and of that of
/// |u_i|^(r-2) no less.
struct Direction {
  double mass;
  double slope;
  double bend;
};

/// A cell of the size of one coordinate, on one side: bounds on means of its powers and of what is left to the others.
struct Place {
  double mass;
  double least_slope;  ///< of u^(r-1)
  double most_slope;
  double bend;        ///< of u^(r-2), from above
  double least_left;  ///< of (1 - u^r)^((r-1)/r)
  double most_left;
  double bend_of_left;  ///< of (1 - u^r)^((r-2)/r), from above
};

Place place_of(double r, double dimension, double first, double last, double mass) {
  const auto slope = [&](auto at) { return power(at, r - 1, 1); };
  const auto left_below = [&](double u) { return max(Lower{1} - power(Upper{Exact{u}}, r, 1), Lower{0}); };
  const auto left_above = [&](double u) { return max(Upper{1} - power(Lower{Exact{u}}, r, 1), Upper{0}); };
  const auto share_below = [&](double u) { return power(left_below(u), r - 1, r); };
  const auto share_above = [&](double u) { return power(left_above(u), r - 1, r); };
  const double middle = first + (last - first) / 2;
  Place place{.mass = mass,
              .least_slope = 0,
              .most_slope = slope(Upper{Exact{last}}).value(),
              .bend = 0,
              .least_left = 0,
              .most_left = share_above(first).value(),
              .bend_of_left = 0};
  place.bend = power(Upper{Exact{last}}, r - 2, 1).value();
  place.bend_of_left = power(left_above(first), r - 2, r).value();
  const Lower at_middle = slope(Lower{Exact{middle}}) - Exact{share_of_units(8.0)};
  const double exponent = (dimension - 1) / r - 1;
  if (exponent < 0) {
    // The density rises.
    place.least_slope = max(at_middle, Lower{0}).value();
    place.least_left = share_below(last).value();
    return place;
  }
  // It falls, by no more than this share of itself.
  const double at_most = exponent + share_of_units(8.0) * (dimension / r + 1);
  const Lower kept = power(left_below(last) / left_above(first), at_most, 1);
  const Lower from{slope(Lower{Exact{first}})};
  const Lower rise = max(at_middle - slope(Upper{Exact{first}}), Lower{0});
  place.least_slope = (from + kept * rise).value();
  place.most_slope = (Exact{0.5} * (slope(Upper{Exact{first}}) + slope(Upper{Exact{last}}))).value();
  place.least_left = (Exact{0.5} * (share_below(first) + share_below(last))).value();
  const double mean = (Lower{Exact{first}} + kept * (Lower{Exact{middle}} - Exact{first})).value();
  place.most_left = std::min(place.most_left, share_above(std::max(first, mean)).value());
  return place;
}

/// Events of the same kind by their slopes, and for each kind their union.
class Directions {
 public:
  explicit Directions(double end) : end_{end}, sums_(slopes) {}
  void add(double mass, double slope, double bend) {
    const double index = std::floor((slope / end_ + 1) * 0.5 * slopes);
    auto& sum = sums_[size_of(std::clamp(index, 0.0, slopes - 1.0))];
    sum.mass += mass;
    sum.slope += mass * slope;
    sum.bend += mass * bend;
    sum.size = std::max(sum.size, std::abs(slope));
    sum.count += 1;
  }
  [[nodiscard]] std::vector<Direction> all() const {
    std::vector<Direction> found;
    for (const auto& sum : sums_) {
      const Lower mass = max(Lower::within(sum.mass, sum.count + 2), Lower{0});
      // Products in which digits are lost are of events that are left out.
      if (!(mass.value() > least_mass)) continue;
      const Upper error = Upper{Exact{share_of_units(sum.count + 8)}} * Exact{sum.size};
      found.push_back({mass.value(), (Lower{Exact{sum.slope / sum.mass}} - error).value(),
                       Upper::within(sum.bend / sum.mass, 2 * sum.count + 8).value()});
    }
    return found;
  }
  static constexpr double least_mass = 1e-100;

 private:
  struct Sum {
    double mass = 0;
    double slope = 0;
    double bend = 0;
    double size = 0;
    double count = 0;
  };
  double end_;
  std::vector<Sum> sums_;
};

/// Of all coordinates, the first `moved` of which move.
std::vector<Direction> directions_of(const VectorNoise& noise, double moved, bool mass_below) {
  const double r = noise.r;
  const double still = noise.dimension - moved;
  std::vector<Direction> found{{1, 0, 0}};
  if (still == 0) found = {{0.5, -1, 1}, {0.5, 1, 1}};
  PollNowAndThen poll;
  const double before = std::max(still, 1.0);
  // By their number: at 2^53 a double plus 1 is itself.
  for (double more = 1; more <= noise.dimension - before; ++more) {
    const double dimension = before + more;
    // By the left ends of cells a rising density loses much.
    const bool rises = dimension - 1 < r;
    const int count = rises ? std::clamp(static_cast<int>(places_of_rising / r), places, 3200) : places;
    const VectorCells cells = vector_place_cells({r, dimension, 1, true}, count, mass_below);
    Directions next{std::pow(moved, 1 / r)};
    for (std::size_t i = 0; i < cells.masses.size(); ++i) {
      poll();
      if (!(cells.masses[i] > Directions::least_mass) || !(cells.ends[i + 1] > cells.ends[i])) continue;
      const Place place = place_of(r, dimension, cells.ends[i], cells.ends[i + 1], cells.masses[i]);
      for (const auto& others : found) {
        if (others.mass < Directions::least_mass) continue;
        const Lower theirs{Exact{others.slope}};
        const Lower rest = others.slope >= 0 ? theirs * Exact{place.least_left} : theirs * Exact{place.most_left};
        const double bend = (Upper{Exact{place.bend}} + Upper{Exact{place.bend_of_left}} * Exact{others.bend}).value();
        const double mass = place.mass * others.mass;
        next.add(mass, (rest + Exact{place.least_slope}).value(), bend);
        next.add(mass, (rest - Exact{place.most_slope}).value(), bend);
      }
    }
    found = next.all();
  }
  return found;
}

/// What a move by s of one coordinate adds to the sum of powers is at most -r s slope + `of_bend` s^2 bend + `of_length` s^r.
struct Bend {
  double of_bend;
  double of_length;
};
Bend bend_of(double r, double ratio) {
  const Upper half = Upper{Exact{r}} * Exact{r - 1} * Exact{0.5};
  if (r <= 3) return {half.value(), 1};
  const Upper share{Exact{ratio}};
  return {(half * exp(log(Upper{1} + share) * Exact{r - 3})).value(),
          exp(log((Upper{1} + share) / Lower{Exact{ratio}}) * Exact{r - 3}).value()};
}

/// The mean loss of an event whose radius lies between `first` and `last`, from below. `step` is how far each coordinate moves.
double least_loss(const VectorNoise& noise, double step, const Bend& bend, double first, double last, const Direction& u) {
  const double r = noise.r;
  const Exact from{first};
  const Upper share = Upper{Exact{step}} / Lower{from};
  const Upper gain = u.slope >= 0 ? -(Exact{r} * (Lower{Exact{step}} / Upper{Exact{last}} * Lower{Exact{u.slope}}))
                                  : Exact{r} * (share * Upper{Exact{-u.slope}});
  const Upper bent = Exact{bend.of_bend} * (share * share) * Exact{u.bend} + Exact{bend.of_length} * power(Upper{1} / Lower{from}, r, 1);
  const Upper moved = max(Upper{1} + gain + bent, Upper{0});
  const Lower shorter = Lower{1} - power(moved, 2, r);
  const Exact scale{noise.scale};
  const Exact radius{shorter.value() >= 0 ? first : last};
  return (shorter * radius * radius / scale / scale * Exact{0.5}).value();
}

}  // namespace

AtomsBase spread_vector(const VectorNoise& noise, const SpreadTerms& terms) {
  const double d = noise.dimension;
  const double r = noise.r;
  const double moved = std::min(d, most_moved);
  const double step = power(Lower{1} / Upper{Exact{moved}}, 1, r).value();
  const double end = longest_vector(noise) / noise.scale / noise.scale;
  if (!(step > 0 && end > 0 && std::isfinite(end))) return {};
  const auto directions = directions_of(noise, moved, terms.mass_below);
  const VectorCells radius = vector_radius_cells(noise, radii, terms.mass_below);
  // Any ratio is right; this is about what a coordinate moves for its size.
  const double ratio = std::clamp(std::pow(d / moved, 1 / r) / (noise.scale * std::sqrt(d)), 1e-3, 1e3);
  const Bend bend = terms.bent ? bend_of(r, ratio) : Bend{0, 0};
  VectorLosses losses{end};
  PollNowAndThen poll;
  for (std::size_t j = 0; j < radius.masses.size(); ++j) {
    poll();
    const double first = radius.ends[j];
    const double last = radius.ends[j + 1];
    if (!(first > 0)) continue;
    for (const auto& u : directions) {
      const Lower mass = Lower{Exact{radius.masses[j]}} * Exact{u.mass};
      if (!(mass.value() > 0)) continue;
      losses.add(least_loss(noise, step, bend, first, last, u), mass);
    }
  }
  return losses.atoms();
}
// Proved so far.

}  // namespace surety::accounting::laws
