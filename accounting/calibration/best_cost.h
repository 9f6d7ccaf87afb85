// What a search asks: on which side of a target the best certified cost of an event lies.
//
// All accountants count, as in best.h, but not all are asked each time: the one that was tightest last is asked first, and the next only
// while the bounds so far leave it open whether the target is met. An upper end within the target settles that it is met, a lower end
// beyond it that no accountant can show that it is; otherwise everybody is asked before an event counts as one that misses.
#pragma once

#include <optional>

#include <surety/accounting/answers/asking.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/calibration/cost_functions.h>

namespace surety::accounting {

class BestCost {
 public:
  /// Searches aim at effort.width in epsilon as a share of the target's.
  explicit BestCost(const Target& target, const Effort& effort = {});

  /// Enclosures of delta(at) and epsilon(at). At the target's own numbers they are as narrow as the side asks for, and never wider than
  /// what everybody together says where the target is missed by a bound, but not by a proof. \throws as best_epsilon.
  [[nodiscard]] Enclosure delta(const Event& event, Epsilon at);
  [[nodiscard]] Enclosure epsilon(const Event& event, Delta at);

  /// How exact the last answer is, as a share of its epsilon: 0 where a formula gave it, more where bounds on either side did.
  [[nodiscard]] double resolution() const;

  /// For `solve`; refers to this object.
  [[nodiscard]] CostFunctions functions();

  /// What everybody says of epsilon at the target's delta, as best_epsilon; above epsilon = 16 grids aim at the search's width here, too.
  /// An upper end that `epsilon` found last counts as well.
  [[nodiscard]] BestAnswer report(const Event& event) const;

 private:
  /// The upper end by privacy-loss, which is to be compared with the target's; the last one is kept.
  [[nodiscard]] Opinion upper_by_grid(const Event& event, const Question& question, double widest) const;
  /// The target's number for such a question, where it is one of its own and positive and finite.
  [[nodiscard]] std::optional<double> level_of(const Question& question) const;
  [[nodiscard]] Opinion reported_by_grid(const Event& event, const Question& question, const Opinion& by_draws) const;
  [[nodiscard]] Enclosure settled(const Event& event, const Question& question, double level, AccountantPlace& leader);

  Target target_;
  Effort asked_;
  Effort effort_;  ///< of the search
  AccountantPlace delta_leader_ = place_of<ClosedForm>;
  AccountantPlace epsilon_leader_ = place_of<ClosedForm>;
  bool last_is_wide_ = false;
  struct Remembered {
    Event event;
    Question question;
    Opinion opinion;
  };
  mutable std::optional<Remembered> by_grid_;
};

/// The same for `solve` and `calibrate`, with a state of its own and its report: the cost that they ask by default.
[[nodiscard]] CostFunctions best_cost(const Target& target, const Effort& effort = {});

}  // namespace surety::accounting
