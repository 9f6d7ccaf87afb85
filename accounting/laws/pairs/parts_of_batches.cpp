// What is drawn in batches.
#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/event_of_group.h>
#include <surety/accounting/events/hypotheses.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/accounting/events/refusal.h>
#include <surety/accounting/events/releases.h>
#include <surety/accounting/laws/batches/batch_pair.h>
#include <surety/accounting/laws/batches/drawn_slots.h>
#include <surety/accounting/laws/finite/finite_law.h>
#include <surety/accounting/laws/finite/integer_noise.h>
#include <surety/accounting/laws/gaussian/gaussian_mixture.h>
#include <surety/accounting/laws/pairs/pairs.h>
#include <surety/accounting/laws/pairs/parts_of_event.h>
#include <surety/accounting/laws/truncated/truncated_batch.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/numbers/last_few.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::laws {

void PartsOfEvent::operator()(const Event::SampledWithoutReplacement& e) {
  sampled(e.event, static_cast<double>(e.batches.size().value()) / static_cast<double>(e.batches.records().value()), true);
}

// Proved: docs/proofs/batches.md#with-replacement
void PartsOfEvent::operator()(const Event::SampledWithReplacement& e) {
  const double n = static_cast<double>(e.records.value());
  if (static_cast<double>(e.batch_size.value()) > most_slots_on_average * n) {
    no_pair_for(*leaf_, fmt::format("has batches of more than {:.0f} times its records", most_slots_on_average));
  }
  if (splits_its_batch(e.event)) {
    no_pair_for(*leaf_, "shares one batch of fixed size among parallel parts, for which no theorem is known");
  }
  const auto multiplier = gaussian_multiplier(e.event);
  const auto slots = drawn_slots(e.records, e.batch_size, multiplier ? 1.0 / 16 : 0.5);
  const double most = std::min(1.0, slots.any.enclosure().upper);
  out_.symmetric = false;
  if (!multiplier) {
    if (most == 1) no_pair_for(*leaf_, "holds each record in nearly every batch, for which only gaussian releases have a law");
    const LossLaw upper = slots_from_above(e.event, slots);
    // Whoever looks whether a slot holds the record.
    const double least = slots.any.enclosure().lower;
    BothDirections seen;
    PartsOfEvent looks{seen, others_, tilt_, reach_, from_above_};
    looks.leaf_ = leaf_;
    looks.sampled(e.event, least, true);
    return add({upper, seen.remove.front().lower, false, count_}, {upper, seen.add.front().lower, false, count_});
  }
  if (makes_none()) {
    // As in a batch of several releases.
    const LossLaw upper{AtomsBase{{{-1, 0.5}, {2, 0.5}}, 0, 0}};
    const ReleaseLaws part{upper, LossLaw{GaussianMixtureBase{multiplier->upper, {0, 0}, 0}}, false, count_};
    return add(part, part);
  }
  constexpr double least_multiplier = 1e-6;
  constexpr double largest_multiplier = 1e9;
  if (!(multiplier->lower >= least_multiplier)) no_pair_but_perhaps_others("has losses too large for a grid");
  if (!(multiplier->upper <= largest_multiplier)) no_pair_but_perhaps_others("has losses too small for a grid");
  const LossLaw upper = gaussian_slots(multiplier->lower, slots);
  const auto base = mixture_of_slots(multiplier->upper, slots);
  add({upper, LossLaw{base, Mixing::remove}, false, count_}, {upper, LossLaw{base, Mixing::add}, false, count_});
}

LossLaw PartsOfEvent::slots_from_above(const Event& inner, const DrawnSlots& slots) const {
  if (makes_none()) {
    static_cast<void>(parts_of_batch(inner));
    return LossLaw{AtomsBase{{{-1, 0.5}, {2, 0.5}}, 0, 0}};
  }
  const double rate = slots.any.enclosure().upper;
  std::vector<std::pair<double, LongUpper>> masses;
  LongUpper infinite{0};
  double mass_error = 0;
  for (const auto& [fewest, many, chance] : slots.some) {
    const LongUpper share{LongExact{std::min(1.0, (chance / slots.any).enclosure().upper)}};
    const auto law = law_of_slots(inner, many, rate);
    if (!law) {
      // Of so many slots nothing is known: whoever is told of them sees the record, unless it is in none.
      infinite += share * LongExact{rate};
      masses.emplace_back(0, share * (LongUpper{1} - LongExact{rate}));
      continue;
    }
    const auto& atoms = std::get<AtomsBase>(law->base);
    infinite += share * LongExact{law->infinite_mass};
    mass_error = std::max(mass_error, atoms.mass_error);
    const LongUpper finite = share * (LongUpper{1} - LongExact{law->infinite_mass});
    for (const auto& [loss, mass] : atoms.atoms) masses.emplace_back(loss + atoms.loss_error, finite * LongExact{mass});
  }
  std::sort(masses.begin(), masses.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  // Each loss once, and what has no digits in double at infinite loss.
  std::vector<std::pair<double, LongUpper>> merged;
  for (const auto& one : masses) {
    if (!merged.empty() && merged.back().first == one.first) {
      merged.back().second += one.second;
    } else {
      merged.push_back(one);
    }
  }
  constexpr long double least_mass = 1e-290L;
  for (const auto& one : merged) {
    if (one.second.value() < least_mass) infinite += one.second;
  }
  const double outside = std::min(1.0, shortened(infinite).value());
  AtomsBase all{.atoms = {}, .loss_error = 0, .mass_error = mass_error, .mirrors = false, .has_tails = true};
  for (const auto& [loss, mass] : merged) {
    if (mass.value() >= least_mass) all.atoms.push_back({loss, shortened(mass / (LongLower{1} - LongExact{outside})).value()});
  }
  return LossLaw{std::move(all), Mixing::remove, 1, outside};
}

std::optional<LossLaw> PartsOfEvent::law_of_slots(const Event& inner, std::uint64_t slots, double rate) const {
  // One slot is what the event says; of more it may say nothing, or nothing that has a pair.
  if (slots == 1) return batch_law(*pair_of_batch(inner, true), Mixing::symmetric, rate, +1);
  try {
    return batch_law(*pair_of_batch(event_of_group(inner, Count{slots}), true), Mixing::symmetric, rate, +1);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return std::nullopt;
  }
}
// Proved so far.

// Proved: docs/proofs/users.md#releases
void PartsOfEvent::users_of_release(const Event::Users& e) {
  const auto bounds = group_bounds(e.event, e.records);
  if (!bounds) no_pair_for(*leaf_, fmt::format("has no dominating pair here: {}", bounds.refusal().sentence()));
  const auto visited = [&](const Event& event) {
    BothDirections found;
    PartsOfEvent{found, others_, tilt_, reach_, from_above_}.visit(event, count_);
    return found;
  };
  const BothDirections above = visited(bounds->upper);
  out_.symmetric = out_.symmetric && above.symmetric;
  std::optional<BothDirections> below;
  if (bounds->lower && !from_above_) below = visited(*bounds->lower);
  if (below) out_.symmetric = out_.symmetric && below->symmetric;
  const auto alone = [](const ReleaseLaws& part) { return ReleaseLaws{part.upper, nothing(), false, part.count}; };
  const auto beside = [](const ReleaseLaws& part) { return ReleaseLaws{nothing(), part.lower.value_or(nothing()), false, part.count}; };
  for (std::size_t i = 0; i < above.remove.size(); ++i) add(alone(above.remove[i]), alone(above.add[i]));
  for (std::size_t i = 0; below && i < below->remove.size(); ++i) add(beside(below->remove[i]), beside(below->add[i]));
}
// Proved so far.

void PartsOfEvent::operator()(const Event::Users& e) {
  if (const auto multiplier = gaussian_multiplier(*leaf_)) return gaussian(multiplier->lower, multiplier->upper, 1);
  if (const auto* epoch = std::get_if<Event::Allocated>(&e.event.node())) return users_of_epoch(e.records.value(), *epoch);
  const auto* batch = std::get_if<Event::PoissonSampled>(&e.event.node());
  if (batch == nullptr) return users_of_release(e);
  const auto multiplier = gaussian_multiplier(batch->event);
  if (!multiplier) no_pair_for(*leaf_, "has no dominating pair here");
  if (e.records.value() > most_records_of_a_user) {
    no_pair_for(*leaf_,
                fmt::format("has users of {} records in Poisson batches, must have at most {}", e.records.value(), most_records_of_a_user));
  }
  const bool opposite = poisson_pair(batch->event) == PoissonPair::opposite;
  const bool has_few = e.records.value() > most_single_records;
  const auto law = [&](double of_pair, Mixing mixing, MixtureSide side) {
    const double of_record = opposite ? 2 * of_pair : of_pair;
    if (makes_none()) return LossLaw{GaussianMixtureBase{of_record, {0, 0}, 0}, mixing};
    if (!has_few) return LossLaw{binomial_mixture(of_record, e.records.value(), batch->rate.value()), mixing};
    const auto found = few_components(of_record, e.records.value(), batch->rate.value(), side);
    // What is lost of P is at infinite loss; where P is the second law, it is at none.
    return LossLaw{found.base, mixing, 1, mixing == Mixing::add ? 0 : found.lost};
  };
  const auto part = [&](Mixing mixing) {
    return ReleaseLaws{law(multiplier->lower, mixing, MixtureSide::above), law(multiplier->upper, mixing, MixtureSide::below),
                       multiplier->lower == multiplier->upper && !has_few, count_};
  };
  if (opposite) return add(part(Mixing::opposite), part(Mixing::opposite));
  out_.symmetric = false;
  add(part(Mixing::remove), part(Mixing::add));
}

void PartsOfEvent::operator()(const Event::TruncatedPoisson& e) {
  const auto multiplier = gaussian_multiplier(e.event);
  if (!multiplier) no_pair_for(*leaf_, "has no dominating pair here");
  const auto pair = poisson_pair(e.event);
  const double scale = pair == PoissonPair::opposite ? 2 : 1;  // of the bound on one record
  const auto batch = [&](double of_pair, Mixing mixing, double rate) {
    return rate > 0 ? LossLaw{GaussianBase{scale * of_pair}, mixing, rate} : nothing();
  };
  const double rate = e.rate.value();
  if (makes_none()) {
    const auto part = [&](Mixing mixing) {
      const LossLaw law = no_mixture(batch(multiplier->lower, mixing, rate));
      return ReleaseLaws{law, law, false, count_};
    };
    if (pair == PoissonPair::opposite) return add(part(Mixing::opposite), part(Mixing::opposite));
    out_.symmetric = false;
    return add(part(Mixing::remove), part(Mixing::add));
  }
  // What the record does where every batch is full and the others' vectors are its opposite: up to `reach` next to nothing comes from others.
  const auto displacing = [&](double of_record, bool is_public) -> std::optional<GaussianMixtureBase> {
    constexpr int beyond_shift = 45;
    constexpr int log_share = -80;
    const Upper reach = 2 / Lower{Exact{of_record}} + beyond_shift;
    const Lower log_room = log_share - reach * reach / Exact{2};
    const auto joins = rate_of_full_batches(e.rate, e.batches, log_room.value(), is_public);
    if (!joins) return std::nullopt;
    auto moved = binomial_mixture(of_record / 2, 1, *joins);
    moved.farthest = reach.value();
    moved.density_error = ((Upper{Exact{static_cast<double>(e.batches.size().value())}} + 1) * exp(Upper{log_share})).value();
    return moved;
  };
  const auto larger = [&](const LossLaw& law, const LossLaw& other) {
    out_.has_choice = true;
    return tilted_mean({{other, other, false, 1}}) > tilted_mean({{law, law, false, 1}}) ? other : law;
  };
  if (e.event.adjacency() == Adjacency::add_or_remove_one) {
    // A record that stays in a crowded batch displaces another one: the sum moves by twice the bound. The number of records is private:
    // the curve of any number up to the public one lies below that of one of these.
    const auto crowds = crowded_batches(e.rate, e.batches);
    const auto full = displacing(multiplier->upper, false);
    const auto part = [&](Mixing mixing) {
      const LossLaw poisson = batch(multiplier->lower, mixing, rate);
      std::vector<LossLaw> curves{poisson};
      for (const auto& crowd : crowds) {
        const LossLaw crowded{GaussianBase{multiplier->lower / 2}, mixing, crowd.largest_rate};
        const Enclosure room = {std::max(0.0, 1 - crowd.weight.upper - share_of_units(0.5)),
                                std::min(1.0, 1 - crowd.weight.lower + share_of_units(0.5))};
        curves.push_back(public_mixture({{poisson, room}, {crowded, crowd.weight}}, Side::upper));
      }
      LossLaw lower = batch(multiplier->upper, mixing, rate);
      if (full) lower = larger(lower, LossLaw{*full, mixing});
      return ReleaseLaws{largest_of_curves(std::move(curves)), lower, false, count_};
    };
    out_.symmetric = false;
    return add(part(Mixing::remove), part(Mixing::add));
  }
  const auto found = truncated_batch(e.rate, e.batches);
  const auto seen = shares_by_others_seen(e.rate, e.batches, scale * multiplier->upper);
  const bool is_replaced = pair == PoissonPair::opposite;
  const auto full = is_replaced ? displacing(scale * multiplier->upper, true) : std::nullopt;
  const auto part = [&](Mixing mixing) {
    const LossLaw last = batch(multiplier->lower, mixing, found.last_rate.upper);
    LossLaw upper =
        public_mixture({{batch(multiplier->lower, mixing, rate), found.roomy}, {last, found.last}, {nothing(), found.full}}, Side::upper);
    // Told how many others stay, or whether the batch is crowded.
    std::optional<LossLaw> other_upper;
    if (is_replaced && found.crowded.lower > 0) {
      const LossLaw displaced{GaussianBase{multiplier->lower}, Mixing::symmetric, found.displaces.upper};
      other_upper = public_mixture({{batch(multiplier->lower, mixing, rate), found.room}, {displaced, found.crowded}}, Side::upper);
      if (found.crowded.lower > 0.5) std::swap(upper, *other_upper);  // first by what is more often
    }
    LossLaw lower = batch(multiplier->upper, mixing, found.rate.lower);
    if (!seen.empty()) {
      std::vector<std::pair<LossLaw, Enclosure>> shares;
      for (const auto& share : seen) shares.emplace_back(batch(multiplier->upper, mixing, share.rate.lower), share.weight);
      lower = public_mixture(shares, Side::lower);
    }
    if (full) lower = larger(lower, LossLaw{*full, Mixing::remove});
    return ReleaseLaws{.upper = upper, .lower = lower, .same = false, .count = count_, .other_upper = other_upper};
  };
  if (is_replaced) return add(part(Mixing::opposite), part(Mixing::opposite));
  out_.symmetric = false;
  add(part(Mixing::remove), part(Mixing::add));
}

std::optional<BothDirections> by_other_uppers(BothDirections directions) {
  bool any = false;
  for (auto* parts : {&directions.remove, &directions.add}) {
    for (auto& part : *parts) {
      if (!part.other_upper) continue;
      part.upper = *std::exchange(part.other_upper, std::nullopt);
      any = true;
    }
  }
  return any ? std::optional{std::move(directions)} : std::nullopt;
}

LossLaw PartsOfEvent::no_mixture(LossLaw law) { return public_mixture({{law, {0.5, 0.5}}, {law, {0.5, 0.5}}}, Side::lower); }

LossLaw PartsOfEvent::public_mixture(const std::vector<std::pair<LossLaw, Enclosure>>& shares, Side side) {
  std::vector<LossLaw> laws;
  std::vector<double> weights;
  double error = 0;
  Upper lost{0};
  for (const auto& [law, share] : shares) {
    if (share.upper < 1e-200) {
      lost += Upper{Exact{share.upper}};
      continue;
    }
    const double weight = share.lower + 0.5 * (share.upper - share.lower);
    error = std::max(error, (share.upper - share.lower) / weight + share_of_units(2.0));
    laws.push_back(law);
    weights.push_back(weight);
  }
  LossLaw mixture{PublicMixtureBase{std::make_shared<const std::vector<LossLaw>>(std::move(laws)), std::move(weights), error}};
  if (side == Side::upper) mixture.infinite_mass = lost.value();
  return mixture;
}

void PartsOfEvent::gaussian(double least, double most, double rate) {
  const bool same = least == most;
  const LossLaw removed_upper{GaussianBase{least}, Mixing::remove, rate};
  const LossLaw removed_lower{GaussianBase{most}, Mixing::remove, rate};
  if (rate == 1) return add({removed_upper, removed_lower, same, count_}, {removed_upper, removed_lower, same, count_});
  out_.symmetric = false;
  const LossLaw added_upper{GaussianBase{least}, Mixing::add, rate};
  const LossLaw added_lower{GaussianBase{most}, Mixing::add, rate};
  add({removed_upper, removed_lower, same, count_}, {added_upper, added_lower, same, count_});
}

void PartsOfEvent::sampled(const Event& inner, double rate, bool fixed_size) {
  const auto entries = Releases::of(inner).entries();
  // One batch, shared by everything inside. A Gaussian composition is one Gaussian release.
  if (fixed_size && rate < 1 && splits_its_batch(inner)) {
    no_pair_for(*leaf_, "shares one batch of fixed size among parallel parts, for which no theorem is known");
  }
  if (const auto multiplier = gaussian_multiplier(inner)) {
    return sampled_gaussian(*multiplier, rate, fixed_size, !fixed_size && rate < 1 && poisson_pair(inner) == PoissonPair::opposite);
  }
  if (rate == 1) return PartsOfEvent{out_, others_, tilt_, reach_, from_above_}.visit(inner, count_);
  const auto* laplace_sum = std::get_if<Event::LaplaceRecordSum>(&inner.node());
  if (laplace_sum != nullptr && !fixed_size && poisson_pair(inner) == PoissonPair::opposite) return sampled_laplace_sum(*laplace_sum, rate);
  const auto* parallel = std::get_if<Event::Parallel>(&entries.front().leaf.node());
  if (entries.size() == 1 && entries.front().count.value() == 1 && parallel != nullptr) {
    // A record takes part in one of them, and joins the batch whatever the others do.
    std::vector<Event> parts;
    for (const auto& part : parallel->events) parts.push_back(poisson(SamplingRate{rate}, part));
    return PartsOfEvent{out_, others_, tilt_, reach_, from_above_}.visit(surety::parallel(std::move(parts)), count_);
  }
  const auto has_no_pair_to_mix = [](const Event& leaf) {
    // The law from below of a vector that moves is not to be reversed.
    const auto* vector = std::get_if<Event::KNorm>(&leaf.node());
    const auto* given = std::get_if<Event::Law>(&leaf.node());
    if (given != nullptr && leaf.adjacency() == Adjacency::replace_one && !has_finite_losses(given->atoms)) return true;
    // Of these the most distant outcomes are cut off.
    if (has_integer_noise(leaf)) return true;
    return std::holds_alternative<Event::Approximate>(leaf.node()) || std::holds_alternative<Event::Concentrated>(leaf.node()) ||
           std::holds_alternative<Event::Profile>(leaf.node()) || std::holds_alternative<Event::RenyiCurve>(leaf.node()) ||
           std::holds_alternative<Event::GeneralizedGaussian>(leaf.node()) ||
           (vector != nullptr && vector->norm == NormName::l2 && vector->dimension.value() > 1);
  };
  if (entries.size() != 1 || entries.front().count.value() != 1 || has_no_pair_to_mix(entries.front().leaf)) {
    return shared(inner, rate, fixed_size);
  }
  const bool is_in_or_out = !fixed_size && poisson_pair(inner) == PoissonPair::with_or_without;
  if (const auto* given = std::get_if<Event::Law>(&entries.front().leaf.node()); given != nullptr && is_in_or_out)
    return sampled(*given, rate);
  BothDirections one;
  PartsOfEvent{one, others_, tilt_, reach_, from_above_}.visit(inner, 1);
  if (one.remove.size() != 1) no_pair_for(*leaf_, "shares one batch among several releases");
  if (!fixed_size && poisson_pair(inner) == PoissonPair::revealed) return revealed(one, rate);
  ReleaseLaws removed = one.remove.front();
  removed.other_order.reset();
  removed.last_order.reset();
  if (removed.upper.rate != 1 || removed.upper.infinite_mass > 0 || !is_symmetric(removed.upper) ||
      std::holds_alternative<MaximumBase>(removed.upper.base)) {
    no_pair_but_perhaps_others("has no dominating pair here");
  }
  out_.symmetric = out_.symmetric && rate == 1;
  removed.count = count_;
  if (fixed_size && rate != 1) {
    // As for gaussian releases.
    removed.upper.mixing = Mixing::symmetric;
    removed.upper.rate = std::nextafter(rate, 1.0);
    if (removed.lower) removed.lower->rate = std::nextafter(rate, 0.0);
    removed.same = false;
    ReleaseLaws added = removed;
    if (added.lower) added.lower->mixing = Mixing::add;
    return add(std::move(removed), std::move(added));
  }
  removed.upper.rate = rate;
  if (removed.lower) removed.lower->rate = rate;
  ReleaseLaws added = removed;
  added.upper.mixing = Mixing::add;
  if (added.lower) added.lower->mixing = Mixing::add;
  add(std::move(removed), std::move(added));
}

void PartsOfEvent::sampled_gaussian(const Enclosure& multiplier, double rate, bool fixed_size, bool is_opposite) {
  const double least = multiplier.lower;
  const double most = multiplier.upper;
  if (is_opposite) {
    // Two bounded records may be opposite; each of the two data sets has one of them in the batch or not. The bound on one record is
    // half of the sensitivity.
    const ReleaseLaws part{
        {GaussianBase{2 * least}, Mixing::opposite, rate}, LossLaw{GaussianBase{2 * most}, Mixing::opposite, rate}, least == most, count_};
    return add(part, part);
  }
  if (!fixed_size || rate == 1) return gaussian(least, most, rate);
  // rate = m / n is rounded: the law is that of a rate within a relative u, which `widened` covers.
  const double more = std::nextafter(rate, 1.0);
  const double less = std::nextafter(rate, 0.0);
  out_.symmetric = false;
  const LossLaw upper{GaussianBase{least}, Mixing::symmetric, more};
  add({upper, LossLaw{GaussianBase{most}, Mixing::remove, less}, false, count_},
      {upper, LossLaw{GaussianBase{most}, Mixing::add, less}, false, count_});
}

void PartsOfEvent::sampled_laplace_sum(const Event::LaplaceRecordSum& sum, double rate) {
  const auto law = opposite_laplace(sum.scale.value(), rate);
  if (!law) no_pair_but_perhaps_others("has losses too large for a grid");
  both(*law);
}

void PartsOfEvent::sampled(const Event::Law& given, double rate) {
  if (!has_finite_losses(given.atoms)) no_pair_but_perhaps_others("has no dominating pair here");
  out_.symmetric = false;
  const auto part = [&](Mixing mixing) {
    LossLaw law = finite_law(given.atoms, false, +1);
    law.mixing = mixing;
    law.rate = rate;
    return ReleaseLaws{law, law, true, count_};
  };
  add(part(Mixing::remove), part(Mixing::add));
}

void PartsOfEvent::shared(const Event& inner, double rate, bool fixed_size) {
  const auto pair = makes_none() ? nullptr : pair_of_batch(inner);
  if (makes_none()) static_cast<void>(parts_of_batch(inner));
  const double less = std::nextafter(rate, 0.0);
  const auto part = [&](Mixing upper, double most, Mixing lower, double least) {
    if (pair == nullptr) {
      // As its law: its own reverse where the batch is revealed, and else not.
      const LossLaw law{upper == Mixing::revealed ? AtomsBase{{{-1, 0.5}, {1, 0.5}}, 0, 0} : AtomsBase{{{-1, 0.5}, {2, 0.5}}, 0, 0}};
      return ReleaseLaws{law, law, false, count_};
    }
    return ReleaseLaws{batch_law(*pair, upper, most, +1), batch_law(*pair, lower, least, -1), false, count_};
  };
  if (fixed_size) {
    // As for gaussian releases.
    out_.symmetric = false;
    const ReleaseLaws removed = part(Mixing::symmetric, std::nextafter(rate, 1.0), Mixing::remove, less);
    ReleaseLaws added = removed;
    if (pair != nullptr) added.lower = batch_law(*pair, Mixing::add, less, -1);
    return add(removed, added);
  }
  if (poisson_pair(inner) == PoissonPair::revealed) {
    const ReleaseLaws both = part(Mixing::revealed, rate, Mixing::revealed, rate);
    return add(both, both);
  }
  out_.symmetric = false;
  add(part(Mixing::remove, rate, Mixing::remove, rate), part(Mixing::add, rate, Mixing::add, rate));
}

std::shared_ptr<const BatchPair> PartsOfEvent::pair_of_batch(const Event& inner, bool from_above) const {
  using Key = std::tuple<const LeafCurves*, Event, bool>;
  static auto& kept = *new LastFew<Key, std::shared_ptr<const BatchPair>>;
  return kept.of(Key{&others_, inner, from_above},
                 [&] { return std::make_shared<const BatchPair>(batch_pair(parts_of_batch(inner, from_above))); });
}

Parts PartsOfEvent::parts_of_batch(const Event& inner, bool from_above) const {
  // Gaussian releases are one, and what is concentrated adds up.
  BothDirections found;
  PartsOfEvent parts{found, others_, 1, makes_none() ? Reach::none : Reach::middle, from_above};
  parts.shares_a_batch_ = true;
  std::vector<Event> gaussians;
  Interval concentrated{0, precision};
  double number = 0;
  for (const auto& [leaf, count] : Releases::of(inner).entries()) {
    if (const auto* known = std::get_if<Event::Concentrated>(&leaf.node()); known != nullptr && known->xi.value() == 0) {
      concentrated = concentrated + Interval{static_cast<double>(count.value()), precision} * Interval{known->rho.value(), precision};
    } else if (gaussian_multiplier(leaf)) {
      gaussians.push_back(repeat(count, leaf));
    } else {
      number += static_cast<double>(count.value());
      parts.visit(leaf, count.value());
    }
  }
  if (number > most_in_a_batch) {
    no_pair_but_perhaps_others(fmt::format("shares one batch among more than {:.0f} releases that are not all gaussian", most_in_a_batch));
  }
  if (!gaussians.empty()) {
    const auto multiplier = gaussian_multiplier(compose(std::move(gaussians)));
    parts.leaf_ = leaf_;
    parts.count_ = 1;
    parts.gaussian(multiplier->lower, multiplier->upper, 1);
  }
  for (const auto& part : found.remove) {
    if (!is_symmetric(part.upper) || part.upper.rate != 1 || std::holds_alternative<MaximumBase>(part.upper.base)) {
      no_pair_but_perhaps_others("has no dominating pair here");
    }
  }
  const double rho = concentrated.enclosure().upper;
  if (!(rho < largest_rho))
    no_pair_for(*leaf_, fmt::format("shares one batch among releases of rho {}, must be below {}", rho, largest_rho));
  if (rho > 0 && !makes_none()) {
    found.remove.push_back(this->concentrated(rho));
  }
  if (found.remove.empty()) found.remove.push_back({nothing(), nothing(), true, 1});
  if (from_above) {
    for (auto& part : found.remove) part = {part.upper, std::nullopt, false, part.count};
  }
  return found.remove;
}

void PartsOfEvent::revealed(const BothDirections& one, double rate) {
  out_.symmetric = out_.symmetric && one.symmetric;
  out_.has_choice = out_.has_choice || one.has_choice;
  const auto of = [&](ReleaseLaws part) {
    if (std::holds_alternative<MaximumBase>(part.upper.base)) no_pair_but_perhaps_others("has no dominating pair here");
    part.upper = reveal(part.upper, rate, +1);
    if (part.lower) part.lower = reveal(*part.lower, rate, -1);
    part.same = part.same && part.upper.infinite_mass == 0;
    part.count = count_;
    return part;
  };
  add(of(one.remove.front()), of(one.add.front()));
}

LossLaw PartsOfEvent::reveal(LossLaw law, double rate, int side) {
  law.mixing = Mixing::revealed;
  law.rate = rate;
  if (law.infinite_mass == 0) return law;
  const double outward = side > 0 ? infinity : 0.0;
  const double share = law.infinite_mass;
  law.infinite_mass = std::nextafter(rate * share, outward);
  const Exact left{law.infinite_mass};
  const Upper largest = Upper{Exact{rate}} * (Upper{1} - Exact{share}) / (Lower{1} - left);
  const Lower smallest = Lower{Exact{rate}} * (Lower{1} - Exact{share}) / (Upper{1} - left);
  law.rate = std::min(side > 0 ? largest.value() : smallest.value(), 1.0);
  return law;
}

}  // namespace surety::accounting::laws
