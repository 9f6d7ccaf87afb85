// The promises that the releases of an event make.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <variant>

#include <fmt/format.h>

#include <surety/accounting/accountants/composition/composition.h>
#include <surety/accounting/accountants/composition/sums.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/event_of_group.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>

namespace surety::accounting {

using composing::number;
using composing::sum_of_deltas;
using composing::sum_of_epsilons;

Promise parallel_promise(std::span<const Promise> promises) {
  if (promises.empty()) throw Error{ErrorCode::invalid_argument, "a parallel composition of no promises is empty, must have at least one"};
  Promise largest = promises.front();
  for (const auto& promise : promises) {
    if (promise.count != Count{1}) {
      throw Error{
          ErrorCode::invalid_argument,
          fmt::format("a part makes {} releases, must be 1: the maximum of composed epsilons bounds nothing", promise.count.value())};
    }
    largest.epsilon = std::max(largest.epsilon, promise.epsilon);
    largest.delta = std::max(largest.delta, promise.delta);
  }
  return largest;
}

namespace {

struct PromisesOf {
  const Event& event;

  using Promises = std::vector<Promise>;
  using Result = OrRefusal<Promises>;

  [[nodiscard]] Result pure(const Interval& epsilon) const {
    const double upper = epsilon.enclosure().upper;
    return std::isfinite(upper) ? Result{Promises{{Epsilon{upper}, Delta{0}}}} : Result{no_promise()};
  }
  static Interval inverse(NoiseScale scale, double numerator = 1) { return number(numerator) / number(scale.value()); }
  [[nodiscard]] Refusal no_promise() const {
    return {event, "composition theorems know {} by no (epsilon, delta) of its own; privacy-loss and renyi may"};
  }

  /// Of what a batch is used for; a refusal names the batch.
  [[nodiscard]] Result inside(const Event& used) const {
    auto made = promises_of(used);
    return made ? std::move(made) : Result{no_promise()};
  }

  Result operator()(const Event::Pure& e) const { return Promises{{e.epsilon, Delta{0}}}; }
  Result operator()(const Event::Exponential& e) const { return Promises{{e.epsilon, Delta{0}}}; }
  Result operator()(const Event::Approximate& e) const { return Promises{{e.epsilon, e.delta}}; }
  Result operator()(const Event::Laplace& e) const { return pure(inverse(e.scale)); }
  Result operator()(const Event::LaplaceRecordSum&) const { return pure(inverse(*pairwise_scale(event))); }
  Result operator()(const Event::KNorm& e) const { return pure(inverse(e.scale)); }
  Result operator()(const Event::DiscreteLaplace& e) const { return pure(inverse(e.scale, static_cast<double>(e.sensitivity.value()))); }
  Result operator()(const Event::RandomizedResponse& e) const {
    const Interval truth = number(e.truth.value());
    const Interval odds = log(truth * number(static_cast<double>(e.categories.value() - 1)) / (number(1) - truth));
    return pure(maximum(odds, -odds));  // a truth less likely than chance tells as well
  }
  Result operator()(const Event::Repeated& e) const {
    auto parts = promises_of(e.event);
    if (!parts) return parts;
    for (auto& part : *parts) {
      constexpr std::uint64_t largest = std::uint64_t{1} << 53;
      if (part.count.value() > largest / e.count.value()) return no_promise();
      part.count = Count{part.count.value() * e.count.value()};
    }
    return parts;
  }
  Result operator()(const Event::Composed& e) const {
    Promises all;
    for (const auto& part : e.events) {
      auto more = promises_of(part);
      if (!more) return more;
      all.insert(all.end(), more->begin(), more->end());
    }
    return all;
  }
  Result operator()(const Event::Parallel& e) const {
    Promises each;
    for (const auto& part : e.events) {
      auto made = promises_of(part);
      if (!made) return made;
      if (made->size() != 1 || made->front().count != Count{1}) return no_promise();
      each.push_back(made->front());
    }
    return Promises{parallel_promise(each)};
  }
  /// Whoever takes part in a batch at random does so with probability q: (log(1 + q (e^epsilon - 1)), q delta) [BBG18, Theorem 8].
  Result operator()(const Event::PoissonSampled& e) const {
    auto inner = inside(e.event);
    if (!inner) return inner;
    const double q = e.rate.value();
    const Interval epsilon = sum_of_epsilons(*inner);
    if (q == 1 || event.adjacency() != Adjacency::add_or_remove_one || !(epsilon.enclosure().upper < 1e6)) return inner;
    const Interval delta = number(q) * sum_of_deltas(*inner);
    return Promises{
        {Epsilon{log1p(number(q) * expm1(epsilon)).enclosure().upper}, Delta{std::min(delta.enclosure().upper, std::nextafter(1.0, 0.0))}}};
  }
  /// A chain of neighbours, each step of which is paid for: docs/proofs/composition.md#group.
  Result operator()(const Event::Users& e) const {
    const Event plain = plainest(event);
    const auto* users = std::get_if<Event::Users>(&plain.node());
    if (users == nullptr) return inside(plain);
    // Of a batch no chain is the user's records, which join it one by one.
    if (users->event.has_sampling() || std::holds_alternative<Event::Parallel>(users->event.node())) return no_promise();
    auto made = inside(users->event);
    if (!made) return made;
    const auto k = static_cast<double>(e.records.value());
    for (auto& promise : *made) {
      const double epsilon = (number(k) * number(promise.epsilon.value())).enclosure().upper;
      const double delta = chain_delta(promise.epsilon.value(), promise.delta.value(), k);
      if (!std::isfinite(epsilon) || !(delta < 1)) return no_promise();
      promise = {Epsilon{epsilon}, Delta{delta}, promise.count};
    }
    return made;
  }
  /// A batch costs at most what is done with it: given which places are drawn, the batches differ in one record or not at all.
  Result operator()(const Event::SampledWithoutReplacement& e) const { return inside(e.event); }
  Result operator()(const Event::Shuffled& e) const { return inside(e.event); }
  Result operator()(const Event::Deterministic& e) const { return inside(e.event); }
  Result operator()(const Event::ShuffledReports&) const { return promises_of(*one_report(event)); }
  Result operator()(const Event::ShuffledResponses&) const { return promises_of(*one_report(event)); }
  template <class Other>
  Result operator()(const Other&) const {
    return no_promise();
  }
};

}  // namespace

OrRefusal<std::vector<Promise>> promises_of(const Event& event) {
  const StandardFloatingPoint environment;
  return std::visit(PromisesOf{event}, event.node());
}

std::vector<Promise> promises(const Event& event) { return promises_of(event).value(); }

}  // namespace surety::accounting
