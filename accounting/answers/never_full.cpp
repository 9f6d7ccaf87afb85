#include <surety/accounting/answers/never_full.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/releases.h>
#include <surety/base/numbers/ball.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting {
namespace {

/// Batches that are full with a larger probability have bounds of their own.
constexpr double most_share = 1e-3;

// Proved: docs/proofs/truncated.md#never-full
/// At most the probability that `count` batches are not all below the largest size: Chernoff's bound for the other records that join one.
Upper full_share(const Event::TruncatedPoisson& batch, Count count) {
  const auto others = static_cast<double>(batch.batches.records().value()) - 1;
  const auto largest = static_cast<double>(batch.batches.size().value());
  if (largest > others) return Upper{0};
  const Ball rate{Exact{batch.rate.value()}};
  const Ball share = Ball{Exact{largest}} / Ball{Exact{others}};
  if (!(share.lower().value() > batch.rate.value()) || !(share.upper().value() < 1)) return Upper{1};
  const Ball divergence = share * log(share / rate) + (Ball{1} - share) * (log1p(-share) - log1p(-rate));
  const Lower exponent = Lower{Exact{others}} * max(divergence.lower(), Lower{0});
  return min(Upper{1}, Exact{static_cast<double>(count.value())} * exp(-exponent));
}

/// Whether the data that attain the bound of this release may have any number of records.
bool leaves_number_open(const Event& leaf) {
  return !std::holds_alternative<Event::SampledWithoutReplacement>(leaf.node()) &&
         !std::holds_alternative<Event::SampledWithReplacement>(leaf.node()) && !std::holds_alternative<Event::Shuffled>(leaf.node()) &&
         !std::holds_alternative<Event::Deterministic>(leaf.node()) && !std::holds_alternative<Event::Parallel>(leaf.node()) &&
         !std::holds_alternative<Event::Users>(leaf.node()) && !std::holds_alternative<Event::BestOf>(leaf.node());
}

}  // namespace

std::optional<NeverFull> find_never_full(const Event& event) {
  const auto entries = Releases::of(event).entries();
  const auto is_truncated = [](const Releases::Entry& entry) { return std::holds_alternative<Event::TruncatedPoisson>(entry.leaf.node()); };
  if (std::none_of(entries.begin(), entries.end(), is_truncated)) return std::nullopt;
  if (!std::all_of(entries.begin(), entries.end(), [](const auto& entry) { return leaves_number_open(entry.leaf); })) return std::nullopt;
  Releases poisson_batches{event.adjacency()};
  Upper share{0};
  for (const auto& [leaf, count] : entries) {
    const auto* batch = std::get_if<Event::TruncatedPoisson>(&leaf.node());
    if (batch != nullptr) share += full_share(*batch, count);
    poisson_batches.add(Releases::of(repeat(count, batch != nullptr ? poisson(batch->rate, batch->event) : leaf)));
  }
  if (!(share.value() <= most_share)) return std::nullopt;
  return NeverFull{*poisson_batches.event(), share.value(), event.adjacency() == Adjacency::add_or_remove_one};
}

std::optional<Enclosure> with_full_batches(const NeverFull& never_full, const Question& question,
                                           const std::function<Enclosure(const Question&)>& request, const NeverFullTerms& terms) {
  // (1 + e^epsilon) share, which is taken off or added to delta.
  const auto cost_at = [&](double epsilon) {
    const Upper one_side{Exact{never_full.share}};
    return terms.both_sides ? one_side * (exp(Upper{Exact{epsilon}}) + 1) : one_side;
  };
  constexpr double most_of_delta = 0.5;
  if (const auto* at = std::get_if<Epsilon>(&question)) {
    const Enclosure plain = request(question);
    const Upper cost = cost_at(at->value());
    const Upper upper = min(Upper{1}, Exact{plain.upper} + cost);
    if (!(cost.value() <= most_of_delta * upper.value())) return std::nullopt;
    const double lower = never_full.is_attained_by_few ? plain.lower : (Lower{Exact{plain.lower}} - cost).value();
    return Enclosure{std::clamp(lower, 0.0, upper.value()), upper.value()};
  }
  const Delta delta = std::get<Delta>(question);
  const Enclosure plain = request(question);
  if (never_full.share == 0 || plain.upper == infinity)
    return plain.upper == infinity && never_full.share > 0 ? std::nullopt : std::optional{plain};
  // The bounds hold as long as neither epsilon is above this one.
  const double highest = plain.upper + 1;
  const Upper cost = cost_at(highest);
  const Lower less = Lower{Exact{delta.value()}} - cost;
  if (!(less.value() >= most_of_delta * delta.value()) || !(less.value() > 0)) return std::nullopt;
  const double upper = request(Delta{less.value()}).upper;
  if (!(upper <= highest)) return std::nullopt;
  double lower = plain.lower;
  if (!never_full.is_attained_by_few) {
    const double more = (Exact{delta.value()} + cost).value();
    lower = more < 1 ? request(Delta{more}).lower : 0;
  }
  return Enclosure{std::min(lower, upper), upper};
}

// Proved so far.
}  // namespace surety::accounting
