#include <surety/accounting/accountants/pld/counted_rounds.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <variant>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/hypotheses.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/accounting/events/releases.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting::pld {
namespace {

constexpr int most_counted = 4;
constexpr int terms_counted = 12;

/// n! / (k! (n - k)!) p^k, from the one of k - 1.
template <class Bound>
Bound next_power(Bound before, Bound p, double n, double k) {
  return before * p * Exact{n - k + 1} / Exact{k};
}

/// Probabilities that at least k of n rounds end beyond the threshold: with the record from below, without it from above.
struct Counted {
  Lower with;
  Upper without;
};
/// \param p at most the probability of one round with the record, and what follows grows with it; \param q at least that without it.
Counted counted(Exact p, Upper q, double n, int k) {
  // Some k of the rounds are beyond: at most C(n, k) q^k.
  Lower with{0};
  Lower power{1};
  Upper without{1};
  for (int j = 1; j < k + terms_counted && j <= n; ++j) {
    power = next_power(power, Lower{p}, n, j);
    if (j <= k) without = next_power(without, q, n, j);
    if (j >= k) with += power * exp(Exact{n - j} * log1p(Lower{Exact{-p.value}}));
  }
  // Of one, exactly.
  if (k == 1) without = -expm1(Exact{n} * log1p(-q));
  return {with, min(without, Upper{1})};
}

/// The largest that any threshold proves. \pre multiplier is at least that of a round's pair.
double by_thresholds(double n, double rate, double multiplier, const Given& question, const CountTerms& terms) {
  constexpr double furthest = 26;
  constexpr double step = 1.0 / 512;
  const Lower shift = Lower{Exact{1}} / Upper{Exact{multiplier}} / Upper::rounded(std::numbers::sqrt2);
  double best = 0;
  for (double x = 0; x < furthest; x += step) {
    // Beyond sqrt(2) x.
    const Upper none = Exact{0.5} * erfc(Lower{Exact{x}});
    const Lower drawn = Exact{0.5} * erfc(Upper{Exact{x}} - shift);
    const Lower round = Exact{rate} * drawn + (Lower{1} - Exact{rate}) * (Exact{0.5} * erfc(Upper{Exact{x}}));
    for (int k = 1; k <= most_counted; ++k) {
      const auto [with, without] = counted(Exact{std::max(0.0, round.value())}, none, n, k);
      if (question.delta) {
        const Lower left = with - Exact{terms.delta ? *question.delta : 0};
        if (left.value() > 0) best = std::max(best, log(left / without).value());
      } else {
        best = std::max(best, (with - exp(Upper{Exact{*question.epsilon}}) * without).value());
      }
    }
  }
  return best;
}

}  // namespace

double by_counted_rounds(const Event& event, const Given& question, const CountTerms& terms) {
  double best = 0;
  for (const auto& [leaf, count] : Releases::of(event).entries()) {
    const auto* batch = std::get_if<Event::PoissonSampled>(&leaf.node());
    if (batch == nullptr || poisson_pair(batch->event) != PoissonPair::with_or_without) continue;
    const auto multiplier = gaussian_multiplier(batch->event);
    if (!multiplier) continue;
    best = std::max(best, by_thresholds(static_cast<double>(count.value()), batch->rate.value(), multiplier->upper, question, terms));
  }
  return best;
}

}  // namespace surety::accounting::pld
