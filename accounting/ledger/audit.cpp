#include <surety/accounting/ledger/audit.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/accountants/zcdp/zcdp.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/calibration/judgement.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/laws/finite/finite_law.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/rounding.h>

namespace surety::accounting {
namespace {

/// What runs cost beside their promises. Many are alike, and are judged once.
class Judgements {
 public:
  [[nodiscard]] const Judgement& of(const Event& event, const Target& promise) {
    // The text of an event says all of it.
    const auto [known, is_new] =
        known_.try_emplace({describe(event), promise.epsilon.value(), promise.delta.value()}, std::optional<Judgement>{});
    if (!known->second) known->second = judge(event, promise);
    return *known->second;
  }

 private:
  std::map<std::tuple<std::string, double, double>, std::optional<Judgement>> known_;
};

/// Some release of it, at whatever depth, has an order, of which replace-one says nothing.
bool holds_orders(const Event& event) {
  if (event.adjacency() != Adjacency::replace_one) return false;
  return std::visit(
      [](const auto& node) {
        if constexpr (requires { node.atoms; }) {
          return !laws::equals_its_reverse(node.atoms);
        } else if constexpr (requires { node.event; }) {
          return holds_orders(node.event);
        } else if constexpr (requires { node.events; }) {
          return std::any_of(node.events.begin(), node.events.end(), holds_orders);
        } else {
          return false;
        }
      },
      event.node());
}

RunAudit audit_run(Run run, Judgements& judgements) {
  RunAudit result{.run = std::move(run), .epsilon = std::nullopt, .delta = std::nullopt, .kept = std::nullopt};
  if (const auto& promise = result.run.plan.promise) {
    const auto charged = result.run.charged();
    result.epsilon = Enclosure{0, 0};
    result.delta = Enclosure{0, 0};
    result.kept = !result.run.plan.not_private;
    if (charged) {
      const auto& found = judgements.of(*charged, *promise);
      result.epsilon = found.epsilon;
      result.delta = found.delta;
      result.kept = found.kept && *result.kept;
      result.recorded_in_one_order = !found.kept && holds_orders(*charged);
    }
    if (charged && result.run.plan.not_private) {
      result.epsilon->upper = std::numeric_limits<double>::infinity();
      result.delta->upper = 1;
    }
  }
  return result;
}

/// All that is charged may be what one run promised, or the budget.
Enclosure beside_promises(const Event& event, Enclosure epsilon, const Audit& all) {
  std::vector<Target> promises;
  for (const auto& [run, own_epsilon, own_delta, kept, recorded_in_one_order] : all.runs) {
    if (run.plan.promise) promises.push_back(*run.plan.promise);
  }
  if (all.balance) promises.push_back(all.balance->budget.target);
  for (const auto& promise : promises) {
    if (promise.delta == all.delta) epsilon = epsilon_beside(event, promise, epsilon);
  }
  return epsilon;
}

}  // namespace

std::optional<Delta> promised_delta(const Ledger& ledger) {
  if (const auto budget = ledger.budget()) return budget->target.delta;
  std::optional<Delta> largest;
  for (const auto& run : ledger.runs()) {
    const auto& promise = run.plan.promise;
    if (promise && (!largest || promise->delta > *largest)) largest = promise->delta;
  }
  return largest;
}

Audit audit(const Ledger& ledger, Delta at) {
  const StandardFloatingPoint environment;
  Audit result{.adjacency = ledger.adjacency(),
               .unit = ledger.unit(),
               .delta = at,
               .runs = {},
               .event = ledger.event(),
               .epsilon = {0, 0},
               .epsilon_of_fresh_noise = {0, 0},
               .accountant = ClosedForm::name,
               .independent = {0, 0},
               .independent_accountant = Zcdp::name,
               .not_private = false,
               .balance = ledger.balance(),
               .kept = true};
  Judgements judgements;
  for (auto& run : ledger.runs()) {
    result.runs.push_back(audit_run(std::move(run), judgements));
    result.not_private = result.not_private || result.runs.back().run.plan.not_private;
    result.kept = result.kept && result.runs.back().kept.value_or(true);
  }
  if (result.event) {
    const auto best = best_epsilon(*result.event, at);
    result.epsilon_of_fresh_noise = beside_promises(*result.event, best.value, result);
    result.accountant = best.accountant;
    const auto* second = second_opinion(best);
    result.independent = second != nullptr ? *second->value : at_most(infinity);
    result.independent_accountant = second != nullptr ? second->accountant : Audit::nobody;
  }
  result.epsilon = result.not_private ? Enclosure{result.epsilon_of_fresh_noise.lower, infinity} : result.epsilon_of_fresh_noise;
  if (result.not_private) result.independent = at_most(infinity);
  result.kept = result.kept && !result.not_private;
  return result;
}

}  // namespace surety::accounting
