// Calibration of anything: the value of one number in an event at which the certified cost just meets a target.
//
// Definitions:
//   parameter  the number sought: its range, whether it is whole, and whether the event costs more or less as it grows
//   meets      the certified upper bounds of delta (at the target's epsilon) and of epsilon (at its delta), or of what an attacker gets, are
//              within the target
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/calibration/cost_functions.h>
#include <surety/accounting/calibration/parameter.h>
#include <surety/accounting/events/event.h>
#include <surety/accounting/events/units.h>
#include <surety/base/numbers/enclosure.h>

namespace surety {

/// A share of a value: an answer whose failing neighbour is farther away is not tight, and a value with less noise may meet the target.
inline constexpr double tight_gap = 0.01;

struct Solution {
  double value;                   ///< meets the target
  Event event;                    ///< with that value
  Enclosure epsilon;              ///< its cost at the target's delta
  Enclosure delta;                ///< its cost at the target's epsilon
  std::optional<double> failing;  ///< the nearest value tried that does not meet it; nothing when every value in the range meets it
  bool failing_is_proved = true;  ///< the lower bound of its cost is beyond the target, too: nobody can show that it meets it
  /// How far the nearest value that is not proved to meet the target is from `value`, as a share of it; 0 for whole numbers that are neighbours.
  double gap = 0;

  /// The nearest value that is not proved to meet the target is at most a hundredth away.
  [[nodiscard]] bool is_tight() const { return gap <= tight_gap; }
};

/// The value that meets `target` with the least noise (or the most use): the smallest where cost falls with the parameter, the
/// largest where it rises. Found by bracketing (toms748, or bisection over integers) and then certified at both ends: `value`
/// meets the target, `failing` does not. Their relative distance is at most 1e-12 with an exact accountant, and otherwise what
/// the widths of its enclosures (`resolution`) leave open; for whole numbers they are neighbours.
///
/// A value at which `event` throws Error{invalid_argument} counts as one that does not meet the target, except the first; so does one at
/// which nobody has an answer (some events have one for much noise only), unless there is none at any value tried.
/// Monotony is assumed between the points tried, and checked at them.
///
/// \throws Error{invalid_argument} when target.epsilon is 0, the event's adjacency is not the target's, or the cost does not move as
///         said; Error{unreachable} naming what is reachable when no value meets the target, or when all of an open range does;
///         Error{unsupported} as `cost` when it has no answer anywhere.
/// \complexity some 20 evaluations of delta, and two of epsilon.
[[nodiscard]] Solution solve(const std::function<Event(double)>& event, const Target& target, const Parameter& parameter,
                             const CostFunctions& cost);
/// The same by all accountants together, as the command's `calibrate`.
[[nodiscard]] Solution solve(const std::function<Event(double)>& event, const Target& target, const Parameter& parameter,
                             const accounting::Best& accountant = {});

/// A line for people about an answer that is not tight: "the nearest value that is not proved to meet the target is 41 % away; ...".
[[nodiscard]] std::string not_tight(double gap);

/// What an attacker may get at most (accounting/answers/risk.h), in place of (epsilon, delta).
struct RiskTarget {
  struct Advantage {
    Probability most;
  };
  /// \pre true_positive_rate > false_positive_rate, which is what guessing gets.
  struct Rate {
    Probability true_positive_rate;
    Probability false_positive_rate;
  };
  std::variant<Advantage, Rate> most;
  Adjacency adjacency;
};
/// That of an event which the target bounds. \throws Error{unsupported} as best_delta.
[[nodiscard]] Enclosure risk_of(const Event& event, const RiskTarget& target, const accounting::Effort& effort = {});

struct RiskSolution {
  double value;                   ///< meets the target
  Event event;                    ///< with that value
  Enclosure risk;                 ///< its advantage or true-positive rate
  std::optional<double> failing;  ///< as in Solution
  bool failing_is_proved = true;
  double gap = 0;  ///< as in Solution

  [[nodiscard]] bool is_tight() const { return gap <= tight_gap; }
};

/// The value that meets a target of risk, certified at both ends as above.
/// \throws Error{invalid_argument} when the event's adjacency is not the target's, the rates are no target, or the cost does not move as
///         said; Error{unreachable} as above. \complexity some 40 times that of `risk_of`.
[[nodiscard]] RiskSolution solve(const std::function<Event(double)>& event, const RiskTarget& target, const Parameter& parameter,
                                 const accounting::Best& accountant = {});

/// Zero-concentrated privacy in place of (epsilon, delta): the Renyi divergence of each order a > 1 is at most rho a.
struct RhoTarget {
  Rho most;
  Adjacency adjacency;
};

struct RhoSolution {
  double value;  ///< meets the target
  Event event;   ///< with that value
  /// The upper end bounds the event's rho. Of Gaussian releases and their compositions the exact rho is inside; else the lower end is 0.
  Enclosure rho;
  std::optional<double> failing;  ///< as in Solution
  bool failing_is_proved = true;
  double gap = 0;  ///< as in Solution

  [[nodiscard]] bool is_tight() const { return gap <= tight_gap; }
};

/// The value that meets a target of rho by the bound of the zcdp accountant, certified at both ends as above.
/// \throws Error{invalid_argument} when the target is 0, the event's adjacency is not the target's, or the cost does not move as said;
///         Error{unreachable} as above; Error{unsupported} naming a part for which no rho is known, or one of xi above 0.
/// \source docs/proofs/calibration.md#rho. \complexity microseconds for each value tried.
[[nodiscard]] RhoSolution solve(const std::function<Event(double)>& event, const RhoTarget& target, const Parameter& parameter);

}  // namespace surety
