#include <surety/accounting/accountants/choices/choices.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/kept_with_event.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/accounting/events/releases.h>
#include <surety/accounting/laws/choices/choice_game.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/numbers/root.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting {
namespace {

static_assert(Choices::largest_range == largest_choice_range && Choices::most_states == most_choice_states);

constexpr mpfr_prec_t precision = 128;
/// Values of the game, each of some 20 ns, that one run may compute, and doubles that it may keep.
constexpr double most_work = 1.2e8;
constexpr double most_kept = 1.6e7;
/// Of the largest range; fewer are no grid, and of many states they take seconds and say less than others do.
constexpr double least_cells = 8;
constexpr double least_cells_of_many = 32;
constexpr double many_states = 5e4;

Refusal no_theorem_for(const Event& event, std::string_view why) { return {event, fmt::format("choices: {{}} {}", why)}; }

/// The choices of an event: how many of each range that is not 0.
class Ranges {
 public:
  static OrRefusal<Ranges> of(const Event& event) {
    Ranges ranges;
    if (auto refusal = ranges.visit(event, event, 1)) return *std::move(refusal);
    if (auto refusal = ranges.count_states(event)) return *std::move(refusal);
    return ranges;
  }
  /// \throws Error{unsupported} for an event of anything else.
  explicit Ranges(const Event& event) : Ranges{of(event).value()} {}

  [[nodiscard]] const ChoiceCounts& counts() const { return counts_; }
  [[nodiscard]] double states() const { return states_; }
  [[nodiscard]] double largest() const { return counts_.rbegin()->first; }
  /// The sum of all.
  [[nodiscard]] Enclosure sum() const {
    Interval total{0.0, precision};
    for (const auto& [range, count] : counts_) {
      total = total + Interval{static_cast<double>(count), precision} * Interval{range, precision};
    }
    return total.enclosure();
  }
  [[nodiscard]] double number() const {
    double total = 0;
    for (const auto& [range, count] : counts_) total += static_cast<double>(count);
    return total;
  }
  /// The rho of zero-concentrated privacy, to guess by.
  [[nodiscard]] double rho() const {
    double total = 0;
    for (const auto& [range, count] : counts_) total += static_cast<double>(count) * range * range / 8;
    return total;
  }
  /// What all but the most frequent kind make of states: these are kept.
  [[nodiscard]] double kept() const {
    double most = 1;
    for (const auto& [range, count] : counts_) most = std::max(most, static_cast<double>(count) + 1);
    return states_ / most;
  }

 private:
  Ranges() = default;
  std::optional<Refusal> count_states(const Event& event) {
    for (const auto& [range, count] : counts_) {
      if (range > Choices::largest_range) {
        return no_theorem_for(event, fmt::format("has a choice of range {}, must be at most {}", range, Choices::largest_range));
      }
      states_ *= static_cast<double>(count) + 1;
    }
    if (counts_.size() > 1 && !(states_ <= Choices::most_states)) {
      return no_theorem_for(event, fmt::format("has choices of {} ranges that leave {:.3g} states, must be at most {:.0f}", counts_.size(),
                                               states_, Choices::most_states));
    }
    return std::nullopt;
  }
  std::optional<Refusal> visit(const Event& whole, const Event& event, std::uint64_t times) {
    for (const auto& [leaf, count] : Releases::of(event).entries()) {
      if (times > Releases::max_count / count.value()) return no_theorem_for(whole, "has more than 2^53 releases");
      const std::uint64_t all = times * count.value();
      if (const auto* choice = std::get_if<Event::Exponential>(&leaf.node())) {
        if (choice->epsilon.value() > 0) counts_[choice->epsilon.value()] += all;
        continue;
      }
      // Of an epoch in a known order a record meets one batch, of parallel parts one.
      if (const auto* epoch = std::get_if<Event::Deterministic>(&leaf.node())) {
        if (auto refusal = visit(whole, epoch->event, all)) return refusal;
        continue;
      }
      const auto* parallel = std::get_if<Event::Parallel>(&leaf.node());
      const auto parts = parallel != nullptr ? undominated(*parallel) : std::vector<Event>{};
      if (parts.size() != 1) return no_theorem_for(whole, fmt::format("holds {}, which is no choice", KeptWithEvent::text(leaf)));
      if (auto refusal = visit(whole, parts.front(), all)) return refusal;
    }
    return std::nullopt;
  }

  ChoiceCounts counts_;
  double states_ = 1;
};

/// (e^(range/2) - e^(epsilon/2))^2 / (e^range - 1) for epsilon up to range: what one choice costs.
Enclosure delta_of_one(double range, double epsilon) {
  if (epsilon >= range) return {0, 0};
  const Interval left = (Interval{range, precision} - Interval{epsilon, precision}) / Interval{2.0, precision};
  const Interval root = expm1(-left);
  const auto found = (root * root / -expm1(-Interval{range, precision})).enclosure();
  return {std::max(0.0, found.lower), std::min(1.0, found.upper)};
}
/// Its inverse: e^(epsilon/2) = e^(range/2) - sqrt(delta (e^range - 1)).
Enclosure epsilon_of_one(double range, double delta) {
  const Interval whole{range, precision};
  const Interval kept = Interval{1.0, precision} - sqrt(Interval{delta, precision} * -expm1(-whole));
  if (kept.compare(0) <= 0) return {0, 0};
  const auto found = (whole + Interval{2.0, precision} * log(kept)).enclosure();
  return {std::max(0.0, found.lower), std::max(0.0, found.upper)};
}

/// Delta at an epsilon, or epsilon at a delta.
struct Asked {
  std::optional<double> epsilon;
  std::optional<double> delta;

  /// \param from where the game is known from on; `most`: the largest loss
  [[nodiscard]] Enclosure of(const ChoiceGame& game, double from, double most) const {
    if (epsilon) return {std::min(game.lower(*epsilon), game.upper(*epsilon)), game.upper(*epsilon)};
    // Each end is a point at which the bound itself says on which side it lies.
    const auto last = [&](const auto& is_before) {
      double before = from;
      double beyond = most;
      if (!is_before(before)) return RootBracket{0, before};
      while (beyond - before > 1e-13 * beyond) {
        const double middle = before + 0.5 * (beyond - before);
        if (!(middle > before && middle < beyond)) break;
        (is_before(middle) ? before : beyond) = middle;
      }
      return RootBracket{before, beyond};
    };
    const double low = last([&](double x) { return game.lower(x) > *delta; }).low;
    const double high = last([&](double x) { return !(game.upper(x) <= *delta); }).high;
    return {std::min(low, high), high};
  }
  /// The delta that `found` is about.
  [[nodiscard]] double level(const Enclosure& found) const { return delta ? *delta : (found.lower > 0 ? found.lower : found.upper); }
  /// Of an enclosure, in epsilon.
  [[nodiscard]] double width(const ChoiceGame& game, const Enclosure& found) const {
    if (delta) return found.width();
    if (!(found.lower > 0)) return found.upper > 1e-280 ? infinity : 0;
    const double apart = 8 * game.step();
    const double slope = std::log(game.upper(*epsilon) / game.upper(*epsilon + apart)) / apart;
    return std::log(found.upper / found.lower) / std::max(slope, 1.0);
  }
};

/// The enclosure at finer and finer steps, until it is as narrow as wanted or more would take too long.
Enclosure answer(const Choices& accountant, const Event& event, const Ranges& ranges, const Asked& asked) {
  const Enclosure sum = ranges.sum();
  const double rho = ranges.rho();
  // Zero-concentrated privacy says about where to look, and nothing else.
  const auto reach_of = [&](double log_delta) { return rho + 2 * std::sqrt(rho * log_delta); };
  const double above = asked.epsilon ? std::max(0.0, *asked.epsilon - rho) : 0;
  const double log_delta = asked.delta ? -std::log(*asked.delta) : 1.3 * above * above / (4 * rho) + 5;
  const double about = std::min(asked.epsilon ? *asked.epsilon : reach_of(log_delta), sum.upper);
  const double wanted = accountant.width * std::min(1.0, std::max(about, std::sqrt(rho)));
  double reach = std::min(reach_of(log_delta + 14), sum.upper);
  double step = std::sqrt(4 * wanted / (ranges.number() * (std::sqrt(log_delta / rho) + 1)));
  double last = infinity;
  double lowest = asked.epsilon.value_or(0);
  Enclosure found = asked.delta ? Enclosure{0, sum.upper} : Enclosure{0, 1};
  for (int attempt = 0; attempt < 12; ++attempt) {
    // Values of the game, and those that are kept.
    const double kinds = static_cast<double>(ranges.counts().size());
    const double length = std::min(reach, sum.upper - lowest);
    const double shortest = std::max(ranges.states() * kinds / most_work * length, 4 * ranges.kept() / most_kept * reach);
    step = std::max(std::min(step, ranges.largest() / 32), shortest);
    const double least = ranges.states() > many_states ? least_cells_of_many : least_cells;
    if (step > ranges.largest() / least || step > 0.9 * last) {
      if (std::isfinite(last)) break;
      throw Error{ErrorCode::memory, fmt::format("choices: {} leaves {:.3g} states, too many for a grid that says anything",
                                                 describe(event), ranges.states())};
    }
    const auto grid = choice_kinds(ranges.counts(), size_of(std::ceil(ranges.largest() / step)));
    const double cell = ranges.largest() / static_cast<double>(grid.back().cells);
    const ChoiceGame game{grid, {size_of(reach / cell) + 2, size_of((sum.upper - lowest) / cell) + 16}};
    const Enclosure here = asked.of(game, lowest, sum.upper);
    found = {std::max(found.lower, here.lower), std::min(found.upper, here.upper)};
    if (reach < sum.upper && !(game.above(game.points() - 1) <= 2e-6 * asked.level(found))) {
      reach = std::min(1.5 * reach, sum.upper);
      continue;
    }
    if (asked.delta) lowest = std::max(0.0, found.lower - 4 * cell);
    const double width = asked.width(game, found);
    if (width <= wanted) break;
    last = cell;
    step = cell * (std::isfinite(width) ? std::clamp(std::sqrt(0.8 * wanted / width), 0.1, 0.9) : 0.25);
  }
  return found;
}

}  // namespace

std::optional<Refusal> why_not(const Choices&, const Event& event) {
  const StandardFloatingPoint environment;
  return Ranges::of(event).why_not();
}

Enclosure delta(const Choices& accountant, const Event& event, Epsilon epsilon) {
  const StandardFloatingPoint environment;
  const Ranges ranges{event};
  if (!(accountant.width > 0))
    throw Error{ErrorCode::invalid_argument, fmt::format("width is {}, must be greater than 0", accountant.width)};
  const double at = epsilon.value();
  if (ranges.counts().empty() || at >= ranges.sum().upper) return {0, 0};
  if (ranges.number() == 1) return delta_of_one(ranges.largest(), at);
  return answer(accountant, event, ranges, {at, std::nullopt});
}

Enclosure epsilon(const Choices& accountant, const Event& event, Delta delta) {
  const StandardFloatingPoint environment;
  const Ranges ranges{event};
  if (!(accountant.width > 0))
    throw Error{ErrorCode::invalid_argument, fmt::format("width is {}, must be greater than 0", accountant.width)};
  if (ranges.counts().empty()) return {0, 0};
  if (delta.value() == 0) return ranges.sum();
  if (ranges.number() == 1) return epsilon_of_one(ranges.largest(), delta.value());
  return answer(accountant, event, ranges, {std::nullopt, delta.value()});
}

}  // namespace surety::accounting
