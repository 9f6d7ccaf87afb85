#include <surety/accounting/laws/pairs/parts_of_event.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include <fmt/format.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/last_iterate.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/accounting/events/refusal.h>
#include <surety/accounting/events/releases.h>
#include <surety/accounting/laws/finite/search_pair.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::laws {

namespace {

Refusal refusal_of(const Event& event, std::string_view why) { return {event, fmt::format("privacy-loss: {{}} {}", why)}; }

}  // namespace

void no_pair_for(const Event& event, std::string_view why) { unsupported(refusal_of(event, why)); }

double tilted_mean_at(double tilt, const Parts& parts) {
  double total = 0;
  for (const auto& part : parts) {
    const LossLaw law = part.lower.value_or(nothing());
    const Cut cut{-60 - 40 * tilt, -60};
    const auto bounds = range(law, cut);
    const double step = std::max((bounds.largest - bounds.least) / 1000, 1e-12);
    const auto found = cells(law, step, cut);
    std::vector<double> exponents;
    for (const auto& cell : found.cells) {
      exponents.push_back(std::log(cell.mass) + cell.log_scale + tilt * rough_loss(found, cell));
    }
    if (law.infinite_mass > 0) exponents.push_back(std::log(law.infinite_mass) + tilt * bounds.largest + 20);
    if (exponents.empty()) continue;
    const double top = *std::max_element(exponents.begin(), exponents.end());
    double sum = 0;
    for (const double exponent : exponents) sum += std::exp(exponent - top);
    total += static_cast<double>(part.count) * (top + std::log(sum));
  }
  return total;
}

namespace {

bool is_one_search(const Event& event) {
  const auto entries = Releases::of(event).entries();
  return entries.size() == 1 && entries.front().count == Count{1} && std::holds_alternative<Event::BestOf>(entries.front().leaf.node());
}

}  // namespace

std::optional<Refusal> why_no_pair_of_search(const Event& event) {
  if (!is_one_search(event)) return std::nullopt;
  return refusal_of(event, "is a search alone, of which tuning knows more");
}

void require_no_part_is_one_search(const std::vector<Event>& parts) {
  const auto found = std::find_if(parts.begin(), parts.end(), is_one_search);
  if (found == parts.end()) return;
  no_pair_for(*found, "is a whole part of parallel, must be repeated, composed with other releases, or outside of parallel");
}

void PartsOfEvent::visit(const Event& event, std::uint64_t times) {
  const auto entries = Releases::of(event).entries();
  for (const auto& [leaf, count] : entries) {
    if (times > Releases::max_count / count.value()) no_pair_for(event, "has more than 2^53 releases");
    if (const auto refusal = times == 1 ? why_no_pair_of_search(event) : std::nullopt) unsupported(*refusal);
    leaf_ = &leaf;
    count_ = times * count.value();
    std::visit(*this, leaf.node());
  }
}

void PartsOfEvent::last_iterate() {
  const Enclosure multiplier = *last_iterate_multipliers(*leaf_);
  gaussian(multiplier.lower, multiplier.upper, 1);
}

void PartsOfEvent::operator()(const Event::BestOf&) {
  if (makes_none() && !others_.know_search(*leaf_)) no_pair_for(*leaf_, "is a search whose curve nobody knows");
  const LossLaw upper = makes_none() ? nothing() : search_pair(*leaf_, others_);
  const SearchLaws lower = makes_none() ? SearchLaws{} : attained_search(*leaf_, tilt_, others_);
  out_.symmetric = out_.symmetric && lower.symmetric;
  out_.has_choice = out_.has_choice || lower.remove.has_value();
  add({upper, lower.remove, false, count_}, {upper, lower.add, false, count_});
}

void PartsOfEvent::operator()(const Event::Parallel& e) {
  const auto parts = undominated(e);
  if (parts.size() > 1 || count_ == 1) require_no_part_is_one_search(parts);
  if (parts.size() == 1) return PartsOfEvent{out_, others_, tilt_, reach_, from_above_}.visit(parts.front(), count_);
  std::vector<BothDirections> all;
  std::size_t chosen = 0;
  for (const auto& part : parts) {
    all.push_back(directions_of(part));
    out_.symmetric = out_.symmetric && all.back().symmetric;
    if (tilted_mean(all.back().remove) > tilted_mean(all[chosen].remove)) chosen = all.size() - 1;
  }
  out_.has_choice = true;
  // The k-th releases of all parts side by side, as often as the one that occurs least often; parts may run out of releases.
  std::vector<std::size_t> place(all.size(), 0);
  std::vector<std::uint64_t> used(all.size(), 0);
  for (;;) {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (place[i] == all[i].remove.size()) continue;
      const std::uint64_t left = all[i].remove[place[i]].count - used[i];
      count = count == 0 ? left : std::min(count, left);
    }
    if (count == 0) return;
    std::vector<LossLaw> removed;
    std::vector<LossLaw> added;
    std::optional<LossLaw> removed_lower = nothing();
    std::optional<LossLaw> added_lower = nothing();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (place[i] == all[i].remove.size()) continue;
      const ReleaseLaws& one = all[i].remove[place[i]];
      const ReleaseLaws& other = all[i].add[place[i]];
      removed.push_back(one.upper);
      added.push_back(other.upper);
      if (i == chosen && one.lower && other.lower) {
        removed_lower = one.lower;
        added_lower = other.lower;
      }
      used[i] += count;
      if (used[i] == one.count) {
        ++place[i];
        used[i] = 0;
      }
    }
    add({largest_of_curves(std::move(removed)), removed_lower, false, product(count, count_)},
        {largest_of_curves(std::move(added)), added_lower, false, product(count, count_)});
  }
}

void PartsOfEvent::no_pair_but_perhaps_others(std::string_view why) const {
  if (makes_none()) no_pair_for(*leaf_, why);
  const auto known_by = others_.also_known_by(*leaf_);
  no_pair_for(*leaf_, fmt::format("{}{}{}", why, known_by.empty() ? "" : "; alone it is known to ", known_by));
}

BothDirections PartsOfEvent::directions_of(const Event& event) {
  BothDirections found;
  PartsOfEvent{found, others_, tilt_, reach_, from_above_}.visit(event, 1);
  out_.has_choice = out_.has_choice || found.has_choice;
  return found;
}

std::uint64_t PartsOfEvent::product(std::uint64_t inner, std::uint64_t outer) const {
  if (inner > Releases::max_count / outer) no_pair_for(*leaf_, "has more than 2^53 releases");
  return inner * outer;
}

LossLaw PartsOfEvent::largest_of_curves(std::vector<LossLaw> laws) {
  if (laws.size() == 1) return laws.front();
  return LossLaw{MaximumBase{std::make_shared<const std::vector<LossLaw>>(std::move(laws))}};
}

double PartsOfEvent::tilted_mean(const Parts& parts) const { return makes_none() ? 0 : tilted_mean_at(tilt_, parts); }

bool PartsOfEvent::is_slow(const LossLaw& law) {
  return std::holds_alternative<PublicMixtureBase>(law.base) || std::holds_alternative<MaximumBase>(law.base) ||
         std::holds_alternative<GaussianMixtureBase>(law.base) || std::holds_alternative<AllocatedBase>(law.base) ||
         std::holds_alternative<AllocatedRatioBase>(law.base) || std::holds_alternative<ReplacedBase>(law.base);
}

void PartsOfEvent::add(ReleaseLaws removed, ReleaseLaws added) {
  for (const auto* part : {&removed, &added}) {
    if (makes_none() && is_slow(part->upper)) continue;
    // Cells of a grid are no smaller than 1e-12 of anything; a loss so small has no digits there.
    const auto bounds = range(part->upper, {-60, -60});
    const double width = bounds.largest - bounds.least;
    if (!(width > 1e-14) && !(width == 0 && std::holds_alternative<AtomsBase>(part->upper.base))) {
      no_pair_but_perhaps_others(width < infinity ? "has losses too small for a grid" : "has losses too large for a grid");
    }
  }
  out_.remove.push_back(std::move(removed));
  out_.add.push_back(std::move(added));
}

}  // namespace surety::accounting::laws
