// surety account: what an event costs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/answers/asking.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/answers/explanation.h>
#include <surety/accounting/answers/risk.h>
#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>
#include <surety/cli/commands/command.h>
#include <surety/cli/commands/risk.h>
#include <surety/cli/parser/event_options.h>
#include <surety/cli/print/output.h>

namespace surety::cli {
namespace {

struct AccountOptions {
  EventOptions event;
  std::optional<double> epsilon;
  std::optional<double> delta;
  bool risk = false;
  std::optional<double> prior;
  double width = accounting::Effort{}.width;
  bool explain = false;
  bool json = false;
};

int account_risk(const AccountOptions& options) {
  if (options.explain) invalid("--explain is given with --risk, must be given with --delta or --epsilon");
  const Event event = options.event.parse();
  const auto questions = risk_questions(options.prior);
  const auto risk = accounting::risk(event, questions, {.width = options.width});
  if (options.json) {
    auto object = accounting::to_json(risk, questions);
    object["adjacency"] = name(event.adjacency());
    object["event"] = describe(event);
    print(object);
    return exit_code::fine;
  }
  say_risk(risk, questions);
  say("{:<14} {}\n", "event", describe(event));
  say("{:<14} {}\n", "adjacency", name(event.adjacency()));
  return exit_code::fine;
}

/// The best answer. Where nobody has one, the refusal tells who asks for explanations each one's reason, with the event as "it".
accounting::BestAnswer answer(const AccountOptions& options, const Event& event, const accounting::Question& question) {
  try {
    return accounting::best_answer(event, question, {.width = options.width});
  } catch (const accounting::NoTheorem& refused) {
    if (!options.explain) throw;
    // Most reasons name their accountant, and some have one in common.
    std::vector<std::string> reasons;
    for (const auto& opinion : refused.opinions()) {
      auto reason = accounting::reason_of(opinion, event);
      if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end()) reasons.push_back(std::move(reason));
    }
    throw Error{refused.code(), fmt::format("{} ({})", refused.what(), fmt::join(reasons, "; "))};
  }
}

int account(const AccountOptions& options) {
  if (options.risk) return account_risk(options);
  if (options.prior) invalid("--prior is given without --risk, must be given with it");
  const Event event = options.event.parse();
  const bool asks_epsilon = options.delta.has_value();
  const double at = asks_epsilon ? *options.delta : *options.epsilon;
  const accounting::Question question = asks_epsilon ? accounting::Question{Delta{at}} : accounting::Question{Epsilon{at}};
  auto best = answer(options, event, question);
  if (options.explain) best = accounting::with_all_asked(event, question, {.width = options.width}, std::move(best));
  if (options.json) {
    auto object = accounting::to_json(event, question, best);
    if (options.explain) object["explanation"] = accounting::explanation(event, best);
    print(object);
    return exit_code::fine;
  }
  const char* asked = asks_epsilon ? "epsilon" : "delta";
  const char* given = asks_epsilon ? "delta" : "epsilon";
  const auto* second = second_opinion(best);
  say("{:<12} in {} at {} = {}\n", asked, text(best.value), given, at);
  say("{:<12} {}\n", "event", describe(event));
  say("{:<12} {}\n", "adjacency", name(event.adjacency()));
  say("{:<12} {}\n", "accountant", best.accountant);
  say("{:<12} {}\n", "independent",
      second != nullptr ? fmt::format("{} <= {} by {}", asked, rounded_up(second->value->upper), second->accountant)
                        : accounting::why_no_second_opinion(event, best));
  if (accounting::lacks_lower_end(best.value)) say("{:<12} {}\n", "from below", accounting::why_no_lower_end(event));
  if (!options.explain) return exit_code::fine;
  say("\n");
  for (const auto& line : accounting::explanation(event, best)) say("{}\n", line);
  say("\n");
  for (const auto& opinion : best.opinions) {
    say("  {:<20} {}\n", opinion.accountant, opinion.value ? fmt::format("{} in {}", asked, text(*opinion.value)) : opinion.refusal);
  }
  return exit_code::fine;
}

}  // namespace

Command account_command() {
  const auto describe = [](Command& command, OptionTable& table, AccountOptions& options) {
    options.event.add_to(table);
    table.group("Exactly one of");
    command.exactly_one_of = {"--delta", "--epsilon", "--risk"};
    table.add("--delta", options.delta, "Ask for epsilon at this delta", number());
    table.add("--epsilon", options.epsilon, "Ask for delta at this epsilon", number());
    table.add("--risk", options.risk, "Ask what an attacker gets: advantage, true positives, accuracy, the least mu that covers it");
    table.group("");
    table.add("--prior", options.prior, prior_option_help, number());
    table.add("--width", options.width, "The width in epsilon that accountants on a grid aim at", number());
    table.add("--explain", options.explain, "Say which theorem gave the answer, what it assumes, and what each accountant says");
    table.add("--json", options.json, "Print one JSON object");
    command.footer = R"(Examples:
  surety account --event 'repeat(100, gaussian(40))' --adjacency replace-one --delta 1e-5
  surety account --event 'repeat(10000, poisson(0.01, gaussian(1)))' --adjacency add-or-remove-one --delta 1e-5 --explain
  surety account --event 'repeat(10000, poisson(0.01, gaussian(1)))' --adjacency add-or-remove-one --risk
  surety account --event 'compose(gaussian(3), repeat(5, gaussian(8)))' --adjacency add-or-remove-one --epsilon 2 --json)";
  };
  return make_command("account", "Print what an event costs, as an interval that contains the truth", account, describe);
}

}  // namespace surety::cli
