#include <surety/accounting/answers/asking.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/answers/apart.h>
#include <surety/accounting/answers/loss_tests.h>
#include <surety/accounting/answers/never_full.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/kept_with_event.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/accounting/events/releases.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting {
namespace {

/// What is a reason to have no opinion; anything else ends the question.
bool is_refusal(const Error& error) {
  return error.code() == ErrorCode::unsupported || error.code() == ErrorCode::memory || error.code() == ErrorCode::invalid_argument;
}

/// Which of the curves of others it takes: of its settings, an event and a question.
template <class A, class... Taken>
concept Takes = requires(const A& accountant, const Event& event, Epsilon at, const Taken&... taken) {
  delta(accountant, event, at, taken...);
};

template <class A>
auto given(const OtherCurves& others) {
  if constexpr (Takes<A, GaussianCurve>) {
    return std::tie(others.gaussian);
  } else if constexpr (Takes<A, LeafCurves>) {
    return std::tie(others.leaves);
  } else if constexpr (Takes<A, RunCurves, GaussianCurve>) {
    return std::tie(others.runs, others.gaussian);
  } else {
    return std::tuple<>{};
  }
}

template <class A>
Enclosure ask(const A& accountant, const Event& event, const Question& question, const OtherCurves& others) {
  return std::apply(
      [&](const auto&... taken) {
        if (const auto* at = std::get_if<Epsilon>(&question)) return delta(accountant, event, *at, taken...);
        return epsilon(accountant, event, std::get<Delta>(question), taken...);
      },
      given<A>(others));
}

using Refuser = std::optional<Refusal> (*)(const Event& event, const OtherCurves& others);

/// Of one shuffle a law on a grid would have chords over the bounds that closed-form has.
std::optional<Refusal> why_left_out(const Event& event) {
  if (!one_report(plainest(event))) return std::nullopt;
  return Refusal{event, "privacy-loss: {} is one shuffle alone, of which closed-form knows more"};
}

template <class A>
std::optional<Refusal> refused(const Event& event, const OtherCurves& others) {
  if constexpr (std::is_same_v<A, Pld>) {
    if (auto refusal = why_left_out(event)) return refusal;
  }
  if constexpr (requires { why_not(A{}, event, others.leaves); }) {
    return why_not(A{}, event, others.leaves);
  } else if constexpr (requires { why_not(A{}, event, others.runs); }) {
    return why_not(A{}, event, others.runs);
  } else {
    return why_not(A{}, event);
  }
}

/// Whether `refused` takes microseconds and holds for this question. For a search, tuning calls every accountant on the run, so its refusal comes with
/// its answer. At delta 0 the closed form knows the largest loss also of events whose curve it does not know.
template <class A>
bool is_refused_at_once(const Event& event, const Question& question) {
  if (std::is_same_v<A, ClosedForm> && question == Question{Delta{0}}) return false;
  return !std::is_same_v<A, Tuning> || !std::holds_alternative<Event::BestOf>(event.node());
}

template <class A>
Opinion asked(const A& accountant, const Event& event, const Question& question, const OtherCurves& others) {
  try {
    // Most accountants refuse most events: as a value, not by an exception.
    if (is_refused_at_once<A>(event, question)) {
      if (const auto refusal = refused<A>(event, others)) return {A::name, std::nullopt, refusal->sentence()};
    }
    return {A::name, ask(accountant, event, question, others), {}};
  } catch (const Error& error) {
    if (!is_refusal(error)) throw;
    return {A::name, std::nullopt, error.what()};
  }
}

/// At the narrowest of a few widths that memory allows: a wider enclosure is mostly far better than the next accountant's answer. Below
/// the width that is aimed at by default, that one and the widths above it follow, so that who asks for more never gets less.
Opinion asked_at_some_width(const Event& event, const Question& question, double width, const PldRequest& request,
                            const OtherCurves& others) {
  const double start = Effort{}.width;
  const double widest = std::max(width, start) * request.widest;
  std::string refusal;
  for (bool below = width < start;;) {
    try {
      const auto found =
          ask(Pld{.width = width, .upper_only = request.upper_only, .level = request.level, .looks_again = !request.is_independent_bound},
              event, question, others);
      // More asked may also be met by rounding.
      if (!below || request.upper_only || !(found.width() > start)) return {Pld::name, found, {}};
      const auto usual = asked_at_some_width(event, question, start, request, others).value;
      if (!usual) return {Pld::name, found, {}};
      return {Pld::name, Enclosure{std::max(found.lower, usual->lower), std::min(found.upper, usual->upper)}, {}};
    } catch (const Error& error) {
      if (!is_refusal(error)) throw;
      refusal = error.what();
      if (error.code() != ErrorCode::memory || !(width * 8 <= widest)) return {Pld::name, std::nullopt, refusal};
    }
    width = below ? std::min(width * 64, start) : width * 8;
    below = width < start;
  }
}

using Asker = Opinion (*)(const Event& event, const Question& question, double width, const PldRequest& request, const OtherCurves& others);

template <class A>
Opinion ask_one(const Event& event, const Question& question, double width, const PldRequest& request, const OtherCurves& others) {
  if constexpr (std::is_same_v<A, Pld>) {
    // Every answer about a search alone meets this refusal, so it is no exception.
    if (std::holds_alternative<Event::BestOf>(event.node())) {
      if (const auto refusal = refused<A>(event, others)) return {A::name, std::nullopt, refusal->sentence()};
    }
    if (const auto refusal = why_left_out(event)) return {A::name, std::nullopt, refusal->sentence()};
    return asked_at_some_width(event, question, width, request, others);
  } else if constexpr (std::is_same_v<A, Tuning>) {
    return asked(Tuning{.level = request.level}, event, question, others);
  } else if constexpr (std::is_same_v<A, Choices>) {
    // A tenth of what is asked for costs less than what privacy-loss takes beside it.
    return asked(Choices{.width = std::min(0.1 * width, Choices{}.width)}, event, question, others);
  } else if constexpr (std::is_same_v<A, Composition::Optimal>) {
    // Where epsilons differ, so many grid points keep optimal composition within a tenth of a second.
    return asked(Composition::Optimal{.points = 1 << 12}, event, question, others);
  } else {
    return asked(A{}, event, question, others);
  }
}

template <class>
constexpr std::array<Asker, accountants_asked> askers{};
template <class... A>
constexpr std::array<Asker, accountants_asked> askers<std::tuple<A...>>{&ask_one<A>...};

std::string why_nobody(const Event& event, const std::vector<Opinion>& opinions) {
  const auto text = one_line(KeptWithEvent::text(event));
  const auto telling = asked_names[most_telling(event)];
  const auto found = std::find_if(opinions.begin(), opinions.end(), [&](const Opinion& one) { return one.accountant == telling; });
  if (found == opinions.end()) return fmt::format("no accountant has a theorem for {}", text);
  return fmt::format("no accountant has a theorem for {}: {}", text, reason_of(*found, event));
}

template <class>
constexpr std::array<Refuser, accountants_asked> refusers{};
template <class... A>
constexpr std::array<Refuser, accountants_asked> refusers<std::tuple<A...>>{&refused<A>...};

/// A huge epsilon, of which a test tells so much, is wanted with 7 digits and not with 15. Who asks for less than the usual width gets it.
double width_of_grid(double least, const Effort& effort) {
  constexpr double least_share = 1e-7;
  return std::isfinite(least) && effort.width >= Effort{}.width ? std::max(effort.width, least_share * least) : effort.width;
}

/// An opinion that is wide or missing, with the bounds from Poisson batches where the event's batches are practically never full.
template <class Ask>
Opinion with_never_full(Opinion opinion, bool upper_only, const Event& event, const Question& question, const Ask& ask) {
  constexpr double narrow = 1e-2;
  // Without a lower bound none is known to be wide.
  if (opinion.value && (upper_only || opinion.value->width() <= narrow * opinion.value->upper)) return opinion;
  const auto never_full = find_never_full(event);
  if (!never_full) return opinion;
  try {
    const auto value = with_full_batches(*never_full, question, [&](const Question& at) {
      auto found = ask(never_full->poisson, at);
      if (!found.value) throw Error{ErrorCode::unsupported, found.refusal};
      return *found.value;
    });
    if (!value) return opinion;
    auto basis = rests_on(opinion.accountant, never_full->poisson);
    basis.emplace_back("never-full");
    if (!opinion.value) return {opinion.accountant, *value, {}, std::move(basis)};
    const Enclosure both{std::max(value->lower, opinion.value->lower), std::min(value->upper, opinion.value->upper)};
    for (const auto name : rests_on(opinion.accountant, event)) basis.push_back(name);
    return {opinion.accountant, both, {}, std::move(basis)};
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return opinion;
  }
}

/// What an accountant says of an event with tiny releases: of the rest, and of all where that may be narrower.
template <class Ask>
Opinion opinion_apart(AccountantPlace accountant, const Event& event, const Apart& apart, const Question& question, const Ask& ask) {
  // What of an epsilon could not be seen.
  constexpr double lost = 1e-5;
  const bool is_pld = accountant == place_of<Pld>;
  Opinion of_all{asked_names[accountant], std::nullopt, {}};
  // A grid that sees losses so small is a fine one.
  const bool sees_all = !is_pld || apart.cost() > lost;
  if (sees_all) of_all = ask(event, question);
  const bool asks_epsilon = std::holds_alternative<Delta>(question);
  if (is_pld && of_all.value && (!asks_epsilon || of_all.value->width() <= apart.cost())) return of_all;
  Opinion opinion{asked_names[accountant], std::nullopt, {}};
  try {
    opinion.value = with_tiny(apart, question, [&](const Question& at) {
      auto said = ask(apart.rest, at);
      if (!said.value) throw Error{ErrorCode::unsupported, said.refusal};
      return *said.value;
    });
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    opinion.refusal = error.what();
  }
  const bool is_small = opinion.value && asks_epsilon && opinion.value->upper < 1;
  if (!sees_all && is_small && apart.cost() > lost * opinion.value->upper) of_all = ask(event, question);
  if (!opinion.value) return of_all.value || !of_all.refusal.empty() ? of_all : opinion;
  if (of_all.value) {
    opinion.value = Enclosure{std::max(opinion.value->lower, of_all.value->lower), std::min(opinion.value->upper, of_all.value->upper)};
  }
  return opinion;
}

}  // namespace

std::optional<Refusal> why_not(AccountantPlace accountant, const Event& event, const OtherCurves& others) {
  if (accountant >= accountants_asked) throw Error{ErrorCode::internal, "an accountant that nobody knows"};
  auto refusal = refusers<AskedAccountants>[accountant](event, others);
  if (!refusal) return refusal;
  const auto apart = told_apart(event, Epsilon{0});
  if (apart && !refusers<AskedAccountants>[accountant](apart->rest, others)) return std::nullopt;
  const auto never_full = find_never_full(event);
  return never_full && !why_not(accountant, never_full->poisson, others) ? std::nullopt : refusal;
}

std::string reason_of(const Opinion& opinion, const Event& event) {
  const auto repeated = one_line(KeptWithEvent::text(event));
  std::string reason = opinion.refusal;
  for (auto at = reason.find(repeated); at != std::string::npos; at = reason.find(repeated, at)) reason.replace(at, repeated.size(), "it");
  return reason;
}

AccountantPlace most_telling(const Event& event) {
  return std::holds_alternative<Event::BestOf>(event.node()) ? place_of<Tuning> : place_of<Pld>;
}

PldRequest beside(const Opinion& participation) {
  const auto& draws = participation.value;
  return {.widest = draws && draws->upper - draws->lower <= 1e-2 * draws->upper ? 1 : PldRequest::most_widening};
}

Effort beside(const Event& event, const Opinion& contour, const Effort& effort) {
  constexpr std::size_t several = 8;
  const bool is_known = contour.value && is_exact(*contour.value) && Releases::of(event).entries().size() > several;
  return is_known ? Effort{.width = std::max(effort.width, Effort{}.width)} : effort;
}

bool says_no_more(const Event& event, const Opinion& contour) {
  constexpr std::size_t many = 64;
  const auto& value = contour.value;
  return value && value->upper - value->lower <= 1e-2 * value->upper && Releases::of(event).entries().size() > many;
}

bool is_known_without_a_law(const Event& event, const Question& question, const Opinion& closed_form, const OtherCurves& others) {
  const auto* at = std::get_if<Delta>(&question);
  return at != nullptr && at->value() == 0 && closed_form.value && is_exact(*closed_form.value) &&
         why_not(place_of<ClosedForm>, event, others).has_value();
}

Opinion left_out() { return {Pld::name, std::nullopt, "left out: so many different releases, and contour has answered"}; }

bool is_exact(const Enclosure& value) {
  return value.upper - value.lower <= 1e-6 * value.upper || value.upper < std::numeric_limits<double>::min();
}

Opinion opinion_of(AccountantPlace accountant, const Event& event, const Question& question, const Effort& effort,
                   const OtherCurves& others, const PldRequest& request) {
  if (!(effort.width > 0)) throw Error{ErrorCode::invalid_argument, fmt::format("width is {}, must be greater than 0", effort.width)};
  if (accountant >= accountants_asked) throw Error{ErrorCode::internal, "an accountant that nobody knows"};
  const StandardFloatingPoint environment;
  poll_limit();  // whatever it does: some answer at once
  double width = effort.width;
  if (accountant == place_of<Pld> && std::holds_alternative<Delta>(question)) {
    const double least = lower_end(tests_of(event), question);
    // Everything is shown with a probability above delta: no law has to be made to say so.
    if (std::isinf(least) && !why_not(accountant, event, others)) return {Pld::name, Enclosure{infinity, infinity}, {}};
    width = width_of_grid(least, effort);
  }
  const auto ask = [&](const Event& of, const Question& at) {
    return askers<AskedAccountants>[accountant](of, at, width, request, others);
  };
  const auto apart = told_apart(event, question);
  return with_never_full(apart ? opinion_apart(accountant, event, *apart, question, ask) : ask(event, question), request.upper_only, event,
                         question,
                         [&](const Event& of, const Question& at) { return opinion_of(accountant, of, at, effort, others, request); });
}

std::vector<Opinion> everybody(const Event& event, const Question& question, const Effort& effort, const OtherCurves& others,
                               const AskPld& by_pld, std::vector<std::optional<Opinion>> known) {
  known.resize(accountants_asked);
  const auto by_draws = opinion_of(place_of<Participation>, event, question, effort, others);
  std::vector<Opinion> opinions(accountants_asked);
  opinions[place_of<Participation>] = by_draws;
  const auto& by_contour = opinions[place_of<Contour>];
  static_assert(place_of<Contour> < place_of<Pld> && place_of<ClosedForm> < place_of<Pld>);
  for (AccountantPlace accountant = 0; accountant < accountants_asked; ++accountant) {
    if (accountant == place_of<Participation>) continue;
    if (known[accountant]) {
      opinions[accountant] = *std::move(known[accountant]);
    } else if (accountant != place_of<Pld>) {
      opinions[accountant] = opinion_of(accountant, event, question, effort, others);
    } else if (by_contour.value && by_contour.value->upper < std::numeric_limits<double>::min()) {
      opinions[accountant] = {Pld::name, std::nullopt, "left out: contour says that the cost is less than any number of full precision"};
    } else if (is_known_without_a_law(event, question, opinions[place_of<ClosedForm>], others)) {
      opinions[accountant] = {Pld::name, std::nullopt, "left out: it would make a law of what closed-form knows at delta 0"};
    } else {
      opinions[accountant] = says_no_more(event, by_contour) ? left_out() : by_pld(by_contour, by_draws);
    }
  }
  return opinions;
}

InTurn in_turn(const Event& event, std::span<const AccountantPlace> order, const AskOne& ask, const IsEnough& is_enough) {
  InTurn said;
  for (const AccountantPlace accountant : order) {
    auto opinion = ask(accountant, said.grid);
    if (accountant == place_of<Participation>) said.grid = beside(opinion);
    const bool answers = opinion.value.has_value();
    said.opinions.push_back(std::move(opinion));
    if (!answers) continue;
    said.together = best_of(event, said.opinions).value;
    if (is_enough(accountant, *said.together)) break;
  }
  return said;
}

BestAnswer best_of(const Event& event, std::vector<Opinion> opinions) {
  const Opinion* lowest = nullptr;   // of the upper ends
  const Opinion* highest = nullptr;  // of the lower ends
  for (const auto& opinion : opinions) {
    if (!opinion.value) continue;
    if (lowest == nullptr || opinion.value->upper < lowest->value->upper) lowest = &opinion;
    if (highest == nullptr || opinion.value->lower > highest->value->lower) highest = &opinion;
  }
  if (lowest == nullptr) {
    const auto sentence = why_nobody(event, opinions);
    throw NoTheorem{sentence, std::move(opinions)};
  }
  if (highest->value->lower > lowest->value->upper) {
    throw Error{ErrorCode::internal, fmt::format("two proofs disagree about {}: {} says at least {}, {} at most {}", describe(event),
                                                 highest->accountant, highest->value->lower, lowest->accountant, lowest->value->upper)};
  }
  const Enclosure value{highest->value->lower, lowest->value->upper};
  const auto accountant = lowest->accountant;
  for (auto& opinion : opinions) {
    if (opinion.value && opinion.rests_on.empty()) opinion.rests_on = rests_on(opinion.accountant, event);
  }
  return {value, accountant, std::move(opinions)};
}

}  // namespace surety::accounting
