#include <surety/accounting/laws/cells/dominating_pair.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <surety/base/text/error.h>

#include <support/real.h>

namespace surety::accounting::dominating_pair_test {
namespace {

using reference::Real;

constexpr mpfr_prec_t bits = 600;
Real real(double x) { return Real{x, bits}; }
const Real endless = real(1e300);

struct Masses {
  Real p;
  Real q;
};
Masses operator+(const Masses& a, const Masses& b) { return {a.p + b.p, a.q + b.q}; }
Masses nothing() { return {real(0), real(0)}; }

/// The masses of the base pair on losses in [low, high], by its definition.
using Measure = std::function<Masses(const Real& low, const Real& high)>;

Real normal_cdf(const Real& t) { return erfc(-t / sqrt(real(2))) / 2.0; }
bool inside(const Real& x, const Real& low, const Real& high) { return x >= low && x <= high; }
Real smaller(const Real& a, const Real& b) { return a < b ? a : b; }
Real larger(const Real& a, const Real& b) { return a < b ? b : a; }

Measure gaussian(double multiplier) {
  return [=](const Real& low, const Real& high) -> Masses {
    if (!(low < high)) return nothing();
    const Real z = real(multiplier);
    const auto outcome = [&](const Real& loss) { return larger(smaller(z * loss + 0.5 / z, real(1e6)), real(-1e6)); };
    const Real a = outcome(low);
    const Real b = outcome(high);
    return {normal_cdf(b - 1.0 / z) - normal_cdf(a - 1.0 / z), normal_cdf(b) - normal_cdf(a)};
  };
}

/// Q-density factor / 4 e^(-(l + most) / 2) between -most and most, P e^l times that.
Masses exponential_density(const Real& low, const Real& high, const Real& most, const Real& factor) {
  const Real a = larger(low, -most);
  const Real b = smaller(high, most);
  if (!(a < b)) return nothing();
  const Real scale = factor / 2.0;
  return {scale * (exp((b - most) / 2.0) - exp((a - most) / 2.0)), scale * (exp((-a - most) / 2.0) - exp((-b - most) / 2.0))};
}

Measure laplace(double scale) {
  return [=](const Real& low, const Real& high) {
    const Real most = 1.0 / real(scale);
    Masses all = exponential_density(low, high, most, real(1));
    if (inside(most, low, high)) all = all + Masses{real(0.5), 0.5 * exp(-most)};
    if (inside(-most, low, high)) all = all + Masses{0.5 * exp(-most), real(0.5)};
    return all;
  };
}

Measure bounded_range(double epsilon) {
  return [=](const Real& low, const Real& high) { return exponential_density(low, high, real(epsilon), 2.0 / -expm1(-real(epsilon))); };
}

/// Of integers with weights w(k) against w(k - shift): sums of all weights up to an integer, so that cells of many integers are quick.
Measure lattice(int least, int most, int shift, const std::function<Real(int)>& weight, const std::function<Real(int)>& loss,
                double spacing) {
  auto below = std::make_shared<std::vector<Masses>>();
  Real norm = real(0);
  for (int k = least; k <= most; ++k) norm = norm + weight(k);
  Masses sum = nothing();
  below->push_back(sum);
  for (int k = least + shift; k <= most; ++k) {
    sum = sum + Masses{weight(k - shift) / norm, weight(k) / norm};
    below->push_back(sum);
  }
  const int first = least + shift;
  return [=](const Real& low, const Real& high) -> Masses {
    // The first integer with a loss of at least `low`, and the first one above `high`.
    const auto first_from = [&](const Real& at, bool above) {
      const double guess = ((at - loss(0)) / spacing).nearest_double();
      int k = static_cast<int>(std::clamp(guess, static_cast<double>(first), static_cast<double>(most + 1)));
      const auto is_below = [&](int i) { return above ? loss(i) <= at : loss(i) < at; };
      while (k > first && !is_below(k - 1)) --k;
      while (k <= most && is_below(k)) ++k;
      return static_cast<std::size_t>(k - first);
    };
    const auto a = first_from(low, false);
    const auto b = first_from(high, true);
    if (b <= a) return nothing();
    return {(*below)[b].p - (*below)[a].p, (*below)[b].q - (*below)[a].q};
  };
}

Measure discrete_gaussian(double sigma, int shift) {
  const int most = static_cast<int>(std::ceil(28 * sigma)) + 2 * shift + 4;
  const Real variance = real(sigma) * real(sigma);
  return lattice(
      -most, most, shift, [=](int k) { return exp(-(real(k) * real(k)) / (2.0 * variance)); },
      [=](int k) { return (real(k) - real(shift) / 2.0) * static_cast<double>(shift) / variance; }, shift / sigma / sigma);
}

/// The losses of all k <= 0 are one, and so are those of k >= shift.
Measure discrete_laplace(double scale, int shift) {
  return [=](const Real& low, const Real& high) {
    const Real b = real(scale);
    const Real norm = (1.0 - exp(-1.0 / b)) / (1.0 + exp(-1.0 / b));
    const Real end = static_cast<double>(shift) / b;
    const Real tail = 1.0 / (1.0 + exp(-1.0 / b));
    Masses all = nothing();
    if (inside(end, low, high)) all = all + Masses{tail, tail * exp(-end)};
    if (inside(-end, low, high)) all = all + Masses{tail * exp(-end), tail};
    for (int k = 1; k < shift; ++k) {
      const Real loss = (2.0 * k - shift) / b;
      if (inside(loss, low, high)) all = all + Masses{norm * exp((k - shift) / b), norm * exp(static_cast<double>(-k) / b)};
    }
    return all;
  };
}

Measure atoms(const std::vector<AtomsBase::Atom>& from) {
  return [=](const Real& low, const Real& high) {
    Masses all = nothing();
    for (const auto& atom : from) {
      if (inside(real(atom.loss), low, high)) all = all + Masses{real(atom.mass), real(atom.mass) * exp(-real(atom.loss))};
    }
    return all;
  };
}

/// The mixed pair of a base measure.
Masses mixed(const Measure& base, const LossLaw& law, const Real& low, const Real& high) {
  const Real q = real(law.rate);
  if (law.mixing == Mixing::revealed) {
    Masses all = nothing();
    if (low <= high) all = base(low, high);
    all = {q * all.p, q * all.q};
    if (inside(real(0), low, high)) all = all + Masses{1.0 - q, 1.0 - q};
    return all;
  }
  const auto unmixed = [&](const Real& l) {
    if (law.rate == 1) return l;
    const Real x = exp(l) - (1.0 - q);
    return x <= 0.0 ? -endless : log(x / q);
  };
  const auto removed = [&](const Real& a, const Real& b) -> Masses {
    if (b < a) return nothing();
    const auto one = base(unmixed(a), unmixed(b));
    return {(1.0 - q) * one.q + q * one.p, one.q};
  };
  if (law.mixing == Mixing::remove) return removed(low, high);
  if (law.mixing == Mixing::add) {
    const auto one = removed(-high, -low);
    return {one.q, one.p};
  }
  const Real positive = real(1e-60);
  const Real far = real(1000);
  const auto above = removed(larger(low, positive), high);
  const auto below = removed(larger(-high, positive), -low);
  Masses all = above + Masses{below.q, below.p};
  if (inside(real(0), low, high)) {
    const auto rest = removed(positive, far);
    all = all + Masses{1.0 - rest.p - rest.q, 1.0 - rest.p - rest.q};
  }
  return all;
}

struct Case {
  std::string name;
  BaseLaw base;
  Measure measure;
};

const std::vector<AtomsBase::Atom> three{{-0.75, 0.25 * std::exp(-0.75)}, {0, 0.75 - 0.25 * std::exp(-0.75)}, {0.75, 0.25}};

std::vector<Case> bases() {
  return {{"gaussian 0.7", GaussianBase{0.7}, gaussian(0.7)},
          {"gaussian 30", GaussianBase{30}, gaussian(30)},
          {"laplace 2", LaplaceBase{2}, laplace(2)},
          {"laplace 0.1", LaplaceBase{0.1}, laplace(0.1)},
          {"bounded range 1", BoundedRangeBase{1}, bounded_range(1)},
          {"bounded range 0.01", BoundedRangeBase{0.01}, bounded_range(0.01)},
          {"bounded range 12", BoundedRangeBase{12}, bounded_range(12)},
          {"discrete gaussian 1, 1", DiscreteGaussianBase{1, 1}, discrete_gaussian(1, 1)},
          {"discrete gaussian 0.4, 2", DiscreteGaussianBase{0.4, 2}, discrete_gaussian(0.4, 2)},
          {"discrete gaussian 7.3, 4", DiscreteGaussianBase{7.3, 4}, discrete_gaussian(7.3, 4)},
          {"discrete gaussian 900, 700", DiscreteGaussianBase{900, 700}, discrete_gaussian(900, 700)},
          {"discrete laplace 1.5, 1", DiscreteLaplaceBase{1.5, 1}, discrete_laplace(1.5, 1)},
          {"discrete laplace 1.5, 5", DiscreteLaplaceBase{1.5, 5}, discrete_laplace(1.5, 5)},
          {"discrete laplace 200, 150", DiscreteLaplaceBase{200, 150}, discrete_laplace(200, 150)},
          {"three atoms", AtomsBase{three, 0, 0x1p-50}, atoms(three)}};
}

std::vector<LossLaw> laws(const BaseLaw& base) {
  std::vector<LossLaw> all{{base, Mixing::remove, 1, 0},    {base, Mixing::remove, 0.3, 0}, {base, Mixing::add, 0.3, 0},
                           {base, Mixing::remove, 1e-3, 0}, {base, Mixing::add, 1e-3, 0},   {base, Mixing::symmetric, 0.3, 0}};
  // Never of noise added to a sum.
  if (std::holds_alternative<AtomsBase>(base) || std::holds_alternative<BoundedRangeBase>(base)) {
    all.push_back({base, Mixing::revealed, 0.3, 0});
    all.push_back({base, Mixing::revealed, 1e-9, 0});
  }
  return all;
}
std::string told(const Case& c, const LossLaw& law) {
  return c.name + ", mixing " + std::to_string(static_cast<int>(law.mixing)) + ", rate " + std::to_string(law.rate);
}

constexpr Cut cut{-50, -45};

// Every cell holds the P-mass and the Q-mass of the losses between its ends, which are known up to `loss_error`.
TEST(Cells, KeepBothMasses) {
  for (const auto& one : bases()) {
    for (const auto& law : laws(one.base)) {
      const auto bounds = range(law, cut);
      for (const double share : {0.37, 0.0711, 0.004}) {
        const double step = share * std::min(bounds.largest - bounds.least, 8.0);
        const auto found = cells(law, step, cut);
        ASSERT_FALSE(found.cells.empty()) << told(one, law);
        EXPECT_LT(found.loss_error, 1e-11) << told(one, law);
        std::map<std::int64_t, std::vector<LossCell>> together;
        for (const auto& cell : found.cells) together[cell.index].push_back(cell);
        for (const auto& [index, parts] : together) {
          Masses least = nothing();
          Masses most = nothing();
          const Real at = real(found.anchor) + static_cast<double>(index) * real(step);
          for (const auto& part : parts) {
            const Real mass = real(part.mass) * exp(real(part.log_scale));
            EXPECT_LT(part.mass_error, 1e-8) << told(one, law);
            EXPECT_LT(part.excess_error, 1e-8) << told(one, law);
            EXPECT_GE(part.excess, -part.excess_error) << told(one, law);
            least = least +
                    Masses{mass * (1 - part.mass_error), mass * exp(-at) * (1 - part.mass_error) * (1 - part.excess - part.excess_error)};
            most = most +
                   Masses{mass * (1 + part.mass_error), mass * exp(-at) * (1 + part.mass_error) * (1 - part.excess + part.excess_error)};
          }
          const double e = found.loss_error;
          // The outermost cells take all that is kept, so only their upper ends are compared.
          const auto outside = mixed(one.measure, law, at - e, at + step + e);
          const auto inside = mixed(one.measure, law, at + e, at + step - e);
          const double cut_mass = static_cast<double>(found.cut_above + found.cut_below);
          EXPECT_TRUE(least.p <= outside.p) << told(one, law) << " step " << step << " cell " << index << ": " << least.p << ' '
                                            << outside.p;
          EXPECT_TRUE(least.q <= outside.q) << told(one, law) << " step " << step << " cell " << index << ": " << least.q << ' '
                                            << outside.q;
          EXPECT_TRUE(most.p + cut_mass >= inside.p)
              << told(one, law) << " step " << step << " cell " << index << ": " << most.p << ' ' << inside.p;
          const bool end = index == together.begin()->first || index == together.rbegin()->first;
          EXPECT_TRUE(end || most.q >= inside.q)
              << told(one, law) << " step " << step << " cell " << index << ": " << most.q << ' ' << inside.q;
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(Cells, HoldAllButWhatIsCut) {
  for (const auto& one : bases()) {
    for (const auto& law : laws(one.base)) {
      for (const auto& at : {cut, Cut{-8, -6}}) {
        const auto found = cells(law, 0.01 * std::min(8.0, range(law, at).largest - range(law, at).least), at);
        Real least = real(0);
        Real most = real(0);
        for (const auto& cell : found.cells) {
          const Real mass = real(cell.mass) * exp(real(cell.log_scale));
          least = least + mass * (1 - cell.mass_error);
          most = most + mass * (1 + cell.mass_error);
        }
        EXPECT_TRUE(least <= 1.0) << told(one, law) << ' ' << least;
        EXPECT_TRUE(most + static_cast<double>(found.cut_above) + static_cast<double>(found.cut_below) >= 1.0)
            << told(one, law) << ' ' << most;
        EXPECT_TRUE(most >= 1 - 2 * std::exp(-6)) << told(one, law) << ' ' << most;
        EXPECT_TRUE(std::is_sorted(found.cells.begin(), found.cells.end(), [](const auto& a, const auto& b) { return a.index < b.index; }));
      }
    }
  }
}

// Atoms that are cut as tails are: the mass of those that are in no cell, on either side.
TEST(Cells, CountTheAtomsThatAreCut) {
  AtomsBase given{{}, 0, 0, true, true};
  for (int i = -40; i <= 40; ++i) given.atoms.push_back({0.5 * i, std::exp(-2.0 * std::abs(i)) / 1.4});
  const LossLaw law{given};
  for (const auto& [above, below] : {std::pair{-20.0, -11.0}, {-7.0, -30.0}}) {
    const Cut at{above, below};
    const auto found = cells(law, 0.125, at);
    ASSERT_FALSE(found.cells.empty());
    const double half = 0.25;
    const double least = found.anchor + static_cast<double>(found.cells.front().index) * 0.125 - half;
    const double most = found.anchor + static_cast<double>(found.cells.back().index) * 0.125 + half;
    long double mass_below = 0;
    long double mass_above = 0;
    for (const auto& atom : given.atoms) {
      if (atom.loss < least) mass_below += static_cast<long double>(atom.mass);
      if (atom.loss > most) mass_above += static_cast<long double>(atom.mass);
    }
    EXPECT_GT(mass_above, 0);
    EXPECT_GT(mass_below, 0);
    EXPECT_GE(found.cut_above, mass_above * (1 - 1e-15L)) << above;
    EXPECT_GE(found.cut_below, mass_below * (1 - 1e-15L)) << below;
    EXPECT_LE(found.cut_above, std::exp(static_cast<long double>(above)) * (1 + 1e-15L));
    EXPECT_LE(found.cut_below, std::exp(static_cast<long double>(below)) * (1 + 1e-15L));
  }
}

// With a step that divides their distance, all outcomes lie on grid points: no cell has anything above its lower end.
TEST(Cells, AlignTheLattice) {
  for (const auto& base :
       {BaseLaw{DiscreteGaussianBase{1, 1}}, BaseLaw{DiscreteGaussianBase{7.3, 4}}, BaseLaw{DiscreteLaplaceBase{1.5, 5}}}) {
    const LossLaw law{base};
    for (const int parts : {1, 7, 1000}) {
      const double step = *atom_distance(law) / parts;
      for (const auto& cell : cells(law, step, cut).cells) {
        EXPECT_LE(std::abs(cell.excess), cell.excess_error + 1e-13);
        EXPECT_EQ(cell.index % parts, 0);
      }
    }
  }
}

TEST(Cells, AreFewHoweverManyIntegers) {
  for (const double sigma : {1e6, 1e9}) {
    const auto found = cells(LossLaw{DiscreteGaussianBase{sigma, sigma / 10}}, 0.01, cut);
    EXPECT_LT(found.cells.size(), 1000U);
    // The law of a Gaussian with the same multiplier is met to the spacing of the integers.
    const auto smooth = cells(LossLaw{GaussianBase{10}}, 0.01, cut);
    double below = 0;
    for (const auto& cell : found.cells)
      below += static_cast<double>(cell.index) * 0.01 + found.anchor < 0.1 - 1e-9 ? cell.mass * std::exp(cell.log_scale) : 0;
    double smooth_below = 0;
    for (const auto& cell : smooth.cells) smooth_below += cell.index < 10 ? cell.mass * std::exp(cell.log_scale) : 0;
    EXPECT_NEAR(below, smooth_below, 0.05);
  }
  EXPECT_THROW((void)cells(LossLaw{DiscreteGaussianBase{1e15, 1}}, 0.01, cut), Error);
  EXPECT_THROW((void)cells(LossLaw{DiscreteLaplaceBase{1e15, 0x1p53}}, 0.01, cut), Error);
}

// One cell from one bump to the other, between which there are far more integers than could be added up.
TEST(Cells, HoldTwoBumpsHoweverFarApart) {
  for (const double shift : {3e5, 8333606416670.0}) {
    const LossLaw law{DiscreteGaussianBase{1, shift}, Mixing::remove, 0.75};
    const auto found = cells(law, shift * shift, {-60, -60});
    double mass = 0;
    for (const auto& cell : found.cells) mass += cell.mass * std::exp(cell.log_scale);
    EXPECT_NEAR(mass, 1, 1e-9) << shift;
    EXPECT_LE(found.cells.size(), 4) << shift;
  }
}

TEST(Cells, LeaveRoomForInfiniteLoss) {
  const LossLaw law{BoundedRangeBase{1}, Mixing::remove, 1, 0.25};
  double all = 0;
  for (const auto& cell : cells(law, 0.1, cut).cells) all += cell.mass * std::exp(cell.log_scale);
  EXPECT_NEAR(all, 0.75, 1e-12);
  EXPECT_FALSE(largest_loss(law).has_value());
}

TEST(Range, HoldsAllLossesThatAreKept) {
  for (const auto& one : bases()) {
    for (const auto& law : laws(one.base)) {
      const auto bounds = range(law, cut);
      EXPECT_LT(bounds.least, bounds.largest) << told(one, law);
      const auto above = mixed(one.measure, law, real(bounds.largest) + 1e-9, real(1000));
      const auto below = mixed(one.measure, law, real(-1000), real(bounds.least) - 1e-9);
      EXPECT_TRUE(above.p <= std::exp(cut.log_above) * (1 + 1e-6)) << told(one, law) << ' ' << above.p;
      EXPECT_TRUE(below.p <= 2 * std::exp(cut.log_below)) << told(one, law) << ' ' << below.p;
    }
  }
}

TEST(LargestLoss, IsTheSupremum) {
  for (const auto& one : bases()) {
    for (const auto& law : laws(one.base)) {
      const auto most = largest_loss(law);
      if (!most) {
        EXPECT_TRUE(mixed(one.measure, law, real(range(law, cut).largest / 2), real(1000)).p > 0.0) << told(one, law);
        continue;
      }
      EXPECT_LT(most->width(), 1e-13 * (1 + most->upper)) << told(one, law);
      const Real above = real(most->upper) * (1 + 1e-14);
      EXPECT_TRUE(mixed(one.measure, law, above, real(1000)).p <= 0.0) << told(one, law);
      EXPECT_TRUE(mixed(one.measure, law, real(most->lower) * (1 - 1e-6), real(1000)).p > 0.0 || law.mixing == Mixing::add)
          << told(one, law);
    }
  }
}

TEST(IsSymmetric, IsSaidOfBasesThatAre) {
  for (const auto& one : bases()) {
    EXPECT_TRUE(is_symmetric(LossLaw{one.base})) << one.name;
    EXPECT_FALSE(is_symmetric(LossLaw{one.base, Mixing::remove, 0.5, 0})) << one.name;
    EXPECT_TRUE(is_symmetric(LossLaw{one.base, Mixing::symmetric, 0.5, 0})) << one.name;
    EXPECT_TRUE(is_symmetric(LossLaw{one.base, Mixing::revealed, 0.5, 0})) << one.name;
    // What is said of them is so: P and Q change places when losses change sign.
    for (const double low : {-0.6, 0.1, 0.3}) {
      const auto here = one.measure(real(low), real(low + 0.21));
      const auto there = one.measure(real(-low - 0.21), real(-low));
      EXPECT_TRUE(here.p - there.q < 1e-60 && there.q - here.p < 1e-60) << one.name;
    }
  }
  EXPECT_FALSE(is_symmetric(LossLaw{AtomsBase{{{-0.2, 0.4}, {0.5, 0.6}}, 0, 0}}));
  EXPECT_FALSE(is_symmetric(LossLaw{AtomsBase{{{-0.2, 0.4}, {0.5, 0.6}}, 0, 0}, Mixing::revealed, 0.5, 0}));
}

TEST(AtomDistance, IsThatOfNeighbouringOutcomes) {
  EXPECT_FALSE(atom_distance(LossLaw{GaussianBase{1}}).has_value());
  EXPECT_DOUBLE_EQ(*atom_distance(LossLaw{LaplaceBase{4}}), 0.5);
  EXPECT_DOUBLE_EQ(*atom_distance(LossLaw{DiscreteLaplaceBase{4, 3}}), 0.5);
  EXPECT_DOUBLE_EQ(*atom_distance(LossLaw{DiscreteGaussianBase{4, 3}}), 3.0 / 16);
  EXPECT_DOUBLE_EQ(*atom_distance(LossLaw{BoundedRangeBase{0.5}}), 0.5);
  EXPECT_DOUBLE_EQ(*atom_distance(LossLaw{LaplaceBase{4}, Mixing::revealed, 0.1, 0}), 0.25);
}

// ---- the laws themselves ----

// Among losses of range epsilon, two outcomes are the worst: the envelope is their largest delta, and is reached.
TEST(BoundedRange, IsTheEnvelopeOfTwoOutcomes) {
  for (const double epsilon : {0.1, 1.0, 5.0}) {
    const auto measure = bounded_range(epsilon);
    for (const double x : {-0.9 * epsilon, -0.2 * epsilon, 0.0, 0.3 * epsilon, 0.99 * epsilon}) {
      const auto all = measure(real(x), real(epsilon));
      const Real envelope = all.p - exp(real(x)) * all.q;
      double best = 0;
      for (int i = 1; i < 2000; ++i) {
        const double t = epsilon * i / 2000;
        const double hit = std::expm1(t - epsilon) / std::expm1(-epsilon);
        if (x <= t && x >= t - epsilon) best = std::max(best, hit * -std::expm1(x - t));
      }
      EXPECT_TRUE(envelope >= best * (1 - 1e-12)) << epsilon << ' ' << x;
      EXPECT_NEAR(envelope.nearest_double(), best, 1e-6 * epsilon) << epsilon << ' ' << x;
    }
  }
}

// The worst neighbours of a query of sensitivity s differ by s.
TEST(DiscreteNoise, IsWorstAtTheLargestShift) {
  const auto delta = [](const Measure& measure, double epsilon) {
    const auto all = measure(real(epsilon), real(1000));
    return all.p - exp(real(epsilon)) * all.q;
  };
  for (const double epsilon : {-1.0, 0.0, 0.4, 2.0}) {
    for (int shift = 1; shift < 8; ++shift) {
      EXPECT_TRUE(delta(discrete_gaussian(2.3, shift), epsilon) <= delta(discrete_gaussian(2.3, shift + 1), epsilon));
      EXPECT_TRUE(delta(discrete_laplace(2.3, shift), epsilon) <= delta(discrete_laplace(2.3, shift + 1), epsilon));
    }
  }
}

}  // namespace
}  // namespace surety::accounting::dominating_pair_test
