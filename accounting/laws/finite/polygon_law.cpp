#include <surety/accounting/laws/finite/polygon_law.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>

#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::laws {

namespace {

/// A slope is a difference over e^x - 1, whose units they are, with one each for the difference, the quotient and a sum. One that rises to the next
/// corner has as many more as x, which is rounded.
constexpr long double rounding_of_slope = share_of_units(LibraryError<long double>::expm1 + 3);
/// Of a mass in double: its exponential, two products and the last rounding.
constexpr double rounding_of_mass = share_of_units(2.0);

}  // namespace

LossLaw polygon_law(const std::vector<Corner>& points, int direction) {
  std::vector<Corner> hull;
  // Slopes in e^loss, times e^loss of the corner. Before the first one the curve is the line to the first one's mirror image.
  const auto slope_before = [&](std::size_t j) {
    const long double x = hull[j].loss;
    if (j == 0) return -(1 - hull[0].value) / (1 + std::exp(-x));
    return (hull[j].value - hull[j - 1].value) / -std::expm1(static_cast<long double>(hull[j - 1].loss) - x);
  };
  const auto distance_to = [&](std::size_t j, const Corner& next) {
    return static_cast<long double>(next.loss) - static_cast<long double>(hull[j].loss);
  };
  const auto slope_to = [&](std::size_t j, const Corner& next) { return (next.value - hull[j].value) / std::expm1(distance_to(j, next)); };
  for (const auto& next : points) {
    while (!hull.empty() && slope_before(hull.size() - 1) >= slope_to(hull.size() - 1, next)) hull.pop_back();
    hull.push_back(next);
  }
  std::vector<AtomsBase::Atom> left;
  std::vector<AtomsBase::Atom> right;
  long double lost_above = 0;
  long double lost_below = 0;
  for (std::size_t j = 0; j < hull.size(); ++j) {
    const long double before = slope_before(j);
    const bool is_last = j + 1 == hull.size();
    const long double after = is_last ? 0 : slope_to(j, hull[j + 1]);
    const long double rounding = std::abs(before) * rounding_of_slope +
                                 std::abs(after) * (rounding_of_slope + share_of_units(is_last ? 0 : distance_to(j, hull[j + 1])));
    const long double mass = after - before + direction * rounding;
    if (!(mass > 0)) continue;
    if (hull[j].loss == 0) {
      right.push_back({0, static_cast<double>(2 * mass)});
      continue;
    }
    const long double mirrored = mass * std::exp(-static_cast<long double>(hull[j].loss));
    if (mass > 1e-290L) {
      right.push_back({hull[j].loss, static_cast<double>(mass)});
    } else {
      lost_above += mass;
    }
    if (mirrored > 1e-60L) {
      left.push_back({-hull[j].loss, static_cast<double>(mirrored)});
    } else {
      lost_below += mirrored;
    }
  }
  std::reverse(left.begin(), left.end());
  left.insert(left.end(), right.begin(), right.end());
  LossLaw law{AtomsBase{std::move(left), 0, rounding_of_mass}};
  auto& atoms = std::get<AtomsBase>(law.base).atoms;
  if (direction > 0) {
    if (lost_above > 0) law.infinite_mass = round_up(lost_above);
    if (!atoms.empty()) atoms.front().mass = round_up(atoms.front().mass + lost_below);
  }
  return law;
}

std::optional<LossLaw> below_tests(const std::vector<double>& at, const std::vector<CurveTest>& tests) {
  if (!(tests.front().delta > 0)) return std::nullopt;
  constexpr long double rounding = share_of_units(LibraryError<long double>::exp + LibraryError<long double>::expm1 + 6);
  const auto slope = [&](std::size_t i) { return static_cast<long double>(tests[i].other) * std::exp(static_cast<long double>(at[i])); };
  const auto line = [&](std::size_t i, double y) {
    const long double begin = static_cast<long double>(tests[i].delta);
    const long double fall = slope(i) * std::expm1(static_cast<long double>(y) - static_cast<long double>(at[i]));
    return begin - fall - rounding * (std::abs(begin) + std::abs(fall));
  };
  std::vector<Corner> corners{{0, line(0, 0)}};
  for (std::size_t i = 0; i < tests.size() && corners.back().value > 0; ++i) {
    const long double begin = static_cast<long double>(tests[i].delta);
    if (i + 1 < tests.size() && tests[i + 1].delta > 0) {
      const long double apart = static_cast<long double>(at[i + 1]) - static_cast<long double>(at[i]);
      const long double ratio =
          (begin + slope(i) - static_cast<long double>(tests[i + 1].delta) - slope(i + 1)) / (slope(i) - slope(i + 1) * std::exp(-apart));
      const bool is_between = ratio >= 1 && ratio <= std::exp(apart);
      const auto y = static_cast<double>(static_cast<long double>(at[i]) + (is_between ? std::log(ratio) : apart / 2));
      if (const long double value = std::min(line(i, y), line(i + 1, y)); value > 0 && y > corners.back().loss) {
        corners.push_back({y, value});
        continue;
      }
    }
    // The last line comes down to 0, and is cut a little before.
    constexpr long double before = 1 - 0x1p-10L;
    const auto end = static_cast<double>(static_cast<long double>(at[i]) + before * std::log1p(begin / slope(i)));
    if (!(end > corners.back().loss && line(i, end) >= 0)) return std::nullopt;
    corners.push_back({end, 0});
  }
  return polygon_law(corners, -1);
}

LossLaw with_infinite(LossLaw law, long double mass, int direction) {
  const double before = law.infinite_mass;
  const long double all = mass + static_cast<long double>(before);
  const double infinite = direction > 0 ? std::min(1.0, round_up(all)) : static_cast<double>(mass);
  // Masses are given as shares of what is finite.
  for (auto& atom : std::get<AtomsBase>(law.base).atoms) atom.mass *= (1 - before) / (1 - infinite);
  law.infinite_mass = infinite;
  return law;
}

}  // namespace surety::accounting::laws
