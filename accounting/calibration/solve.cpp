#include <surety/accounting/calibration/solve.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/calibration/best_cost.h>
#include <surety/accounting/events/format.h>
#include <surety/accounting/numbers/floating_point.h>
#include <surety/accounting/numbers/root.h>

namespace surety {
namespace {

/// One search: how far a value is from the target, and what it takes to say so.
class Search {
 public:
  Search(const std::function<Event(double)>& event, const Target& target, const Parameter& parameter, const CostFunctions& cost)
      : event_{event}, target_{target}, parameter_{parameter}, cost_{cost} {
    if (target.epsilon.value() == 0) throw Error{ErrorCode::invalid_argument, "epsilon of the target is 0, must be greater than 0"};
  }

  [[nodiscard]] Event at(double x) const {
    auto made = event_(x);
    if (made.adjacency() != target_.adjacency) {
      throw Error{ErrorCode::invalid_argument,
                  fmt::format("adjacency of the event is {}, must be the target's, {}", name(made.adjacency()), name(target_.adjacency))};
    }
    return made;
  }

  /// log(certified delta / target delta), positive where the target is missed; bounded, since both may be 0.
  [[nodiscard]] double excess(double x) const {
    const auto found = delta_at(x);
    if (!found) return far;
    const double upper = found->upper;
    if (upper == 0) return -far;
    const double ratio = std::clamp(std::log(upper) - std::log(target_.delta.value()), -far, far);
    constexpr double least = std::numeric_limits<double>::min();
    return upper <= target_.delta.value() ? std::min(ratio, -least) : std::max(ratio, least);
  }
  [[nodiscard]] bool misses(double x) const { return excess(x) > 0; }
  /// No accountant can show that x meets the target.
  [[nodiscard]] bool is_proved_to_miss(double x) const {
    const auto found = delta_at(x);
    return !found || found->lower > target_.delta.value();
  }
  /// log(certified epsilon / target epsilon), likewise; nearly linear in the logarithm of the parameter, so that few values find its root.
  [[nodiscard]] double epsilon_excess(double x) const {
    if (!allowed(x)) return far;
    const auto found = epsilon_at(x);
    const double proved = found.lower > target_.epsilon.value() ? found.lower : found.upper;
    return proved == 0 ? -far : std::clamp(std::log(proved / target_.epsilon.value()), -far, far);
  }
  /// A value whose delta meets the target by less than the width of epsilon's enclosure does not meet it yet.
  [[nodiscard]] bool meets(double x) const { return !misses(x) && epsilon_at(x).upper <= target_.epsilon.value(); }

  /// To which share of epsilon the last answer is known; 0 where a formula gave it.
  [[nodiscard]] double resolution() const { return cost_.resolution ? cost_.resolution() : 0; }

  [[nodiscard]] Solution solution(double x, std::optional<double> failing) const {
    const Event found = at(x);
    auto epsilon = epsilon_at(x);
    if (cost_.report) {
      const auto told = cost_.report(found);
      epsilon = {std::max(told.lower, epsilon.lower), std::min(told.upper, epsilon.upper)};
    }
    return {.value = x,
            .event = found,
            .epsilon = epsilon,
            .delta = *delta_at(x),
            .failing = failing,
            .failing_is_proved = !failing || is_proved_to_miss(*failing)};
  }

  [[noreturn]] void refuse_out_of_reach(double best) const {
    const Event last = at(best);
    throw Error{ErrorCode::unreachable,
                fmt::format("epsilon = {} at delta = {} is out of reach for '{}': with a {} of {:.6g} epsilon is still {}, and delta {}",
                            target_.epsilon, target_.delta, describe(at(std::clamp(1.0, parameter_.lowest, parameter_.highest))),
                            parameter_.name, best, cost_.epsilon(last, target_.delta).upper, cost_.delta(last, target_.epsilon).upper)};
  }
  [[noreturn]] void refuse_without_an_end(double x) const {
    throw Error{ErrorCode::unreachable,
                fmt::format("epsilon = {} at delta = {} is met by '{}' with every {}, so there is no {} one", target_.epsilon,
                            target_.delta, describe(at(x)), parameter_.name, parameter_.cost_rises ? "largest" : "smallest")};
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

  /// What was asked before is not asked again. Nothing where x is not allowed.
  [[nodiscard]] std::optional<Enclosure> delta_at(double x) const {
    if (const auto known = deltas_.find(x); known != deltas_.end()) return known->second;
    const auto event = allowed(x);
    if (!event) return std::nullopt;
    return deltas_.emplace(x, cost_.delta(*event, target_.epsilon)).first->second;
  }
  [[nodiscard]] Enclosure epsilon_at(double x) const {
    if (const auto known = epsilons_.find(x); known != epsilons_.end()) return known->second;
    return epsilons_.emplace(x, cost_.epsilon(at(x), target_.delta)).first->second;
  }

  const std::function<Event(double)>& event_;
  const Target& target_;
  const Parameter& parameter_;
  const CostFunctions& cost_;
  mutable std::map<double, Enclosure> deltas_;
  mutable std::map<double, Enclosure> epsilons_;
};

/// Over whole numbers: doubling, then bisection.
Solution solve_whole(const Search& search, const Parameter& parameter) {
  const double start = parameter.lowest;
  static_cast<void>(search.at(start));
  if (parameter.cost_rises) {
    if (!search.meets(start)) search.refuse_out_of_reach(start);
    double meeting = start;
    double failing = start;
    for (double step = 1;; step *= 2) {
      if (meeting == parameter.highest) return search.solution(meeting, std::nullopt);
      failing = std::min(meeting + step, parameter.highest);
      if (!search.meets(failing)) break;
      meeting = failing;
    }
    while (failing - meeting > 1) {
      const double middle = std::floor(meeting + (failing - meeting) / 2);
      (search.meets(middle) ? meeting : failing) = middle;
    }
    return search.solution(meeting, failing);
  }
  if (search.meets(start)) return search.solution(start, std::nullopt);
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
  return search.solution(meeting, failing);
}

/// Where cost is known to `resolution` only, a bracket about as wide, from one that is certain.
template <class Value>
std::pair<double, double> coarse_bracket(const Search& search, const Value& value, double failing, double meeting, double resolution) {
  const auto excess = [&](double t) { return search.epsilon_excess(value(t)); };
  const double above = excess(failing);
  const double below = excess(meeting);
  // At the edge the bounds on epsilon and on delta may differ; then that is where the root lies.
  if (!(above > 0)) return {failing, failing};
  if (below > 0) return {meeting, meeting};
  if (below == 0) return {failing, meeting};
  const auto near = [&](double a, double b) { return std::abs(b - a) <= resolution; };
  const auto bracket = accounting::narrow_root(excess, failing, meeting, above, below, near, 60);
  return {bracket.low, bracket.high};
}

/// The first of the values start (1 +- margin), margins doubling from half of `resolution`, at which `holds` does.
template <class Holds>
double outward(const Holds& holds, double start, double direction, double resolution, double fallback) {
  constexpr int linear = 4;
  const int first = resolution > 0 ? std::ilogb(resolution) - 1 : -52;
  const int last = std::max(-11, first + 7);
  const auto candidate = [&](int exponent) { return start * (1 + direction * std::ldexp(1.0, exponent)); };
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

/// Over the reals, in t with x = 2^t or 2^-t, so that cost falls with t.
Solution solve_real(const Search& search, const Parameter& parameter) {
  const double sign = parameter.cost_rises ? -1 : 1;
  const auto value = [&](double t) { return std::clamp(std::exp2(sign * t), parameter.lowest, parameter.highest); };
  const double first = sign > 0 ? std::log2(parameter.lowest) : -std::log2(parameter.highest);
  const double last = sign > 0 ? std::log2(parameter.highest) : -std::log2(parameter.lowest);
  const auto excess = [&](double t) { return search.excess(value(t)); };

  // A value tried: how far from the target, and to which share of epsilon that is known.
  struct Tried {
    double t;
    double excess;
    double resolution;
  };
  const auto tried = [&](double t) {
    const double found = excess(t);
    return Tried{t, found, search.resolution()};
  };
  static_cast<void>(search.at(value(std::clamp(0.0, first, last))));
  Tried failing = tried(std::clamp(0.0, first, last));
  Tried meeting = failing;
  if (failing.excess > 0) {
    for (double step = 1;; step *= 2) {
      if (meeting.t >= last) search.refuse_out_of_reach(value(last));
      meeting = tried(std::min(meeting.t + step, last));
      if (!(meeting.excess > 0)) break;
      failing = meeting;
    }
  } else {
    for (double step = 1;; step *= 2) {
      if (failing.t <= first) {
        // At the end of the range: an answer where that end is a value like any other (a rate of 1), none where it is not.
        if (parameter.cost_rises) return search.solution(value(first), std::nullopt);
        search.refuse_without_an_end(1);
      }
      failing = tried(std::max(failing.t - step, first));
      if (failing.excess > 0) break;
      meeting = failing;
    }
  }
  if (!(failing.excess > meeting.excess)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("the cost does not {} with the {}, so there is nothing to search for",
                                                         parameter.cost_rises ? "rise" : "fall", parameter.name)};
  }

  // The root by formulas; from the first value on of which only bounds on either side are known, by these.
  double resolution = meeting.resolution;
  std::pair<double, double> bracket{failing.t, meeting.t};
  const auto by_formulas = [&](const Tried& above, const Tried& below) {
    const auto seen = [&](double t) {
      const auto found = tried(t);
      resolution = std::max(resolution, found.resolution);
      return found.excess;
    };
    const auto near = [&](double a, double b) { return resolution > 0 || accounting::agree_to(50, a, b); };
    const auto found = accounting::narrow_root(seen, above.t, below.t, above.excess, below.excess, near, 100);
    bracket = {found.low, found.high};
  };
  if (resolution == 0) by_formulas(failing, meeting);
  if (resolution > 0) {
    bracket = coarse_bracket(search, value, bracket.first, bracket.second, resolution);
    const auto below = tried(bracket.second);
    const auto above = tried(bracket.first);
    if (below.resolution == 0 && below.excess < 0 && above.excess > 0) {
      // Formulas know the root's surroundings after all.
      resolution = 0;
      by_formulas(above, below);
    }
  }
  // The root finder's bracket may have closed on the root itself; step outward until each side is certain again.
  const auto misses = [&](double x) { return search.misses(x); };
  const auto meets = [&](double x) { return search.meets(x); };
  double missed = outward(misses, value(bracket.first), -sign, resolution, value(failing.t));
  // Where only bounds say so, the next one farther out may be beyond doubt.
  if (resolution > 0 && !search.is_proved_to_miss(missed)) {
    const double farther = value(bracket.first) * (1 - sign * 32 * resolution);
    if (search.misses(farther) && search.is_proved_to_miss(farther)) missed = farther;
  }
  const double met = outward(meets, value(bracket.second), sign, resolution, value(meeting.t));
  return search.solution(met, missed);
}

}  // namespace

Parameter parameter_of(std::string_view text, Adjacency adjacency, const std::string& name) {
  struct Field {
    std::string_view field;
    bool cost_rises;
    double lowest;
    double highest;
  };
  // What it does to the cost when this number of an event grows, and where it may lie.
  constexpr double tiny = 0x1p-600;
  constexpr double huge = 0x1p600;
  constexpr double largest_count = 0x1p53;
  static constexpr std::array fields{Field{"noise_multiplier", false, tiny, huge},
                                     Field{"scale", false, tiny, huge},
                                     Field{"sigma", false, tiny, huge},
                                     Field{"records", false, 1, largest_count},
                                     Field{"sampling_rate", true, tiny, 1},
                                     Field{"epsilon", true, tiny, huge},
                                     Field{"rho", true, tiny, huge},
                                     Field{"delta", true, tiny, 1},
                                     Field{"count", true, 1, largest_count},
                                     Field{"batch_size", true, 1, largest_count},
                                     Field{"sensitivity", true, 1, largest_count}};
  std::optional<Parameter> found;
  for (const auto& use : uses_of_name(text, adjacency, name)) {
    const auto* const field = std::find_if(fields.begin(), fields.end(), [&](const Field& known) { return known.field == use.field; });
    std::string said = use.field;
    std::replace(said.begin(), said.end(), '_', ' ');
    if (field == fields.end()) {
      throw Error{ErrorCode::invalid_argument, fmt::format("the name '{}' stands for a {}, which cannot be solved for", name, said)};
    }
    if (!found) {
      found =
          Parameter{.name = said, .lowest = field->lowest, .highest = field->highest, .whole = use.whole, .cost_rises = field->cost_rises};
    } else if (found->whole != use.whole || found->cost_rises != field->cost_rises) {
      throw Error{ErrorCode::invalid_argument,
                  fmt::format("the name '{}' stands for a {} and for a {}, must stand for numbers that move the cost alike", name,
                              found->name, said)};
    } else {
      found->lowest = std::max(found->lowest, field->lowest);
      found->highest = std::min(found->highest, field->highest);
    }
  }
  if (!found) {
    static_cast<void>(parse_event(text, adjacency));  // which names another unknown name, or what else is wrong
    throw Error{ErrorCode::invalid_argument, fmt::format("--solve is '{}', must be a name in the event '{}'", name, one_line(text))};
  }
  return *found;
}

Solution solve(const std::function<Event(double)>& event, const Target& target, const Parameter& parameter, const CostFunctions& cost) {
  const accounting::StandardFloatingPoint environment;
  const Search search{event, target, parameter, cost};
  return parameter.whole ? solve_whole(search, parameter) : solve_real(search, parameter);
}

Solution solve(const std::function<Event(double)>& event, const Target& target, const Parameter& parameter,
               const accounting::Best& accountant) {
  return solve(event, target, parameter, accounting::best_cost(target, accountant.effort));
}

}  // namespace surety
