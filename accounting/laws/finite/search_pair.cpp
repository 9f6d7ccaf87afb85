#include <surety/accounting/laws/finite/search_pair.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/last_few.h>

namespace surety::accounting::laws {
namespace {

constexpr std::size_t points_of_a_pair = 1000;
/// The bound is raised by this share, and masses are within it of a law whose curve lies above the bound.
constexpr double raised = 1e-10;

/// Of outcomes with masses from below under P and from above under Q. Losses are rounded down by more than they err.
LossLaw law_below(const std::vector<WeighedAtom>& atoms) {
  constexpr double loss_error = 1e-12;  // of losses up to 1000
  double infinite = 0;
  for (const auto& atom : atoms) infinite += atom.q > 0 ? 0 : atom.p;
  infinite *= 1 - raised;
  AtomsBase base{{}, loss_error, raised};
  for (const auto& atom : atoms) {
    if (atom.q > 0 && atom.p > 0) base.atoms.push_back({std::log(atom.p / atom.q), atom.p / (1 - infinite)});
  }
  std::sort(base.atoms.begin(), base.atoms.end(), [](const auto& x, const auto& y) { return x.loss < y.loss; });
  LossLaw law{std::move(base)};
  law.infinite_mass = infinite;
  return law;
}

/// The one whose moment is largest, as a law.
std::optional<LossLaw> best_at(const std::vector<std::vector<WeighedAtom>>& laws, double tilt) {
  const std::vector<WeighedAtom>* best = nullptr;
  double most = 0;
  for (const auto& law : laws) {
    double sum = 0;
    for (const auto& atom : law) {
      if (atom.q > 0 && atom.p > 0) sum += atom.p * std::exp(std::min(tilt, 50.0) * std::clamp(std::log(atom.p / atom.q), -10.0, 10.0));
    }
    if (sum > most) {
      most = sum;
      best = &law;
    }
  }
  if (best == nullptr) return std::nullopt;
  return law_below(*best);
}

}  // namespace

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

SearchLaws attained_search(const Event& search, double tilt, const LeafCurves& others) {
  using Key = std::pair<const LeafCurves*, Event>;
  static auto& kept = *new LastFew<Key, std::shared_ptr<const AttainedLaws>>;
  const StandardFloatingPoint environment;
  const auto laws = kept.of(Key{&others, search}, [&] { return std::make_shared<const AttainedLaws>(others.attained_by_search(search)); });
  auto remove = best_at(laws->remove, tilt);
  return {remove, laws->symmetric ? remove : best_at(laws->add, tilt), laws->symmetric};
}

LossLaw search_pair(const Event& search, const LeafCurves& others) {
  using Key = std::pair<const LeafCurves*, Event>;
  static auto& kept = *new LastFew<Key, LossLaw>;
  return kept.of(Key{&others, search}, [&] {
    const StandardFloatingPoint environment;
    return pair_above(others.of_search(search, points_of_a_pair));
  });
}

}  // namespace surety::accounting::laws
