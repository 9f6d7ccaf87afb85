#include <surety/accounting/calibration/solve.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/accountants/zcdp/zcdp.h>
#include <surety/accounting/answers/asking.h>
#include <surety/accounting/answers/risk.h>
#include <surety/accounting/calibration/best_cost.h>
#include <surety/accounting/events/format.h>
#include <surety/accounting/events/normal_form.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/root.h>

namespace surety {
namespace {

/// What a search is to meet: two measures of an event's cost that are to be within their levels, which may be the same one.
struct Goal {
  Adjacency adjacency;
  double level;  ///< of the cost that is met or missed
  std::function<Enclosure(const Event&)> cost;
  double second_level;  ///< of the cost whose logarithm is nearly linear in that of the parameter, so that few values find its root
  std::function<Enclosure(const Event&)> second;
  /// To which share of the second one the last answer is known; 0 where a formula gave it.
  std::function<double()> resolution;
  std::string said;                                      ///< for messages: "epsilon = 1 at delta = 1e-05"
  std::function<std::string(const Event&)> is_still_at;  ///< likewise, of an event that misses: "epsilon is still 2, and delta 0.1"
};

/// Where a search ended.
struct Found {
  double value;
  std::optional<double> failing;
  std::optional<double> nearest =
      failing;  ///< the nearest value that is not proved to meet the goal; `failing` may be farther away, beyond doubt
};

/// One search: how far a value is from the goal, and what it takes to say so.
class Search {
 public:
  Search(const std::function<Event(double)>& event, const Goal& goal, const Parameter& parameter)
      : event_{event}, goal_{goal}, parameter_{parameter} {}

  [[nodiscard]] Event at(double x) const {
    auto made = event_(x);
    if (made.adjacency() != goal_.adjacency) {
      throw Error{ErrorCode::invalid_argument,
                  fmt::format("adjacency of the event is {}, must be the target's, {}", name(made.adjacency()), name(goal_.adjacency))};
    }
    return made;
  }

  /// Whether the event takes x.
  [[nodiscard]] bool is_allowed(double x) const { return allowed(x).has_value(); }

  /// log(certified cost / level), positive where the goal is missed; bounded, since both may be 0.
  [[nodiscard]] double excess(double x) const {
    const auto found = allowed_cost_at(x);
    if (!found) return far;
    const double upper = found->upper;
    if (upper == 0) return -far;
    const double ratio = std::clamp(std::log(upper) - std::log(goal_.level), -far, far);
    constexpr double least = std::numeric_limits<double>::min();
    return upper <= goal_.level ? std::min(ratio, -least) : std::max(ratio, least);
  }
  [[nodiscard]] bool misses(double x) const { return excess(x) > 0; }
  /// No accountant can show that x meets the goal.
  [[nodiscard]] bool is_proved_to_miss(double x) const {
    const auto found = allowed_cost_at(x);
    if (!found || found->lower > goal_.level) return true;
    // Of delta 0 the largest loss decides.
    return goal_.level == 0 && found->upper > 0 && second_at(x).lower > goal_.second_level;
  }
  /// Somebody bounds its cost from below.
  [[nodiscard]] bool is_bounded_below(double x) const {
    const auto found = allowed_cost_at(x);
    return found && found->lower > 0;
  }
  /// The same of the second cost.
  [[nodiscard]] double second_excess(double x) const {
    if (!allowed(x)) return far;
    const auto found = second_at(x);
    const double proved = found.lower > goal_.second_level ? found.lower : found.upper;
    return proved == 0 ? -far : std::clamp(std::log(proved / goal_.second_level), -far, far);
  }
  /// A value whose cost meets the goal by less than the width of the second one's enclosure does not meet it yet.
  [[nodiscard]] bool meets(double x) const { return !misses(x) && second_at(x).upper <= goal_.second_level; }

  /// Nobody has an answer at x.
  [[nodiscard]] bool is_unknown(double x) const {
    const auto found = allowed_cost_at(x);
    return found && found->upper == std::numeric_limits<double>::infinity();
  }

  /// About by which share x has to move for the enclosure of its cost to leave the level behind: its width over the slope between the values
  /// tried next to it. 0 where that is not known.
  [[nodiscard]] double margin(double x) const {
    const auto known = costs_.find(x);
    if (known == costs_.end() || !(known->second.lower > 0)) return 0;
    const double width = std::log(known->second.upper / known->second.lower);
    for (const double apart : {1e-6, 1e-3}) {
      for (const auto& [other, cost] : costs_) {
        const double moved = std::abs(std::log(other / x));
        if (!(moved > apart && moved < 1e3 * apart && cost.lower > 0)) continue;
        const double slope = std::abs(std::log(cost.upper / known->second.upper)) / moved;
        if (slope > 0) return width / slope;
      }
    }
    return 0;
  }

  [[nodiscard]] double resolution() const { return goal_.resolution ? goal_.resolution() : 0; }

  /// What was asked before is not asked again.
  [[nodiscard]] Enclosure cost_at(double x) const { return *allowed_cost_at(x); }
  [[nodiscard]] Enclosure second_at(double x) const {
    if (const auto known = seconds_.find(x); known != seconds_.end()) return known->second;
    return seconds_.emplace(x, known_of(goal_.second, at(x))).first->second;
  }

  [[noreturn]] void refuse_out_of_reach(double best) const {
    if (refusal_ && !is_answered_) throw Error{*refusal_};
    const Event last = at(best);
    throw Error{ErrorCode::unreachable, fmt::format("{} is out of reach for '{}': with a {} of {:.6g} {}", goal_.said,
                                                    describe(at(std::clamp(1.0, parameter_.lowest, parameter_.highest))), parameter_.name,
                                                    best, goal_.is_still_at(last))};
  }
  [[noreturn]] void refuse_without_an_end(double x) const {
    throw Error{ErrorCode::unreachable, fmt::format("{} is met by '{}' with every {}, so there is no {} one", goal_.said, describe(at(x)),
                                                    parameter_.name, parameter_.cost_rises ? "largest" : "smallest")};
  }

 private:
  static constexpr double far = 1e6;

  /// The event at x, or nothing where x is not allowed in it.
  [[nodiscard]] std::optional<Event> allowed(double x) const {
    try {
      return at(x);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_argument) throw;
      return std::nullopt;
    }
  }

  /// Nothing where x is not allowed.
  [[nodiscard]] std::optional<Enclosure> allowed_cost_at(double x) const {
    if (const auto known = costs_.find(x); known != costs_.end()) return known->second;
    const auto event = allowed(x);
    if (!event) return std::nullopt;
    poll_limit();
    return costs_.emplace(x, known_of(goal_.cost, *event)).first->second;
  }

  /// Some events have an answer for much noise only: where nobody knows one, the goal is not known to be met.
  [[nodiscard]] Enclosure known_of(const std::function<Enclosure(const Event&)>& cost, const Event& event) const {
    try {
      const Enclosure answer = cost(event);
      is_answered_ = true;
      return answer;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      if (!refusal_) refusal_ = error;
      return {0, std::numeric_limits<double>::infinity()};
    }
  }

  const std::function<Event(double)>& event_;
  const Goal& goal_;
  const Parameter& parameter_;
  mutable std::map<double, Enclosure> costs_;
  mutable std::map<double, Enclosure> seconds_;
  mutable bool is_answered_ = false;
  mutable std::optional<Error> refusal_;  ///< the first one
};

/// The least whole number that the event takes, by doubling, then bisection: a data set has at least as many records as a batch.
/// \throws what the event says of the lowest number, where it takes none.
double least_allowed(const Search& search, const Parameter& parameter) {
  double refused = parameter.lowest;
  if (search.is_allowed(refused)) return refused;
  double allowed = refused;
  for (double step = 1; !search.is_allowed(allowed); step *= 2) {
    if (allowed == parameter.highest) static_cast<void>(search.at(parameter.lowest));
    refused = allowed;
    allowed = std::min(allowed + step, parameter.highest);
  }
  while (allowed - refused > 1) {
    const double middle = std::floor(refused + (allowed - refused) / 2);
    (search.is_allowed(middle) ? allowed : refused) = middle;
  }
  return allowed;
}

/// Over whole numbers: doubling, then bisection.
Found solve_whole(const Search& search, const Parameter& parameter) {
  const double start = least_allowed(search, parameter);
  if (parameter.cost_rises) {
    if (!search.meets(start)) search.refuse_out_of_reach(start);
    double meeting = start;
    double failing = start;
    for (double step = 1;; step *= 2) {
      if (meeting == parameter.highest) return {meeting, std::nullopt};
      failing = std::min(meeting + step, parameter.highest);
      if (!search.meets(failing)) break;
      meeting = failing;
    }
    while (failing - meeting > 1) {
      const double middle = std::floor(meeting + (failing - meeting) / 2);
      (search.meets(middle) ? meeting : failing) = middle;
    }
    return {meeting, failing};
  }
  if (search.meets(start)) return {start, std::nullopt};
  double failing = start;
  double meeting = start;
  for (double step = 1;; step *= 2) {
    if (failing == parameter.highest) search.refuse_out_of_reach(failing);
    meeting = std::min(failing + step, parameter.highest);
    if (search.meets(meeting)) break;
    failing = meeting;
  }
  while (meeting - failing > 1) {
    const double middle = std::floor(failing + (meeting - failing) / 2);
    (search.meets(middle) ? meeting : failing) = middle;
  }
  return {meeting, failing};
}

/// Where cost is known to `resolution` only, a bracket about as wide, from one that is certain.
template <class Value>
std::pair<double, double> coarse_bracket(const Search& search, const Value& value, double failing, double meeting, double resolution) {
  const auto excess = [&](double t) { return search.second_excess(value(t)); };
  const double above = excess(failing);
  const double below = excess(meeting);
  // At the edge the bounds on epsilon and on delta may differ; then that is where the root lies.
  if (!(above > 0)) return {failing, failing};
  if (below > 0) return {meeting, meeting};
  if (below == 0) return {failing, meeting};
  // An end whose cost is as near to its level as it is known is the root, as far as anybody knows.
  const auto is_root = [&](double t) { return std::abs(excess(t)) <= 0.25 * resolution; };
  const auto near = [&](double a, double b) { return std::abs(b - a) <= resolution || is_root(a) || is_root(b); };
  const auto bracket = narrow_root(excess, failing, meeting, above, below, near, 60);
  for (const double end : {bracket.low, bracket.high}) {
    if (is_root(end)) return {end, end};
  }
  return {bracket.low, bracket.high};
}

/// The exponent of the first margin of a search outward.
int first_margin(double resolution) { return resolution > 0 ? std::ilogb(resolution) - 1 : -52; }
double beside(double start, double direction, int exponent) { return start * (1 + direction * std::ldexp(1.0, exponent)); }

/// The first of the values start (1 +- margin), margins doubling from half of `resolution`, at which `holds` does.
/// Where it holds from some margin on, `guess` saves the way to that margin.
template <class Holds>
double outward(const Holds& holds, double start, double direction, double resolution, double fallback, double guess) {
  constexpr int linear = 4;
  const int first = first_margin(resolution);
  const int last = std::max(-11, first + 7);
  const auto candidate = [&](int exponent) { return beside(start, direction, exponent); };
  if (resolution == 0 && guess > 0) {
    if (holds(candidate(first))) return candidate(first);
    constexpr int near = 4;
    int exponent = std::clamp(std::ilogb(guess), first + 1, last - 1);
    for (int i = 0; i < near && exponent > first && exponent < last; ++i) {
      if (!holds(candidate(exponent))) {
        ++exponent;
      } else if (holds(candidate(exponent - 1))) {
        --exponent;
      } else {
        return candidate(exponent);
      }
    }
  }
  for (int exponent = first; exponent < first + linear; ++exponent) {
    if (holds(candidate(exponent))) return candidate(exponent);
  }
  // Farther out it holds from some margin on.
  int doubtful = first + linear - 1;
  int certain = doubtful;
  for (int stride = 2; !holds(candidate(certain)); stride *= 2) {
    if (certain == last) return fallback;
    doubtful = certain;
    certain = std::min(certain + stride, last);
  }
  while (certain - doubtful > 1) {
    const int middle = (certain + doubtful) / 2;
    (holds(candidate(middle)) ? certain : doubtful) = middle;
  }
  return candidate(certain);
}

/// A search over the reals, in t with x = 2^t or 2^-t, so that cost falls with t.
class OnTheLine {
 public:
  OnTheLine(const Search& search, const Parameter& parameter)
      : search_{search},
        parameter_{parameter},
        sign_{parameter.cost_rises ? -1.0 : 1.0},
        first_{parameter.cost_rises ? -std::log2(parameter.highest) : std::log2(parameter.lowest)},
        last_{parameter.cost_rises ? -std::log2(parameter.lowest) : std::log2(parameter.highest)} {}

  Found solve() {
    if (const auto at_the_end = bracket()) return *at_the_end;
    if (const auto where_answers_end = leave_what_is_unknown()) return *where_answers_end;
    narrow();
    return certified();
  }

 private:
  /// A value tried: how far from the target, and to which share of epsilon that is known.
  struct Tried {
    double t;
    double excess;
    double resolution;
  };

  [[nodiscard]] double value(double t) const { return std::clamp(std::exp2(sign_ * t), parameter_.lowest, parameter_.highest); }
  [[nodiscard]] Tried tried(double t) const {
    const double found = search_.excess(value(t));
    return {t, found, search_.resolution()};
  }

  /// Values on both sides of the target; an answer where there are none because the range ends.
  std::optional<Found> bracket() {
    const double start = std::clamp(0.0, first_, last_);
    static_cast<void>(search_.at(value(start)));
    failing_ = meeting_ = tried(start);
    if (failing_.excess > 0) {
      for (double step = 1;; step *= 2) {
        if (meeting_.t >= last_) search_.refuse_out_of_reach(value(last_));
        meeting_ = tried(std::min(meeting_.t + step, last_));
        if (!(meeting_.excess > 0)) break;
        failing_ = meeting_;
      }
    } else {
      for (double step = 1;; step *= 2) {
        if (failing_.t <= first_) {
          // At the end of the range: an answer where that end is a value like any other (a rate of 1), none where it is not.
          if (parameter_.cost_rises) return Found{value(first_), std::nullopt};
          search_.refuse_without_an_end(1);
        }
        failing_ = tried(std::max(failing_.t - step, first_));
        if (failing_.excess > 0) break;
        meeting_ = failing_;
      }
    }
    if (!(failing_.excess > meeting_.excess)) {
      throw Error{ErrorCode::invalid_argument, fmt::format("the cost does not {} with the {}, so there is nothing to search for",
                                                           parameter_.cost_rises ? "rise" : "fall", parameter_.name)};
    }
    return std::nullopt;
  }

  /// The search ends where the answers end, within some percent: they are dearest there, and the target is met with room to spare.
  std::optional<Found> leave_what_is_unknown() {
    for (int halvings = 0; search_.is_unknown(value(failing_.t)) && halvings < 40; ++halvings) {
      if (halvings >= 6 && search_.meets(value(meeting_.t))) return Found{value(meeting_.t), value(failing_.t)};
      const Tried middle = tried(failing_.t + (meeting_.t - failing_.t) / 2);
      (middle.excess > 0 ? failing_ : meeting_) = middle;
    }
    return std::nullopt;
  }

  /// The root by formulas; from the first value on of which only bounds on either side are known, by these.
  void narrow() {
    resolution_ = meeting_.resolution;
    bracket_ = {failing_.t, meeting_.t};
    if (resolution_ == 0) narrow_by_formulas(failing_, meeting_);
    if (resolution_ == 0) return;
    bracket_ = coarse_bracket(
        search_, [&](double t) { return value(t); }, bracket_.first, bracket_.second, resolution_);
    // Of the value that is asked for first when the answer is certified.
    static_cast<void>(search_.excess(beside(value(bracket_.first), -sign_, first_margin(resolution_))));
    if (search_.resolution() > 0) return;
    const auto below = tried(bracket_.second);
    // Formulas know the root's surroundings after all.
    const auto above = bracket_.first == bracket_.second && below.excess < 0 ? failing_ : tried(bracket_.first);
    const auto next = below.excess < 0 ? below : meeting_;
    if (!(above.excess > 0 && next.excess < 0)) return;
    const auto by_bounds = bracket_;
    resolution_ = 0;
    narrow_by_formulas(above, next);
    // A formula may know values that miss and none that meets: then the bracket of the bounds is the narrower one.
    if (resolution_ > 0) bracket_ = by_bounds;
  }
  void narrow_by_formulas(const Tried& above, const Tried& below) {
    const auto seen = [&](double t) {
      const auto found = tried(t);
      resolution_ = std::max(resolution_, found.resolution);
      return found.excess;
    };
    const auto near = [&](double a, double b) { return resolution_ > 0 || agree_to(50, a, b); };
    const auto found = narrow_root(seen, above.t, below.t, above.excess, below.excess, near, 100);
    bracket_ = {found.low, found.high};
  }

  /// The root finder's bracket may have closed on the root itself; steps outward until each side is certain again.
  [[nodiscard]] Found certified() const {
    const auto misses = [&](double x) { return search_.misses(x); };
    const auto meets = [&](double x) { return search_.meets(x); };
    const double above = value(bracket_.first);
    const double below = value(bracket_.second);
    const double nearest = outward(misses, above, -sign_, resolution_, value(failing_.t), search_.margin(above));
    // Where only bounds say so, the next one farther out may be beyond doubt.
    double missed = nearest;
    if (resolution_ > 0 && !search_.is_proved_to_miss(missed) && search_.is_bounded_below(missed)) {
      const double farther = above * (1 - sign_ * 32 * resolution_);
      if (search_.misses(farther) && search_.is_proved_to_miss(farther)) missed = farther;
    }
    return {outward(meets, below, sign_, resolution_, value(meeting_.t), search_.margin(below)), missed, nearest};
  }

  const Search& search_;
  const Parameter& parameter_;
  double sign_;
  double first_;
  double last_;
  Tried failing_{};
  Tried meeting_{};
  double resolution_ = 0;
  std::pair<double, double> bracket_{};
};

/// Of whole numbers no other lies between neighbours.
double gap_of(const Found& found, const Parameter& parameter) {
  if (!found.nearest) return 0;
  const double apart = std::abs(found.value - *found.nearest);
  return parameter.whole && apart <= 1 ? 0 : apart / found.value;
}

Found found_by(const Search& search, const Parameter& parameter) {
  return parameter.whole ? solve_whole(search, parameter) : OnTheLine{search, parameter}.solve();
}

/// The value found, or one a little farther out, whose cost meets the target as an account returns it, too.
Found met_by_an_account(const Search& search, Found found, const Target& target, const Parameter& parameter, const CostFunctions& cost) {
  if (!cost.account || parameter.whole) return found;
  constexpr int most_steps = 3;
  constexpr double farthest = 1e-2;
  const double start = found.value;
  const auto excess_at = [&](double x) { return cost.account(search.at(x)).upper / target.epsilon.value() - 1; };
  double value = start;
  double excess = excess_at(value);
  for (int i = 0; i < most_steps && excess > 0; ++i) {
    const double share = std::ldexp(excess, i + 1);
    value *= parameter.cost_rises ? 1 - share : 1 + share;
    if (!(std::abs(value / start - 1) <= farthest && value >= parameter.lowest && value <= parameter.highest && search.meets(value))) break;
    excess = excess_at(value);
    if (!(excess > 0)) found.value = value;
  }
  return found;
}

}  // namespace

Solution solve(const std::function<Event(double)>& event, const Target& target, const Parameter& parameter, const CostFunctions& cost) {
  const StandardFloatingPoint environment;
  if (target.epsilon.value() == 0) throw Error{ErrorCode::invalid_argument, "epsilon of the target is 0, must be greater than 0"};
  const Goal goal{.adjacency = target.adjacency,
                  .level = target.delta.value(),
                  .cost = [&](const Event& at) { return cost.delta(at, target.epsilon); },
                  .second_level = target.epsilon.value(),
                  .second = [&](const Event& at) { return cost.epsilon(at, target.delta); },
                  .resolution = cost.resolution,
                  .said = fmt::format("epsilon = {} at delta = {}", target.epsilon, target.delta),
                  .is_still_at =
                      [&](const Event& at) {
                        if (target.delta == Delta{0}) return fmt::format("epsilon is still {}", cost.epsilon(at, target.delta).upper);
                        return fmt::format("epsilon is still {}, and delta {}", cost.epsilon(at, target.delta).upper,
                                           cost.delta(at, target.epsilon).upper);
                      }};
  const Search search{event, goal, parameter};
  const Found found = met_by_an_account(search, found_by(search, parameter), target, parameter, cost);
  const auto& [value, failing, nearest] = found;
  const Event made = search.at(value);
  auto epsilon = search.second_at(value);
  if (cost.report) {
    const auto told = cost.report(made);
    epsilon = {std::max(told.lower, epsilon.lower), std::min(told.upper, epsilon.upper)};
  }
  return {.value = value,
          .event = made,
          .epsilon = epsilon,
          .delta = search.cost_at(value),
          .failing = failing,
          .failing_is_proved = !failing || search.is_proved_to_miss(*failing),
          .gap = gap_of(found, parameter)};
}

std::string not_tight(double gap) {
  return fmt::format("the nearest value that is not proved to meet the target is {:.3g} % away; a value between may meet it", 100 * gap);
}

Enclosure risk_of(const Event& event, const RiskTarget& target, const accounting::Effort& effort) {
  if (const auto* rate = std::get_if<RiskTarget::Rate>(&target.most)) {
    return accounting::true_positive_rate(event, rate->false_positive_rate, effort);
  }
  return accounting::advantage(event, effort);
}

namespace {

// Proved: docs/proofs/risk.md#tangents
/// The value at which the curve of true positives passes through a target, by the tangent there: true positives are at most delta(epsilon) +
/// e^epsilon alpha, so a target of (epsilon, delta) bounds them, and the best epsilon has the least noise.
class RateByTangents {
 public:
  RateByTangents(const std::function<Event(double)>& event, const RiskTarget::Rate& rate, Adjacency adjacency, const Parameter& parameter,
                 const accounting::Best& accountant)
      : event_{event}, rate_{rate}, adjacency_{adjacency}, parameter_{parameter}, accountant_{accountant} {}

  /// Nothing where the tangents lead nowhere.
  [[nodiscard]] std::optional<RiskSolution> solution() const {
    double t = tangent_of_gaussian_releases();
    std::optional<Solution> found;
    bool is_exact = false;
    double apart = 0.2;
    for (int round = 0; round < 8; ++round) {
      const double delta = delta_at(t);
      if (!(delta > 0) || t == 0) return std::nullopt;
      const Target line{.epsilon = Epsilon{std::abs(t)}, .delta = Delta{delta}, .adjacency = adjacency_};
      found = solve(event_, line, parameter_, accountant_);
      if (round == 0) is_exact = accounting::is_exact(found->delta);
      const double next = tangent_near(found->event, t, apart);
      const double finest = is_exact ? 2e-3 : 0.05;
      const double moved = std::abs(next - t);
      if (apart == finest && moved < (is_exact ? 2e-5 : 3e-3)) break;
      t = next;
      apart = moved < apart ? std::max(finest, apart / 10) : apart;
    }
    auto solution = certified(*found, t, is_exact);
    // Where a curve has kinks the parabola misses the tangent.
    constexpr double tight = 4e-3;
    const bool is_tight = solution.failing && solution.failing_is_proved &&
                          std::abs(*solution.failing - solution.value) <= (is_exact ? tight / 10 : tight) * solution.value;
    return is_tight || !solution.failing ? std::optional{std::move(solution)} : std::nullopt;
  }

 private:
  [[nodiscard]] double alpha() const { return rate_.false_positive_rate.value(); }
  /// Less than the target by what the digits of an answer are rounded by.
  [[nodiscard]] double beta() const {
    constexpr double share = 1e-9;
    const double target = rate_.true_positive_rate.value();
    return target - share * target;
  }

  /// Of N(0, 1) against N(mu, 1), whose curve passes through the target.
  [[nodiscard]] double tangent_of_gaussian_releases() const {
    const boost::math::normal_distribution<double> normal;
    const double a = boost::math::quantile(normal, alpha());
    const double b = boost::math::quantile(normal, beta());
    return (a * a - b * b) / 2;
  }

  /// The delta at epsilon |t| with which the line of slope e^t passes through the target, rounded down.
  [[nodiscard]] double delta_at(double t) const {
    const Upper odds = exp(Upper{Exact{std::abs(t)}});
    const Lower left = t > 0 ? Lower{Exact{beta()}} - odds * Exact{alpha()} : Lower{1} - Exact{alpha()} - odds * (Upper{1} - Exact{beta()});
    return left.value();
  }

  /// Where the bound on true positives of an event is nearly least: the vertex of a parabola through t, where it is beta, and two others.
  [[nodiscard]] double tangent_near(const Event& event, double t, double apart) const {
    const accounting::QuickCurve curve{event, accountant_.effort};
    const auto bound = [&](double x) {
      const double delta = curve(Epsilon{std::abs(x)}).upper;
      return x >= 0 ? delta + std::exp(x) * alpha() : 1 - std::exp(x) * (1 - delta - alpha());
    };
    const double left = bound(t - apart);
    const double right = bound(t + apart);
    const double bend = left - 2 * beta() + right;
    if (!(bend > 0)) return t + (left < right ? -4 : 4) * apart;
    return t + std::clamp(apart * (left - right) / (2 * bend), -4 * apart, 4 * apart);
  }

  [[nodiscard]] Enclosure rate_near(const Event& event, double t, bool is_exact) const {
    if (is_exact) return accounting::true_positive_rate(event, rate_.false_positive_rate, accountant_.effort);
    const accounting::QuickCurve curve{event, accountant_.effort};
    const auto misses = accounting::tradeoff_near([&](Epsilon at) { return curve(at); }, rate_.false_positive_rate, t);
    return {std::max(0.0, (Lower{1} - Upper{Exact{misses.upper}}).value()), std::min(1.0, (Upper{1} - Lower{Exact{misses.lower}}).value())};
  }

  [[nodiscard]] RiskSolution certified(const Solution& found, double t, bool is_exact) const {
    RiskSolution solution{.value = found.value,
                          .event = found.event,
                          .risk = rate_near(found.event, t, is_exact),
                          .failing = found.failing,
                          .failing_is_proved = false,
                          .gap = found.gap};
    // The line through the target lies above the curve.
    solution.risk.upper = std::min(solution.risk.upper, beta());
    if (!found.failing) return solution;
    for (const double share : {2e-8, 3e-4, 3e-3, 3e-2}) {
      if (share < 1e-4 && !is_exact) continue;
      const double tried = found.value * (parameter_.cost_rises ? 1 + share : 1 - share);
      if (!(tried > parameter_.lowest && tried < parameter_.highest)) break;
      if (rate_near(event_(tried), t, is_exact).lower > rate_.true_positive_rate.value()) {
        solution.failing = tried;
        solution.failing_is_proved = true;
        break;
      }
    }
    return solution;
  }

  const std::function<Event(double)>& event_;
  const RiskTarget::Rate& rate_;
  Adjacency adjacency_;
  const Parameter& parameter_;
  const accounting::Best& accountant_;
};
// Proved so far.

}  // namespace

RiskSolution solve(const std::function<Event(double)>& event, const RiskTarget& target, const Parameter& parameter,
                   const accounting::Best& accountant) {
  const StandardFloatingPoint environment;
  const auto* const rate = std::get_if<RiskTarget::Rate>(&target.most);
  if (rate != nullptr && !(rate->true_positive_rate > rate->false_positive_rate)) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("true-positive rate is {}, must be greater than the false-positive rate, {}, which is what guessing gets",
                            rate->true_positive_rate, rate->false_positive_rate)};
  }
  if (rate != nullptr && !parameter.whole) {
    try {
      if (auto found = RateByTangents{event, *rate, target.adjacency, parameter, accountant}.solution()) return *std::move(found);
    } catch (const Error& error) {
      // No tangent may be in reach where the target is.
      if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::unreachable) throw;
    }
  }
  const double level = rate != nullptr ? rate->true_positive_rate.value() : std::get<RiskTarget::Advantage>(target.most).most.value();
  const char* const word = rate != nullptr ? "true-positive rate" : "advantage";
  std::optional<std::pair<Event, Enclosure>> last;
  const auto cost = [&](const Event& at) {
    if (!last || !(last->first == at)) last = {at, risk_of(at, target, accountant.effort)};
    return last->second;
  };
  // What is narrower a formula gave; what is wide may still be a smooth bound from above.
  const auto resolution = [&] {
    const double share = last && last->second.upper > 0 ? last->second.width() / last->second.upper : 0;
    return share <= 1e-12 ? 0.0 : std::min(share, 1e-4) / 16;
  };
  const Goal goal{.adjacency = target.adjacency,
                  .level = level,
                  .cost = cost,
                  .second_level = level,
                  .second = cost,
                  .resolution = resolution,
                  .said = rate != nullptr
                              ? fmt::format("true-positive rate = {} at false-positive rate = {}", level, rate->false_positive_rate)
                              : fmt::format("advantage = {}", level),
                  .is_still_at = [&](const Event& at) { return fmt::format("{} is still {}", word, cost(at).upper); }};
  const Search search{event, goal, parameter};
  const Found found = found_by(search, parameter);
  const auto& [value, failing, nearest] = found;
  return {.value = value,
          .event = search.at(value),
          .risk = search.cost_at(value),
          .failing = failing,
          .failing_is_proved = !failing || search.is_proved_to_miss(*failing),
          .gap = gap_of(found, parameter)};
}

// Proved: docs/proofs/calibration.md#rho
RhoSolution solve(const std::function<Event(double)>& event, const RhoTarget& target, const Parameter& parameter) {
  const StandardFloatingPoint environment;
  if (target.most.value() == 0) invalid("rho of the target is 0, must be greater than 0");
  constexpr long precision = 128;
  const auto rho_of = [](const Event& at) {
    auto rho = accounting::zcdp_rho(at, precision).enclosure();
    // Elsewhere the formula bounds the rho from above alone.
    if (!accounting::gaussian_mu_squared(at, precision)) rho.lower = 0;
    return rho;
  };
  const double level = target.most.value();
  const Goal goal{.adjacency = target.adjacency,
                  .level = level,
                  .cost = rho_of,
                  .second_level = level,
                  .second = rho_of,
                  .resolution = {},
                  .said = fmt::format("rho = {}", target.most),
                  .is_still_at = [&](const Event& at) { return fmt::format("rho is still {}", rho_of(at).upper); }};
  const Search search{event, goal, parameter};
  const Found found = found_by(search, parameter);
  const auto& [value, failing, nearest] = found;
  return {.value = value,
          .event = search.at(value),
          .rho = search.cost_at(value),
          .failing = failing,
          .failing_is_proved = !failing || search.is_proved_to_miss(*failing),
          .gap = gap_of(found, parameter)};
}
// Proved so far.

Solution solve(const std::function<Event(double)>& event, const Target& target, const Parameter& parameter,
               const accounting::Best& accountant) {
  return solve(event, target, parameter, accounting::best_cost(target, accountant.effort));
}

}  // namespace surety
