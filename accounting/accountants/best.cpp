#include <surety/accounting/accountants/best.h>

#include <utility>

#include <surety/accounting/accountants/opinions.h>
#include <surety/accounting/numbers/floating_point.h>

namespace surety::accounting {
namespace {

BestAnswer best(const Event& event, const Question& question, const Effort& effort) {
  const StandardFloatingPoint environment;
  static_assert(place_of<Contour> + 1 == place_of<PrivacyLoss>);
  const auto by_draws = opinion_of(place_of<Participation>, event, question, effort);
  const GridRequest grid = beside(by_draws);
  std::vector<Opinion> opinions;
  for (AccountantPlace accountant = 0; accountant < accountants_asked; ++accountant) {
    opinions.push_back(accountant == place_of<Participation> ? by_draws
                       : accountant == place_of<PrivacyLoss> && says_no_more(event, opinions.back())
                           ? left_out()
                           : opinion_of(accountant, event, question, effort, grid));
  }
  return best_of(event, std::move(opinions));
}

/// The same bounds, but nobody is asked once they are as narrow as could matter.
Enclosure quick(const Event& event, const Question& question, const Effort& effort) {
  const StandardFloatingPoint environment;
  std::vector<Opinion> opinions;
  GridRequest grid;
  for (const AccountantPlace accountant : asking_order) {
    opinions.push_back(opinion_of(accountant, event, question, effort, grid));
    if (accountant == place_of<Participation>) grid = beside(opinions.back());
    if (!opinions.back().value) continue;
    const Enclosure value = best_of(event, opinions).value;
    if (is_exact(value)) return value;
  }
  return best_of(event, std::move(opinions)).value;
}

}  // namespace

const Opinion* second_opinion(const BestAnswer& best) {
  const Opinion* found = nullptr;
  for (const auto& opinion : best.opinions) {
    if (!opinion.value || opinion.accountant == best.accountant) continue;
    if (found == nullptr || opinion.value->upper < found->value->upper) found = &opinion;
  }
  return found;
}

Enclosure delta(const Best& accountant, const Event& event, Epsilon at) { return best_delta(event, at, accountant.effort).value; }
Enclosure epsilon(const Best& accountant, const Event& event, Delta at) { return best_epsilon(event, at, accountant.effort).value; }
bool supports(const Best&, const Event& event) { return !supporting_accountants(event).empty(); }

BestAnswer best_epsilon(const Event& event, Delta at, const Effort& effort) { return best(event, at, effort); }
BestAnswer best_delta(const Event& event, Epsilon at, const Effort& effort) { return best(event, at, effort); }
Enclosure quick_epsilon(const Event& event, Delta at, const Effort& effort) { return quick(event, at, effort); }
Enclosure quick_delta(const Event& event, Epsilon at, const Effort& effort) { return quick(event, at, effort); }

QuickCurve::QuickCurve(Event event, const Effort& effort) : event_{std::move(event)}, effort_{effort} {
  static_assert(asking_order[0] == place_of<ClosedForm> && asking_order[1] == place_of<Choices> && asking_order[2] == place_of<Contour>);
  if (supports(ClosedForm{}, event_) || supports(Choices{}, event_) || !supports(Contour{}, event_)) return;
  try {
    by_contour_ = ContourCurve{event_};
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
  }
}

Enclosure QuickCurve::operator()(Epsilon at) const {
  if (by_contour_) {
    try {
      if (const auto found = by_contour_(at); is_exact(found)) return found;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
    }
  }
  return quick_delta(event_, at, effort_);
}

}  // namespace surety::accounting
