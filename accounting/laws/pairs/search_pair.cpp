#include <surety/accounting/laws/pairs/search_pair.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include <surety/accounting/numbers/floating_point.h>
#include <surety/accounting/numbers/last_few.h>

namespace surety::accounting::privacy_loss {
namespace {

constexpr std::size_t points_of_a_pair = 1000;
/// The bound is raised by this share, and masses are within it of a law whose curve lies above the bound.
constexpr double raised = 1e-10;

/// With delta(odds) convex, piecewise linear and 1 at odds 0, Q has at each point the mass by which the slope changes there.
LossLaw pair_above(const std::vector<CurvePoint>& points) {
  const std::size_t last = points.size() - 1;
  double curve = std::min(1.0, points[last].delta * (1 + raised));
  const double infinite = curve;
  double slope = 0;
  std::vector<double> q_masses(points.size(), 0.0);
  for (std::size_t i = last; i > 0; --i) {
    const double run = points[i].odds - points[i - 1].odds;
    // Each chord is at least as steep as the one after it, and ends at the bound or above it.
    const double wanted = i == 1 ? 1.0 : std::min(1.0, points[i - 1].delta * (1 + raised));
    const double steeper = std::max(slope, (wanted - curve) / run);
    q_masses[i] = steeper - slope;
    slope = steeper;
    curve += slope * run;
  }
  AtomsBase base{{}, 1e-12, 10 * raised};
  double sum = 0;
  for (std::size_t i = 1; i <= last; ++i) sum += q_masses[i] * points[i].odds;
  for (std::size_t i = 1; i <= last; ++i) {
    if (q_masses[i] > 0) base.atoms.push_back({std::log(points[i].odds), q_masses[i] * points[i].odds / sum});
  }
  LossLaw law{std::move(base)};
  law.infinite_mass = infinite;
  return law;
}

}  // namespace

LossLaw search_pair(const Event& search, const LeafCurves& others) {
  using Key = std::pair<const LeafCurves*, Event>;
  static auto& kept = *new LastFew<Key, LossLaw>;
  return kept.of(Key{&others, search}, [&] {
    const StandardFloatingPoint environment;
    return pair_above(others.of_search(search, points_of_a_pair));
  });
}

}  // namespace surety::accounting::privacy_loss
