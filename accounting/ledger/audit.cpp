#include <surety/accounting/ledger/audit.h>

#include <algorithm>
#include <limits>

#include <surety/accounting/accountants/best.h>
#include <surety/accounting/accountants/closed_form.h>
#include <surety/accounting/accountants/zcdp.h>
#include <surety/accounting/calibration/best_cost.h>
#include <surety/accounting/numbers/floating_point.h>
#include <surety/accounting/numbers/rounding.h>

namespace surety::accounting {
namespace {

RunAudit audit_run(Run run) {
  RunAudit result{.run = std::move(run), .epsilon = std::nullopt, .delta = std::nullopt, .kept = std::nullopt};
  if (const auto& promise = result.run.plan.promise) {
    const auto charged = result.run.charged();
    result.epsilon = charged ? best_epsilon(*charged, promise->delta).value : Enclosure{0, 0};
    result.delta = charged ? best_delta(*charged, promise->epsilon).value : Enclosure{0, 0};
    if (charged && !(result.delta->upper <= promise->delta.value())) {
      // A search asks the grid for the upper end alone, which it then knows more sharply: what was calibrated so is judged so.
      BestCost cost{*promise};
      result.delta->upper = std::min(result.delta->upper, cost.delta(*charged, promise->epsilon).upper);
      result.epsilon->upper = std::min(result.epsilon->upper, cost.epsilon(*charged, promise->delta).upper);
    }
    result.kept = result.delta->upper <= promise->delta.value() && !result.run.plan.not_private;
    if (charged && result.run.plan.not_private) {
      result.epsilon->upper = std::numeric_limits<double>::infinity();
      result.delta->upper = 1;
    }
  }
  return result;
}

}  // namespace

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
  for (auto& run : ledger.runs()) {
    result.runs.push_back(audit_run(std::move(run)));
    result.not_private = result.not_private || result.runs.back().run.plan.not_private;
    result.kept = result.kept && result.runs.back().kept.value_or(true);
  }
  if (result.event) {
    const auto best = best_epsilon(*result.event, at);
    result.epsilon_of_fresh_noise = best.value;
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
