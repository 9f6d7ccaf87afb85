#include <surety/accounting/laws/pairs/shuffled_laws.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <surety/accounting/laws/finite/polygon_law.h>
#include <surety/accounting/laws/shuffled/binomial.h>
#include <surety/accounting/laws/shuffled/shuffled_curve.h>
#include <surety/base/numbers/bound.h>

namespace surety::accounting::laws {
namespace {

/// The losses at which the curve is evaluated. They are dense where it falls and become sparse towards the largest loss.
/// \param is_slow whether a value takes several milliseconds
std::vector<double> losses_of(const ShuffledCurve& curve, bool is_slow) {
  const int points = is_slow ? 100 : 180;
  constexpr double nothing_left = 1e-15;
  constexpr double growth = 1.15;
  const double largest = curve.largest_loss().upper;
  const double found = curve.epsilon(nothing_left).upper;
  const double dense = found > 0 ? found : largest;
  std::vector<double> losses;
  for (int i = 0; i < points; ++i) losses.push_back(dense * i / points);
  for (double loss = dense; loss < largest; loss *= growth) losses.push_back(loss);
  if (losses.back() < largest) losses.push_back(largest);
  return losses;
}

// Proved: docs/proofs/shuffled-reports.md#laws
/// A value of a curve between two bounds, at x = e^loss - 1.
struct CurvePoint {
  long double x;
  long double lower;
  long double upper;
};

/// A polygon under every convex curve that has the values of `points`, is its own reverse and falls to 0: each point is extended on either side by the
/// chord of its neighbour there, and two extensions meet between two points.
std::vector<Corner> under(const std::vector<CurvePoint>& points) {
  constexpr long double rounding = share_of_units(64.0L);
  const std::size_t last = points.size() - 1;
  // How fast the extension to the right of point i falls, at least, and that to its left rises, at most.
  const auto fall = [&](std::size_t i) {
    // Before the first point is the mirror image of the second one, at -x / (1 + x).
    const auto& next = points[1];
    const auto before = i > 0 ? points[i - 1] : CurvePoint{-next.x / (1 + next.x), 0, (next.x + next.upper) / (1 + next.x)};
    return (before.upper - points[i].lower) / (points[i].x - before.x) * (1 + rounding);
  };
  const auto rise = [&](std::size_t i) {
    if (i == last) return 0.0L;
    const long double found = (points[i].lower - points[i + 1].upper) / (points[i + 1].x - points[i].x);
    return std::clamp<long double>(found * (1 - rounding), 0, fall(i));
  };
  std::vector<Corner> corners;
  for (std::size_t i = 0; i < last; ++i) {
    const auto& [from, at_from, above_from] = points[i];
    const auto& [to, at_to, above_to] = points[i + 1];
    const long double down = fall(i);
    const long double up = rise(i + 1);
    const long double meeting = (at_from + down * from - at_to - up * to) / (down - up);
    const auto loss = static_cast<double>(std::log1p(meeting > from && meeting < to ? meeting : from + (to - from) / 2));
    const long double x = std::expm1(static_cast<long double>(loss));
    const long double value = std::min(at_from - down * (x - from), at_to + up * (to - x)) - rounding * (at_from + down * (to - from));
    if (!(value > 0)) break;
    if (corners.empty() || loss > corners.back().loss) corners.push_back({loss, value});
  }
  if (corners.empty()) return {{0, 0}};
  // The last extension comes down to 0; it is cut a little before.
  const auto& [x, lower, upper] = points[last];
  constexpr long double before_end = 1 - 0x1p-20L;
  const auto end = static_cast<double>(std::log1p(x + before_end * lower / fall(last)));
  corners.push_back({std::max(end, std::nextafter(corners.back().loss, std::numeric_limits<double>::infinity())), 0});
  return corners;
}

/// Of binary reports where all others have one input, as the record has it: how many reports are the unlikely outcome of that input.
LossLaw binary_law(std::uint64_t reports, const LocalRandomizer& randomizer, bool reversed) {
  const LongBall odds = exp(randomizer.loss);
  std::vector<AtomsBase::Atom> atoms;
  double loss_error = 0;
  double mass_error = 0;
  for (std::uint64_t count = 0; count <= reports; ++count) {
    const LongBall ratio = (exactly(count) * odds + exactly(reports - count) / odds) / exactly(reports);
    const LongBall chance = binomial_mass(reports, randomizer.less, count);
    const Ball loss = shortened(reversed ? -log(ratio) : log(ratio));
    const Ball mass = shortened(reversed ? chance : chance * ratio);
    constexpr double least = 1e-290;
    if (!(mass.value() > least)) continue;
    atoms.push_back({loss.value(), mass.value()});
    loss_error = std::max(loss_error, loss.radius());
    mass_error = std::max(mass_error, mass.share());
  }
  if (reversed) std::reverse(atoms.begin(), atoms.end());
  return LossLaw{AtomsBase{std::move(atoms), loss_error, mass_error, false}};
}

}  // namespace

ShuffledLaws shuffled_laws(const Event& event, bool from_above) {
  const Count reports = reports_of(event);
  const LocalRandomizer randomizer = LocalRandomizer::of(event);
  const auto shared = shuffled_curve(event);
  const ShuffledCurve& curve = *shared;
  constexpr std::uint64_t many_reports = std::uint64_t{1} << 25;
  const auto losses = losses_of(curve, randomizer.categories > 2 || reports.value() > many_reports);
  std::vector<Corner> corners;
  // What is left beyond a value so small may as well be at the largest loss.
  constexpr long double nothing_left = 1e-40L;
  for (const double loss : losses) {
    const auto value = static_cast<long double>(curve.upper(loss));
    corners.push_back({loss, corners.empty() ? value : std::min(value, corners.back().value)});
    if (value < nothing_left) break;
  }
  if (corners.back().value > 0) corners.push_back({losses.back(), 0});
  ShuffledLaws found{polygon_law(corners, +1), std::nullopt, std::nullopt};
  if (from_above) return found;
  constexpr std::uint64_t most_atoms = 4096;
  if (randomizer.categories == 2 && reports.value() <= most_atoms && randomizer.loss.value() <= ShuffledCurve::most_loss) {
    found.lower = binary_law(reports.value(), randomizer, false);
    found.reversed = binary_law(reports.value(), randomizer, true);
    return found;
  }
  std::vector<CurvePoint> points;
  for (const double loss : losses) {
    const auto value = curve.attained(loss);
    if (!value || !(value->lower > nothing_left)) break;
    points.push_back(
        {std::expm1(static_cast<long double>(loss)), static_cast<long double>(value->lower), static_cast<long double>(value->upper)});
  }
  if (points.size() < 2) return found;
  found.lower = found.reversed = polygon_law(under(points), -1);
  return found;
}
// Proved so far.

}  // namespace surety::accounting::laws
