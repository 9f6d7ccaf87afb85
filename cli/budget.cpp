#include "budget.h"

#include <fmt/format.h>

#include "output.h"

namespace surety::cli {

std::string filter_words(const accounting::Budget& budget) {
  const auto filter = accounting::name(budget.filter);
  return budget.order ? fmt::format("{} filter at order {:.6g}", filter, budget.order->value()) : fmt::format("{} filter", filter);
}

nlohmann::json target_json(const Target& target) { return {{"epsilon", target.epsilon.value()}, {"delta", target.delta.value()}}; }

nlohmann::json budget_json(const accounting::Budget& budget) {
  auto object = target_json(budget.target);
  object["filter"] = accounting::name(budget.filter);
  if (budget.order) object["order"] = budget.order->value();
  return object;
}

nlohmann::json balance_json(const accounting::Balance& balance) {
  auto object = budget_json(balance.budget);
  object["unit"] = balance.unit;
  object["spent"] = json(balance.spent);
  object["limit"] = json(balance.limit);
  if (balance.spent_epsilon) object["spent_epsilon"] = json(*balance.spent_epsilon);
  if (balance.odometer) object["odometer"] = {{"epsilon", json(*balance.odometer)}, {"delta", balance.budget.target.delta.value()}};
  return object;
}

}  // namespace surety::cli
