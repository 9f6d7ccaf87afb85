#include <surety/accounting/answers/rests_on.h>

#include <algorithm>
#include <variant>

#include <fmt/format.h>

#include <surety/accounting/answers/registry.h>

namespace surety::accounting {
namespace {

/// The event, or one within it.
template <class Kind>
const Kind* first_within(const Event& event) {
  if (const auto* found = std::get_if<Kind>(&event.node())) return found;
  return std::visit(
      [](const auto& kind) -> const Kind* {
        if constexpr (requires { kind.events; }) {
          for (const auto& part : kind.events) {
            if (const auto* found = first_within<Kind>(part)) return found;
          }
        } else if constexpr (requires { kind.event; }) {
          return first_within<Kind>(kind.event);
        }
        return nullptr;
      },
      event.node());
}
template <class Kind>
bool holds(const Event& event) {
  return first_within<Kind>(event) != nullptr;
}

using Names = std::vector<std::string_view>;

void add(Names& all, const Names& more) {
  for (const auto name : more) {
    if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(name);
  }
}

/// A search is bounded by what any accountant says of its run.
Names of_searches(const Event& event) {
  Names all{"search-bounds"};
  if (const auto* search = first_within<Event::BestOf>(event)) {
    for (const auto accountant : asked_names) add(all, rests_on(accountant, search->event));
  }
  return all;
}

}  // namespace

std::vector<std::string_view> rests_on(std::string_view accountant, const Event& event) {
  if (accountant == ClosedForm::name) return {"closed-form"};
  if (accountant == Choices::name) return {"choice-game"};
  if (accountant == Contour::name) return {"contour"};
  if (accountant == Participation::name) return {"participation", "closed-form"};
  if (accountant == Zcdp::name) return {"zcdp"};
  if (accountant == Composition::Optimal::name || accountant == Composition::Advanced::name || accountant == Composition::Basic::name) {
    return {"promises"};
  }
  if (accountant == Tuning::name) return of_searches(event);
  if (accountant == Renyi::name) {
    Names all{"renyi"};
    if (holds<Event::TruncatedPoisson>(event)) all.emplace_back("truncated-batch");
    // Moments of the cells of a user's mixture.
    if (const auto* users = first_within<Event::Users>(event); users != nullptr && holds<Event::PoissonSampled>(users->event)) {
      all.emplace_back("grid");
    }
    return all;
  }
  if (accountant == PrivacyLoss::name) {
    Names all{"grid"};
    if (holds<Event::TruncatedPoisson>(event)) all.emplace_back("truncated-batch");
    if (holds<Event::Exponential>(event)) all.emplace_back("choice-game");
    if (holds<Event::Concentrated>(event)) all.emplace_back("zcdp");
    if (holds<Event::BestOf>(event)) add(all, of_searches(event));
    return all;
  }
  throw Error{ErrorCode::internal, fmt::format("nobody says what accountant '{}' rests on", accountant)};
}

}  // namespace surety::accounting
