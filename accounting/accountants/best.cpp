#include <surety/accounting/accountants/best.h>

#include <utility>

#include <surety/accounting/numbers/floating_point.h>
#include <surety/accounting/accountants/opinions.h>

namespace surety::accounting {
namespace {

Best best(const Event& event, const Question& question, const Effort& effort) {
  const StandardFloatingPoint environment;
  static_assert(static_cast<int>(Asked::contour) + 1 == static_cast<int>(Asked::privacy_loss));
  const auto by_draws = opinion_of(Asked::participation, event, question, effort);
  const GridRequest grid = beside(by_draws);
  std::vector<Opinion> opinions;
  for (std::size_t i = 0; i < accountants_asked; ++i) {
    const auto accountant = static_cast<Asked>(i);
    opinions.push_back(accountant == Asked::participation                                           ? by_draws
                       : accountant == Asked::privacy_loss && says_no_more(event, opinions.back()) ? left_out()
                                                                                                    : opinion_of(accountant, event, question, effort, grid));
  }
  return best_of(event, std::move(opinions));
}

/// The same bounds, but nobody is asked once they are as narrow as could matter.
Enclosure quick(const Event& event, const Question& question, const Effort& effort) {
  const StandardFloatingPoint environment;
  std::vector<Opinion> opinions;
  GridRequest grid;
  for (const Asked accountant : asking_order) {
    opinions.push_back(opinion_of(accountant, event, question, effort, grid));
    if (accountant == Asked::participation) grid = beside(opinions.back());
    if (!opinions.back().value) continue;
    const Enclosure value = best_of(event, opinions).value;
    if (is_exact(value)) return value;
  }
  return best_of(event, std::move(opinions)).value;
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

Best best_epsilon(const Event& event, Delta at, const Effort& effort) { return best(event, at, effort); }
Best best_delta(const Event& event, Epsilon at, const Effort& effort) { return best(event, at, effort); }
Enclosure quick_epsilon(const Event& event, Delta at, const Effort& effort) { return quick(event, at, effort); }
Enclosure quick_delta(const Event& event, Epsilon at, const Effort& effort) { return quick(event, at, effort); }

}  // namespace surety::accounting
