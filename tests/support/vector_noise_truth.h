// The truth about noise of squared norms in the plane, for tests of its laws: by squares of the plane, in plain double arithmetic.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <vector>

#include <surety/accounting/laws/losses/loss_law.h>
#include <surety/accounting/laws/vectors/vector_cells.h>

namespace surety::accounting::testing {

inline double curve_of(const AtomsBase& law, double at) {
  double sum = 0;
  for (const auto& [loss, mass] : law.atoms) sum += mass * std::max(0.0, -std::expm1(at - loss));
  return sum;
}
inline double normal(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
inline double gaussian_curve(double mu, double at) { return normal(mu / 2 - at / mu) - std::exp(at) * normal(-mu / 2 - at / mu); }

/// By the middles of squares, of a move along both coordinates.
inline double by_squares(const laws::VectorNoise& noise, double at) {
  const double reach = 7 * noise.scale + 1;
  const double step = reach / 150;
  const double move = std::pow(2, -1 / noise.r);
  const auto exponent = [&](double x, double y) {
    const double length = std::pow(std::pow(std::abs(x), noise.r) + std::pow(std::abs(y), noise.r), 1 / noise.r);
    return -0.5 * length * length / (noise.scale * noise.scale);
  };
  double all = 0;
  double sum = 0;
  for (double x = -reach + step / 2; x < reach; x += step) {
    for (double y = -reach + step / 2; y < reach; y += step) {
      const double here = std::exp(exponent(x, y));
      all += here;
      sum += std::max(0.0, std::exp(exponent(x - move, y - move)) - std::exp(at) * here);
    }
  }
  return sum / all;
}

inline double truth(const laws::VectorNoise& noise, double at) {
  static std::map<std::tuple<double, double, double>, double> known;
  const auto [found, is_new] = known.try_emplace({noise.r, noise.scale, at}, 0.0);
  if (is_new) found->second = by_squares(noise, at);
  return found->second;
}

inline const std::vector<laws::VectorNoise> noises{{3, 2, 1.2, true}, {3, 2, 5, true}, {5, 2, 2, true}};
inline constexpr double errors_of_squares = 2e-4;  // relative; measured by halving the step

}  // namespace surety::accounting::testing
