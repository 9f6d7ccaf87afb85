#include <surety/accounting/accountants/pld/pld.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <optional>
#include <tuple>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/accountants/pld/composed_curve.h>
#include <surety/accounting/accountants/pld/crossing.h>
#include <surety/accounting/accountants/pld/integer_noise_curve.h>
#include <surety/accounting/accountants/pld/refinement.h>
#include <surety/accounting/accountants/pld/terms.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/format.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/accounting/events/releases.h>
#include <surety/accounting/laws/epochs/replaced_epoch.h>
#include <surety/accounting/laws/pairs/pairs.h>
#include <surety/accounting/laws/rounds/replaced_sum.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/last_few.h>

namespace surety::accounting {
namespace {

/// What is done with a batch that every record is in.
const Event* batch_of_all(const Event& event) {
  if (const auto* poisson = std::get_if<Event::PoissonSampled>(&event.node()))
    return poisson->rate.value() == 1 ? &poisson->event : nullptr;
  const auto whole = [](const auto* sampled) { return sampled->batches.size() == sampled->batches.records() ? &sampled->event : nullptr; };
  if (const auto* sampled = std::get_if<Event::SampledWithoutReplacement>(&event.node())) return whole(sampled);
  if (const auto* shuffled = std::get_if<Event::Shuffled>(&event.node())) return whole(shuffled);
  // Of an epoch in a known order a record meets one batch.
  if (const auto* deterministic = std::get_if<Event::Deterministic>(&event.node())) return &deterministic->event;
  return nullptr;
}

/// The parts of which one meets the record once and nothing else does; empty for any other event. Each is then accounted for by itself.
/// \throws Error{unsupported} as `require_searches_stand_alone`.
std::vector<Event> lone_parts(const Event& event) {
  const auto entries = Releases::of(event).entries();
  if (entries.size() != 1 || entries.front().count.value() != 1) return {};
  if (const auto* whole = batch_of_all(entries.front().leaf)) return lone_parts(*whole);
  const auto* parallel = std::get_if<Event::Parallel>(&entries.front().leaf.node());
  if (parallel == nullptr) return {};
  auto parts = undominated(*parallel);
  laws::require_searches_stand_alone(parts);
  return parts;
}

template <class Ask>
Enclosure largest_among(const std::vector<Event>& parts, Ask ask) {
  Enclosure all{0, 0};
  for (const auto& part : parts) {
    const Enclosure one = ask(part);
    all = {std::max(all.lower, one.lower), std::max(all.upper, one.upper)};
  }
  return all;
}

/// One epoch of allocation under replace-one alone: its curve needs no grid of losses.
struct LoneEpoch {
  std::uint64_t rounds;
  Enclosure multiplier;  // over the bound on one record

  [[nodiscard]] Enclosure delta(double x) const {
    if (rounds == 2) return {two_replaced_rounds(multiplier.upper, x).lower, two_replaced_rounds(multiplier.lower, x).upper};
    const auto above = at(multiplier.lower, x);
    return {std::max(0.0, (multiplier.lower == multiplier.upper ? above : at(multiplier.upper, x)).lower), std::min(1.0, above.upper)};
  }
  /// The last few are kept: a search asks for delta at its target's epsilon, and then for epsilon, which begins there.
  [[nodiscard]] Enclosure kept_delta(double x) const {
    static auto& kept = *new LastFew<std::tuple<std::uint64_t, double, double, double>, Enclosure>;
    return kept.of({rounds, multiplier.lower, multiplier.upper, x}, [&] { return delta(x); });
  }
  /// The same by sums on grids, where that takes too many nodes. `scale`: the curve there, roughly.
  [[nodiscard]] Enclosure delta_by_sums(double x, double scale, double step) const {
    const double upper = above_by_sums(x, scale, step);
    return {std::min(below_by_sums(x, scale, step), upper), upper};
  }
  [[nodiscard]] double above_by_sums(double x, double scale, double step) const {
    return replaced_curve_above(rounds, multiplier.lower, x, scale, step);
  }
  [[nodiscard]] double below_by_sums(double x, double scale, double step) const {
    const double found = replaced_curve_below(rounds, multiplier.upper, x, scale, step);
    return found > 0 ? found : shown(x);
  }
  /// A step that is fine enough where the coarse one gave these ends, which follow its square.
  [[nodiscard]] static double fine_step(const Enclosure& coarse) {
    constexpr double wanted = 5e-3;  // share of the curve
    constexpr double finest = 0.02;
    const double width = coarse.upper > 0 ? coarse.width() / coarse.upper : 0;
    constexpr double hopeless = 0.5;  // far out, where no step has time for digits
    if (width > hopeless) return coarse_step;
    return std::clamp(coarse_step * std::sqrt(wanted / width), finest, coarse_step);
  }
  static constexpr double coarse_step = 0.1;

 private:
  [[nodiscard]] Enclosure at(double of_bound, double x) const {
    const auto found = replaced_epoch(static_cast<double>(rounds), of_bound)->beyond(x);
    return {found.delta - found.delta_error, std::max(0.0, found.delta + found.delta_error)};
  }
  /// What a sum of the rounds shows, which has all its digits where the others have none.
  [[nodiscard]] double shown(double x) const {
    const auto law = laws::shown_by_replaced_epoch(multiplier.upper, rounds, 1, 1);
    Lower sum{0};
    for (const auto& atom : law.atoms) {
      if (atom.loss - law.loss_error > x) {
        sum = sum + Lower{Exact{atom.mass}} * (Lower{1} - exp(Upper{Exact{x}} - Lower{Exact{atom.loss}} + Exact{law.loss_error})) *
                        Exact{1 - law.mass_error};
      }
    }
    return sum.value();
  }
};
std::optional<LoneEpoch> lone_epoch(const Event& event) {
  const auto entries = Releases::of(event).entries();
  if (event.adjacency() != Adjacency::replace_one || entries.size() != 1 || entries.front().count.value() != 1) return std::nullopt;
  const auto* epoch = std::get_if<Event::Allocated>(&entries.front().leaf.node());
  if (epoch == nullptr || epoch->participations != Count{1}) return std::nullopt;
  const auto multiplier = gaussian_multiplier(epoch->event);
  if (!multiplier) return std::nullopt;
  return LoneEpoch{epoch->rounds.value(), {2 * multiplier->lower, 2 * multiplier->upper}};
}

/// The curve of one release of noise on integers, which needs no grid of losses; null for other events, and where there is too little noise.
std::shared_ptr<const IntegerNoiseCurve> lone_integer_noise(const Event& event) {
  const auto entries = Releases::of(event).entries();
  if (entries.size() != 1 || entries.front().count.value() != 1) return nullptr;
  const Event& release = entries.front().leaf;
  if (!laws::has_integer_noise(release) || laws::why_no_integer_noise_laws(release)) return nullptr;
  return IntegerNoiseCurve::of(release);
}

using pld::crossing_of;
using pld::Look;
using pld::Place;

/// Where to begin: next to the number that the answer is compared with.
Look look_of(const Pld& accountant, double beside) {
  constexpr double usual = 0.5;
  const bool compares = accountant.upper_only && accountant.level && *accountant.level > 0;
  return {compares ? *accountant.level : usual, beside, compares};
}

Enclosure epsilon_by_sums(const LoneEpoch& epoch, double delta, const Pld& accountant) {
  constexpr double last = 1e150;
  const auto at = [&](double x, auto value) {
    if (!(x < last))
      throw Error{ErrorCode::unsupported, fmt::format("privacy-loss: delta {} is below the digits of a Gaussian release", delta)};
    const double found = value(x);
    return Place{x, {found, found}};
  };
  // Both ends of a curve are that far apart and more.
  constexpr double share = 1e-4;
  const auto narrow = [&](const Look& look) { return Look{look.start, std::max(look.beside, share * look.start), look.compares}; };
  const double beside = 0.1 * accountant.width;
  double step = LoneEpoch::coarse_step;
  const auto upper = [&](double x) { return at(x, [&](double y) { return epoch.above_by_sums(y, delta, step); }); };
  const auto lower = [&](double x) { return at(x, [&](double y) { return epoch.below_by_sums(y, delta, step); }); };
  const double rough = crossing_of(upper, delta, narrow(look_of(accountant, 10 * beside))).high.x;
  if (rough == 0) return {0, 0};
  step = LoneEpoch::fine_step(epoch.delta_by_sums(rough, delta, step));
  const Look look = look_of(accountant, beside);
  const double high = crossing_of(upper, delta, narrow({look.compares ? look.start : rough, beside, look.compares})).high.x;
  if (high == 0 || accountant.upper_only) return {0, high};
  return {std::min(high, crossing_of(lower, delta, narrow({high, beside, false})).rest.x), high};
}

/// Where the curve is surely at most delta, and surely more, which `upper_only` does not look for. \throws Error{unsupported} where it has too few digits.
Enclosure epsilon_of(const LoneEpoch& epoch, double delta, const Pld& accountant) {
  const double width = accountant.width;
  const double beside = 0.05 * width;
  const Look look = look_of(accountant, beside);
  const auto at = [&](double x) { return Place{x, look.compares ? epoch.kept_delta(x) : epoch.delta(x)}; };
  const auto [rest, high] = crossing_of(at, delta, look);
  double least = rest.delta.lower > delta ? rest.x : 0;
  if (accountant.upper_only) return {least, high.x};
  // Where the curve has few digits there, farther below.
  for (double below = 3 * beside; high.x - least > width && high.x - below > least; below *= 2) {
    if (const Place found = at(high.x - below); found.delta.lower > delta) least = found.x;
  }
  return {least, high.x};
}

/// What `first` gives. Where it has few digits, that is fails `is_narrow`, also `second`, and where it has none or takes too many nodes, that alone.
template <class First, class Narrow, class Second>
Enclosure best_of_both(First first, Narrow is_narrow, Second second) {
  std::optional<Enclosure> found;
  try {
    found = first();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
  }
  if (found && is_narrow(*found)) return *found;
  const Enclosure other = second();
  return found ? Enclosure{std::max(found->lower, other.lower), std::min(found->upper, other.upper)} : other;
}
/// Shares of an answer to which sums on a grid narrow it.
constexpr double narrow_by_sums = 1e-3;

}  // namespace

std::optional<Refusal> why_not(const Pld&, const Event& event, const LeafCurves& others) {
  const StandardFloatingPoint environment;
  const Event plain = plainest(event);
  std::vector<Event> parts;
  if (auto refusal = refusal_thrown_by(plain, [&] { parts = lone_parts(plain); })) return refusal;
  if (parts.empty()) return laws::why_no_pairs(plain, others);
  for (const auto& part : parts) {
    if (auto refusal = laws::why_no_pairs(part, others)) return refusal;
  }
  return std::nullopt;
}

Enclosure delta(const Pld& accountant, const Event& written, Epsilon epsilon, const LeafCurves& others) {
  const StandardFloatingPoint environment;
  const Event event = plainest(written);
  if (const auto parts = lone_parts(event); !parts.empty()) {
    return largest_among(parts, [&](const Event& part) { return delta(accountant, part, epsilon, others); });
  }
  if (const auto lone = lone_integer_noise(event)) return lone->delta(epsilon.value());
  if (const auto lone = lone_epoch(event)) {
    const double x = epsilon.value();
    const bool compares = accountant.upper_only && accountant.level;
    return best_of_both([&] { return compares ? lone->kept_delta(x) : lone->delta(x); },
                        [&](const Enclosure& found) {
                          // Whoever compares asks no more than on which side it lies.
                          const bool is_on_a_side = compares && (found.upper <= *accountant.level || found.lower > *accountant.level);
                          return is_on_a_side || found.width() <= narrow_by_sums * found.upper;
                        },
                        [&] {
                          // The scale of what is left out, and the step, follow from what was found.
                          const double scale = compares ? *accountant.level : 1e-5;
                          const auto rough = lone->delta_by_sums(x, std::clamp(scale, 1e-250, 1.0), LoneEpoch::coarse_step);
                          const double step = LoneEpoch::fine_step(rough);
                          if (compares) return Enclosure{0, lone->above_by_sums(x, std::clamp(scale, 1e-250, 1.0), step)};
                          return rough.upper > 0 ? lone->delta_by_sums(x, std::clamp(rough.upper, 1e-250, 1.0), step) : rough;
                        });
  }
  return pld::answer(accountant, event, {epsilon.value(), std::nullopt}, others);
}

GridTerms grid_terms(const Event& event, Epsilon epsilon, const GridShape& shape, const LeafCurves& others) {
  const StandardFloatingPoint environment;
  const auto directions = laws::both_directions(plainest(event), others);
  const double span = shape.largest - shape.least;
  if (!(span / shape.step >= 4))
    throw Error{ErrorCode::invalid_argument, fmt::format("window is {} steps, must be at least 4", span / shape.step)};
  const pld::Window window{.least = shape.least,
                           .largest = shape.largest,
                           .step = shape.step,
                           .size = std::bit_floor(size_of(span / shape.step)),
                           .s = shape.tilt,
                           .right_tilt = shape.right_tilt,
                           .left_tilt = shape.left_tilt};
  const auto pair =
      pld::compose(shape.direction == Direction::remove ? directions.remove : directions.add, window, {shape.log_cut, shape.log_cut});
  const auto at = [&](const pld::ComposedCurve& curve) {
    const std::size_t j =
        pld::first_where(curve.size(), [&](std::size_t i) { return curve.loss(i) > static_cast<long double>(epsilon.value()); });
    if (j == 0 || j == curve.size())
      throw Error{ErrorCode::invalid_argument, fmt::format("epsilon is {}, must lie in the window", epsilon)};
    const auto sum = curve.sum(j, static_cast<double>(curve.loss(j) - static_cast<long double>(epsilon.value())));
    return std::array{sum.value, sum.rounding, curve.aliasing(j)};
  };
  const auto up = at(pair.upper);
  const auto down = at(pair.lower);
  return {{up[0], up[1], pair.upper.beyond, pair.upper.infinite_more}, {down[0], down[1], down[2], pair.lower.infinite_less}};
}

Enclosure epsilon(const Pld& accountant, const Event& written, Delta delta, const LeafCurves& others) {
  const StandardFloatingPoint environment;
  const Event event = plainest(written);
  if (const auto parts = lone_parts(event); !parts.empty()) {
    return largest_among(parts, [&](const Event& part) { return epsilon(accountant, part, delta, others); });
  }
  if (const auto lone = lone_integer_noise(event)) return lone->epsilon(delta.value());
  if (delta.value() == 0) {
    const auto directions = laws::both_directions(event, others);
    const auto removed = laws::largest_of(directions.remove);
    const auto added = laws::largest_of(directions.add);
    return {std::max(removed.lower, added.lower), std::max(removed.upper, added.upper)};
  }
  if (const auto lone = lone_epoch(event)) {
    const auto is_narrow = [&](const Enclosure& found) {
      return accountant.upper_only || found.width() <= std::max(accountant.width, narrow_by_sums * found.upper);
    };
    return best_of_both([&] { return epsilon_of(*lone, delta.value(), accountant); }, is_narrow,
                        [&] { return epsilon_by_sums(*lone, delta.value(), accountant); });
  }
  return pld::answer(accountant, event, {std::nullopt, delta.value()}, others);
}

}  // namespace surety::accounting
