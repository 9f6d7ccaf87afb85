#include <surety/accounting/events/event_of_group.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
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

// Proved: docs/proofs/users.md#releases
/// At least 1 + 1/2 + ... + 1/k.
double harmonic_number(Count records) {
  constexpr std::uint64_t summed = 1024;
  Interval sum = in_bits(0);
  const std::uint64_t k = records.value();
  for (std::uint64_t i = 1; i <= std::min(k, summed); ++i) sum = sum + in_bits(1) / in_bits(static_cast<double>(i));
  // The rest is at most the integral of 1 / x from the last of them on.
  if (k > summed) sum = sum + log(in_bits(static_cast<double>(k)) / in_bits(static_cast<double>(summed)));
  return sum.enclosure().upper;
}
// Proved so far.

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

  [[noreturn]] void reports() const { no_event_for_the_group("each of the records sends a report; group_delta converts a bound for one"); }
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
  /// The group is the record, and contributes at most k C.
  Event operator()(const Event::LaplaceRecordSum& e) const {
    const double scale = per_record(e.scale.value());
    return laplace_record_sum(NoiseScale{scale}, adjacency());
  }
  Event operator()(const Event::KNorm& e) const {
    return k_norm(e.norm, e.dimension, NoiseScale{per_record(e.scale.value())}, adjacency());
  }
  Event operator()(const Event::DiscreteGaussian& e) const { return discrete_gaussian(e.sigma, times(e.sensitivity), adjacency()); }
  Event operator()(const Event::DiscreteLaplace& e) const { return discrete_laplace(e.scale, times(e.sensitivity), adjacency()); }
  Event operator()(const Event::Binomial& e) const { return binomial(e.flips, times(e.sensitivity), adjacency()); }
  Event operator()(const Event::Skellam& e) const { return skellam(e.mean, times(e.sensitivity), adjacency()); }
  /// Each record of the group may answer.
  Event operator()(const Event::RandomizedResponse&) const { return repeat(records, event); }
  Event operator()(const Event::Pure& e) const { return pure(Epsilon{times(e.epsilon.value(), k())}, adjacency()); }
  /// Ranges of losses add up along the chain.
  Event operator()(const Event::Exponential& e) const { return exponential(Epsilon{times(e.epsilon.value(), k())}, adjacency()); }
  Event operator()(const Event::Concentrated& e) const {
    const double rho = times(times(e.rho.value(), k()), k());
    const double xi = e.xi.value() > 0 ? times(times(e.xi.value(), k()), harmonic_number(records)) : 0;
    return zcdp(Epsilon{xi}, Rho{rho}, adjacency());
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
  /// A chain of k neighbours, also of records in different batches: docs/proofs/last-iterate.md#groups.
  Event operator()(const Event::LastIterate& e) const { return last_iterate(e.steps, e.constant, event_of_group(e.event, records)); }
  Event operator()(const Event::LastIterateOfPasses& e) const {
    return last_iterate_of_passes(e.passes, e.batches, e.constant, event_of_group(e.event, records));
  }
  Event operator()(const Event::LastIterateOfBatches& e) const {
    return last_iterate_of_batches(e.sizes, event_of_group(e.event, records));
  }
  /// The diameter is over the sensitivity, which is k times as large.
  Event operator()(const Event::LastIterateWithin& e) const {
    const double share = std::nextafter(e.diameter.value() / k(), std::numeric_limits<double>::infinity());
    return last_iterate_within(Diameter{share}, e.steps, e.constant, event_of_group(e.event, records));
  }
  Event operator()(const Event::ShuffledReports&) const { reports(); }
  Event operator()(const Event::ShuffledResponses&) const { reports(); }
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

// Proved: docs/proofs/users.md#releases
/// A point of the curve of a chain of k neighbours, each an (epsilon, delta)-private step from the one before.
struct ChainPoint {
  Enclosure epsilon;
  Enclosure delta;
};

/// Of `kept` of the steps the guarantee is taken as it is, of the other `left` ones for the complement of an outcome:
/// at (kept - left) epsilon. \pre epsilon > 0
ChainPoint chain_point(double epsilon, double delta, double kept, double left) {
  const Interval e = in_bits(epsilon);
  const Interval lost = -expm1(-(in_bits(left) * e));
  const Interval at = in_bits(kept - left) * e;
  const Interval shown = in_bits(delta) / expm1(e);
  return {at.enclosure(), (lost + shown * (lost + exp(at) - exp(-(in_bits(left) * e)))).enclosure()};
}

/// What may be left out: points that other ones imply. From above fewer points are a bound.
std::vector<NumberPair> convex_hull(std::vector<NumberPair> points) {
  std::sort(points.begin(), points.end(),
            [](const NumberPair& a, const NumberPair& b) { return a.first != b.first ? a.first < b.first : a.second < b.second; });
  std::vector<NumberPair> hull;
  for (const auto& point : points) {
    if (!(point.second < 1)) continue;
    if (!hull.empty() && (point.first == hull.back().first || point.second >= hull.back().second)) continue;
    while (hull.size() > 1) {
      const auto& before = hull[hull.size() - 2];
      const auto& middle = hull.back();
      const long double far = -std::expm1(static_cast<long double>(before.first) - point.first);
      const long double near = -std::expm1(static_cast<long double>(middle.first) - point.first);
      if (middle.second < point.second + (static_cast<long double>(before.second) - point.second) * (near / far)) break;
      hull.pop_back();
    }
    hull.push_back(point);
  }
  return hull;
}

/// One visit per kind of single release.
struct BoundsOfGroup {
  const Event& event;
  Count records;

  /// Numbers of steps of a chain whose points are listed; of longer chains as many of them.
  static constexpr double most_points = 256;

  [[nodiscard]] GroupOf group() const { return {event, records}; }
  [[nodiscard]] double k() const { return static_cast<double>(records.value()); }
  [[nodiscard]] Adjacency adjacency() const { return event.adjacency(); }
  /// x / k, rounded up: less cost.
  [[nodiscard]] double share_above(double x) const { return (in_bits(x) / in_bits(k())).enclosure().upper; }
  [[nodiscard]] static GroupBounds exactly(const Event& both) { return {both, both}; }

  GroupBounds operator()(const Event::Laplace& e) const {
    return {group()(e), laplace(NoiseScale{share_above(e.scale.value())}, adjacency())};
  }
  GroupBounds operator()(const Event::LaplaceRecordSum& e) const {
    return {group()(e), laplace_record_sum(NoiseScale{share_above(e.scale.value())}, adjacency())};
  }
  GroupBounds operator()(const Event::KNorm& e) const {
    return {group()(e), k_norm(e.norm, e.dimension, NoiseScale{share_above(e.scale.value())}, adjacency())};
  }
  GroupBounds operator()(const Event::GeneralizedGaussian& e) const {
    return {group()(e), generalized_gaussian(e.r, e.dimension, NoiseMultiplier{share_above(e.multiplier.value())}, adjacency())};
  }
  GroupBounds operator()(const Event::DiscreteGaussian& e) const { return exactly(group()(e)); }
  GroupBounds operator()(const Event::DiscreteLaplace& e) const { return exactly(group()(e)); }
  GroupBounds operator()(const Event::Binomial& e) const { return exactly(group()(e)); }
  GroupBounds operator()(const Event::Skellam& e) const { return exactly(group()(e)); }
  GroupBounds operator()(const Event::RandomizedResponse& e) const { return exactly(group()(e)); }
  GroupBounds operator()(const Event::Exponential& e) const { return {group()(e), std::nullopt}; }
  GroupBounds operator()(const Event::Pure& e) const { return pure_chain(e.epsilon.value()); }
  GroupBounds operator()(const Event::Approximate& e) const {
    const double epsilon = e.epsilon.value();
    const double delta = e.delta.value();
    if (delta == 0) return pure_chain(epsilon);
    if (epsilon == 0) {
      const auto all = (in_bits(delta) * in_bits(k())).enclosure();
      if (!(all.upper < 1)) no_guarantee();
      return {approx(Epsilon{0}, Delta{all.upper}, adjacency()), approx(Epsilon{0}, Delta{all.lower}, adjacency())};
    }
    std::vector<NumberPair> above;
    std::vector<NumberPair> below;
    const double first = std::ceil(k() / 2);
    const double every = std::max(1.0, std::ceil((k() - first) / most_points));
    for (double kept = k(); kept >= first; kept -= every) {
      const auto point = chain_point(epsilon, delta, kept, k() - kept);
      above.push_back({point.epsilon.upper, std::min(1.0, point.delta.upper)});
      below.push_back({point.epsilon.lower, std::max(0.0, point.delta.lower)});
    }
    auto hull = convex_hull(std::move(above));
    if (hull.empty()) no_guarantee();
    std::reverse(below.begin(), below.end());
    const bool is_attained = every == 1 && is_worst_chain(epsilon, delta);
    return {curve(CurvePoints{std::move(hull)}, adjacency()),
            is_attained ? std::optional{curve(CurvePoints{std::move(below)}, adjacency())} : std::nullopt};
  }
  GroupBounds operator()(const Event::Concentrated& e) const {
    const Event upper = group()(e);
    if (e.rho.value() == 0) return {upper, std::nullopt};
    // k records that each move a Gaussian release of this rho.
    const Interval multiplier = in_bits(1) / (in_bits(k()) * sqrt(in_bits(2) * in_bits(e.rho.value())));
    return {upper, gaussian(NoiseMultiplier{multiplier.enclosure().upper}, adjacency())};
  }
  GroupBounds operator()(const Event::Profile& e) const {
    std::vector<NumberPair> above;
    for (const auto& [epsilon, delta] : e.points.all()) {
      const double last = group().times(epsilon, k());
      above.push_back({last, chain_delta(epsilon, delta, k())});
    }
    auto hull = convex_hull(std::move(above));
    if (hull.empty()) no_guarantee();
    return {curve(CurvePoints{std::move(hull)}, adjacency()), std::nullopt};
  }
  template <class Other>
  GroupBounds operator()(const Other&) const {
    group().no_event_for_the_group("no bound for several records is known");
  }

 private:
  [[noreturn]] void no_guarantee() const { group().no_event_for_the_group("its delta reaches 1"); }

  /// Geometric noise is the worst chain: docs/proofs/users.md#releases.
  [[nodiscard]] GroupBounds pure_chain(double epsilon) const {
    if (epsilon == 0) return exactly(pure(Epsilon{0}, adjacency()));
    const auto scale = (in_bits(1) / in_bits(epsilon)).enclosure();
    const auto with = [&](double b) {
      return discrete_laplace(NoiseScale{std::min(b, std::numeric_limits<double>::max())}, records, adjacency());
    };
    const Event upper = with(scale.lower);
    return {upper, std::isfinite(scale.upper) ? std::optional{with(scale.upper)} : std::nullopt};
  }
  /// Whether every vertex of the k-fold trade-off lies above 0, so that each step of a chain attains its guarantee.
  [[nodiscard]] bool is_worst_chain(double epsilon, double delta) const {
    constexpr double largest_exponent = 800;
    if (epsilon * k() > largest_exponent) return false;
    const Interval e = in_bits(epsilon);
    const Interval vertex = (in_bits(1) - in_bits(delta)) / (in_bits(1) + exp(e));
    const Interval spent = in_bits(delta) * expm1(in_bits(k() - 1) * e) / expm1(e);
    return (vertex - spent).compare(0) >= 0;
  }
};
// Proved so far.

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

OrRefusal<GroupBounds> group_bounds(const Event& release, Count records) {
  const StandardFloatingPoint environment;
  if (records == Count{1}) return GroupBounds{release, release};
  std::optional<GroupBounds> found;
  const auto refusal = refusal_thrown_by(release, [&] { found = std::visit(BoundsOfGroup{release, records}, release.node()); });
  if (refusal) return *refusal;
  return *std::move(found);
}

}  // namespace surety::accounting
