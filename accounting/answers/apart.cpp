#include <surety/accounting/answers/apart.h>

#include <algorithm>
#include <cmath>
#include <variant>
#include <vector>

#include <surety/accounting/accountants/composition/composition.h>
#include <surety/accounting/accountants/zcdp/zcdp.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/releases.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/numbers/rounding.h>
#include <surety/base/text/error.h>

namespace surety::accounting {
namespace {

/// What bounded releases may add in all, and the others: those are no trouble to anybody until their losses have no digits on a grid.
constexpr double most_range = 1e-2;
constexpr double most_shift = 1e-12;
/// The share is so much of a delta, and this at least.
constexpr double share_of_delta = 1e-9;
constexpr double share_of_any = 1e-100;

/// A kind of release with all its repetitions.
struct Kind {
  Releases::Entry entry;
  double range = infinity;
  double shift = infinity;

  [[nodiscard]] double cost() const { return std::min(range, shift); }
};

/// A number that is no double on the way is as large as can be.
template <class Ask>
double or_infinity(const Ask& ask) {
  try {
    return ask();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    return infinity;
  }
}

/// The largest loss of either sign; infinity where it is not bounded.
double range_of(const Event& all) {
  return or_infinity([&] { return supports(Composition::Basic{}, all) ? epsilon(Composition::Basic{}, all, Delta{0}).upper : infinity; });
}

/// A batch costs at most what is done with it.
const Event& used(const Event& leaf) {
  if (const auto* poisson = std::get_if<Event::PoissonSampled>(&leaf.node())) return poisson->event;
  if (const auto* sampled = std::get_if<Event::SampledWithoutReplacement>(&leaf.node())) return sampled->event;
  return leaf;
}
/// A record is in any of these Poisson batches with no more than this probability: else nothing differs.
bool is_rarely_joined(const Releases::Entry& entry, double share) {
  const auto* poisson = std::get_if<Event::PoissonSampled>(&entry.leaf.node());
  return poisson != nullptr && (Upper{Exact{poisson->rate.value()}} * Exact{static_cast<double>(entry.count.value())}).value() <= share;
}

double shift_of(Count count, const Event& leaf, double share) {
  // Below that root no (epsilon, share) of a release of rho lies; most are told by it.
  constexpr long bits = 64;
  // A Gaussian release of multiplier z over the sensitivity costs rho = 1 / (2 z^2) [BS16, Proposition 1.6]. This bound says only that it is not tiny.
  if (const auto z = pairwise_multiplier(leaf)) {
    const Lower rho = Lower{Exact{static_cast<double>(count.value())}} / (2 * Upper{Exact{z->value()}} * Exact{z->value()});
    if (rho.value() > most_shift * most_shift) return infinity;
  }
  const Event all = repeat(count, leaf);
  return or_infinity([&] {
    if (!supports(Zcdp{}, all)) return infinity;
    // Of order 1 it is xi + rho.
    const double least = zcdp_divergence(all, RenyiOrder{1 + 0x1p-50}, bits).enclosure().lower;
    return least > most_shift * most_shift ? infinity : epsilon(Zcdp{}, all, Delta{share}).upper;
  });
}

/// delta at any real epsilon, from the larger curve of both directions above 0.
Upper delta_above(double at, const std::function<Enclosure(const Question&)>& ask, bool below_zero) {
  const Upper found{Exact{ask(Epsilon{std::abs(at)}).upper}};
  if (at >= 0) return found;
  if (!below_zero) return Exact{ask(Epsilon{0}).upper};
  const Exact x{at};
  return -expm1(Lower{x}) + exp(Upper{x}) * found;
}

}  // namespace

std::optional<Apart> told_apart(const Event& event, const Question& question) {
  const auto entries = Releases::of(event).entries();
  if (entries.size() < 2) return std::nullopt;
  const auto* delta = std::get_if<Delta>(&question);
  const double share = std::max(delta != nullptr ? share_of_delta * delta->value() : 0.0, share_of_any);
  std::vector<Kind> kinds;
  for (const auto& entry : entries) {
    Kind kind{entry};
    kind.range = range_of(repeat(entry.count, entry.leaf));
    if (!(kind.range <= most_range)) {
      kind.range = infinity;
      kind.shift =
          is_rarely_joined(entry, delta != nullptr && delta->value() == 0 ? 0 : share) ? 0 : shift_of(entry.count, used(entry.leaf), share);
      if (!(kind.shift <= most_shift)) kind.shift = infinity;
    }
    kinds.push_back(kind);
  }
  // Where all are tiny the largest one is the rest.
  std::stable_sort(kinds.begin(), kinds.end(), [](const Kind& x, const Kind& y) { return x.cost() < y.cost(); });
  Upper range{0};
  Upper shift{0};
  Upper shares{0};
  Releases rest{event.adjacency()};
  bool is_any = false;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto& kind = kinds[i];
    const bool is_last = i + 1 == kinds.size();
    const bool is_bounded = std::isfinite(kind.range);
    const Upper all = is_bounded ? range + Exact{kind.range} : shift + Exact{kind.shift};
    if (is_last || !(kind.cost() < infinity) || !(all.value() <= (is_bounded ? most_range : most_shift))) {
      rest.add(Releases::of(repeat(kind.entry.count, kind.entry.leaf)));
      continue;
    }
    is_any = true;
    (is_bounded ? range : shift) = all;
    if (!is_bounded) shares += Exact{share};
  }
  if (!is_any) return std::nullopt;
  return Apart{*rest.event(), range.value(), shift.value(), shares.value()};
}

Enclosure with_tiny(const Apart& apart, const Question& question, const std::function<Enclosure(const Question&)>& ask,
                    const ApartTerms& terms) {
  const Exact share{apart.share};
  if (const auto* given = std::get_if<Delta>(&question)) {
    // The rest's epsilon at what is left of delta, raised by all losses.
    const Enclosure plain = ask(question);
    Enclosure above = plain;
    if (apart.share > 0) {
      const Lower left = (Lower{Exact{given->value()}} - share) * exp(-Upper{Exact{apart.shift}});
      if (!(left.value() > 0)) return {plain.lower, infinity};
      above = ask(Delta{left.value()});
    }
    return {plain.lower, (Upper{Exact{above.upper}} + Exact{apart.range} + Exact{apart.shift}).value()};
  }
  const double at = std::get<Epsilon>(question).value();
  const double lower = ask(question).lower;
  const double less = (Lower{Exact{at}} - Exact{apart.shift} - Exact{apart.range}).value();
  const double more = (Lower{Exact{at}} - Exact{apart.shift} + Exact{apart.range}).value();
  const Upper high = delta_above(less, ask, terms.below_zero);
  Upper above = high;
  if (apart.range > 0) {
    // With probability p the loss is raised by the range, and lowered otherwise. A larger p costs more.
    const Lower other = 1 / (Upper{1} + exp(Upper{Exact{apart.range}}));
    const Lower p = terms.odds ? other : Lower{1} - Upper{Exact{other.value()}};
    above = min(high, (Upper{1} - p) * high + Upper{Exact{p.value()}} * delta_above(more, ask, terms.below_zero));
  }
  if (apart.share > 0) above = share + exp(Upper{Exact{apart.shift}}) * above;
  const double upper = std::min(1.0, above.value());
  return {std::min(lower, upper), upper};
}

}  // namespace surety::accounting
