#include <surety/accounting/audit.h>

#include <limits>

#include <fmt/format.h>

#include <surety/accounting/closed_form.h>
#include <surety/accounting/zcdp.h>

namespace surety::accounting {
namespace {

RunAudit audit_run(Run run) {
  RunAudit result{.run = std::move(run), .epsilon = std::nullopt, .kept = std::nullopt};
  if (const auto& promise = result.run.plan.promise) {
    const auto charged = result.run.charged();
    result.epsilon = charged ? epsilon(ClosedForm{}, *charged, promise->delta) : Enclosure{0, 0};
    const bool meets = !charged || delta(ClosedForm{}, *charged, promise->epsilon).upper <= promise->delta.value();
    result.kept = meets && !result.run.plan.not_private;
    if (charged && result.run.plan.not_private) result.epsilon->upper = std::numeric_limits<double>::infinity();
  }
  return result;
}

}  // namespace

Audit audit(const Ledger& ledger, Delta at) {
  Audit result{.adjacency = ledger.adjacency(),
               .delta = at,
               .runs = {},
               .event = ledger.event(),
               .epsilon = {0, 0},
               .epsilon_of_fresh_noise = {0, 0},
               .independent = {0, 0},
               .not_private = false,
               .balance = ledger.balance(),
               .kept = true};
  for (auto& run : ledger.runs()) {
    result.runs.push_back(audit_run(std::move(run)));
    result.not_private = result.not_private || result.runs.back().run.plan.not_private;
    result.kept = result.kept && result.runs.back().kept.value_or(true);
  }
  if (result.event) {
    result.epsilon_of_fresh_noise = epsilon(ClosedForm{}, *result.event, at);
    result.independent = epsilon(Zcdp{}, *result.event, at);
    if (!overlap(result.epsilon_of_fresh_noise, result.independent)) {
      throw Error{ErrorCode::internal,
                  fmt::format("two proofs disagree about {}: {} says at least {}, {} at most {}", describe(*result.event), ClosedForm::name,
                              result.epsilon_of_fresh_noise.lower, Zcdp::name, result.independent.upper)};
    }
  }
  constexpr double infinity = std::numeric_limits<double>::infinity();
  result.epsilon = result.not_private ? Enclosure{result.epsilon_of_fresh_noise.lower, infinity} : result.epsilon_of_fresh_noise;
  if (result.not_private) result.independent = at_most(infinity);
  result.kept = result.kept && !result.not_private;
  return result;
}

}  // namespace surety::accounting
