#include <surety/cli/commands/budget.h>

#include <fmt/format.h>

#include <surety/accounting/ledger/audit_json.h>
#include <surety/cli/print/output.h>

namespace surety::cli {

std::string filter_words(const accounting::Budget& budget) {
  const auto filter = accounting::name(budget.filter);
  return budget.order ? fmt::format("{} filter at order {:.6g}", filter, budget.order->value()) : fmt::format("{} filter", filter);
}

std::string rule_words(const accounting::Balance& balance) {
  if (!balance.spent_epsilon) return "";
  const auto rules = accounting::admitting_rules(balance);
  return fmt::format(", epsilon {} of {}: {}", rounded_up(balance.spent_epsilon->upper, 6), balance.budget.target.epsilon,
                     rules.size() > 1             ? "within both rules, of which one is enough"
                     : rules.front() == "epsilon" ? "admitted by the sum of epsilons, as long as every run promises one"
                                                  : "admitted by the divergence");
}

}  // namespace surety::cli
