#include <surety/accounting/accountants/pld/games.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <variant>

#include <surety/accounting/accountants/pld/either_way.h>
#include <surety/accounting/accountants/pld/run_laws.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/releases.h>
#include <surety/accounting/laws/choices/choices_in_order.h>
#include <surety/accounting/laws/pairs/pairs.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/rounding.h>
#include <surety/base/text/error.h>

namespace surety::accounting::pld {
namespace {

/// The choices of an event that is nothing else, where their game has many states.
std::optional<ChoiceCounts> many_different_choices(const Event& event) {
  constexpr double few_states = 1000;
  ChoiceCounts counts;
  double states = 1;
  for (const auto& [leaf, count] : Releases::of(event).entries()) {
    const auto* choice = std::get_if<Event::Exponential>(&leaf.node());
    if (choice == nullptr) return std::nullopt;
    if (!(choice->epsilon.value() > 0)) continue;
    counts[choice->epsilon.value()] += count.value();
    states *= static_cast<double>(count.value()) + 1;
  }
  return counts.size() > 1 && states > few_states ? std::optional{counts} : std::nullopt;
}

/// What may be seen from the side of either neighbour: batches of fixed size, and under replace-one what others have found of an order.
bool has_sides(const Event& leaf) {
  return std::holds_alternative<Event::SampledWithoutReplacement>(leaf.node()) ||
         std::holds_alternative<Event::SampledWithReplacement>(leaf.node()) || std::holds_alternative<Event::Law>(leaf.node());
}

/// What is played: so many blocks, each of them in one direction or the other, and what comes after them.
struct Played {
  std::uint64_t blocks = 0;
  laws::Parts block;
  laws::Parts last;
};

/// Nothing where there are fewer than two that have sides, or where something has no pair.
std::optional<Played> played(const Event& event, const LeafCurves& others) {
  constexpr std::uint64_t most_blocks = 350;
  const auto entries = Releases::of(event).entries();
  Played found;
  std::uint64_t most = 0;
  for (const auto& [leaf, count] : entries) {
    if (has_sides(leaf)) most = std::max(most, count.value());
  }
  if (most < 2) return std::nullopt;
  found.blocks = most / ((most + most_blocks - 1) / most_blocks);
  const auto add = [](laws::Parts& to, const laws::Parts& parts, std::uint64_t count) {
    for (const auto& part : parts) {
      if (count > 0) to.push_back({part.upper, part.lower, part.same, part.count * count});
    }
  };
  for (const auto& [leaf, count] : entries) {
    const auto directions = laws::both_directions(leaf, others);
    const std::uint64_t each = has_sides(leaf) ? count.value() / found.blocks : 0;
    add(found.block, directions.remove, each);
    add(found.last, directions.remove, count.value() - each * found.blocks);
  }
  return found;
}

}  // namespace

double by_choices_in_order(const Event& event, const Given& question) {
  constexpr double most_in_order = 2e7;
  constexpr double fewest_points = 1000;
  constexpr double most_points = 16000;
  const auto counts = many_different_choices(event);
  if (!counts) return 0;
  double number = 0;
  double sum = 0;
  double rho = 0;  // of zero-concentrated privacy, to guess by
  for (const auto& [range, count] : *counts) {
    const auto times = static_cast<double>(count);
    number += times;
    sum += times * range;
    rho += times * range * range / 8;
  }
  if (number > most_in_order / fewest_points) return 0;
  const auto reach_of = [&](double log_delta) { return rho + 2 * std::sqrt(rho * (log_delta + 14)); };
  const double seen = question.delta ? reach_of(-std::log(std::max(*question.delta, 1e-280))) : *question.epsilon + reach_of(0);
  const double reach = std::min(seen, sum);
  if (!(reach > 0 && std::isfinite(reach))) return 0;
  const ChoicesInOrder game{*counts, reach, size_of(std::min(most_points, most_in_order / number))};
  return question.delta ? game.epsilon(*question.delta) : game.delta(*question.epsilon);
}

double by_batches_either_way(const Event& event, const Given& question, const Enclosure& found, const LeafCurves& others) {
  constexpr double points = 4000;
  constexpr double furthest = 200;
  const double scale = question.epsilon ? *question.epsilon : found.lower;
  const double small = question.delta ? *question.delta : found.lower;
  if (event.adjacency() != Adjacency::replace_one || !(small > 0 && small < 1) || !(scale < furthest)) return 0;
  try {
    const auto play = played(event, others);
    if (!play) return 0;
    Task all;
    all.parts = play->last;
    for (auto part : play->block) {
      part.count *= play->blocks;
      all.parts.push_back(std::move(part));
    }
    for (auto& part : all.parts) {
      const LossLaw law = part.lower.value_or(laws::nothing());
      part = {law, law, true, part.count};
    }
    all.wanted = 1e-3;
    all = prepare(std::move(all), {std::nullopt, small});
    const ApproximateCumulants k{all.parts, all.cut};
    // Where the curve has fallen to a hundredth or less of what is looked at.
    const double reach = std::max(1.3 * scale, 6 * std::sqrt(k.at(0).variance));
    if (!(reach > 0 && reach < 2 * furthest)) return 0;
    const double step = reach / points;
    constexpr double finer = 0.3;
    const Delta at{small};
    const auto atoms = [&](const laws::Parts& parts) {
      return parts.empty() ? std::vector<WeighedAtom>{} : atoms_below(parts, at, finer * step);
    };
    const EitherWayLaws laws{atoms(play->block), atoms(play->last)};
    // The step at which a loss that is looked at is a multiple.
    const auto meeting = [&](double loss) { return loss > step ? round_up(round_up(loss / std::floor(loss / step))) : step; };
    const auto curve_at = [&](double loss) { return either_way(laws, play->blocks, meeting(loss), size_of(points), all.saddle.s); };
    if (question.epsilon) return curve_at(*question.epsilon).delta(*question.epsilon);
    // Once to see where it ends, and once at multiples that meet it from below.
    const auto first = either_way(laws, play->blocks, step, size_of(points), all.saddle.s);
    const double seen = first.epsilon(small);
    const double met = curve_at(seen + 0.9 * first.left_of(small)).epsilon(small);
    return std::max(seen, met);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::memory) throw;
    return 0;
  }
}

}  // namespace surety::accounting::pld
