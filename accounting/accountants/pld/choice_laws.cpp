#include <surety/accounting/accountants/pld/choice_laws.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

#include <surety/accounting/accountants/pld/settings.h>
#include <surety/accounting/laws/choices/smooth_choices.h>
#include <surety/accounting/laws/finite/polygon_law.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::pld {
namespace {

/// Values of the game, each of some 20 ns, that one run may compute at the default width, and doubles that it may keep. Who asks for less width
/// waits longer.
constexpr double most_values = 4e7;
constexpr double most_patience = 8;
constexpr double most_kept = 1.6e7;
/// Of the largest range; fewer are no grid.
constexpr double least_cells = 16;
/// Of the width asked for, what the game's own may be.
constexpr double share_of_width = 0.05;

/// The game's bounds from above are those of a falling convex curve: any polygon through them lies above it.
LossLaw upper_law(const ChoiceGame& game, double sum, const ChoiceLawTerms& terms) {
  std::vector<laws::Corner> points{{0, game.above(0)}};
  bool is_whole = false;
  for (std::size_t i = 1; i < game.points() && !is_whole; ++i) {
    // A point to the right of where the bound holds.
    const double x = round_up(static_cast<long double>(i) * static_cast<long double>(game.step()));
    is_whole = x >= sum;
    points.push_back({std::min(x, sum), is_whole ? 0 : game.above(i)});
  }
  const long double last = points.back().value;
  LossLaw law = laws::polygon_law(points, +1);
  return last > 0 && terms.beyond ? laws::with_infinite(std::move(law), last) : law;
}

/// Of a slope, or of what a line of that slope takes off: an exponential less one, with a sum, a product and a quotient.
constexpr long double rounding_of_slope = share_of_units(LibraryError<long double>::expm1 + 4);

/// In the cell above grid point i: what the chord of the bounds at i - 1 and i, and that of those at i + 1 and i + 2, leave of the curve.
LossLaw lower_law(const ChoiceGame& game, const ChoiceLawTerms& terms) {
  const long double h = game.step_below();
  const auto place = [&](std::size_t i) { return h * static_cast<long double>(i); };
  const auto above = [&](std::size_t i) -> long double { return game.upper(std::nextafter(static_cast<double>(place(i)), 0.0)); };
  std::size_t count = 0;
  while (count + 2 < game.points() && game.below(count) > 1e-280) ++count;
  std::vector<laws::Corner> points;
  // H(-x) = 1 - e^-x + e^-x H(x).
  long double before = (-expm1(LongLower{LongExact{-h}}) + exp(LongUpper{LongExact{-h}}) * LongExact{above(1)}).value();
  for (std::size_t i = 0; i < count; ++i) {
    const long double here = game.below(i);
    const long double next = i + 1 < count ? game.below(i + 1) : 0;
    const long double steep = std::max(0.0L, (before - here) / -std::expm1(-h)) * (1 + rounding_of_slope);
    const long double flat = i + 1 < count ? std::max(0.0L, (next - above(i + 2)) / std::expm1(h)) * (1 - rounding_of_slope) : 0;
    before = above(i);
    if (!(steep > 0)) return laws::nothing();
    const auto first = [&](long double x) { return here - steep * std::expm1(x - place(i)); };
    const auto second = [&](long double x) { return next - flat * std::expm1(x - place(i + 1)); };
    long double ratio = (here - next + steep - flat) / (steep - flat * std::exp(-h));
    if (!(ratio >= 1 && ratio <= std::exp(h))) ratio = std::exp(h / 2);
    const auto x = static_cast<double>(place(i) + std::log(ratio));
    const long double doubted = static_cast<long double>(x) + 0x1p-58L * (static_cast<long double>(x) + h);
    const long double value = terms.minorant ? std::min(first(doubted), second(doubted))
                                             : here + (next - here) * std::expm1(static_cast<long double>(x) - place(i)) / std::expm1(h);
    if (i + 1 < count && value > 0) {
      // What a line takes off is at most where it begins.
      points.push_back({x, value - rounding_of_slope * (here + value)});
      continue;
    }
    // The last one, or where bounds are so small that they are mostly rounding, comes down to 0 and is cut there.
    const auto end = static_cast<double>(place(i) + (1 - 0x1p-10L) * std::log1p(here / steep));
    if (first(static_cast<long double>(end) * (1 + 0x1p-58L)) >= 0) points.push_back({end, 0});
    break;
  }
  if (points.empty() || points.back().value > 0) return laws::nothing();
  return laws::polygon_law(points, -1);
}

/// Whether a part is an exponential mechanism of its own, and nothing that only resembles one.
bool is_choice(const laws::ReleaseLaws& part) {
  const auto plain = [](const LossLaw& law) { return law.mixing == Mixing::remove && law.rate == 1 && law.infinite_mass == 0; };
  if (!std::holds_alternative<BoundedRangeBase>(part.upper.base) || !plain(part.upper) || !part.lower || !plain(*part.lower)) return false;
  const auto* atoms = std::get_if<AtomsBase>(&part.lower->base);
  return atoms != nullptr && atoms->atoms.size() == 2;
}

/// The choices among some releases.
ChoiceCounts choices_of(const laws::Parts& parts) {
  ChoiceCounts counts;
  for (const auto& part : parts) {
    if (is_choice(part)) counts[std::get<BoundedRangeBase>(part.upper.base).epsilon] += part.count;
  }
  return counts;
}

}  // namespace

ChoiceLaws choice_laws(const ChoiceGame& game, double sum, const ChoiceLawTerms& terms) {
  return {upper_law(game, sum, terms), lower_law(game, terms)};
}

ChoicesAmongOthers::ChoicesAmongOthers(const laws::BothDirections& directions, const Given& question, double width) {
  const ChoiceCounts counts = choices_of(directions.remove);
  if (counts.empty() || std::all_of(directions.remove.begin(), directions.remove.end(), is_choice)) return;
  counts_ = counts;
  double number = 0;
  double rho = 0;  // of zero-concentrated privacy, to guess by
  Upper most_sum{0};
  double states = 1;
  double most = 1;
  for (const auto& [range, count] : counts) {
    const auto times = static_cast<double>(count);
    number += times;
    rho += times * range * range / 8;
    most_sum += Upper{Exact{times}} * Exact{range};
    states *= times + 1;
    most = std::max(most, times + 1);
  }
  const double sum = most_sum.value();
  const double largest = counts.rbegin()->first;
  if (number == 1) {
    // The curve of one choice has a closed form, which is that of the envelope.
    const LossLaw law{BoundedRangeBase{largest}};
    part_ = laws::ReleaseLaws{law, law, true, 1};
    return;
  }
  if (largest > largest_choice_range || (counts.size() > 1 && states > most_choice_states) || sum > 5000) return;
  // What the question is about, roughly.
  Task task;
  for (const auto& part : directions.remove) task.parts.push_back({part.upper, std::nullopt, false, part.count});
  if (question.epsilon && *question.epsilon >= laws::largest_of(task.parts).upper) return;
  task.wanted = width;
  task.gives_lower = false;
  task = prepare(std::move(task), question);
  const double log_delta = -task.saddle.log_delta;
  double reach = std::min(rho + 2 * std::sqrt(rho * (log_delta + 16)), sum);
  const double best_step = std::sqrt(6 * share_of_width * width / (number * (task.saddle.s + 1)));
  const auto kinds = static_cast<double>(counts.size());
  const double values = most_values * std::clamp(Pld{}.width / width, 1.0, most_patience);
  for (;;) {
    const double shortest = std::max(states * kinds / values * reach, 4 * states / most / most_kept * reach);
    const double step = std::max(std::min(best_step, largest / 32), shortest);
    // Where the losses of the others leave no digits for a guess, there is none.
    if (!(step > 0 && step <= largest / least_cells && reach > 0 && reach <= sum)) return;
    const auto grid = choice_kinds(counts, size_of(std::ceil(largest / step)));
    const double cell = largest / static_cast<double>(grid.back().cells);
    const ChoiceGame game{grid, {size_of(reach / cell) + 2, size_of(sum / cell) + 16}};
    if (reach < sum && !(std::log(game.above(game.points() - 1)) <= -log_delta - 16)) {
      reach = std::min(1.5 * reach, sum);
      continue;
    }
    auto laws = choice_laws(game, sum);
    part_ = laws::ReleaseLaws{std::move(laws.upper), std::move(laws.lower), false, 1};
    return;
  }
}

laws::BothDirections ChoicesAmongOthers::joined(laws::BothDirections directions) const {
  // Which part of parallel ones a record is in may differ from one tilt to the next, and what is a choice with it.
  if (!part_ || choices_of(directions.remove) != counts_ || choices_of(directions.add) != counts_) return directions;
  for (auto* parts : {&directions.remove, &directions.add}) {
    parts->erase(std::remove_if(parts->begin(), parts->end(), is_choice), parts->end());
    parts->push_back(*part_);
  }
  // Which of the others' laws are best may still depend on the question.
  directions.has_choice = directions.has_choice && std::any_of(directions.remove.begin(), directions.remove.end() - 1,
                                                               [](const laws::ReleaseLaws& part) { return !part.same; });
  return directions;
}

std::optional<laws::BothDirections> with_smooth_choices(laws::BothDirections directions) {
  for (auto* parts : {&directions.remove, &directions.add}) {
    const ChoiceCounts counts = choices_of(*parts);
    if (counts.empty()) return std::nullopt;
    const auto multiplier = gaussian_above_choices(counts);
    if (!multiplier) return std::nullopt;
    parts->erase(std::remove_if(parts->begin(), parts->end(), is_choice), parts->end());
    parts->push_back({LossLaw{GaussianBase{*multiplier}}, std::nullopt, false, 1});
  }
  return directions;
}

}  // namespace surety::accounting::pld
