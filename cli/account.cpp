// surety account: what an event costs.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include <surety/accounting/closed_form.h>
#include <surety/accounting/zcdp.h>

#include "command.h"
#include "event_options.h"
#include "output.h"
#include "validators.h"

namespace surety::cli {
namespace {

struct AccountOptions {
  EventOptions event;
  std::optional<double> epsilon;
  std::optional<double> delta;
  bool json = false;
};

struct Costs {
  Enclosure tight;
  Enclosure independent;
};

void require_overlap(const Costs& costs) {
  if (!overlap(costs.tight, costs.independent))
    throw Error{ErrorCode::internal, "the closed-form and the zcdp accountant contradict each other"};
}

int account(const AccountOptions& options) {
  const Event event = options.event.parse();
  const bool asks_epsilon = options.delta.has_value();
  const auto costs = [&]() -> Costs {
    if (asks_epsilon) {
      const Delta at{*options.delta};
      return {epsilon(accounting::ClosedForm{}, event, at), epsilon(accounting::Zcdp{}, event, at)};
    }
    const Epsilon at{*options.epsilon};
    return {delta(accounting::ClosedForm{}, event, at), delta(accounting::Zcdp{}, event, at)};
  }();
  require_overlap(costs);
  const char* asked = asks_epsilon ? "epsilon" : "delta";
  const char* given = asks_epsilon ? "delta" : "epsilon";
  const double at = asks_epsilon ? *options.delta : *options.epsilon;
  if (options.json) {
    print({{asked, json(costs.tight)},
           {given, at},
           {"adjacency", name(event.adjacency())},
           {"accountant", accounting::ClosedForm::name},
           {"event", describe(event)},
           {"independent", {{"accountant", accounting::Zcdp::name}, {asked, json(costs.independent)}}}});
    return exit_code::fine;
  }
  fmt::print("{:<12} in {} at {} = {}\n", asked, text(costs.tight), given, at);
  fmt::print("{:<12} {}\n", "event", describe(event));
  fmt::print("{:<12} {}\n", "adjacency", name(event.adjacency()));
  fmt::print("{:<12} {}\n", "accountant", accounting::ClosedForm::name);
  fmt::print("{:<12} {} <= {} by {}\n", "independent", asked, rounded_up(costs.independent.upper), accounting::Zcdp::name);
  return exit_code::fine;
}

}  // namespace

void add_account(CLI::App& app, Action& chosen) {
  auto& command = *app.add_subcommand("account", "Print what an event costs, as an interval that contains the truth");
  const auto options = std::make_shared<AccountOptions>();
  options->event.add_to(command);
  auto* question = command.add_option_group("question", "Exactly one of");
  question->add_option("--delta", options->delta, "Ask for epsilon at this delta")->check(number());
  question->add_option("--epsilon", options->epsilon, "Ask for delta at this epsilon")->check(number());
  question->require_option(1);
  command.add_flag("--json", options->json, "Print one JSON object");
  command.footer(
      "Examples:\n"
      "  surety account --event 'repeat(100, gaussian(40))' --adjacency replace-one --delta 1e-5\n"
      "  surety account --event 'compose(gaussian(3), repeat(5, gaussian(8)))' --adjacency add-or-remove-one --epsilon 2 --json");
  command.callback([options, &chosen] { chosen = [options] { return account(*options); }; });
}

}  // namespace surety::cli
