#include <surety/accounting/answers/loss_tests.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/hypotheses.h>
#include <surety/accounting/events/last_iterate.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/accounting/events/releases.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting {
namespace {

// Proved: docs/proofs/composition.md#from-below
/// Of the loss of some neighbours: its mean at least, its standard deviation at most.
struct LossMoments {
  Lower mean{0};
  Upper spread{0};
};

struct Known {
  LossMoments sum;
  std::vector<LossTest> tests;
  std::optional<Event> without;  ///< the first part that nothing is known of
};

/// Half as far and twice as far: 2^-4 is a power of 1 / 257, 2^30 one that misses 2^-60.
constexpr int least_exponent = -4;
constexpr int most_exponent = 30;

/// The losses above the mean less so many deviations (Cantelli's inequality).
void add_tests(const LossMoments& moments, const LossTestTerms& terms, std::vector<LossTest>& tests) {
  for (int i = least_exponent; i <= most_exponent; ++i) {
    const Exact deviations{std::ldexp(1.0, i)};
    const Exact squared{std::ldexp(1.0, 2 * i)};
    const Lower power = Lower{squared} / (Upper{squared} + Exact{1});
    const Lower loss = terms.spread ? moments.mean - moments.spread * deviations : moments.mean;
    if (loss.value() > 0) tests.push_back({power, loss});
  }
}

/// What a test alone says of the loss: a bit that is 1 with probability p under P and p e^-loss under Q, at these very numbers.
LossMoments moments_of(const LossTest& test) {
  const Exact p{test.power.value()};
  const Exact loss{test.loss.value()};
  if (!(std::isfinite(loss.value) && loss.value > 0 && p.value > 0 && p.value < 1)) return {};
  const Upper missed = Upper{1} - Lower{p};
  const Lower other = Lower{p} * exp(-Upper{loss});
  const Upper fall = missed * log1p((Upper{p} - other) / (Lower{1} - Upper{p}));
  const Lower mean = Lower{loss} * p - fall;
  const Upper spread = sqrt(Upper{p} * missed) * (Upper{loss} + -log(Lower{1} - Upper{p}));
  return {mean, spread};
}

/// What is infinite stays so.
Lower moved(Lower loss, Lower by) { return std::isinf(loss.value()) ? loss : loss + by; }

/// Of losses added up.
LossMoments sum_of(const LossMoments& a, const LossMoments& b) {
  const double size = std::max(a.spread.value(), b.spread.value());
  if (!(size > 0 && std::isfinite(size))) return {a.mean + b.mean, a.spread + b.spread};
  const Upper x = a.spread / Exact{size};
  const Upper y = b.spread / Exact{size};
  return {a.mean + b.mean, sqrt(x * x + y * y) * Exact{size}};
}

/// In one of so many rounds: some round is in the set.
LossTest in_some_round(const LossTest& test, Exact rounds) {
  const Exact p{test.power.value()};
  if (rounds.value == 1 || !(p.value > 0)) return test;
  const Lower power = -expm1(log1p(-Lower{p}) * rounds);
  return {power, moved(test.loss, log(power) - log(Upper{p} * Upper{rounds}))};
}

class KnownOf {
 public:
  /// \param records of one user, who are told apart by nothing
  KnownOf(const LossTestTerms& terms, Exact records, bool inside) : terms_{terms}, records_{records}, inside_{inside} {}

  [[nodiscard]] Known of(const Event& event) const {
    const Event plain = plainest(event);
    return std::visit([&](const auto& node) { return (*this)(node, plain); }, plain.node());
  }

 private:
  [[nodiscard]] Known moments(Lower mean, Upper spread) const {
    Known known;
    if (mean.value() > 0) known.sum = {mean, spread};
    add_tests(known.sum, terms_, known.tests);
    return known;
  }
  [[nodiscard]] static Known nothing(const Event& event) { return {{}, {}, event}; }
  [[nodiscard]] static Known better(Known a, const Known& b) {
    a.tests.insert(a.tests.end(), b.tests.begin(), b.tests.end());
    if (b.sum.mean.value() > a.sum.mean.value()) a.sum = b.sum;
    return a;
  }

  // ---- releases ----

  /// A shift of so many standard deviations.
  [[nodiscard]] static Exact shift_of(Lower shift) {
    constexpr double most = 1e150;  // whose square is a double
    return Exact{std::min(shift.value(), most)};
  }
  [[nodiscard]] Known discrete_gaussian(Lower shift) const {
    const Exact mu = shift_of(shift);
    return moments(Lower{mu} * Lower{mu} / Exact{2}, Upper{mu});
  }
  [[nodiscard]] Known gaussian(Lower shift) const {
    Known known = discrete_gaussian(shift);
    // The half-line from half way.
    const Upper missed = erfc(Lower{shift_of(shift)} / sqrt(Upper{8})) / Exact{2};
    const Lower power = Lower{1} - missed;
    known.tests.push_back({power, log(power) - log(missed)});
    return known;
  }
  /// Laplace noise around 0 and around a: the loss is a, less 2 |X| on one side of X in [-a, 0].
  [[nodiscard]] Known laplace(Lower range) const {
    const Exact a{range.value()};
    return moments(Lower{a} - Exact{1} + exp(-Upper{a}), min(Upper{2}, Upper{a}));
  }
  /// One bit that is right with odds e^epsilon.
  [[nodiscard]] Known bit(Lower epsilon) const {
    const Exact e{epsilon.value()};
    const Lower right = Lower{1} / (Upper{1} + exp(Upper{Exact{-e.value}}));
    Known known = moments(Lower{e} * (-expm1(Upper{Exact{-e.value}}) / (Upper{1} + exp(Upper{Exact{-e.value}}))),
                          Upper{e} * Exact{2} * exp(Upper{Exact{-e.value}} / Exact{2}) / (Lower{1} + exp(Lower{Exact{-e.value}})));
    known.tests.push_back({right, Lower{e}});
    return known;
  }

  template <class Kind>
  [[nodiscard]] Known operator()(const Kind& /*node*/, const Event& event) const {
    return nothing(event);
  }
  [[nodiscard]] Known operator()(const Event::Gaussian& e, const Event& /*event*/) const {
    return gaussian(Lower{records_} / Upper{Exact{e.multiplier.value()}});
  }
  [[nodiscard]] Known operator()(const Event::RecordSum& e, const Event& event) const {
    // Alone a record is replaced by its opposite; of a batch the sets are told from those without it.
    const bool is_opposite = !inside_ && event.adjacency() == Adjacency::replace_one;
    return gaussian(Lower{is_opposite ? Exact{2 * records_.value} : records_} / Upper{Exact{e.multiplier.value()}});
  }
  [[nodiscard]] Known operator()(const Event::DiscreteGaussian& e, const Event& /*event*/) const {
    return discrete_gaussian(Lower{Exact{static_cast<double>(e.sensitivity.value())}} / Upper{Exact{e.sigma.value()}});
  }
  [[nodiscard]] Known operator()(const Event::Laplace& e, const Event& /*event*/) const {
    return laplace(Lower{1} / Upper{Exact{e.scale.value()}});
  }
  [[nodiscard]] Known operator()(const Event::LaplaceRecordSum& e, const Event& event) const {
    const bool is_opposite = !inside_ && event.adjacency() == Adjacency::replace_one;
    return laplace(Lower{Exact{is_opposite ? 2.0 : 1.0}} / Upper{Exact{e.scale.value()}});
  }
  [[nodiscard]] Known operator()(const Event::DiscreteLaplace& e, const Event& /*event*/) const {
    return laplace(Lower{Exact{static_cast<double>(e.sensitivity.value())}} / Upper{Exact{e.scale.value()}});
  }
  [[nodiscard]] Known operator()(const Event::KNorm& e, const Event& /*event*/) const {
    const Lower range = Lower{1} / Upper{Exact{e.scale.value()}};
    if (e.norm != NormName::l2) return laplace(range);
    const Exact d{static_cast<double>(e.dimension.value())};
    return moments(range - Upper{d} * Exact{2}, Exact{2} * sqrt(Upper{d} * (Upper{d} + Exact{1})));
  }
  [[nodiscard]] Known operator()(const Event::GeneralizedGaussian& e, const Event& /*event*/) const {
    const Known in_one = gaussian(Lower{1} / Upper{Exact{e.multiplier.value()}});
    if (e.dimension.value() == 1) return in_one;
    const Upper spread = in_one.sum.spread * sqrt(Upper{Exact{static_cast<double>(e.dimension.value())}});
    return moments(in_one.sum.mean - spread, spread);
  }
  [[nodiscard]] Known operator()(const Event::RandomizedResponse& e, const Event& /*event*/) const {
    const Exact truth{e.truth.value()};
    const Exact others{static_cast<double>(e.categories.value()) - 1};
    const Lower odds = log(Lower{truth} * Lower{others} / (Upper{1} - Lower{truth}));
    if (odds.value() > 0) return only({{Lower{truth}, odds}});
    const Lower other = (Lower{1} - Upper{truth}) / Upper{others};
    const Lower against = log(other / Upper{truth});
    return only({{other, against}});
  }
  [[nodiscard]] Known operator()(const Event::Pure& e, const Event& /*event*/) const { return bit(Lower{Exact{e.epsilon.value()}}); }
  [[nodiscard]] Known operator()(const Event::Approximate& e, const Event& /*event*/) const {
    Known known = bit(Lower{Exact{e.epsilon.value()}});
    known.tests.push_back(shown_with(e.delta.value()));
    return known;
  }
  [[nodiscard]] Known operator()(const Event::Profile& e, const Event& /*event*/) const {
    Known known = bit(Lower{Exact{e.points.all().front().first}});
    known.tests.push_back(shown_with(e.points.all().back().second));
    return known;
  }
  [[nodiscard]] Known operator()(const Event::Exponential& e, const Event& /*event*/) const {
    const Exact range{e.epsilon.value()};
    Known best;
    for (double less = 1; less < 700 && less < range.value / 2; less *= 2) best = better(std::move(best), two_points(range, Exact{less}));
    return better(std::move(best), two_points(range, Exact{range.value / 2}));
  }
  [[nodiscard]] Known operator()(const Event::Concentrated& e, const Event& /*event*/) const {
    const Known one = bit(Lower{Exact{e.xi.value()}});
    const Known other = gaussian(sqrt(Lower{Exact{e.rho.value()}} * Exact{2}));
    const auto both = sum_of(one.sum, other.sum);
    return better(better(moments(both.mean, both.spread), one), other);
  }
  [[nodiscard]] Known operator()(const Event::RenyiCurve& e, const Event& /*event*/) const {
    double least = infinity;
    double slope = infinity;
    for (const auto& [order, bound] : e.bounds.all()) {
      least = std::min(least, bound);
      slope = std::min(slope, (Lower{Exact{bound}} / Upper{Exact{order}}).value());
    }
    return better(bit(Lower{Exact{least}}), gaussian(sqrt(Lower{Exact{slope}} * Exact{2})));
  }

  [[nodiscard]] static LossTest shown_with(double probability) { return {Lower{Exact{probability}}, Lower{Exact{infinity}}}; }
  [[nodiscard]] static Known only(std::vector<LossTest> tests) {
    Known known;
    for (const auto& test : tests) {
      if (const auto one = moments_of(test); one.mean.value() > known.sum.mean.value()) known.sum = one;
    }
    known.tests = std::move(tests);
    return known;
  }
  /// Losses e - s with probability (1 - e^-s) / (1 - e^-e), and -s.
  [[nodiscard]] Known two_points(Exact range, Exact less) const {
    const Lower power = -expm1(Upper{Exact{-less.value}});
    Known known = moments(power * Lower{range} - Upper{less}, Upper{range} * exp(Upper{Exact{-less.value}} / Exact{2}));
    known.tests.push_back({power, Lower{range} - Exact{less}});
    return known;
  }

  // ---- many ----

  [[nodiscard]] Known operator()(const Event::Repeated& e, const Event& /*event*/) const {
    const Known one = of(e.event);
    const Exact times{static_cast<double>(e.count.value())};
    Known all = moments(one.sum.mean * times, one.sum.spread * sqrt(Upper{times}));
    for (const auto& test : one.tests) all.tests.push_back(in_some_round(test, times));
    all.without = one.without;
    return all;
  }
  [[nodiscard]] Known operator()(const Event::Composed& e, const Event& /*event*/) const {
    Known all;
    for (const auto& part : e.events) {
      const Known one = of(part);
      all.tests.insert(all.tests.end(), one.tests.begin(), one.tests.end());
      if (one.sum.mean.value() > 0) all.sum = sum_of(all.sum, one.sum);
      if (!all.without) all.without = one.without;
    }
    add_tests(all.sum, terms_, all.tests);
    return all;
  }
  [[nodiscard]] Known operator()(const Event::Parallel& e, const Event& /*event*/) const {
    Known all;
    for (const auto& part : e.events) {
      const Known one = of(part);
      all = better(std::move(all), one);
      if (!all.without) all.without = one.without;
    }
    return all;
  }
  [[nodiscard]] Known operator()(const Event::Deterministic& e, const Event& /*event*/) const { return of(e.event); }
  /// In one batch of the epoch, the others being alike: some batch is in the set.
  [[nodiscard]] Known operator()(const Event::Shuffled& e, const Event& /*event*/) const {
    const auto size = e.batches.size().value();
    const Exact batches{static_cast<double>((e.batches.records().value() + size - 1) / size)};
    const Known one = of(e.event);
    std::vector<LossTest> tests;
    for (const auto& test : one.tests) tests.push_back({test.power, moved(test.loss, -log(Upper{batches}))});
    return better(in_batch(share_of(e.batches), one, false), only(std::move(tests)));
  }
  /// Whether any report is the outcome that the record's own one is likely to be: where all others have another record's, each of the others is as unlikely
  /// to be it.
  [[nodiscard]] Known operator()(const Event::ShuffledReports& e, const Event& event) const { return of_reports(e.reports, event); }
  [[nodiscard]] Known operator()(const Event::ShuffledResponses& e, const Event& event) const { return of_reports(e.reports, event); }
  [[nodiscard]] Known of_reports(Count reports, const Event& event) const {
    Known one = of(*one_report(event));
    for (auto& test : one.tests) test.loss = moved(test.loss, -log(Upper{Exact{static_cast<double>(reports.value())}}));
    return only(std::move(one.tests));
  }
  [[nodiscard]] Known operator()(const Event::LastIterate& /*e*/, const Event& event) const { return last_iterate(event); }
  [[nodiscard]] Known operator()(const Event::LastIterateOfPasses& /*e*/, const Event& event) const { return last_iterate(event); }
  [[nodiscard]] Known operator()(const Event::LastIterateOfBatches& /*e*/, const Event& event) const { return last_iterate(event); }
  [[nodiscard]] Known operator()(const Event::LastIterateWithin& /*e*/, const Event& event) const { return last_iterate(event); }
  /// The Gaussian release that it costs at least.
  [[nodiscard]] Known last_iterate(const Event& event) const {
    return gaussian(Lower{records_} / Upper{Exact{last_iterate_multipliers(event)->upper}});
  }
  [[nodiscard]] Known operator()(const Event::Users& e, const Event& /*event*/) const {
    return KnownOf{terms_, Exact{static_cast<double>(e.records.value())}, inside_}.of(e.event);
  }

  // ---- batches ----

  [[nodiscard]] Known operator()(const Event::PoissonSampled& e, const Event& /*event*/) const {
    const Exact rate{e.rate.value()};
    const Lower joins = records_.value == 1 ? Lower{rate} : -expm1(log1p(-Lower{rate}) * records_);
    return in_batch(joins, KnownOf{terms_, Exact{1}, true}.of(e.event), poisson_pair(e.event) == PoissonPair::revealed);
  }
  [[nodiscard]] Known operator()(const Event::SampledWithoutReplacement& e, const Event& /*event*/) const {
    return in_batch(share_of(e.batches), of(e.event), false);
  }
  /// Of which the first slot is looked at.
  [[nodiscard]] Known operator()(const Event::SampledWithReplacement& e, const Event& /*event*/) const {
    return in_batch(Lower{1} / Upper{Exact{static_cast<double>(e.records.value())}}, of(e.event), false);
  }
  [[nodiscard]] Known operator()(const Event::TruncatedPoisson& e, const Event& /*event*/) const {
    // All others are drawn at worst.
    return in_batch(Lower{Exact{e.rate.value()}} * share_of(e.batches), KnownOf{terms_, Exact{1}, true}.of(e.event), false);
  }
  [[nodiscard]] Known operator()(const Event::Allocated& e, const Event& /*event*/) const {
    const Exact rounds{static_cast<double>(e.rounds.value())};
    const Exact k{static_cast<double>(e.participations.value())};
    const Known inner = KnownOf{terms_, Exact{1}, true}.of(e.event);
    // Under Q k of t rounds are in the set with probability at most C(t, k) e^(-k loss).
    const Upper choices = k * (Upper{1} + log(Upper{rounds}) - log(Lower{k}));
    std::vector<LossTest> tests;
    for (const auto& test : inner.tests) {
      const Lower all = Lower{1} - (Upper{1} - test.power) * k;
      if (all.value() > 0) tests.push_back({all, test.loss * k + log(all) - choices});
    }
    return only(std::move(tests));
  }

  [[nodiscard]] static Lower share_of(const Batches& batches) {
    return Lower{Exact{static_cast<double>(batches.size().value())}} / Upper{Exact{static_cast<double>(batches.records().value())}};
  }
  [[nodiscard]] Known in_batch(Lower rate, const Known& inner, bool is_revealed) const {
    std::vector<LossTest> tests;
    for (const auto& test : inner.tests) {
      if (!(test.loss.value() > 0)) continue;
      if (is_revealed || !terms_.odds) {
        tests.push_back({rate * test.power, test.loss});
        continue;
      }
      // The set without the record, too.
      const Lower power = (rate + (Lower{1} - Upper{Exact{rate.value()}}) * exp(-Upper{Exact{test.loss.value()}})) * test.power;
      const Lower few = log1p(rate * expm1(test.loss));
      tests.push_back({power, max(moved(test.loss, log(rate)), few)});
    }
    Known known = only(std::move(tests));
    known.without = inner.without;
    return known;
  }

  LossTestTerms terms_;
  Exact records_;
  bool inside_;
};

}  // namespace

std::vector<LossTest> tests_of(const Event& event, const LossTestTerms& terms) {
  const StandardFloatingPoint environment;
  return KnownOf{terms, Exact{1}, false}.of(event).tests;
}

double lower_end(const std::vector<LossTest>& tests, const Question& question) {
  const StandardFloatingPoint environment;
  Lower best{0};
  for (const auto& [power, loss] : tests) {
    if (!(power.value() > 0)) continue;
    if (const auto* delta = std::get_if<Delta>(&question)) {
      // log((P - delta) / Q)
      const Upper share = Upper{Exact{delta->value()}} / power;
      if (share.value() < 1) best = max(best, moved(loss, log1p(-share)));
    } else {
      const Upper over = Upper{Exact{std::get<Epsilon>(question).value()}} - loss;
      best = max(best, power * -expm1(over));
    }
  }
  return best.value();
}
// Proved so far.

std::optional<Event> without_test(const Event& event) {
  const StandardFloatingPoint environment;
  return KnownOf{{}, Exact{1}, false}.of(event).without;
}

}  // namespace surety::accounting
