#include <surety/accounting/answers/risk.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <variant>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/answers/asking.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/last_iterate.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/accounting/events/releases.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/numbers/overload.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting {
namespace {

constexpr mpfr_prec_t digits = 128;

Interval exactly(double value) { return {value, digits}; }
Interval between(const Enclosure& value) { return hull(exactly(value.lower), exactly(value.upper)); }

/// Each epsilon is asked once.
PrivacyCurve curve_of(const Event& event, const Effort& effort) {
  return [curve = QuickCurve{event, effort}, known = std::make_shared<std::map<double, Enclosure>>()](Epsilon at) {
    const auto found = known->find(at.value());
    return found != known->end() ? found->second : known->emplace(at.value(), curve(at)).first->second;
  };
}

/// Whether formulas give the curve: where grids do, it is exact at some points by chance.
bool is_exact_curve(const PrivacyCurve& curve) {
  constexpr double anywhere = 0.25;
  return is_exact(curve(Epsilon{0})) && is_exact(curve(Epsilon{anywhere}));
}

/// Encloses the largest loss, that is the least epsilon at which delta is 0; up to infinity where nobody knows.
Enclosure largest_loss(const Event& event, const Effort& effort) {
  try {
    return quick_epsilon(event, Delta{0}, effort);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return {0, infinity};
  }
}

/// The width of a grid for a curve of huge losses: relative to them, since a grid of the usual width has so many points that their rounding makes the answer wide.
/// A width that was given and is below the usual one stays.
Effort effort_of_curve(const Event& event, const Effort& effort) {
  constexpr double share = 1e-6;
  const double last = largest_loss(event, effort).upper;
  const bool is_usual = effort.width >= Effort{}.width;
  return {.width = last < infinity && is_usual ? std::max(effort.width, share * last) : effort.width};
}

/// Bounds on the least mu from what an event is made of: `lower` from the far tail, `upper` from composition.
struct Parts {
  Interval lower_squared;
  std::optional<Interval> upper_squared;  ///< nothing where no finite mu is known
};

/// Twice as far apart under replace-one as one of the two records is from nothing.
bool holds_record_sums(const Event& event) {
  return !every_leaf(event, [](const Event& leaf) { return std::holds_alternative<Event::Gaussian>(leaf.node()); });
}

class MuOfParts {
 public:
  explicit MuOfParts(const Effort& effort) : effort_{effort} {}

  [[nodiscard]] Parts of(const Event& event) const {
    Parts sum{exactly(0), exactly(0)};
    for (const auto& [leaf, count] : Releases::of(plainest(event)).entries()) {
      const auto part = of_leaf(leaf);
      const auto times = exactly(static_cast<double>(count.value()));
      sum.lower_squared = sum.lower_squared + times * part.lower_squared;
      sum.upper_squared =
          sum.upper_squared && part.upper_squared ? std::optional{*sum.upper_squared + times * *part.upper_squared} : std::nullopt;
    }
    return sum;
  }

 private:
  /// A batch: a record is in it or not, and who is in it depends on no record. Where it is drawn at random and some batch holds the record
  /// alone with zeros, the far tail is that of the batch's own noise.
  [[nodiscard]] Parts of_batch(const Event& inside, bool is_random) const {
    auto parts = of(inside);
    const auto gaussian = is_random ? gaussian_mu_squared(inside, digits) : std::nullopt;
    parts.lower_squared = exactly(0);
    if (gaussian) {
      const bool is_half = inside.adjacency() == Adjacency::replace_one && holds_record_sums(inside);
      parts.lower_squared = is_half ? *gaussian * exactly(0.25) : *gaussian;
    }
    return parts;
  }

  /// With so many times the mu.
  [[nodiscard]] static Parts scaled(const Parts& parts, double lower, double upper) {
    const auto squared = [](double factor) { return exactly(factor) * exactly(factor); };
    return {parts.lower_squared * squared(lower),
            parts.upper_squared ? std::optional{*parts.upper_squared * squared(upper)} : std::nullopt};
  }

  /// So many times, for all in one data set.
  [[nodiscard]] static Parts repeated(const Parts& parts, double times) {
    return {parts.lower_squared * exactly(times),
            parts.upper_squared ? std::optional{*parts.upper_squared * exactly(times)} : std::nullopt};
  }

  [[nodiscard]] Parts of_leaf(const Event& leaf) const {
    if (const auto gaussian = gaussian_mu_squared(leaf, digits)) return {*gaussian, gaussian};
    const auto of_node = Overload{[&](const Event::PoissonSampled& batch) { return of_batch(batch.event, true); },
                                  [&](const Event::SampledWithoutReplacement& batch) { return of_batch(batch.event, true); },
                                  [&](const Event::Shuffled& epoch) { return of_batch(epoch.event, false); },
                                  [&](const Event::Deterministic& epoch) { return of_batch(epoch.event, false); },
                                  [&](const Event::Allocated& epoch) {
                                    const auto times = static_cast<double>(epoch.participations.value());
                                    return repeated(of_batch(epoch.event, true), times);
                                  },
                                  [&](const Event::TruncatedPoisson& batch) {
                                    // Where a batch is full the record takes another one's place, if it does not keep its own.
                                    const bool displaces = leaf.adjacency() == Adjacency::add_or_remove_one;
                                    return scaled(of_batch(batch.event, true), 1, displaces ? 2 : 1);
                                  },
                                  [&](const Event::Users& users) {
                                    // All records of a user may be in a batch, and no more.
                                    const auto records = static_cast<double>(users.records.value());
                                    return scaled(of(users.event), records, records);
                                  },
                                  [&](const Event::Parallel& parallel) {
                                    Parts largest{exactly(0), exactly(0)};
                                    for (const auto& event : parallel.events) {
                                      const auto part = of(event);
                                      largest.lower_squared = maximum(largest.lower_squared, part.lower_squared);
                                      largest.upper_squared = largest.upper_squared && part.upper_squared
                                                                  ? std::optional{maximum(*largest.upper_squared, *part.upper_squared)}
                                                                  : std::nullopt;
                                    }
                                    return largest;
                                  },
                                  [&](const Event::LastIterateWithin& e) {
                                    const Interval step = *gaussian_mu_squared(e.event, digits);
                                    return Parts{step, last_iterate_cost(leaf, digits)->squared * step};
                                  },
                                  [&](const auto&) { return of_release(leaf); }};
    return std::visit(of_node, leaf.node());
  }

  /// One release of bounded loss.
  [[nodiscard]] Parts of_release(const Event& leaf) const {
    const double last = largest_loss(leaf, effort_).upper;
    if (last == infinity) return {exactly(0), std::nullopt};
    const double mu = covering_mu(curve_of(leaf, effort_), Epsilon{last}, {.width = 1e-4, .evaluations = 48}).upper;
    return {exactly(0), mu < infinity ? std::optional{exactly(mu) * exactly(mu)} : std::nullopt};
  }

  Effort effort_;
};

/// The same as numbers.
Enclosure mu_by_parts(const Event& event, const Effort& effort) {
  const auto parts = MuOfParts{effort}.of(event);
  const double lower = sqrt(parts.lower_squared).enclosure().lower;
  return {lower, parts.upper_squared ? std::max(lower, sqrt(*parts.upper_squared).enclosure().upper) : infinity};
}

/// By two proofs of one number.
Enclosure both(const Enclosure& a, const Enclosure& b) { return {std::max(a.lower, b.lower), std::min(a.upper, b.upper)}; }

/// A bound that is known already ends the search for it.
CoverEffort below(CoverEffort cover, const Enclosure& by_parts) {
  cover.most = std::min(cover.most, by_parts.upper);
  return cover;
}

/// Of `by_parts`, what the curve and its largest loss add.
Enclosure least_mu_of(const Event& event, const PrivacyCurve& curve, const Enclosure& by_parts, const Effort& effort,
                      const CoverEffort& cover) {
  if (by_parts.upper < infinity && by_parts.upper - by_parts.lower <= 1e-9 * by_parts.upper) return by_parts;
  const auto last = largest_loss(event, effort);
  if (last.upper < infinity) return both(by_parts, covering_mu(curve, Epsilon{last.upper}, below(cover, by_parts)));
  // Where delta stays above something, no mu is enough.
  constexpr double something = 1e-250;
  const double far = quick_epsilon(event, Delta{something}, effort).lower;
  if (far == infinity) return {infinity, infinity};
  // Each point of the curve bounds mu from below.
  const double near = quick_epsilon(event, Delta{1e-30}, effort).lower;
  const auto seen = covering_mu(curve, Epsilon{near}, {.width = cover.width, .evaluations = std::min(cover.evaluations, 24)});
  return both(by_parts, {seen.lower, infinity});
}

Enclosure least_mu_above(const Event& event, const PrivacyCurve& curve, Delta floor, const Enclosure& by_parts, const Effort& effort,
                         const CoverEffort& cover) {
  // delta is at least 0 at every epsilon, also where no epsilon makes it 0.
  if (floor.value() == 0) return least_mu_of(event, curve, by_parts, effort, cover);
  const auto last = quick_epsilon(event, floor, effort);
  if (last.lower == infinity) return {infinity, infinity};
  const Epsilon from{last.lower};
  auto mu = covering_mu(curve, from, below(cover, by_parts));
  if (last.lower < last.upper) {
    // delta is at most its value where this doubt begins.
    const double most = curve(from).upper;
    const double doubt = last.upper < infinity && most < 1 ? largest_mu(Epsilon{last.upper}, Delta{most}).upper : infinity;
    mu.upper = std::max(mu.upper, doubt);
  }
  // At the start alone nothing need reach the floor.
  if (last.lower == 0) mu.lower = 0;
  return {mu.lower, std::max(mu.lower, std::min(mu.upper, by_parts.upper))};
}

}  // namespace

Enclosure advantage(const PrivacyCurve& curve) {
  const auto found = curve(Epsilon{0});
  return {std::clamp(found.lower, 0.0, 1.0), std::clamp(found.upper, 0.0, 1.0)};
}

Enclosure true_positive_rate(const PrivacyCurve& curve, Probability false_positive_rate) {
  const StandardFloatingPoint environment;
  const double nearness = is_exact_curve(curve) ? 1e-6 : 1e-3;
  return clamp(exactly(1) - between(tradeoff(curve, false_positive_rate, nearness)), 0, 1).enclosure();
}

Enclosure bayes_accuracy(const PrivacyCurve& curve, Probability prior) {
  const StandardFloatingPoint environment;
  const Interval given = exactly(prior.value());
  const Interval more = maximum(given, exactly(1) - given);
  const Interval less = exactly(1) - more;
  const auto odds = clamp(log(more / less), 0, infinity).enclosure();
  // The logarithm lies between two doubles, and delta falls.
  const double upper = advantage([&](Epsilon) { return curve(Epsilon{odds.lower}); }).upper;
  const double lower = advantage([&](Epsilon) { return curve(Epsilon{odds.upper}); }).lower;
  return clamp(more + less * between({std::min(lower, upper), upper}), 0, 1).enclosure();
}

Enclosure advantage(const Event& event, const Effort& effort) { return advantage(curve_of(event, effort)); }
Enclosure true_positive_rate(const Event& event, Probability false_positive_rate, const Effort& effort) {
  return true_positive_rate(curve_of(event, effort), false_positive_rate);
}
Enclosure bayes_accuracy(const Event& event, Probability prior, const Effort& effort) {
  return bayes_accuracy(curve_of(event, effort), prior);
}

Enclosure least_mu(const Event& event, const Effort& effort, const CoverEffort& cover) {
  const StandardFloatingPoint environment;
  return least_mu_of(event, curve_of(event, effort), mu_by_parts(event, effort), effort, cover);
}

Enclosure least_mu_above_floor(const Event& event, Delta floor, const Effort& effort, const CoverEffort& cover) {
  const StandardFloatingPoint environment;
  return least_mu_above(event, curve_of(event, effort), floor, mu_by_parts(event, effort), effort, cover);
}

Risk risk(const Event& event, const RiskQuestions& questions, const Effort& effort) {
  const StandardFloatingPoint environment;
  const auto curve = curve_of(event, effort_of_curve(event, effort));
  std::vector<Risk::Rate> rates;
  for (const auto at : questions.false_positive_rates) rates.push_back({at, true_positive_rate(curve, at)});
  const auto by_parts = mu_by_parts(event, effort);
  const auto most = advantage(curve);
  // No chord is narrower than what the curve leaves open.
  const CoverEffort cover = is_exact_curve(curve) ? CoverEffort{} : CoverEffort{.width = 1e-4, .evaluations = 48};
  const auto above_floor = least_mu_above(event, curve, questions.floor, by_parts, effort, cover);
  auto everywhere = least_mu_of(event, curve, by_parts, effort, cover);
  // What covers everywhere covers there.
  everywhere.lower = std::max(everywhere.lower, above_floor.lower);
  return {.advantage = most,
          .rates = std::move(rates),
          .accuracy = bayes_accuracy(curve, questions.prior),
          .mu = {everywhere.lower, everywhere.upper},
          .mu_above_floor = above_floor};
}

}  // namespace surety::accounting
