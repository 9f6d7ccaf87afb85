#include <surety/accounting/answers/best.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/accountants/pld/run_laws.h>
#include <surety/accounting/answers/asking.h>
#include <surety/accounting/answers/by_parts.h>
#include <surety/accounting/answers/loss_tests.h>
#include <surety/accounting/answers/rare_batches.h>
#include <surety/accounting/answers/two_outcomes.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/event_text.h>
#include <surety/accounting/events/releases.h>
#include <surety/base/numbers/floating_point.h>

namespace surety::accounting {
namespace {

/// Where epsilon is so small that the grid knows little of it, the grid looks once more, as narrowly as that takes. Elsewhere it is not width
/// that keeps the bounds apart.
void look_closer(const Event& event, const Question& question, const Effort& effort, const PldRequest& grid,
                 std::vector<Opinion>& opinions) {
  if (!std::holds_alternative<Delta>(question)) return;
  const auto by_pld = std::find_if(opinions.begin(), opinions.end(), [](const Opinion& one) { return one.accountant == Pld::name; });
  if (by_pld == opinions.end() || !by_pld->value || !(by_pld->value->width() <= effort.width)) return;
  const Enclosure known = best_of(event, opinions).value;
  const double wanted = width_at(known.upper, effort);
  if (!(wanted < effort.width) || known.width() <= wanted) return;
  const auto closer = opinion_of(place_of<Pld>, event, question, {.width = wanted}, curves_of_all(), grid);
  if (!closer.value) return;
  by_pld->value = Enclosure{std::max(by_pld->value->lower, closer.value->lower), std::min(by_pld->value->upper, closer.value->upper)};
}

/// Whether somebody has a theorem for the event.
bool is_known(const Event& event) {
  return std::any_of(asking_order.begin(), asking_order.end(), [&](AccountantPlace one) { return !why_not(one, event, curves_of_all()); });
}

/// Under which other adjacencies somebody has a theorem for the same words. Nothing where it is a number that is refused, which may be refused
/// there, too, and where the reason says so of a run of a search.
std::string where_it_is_known(const Event& event, std::string_view reason) {
  constexpr std::string_view words = "; there is one under ";
  if (reason.find(words) != std::string_view::npos || is_known(event)) return {};
  std::string names;
  for (const auto other : {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out}) {
    if (other == event.adjacency()) continue;
    try {
      if (is_known(under(event, other))) names += fmt::format("{}{}", names.empty() ? "" : " and ", name(other));
    } catch (const Error& error) {
      // Has no meaning there. A question that was called off is called off.
      if (error.code() != ErrorCode::invalid_argument && error.code() != ErrorCode::unsupported) throw;
    }
  }
  return names.empty() ? "" : fmt::format("{}{}", words, names);
}

/// \throws NoTheorem, as best_of, with what would be taken.
BestAnswer answer_of(const Event& event, std::vector<Opinion> opinions) {
  try {
    return best_of(event, std::move(opinions));
  } catch (const NoTheorem& refused) {
    throw NoTheorem{refused.what() + where_it_is_known(event, refused.what()), refused.opinions()};
  }
}

// Proved: docs/proofs/composition.md#of-one-record
/// An event of users alone, where one record of theirs differs; nothing where it is of others, too.
std::optional<Event> of_one_record(const Event& event) {
  if (const auto* users = std::get_if<Event::Users>(&event.node())) return users->event;
  if (const auto* repeated = std::get_if<Event::Repeated>(&event.node())) {
    const auto one = of_one_record(repeated->event);
    return one ? std::optional{repeat(repeated->count, *one)} : std::nullopt;
  }
  const auto* composed = std::get_if<Event::Composed>(&event.node());
  if (composed == nullptr) return std::nullopt;
  std::vector<Event> parts;
  for (const auto& part : composed->events) {
    const auto one = of_one_record(part);
    if (!one) return std::nullopt;
    parts.push_back(*one);
  }
  return compose(std::move(parts));
}
// Proved so far.

Enclosure quick(const Event& event, const Question& question, const Effort& effort);

/// Where nobody knows what many records show, what one of them does.
Enclosure with_one_record(const Event& event, const Question& question, const Effort& effort, const Enclosure& value) {
  const auto one = of_one_record(event);
  if (value.lower > 0 || !(value.upper > 0) || !one) return value;
  double lower = 0;
  try {
    lower = quick(*one, question, effort).lower;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::memory) throw;
  }
  if (lower > value.upper) {
    throw Error{ErrorCode::internal,
                fmt::format("two proofs disagree about {}: one record of a user costs at least {}, all of them at most {}", describe(event),
                            lower, value.upper)};
  }
  return {lower, value.upper};
}

/// Where nobody knows one, by a test.
Enclosure with_lower_end(const Event& event, const Question& question, const Enclosure& value) {
  if (value.lower > 0 || !(value.upper > 0)) return value;
  const double lower = lower_end(tests_of(event), question);
  if (lower > value.upper) {
    throw Error{ErrorCode::internal, fmt::format("two proofs disagree about {}: a test says at least {}, accountants at most {}",
                                                 describe(event), lower, value.upper)};
  }
  return {lower, value.upper};
}

/// Of what states its divergences alone, also by its best release of two outcomes. Beside other releases it costs no less.
Enclosure with_two_outcomes(const Event& event, const Question& question, const Enclosure& value) {
  if (!(value.upper > value.lower)) return value;
  const auto entries = Releases::of(event).entries();
  const auto states_divergences = [](const Releases::Entry& entry) {
    return std::holds_alternative<Event::Concentrated>(entry.leaf.node()) || std::holds_alternative<Event::RenyiCurve>(entry.leaf.node());
  };
  if (std::count_if(entries.begin(), entries.end(), states_divergences) != 1) return value;
  const auto only = std::find_if(entries.begin(), entries.end(), states_divergences);
  const auto pair = two_outcomes(repeat(only->count, only->leaf), question);
  const double lower = pair ? lower_end(*pair, question) : 0;
  if (lower > value.upper) {
    throw Error{ErrorCode::internal,
                fmt::format("two proofs disagree about {}: a release of two outcomes costs at least {}, accountants say at most {}",
                            describe(event), lower, value.upper)};
  }
  return {std::max(value.lower, lower), value.upper};
}

/// What all that may be asked about these parts rests on.
std::vector<std::string_view> rest_on(const std::vector<Event>& parts) {
  auto all = rests_on(Composition::Basic::name, parts.front());
  for (const auto& part : parts) {
    for (const auto accountant : asked_names) {
      for (const auto name : rests_on(accountant, part)) {
        if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(name);
      }
    }
  }
  return all;
}

/// With an upper bound of basic composition.
BestAnswer with_basic_composition(const Event& event, BestAnswer found, double upper, std::vector<std::string_view> basis) {
  found.opinions.at(place_of<Composition::Basic>) = {Composition::Basic::name, Enclosure{0, upper}, {}, std::move(basis)};
  const double lower = found.value.lower;
  found = best_of(event, std::move(found.opinions));
  if (lower > found.value.upper) {
    throw Error{ErrorCode::internal, fmt::format("two proofs disagree about {}: it costs at least {}, its parts together at most {}",
                                                 describe(event), lower, found.value.upper)};
  }
  found.value.lower = std::max(lower, found.value.lower);
  return found;
}

/// Where that is not narrow, with what the draws of batches alone prove.
BestAnswer with_draws(const Event& event, const Question& question, BestAnswer found) {
  const double upper = with_rare_batches(event, question, found.value).upper;
  if (!(upper < found.value.upper)) return found;
  return with_basic_composition(event, std::move(found), upper, rests_on(Composition::Basic::name, event));
}

/// Where all that is known is wide, with basic composition of the event's parts.
BestAnswer with_parts(const Event& event, const Question& question, const Effort& effort, BestAnswer found) {
  if (is_exact(found.value)) return found;
  const auto parts = few_parts(event);
  if (!parts || !may_add_up_to_less(*parts, question, found.value)) return found;
  // Of an epsilon whose ends are that far apart a few digits are enough.
  constexpr double share = 1e-4;
  Effort rough = effort;
  if (std::holds_alternative<Delta>(question)) rough.width = std::max(rough.width, share * found.value.lower);
  const auto ask = [&](const Event& part, const Question& at) { return quick(part, at, rough); };
  const auto upper = by_parts(*parts, question, ask, found.value.upper);
  if (!upper) return found;
  return with_basic_composition(event, std::move(found), *upper, rest_on(*parts));
}

/// What the inexpensive accountants return, in the order of requests, until one is exact and as narrow as requested.
struct Inexpensive {
  std::vector<std::optional<Opinion>> opinions = std::vector<std::optional<Opinion>>(accountants_asked);
  bool is_settled = false;
};
Inexpensive ask_inexpensive(const Event& event, const Question& question, const Effort& effort) {
  static_assert(asking_order[0] == place_of<ClosedForm> && asking_order[1] == place_of<Choices> && asking_order[2] == place_of<Contour>);
  Inexpensive asked;
  for (const AccountantPlace one : {asking_order[0], asking_order[1], asking_order[2]}) {
    const auto& opinion = asked.opinions[one].emplace(opinion_of(one, event, question, effort, curves_of_all()));
    constexpr double share = 2e-7;
    asked.is_settled = opinion.value && opinion.value->width() <= std::min(effort.width, share * opinion.value->upper);
    if (asked.is_settled) break;
  }
  return asked;
}

BestAnswer best(const Event& event, const Question& question, const Effort& effort, Bounds bounds) {
  const StandardFloatingPoint environment;
  auto known = ask_inexpensive(event, question, effort);
  std::optional<BestAnswer> settled;
  if (known.is_settled) {
    std::vector<Opinion> opinions;
    for (const auto& one : known.opinions) {
      if (one) opinions.push_back(*one);
    }
    settled = best_of(event, std::move(opinions));
    if (bounds == Bounds::needed) return *settled;
  }
  PldRequest grid;
  auto opinions = everybody(
      event, question, effort, curves_of_all(),
      [&](const Opinion& by_contour, const Opinion& by_draws) {
        grid = beside(by_draws);
        grid.is_independent_bound = settled || (by_contour.value && is_exact(*by_contour.value));
        return opinion_of(place_of<Pld>, event, question, beside(event, by_contour, effort), curves_of_all(), grid);
      },
      std::move(known.opinions));
  if (settled) {
    // The other bounds are independent ones: they must agree, and do not change the value.
    settled->opinions = best_of(event, std::move(opinions)).opinions;
    return *settled;
  }
  look_closer(event, question, effort, grid, opinions);
  auto found = answer_of(event, std::move(opinions));
  found.value = with_lower_end(event, question, with_one_record(event, question, effort, found.value));
  found.value = with_two_outcomes(event, question, found.value);
  return with_parts(event, question, effort, with_draws(event, question, std::move(found)));
}

/// The same bounds, but nobody is asked once they are as narrow as could matter.
Enclosure quick(const Event& event, const Question& question, const Effort& effort) {
  const StandardFloatingPoint environment;
  bool is_settled = false;
  auto said = in_turn(
      event, asking_order,
      [&](AccountantPlace one, const PldRequest& grid) { return opinion_of(one, event, question, effort, curves_of_all(), grid); },
      [&](AccountantPlace, const Enclosure& together) { return is_settled = is_exact(together); });
  if (is_settled) return *said.together;
  look_closer(event, question, effort, said.grid, said.opinions);
  const auto found = with_lower_end(event, question, answer_of(event, std::move(said.opinions)).value);
  return with_rare_batches(event, question, std::holds_alternative<Delta>(question) ? with_two_outcomes(event, question, found) : found);
}

/// The curve of a run by all accountants.
class CurveByAll final : public Curve {
 public:
  explicit CurveByAll(Event event) : event_{std::move(event)} {}

  [[nodiscard]] Enclosure delta(Epsilon at) const override { return accounting::quick_delta(event_, at); }
  [[nodiscard]] Enclosure epsilon(Delta at) const override { return quick_epsilon(event_, at); }
  [[nodiscard]] Enclosure rough_delta(Epsilon at) const override {
    if (!rough_) rough_.emplace(event_, few_digits);
    return (*rough_)(at);
  }
  [[nodiscard]] Enclosure rough_epsilon(Delta at) const override { return quick_epsilon(event_, at, few_digits); }
  [[nodiscard]] std::optional<Enclosure> quick_delta(Epsilon at) const override {
    if (!std::exchange(is_prepared_, true)) prepare();
    if (!quick_) return std::nullopt;
    try {
      return quick_(at);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      return std::nullopt;
    }
  }

 private:
  static constexpr Effort few_digits{.width = 1e-2};
  /// Of delta, far below what chords between hundreds of points lie above the curve.
  static constexpr double share_of_chords = 1e-6;

  void prepare() const {
    if (supports(ClosedForm{}, event_) && is_short(event_)) {
      quick_ = [this](Epsilon at) { return accounting::delta(ClosedForm{}, event_, at); };
    } else if (supports(Contour{}, event_)) {
      try {
        quick_ = ContourCurve{event_, {}, share_of_chords};
      } catch (const Error& error) {
        if (error.code() != ErrorCode::unsupported) throw;
      }
    }
  }
  /// So few releases that the closed form takes microseconds.
  static bool is_short(const Event& event) {
    double releases = 0;
    for (const auto& [leaf, count] : Releases::of(event).entries()) releases += static_cast<double>(count.value());
    return releases <= 8;
  }

  Event event_;
  mutable std::optional<QuickCurve> rough_;
  mutable std::function<Enclosure(Epsilon)> quick_;
  mutable bool is_prepared_ = false;
};

class RunsByAll final : public RunCurves {
 public:
  [[nodiscard]] bool know(const Event& run) const override { return supports(Best{}, run); }
  [[nodiscard]] std::unique_ptr<Curve> of(const Event& run) const override { return std::make_unique<CurveByAll>(run); }
  [[nodiscard]] std::optional<FiniteLaws> laws(const Event& run, Delta delta, bool upper_only) const override {
    return finite_laws(run, delta, curves_of_all().leaves, upper_only);
  }
};

class LeavesByAll final : public LeafCurves {
 public:
  [[nodiscard]] std::vector<CurvePoint> of_search(const Event& search, std::size_t points) const override {
    return tuning_curve(search, points, curves_of_all().runs);
  }
  [[nodiscard]] AttainedLaws attained_by_search(const Event& search) const override { return tuning_laws(search, curves_of_all().runs); }
  [[nodiscard]] bool know_search(const Event& search) const override { return supports(Tuning{}, search, curves_of_all().runs); }
  [[nodiscard]] double of_divergences(const Event& releases, Epsilon at) const override {
    return supports(Zcdp{}, releases) ? accounting::delta(Zcdp{}, releases, at).upper : accounting::delta(Renyi{}, releases, at).upper;
  }
  [[nodiscard]] std::string_view also_known_by(const Event& event) const override {
    if (supports(Renyi{}, event)) return Renyi::name;
    return supports(Composition::Optimal{}, event) ? "optimal" : "";
  }
};

}  // namespace

const OtherCurves& curves_of_all() {
  static const auto& runs = *new RunsByAll;
  static const auto& leaves = *new LeavesByAll;
  static const OtherCurves all{{&gaussian_delta, &gaussian_epsilon}, runs, leaves};
  return all;
}

std::span<const std::string_view> accountant_names() { return asked_names; }

std::vector<std::string_view> supporting_accountants(const Event& event) {
  std::vector<std::string_view> found;
  for (AccountantPlace i = 0; i < accountants_asked; ++i) {
    if (!why_not(i, event, curves_of_all())) found.push_back(asked_names[i]);
  }
  return found;
}

double width_at(double epsilon, const Effort& effort) {
  const double share = std::max(effort.width, Effort{}.width);
  return epsilon > 0 && epsilon < 1 ? std::min(effort.width, share * epsilon) : effort.width;
}

const Opinion* second_opinion(const BestAnswer& best) {
  const auto first = std::find_if(best.opinions.begin(), best.opinions.end(),
                                  [&](const Opinion& opinion) { return opinion.accountant == best.accountant; });
  if (first == best.opinions.end()) return nullptr;
  const Opinion* found = nullptr;
  for (const auto& opinion : best.opinions) {
    if (!opinion.value || opinion.accountant == best.accountant) continue;
    const bool shares = std::any_of(opinion.rests_on.begin(), opinion.rests_on.end(), [&](std::string_view one) {
      return std::find(first->rests_on.begin(), first->rests_on.end(), one) != first->rests_on.end();
    });
    if (shares) continue;
    if (found == nullptr || opinion.value->upper < found->value->upper) found = &opinion;
  }
  return found;
}

Enclosure delta(const Best& accountant, const Event& event, Epsilon at) {
  return best_delta(event, at, accountant.effort, Bounds::needed).value;
}
Enclosure epsilon(const Best& accountant, const Event& event, Delta at) {
  return best_epsilon(event, at, accountant.effort, Bounds::needed).value;
}
std::optional<Refusal> why_not(const Best&, const Event& event) {
  if (is_known(event)) return std::nullopt;
  return why_not(most_telling(event), event, curves_of_all());
}

BestAnswer best_epsilon(const Event& event, Delta at, const Effort& effort, Bounds bounds) { return best(event, at, effort, bounds); }
BestAnswer best_delta(const Event& event, Epsilon at, const Effort& effort, Bounds bounds) { return best(event, at, effort, bounds); }
Enclosure quick_epsilon(const Event& event, Delta at, const Effort& effort) { return quick(event, at, effort); }
Enclosure quick_delta(const Event& event, Epsilon at, const Effort& effort) { return quick(event, at, effort); }

QuickCurve::QuickCurve(Event event, const Effort& effort) : event_{std::move(event)}, effort_{effort} {
  static_assert(asking_order[0] == place_of<ClosedForm> && asking_order[1] == place_of<Choices> && asking_order[2] == place_of<Contour>);
  by_one_ = rapid_gaussian_curve(event_);
  if (by_one_ || supports(ClosedForm{}, event_) || supports(Choices{}, event_) || !supports(Contour{}, event_)) return;
  try {
    by_one_ = ContourCurve{event_};
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
  }
}

Enclosure QuickCurve::operator()(Epsilon at) const {
  if (by_one_) {
    try {
      if (const auto found = by_one_(at); is_exact(found)) return found;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
    }
  }
  return quick_delta(event_, at, effort_);
}

}  // namespace surety::accounting
