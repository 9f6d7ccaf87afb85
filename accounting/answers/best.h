// The best answer: every accountant that has a theorem for the event is asked, and the tightest certified bounds are kept.
//
// Each opinion is an enclosure of the same number, proved by itself. So the number lies in all of them, and two that do not
// overlap show a defect, which is reported and never averaged away. Who is asked, and in which order, says accountant_names().
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <surety/accounting/accountants/seam/accountant.h>
#include <surety/accounting/answers/opinion.h>
#include <surety/accounting/laws/given/curves.h>

namespace surety::accounting {

/// The tightest upper bound among the accountants that share no computation with what gave the answer's; nullptr when there is none. A defect
/// in a computation that two share would move both.
[[nodiscard]] const Opinion* second_opinion(const BestAnswer& best);

/// The names of all that are asked, in the order in which they are told of.
[[nodiscard]] std::span<const std::string_view> accountant_names();
/// Those of them that have a theorem for what `event` is made of; see accountant.h.
[[nodiscard]] std::vector<std::string_view> supporting_accountants(const Event& event);

/// The width to aim at where epsilon is about so much: `width` of it below 1, and `width` itself where less than by default is asked for and
/// that is less.
[[nodiscard]] double width_at(double epsilon, const Effort& effort);

/// Whose bounds a best answer holds: `needed` stops at the first accountant whose interval is known to 2e-7 and as narrow as requested.
/// The value and its accountant are the same to the last bit.
enum class Bounds { all, needed };

/// epsilon(delta) of `event`, and delta(epsilon).
/// \throws NoTheorem, which is an Error{unsupported}, when no accountant has a theorem for the event: which part, why, and under which
///         adjacency there is one (asking.h: it knows each one's reason); Error{internal} when two enclosures do not overlap.
[[nodiscard]] BestAnswer best_epsilon(const Event& event, Delta delta, const Effort& effort = {}, Bounds bounds = Bounds::all);
[[nodiscard]] BestAnswer best_delta(const Event& event, Epsilon epsilon, const Effort& effort = {}, Bounds bounds = Bounds::all);

/// The accountant that is all others: the value of best_delta and best_epsilon.
struct Best {
  static constexpr std::string_view name = "best";
  Effort effort = {};
};
[[nodiscard]] Enclosure delta(const Best& accountant, const Event& event, Epsilon epsilon);
[[nodiscard]] Enclosure epsilon(const Best& accountant, const Event& event, Delta delta);
/// The smallest part of `event` that somebody refuses, where everybody refuses one; nothing where somebody has a theorem for the event.
[[nodiscard]] std::optional<Refusal> why_not(const Best& accountant, const Event& event);
[[nodiscard]] inline bool supports(const Best& accountant, const Event& event) { return !why_not(accountant, event); }

/// The values of these, with less to do where one accountant knows the number so well that the others could not lower its upper end by a
/// millionth: then they are not asked. For curves; searches have best_cost.h. \throws as above.
[[nodiscard]] Enclosure quick_epsilon(const Event& event, Delta delta, const Effort& effort = {});
[[nodiscard]] Enclosure quick_delta(const Event& event, Epsilon epsilon, const Effort& effort = {});

/// quick_delta of one event at many epsilons: what was prepared for one serves others near it. Copies share that; not for several threads
/// at once. \throws as quick_delta.
class QuickCurve {
 public:
  explicit QuickCurve(Event event, const Effort& effort = {});
  [[nodiscard]] Enclosure operator()(Epsilon epsilon) const;

 private:
  Event event_;
  Effort effort_;
  std::function<Enclosure(Epsilon)> by_one_;  ///< of the first accountant that might be exact, where it prepares curves
};

/// The curves that accountants take from others, by all of them: a search asks for those of its runs, and so for these again. They live as long as
/// the process does.
[[nodiscard]] const OtherCurves& curves_of_all();

}  // namespace surety::accounting
