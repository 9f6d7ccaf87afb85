#include <surety/accounting/accountants/pld/joint_epochs.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <surety/accounting/accountants/pld/run_laws.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/accounting/events/releases.h>
#include <surety/accounting/laws/finite/search_pair.h>
#include <surety/accounting/laws/rounds/joint_round.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/last_few.h>
#include <surety/base/text/error.h>

namespace surety::accounting::pld {
namespace {

/// With fewer participations the blocks are sharper, or as sharp.
constexpr std::uint64_t fewest_participations = 8;
constexpr double least_delta = 1e-80;

/// The corners below which a convex curve through or below the points cannot come, from odds 0, where every curve is 1.
std::vector<CurvePoint> hull(const std::vector<CurvePoint>& points) {
  std::vector<CurvePoint> corners{{0, 1}};
  const auto slope = [](const CurvePoint& from, const CurvePoint& to) { return (to.delta - from.delta) / (to.odds - from.odds); };
  for (const auto& point : points) {
    if (!(point.delta < corners.back().delta && point.odds > corners.back().odds)) continue;
    while (corners.size() > 1 && slope(corners[corners.size() - 2], corners.back()) >= slope(corners.back(), point)) corners.pop_back();
    corners.push_back(point);
  }
  return corners;
}

/// The law of one epoch where a record is removed; nothing where there is none.
std::optional<LossLaw> joint_epoch(double multiplier, std::uint64_t rounds, std::uint64_t participations, int log_delta) {
  using Key = std::tuple<double, std::uint64_t, std::uint64_t, int>;
  static auto& kept = *new LastFew<Key, std::optional<LossLaw>>;
  return kept.of(Key{multiplier, rounds, participations, log_delta}, [&]() -> std::optional<LossLaw> {
    const auto joint = joint_round(multiplier, rounds, participations, log_delta);
    if (!joint) return std::nullopt;
    const Delta delta{std::exp(std::min(log_delta - joint->log_scale.value(), -1.0))};
    const Upper scale = exp(joint->log_scale);
    std::vector<CurvePoint> points;
    try {
      for (const auto& point : curve_above({{joint->round, std::nullopt, false, rounds}}, delta)) {
        points.push_back({(Upper{Exact{point.odds}} * scale).value(), (Upper{Exact{point.delta}} * scale + joint->rest).value()});
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::memory) throw;
      return std::nullopt;
    }
    const auto corners = hull(points);
    if (corners.size() < 3) return std::nullopt;
    return laws::pair_above(corners);
  });
}

/// What of a leaf is such an epoch.
const Event::Allocated* epoch_of(const Event& leaf) {
  const auto* epoch = std::get_if<Event::Allocated>(&leaf.node());
  if (epoch == nullptr || leaf.adjacency() == Adjacency::replace_one) return nullptr;
  const auto participations = epoch->participations.value();
  return participations >= fewest_participations && participations < epoch->rounds.value() ? epoch : nullptr;
}

}  // namespace

std::optional<laws::BothDirections> joint_directions(const Event& event, double delta, const LeafCurves& others, laws::Reach reach) {
  if (!(delta >= least_delta && delta < 0.5)) return std::nullopt;
  const auto entries = Releases::of(event).entries();
  if (std::none_of(entries.begin(), entries.end(), [](const auto& entry) { return epoch_of(entry.leaf) != nullptr; })) return std::nullopt;
  const int log_delta = static_cast<int>(std::floor(std::log(delta)));
  laws::BothDirections found;
  bool any = false;
  for (const auto& [leaf, count] : entries) {
    auto parts = laws::both_directions(repeat(count, leaf), others, 1, reach);
    if (const auto* epoch = epoch_of(leaf)) {
      const auto multiplier = gaussian_multiplier(epoch->event);
      auto law =
          multiplier ? joint_epoch(multiplier->lower, epoch->rounds.value(), epoch->participations.value(), log_delta) : std::nullopt;
      if (law) {
        any = true;
        parts.remove = {{std::move(*law), std::nullopt, false, count.value()}};
      }
    }
    found.symmetric = found.symmetric && parts.symmetric;
    found.remove.insert(found.remove.end(), parts.remove.begin(), parts.remove.end());
    found.add.insert(found.add.end(), parts.add.begin(), parts.add.end());
  }
  if (!any) return std::nullopt;
  return found;
}

}  // namespace surety::accounting::pld
