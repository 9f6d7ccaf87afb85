#include <surety/accounting/answers/registry.h>
#include <surety/accounting/events/event_kinds.h>

#include <algorithm>
#include <variant>

#include <fmt/format.h>

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
bool any(const Event& /*event*/) { return true; }
template <class Kind>
bool holds(const Event& event) {
  return first_within<Kind>(event) != nullptr;
}
bool holds_sampled_users(const Event& event) {
  const auto* users = first_within<Event::Users>(event);
  return users != nullptr && holds<Event::PoissonSampled>(users->event);
}

bool holds_shuffled_reports(const Event& event) { return holds<Event::ShuffledReports>(event) || holds<Event::ShuffledResponses>(event); }

bool holds_last_iterate(const Event& event) {
  return holds<Event::LastIterate>(event) || holds<Event::LastIterateWithin>(event) || holds<Event::LastIterateOfPasses>(event) ||
         holds<Event::LastIterateOfBatches>(event);
}
/// The Gaussian release that each accountant takes in its place.
constexpr Basis last_iterate{"last-iterate", holds_last_iterate, "last_iterate, ..."};

constexpr Basis closed_form_rests_on[]{
    {"closed-form", any}, last_iterate, {"shuffled-sums", holds_shuffled_reports, "shuffled_reports, shuffled_responses"}};
constexpr Basis choices_rests_on[]{{"choice-game", any}};
constexpr Basis contour_rests_on[]{{"contour", any}, last_iterate, {"never-full", holds<Event::TruncatedPoisson>, "truncated_poisson"}};
constexpr Basis pld_rests_on[]{{"grid", any},
                               last_iterate,
                               {"truncated-batch", holds<Event::TruncatedPoisson>, "truncated_poisson"},
                               {"shuffled-sums", holds_shuffled_reports, "shuffled_reports, shuffled_responses"},
                               {"choice-game", holds<Event::Exponential>, "exponential"},
                               {"zcdp", holds<Event::Concentrated>, "zcdp"},
                               {"renyi", holds<Event::RenyiCurve>, "renyi"},
                               {"search-bounds", holds<Event::BestOf>, "best_of"}};
constexpr Basis participation_rests_on[]{{"participation", any}, {"closed-form", any}, last_iterate};
/// Moments of the cells of a user's mixture are those of a grid.
constexpr Basis renyi_rests_on[]{{"renyi", any},
                                 last_iterate,
                                 {"truncated-batch", holds<Event::TruncatedPoisson>, "truncated_poisson"},
                                 {"grid", holds_sampled_users, "users(k, poisson)"}};
constexpr Basis zcdp_rests_on[]{{"zcdp", any}, last_iterate};
constexpr Basis tuning_rests_on[]{{"search-bounds", any}};
constexpr Basis composition_rests_on[]{{"promises", any}, last_iterate};

template <class A>
constexpr AccountantRow row;
template <>
constexpr AccountantRow row<ClosedForm>{
    ClosedForm::name,
    "Gaussian releases compose exactly to one with mu^2 = sum of 1/z^2 (Dong, Roth, Su 2019), whose curve is known exactly (Balle, Wang 2018).",
    closed_form_rests_on, "50 us; 5 us a release of other kinds"};
template <>
constexpr AccountantRow row<Choices>{
    Choices::name,
    "a choice is post-processing of one bit whose losses lie its range apart (Dong, Durfee, Rogers 2020); which bit is worst depends on the losses so far, and the best such strategy is enclosed on a grid.",
    choices_rests_on, "up to some seconds"};
template <>
constexpr AccountantRow row<Contour>{
    Contour::name,
    "the curve is an inversion integral of the moment generating function of the privacy loss; both directions are composed, the larger counts (Zhu, Dong, Wang 2022).",
    contour_rests_on, "0.1 to 10 ms a different part"};
template <>
constexpr AccountantRow row<Pld>{
    Pld::name,
    "the distribution of the privacy loss on a grid, rounded to dominate (upper) and to be dominated (lower), composed by transforms (Doroshenko et al. 2022).",
    pld_rests_on, "ms to minutes, as the width asks"};
template <>
constexpr AccountantRow row<Participation>{
    Participation::name,
    "with so little noise whoever sees a batch sees whether the record is in it; the cost is that of the Gaussian releases of those batches, averaged over how many there are.",
    participation_rests_on, "50 us a number of participations"};
template <>
constexpr AccountantRow row<Renyi>{
    Renyi::name,
    "Renyi divergences add up at every order (Mironov 2017), converted at the best order (Canonne, Kamath, Steinke 2020). An upper bound only.",
    renyi_rests_on, "ms"};
template <>
constexpr AccountantRow row<Zcdp>{
    Zcdp::name, "rho adds up (Bun, Steinke 2016), converted at the best order (Canonne, Kamath, Steinke 2020). An upper bound only.",
    zcdp_rests_on, "us"};
template <>
constexpr AccountantRow row<Tuning>{
    Tuning::name,
    "an outcome of rank u is published with phi'(u) times its density, phi the generating function of the number of runs; neighbours rank an outcome no lower than the trade-off of one run says, and the best order of outcomes is bounded by the curve of a run.",
    tuning_rests_on, "10 ms; of other runs their laws on a grid, 0.3 s"};
template <>
constexpr AccountantRow row<Composition::Optimal>{
    Composition::Optimal::name,
    "every release is at most as hard as one bit that is right with odds e^epsilon, or with probability delta shows everything; those compose exactly (Kairouz, Oh, Viswanath 2015; Murtagh, Vadhan 2016).",
    composition_rests_on, "up to 0.1 s"};
template <>
constexpr AccountantRow row<Composition::Advanced>{
    Composition::Advanced::name, "the sum of the losses concentrates around its mean (Dwork, Rothblum, Vadhan 2010). An upper bound only.",
    composition_rests_on, "us"};
template <>
constexpr AccountantRow row<Composition::Basic>{
    Composition::Basic::name,
    "epsilons add up, and so do deltas: of promises, and of different parts that each are known at a share of delta. An upper bound only.",
    composition_rests_on, "us"};

template <class>
constexpr std::array<AccountantRow, accountants_asked> rows{};
template <class... A>
constexpr std::array<AccountantRow, accountants_asked> rows<std::tuple<A...>>{row<A>...};
static_assert(std::none_of(rows<AskedAccountants>.begin(), rows<AskedAccountants>.end(),
                           [](const AccountantRow& one) { return one.name.empty(); }),
              "an accountant that is asked has no row");

void add(std::vector<std::string_view>& all, std::string_view name) {
  if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(name);
}

}  // namespace

std::span<const AccountantRow> accountant_rows() { return rows<AskedAccountants>; }

const AccountantRow& row_of_accountant(std::string_view name) {
  const auto all = accountant_rows();
  const auto found = std::find_if(all.begin(), all.end(), [&](const AccountantRow& one) { return one.name == name; });
  if (found == all.end()) throw Error{ErrorCode::internal, fmt::format("accountant '{}' is not in the list", name)};
  return *found;
}

std::vector<std::string_view> rests_on(std::string_view accountant, const Event& event) {
  std::vector<std::string_view> all;
  for (const auto& basis : row_of_accountant(accountant).rests_on) {
    if (!basis.of(event)) continue;
    add(all, basis.name);
    const auto* search = basis.name == "search-bounds" ? first_within<Event::BestOf>(event) : nullptr;
    if (search == nullptr) continue;
    for (const auto one : asked_names) {
      for (const auto name : rests_on(one, search->event)) add(all, name);
    }
  }
  return all;
}

}  // namespace surety::accounting
