// The accountants that are asked for the best answer, one at a time.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <surety/accounting/answers/opinion.h>
#include <surety/accounting/answers/registry.h>
#include <surety/accounting/laws/given/curves.h>

namespace surety::accounting {

/// How privacy-loss is asked: up to how many times as wide where memory is short, and whether for the upper end alone, which is known
/// with far fewer points where the curve is flat. Tuning, where whether its upper end is at most a level is all that is asked.
struct PldRequest {
  static constexpr double most_widening = 0x1p18;
  double widest = most_widening;
  bool upper_only = false;
  std::optional<double> level = std::nullopt;  ///< what the upper end is compared with: the accountants' `level`
  bool is_independent_bound = false;           ///< the value is known: no search for a narrower one where rounds are rare
};

/// What one accountant says: an enclosure, or the reason why it has none, which is a missing theorem, too little memory, or a number on the
/// way that it cannot hold. \throws Error of any other kind; Error{invalid_argument} unless effort.width is positive.
[[nodiscard]] Opinion opinion_of(AccountantPlace accountant, const Event& event, const Question& question, const Effort& effort,
                                 const OtherCurves& others, const PldRequest& request = {});
/// Which part of `event` it has no theorem for, and why; see accountant.h.
[[nodiscard]] std::optional<Refusal> why_not(AccountantPlace accountant, const Event& event, const OtherCurves& others);

/// Whose reason is told where nobody has a theorem: privacy-loss takes most kinds of events, of a search alone tuning knows more.
[[nodiscard]] AccountantPlace most_telling(const Event& event);

/// Why it has none, with the event as "it".
[[nodiscard]] std::string reason_of(const Opinion& opinion, const Event& event);

/// Nobody has an answer. Its message is one sentence, with the reason of the most telling accountant.
class NoTheorem : public Error {
 public:
  NoTheorem(const std::string& sentence, std::vector<Opinion> opinions)
      : Error{ErrorCode::unsupported, sentence}, opinions_{std::move(opinions)} {}
  /// Of each that was asked why it has none.
  [[nodiscard]] const std::vector<Opinion>& opinions() const noexcept { return opinions_; }

 private:
  std::vector<Opinion> opinions_;
};

/// All of them. \throws NoTheorem where nobody has an answer, and as best_epsilon and best_delta.
[[nodiscard]] BestAnswer best_of(const Event& event, std::vector<Opinion> opinions);

/// In the order in which they are asked while others may still add something: by their turns.
inline constexpr std::array<AccountantPlace, accountants_asked> asking_order = [] {
  std::array<AccountantPlace, accountants_asked> order{};
  for (AccountantPlace i = 0; i < accountants_asked; ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [](AccountantPlace a, AccountantPlace b) { return asked_turns[a] < asked_turns[b]; });
  return order;
}();

/// How privacy-loss is asked beside what `participation` says: where the draws alone say it, a wide grid says nothing more, and takes
/// seconds.
[[nodiscard]] PldRequest beside(const Opinion& participation);

/// The same beside what `contour` says: of several different laws, each of which it transforms by itself, it is a second opinion of the usual
/// width where the contour leaves nothing to narrow.
[[nodiscard]] Effort beside(const Event& event, const Opinion& contour, const Effort& effort);

/// Whether privacy-loss need not be asked beside what `contour` says: it transforms each of many different laws by itself, which takes
/// seconds, for what the contour has said more narrowly. `left_out()` is its opinion then.
[[nodiscard]] bool says_no_more(const Event& event, const Opinion& contour);
[[nodiscard]] Opinion left_out();

/// Whether delta is 0 and the closed form, which has no theorem for the event's curve, knows its largest loss: a grid would make a law to say less.
[[nodiscard]] bool is_known_without_a_law(const Event& event, const Question& question, const Opinion& closed_form,
                                          const OtherCurves& others);

/// What everybody says, in the order of the list. Participation is asked first; privacy-loss is left out where it says no more, and else asked
/// by `by_pld` beside what contour and participation say.
/// \param known by place, the bounds that were computed before; empty for none
using AskPld = std::function<Opinion(const Opinion& by_contour, const Opinion& by_draws)>;
[[nodiscard]] std::vector<Opinion> everybody(const Event& event, const Question& question, const Effort& effort, const OtherCurves& others,
                                             const AskPld& by_pld, std::vector<std::optional<Opinion>> known = {});

/// What those say who are asked in this order until what they say together is enough. `ask` is given how to ask a grid beside what was said.
/// \pre participation comes before privacy-loss.
using AskOne = std::function<Opinion(AccountantPlace accountant, const PldRequest& grid)>;
using IsEnough = std::function<bool(AccountantPlace last, const Enclosure& together)>;
struct InTurn {
  std::vector<Opinion> opinions;
  std::optional<Enclosure> together;  ///< nothing where none has an answer
  PldRequest grid;
};
[[nodiscard]] InTurn in_turn(const Event& event, std::span<const AccountantPlace> order, const AskOne& ask, const IsEnough& is_enough);

/// The enclosure is so narrow that nobody could move its upper end by anything that counts, or its upper end is below the normal numbers of double.
[[nodiscard]] bool is_exact(const Enclosure& value);

}  // namespace surety::accounting
