// Rounds of an epoch.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/hypotheses.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/accounting/events/refusal.h>
#include <surety/accounting/events/releases.h>
#include <surety/accounting/laws/epochs/allocated_epoch.h>
#include <surety/accounting/laws/epochs/dealt_records.h>
#include <surety/accounting/laws/epochs/replaced_epoch.h>
#include <surety/accounting/laws/finite/polygon_law.h>
#include <surety/accounting/laws/pairs/pairs.h>
#include <surety/accounting/laws/pairs/parts_of_event.h>
#include <surety/accounting/laws/rounds/allocated_sum.h>
#include <surety/accounting/laws/rounds/replaced_sum.h>
#include <surety/accounting/laws/rounds/shuffled_epoch.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/last_few.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::laws {
namespace {

/// Shares of its variance that rounding may add to a sum of logarithms: while its rate is chosen, and then.
constexpr double coarse_blur = 1e-3;
constexpr double fine_blur = 2e-5;
/// Shares of the mean number of participations in a round that are tried as rates.
constexpr double rates_of_sums[] = {0.8, 0.65, 0.5, 0.35, 0.2, 0.1};
/// A coarse look at more points takes longer than the fine one often does.
constexpr double long_sum = 0x1p15;

/// Looks at sums of the rates, from the largest on, each of which takes more points than the last; long ones only while what they show rises.
/// `shown_at(rate)`: that. \pre 0 < mean, of participations in a round.
template <class Shown>
void look_at_rates(double multiplier, std::uint64_t rounds, const std::vector<DealtRecords>& ways, double mean, bool is_odd,
                   const Shown& shown_at) {
  double last = -infinity;
  bool rises = true;
  for (const double share : rates_of_sums) {
    const double rate = share * mean;
    if (!rises && points_of_sum(multiplier, rounds, ways, rate, coarse_blur, is_odd) > long_sum) return;
    const double shown = shown_at(rate);
    rises = !(shown < last);
    last = shown;
  }
}

/// Points of the curve of a replaced epoch that are joined by chords, and the step of the sums that give them.
constexpr std::size_t most_chords = 200;
constexpr double fall_of_chord = 0.45;  // of the logarithm of the curve
constexpr double shortest_chord = 1.0 / 150;
constexpr double longest_chord = 1.0 / 180;  // at 0
constexpr double step_of_chord = 0.1;
constexpr double least_scale = 1e-250;
/// The curve at which they end.
constexpr double last_chord = 1e-13;

/// A curve above that of an epoch in which a record is replaced, at some losses. `multiplier`: the noise over the bound on one record.
using ReplacedPoints = std::vector<Corner>;
ReplacedPoints replaced_points(std::uint64_t rounds, double multiplier) {
  static auto& kept = *new LastFew<std::pair<std::uint64_t, double>, ReplacedPoints>;
  return kept.of({rounds, multiplier}, [&] {
    const auto curve = [&](double x, double scale) {
      return replaced_curve_above(rounds, multiplier, x, std::clamp(scale, least_scale, 1.0), step_of_chord);
    };
    double end = 1 / multiplier;
    for (double scale = 1e-2; (scale = curve(end, scale)) > last_chord && end < 1e6;) end *= 1.25;
    ReplacedPoints points;
    double value = 1;
    double step = longest_chord * end;
    for (double x = 0; points.size() < most_chords; x = std::min(x + step, end)) {
      // A curve falls.
      const double before = value;
      value = std::min(value, curve(x, value));
      if (!points.empty() && value < before) {
        const double fall = (std::log(before) - std::log(value)) / (x - points.back().loss);
        // Narrower where more of the mass is.
        const double share = x / end;
        const double longest = longest_chord * end * (1 + 6 * share * share);
        step = std::clamp(fall_of_chord / fall, std::min(shortest_chord * end, longest), longest);
      }
      points.push_back({x, static_cast<long double>(value)});
      if (x == end || !(value > 0)) break;
    }
    return points;
  });
}

LossLaw replaced_from_above(std::uint64_t rounds, double multiplier) {
  const auto points = replaced_points(rounds, multiplier);
  return with_infinite(polygon_law(points, +1), points.back().value);
}

/// Absent where tests show nothing.
std::optional<LossLaw> replaced_from_below(std::uint64_t rounds, double multiplier) {
  static auto& kept = *new LastFew<std::pair<std::uint64_t, double>, std::optional<LossLaw>>;
  return kept.of({rounds, multiplier}, [&] {
    std::vector<double> at;
    std::vector<CurveTest> tests;
    for (const auto& [x, value] : replaced_points(rounds, multiplier)) {
      at.push_back(x);
      tests.push_back(replaced_test(rounds, multiplier, x, std::clamp(static_cast<double>(value), least_scale, 1.0), step_of_chord));
    }
    return below_tests(at, tests);
  });
}

}  // namespace

void PartsOfEvent::operator()(const Event::Deterministic& e) {
  PartsOfEvent{out_, others_, tilt_, reach_, from_above_}.visit(e.event, count_);
}

void PartsOfEvent::operator()(const Event::Shuffled& e) {
  const std::uint64_t records = e.batches.records().value();
  const std::uint64_t size = e.batches.size().value();
  if (records == size) return PartsOfEvent{out_, others_, tilt_, reach_, from_above_}.visit(e.event, count_);
  out_.symmetric = false;
  if (const auto multiplier = gaussian_multiplier(e.event)) {
    const std::uint64_t batches = (records + size - 1) / size;
    const LossLaw upper{GaussianBase{multiplier->lower}};
    // Two statistics of the epoch: the largest of all batches, and their sum, one Gaussian release of sqrt(batches) times the noise.
    const AtomsBase seen = makes_none() ? AtomsBase{{{0, 1}}, 0, 0} : largest_coordinate(multiplier->upper, batches);
    const Upper largest = Upper{Exact{multiplier->upper}} * sqrt(Upper{Exact{static_cast<double>(batches)}});
    const LossLaw sum{GaussianBase{largest.value()}};
    LossLaw removed{seen};
    LossLaw added{seen, Mixing::add};
    out_.has_choice = true;
    if (tilted_mean({{sum, sum, true, 1}}) > tilted_mean({{removed, removed, true, 1}})) removed = added = sum;
    return add({upper, removed, false, count_}, {upper, added, false, count_});
  }
  // Who looks at the first batch only has a record in it with probability size / records.
  const double rate = std::nextafter(static_cast<double>(size) / static_cast<double>(records), 0.0);
  const BothDirections inner = directions_of(e.event);
  const bool single = inner.remove.size() == 1 && inner.remove.front().count == 1;
  const auto of = [&](const ReleaseLaws& part, Mixing mixing) {
    ReleaseLaws found{part.upper, nothing(), false, product(part.count, count_)};
    if (single && part.lower && part.lower->rate == 1 && part.lower->infinite_mass == 0 && is_symmetric(*part.lower)) {
      found.lower = part.lower;
      found.lower->rate = rate;
      found.lower->mixing = mixing;
    }
    return found;
  };
  for (std::size_t i = 0; i < inner.remove.size(); ++i) add(of(inner.remove[i], Mixing::remove), of(inner.add[i], Mixing::add));
}

void PartsOfEvent::operator()(const Event::Allocated& e) {
  const auto multiplier = gaussian_multiplier(e.event);
  if (!multiplier) no_pair_for(*leaf_, "has no dominating pair here");
  const std::uint64_t rounds = e.rounds.value();
  const std::uint64_t times = e.participations.value();
  if (poisson_pair(e.event) == PoissonPair::opposite) {
    return replaced_epochs(*multiplier, rounds, times);
  }
  out_.symmetric = false;
  if (times == 1) return epochs(*multiplier, rounds, count_);
  // The rounds of a uniform permutation cut into blocks, one of each, are a uniform set: told the blocks, they are epochs of their own.
  const std::uint64_t longer = rounds % times;
  if (longer > 0) epochs_from_above(multiplier->lower, rounds / times + 1, product(longer, count_));
  epochs_from_above(multiplier->lower, rounds / times, product(times - longer, count_));
  if (from_above_) return;
  if (makes_none()) return from_below(multiplier->upper, rounds, static_cast<double>(times), {}, {});
  from_below(multiplier->upper, rounds, static_cast<double>(times), in_so_many_rounds(times),
             times <= most_participations ? std::optional{largest_coordinate(multiplier->upper, rounds, times)} : std::nullopt);
}

void PartsOfEvent::epochs(const Enclosure& multiplier, std::uint64_t rounds, std::uint64_t count) {
  const bool same = multiplier.lower == multiplier.upper;
  const auto of = [&](double of_bound, bool from_above) -> BaseLaw {
    if (reach_ == Reach::middle) {
      const auto epoch = allocated_epoch(static_cast<double>(rounds), of_bound);
      if (epoch->has_density()) return AllocatedBase{epoch};
    }
    return AllocatedRatioBase{of_bound, rounds, 1, from_above};
  };
  const BaseLaw upper = of(multiplier.lower, true);
  const bool is_sharp = same && std::holds_alternative<AllocatedBase>(upper);
  const BaseLaw lower = is_sharp ? upper : of(multiplier.upper, false);
  const auto part = [&](Mixing mixing) { return ReleaseLaws{LossLaw{upper, mixing}, LossLaw{lower, mixing}, is_sharp, count}; };
  add(part(Mixing::remove), part(Mixing::add));
}

void PartsOfEvent::replaced_epochs(const Enclosure& multiplier, std::uint64_t rounds, std::uint64_t times) {
  const double least = 2 * multiplier.lower;
  const double most = 2 * multiplier.upper;
  if (rounds == 2 && times == 1) {
    const ReleaseLaws two{LossLaw{GaussianBase{(Lower{Exact{multiplier.lower}} * sqrt(Lower{Exact{2}})).value()}},
                          LossLaw{GaussianBase{(Upper{Exact{multiplier.upper}} * sqrt(Upper{Exact{2}})).value()}}, false, count_};
    return add(two, two);
  }
  if (times == 1 && (makes_none() || has_fourier_sums(rounds, least, most))) {
    const auto law = [&](double of_bound, bool from_above) {
      return LossLaw{ReplacedBase{makes_none() ? nullptr : replaced_epoch(static_cast<double>(rounds), of_bound), from_above}};
    };
    const ReleaseLaws part{law(least, true), law(most, false), false, count_};
    return add(part, part);
  }
  if (makes_none()) {
    const ReleaseLaws part{LossLaw{GaussianBase{multiplier.lower}}, nothing(), false, product(times, count_)};
    return add(part, part);
  }
  // Told the blocks, k of the rounds are one of each block, as without a replacement.
  const auto block = [&](std::uint64_t length, std::uint64_t count) {
    const LossLaw law = [&] {
      if (length == 1) return LossLaw{GaussianBase{multiplier.lower}};
      if (length == 2) return LossLaw{GaussianBase{(Lower{Exact{multiplier.lower}} * sqrt(Lower{Exact{2}})).value()}};
      if (times > 1 && has_fourier_sums(length, least, least))
        return LossLaw{ReplacedBase{replaced_epoch(static_cast<double>(length), least), true}};
      return replaced_from_above(length, least);
    }();
    const ReleaseLaws part{law, std::nullopt, false, product(count, count_)};
    add(part, part);
  };
  if (rounds % times > 0) block(rounds / times + 1, rounds % times);
  block(rounds / times, times - rounds % times);
  if (from_above_) return;
  if (times == 1) {
    if (const auto below = replaced_from_below(rounds, most)) {
      const ReleaseLaws shown{nothing(), *below, false, count_};
      return add(shown, shown);
    }
  }
  AtomsBase seen = shown_by_replaced_epoch(most, rounds, times, tilt_);
  out_.has_choice = true;
  const ReleaseLaws shown{nothing(), seen.atoms.empty() ? nothing() : LossLaw{std::move(seen)}, false, count_};
  add(shown, shown);
}

bool PartsOfEvent::has_fourier_sums(std::uint64_t rounds, double least, double most) {
  try {
    for (const double of_bound : {least, most}) {
      const auto epoch = replaced_epoch(static_cast<double>(rounds), of_bound);
      static_cast<void>(epoch->range());
    }
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return false;
  }
}

void PartsOfEvent::epochs_from_above(double multiplier, std::uint64_t rounds, std::uint64_t count) {
  if (rounds == 1) {
    const LossLaw law{GaussianBase{multiplier}};
    return add({law, std::nullopt, false, count}, {law, std::nullopt, false, count});
  }
  BaseLaw upper = AllocatedRatioBase{multiplier, rounds, 1, true};
  if (reach_ == Reach::middle) {
    const auto epoch = allocated_epoch(static_cast<double>(rounds), multiplier);
    if (epoch->has_density()) upper = AllocatedBase{epoch};
  }
  add({LossLaw{upper, Mixing::remove}, std::nullopt, false, count}, {LossLaw{upper, Mixing::add}, std::nullopt, false, count});
}

void PartsOfEvent::from_below(double multiplier, std::uint64_t rounds, double times, const std::vector<DealtRecords>& ways,
                              const std::optional<AtomsBase>& seen) {
  const Upper whole = Upper{Exact{multiplier}} * sqrt(Upper{Exact{static_cast<double>(rounds)}}) / Exact{times};
  const LossLaw sum{GaussianBase{whole.value()}};
  LossLaw removed = sum;
  LossLaw added = sum;
  double best = tilted_mean({{sum, sum, true, 1}});
  const auto shown_by = [&](const LossLaw& law) {
    out_.has_choice = true;
    return tilted_mean({{law, law, true, 1}});
  };
  const auto is_better = [&](double shown) {
    if (shown > best) best = shown;
    return shown == best;
  };
  if (seen && is_better(shown_by(LossLaw{*seen}))) {
    removed = LossLaw{*seen};
    added = LossLaw{*seen, Mixing::add};
  }
  if (!ways.empty()) {
    // A coarse look says at which rate.
    const double mean = times / static_cast<double>(rounds);
    double chosen = 0;
    look_at_rates(multiplier, rounds, ways, std::min(mean, 1.0), false, [&](double rate) {
      const auto laws = sum_of_logarithms(multiplier, rounds, ways, rate, coarse_blur);
      if (laws.removed.atoms.empty() || laws.added.atoms.empty()) return -infinity;
      const double shown = shown_by(LossLaw{laws.removed});
      if (is_better(shown)) chosen = rate;
      return shown;
    });
    if (chosen > 0) {
      const auto laws = sum_of_logarithms(multiplier, rounds, ways, chosen, fine_blur);
      removed = LossLaw{laws.removed};
      added = LossLaw{laws.added};
    }
  }
  // Nothing costs less than nothing: what bounds it from above are the parts beside this one.
  add({nothing(), removed, false, count_}, {nothing(), added, false, count_});
}

void PartsOfEvent::users_of_epoch(std::uint64_t records, const Event::Allocated& e) {
  const auto multiplier = gaussian_multiplier(e.event);
  if (!multiplier) no_pair_for(*leaf_, "has no dominating pair here");
  if (poisson_pair(e.event) == PoissonPair::opposite) no_pair_for(*leaf_, "has no dominating pair here under replace-one");
  out_.symmetric = false;
  const std::uint64_t rounds = e.rounds.value();
  const std::uint64_t times = e.participations.value();
  if (times == 1 && records <= most_sharing_records) {
    const LossLaw removed{
        AllocatedRatioBase{.multiplier = multiplier->lower, .rounds = rounds, .records = records, .from_above = true, .tilt = tilt_}};
    const LossLaw added{AllocatedRatioBase{.multiplier = multiplier->lower, .rounds = rounds, .records = records, .from_above = true},
                        Mixing::add};
    add({removed, std::nullopt, false, count_}, {added, std::nullopt, false, count_});
  } else {
    const double each = (Lower{Exact{multiplier->lower}} / sqrt(Upper{Exact{static_cast<double>(records)}})).value();
    const std::uint64_t longer = rounds % times;
    if (longer > 0) epochs_from_above(each, rounds / times + 1, product(product(longer, records), count_));
    epochs_from_above(each, rounds / times, product(product(times - longer, records), count_));
  }
  const double all = static_cast<double>(records) * static_cast<double>(times);
  if (from_above_) return;
  if (makes_none() || times > 1) return from_below(multiplier->upper, rounds, all, {}, {});
  from_below(
      multiplier->upper, rounds, all, records <= most_sharing_records ? each_in_some_round(records, rounds) : std::vector<DealtRecords>{},
      records <= 2 * most_sharing_records ? std::optional{largest_coordinate_of_user(multiplier->upper, rounds, records)} : std::nullopt);
}

AtomsBase shown_by_replaced_epoch(double multiplier, std::uint64_t rounds, std::uint64_t participations, double s) {
  const auto ways = in_so_many_rounds(participations);
  const double mean = static_cast<double>(participations) / static_cast<double>(rounds);
  double best = -infinity;
  double chosen = 0;
  look_at_rates(multiplier, rounds, ways, mean, true, [&](double rate) {
    const auto law = sum_of_differences(multiplier, rounds, ways, rate, coarse_blur);
    if (law.atoms.empty()) return -infinity;
    const LossLaw coarse{law};
    const double shown = tilted_mean_at(s, {{coarse, coarse, true, 1}});
    if (shown > best) chosen = rate;
    best = std::max(best, shown);
    return shown;
  });
  return chosen > 0 ? sum_of_differences(multiplier, rounds, ways, chosen, fine_blur) : AtomsBase{{}, 0, 0};
}

bool choose_what_is_told(Parts& parts, double s) {
  bool any = false;
  for (auto& part : parts) {
    auto* epoch = std::get_if<AllocatedRatioBase>(&part.upper.base);
    if (epoch == nullptr || epoch->records == 1) continue;
    epoch->tilt = s;
    any = true;
  }
  return any;
}

}  // namespace surety::accounting::laws
