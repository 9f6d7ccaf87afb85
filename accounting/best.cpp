#include <surety/accounting/best.h>

#include <algorithm>

#include <fmt/format.h>

#include <surety/accounting/closed_form.h>
#include <surety/accounting/composition.h>
#include <surety/accounting/contour.h>
#include <surety/accounting/participation.h>
#include <surety/accounting/privacy_loss.h>
#include <surety/accounting/releases.h>
#include <surety/accounting/renyi.h>
#include <surety/accounting/zcdp.h>

namespace surety::accounting {
namespace {

/// Asks one accountant; a missing theorem or too little memory is an opinion, anything else an error.
template <class A, class Ask>
Opinion opinion_of(const A& accountant, Ask ask) {
  try {
    return {A::name, ask(accountant), {}};
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::memory) throw;
    return {A::name, std::nullopt, error.what()};
  }
}

constexpr double most_widening = 512;

/// At the narrowest of a few widths that its memory allows, up to `widest` times its own: a wider enclosure is mostly far better than the
/// next accountant's answer.
template <class Ask>
Opinion opinion_of(const PrivacyLoss& accountant, Ask ask, double widest = most_widening) {
  for (double widening = 1;; widening *= 8) {
    PrivacyLoss wider = accountant;
    wider.width *= widening;
    try {
      return {PrivacyLoss::name, ask(wider), {}};
    } catch (const Error& error) {
      if (error.code() == ErrorCode::memory && widening < widest) continue;
      if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::memory) throw;
      return {PrivacyLoss::name, std::nullopt, error.what()};
    }
  }
}

bool is_narrow(const Enclosure& value) { return value.upper - value.lower <= 1e-2 * value.upper; }

/// A grid transforms each of many different laws by itself: seconds, for what the contour has said more narrowly.
bool says_no_more(const Event& event, const Opinion& by_contour) {
  constexpr std::size_t many = 64;
  return by_contour.value && is_narrow(*by_contour.value) && Releases::of(event).entries().size() > many;
}
Opinion left_out() { return {PrivacyLoss::name, std::nullopt, "left out: so many different releases, and contour has answered"}; }

template <class Ask>
Best best(const Event& event, const Effort& effort, Ask ask) {
  // Where epsilons differ, so many grid points keep optimal composition within a tenth of a second.
  constexpr Composition::Optimal optimal{.points = 1 << 12};
  const Opinion by_draws = opinion_of(Participation{}, ask);
  // Where the draws alone say it, a wide grid says nothing more, and takes seconds.
  const double widest = by_draws.value && is_narrow(*by_draws.value) ? 1 : most_widening;
  const Opinion by_contour = opinion_of(Contour{}, ask);
  std::vector<Opinion> opinions{opinion_of(ClosedForm{}, ask),
                                by_contour,
                                says_no_more(event, by_contour) ? left_out() : opinion_of(PrivacyLoss{.width = effort.width}, ask, widest),
                                by_draws,
                                opinion_of(Renyi{}, ask),
                                opinion_of(Zcdp{}, ask),
                                opinion_of(optimal, ask),
                                opinion_of(Composition::Advanced{}, ask),
                                opinion_of(Composition::Basic{}, ask)};

  const Opinion* lowest = nullptr;   // of the upper ends
  const Opinion* highest = nullptr;  // of the lower ends
  for (const auto& opinion : opinions) {
    if (!opinion.value) continue;
    if (lowest == nullptr || opinion.value->upper < lowest->value->upper) lowest = &opinion;
    if (highest == nullptr || opinion.value->lower > highest->value->lower) highest = &opinion;
  }
  if (lowest == nullptr) {
    std::string reasons;
    for (const auto& opinion : opinions)
      reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", opinion.accountant, opinion.refusal);
    throw Error{ErrorCode::unsupported, fmt::format("no accountant has a theorem for {} ({})", describe(event), reasons)};
  }
  if (highest->value->lower > lowest->value->upper) {
    throw Error{ErrorCode::internal, fmt::format("two proofs disagree about {}: {} says at least {}, {} at most {}", describe(event),
                                                 highest->accountant, highest->value->lower, lowest->accountant, lowest->value->upper)};
  }
  const Enclosure value{highest->value->lower, lowest->value->upper};
  const auto accountant = lowest->accountant;
  return {value, accountant, std::move(opinions)};
}

/// The first accountant that answers. Where privacy-loss is wide for want of memory, participation may be narrow, and both count.
template <class Ask>
Enclosure first(const Event& event, const Effort& effort, Ask ask) {
  if (const auto value = opinion_of(ClosedForm{}, ask).value) return *value;
  if (const auto value = opinion_of(Contour{}, ask).value) return *value;
  const auto by_draws = opinion_of(Participation{}, ask).value;
  if (by_draws && is_narrow(*by_draws)) return *by_draws;
  const auto by_grid = opinion_of(PrivacyLoss{.width = effort.width}, ask).value;
  if (by_grid && by_draws) return {std::max(by_grid->lower, by_draws->lower), std::min(by_grid->upper, by_draws->upper)};
  if (by_grid) return *by_grid;
  if (by_draws) return *by_draws;
  if (const auto value = opinion_of(Renyi{}, ask).value) return *value;
  return best(event, effort, ask).value;  // which says why
}

}  // namespace

const Opinion* second_opinion(const Best& best) {
  const Opinion* found = nullptr;
  for (const auto& opinion : best.opinions) {
    if (!opinion.value || opinion.accountant == best.accountant) continue;
    if (found == nullptr || opinion.value->upper < found->value->upper) found = &opinion;
  }
  return found;
}

Best best_epsilon(const Event& event, Delta at, const Effort& effort) {
  return best(event, effort, [&](const auto& accountant) { return epsilon(accountant, event, at); });
}

Best best_delta(const Event& event, Epsilon at, const Effort& effort) {
  return best(event, effort, [&](const auto& accountant) { return delta(accountant, event, at); });
}

Enclosure quick_epsilon(const Event& event, Delta at, const Effort& effort) {
  return first(event, effort, [&](const auto& accountant) { return epsilon(accountant, event, at); });
}

Enclosure quick_delta(const Event& event, Epsilon at, const Effort& effort) {
  return first(event, effort, [&](const auto& accountant) { return delta(accountant, event, at); });
}

}  // namespace surety::accounting
