// Cells of noise shaped like a norm, against sums over its densities; what is added up of them, against each event for itself.
#include <surety/accounting/laws/vectors/vector_cells.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <utility>
#include <vector>

namespace surety::accounting::vector_cells_test {
namespace {

using laws::longest_vector;
using laws::vector_place_cells;
using laws::vector_radius_cells;
using laws::VectorCells;
using laws::VectorLosses;
using laws::VectorNoise;

const std::vector<VectorNoise>& noises() {
  static const std::vector<VectorNoise> all{{2, 2, 0.7, false}, {2, 3, 1.5, true},  {1, 4, 2, false},
                                            {3, 2, 1.2, true},  {1.5, 9, 1, false}, {4, 50, 3, true}};
  return all;
}

/// By Simpson's rule in so many parts.
double integral(const std::function<double(double)>& density, double from, double to, int parts) {
  double sum = 0;
  for (int i = 0; i <= 2 * parts; ++i) {
    const double at = density(from + (to - from) * i / (2 * parts));
    sum += (i == 0 || i == 2 * parts ? 1 : i % 2 == 1 ? 4 : 2) * at;
  }
  return sum * (to - from) / (6 * parts);
}

double radius_density(const VectorNoise& noise, double t) {
  if (t == 0) return 0;
  const double d = noise.dimension;
  const double size = t / noise.scale;
  const double log_all =
      d * std::log(noise.scale) + (noise.is_squared ? (0.5 * d - 1) * std::log(2.0) + std::lgamma(0.5 * d) : std::lgamma(d));
  return std::exp((d - 1) * std::log(t) - (noise.is_squared ? 0.5 * size * size : size) - log_all);
}

double place_density(const VectorNoise& noise, double u) {
  const double d = noise.dimension;
  const double r = noise.r;
  const double log_beta = std::lgamma(1 / r) + std::lgamma((d - 1) / r) - std::lgamma(d / r);
  return std::exp(((d - 1) / r - 1) * std::log1p(-std::pow(u, r)) + std::log(r / 2) - log_beta);
}

/// Each mass is no more than that of the density between its ends, or no less; in all they are `all`, nearly.
void expect_cells(const VectorCells& found, const std::function<double(double)>& density, bool is_below, double all, double near) {
  ASSERT_EQ(found.ends.size(), found.masses.size() + 1);
  double sum = 0;
  for (std::size_t i = 0; i < found.masses.size(); ++i) {
    ASSERT_LE(found.ends[i], found.ends[i + 1]);
    const double truth = integral(density, found.ends[i], found.ends[i + 1], 4);
    if (truth < 1e-12) continue;
    if (is_below) {
      EXPECT_LE(found.masses[i], truth * (1 + 1e-6)) << found.ends[i];
    } else {
      EXPECT_GE(found.masses[i], truth * (1 - 1e-6)) << found.ends[i];
    }
    sum += found.masses[i];
  }
  EXPECT_NEAR(sum, all, near);
}

TEST(VectorCells, OfTheRadiusHoldNoMoreThanItsLaw) {
  for (const auto& noise : noises()) {
    const auto density = [&, of = noise](double t) { return radius_density(of, t); };
    const auto cells = vector_radius_cells(noise, 400);
    expect_cells(cells, density, true, 1, 0.02);
    EXPECT_EQ(cells.ends.back(), longest_vector(noise));
    expect_cells(vector_radius_cells(noise, 400, false), density, false, 1.04, 0.04);
  }
}

TEST(VectorCells, OfOneCoordinateHoldNoMoreThanItsLaw) {
  for (const auto& noise : noises()) {
    const auto density = [&, of = noise](double u) { return place_density(of, u); };
    const auto cells = vector_place_cells(noise, 400);
    EXPECT_EQ(cells.ends.front(), 0);
    EXPECT_LE(cells.ends.back(), 1);
    // The density may have no end at 1: there a rule for smooth functions says nothing.
    VectorCells inside = cells;
    while (inside.ends.back() > 0.99) {
      inside.ends.pop_back();
      inside.masses.pop_back();
    }
    expect_cells(inside, density, true, integral(density, 0, inside.ends.back(), 4000), 0.01);
    double all = 0;
    for (const double mass : cells.masses) all += mass;
    EXPECT_LE(all, 0.5) << noise.r << " " << noise.dimension;
    EXPECT_GE(all, 0.48) << noise.r << " " << noise.dimension;
  }
}

double curve(const AtomsBase& law, double at) {
  double sum = 0;
  for (const auto& [loss, mass] : law.atoms) sum += mass * std::max(0.0, -std::expm1(at - loss));
  return sum;
}

// What is added up shows no more than each event by itself, at every epsilon, and as much where events lie apart.
TEST(VectorLosses, ShowNoMoreThanTheirEvents) {
  std::mt19937_64 words{5};
  std::uniform_real_distribution<double> unit{0, 1};
  for (const int events : {3, 100, 20'000}) {
    VectorLosses losses{2};
    std::vector<std::pair<double, double>> each;
    for (int i = 0; i < events; ++i) {
      const double loss = 5 * unit(words) - 2.5;  // also beyond the end
      const double mass = unit(words) * unit(words) / events;
      losses.add(loss, Lower{Exact{mass}});
      each.emplace_back(loss, mass);
    }
    losses.add(INFINITY, Lower{Exact{0.1}});
    const auto law = losses.atoms();
    EXPECT_LE(law.atoms.size(), 4001u);
    EXPECT_TRUE(std::is_sorted(law.atoms.begin(), law.atoms.end(), [](const auto& x, const auto& y) { return x.loss < y.loss; }));
    double all = 0;
    double moved = 0;
    for (const auto& [loss, mass] : each) moved += mass * std::exp(loss);
    for (const auto& atom : law.atoms) all += atom.mass;
    EXPECT_LE(all, moved * (1 + 1e-12));
    EXPECT_GE(all, moved * (1 - 1e-12));
    for (double epsilon = -2.6; epsilon < 2.6; epsilon += 0.13) {
      double truth = 0;
      for (const auto& [loss, mass] : each) truth += mass * std::max(0.0, std::exp(loss) - std::exp(epsilon));
      EXPECT_LE(curve(law, epsilon), truth * (1 + 1e-12)) << events << " " << epsilon;
      EXPECT_GE(curve(law, epsilon), truth * (1 - 1e-12) - (std::abs(epsilon) > 1.99 ? 0.5 : 2e-3)) << events << " " << epsilon;
    }
  }
}

}  // namespace
}  // namespace surety::accounting::vector_cells_test
