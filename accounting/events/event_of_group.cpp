#include <surety/accounting/events/event_of_group.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/refusal.h>
#include <surety/accounting/events/releases.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>

namespace surety::accounting {
namespace {

constexpr mpfr_prec_t group_precision = 128;

Interval in_bits(double value) { return {value, group_precision}; }

/// Releases whose costs are ordered by one number that a split group cannot exceed.
bool is_gaussian(const Event& event) {
  return every_leaf(event, [](const Event& leaf) { return pairwise_multiplier(leaf).has_value(); });
}
bool is_concentrated(const Event& event) {
  return every_leaf(event, [](const Event& leaf) {
    const auto* known = std::get_if<Event::Concentrated>(&leaf.node());
    return known != nullptr && known->xi.value() == 0;
  });
}

/// One visit per kind of event; docs/proofs/composition.md#group proves each line.
struct GroupOf {
  const Event& event;
  Count records;

  double k() const { return static_cast<double>(records.value()); }
  Adjacency adjacency() const { return event.adjacency(); }

  [[noreturn]] void no_event_for_the_group(std::string_view why) const {
    unsupported(event, fmt::format("group privacy has no event for {} records and {{}}: {}", records.value(), why));
  }

  [[noreturn]] void given() const { no_event_for_the_group("it is known for one record; group_delta converts a bound for one"); }

  /// x / k, rounded down: more cost. Rounding to nearest would suffice for none of the claims.
  double per_record(double x) const {
    const double share = (in_bits(x) / in_bits(k())).enclosure().lower;
    if (!(share > 0)) no_event_for_the_group("its noise per record vanishes");
    return share;
  }
  double times(double x, double factor) const {
    const double product = (in_bits(x) * in_bits(factor)).enclosure().upper;
    if (!std::isfinite(product)) no_event_for_the_group("its cost is beyond the range of double");
    return product;
  }
  Count times(Count sensitivity) const {
    constexpr std::uint64_t largest = std::uint64_t{1} << 53;
    if (sensitivity.value() > largest / records.value()) no_event_for_the_group("its sensitivity is above 2^53");
    return Count{sensitivity.value() * records.value()};
  }

  Event operator()(const Event::Gaussian& e) const { return gaussian(NoiseMultiplier{per_record(e.multiplier.value())}, adjacency()); }
  /// The group is the record, and contributes at most k C.
  Event operator()(const Event::RecordSum& e) const { return record_sum(NoiseMultiplier{per_record(e.multiplier.value())}, adjacency()); }
  Event operator()(const Event::GeneralizedGaussian& e) const {
    return generalized_gaussian(e.r, e.dimension, NoiseMultiplier{per_record(e.multiplier.value())}, adjacency());
  }
  Event operator()(const Event::Laplace& e) const { return laplace(NoiseScale{per_record(e.scale.value())}, adjacency()); }
  Event operator()(const Event::KNorm& e) const {
    return k_norm(e.norm, e.dimension, NoiseScale{per_record(e.scale.value())}, adjacency());
  }
  Event operator()(const Event::DiscreteGaussian& e) const { return discrete_gaussian(e.sigma, times(e.sensitivity), adjacency()); }
  Event operator()(const Event::DiscreteLaplace& e) const { return discrete_laplace(e.scale, times(e.sensitivity), adjacency()); }
  /// Each record of the group may answer.
  Event operator()(const Event::RandomizedResponse&) const { return repeat(records, event); }
  Event operator()(const Event::Pure& e) const { return pure(Epsilon{times(e.epsilon.value(), k())}, adjacency()); }
  /// Ranges of losses add up along the chain.
  Event operator()(const Event::Exponential& e) const { return exponential(Epsilon{times(e.epsilon.value(), k())}, adjacency()); }
  /// [BS16] Proposition 1.9.
  Event operator()(const Event::Concentrated& e) const {
    if (e.xi.value() > 0) no_event_for_the_group("its rho is shifted");
    return zcdp(Rho{times(times(e.rho.value(), k()), k())}, adjacency());
  }
  Event operator()(const Event::Profile&) const { given(); }
  Event operator()(const Event::Law&) const { given(); }
  Event operator()(const Event::RenyiCurve&) const { given(); }
  Event operator()(const Event::Approximate& e) const {
    const double delta = chain_delta(e.epsilon.value(), e.delta.value(), k());
    if (!(delta < 1)) no_event_for_the_group("its delta reaches 1");
    return approx(Epsilon{times(e.epsilon.value(), k())}, Delta{delta}, adjacency());
  }
  Event operator()(const Event::Repeated& e) const { return repeat(e.count, event_of_group(e.event, records)); }
  Event operator()(const Event::Composed& e) const { return compose(each(e.events)); }
  /// k_i records in part i, with sum k_i = k: sum (k_i mu_i)^2 <= (k max mu_i)^2, and the same for rho = mu^2 / 2.
  Event operator()(const Event::Parallel& e) const {
    const auto all = [&](auto holds) { return std::all_of(e.events.begin(), e.events.end(), holds); };
    if (!all(is_gaussian) && !all(is_concentrated))
      no_event_for_the_group("a group falls into several parts, and only Gaussian or zcdp parts are ordered");
    return parallel(each(e.events));
  }
  /// What holds of any two data sets holds of those that differ in the group: each run costs the group's event.
  Event operator()(const Event::BestOf& e) const { return best_of(e.runs, event_of_group(e.event, records)); }
  template <class Sampled>
  Event operator()(const Sampled&) const {
    no_event_for_the_group("a group falls into several batches; group_delta converts a bound for one record");
  }

  std::vector<Event> each(const std::vector<Event>& events) const {
    std::vector<Event> groups;
    for (const auto& part : events) groups.push_back(event_of_group(part, records));
    return groups;
  }
};

}  // namespace

double chain_delta(double epsilon, double delta, double steps) {
  if (delta == 0 || steps == 1) return std::min(1.0, delta);
  if (epsilon == 0) return std::min(1.0, (in_bits(delta) * in_bits(steps)).enclosure().upper);
  // Beyond this no delta of double survives, and nothing overflows before it.
  constexpr double largest_exponent = 800;
  if (epsilon * (steps - 1) > largest_exponent) return 1;
  const Interval sum = expm1(in_bits(epsilon) * in_bits(steps)) / expm1(in_bits(epsilon));
  return std::min(1.0, (in_bits(delta) * sum).enclosure().upper);
}

Event event_of_group(const Event& event, Count records) {
  const StandardFloatingPoint environment;
  if (records == Count{1}) return event;
  return std::visit(GroupOf{event, records}, event.node());
}

}  // namespace surety::accounting
