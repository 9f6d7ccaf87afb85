#include <surety/accounting/accountants/grid/grid.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <optional>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/accountants/grid/composed_curve.h>
#include <surety/accounting/accountants/grid/refinement.h>
#include <surety/accounting/accountants/grid/terms.h>
#include <surety/accounting/events/format.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/accounting/events/releases.h>
#include <surety/accounting/laws/pairs/pairs.h>
#include <surety/accounting/laws/pairs/replaced_epoch.h>
#include <surety/accounting/laws/pairs/replaced_sum.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/floating_point.h>

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
std::vector<Event> lone_parts(const Event& event) {
  const auto entries = Releases::of(event).entries();
  if (entries.size() != 1 || entries.front().count.value() != 1) return {};
  if (const auto* whole = batch_of_all(entries.front().leaf)) return lone_parts(*whole);
  const auto* parallel = std::get_if<Event::Parallel>(&entries.front().leaf.node());
  return parallel != nullptr ? undominated(*parallel) : std::vector<Event>{};
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
    const auto above = at(multiplier.lower, x);
    return {std::max(0.0, (multiplier.lower == multiplier.upper ? above : at(multiplier.upper, x)).lower), std::min(1.0, above.upper)};
  }
  /// The same by sums on a grid, where that takes too many nodes. `scale`: the curve there, roughly.
  [[nodiscard]] Enclosure delta_by_sums(double x, double scale, std::size_t size = std::size_t{1} << 16) const {
    const auto above = replaced_curve(rounds, multiplier.lower, x, scale, size);
    const bool same = multiplier.lower == multiplier.upper;
    const double least = std::max(same ? above.lower : replaced_curve(rounds, multiplier.upper, x, scale, size).lower, shown(x));
    return {std::min(least, above.upper), above.upper};
  }

 private:
  [[nodiscard]] Enclosure at(double of_bound, double x) const {
    const auto found = replaced_epoch(static_cast<double>(rounds), of_bound)->beyond(x);
    return {found.delta - found.delta_error, std::max(0.0, found.delta + found.delta_error)};
  }
  /// What a sum of the rounds shows, which has all its digits where the others have none.
  [[nodiscard]] double shown(double x) const {
    const auto law = privacy_loss::shown_by_replaced_epoch(multiplier.upper, rounds, 1, 1);
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

/// Curves fall, and their logarithms are nearly straight: the place where one crosses `level`, between `low`, where it is above, and `high`.
template <class Curve>
void narrow_crossing(double& low, double& high, double width, double level, Curve curve) {
  double above = curve(low);
  double below = curve(high);
  for (int i = 0; i < 40 && high - low > width; ++i) {
    const double slope = std::log(std::max(above, 1e-300)) - std::log(std::max(below, 1e-300));
    // Not next to an end, of which one would else stay where it is.
    const double share = std::clamp((std::log(std::max(above, 1e-300)) - std::log(level)) / slope, 0.1, 0.9);
    const double middle = low + (high - low) * (slope > 0 ? share : 0.5);
    const double found = curve(middle);
    (found > level ? low : high) = middle;
    (found > level ? above : below) = found;
  }
}

Enclosure epsilon_by_sums(const LoneEpoch& epoch, double delta, double width) {
  const auto upper = [&](double x) { return epoch.delta_by_sums(x, delta).upper; };
  const auto lower = [&](double x) { return epoch.delta_by_sums(x, delta).lower; };
  if (upper(0) <= delta) return {0, 0};
  double low = 0;
  double high = 0.5;
  for (; upper(high) > delta; high *= 2) {
    low = high;
    if (!(high < 1e150))
      throw Error{ErrorCode::unsupported, fmt::format("privacy-loss: delta {} is below the digits of a Gaussian release", delta)};
  }
  width = std::max(width, 1e-3 * high);
  narrow_crossing(low, high, width, delta, upper);
  // From below likewise, where there are digits.
  double least = 0;
  double most = high;
  if (lower(least) > delta) narrow_crossing(least, most, width, delta, lower);
  return {least, high};
}

/// Where the curve is surely at most delta, and surely more, which `upper_only` does not look for. \throws Error{unsupported} where it has too few digits.
Enclosure epsilon_of(const LoneEpoch& epoch, double delta, double width, bool upper_only) {
  struct Point {
    double x;
    Enclosure delta;

    [[nodiscard]] double log_upper() const { return std::log(std::max(delta.upper, 1e-300)); }
  };
  const auto at = [&](double x) { return Point{x, epoch.delta(x)}; };
  Point rest = at(0);  // where it is not surely at most delta
  if (rest.delta.upper <= delta) return {0, 0};
  Point high = at(0.5);
  while (!(high.delta.upper <= delta)) {
    if (high.delta.width() > delta) {
      throw Error{ErrorCode::unsupported,
                  fmt::format("privacy-loss: delta {} is below the digits of an allocated epoch under replace-one", delta)};
    }
    rest = high;
    high = at(2 * high.x);
  }
  double least = rest.delta.lower > delta ? rest.x : 0.0;
  // The curve falls; its logarithm is nearly straight. Each end is looked for just beside where that line crosses delta.
  const double beside = 0.05 * width;
  constexpr int bisect_each = 6;  // whatever the line says
  for (int i = 1; i < 60 && high.x - rest.x > 2.5 * beside; ++i) {
    const double share = (rest.log_upper() - std::log(delta)) / (rest.log_upper() - high.log_upper());
    const double crossing = rest.x + (high.x - rest.x) * share;
    const double aim = high.x - crossing > 2 * beside ? crossing + beside : crossing - beside;
    const bool is_inside = aim > rest.x && aim < high.x && i % bisect_each > 0;
    const Point found = at(is_inside ? aim : 0.5 * (rest.x + high.x));
    (found.delta.upper <= delta ? high : rest) = found;
    if (found.delta.lower > delta) least = found.x;
  }
  if (upper_only) return {least, high.x};
  // Where the curve has few digits there, farther below.
  for (double below = 3 * beside; high.x - least > width && high.x - below > least; below *= 2) {
    if (const Point found = at(high.x - below); found.delta.lower > delta) least = found.x;
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

std::optional<Refusal> why_not(const PrivacyLoss&, const Event& event, const LeafCurves& others) {
  const StandardFloatingPoint environment;
  const Event plain = plainest(event);
  const auto parts = lone_parts(plain);
  if (parts.empty()) return privacy_loss::why_no_pairs(plain, others);
  for (const auto& part : parts) {
    if (auto refusal = privacy_loss::why_no_pairs(part, others)) return refusal;
  }
  return std::nullopt;
}

Enclosure delta(const PrivacyLoss& accountant, const Event& written, Epsilon epsilon, const LeafCurves& others) {
  const StandardFloatingPoint environment;
  const Event event = plainest(written);
  if (const auto parts = lone_parts(event); !parts.empty()) {
    return largest_among(parts, [&](const Event& part) { return delta(accountant, part, epsilon, others); });
  }
  if (const auto lone = lone_epoch(event)) {
    const double x = epsilon.value();
    return best_of_both([&] { return lone->delta(x); },
                        [](const Enclosure& found) { return found.width() <= narrow_by_sums * found.upper; },
                        [&] {
                          // The scale of what is left out follows from what was found.
                          const auto rough = lone->delta_by_sums(x, 1e-5);
                          return rough.upper > 0 ? lone->delta_by_sums(x, std::clamp(rough.upper, 1e-250, 1.0)) : rough;
                        });
  }
  return privacy_loss::answer(accountant, event, {epsilon.value(), std::nullopt}, others);
}

GridTerms grid_terms(const Event& event, Epsilon epsilon, const GridShape& shape, const LeafCurves& others) {
  const StandardFloatingPoint environment;
  const auto directions = privacy_loss::both_directions(plainest(event), others);
  const double span = shape.largest - shape.least;
  if (!(span / shape.step >= 4))
    throw Error{ErrorCode::invalid_argument, fmt::format("window is {} steps, must be at least 4", span / shape.step)};
  const privacy_loss::Window window{shape.least, shape.largest,    shape.step,     std::bit_floor(size_of(span / shape.step)),
                                    shape.tilt,  shape.right_tilt, shape.left_tilt};
  const auto pair = privacy_loss::compose(shape.direction == Direction::remove ? directions.remove : directions.add, window,
                                          {shape.log_cut, shape.log_cut});
  const auto at = [&](const privacy_loss::ComposedCurve& curve) {
    const std::size_t j =
        privacy_loss::first_where(curve.size(), [&](std::size_t i) { return curve.loss(i) > static_cast<long double>(epsilon.value()); });
    if (j == 0 || j == curve.size())
      throw Error{ErrorCode::invalid_argument, fmt::format("epsilon is {}, must lie in the window", epsilon)};
    const auto sum = curve.sum(j, static_cast<double>(curve.loss(j) - static_cast<long double>(epsilon.value())));
    return std::array{sum.value, sum.rounding, curve.aliasing(j)};
  };
  const auto up = at(pair.upper);
  const auto down = at(pair.lower);
  return {{up[0], up[1], pair.upper.beyond, pair.upper.infinite_more}, {down[0], down[1], down[2], pair.lower.infinite_less}};
}

Enclosure epsilon(const PrivacyLoss& accountant, const Event& written, Delta delta, const LeafCurves& others) {
  const StandardFloatingPoint environment;
  const Event event = plainest(written);
  if (const auto parts = lone_parts(event); !parts.empty()) {
    return largest_among(parts, [&](const Event& part) { return epsilon(accountant, part, delta, others); });
  }
  if (delta.value() == 0) {
    const auto directions = privacy_loss::both_directions(event, others);
    const auto removed = privacy_loss::largest_of(directions.remove);
    const auto added = privacy_loss::largest_of(directions.add);
    return {std::max(removed.lower, added.lower), std::max(removed.upper, added.upper)};
  }
  if (const auto lone = lone_epoch(event)) {
    const auto is_narrow = [&](const Enclosure& found) {
      return accountant.upper_only || found.width() <= std::max(accountant.width, narrow_by_sums * found.upper);
    };
    return best_of_both([&] { return epsilon_of(*lone, delta.value(), accountant.width, accountant.upper_only); }, is_narrow,
                        [&] { return epsilon_by_sums(*lone, delta.value(), accountant.width); });
  }
  return privacy_loss::answer(accountant, event, {std::nullopt, delta.value()}, others);
}

}  // namespace surety::accounting
