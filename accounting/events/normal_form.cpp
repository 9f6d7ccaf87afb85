#include <surety/accounting/events/normal_form.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/event_of_group.h>
#include <surety/accounting/events/hypotheses.h>
#include <surety/accounting/events/kept_with_event.h>
#include <surety/accounting/events/last_iterate.h>
#include <surety/accounting/events/releases.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/text/error.h>

namespace surety::accounting {
namespace {

constexpr mpfr_prec_t working_bits = 128;
/// How many parts may remain, and how many may be compared with one another on the way.
constexpr std::size_t most_parts = 256;
constexpr std::size_t most_waiting = 1024;

/// One of the structures with other parts, or the event itself where none of them is another.
struct Plainest {
  const Event& event;

  Event operator()(const Event::LaplaceRecordSum&) const { return laplace(*pairwise_scale(event), event.adjacency()); }
  Event operator()(const Event::KNorm& e) const {
    if (e.norm != NormName::l1 && e.dimension != Count{1}) return event;
    return laplace(e.scale, event.adjacency());
  }
  Event operator()(const Event::GeneralizedGaussian& e) const {
    return e.r.value() == 2 ? gaussian(e.multiplier, event.adjacency()) : event;
  }
  /// Divergences of at most xi at every order are losses of at most xi.
  Event operator()(const Event::Concentrated& e) const {
    return e.rho.value() == 0 && e.xi.value() > 0 ? pure(e.xi, event.adjacency()) : event;
  }
  Event operator()(const Event::Profile& e) const {
    const auto& [epsilon, delta] = e.points.all().front();
    return e.points.all().size() == 1 ? approx(Epsilon{epsilon}, Delta{delta}, event.adjacency()) : event;
  }
  Event operator()(const Event::Law& e) const {
    const bool shows_nothing =
        std::all_of(e.atoms.all().begin(), e.atoms.all().end(), [](const NumberPair& one) { return one.first == 0 || one.second == 0; });
    return shows_nothing ? pure(Epsilon{0}, event.adjacency()) : event;
  }
  /// Only one law is at a divergence of 0 from another, whatever the order: itself.
  Event operator()(const Event::RenyiCurve& e) const {
    const auto& all = e.bounds.all();
    const bool shows_nothing = std::any_of(all.begin(), all.end(), [](const NumberPair& one) { return one.second == 0; });
    return shows_nothing ? pure(Epsilon{0}, event.adjacency()) : event;
  }
  Event operator()(const Event::Mixture& e) const {
    const auto& all = e.components.all();
    const bool moves = std::any_of(all.begin(), all.end(), [](const NumberPair& one) { return one.first > 0 && one.second > 0; });
    if (!moves) return pure(Epsilon{0}, event.adjacency());
    return around(e.event, [&](Event inside) { return mixture(e.components, std::move(inside)); });
  }
  Event operator()(const Event::Repeated& e) const {
    return around(e.event, [&](Event inside) { return repeat(e.count, std::move(inside)); });
  }
  Event operator()(const Event::Composed& e) const { return around(e.events, compose); }
  Event operator()(const Event::Parallel& e) const { return around(e.events, parallel); }
  Event operator()(const Event::PoissonSampled& e) const {
    // In a batch two records count each by its own bound, not by their difference alone.
    const bool is_replaced = event.adjacency() == Adjacency::replace_one;
    if (is_replaced && std::holds_alternative<Event::LaplaceRecordSum>(e.event.node())) {
      return e.rate.value() == 1 ? plainest(e.event) : event;
    }
    return around(e.event, [&](Event inside) { return poisson(e.rate, std::move(inside)); });
  }
  Event operator()(const Event::SampledWithoutReplacement& e) const {
    return around(e.event, [&](Event inside) { return without_replacement(e.batches.records(), e.batches.size(), std::move(inside)); });
  }
  /// One slot is a batch of one record.
  Event operator()(const Event::SampledWithReplacement& e) const {
    if (e.batch_size == Count{1}) return plainest(without_replacement(e.records, e.batch_size, e.event));
    return around(e.event, [&](Event inside) { return with_replacement(e.records, e.batch_size, std::move(inside)); });
  }
  Event operator()(const Event::Shuffled& e) const {
    return around(e.event, [&](Event inside) { return shuffled(e.batches.records(), e.batches.size(), std::move(inside)); });
  }
  Event operator()(const Event::Deterministic& e) const {
    return around(e.event, [&](Event inside) { return deterministic(e.batches.records(), e.batches.size(), std::move(inside)); });
  }
  /// A record is in every groups-th round, ceil(rounds / groups) of them where its group is the first.
  Event operator()(const Event::Cyclic& e) const {
    return repeat(Count{(e.rounds.value() - 1) / e.groups.value() + 1}, plainest(poisson(e.rate, e.event)));
  }
  Event operator()(const Event::Allocated& e) const {
    if (e.rounds == Count{1}) return plainest(e.event);
    if (e.rounds == e.participations) return repeat(e.rounds, plainest(e.event));
    return around(e.event, [&](Event inside) { return allocated(e.rounds, e.participations, std::move(inside)); });
  }
  /// Each release inside is one of a user's own.
  Event operator()(const Event::Users& e) const {
    if (e.records == Count{1}) return plainest(e.event);
    if (const auto* inside = std::get_if<Event::Repeated>(&e.event.node()))
      return repeat(inside->count, plainest(users(e.records, inside->event)));
    if (const auto* inside = std::get_if<Event::PoissonSampled>(&e.event.node()); inside != nullptr && inside->rate.value() == 1) {
      return plainest(users(e.records, inside->event));
    }
    // A user's records cost most where all are in one group: docs/proofs/users.md.
    if (std::holds_alternative<Event::Cyclic>(e.event.node())) return plainest(users(e.records, plainest(e.event)));
    if (const auto* inside = std::get_if<Event::Allocated>(&e.event.node());
        inside != nullptr && inside->rounds == inside->participations) {
      return plainest(users(e.records, plainest(e.event)));
    }
    if (const auto* inside = std::get_if<Event::BestOf>(&e.event.node())) {
      return best_of(inside->runs, plainest(users(e.records, inside->event)));
    }
    if (const auto* inside = std::get_if<Event::Composed>(&e.event.node())) {
      std::vector<Event> parts;
      parts.reserve(inside->events.size());
      for (const auto& part : inside->events) parts.push_back(plainest(users(e.records, part)));
      return compose(std::move(parts));
    }
    if (e.event.has_sampling() || std::holds_alternative<Event::Parallel>(e.event.node()) || pairwise_multiplier(e.event)) return event;
    const Event plain = plainest(e.event);
    if (!is_itself(plain, e.event)) return plainest(users(e.records, plain));
    const auto bounds = group_bounds(e.event, e.records);
    return bounds && bounds->is_exact() ? plainest(bounds->upper) : event;
  }
  Event operator()(const Event::BestOf& e) const {
    return around(e.event, [&](Event inside) { return best_of(e.runs, std::move(inside)); });
  }
  /// One report has no others to hide among, and one that shows nothing needs none.
  Event operator()(const Event::ShuffledReports& e) const {
    return e.reports == Count{1} || e.epsilon0.value() == 0 ? *one_report(event) : event;
  }
  Event operator()(const Event::ShuffledResponses& e) const {
    // The product of two doubles is exact in that precision.
    const Interval expected = Interval{e.truth.value(), working_bits} * Interval{static_cast<double>(e.categories.value()), working_bits};
    if (mpfr_cmp_d(expected.lower(), 1) == 0 && mpfr_cmp_d(expected.upper(), 1) == 0) return pure(Epsilon{0}, event.adjacency());
    return e.reports == Count{1} ? *one_report(event) : event;
  }
  /// One step, or a last step that forgets all earlier ones.
  Event operator()(const Event::LastIterate& e) const { return e.steps == Count{1} || e.constant.value() == 0 ? plainest(e.event) : event; }
  Event operator()(const Event::LastIterateWithin& e) const {
    return e.steps == Count{1} || e.constant.value() == 0 ? plainest(e.event) : event;
  }
  Event operator()(const Event::LastIterateOfPasses& e) const {
    if (e.batches == Count{1}) return plainest(last_iterate(e.passes, e.constant, e.event));
    return e.passes == Count{1} || e.constant.value() == 0 ? plainest(e.event) : event;
  }
  template <class Leaf>
  Event operator()(const Leaf&) const {
    return event;
  }

 private:
  static bool is_itself(const Event& made, const Event& before) { return &made.node() == &before.node(); }

  template <class Make>
  [[nodiscard]] Event around(const Event& inside, Make make) const {
    auto plain = plainest(inside);
    return is_itself(plain, inside) ? event : make(std::move(plain));
  }
  template <class Make>
  [[nodiscard]] Event around(const std::vector<Event>& parts, Make make) const {
    std::vector<Event> plain;
    plain.reserve(parts.size());
    bool same = true;
    for (const auto& part : parts) {
      plain.push_back(plainest(part));
      same = same && is_itself(plain.back(), part);
    }
    return same ? event : make(std::move(plain));
  }
};

/// Two releases of one kind: `a` costs at most `b`. Larger parameters that cost more, and those that cost less.
struct CostsAtMost {
  const Event& b;

  [[nodiscard]] bool operator()(const Event::Laplace& e) const {
    const auto* other = std::get_if<Event::Laplace>(&b.node());
    return other != nullptr && e.scale >= other->scale;
  }
  [[nodiscard]] bool operator()(const Event::Pure& e) const { return by_epsilon(e.epsilon); }
  /// A bounded range of epsilon implies epsilon-differential privacy.
  [[nodiscard]] bool operator()(const Event::Exponential& e) const {
    if (const auto* other = std::get_if<Event::Exponential>(&b.node())) return e.epsilon <= other->epsilon;
    return by_epsilon(e.epsilon);
  }
  [[nodiscard]] bool operator()(const Event::Approximate& e) const {
    const auto* other = std::get_if<Event::Approximate>(&b.node());
    return other != nullptr && e.epsilon <= other->epsilon && e.delta <= other->delta;
  }
  [[nodiscard]] bool operator()(const Event::Concentrated& e) const {
    const auto* other = std::get_if<Event::Concentrated>(&b.node());
    return other != nullptr && e.xi <= other->xi && e.rho <= other->rho;
  }
  template <class Other>
  [[nodiscard]] bool operator()(const Other&) const {
    return false;
  }

 private:
  [[nodiscard]] bool by_epsilon(Epsilon epsilon) const {
    if (const auto* other = std::get_if<Event::Pure>(&b.node())) return epsilon <= other->epsilon;
    const auto* other = std::get_if<Event::Approximate>(&b.node());
    return other != nullptr && epsilon <= other->epsilon;
  }
};

bool release_costs_at_most(const Event& a, const Event& b) {
  if (a == b) return true;
  const auto one = gaussian_multiplier(a);
  const auto other = one ? gaussian_multiplier(b) : std::nullopt;
  if (one && other) return one->lower >= other->upper;
  return std::visit(CostsAtMost{b}, a.node());
}

const Event* inside_batch(const Event& event) {
  const auto& node = event.node();
  if (const auto* e = std::get_if<Event::PoissonSampled>(&node)) return &e->event;
  if (const auto* e = std::get_if<Event::SampledWithoutReplacement>(&node)) return &e->event;
  if (const auto* e = std::get_if<Event::Shuffled>(&node)) return &e->event;
  if (const auto* e = std::get_if<Event::Deterministic>(&node)) return &e->event;
  return nullptr;
}

bool costs_at_most(const Event& a, const Event& b) {
  if (release_costs_at_most(a, b)) return true;
  // A record is in at most one batch, and a smaller rate is a chance to be left out of a larger one.
  if (const auto* inner = inside_batch(a); inner != nullptr && release_costs_at_most(*inner, b)) return true;
  const auto* few = std::get_if<Event::PoissonSampled>(&a.node());
  const auto* many = std::get_if<Event::PoissonSampled>(&b.node());
  if (few != nullptr && many != nullptr && few->rate <= many->rate && poisson_pair(few->event) == poisson_pair(many->event) &&
      release_costs_at_most(few->event, many->event)) {
    return true;
  }
  return Releases::of(a).is_part_of(Releases::of(b));
}

}  // namespace

Event plainest(const Event& event) {
  return KeptWithEvent::plainest(event, [](const Event& of) { return std::visit(Plainest{of}, of.node()); });
}

std::optional<Event> one_report(const Event& event) {
  if (const auto* e = std::get_if<Event::ShuffledReports>(&event.node())) return pure(e->epsilon0, event.adjacency());
  if (const auto* e = std::get_if<Event::ShuffledResponses>(&event.node()))
    return randomized_response(e->truth, e->categories, event.adjacency());
  return std::nullopt;
}

std::optional<Interval> gaussian_mu_squared(const Event& event, mpfr_prec_t bits) {
  const StandardFloatingPoint environment;
  const auto& node = event.node();
  if (const auto gaussian = pairwise_multiplier(event)) {
    const Interval multiplier{gaussian->value(), bits};
    return Interval{1, bits} / (multiplier * multiplier);
  }
  if (const auto* e = std::get_if<Event::Repeated>(&node)) {
    const auto once = gaussian_mu_squared(e->event, bits);
    if (!once) return std::nullopt;
    return Interval{static_cast<double>(e->count.value()), bits} * *once;
  }
  if (const auto* e = std::get_if<Event::Deterministic>(&node)) return gaussian_mu_squared(e->event, bits);
  if (const auto* e = std::get_if<Event::Users>(&node)) {
    // Vectors of one direction add up.
    const auto once = gaussian_mu_squared(e->event, bits);
    const Interval records{static_cast<double>(e->records.value()), bits};
    return once ? std::optional{records * records * *once} : std::nullopt;
  }
  if (const auto cost = last_iterate_cost(event, bits); cost && cost->is_attained) {
    return cost->squared * *gaussian_mu_squared(cost->step, bits);
  }
  const auto* composed = std::get_if<Event::Composed>(&node);
  const auto* parallel = std::get_if<Event::Parallel>(&node);
  if (composed == nullptr && parallel == nullptr) {
    const Event plain = plainest(event);
    return pairwise_multiplier(plain) ? gaussian_mu_squared(plain, bits) : std::nullopt;
  }
  Interval all{0, bits};
  for (const auto& part : composed != nullptr ? composed->events : parallel->events) {
    const auto one = gaussian_mu_squared(part, bits);
    if (!one) return std::nullopt;
    all = composed != nullptr ? all + *one : maximum(all, *one);
  }
  return all;
}

std::optional<Event> first_not_gaussian(const Event& event) {
  const auto& node = event.node();
  if (const auto* e = std::get_if<Event::Repeated>(&node)) return first_not_gaussian(e->event);
  if (const auto* e = std::get_if<Event::Deterministic>(&node)) return first_not_gaussian(e->event);
  if (const auto* e = std::get_if<Event::Users>(&node)) return first_not_gaussian(e->event) ? std::optional{event} : std::nullopt;
  if (const auto cost = last_iterate_cost(event, working_bits); cost && cost->is_attained) return std::nullopt;
  const auto* composed = std::get_if<Event::Composed>(&node);
  const auto* parallel = std::get_if<Event::Parallel>(&node);
  if (composed == nullptr && parallel == nullptr) {
    return pairwise_multiplier(plainest(event)) ? std::nullopt : std::optional{event};
  }
  for (const auto& part : composed != nullptr ? composed->events : parallel->events) {
    if (auto found = first_not_gaussian(part)) return found;
  }
  return std::nullopt;
}

std::optional<Enclosure> gaussian_multiplier(const Event& event) {
  const StandardFloatingPoint environment;
  if (const auto gaussian = pairwise_multiplier(plainest(event))) return Enclosure{gaussian->value(), gaussian->value()};
  const auto found = gaussian_mu_squared(event, working_bits);
  if (!found) return std::nullopt;
  return (Interval{1, working_bits} / sqrt(*found)).enclosure();
}

std::vector<Event> undominated(const Event::Parallel& parallel) {
  const StandardFloatingPoint environment;
  std::vector<Event> waiting{parallel.events.rbegin(), parallel.events.rend()};
  std::vector<Event> different;
  std::set<std::string> seen;
  std::optional<Event> loudest;  // of the Gaussian ones
  std::optional<Enclosure> least;
  while (!waiting.empty()) {
    const Event part = waiting.back();
    waiting.pop_back();
    if (const auto* inner = std::get_if<Event::Parallel>(&part.node())) {
      waiting.insert(waiting.end(), inner->events.rbegin(), inner->events.rend());
      continue;
    }
    if (!seen.insert(describe(part)).second) continue;
    const auto multiplier = gaussian_multiplier(part);
    if (multiplier && least && multiplier->lower >= least->upper) continue;
    if (multiplier && (!least || multiplier->upper <= least->lower)) {
      if (loudest) different.erase(std::find(different.begin(), different.end(), *loudest));
      loudest = part;
      least = multiplier;
    }
    different.push_back(part);
  }
  std::vector<Event> found;
  for (const auto& part : different) {
    // Of two that cost the same the first stays.
    if (std::any_of(found.begin(), found.end(), [&](const Event& other) { return costs_at_most(part, other); })) continue;
    std::erase_if(found, [&](const Event& other) { return costs_at_most(other, part); });
    found.push_back(part);
    if (found.size() > most_waiting) break;
  }
  if (found.size() > most_parts) {
    throw Error{ErrorCode::unsupported,
                fmt::format("a parallel event has {} different parts of which none costs at most as another, must have at most {}",
                            found.size() > most_waiting ? "too many" : std::to_string(found.size()), most_parts)};
  }
  return found;
}

}  // namespace surety::accounting
