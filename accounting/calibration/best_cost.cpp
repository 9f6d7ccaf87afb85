#include <surety/accounting/calibration/best_cost.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <surety/accounting/answers/asked.h>
#include <surety/accounting/answers/rare_batches.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/last_few.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting {
namespace {

/// Up to it a grid of the usual width is quick.
constexpr double largest_quick_epsilon = 16;

/// The leader first. Participation before privacy-loss even then.
std::array<AccountantPlace, accountants_asked> led_by(AccountantPlace leader) {
  auto asked = asking_order;
  const auto last = std::find(asked.begin(), asked.end(), leader) + 1;
  std::rotate(asked.begin(), last - 1, last);
  if (leader == place_of<Pld>) {
    const auto draws = std::find(asked.begin(), asked.end(), place_of<Participation>) + 1;
    std::rotate(asked.begin(), draws - 1, draws);
  }
  return asked;
}

/// What an accountant says, kept for a while unless a formula says it: a plan is calibrated for its noise, for its report, and again by who runs it.
Opinion kept_opinion(AccountantPlace accountant, const Event& event, const Question& question, const Effort& effort,
                     const PldRequest& grid) {
  const auto make = [&] { return opinion_of(accountant, event, question, effort, grid); };
  if (accountant == place_of<ClosedForm>) return make();
  struct Key {
    AccountantPlace accountant;
    Question question;
    double width;
    double widest;
    bool upper_only;
    std::optional<double> level;
    Event event;
    bool operator==(const Key&) const = default;
  };
  static auto& kept = *new LastFew<Key, Opinion, laws_of_a_question>;
  return kept.of({accountant, question, effort.width, grid.widest, grid.upper_only, grid.level, event}, make);
}

}  // namespace

BestCost::BestCost(const Target& target, const Effort& effort)
    : target_{target}, asked_{effort}, effort_{.width = std::max(1.0, target.epsilon.value()) * width_at(target.epsilon.value(), effort)} {}

std::optional<double> BestCost::level_of(const Question& question) const {
  std::optional<double> level;
  if (question == Question{target_.delta}) level = target_.epsilon.value();
  if (question == Question{target_.epsilon}) level = target_.delta.value();
  // Nothing is a share away from 0, or near infinity.
  return level && *level > 0 && *level < infinity ? level : std::nullopt;
}

Opinion BestCost::upper_by_grid(const Event& event, const Question& question, double widest) const {
  if (!by_grid_ || !(by_grid_->question == question) || !(by_grid_->event == event)) {
    const PldRequest grid{.widest = widest, .upper_only = true, .level = level_of(question)};
    by_grid_ = {event, question, kept_opinion(place_of<Pld>, event, question, effort_, grid)};
  }
  return by_grid_->opinion;
}

Enclosure BestCost::settled(const Event& event, const Question& question, double level, AccountantPlace& leader) {
  const StandardFloatingPoint environment;
  AccountantPlace tightest = leader;
  std::optional<double> least;
  bool misses = false;
  auto said = in_turn(
      event, led_by(leader),
      [&](AccountantPlace accountant, const PldRequest& grid) {
        return accountant == place_of<Pld> ? upper_by_grid(event, question, grid.widest)
                                           : kept_opinion(accountant, event, question, effort_, {.level = level_of(question)});
      },
      [&](AccountantPlace accountant, const Enclosure& together) {
        if (!least || together.upper < *least) tightest = accountant;
        least = together.upper;
        // Who proves that a target is missed need not be the one to prove that it is met.
        misses = together.lower > level;
        return misses || together.upper <= level || is_exact(together);
      });
  if (misses) {
    last_is_wide_ = false;
    return *said.together;
  }
  leader = tightest;
  last_is_wide_ = said.together && !is_exact(*said.together) &&
                  (tightest == place_of<Pld> || tightest == place_of<Participation> || tightest == place_of<Choices>);
  if (!said.together) return best_of(event, std::move(said.opinions)).value;  // which says why there is none
  return with_rare_batches(event, question, *said.together);
}

Enclosure BestCost::delta(const Event& event, Epsilon at) {
  // Delta is 0 exactly where no loss is larger, which may be known without the curve.
  if (target_.delta == Delta{0} && at == target_.epsilon) {
    const auto largest = epsilon(event, Delta{0});
    if (largest.upper <= at.value()) return {0, 0};
    if (largest.lower > at.value()) return {0, 1};
  }
  const double level = at == target_.epsilon ? target_.delta.value() : infinity;
  return settled(event, at, level, delta_leader_);
}

Enclosure BestCost::epsilon(const Event& event, Delta at) {
  const double level = at == target_.delta ? target_.epsilon.value() : -1;
  return settled(event, at, level, epsilon_leader_);
}

double BestCost::resolution() const {
  if (!last_is_wide_) return 0;
  return std::min(effort_.width / target_.epsilon.value(), 1.0) / 16;
}

Opinion BestCost::reported_by_grid(const Event& event, const Question& question, const Opinion& by_draws) const {
  const double widest = beside(by_draws).widest;
  const bool is_quick = target_.epsilon.value() <= largest_quick_epsilon;
  const bool is_known = by_grid_ && by_grid_->question == question && by_grid_->event == event;
  Opinion above{.accountant = Pld::name, .value = std::nullopt, .refusal = {}};
  if (!is_quick || is_known) above = upper_by_grid(event, question, widest);
  // The lower end by the draws may be about as near as the width asks for.
  if (!is_quick && above.value && by_draws.value && above.value->upper - by_draws.value->lower <= 4 * effort_.width) return above;
  auto both = kept_opinion(place_of<Pld>, event, question,
                           Effort{.width = is_quick ? std::min(asked_.width, effort_.width) : effort_.width}, {.widest = widest});
  if (!both.value) return above.value ? above : both;
  if (above.value) both.value = Enclosure{both.value->lower, std::min(above.value->upper, both.value->upper)};
  return both;
}

BestAnswer BestCost::report(const Event& event) const {
  const StandardFloatingPoint environment;
  const Question question{target_.delta};
  return best_of(event, everybody(event, question, asked_, curves_of_all(), [&](const Opinion& /*by_contour*/, const Opinion& by_draws) {
                   return reported_by_grid(event, question, by_draws);
                 }));
}

CostFunctions BestCost::functions() {
  CostFunctions functions{.delta = [this](const Event& event, Epsilon at) { return delta(event, at); },
                          .epsilon = [this](const Event& event, Delta at) { return epsilon(event, at); },
                          .resolution = [this] { return resolution(); }};
  // Above it grids of the usual width take long.
  if (target_.epsilon.value() <= largest_quick_epsilon) {
    functions.account = [this](const Event& event) { return best_epsilon(event, target_.delta, asked_, Bounds::needed).value; };
  }
  return functions;
}

CostFunctions best_cost(const Target& target, const Effort& effort) {
  const auto cost = std::make_shared<BestCost>(target, effort);
  return {.delta = [cost](const Event& event, Epsilon at) { return cost->delta(event, at); },
          .epsilon = [cost](const Event& event, Delta at) { return cost->epsilon(event, at); },
          .resolution = [cost] { return cost->resolution(); },
          .report = [cost](const Event& event) { return cost->report(event).value; }};
}

}  // namespace surety::accounting
