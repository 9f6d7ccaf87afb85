#include <surety/accounting/accountants/renyi/renyi.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/accountants/renyi/allocated_moments.h>
#include <surety/accounting/accountants/renyi/best_order.h>
#include <surety/accounting/accountants/renyi/gaussian_batches.h>
#include <surety/accounting/accountants/renyi/release_curves.h>
#include <surety/accounting/accountants/renyi/sampled_releases.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/event_of_group.h>
#include <surety/accounting/events/hypotheses.h>
#include <surety/accounting/events/last_iterate.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/accounting/laws/truncated/truncated_batch.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting {
namespace {

using namespace renyi;

constexpr Upper underflow{Exact{tiny}};

// ---- From events to curves ----

Refusal no_theorem_for(const Event& event, std::string_view hint) {
  return {event, fmt::format("the renyi accountant has no theorem for {{}}; {}", hint)};
}

double sum_upwards(const std::vector<std::pair<double, Curve>>& parts, At at, bool& exact) {
  Upper sum{0};
  for (const auto& [count, curve] : parts) {
    poll_limit();
    const auto point = curve(at);
    sum += Exact{count} * Upper{Exact{point.divergence}};
    exact = exact && point.exact;
  }
  return sum.value();
}

OrRefusal<Curve> curve_of(const Event& event);

/// mu of the one Gaussian release that an event is, rounded up.
std::optional<double> gaussian_mu(const Event& event) {
  const auto squared = gaussian_mu_squared(event, precision);
  if (!squared) return std::nullopt;
  return sqrt(*squared).enclosure().upper;
}

/// Dominated by a pair that a reflection maps to its reverse, a property that composition keeps.
bool has_symmetric_pair(const Event& event) {
  const auto& node = event.node();
  if (const auto* e = std::get_if<Event::Repeated>(&node)) return has_symmetric_pair(e->event);
  if (const auto* e = std::get_if<Event::Composed>(&node)) return std::all_of(e->events.begin(), e->events.end(), has_symmetric_pair);
  return pure_epsilon(event) || pairwise_multiplier(event) || std::holds_alternative<Event::DiscreteGaussian>(node);
}

/// The curve of that symmetric pair: that of the event, except where the pair is only that of pure privacy.
Curve symmetric_curve(const Event& event) {
  const auto& node = event.node();
  if (const auto* e = std::get_if<Event::Exponential>(&node)) {
    return [epsilon = e->epsilon.value()](At at) { return OrderBound{pure_bound(number(epsilon), at.order).divergence, false}; };
  }
  if (const auto* e = std::get_if<Event::Repeated>(&node)) {
    std::vector<std::pair<double, Curve>> parts{{static_cast<double>(e->count.value()), symmetric_curve(e->event)}};
    return [parts = std::move(parts)](At at) {
      bool exact = true;
      const double sum = sum_upwards(parts, at, exact);
      return OrderBound{sum, exact};
    };
  }
  if (const auto* e = std::get_if<Event::Composed>(&node)) {
    std::vector<std::pair<double, Curve>> parts;
    for (const auto& part : e->events) parts.emplace_back(1, symmetric_curve(part));
    return [parts = std::move(parts)](At at) {
      bool exact = true;
      const double sum = sum_upwards(parts, at, exact);
      return OrderBound{sum, exact};
    };
  }
  return curve_of(event).value();
}

Curve largest_of(std::vector<Curve> parts) {
  return [parts = std::move(parts)](At at) {
    OrderBound largest{0, true};
    for (const auto& part : parts) {
      const auto point = part(at);
      largest = {std::max(largest.divergence, point.divergence), largest.exact && point.exact};
    }
    return largest;
  };
}

/// A batch costs at most what is done with it: given which places are drawn, the batches differ in one record or not at all, and divergences
/// are jointly quasi-convex.
OrRefusal<Curve> without_batch(const Event& inner) {
  auto plain = curve_of(inner);
  if (!plain) return plain;
  return Curve{[plain = *std::move(plain)](At at) { return OrderBound{plain(at).divergence, false}; }};
}

OrRefusal<Curve> poisson_curve(double q, const Event& inner) {
  if (q == 1) return curve_of(inner);
  if (const auto* e = std::get_if<Event::Parallel>(&inner.node())) {
    std::vector<Curve> parts;
    for (const auto& part : e->events) {
      auto one = poisson_curve(q, part);
      if (!one) return one;
      parts.push_back(*std::move(one));
    }
    return largest_of(std::move(parts));
  }
  if (poisson_pair(inner) == PoissonPair::revealed) {
    auto curve = curve_of(inner);
    if (!curve) return curve;
    return Curve{[q, curve = *std::move(curve)](At at) {
      const auto point = curve(at);
      return OrderBound{revealed_bound(q, at.order, point.divergence), point.exact};
    }};
  }
  // From here on the pair is the record in the batch, or not in it.
  if (const auto mu = gaussian_mu(inner)) {
    return Curve{[q, mu = *mu](At at) { return poisson_gaussian(q, mu, at); }};
  }
  if (const auto epsilon = pure_epsilon(inner)) {
    const bool exact = std::holds_alternative<Event::Pure>(inner.node());
    const Interval mass = number(1) / (number(1) + exp(*epsilon));
    const auto two_point = [q, epsilon = *epsilon, mass, exact](At at) {
      const double bound = mixture_bound(q, at.order, pure_bound(epsilon, at.order).divergence);
      return OrderBound{std::min(bound, sampled_two_point(q, epsilon, mass, at.order, true)), exact};
    };
    const bool only_pure =
        exact || std::holds_alternative<Event::Exponential>(inner.node()) || std::holds_alternative<Event::KNorm>(inner.node());
    if (only_pure) return Curve{two_point};
    auto whole = curve_of(inner);
    if (!whole) return whole;
    const auto moments = std::make_shared<BinomialMoments>(q, *std::move(whole));
    return Curve{[two_point, moments](At at) {
      const auto one = two_point(at);
      const auto other = (*moments)(at);
      return one.divergence < other.divergence ? OrderBound{one.divergence, false} : other;
    }};
  }
  if (has_symmetric_pair(inner) || std::holds_alternative<Event::GeneralizedGaussian>(inner.node())) {
    const auto moments = std::make_shared<BinomialMoments>(q, symmetric_curve(inner));
    return Curve{[moments](At at) { return (*moments)(at); }};
  }
  return without_batch(inner);
}

OrRefusal<Curve> fixed_size_curve(double q, const Event& inner) {
  if (q == 1) return curve_of(inner);
  if (splits_its_batch(inner)) {
    // How many of the batch fall into one part tells how many are left for another: no amplification is known.
    return without_batch(inner);
  }
  if (const auto mu = gaussian_mu(inner)) {
    return Curve{[q, mu = *mu](At at) { return fixed_gaussian(q, mu, at); }};
  }
  if (const auto epsilon = pure_epsilon(inner)) {
    Interval mass = number(1) / (number(1) + exp(*epsilon));
    if (const auto* e = std::get_if<Event::RandomizedResponse>(&inner.node())) {
      const Interval other = (number(1) - number(e->truth.value())) / (number(e->categories) - number(1));
      const Interval truth = number(e->truth.value());
      mass = mpfr_cmp(other.lower(), truth.upper()) < 0 ? other : truth;
      if (mpfr_cmp(other.lower(), truth.upper()) >= 0 || mpfr_cmp(other.upper(), truth.lower()) >= 0) mass = maximum(truth, other);
    }
    return Curve{[q, epsilon = *epsilon, mass](At at) {
      const double plain = pure_bound(epsilon, at.order).divergence;
      return OrderBound{std::min(plain, sampled_two_point(q, epsilon, mass, at.order, false)), false};
    }};
  }
  return without_batch(inner);
}

/// One of several releases, and both know which: its moment is the mixture of theirs.
class PublicMixture {
 public:
  explicit PublicMixture(At at) : b_{less_one(at.order)} {}
  /// \param weight rounded up
  void add(double weight, double divergence) {
    const double log_moment = (b_.above * Upper{Exact{divergence}}).value();
    left_out_ += underflow;
    if (weight == 0 || log_moment < tiny) return;
    const Upper exponent{Exact{log_moment}};
    log_terms_.push_back(log(Upper{Exact{weight}}) + (log_moment < 600 ? log(expm1(exponent)) : exponent));
    largest_ = std::max(largest_, log_terms_.back().value());
  }
  [[nodiscard]] double divergence() const {
    Upper sum = left_out_;
    for (const Upper term : log_terms_) sum += exp(term - Exact{largest_});
    const Upper moment = largest_ == 0 ? log1p(sum) : Exact{largest_} + log(sum + exp(Upper{Exact{-largest_}}));
    return (moment / b_.below).value();
  }

 private:
  LessOne b_;
  std::vector<Upper> log_terms_;  ///< log (w (E[r^a] - 1))
  double largest_ = 0;
  Upper left_out_ = underflow;
};

/// One of these Poisson batches of a Gaussian, and both know which; with the rest of the probability nothing that differs.
struct SharedBatch {
  double weight;  ///< rounded up
  double rate;
  double mu;
};
double shared_batches(const std::vector<SharedBatch>& batches, At at) {
  PublicMixture mixture{at};
  for (const auto& batch : batches) {
    const double divergence = batch.rate == 1   ? squared_mu_divergence(batch.mu, at.order)
                              : batch.rate == 0 ? 0
                                                : poisson_gaussian(batch.rate, batch.mu, at).divergence;
    mixture.add(batch.weight, divergence);
  }
  return mixture.divergence();
}

/// Made when it is first asked: whoever only wants to know whether there is one need not wait.
Curve when_asked(std::function<Curve()> make) {
  const auto made = std::make_shared<std::optional<Curve>>();
  return [make = std::move(make), made](At at) {
    if (!*made) *made = make();
    return (**made)(at);
  };
}

/// docs/proofs/truncated.md: how many others stay is told. Moments of a public mixture are mixtures of moments.
Curve truncated_curve(const Event::TruncatedPoisson& e, double mu) {
  const double q = e.rate.value();
  if (e.event.adjacency() == Adjacency::add_or_remove_one) {
    std::vector<Curve> numbers{[q, mu](At at) { return poisson_gaussian(q, mu, at); }};
    for (const auto& crowd : laws::crowded_batches(e.rate, e.batches)) {
      const std::vector<SharedBatch> batches{{min(Upper{1}, 1 - Lower{Exact{crowd.weight.lower}}).value(), q, mu},
                                             {crowd.weight.upper, crowd.largest_rate, 2 * mu}};
      numbers.push_back([batches](At at) { return OrderBound{shared_batches(batches, at), false}; });
    }
    return largest_of(std::move(numbers));
  }
  const auto found = laws::truncated_batch(e.rate, e.batches);
  const std::vector<SharedBatch> batches{{found.roomy.upper, q, mu}, {found.last.upper, found.last_rate.upper, mu}};
  return [batches](At at) { return OrderBound{shared_batches(batches, at), false}; };
}

/// One epoch of random allocation, mu that of a pair of neighbours in the record's round. docs/proofs/allocated.md#divergences.
Curve epoch_curve(std::uint64_t rounds, double mu, bool is_replaced) {
  if (is_replaced) {
    // Records that replace each other are opposite: each adds half of what is between them.
    return [rounds = static_cast<double>(rounds), half = (Upper{Exact{mu}} / 2).value()](At at) {
      return OrderBound{allocated_moments(rounds, half)->replaced_divergence(at.order), false};
    };
  }
  return [rounds = static_cast<double>(rounds), mu](At at) {
    return OrderBound{allocated_moments(rounds, mu)->divergence(at.order), false};
  };
}

// Proved: docs/proofs/allocated.md#divergences-of-users
/// In how many rounds a user's records meet: the numbers of records in them, falling, each with its probability, rounded up.
using Meetings = std::map<std::vector<std::uint64_t>, Upper>;
Meetings meetings(std::uint64_t records, std::uint64_t rounds) {
  const Exact all{static_cast<double>(rounds)};
  Meetings found{{{}, Upper{1}}};
  for (std::uint64_t record = 0; record < records; ++record) {
    Meetings next;
    const auto add = [&](std::vector<std::uint64_t> numbers, Upper weight) {
      std::sort(numbers.rbegin(), numbers.rend());
      next.try_emplace(std::move(numbers), Upper{0}).first->second += weight;
    };
    for (const auto& [numbers, weight] : found) {
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        auto joined = numbers;
        ++joined[i];
        add(std::move(joined), weight / all);
      }
      if (numbers.size() == rounds) continue;
      auto alone = numbers;
      alone.push_back(1);
      add(std::move(alone), weight * Exact{static_cast<double>(rounds - numbers.size())} / all);
    }
    found = std::move(next);
  }
  return found;
}

Curve epoch_of_any_length(std::uint64_t rounds, double mu, bool is_replaced) {
  if (rounds > 1) return epoch_curve(rounds, mu, is_replaced);
  return [mu](At at) { return OrderBound{squared_mu_divergence(mu, at.order), false}; };
}

/// A user's records, each in a round of its own, as told of the rounds in which they meet, and of blocks of rounds with one of these in each.
Curve met_epoch_curve(std::uint64_t records, std::uint64_t rounds, double mu, bool is_replaced) {
  using Block = std::pair<std::uint64_t, std::uint64_t>;  // its rounds, the records in one of them
  std::vector<std::pair<double, std::vector<Block>>> ways;
  std::map<Block, Curve> curves;
  for (const auto& [numbers, weight] : meetings(records, rounds)) {
    const std::uint64_t blocks = numbers.size();
    std::vector<Block> parts;
    for (std::uint64_t i = 0; i < blocks; ++i) {
      // The longest blocks for the most records.
      const Block block{rounds / blocks + (i < rounds % blocks ? 1 : 0), numbers[i]};
      parts.push_back(block);
      if (curves.contains(block)) continue;
      const double shift = (Upper{Exact{mu}} * Exact{static_cast<double>(block.second)}).value();
      curves[block] = epoch_of_any_length(block.first, shift, is_replaced);
    }
    ways.emplace_back(weight.value(), std::move(parts));
  }
  return [ways = std::move(ways), curves = std::move(curves)](At at) {
    std::map<Block, double> divergences;
    for (const auto& [block, curve] : curves) divergences[block] = curve(at).divergence;
    PublicMixture mixture{at};
    for (const auto& [weight, parts] : ways) {
      Upper sum{0};
      for (const auto& block : parts) sum += Upper{Exact{divergences.at(block)}};
      mixture.add(weight, sum.value());
    }
    return OrderBound{mixture.divergence(), false};
  };
}

/// The best of three bounds at each order: that, for few records; an epoch of each record with its share of the noise; and, for orders up to 2, the larger
/// of the divergence of order 2 and of a bound on the reversed one.
Curve users_epoch_curve(std::uint64_t records, std::uint64_t rounds, double mu, bool is_replaced) {
  constexpr std::uint64_t few = 8;
  const Exact k{static_cast<double>(records)};
  const Curve apart = epoch_of_any_length(rounds, (Upper{Exact{mu}} * sqrt(Upper{k})).value(), is_replaced);
  std::optional<Curve> met;
  if (records <= few) met = met_epoch_curve(records, rounds, mu, is_replaced);
  return [=](At at) {
    double least = (k * Upper{Exact{apart(at).divergence}}).value();
    if (met) least = std::min(least, (*met)(at).divergence);
    if (at.order <= 2 && !is_replaced && records > few) {
      const double reversed = users_reversed_divergence(records, rounds, mu, at.order);
      if (reversed < least) least = std::min(least, std::max(reversed, users_divergence_of_order_2(records, rounds, mu)));
    }
    return OrderBound{least, false};
  };
}
// Proved so far.

struct CurveOf {
  using Result = OrRefusal<Curve>;
  const Event& event;

  Result operator()(const Event::Gaussian& e) const {
    const double rho = upper(number(1) / (number(2) * square(number(e.multiplier.value()))));
    return Curve{[rho](At at) { return OrderBound{(Exact{at.order} * Upper{Exact{rho}}).value(), true}; }};
  }
  Result operator()(const Event::RecordSum&) const { return (*this)(Event::Gaussian{*pairwise_multiplier(event)}); }
  Result operator()(const Event::Approximate&) const { return no_theorem_for(event, "privacy-loss and composition may"); }
  Result operator()(const Event::Binomial&) const { return no_theorem_for(event, "privacy-loss answers"); }
  Result operator()(const Event::Skellam&) const { return no_theorem_for(event, "privacy-loss answers"); }
  Result operator()(const Event::Profile&) const { return no_theorem_for(event, "privacy-loss answers"); }
  Result operator()(const Event::Mixture&) const { return no_theorem_for(event, "privacy-loss answers"); }
  Result operator()(const Event::Law& e) const {
    if (e.atoms.all().size() > most_atoms || !has_divergences(e.atoms)) return no_theorem_for(event, "privacy-loss answers");
    return Curve{[release = event](At at) { return release_bound(release, at.order); }};
  }
  Result operator()(const Event::Repeated& e) const {
    auto once = curve_of(e.event);
    return once ? sum({{static_cast<double>(e.count.value()), *once}}) : once;
  }
  Result operator()(const Event::Composed& e) const {
    std::vector<std::pair<double, Curve>> parts;
    for (const auto& part : e.events) {
      auto one = curve_of(part);
      if (!one) return one;
      parts.emplace_back(1, *std::move(one));
    }
    return sum(std::move(parts));
  }
  /// A record takes part in one of the parts, so at each order the largest counts.
  Result operator()(const Event::Parallel& e) const {
    std::vector<Curve> parts;
    for (const auto& part : e.events) {
      auto one = curve_of(part);
      if (!one) return one;
      parts.push_back(*std::move(one));
    }
    return largest_of(std::move(parts));
  }
  Result operator()(const Event::PoissonSampled& e) const {
    if (e.rate.value() < 1 && poisson_pair(e.event) == PoissonPair::opposite) return no_theorem_for(event, "privacy-loss answers");
    return poisson_curve(e.rate.value(), e.event);
  }
  Result operator()(const Event::Cyclic&) const { return curve_of(plainest(event)); }
  Result operator()(const Event::Allocated& e) const {
    if (e.rounds == Count{1}) return curve_of(e.event);
    const auto mu = gaussian_mu(e.event);
    if (!mu) return no_theorem_for(event, "privacy-loss answers");
    // The rounds cut into blocks that differ by one in length, each participation is an epoch of its own.
    const auto blocks = e.participations.value();
    const auto rounds = e.rounds.value() / blocks;
    const auto longer = e.rounds.value() % blocks;
    const bool is_replaced = e.event.adjacency() == Adjacency::replace_one;
    auto shorter = rounds == 1 ? curve_of(e.event) : Result{epoch_curve(rounds, *mu, is_replaced)};
    if (!shorter) return shorter;
    std::vector<std::pair<double, Curve>> parts{{static_cast<double>(blocks - longer), *std::move(shorter)}};
    if (longer > 0) parts.emplace_back(static_cast<double>(longer), epoch_curve(rounds + 1, *mu, is_replaced));
    return sum(std::move(parts));
  }
  Result operator()(const Event::BestOf&) const { return no_theorem_for(event, "tuning and privacy-loss answer"); }
  Result operator()(const Event::TruncatedPoisson& e) const {
    const auto mu = gaussian_mu(e.event);
    if (!mu || poisson_pair(e.event) == PoissonPair::opposite) return no_theorem_for(event, "privacy-loss answers");
    return when_asked([e, mu = *mu] { return truncated_curve(e, mu); });
  }
  Result operator()(const Event::Users& e) const {
    const auto* epoch = std::get_if<Event::Allocated>(&e.event.node());
    if (epoch != nullptr && epoch->participations == Count{1}) {
      const auto mu = gaussian_mu(epoch->event);
      if (!mu) return no_theorem_for(event, "privacy-loss answers");
      return users_epoch_curve(e.records.value(), epoch->rounds.value(), *mu, event.adjacency() == Adjacency::replace_one);
    }
    const auto multiplier = gaussian_multiplier(event);
    if (!multiplier && e.event.has_sampling()) return no_theorem_for(event, "privacy-loss answers");
    if (!multiplier) return group_curve(e);
    return rounded_gaussian_curve(multiplier->lower);
  }
  Result operator()(const Event::SampledWithoutReplacement& e) const {
    const auto records = static_cast<double>(e.batches.records().value());
    const auto size = static_cast<double>(e.batches.size().value());
    // The rate, rounded up: the cost grows with it.
    const double q = size == records ? 1 : std::min((Upper{Exact{size}} / Exact{records}).value(), std::nextafter(1.0, 0.0));
    return fixed_size_curve(q, e.event);
  }
  /// The moments are those of batches that hold the record in every slot.
  Result operator()(const Event::SampledWithReplacement&) const { return no_theorem_for(event, "privacy-loss answers"); }
  /// A record is in one batch of the epoch, of the same place on both sides (event_kinds.cpp); the order is public, or at best unhelpful.
  Result operator()(const Event::Deterministic& e) const { return curve_of(e.event); }
  Result operator()(const Event::Shuffled& e) const {
    auto inner = curve_of(e.event);
    if (!inner) return inner;
    return Curve{[inner = *std::move(inner)](At at) { return OrderBound{inner(at).divergence, false}; }};
  }
  Result operator()(const Event::LastIterate&) const { return last_iterate_curve(); }
  Result operator()(const Event::LastIterateWithin&) const { return last_iterate_curve(); }
  Result operator()(const Event::LastIterateOfPasses&) const { return last_iterate_curve(); }
  Result operator()(const Event::LastIterateOfBatches&) const { return last_iterate_curve(); }
  /// What a record's own report costs by itself.
  Result operator()(const Event::ShuffledReports&) const { return one_report_curve(); }
  Result operator()(const Event::ShuffledResponses&) const { return one_report_curve(); }
  [[nodiscard]] Curve one_report_curve() const {
    return [release = *one_report(event)](At at) { return OrderBound{release_bound(release, at.order).divergence, false}; };
  }
  template <class Release>
  Result operator()(const Release&) const {
    return Curve{[release = event](At at) { return release_bound(release, at.order); }};
  }

  /// The multiplier is rounded down: a bound, but not the cost itself.
  [[nodiscard]] Curve rounded_gaussian_curve(double multiplier) const {
    return [bound = *(*this)(Event::Gaussian{NoiseMultiplier{multiplier}})](At at) { return OrderBound{bound(at).divergence, false}; };
  }
  [[nodiscard]] Curve last_iterate_curve() const { return rounded_gaussian_curve(last_iterate_multipliers(event)->lower); }

  /// From above alone.
  static Result group_curve(const Event::Users& e) {
    const auto bounds = group_bounds(e.event, e.records);
    if (!bounds) return bounds.refusal();
    auto above = curve_of(bounds->upper);
    if (!above) return above;
    return Curve{[above = *std::move(above)](At at) { return OrderBound{above(at).divergence, false}; }};
  }

  static Curve sum(std::vector<std::pair<double, Curve>> parts) {
    return [parts = std::move(parts)](At at) {
      bool exact = true;
      const double total = sum_upwards(parts, at, exact);
      return OrderBound{total, exact};
    };
  }
};

OrRefusal<Curve> curve_of(const Event& event) { return std::visit(CurveOf{event}, event.node()); }
/// \throws Error{unsupported} where there is none.
Curve curve_of_plainest(const Event& event) { return curve_of(plainest(event)).value(); }

// ---- The two questions ----

template <class Search>
RenyiReport epsilon_report(const Event& event, Delta delta, Search search) {
  const auto curve = curve_of_plainest(event);
  if (delta.value() == 0) return {at_most(infinity), RenyiOrder{2}, false, false};
  const Conversion conversion{true, std::log(delta.value())};
  const OrderFound best = search(event, curve, conversion);
  const OrderBound point = curve({best.order, fine});
  const auto bound = certified_epsilon(point.divergence, best.order, delta.value());
  return {bound, RenyiOrder{best.order}, best.at_end && bound.upper > 0, point.exact};
}

template <class Search>
RenyiReport delta_report(const Event& event, Epsilon epsilon, Search search) {
  const auto curve = curve_of_plainest(event);
  const Conversion conversion{false, epsilon.value()};
  const OrderFound best = search(event, curve, conversion);
  const OrderBound point = curve({best.order, fine});
  const auto bound = certified_delta(point.divergence, best.order, epsilon.value());
  return {bound, RenyiOrder{best.order}, best.at_end, point.exact};
}

auto integer_search(const Moments& moments) {
  return [&moments](const Event& /*event*/, const Curve& curve, const Conversion& conversion) {
    return best_integer_order(curve, conversion, moments.largest_order);
  };
}

}  // namespace

RenyiDivergence renyi_divergence(const Event& event, RenyiOrder order) {
  const StandardFloatingPoint environment;
  const auto point = curve_of_plainest(event)({order.value(), fine});
  return {at_most(point.divergence), point.exact};
}

std::optional<Refusal> why_not(const Renyi&, const Event& event) {
  const StandardFloatingPoint environment;
  return curve_of(plainest(event)).why_not();
}
std::optional<Refusal> why_not(const Moments&, const Event& event) { return why_not(Renyi{}, event); }

RenyiReport explain_epsilon(const Renyi&, const Event& event, Delta delta) {
  const StandardFloatingPoint environment;
  return epsilon_report(event, delta, best_order_of);
}
RenyiReport explain_delta(const Renyi&, const Event& event, Epsilon epsilon) {
  const StandardFloatingPoint environment;
  return delta_report(event, epsilon, best_order_of);
}
RenyiReport explain_epsilon(const Moments& moments, const Event& event, Delta delta) {
  const StandardFloatingPoint environment;
  return epsilon_report(event, delta, integer_search(moments));
}
RenyiReport explain_delta(const Moments& moments, const Event& event, Epsilon epsilon) {
  const StandardFloatingPoint environment;
  return delta_report(event, epsilon, integer_search(moments));
}

Enclosure epsilon(const Renyi& accountant, const Event& event, Delta delta) { return explain_epsilon(accountant, event, delta).bound; }
Enclosure delta(const Renyi& accountant, const Event& event, Epsilon epsilon) { return explain_delta(accountant, event, epsilon).bound; }
Enclosure epsilon(const Moments& accountant, const Event& event, Delta delta) { return explain_epsilon(accountant, event, delta).bound; }
Enclosure delta(const Moments& accountant, const Event& event, Epsilon epsilon) { return explain_delta(accountant, event, epsilon).bound; }

}  // namespace surety::accounting
