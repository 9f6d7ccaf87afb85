#include <surety/accounting/ledger/ledger_report.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include <surety/accounting/events/format.h>
#include <surety/accounting/ledger/audit_json.h>
#include <surety/base/numbers/rounded_text.h>
#include <surety/base/text/report_lines.h>
#include <surety/base/text/safe_text.h>

namespace surety::accounting {
namespace {

std::string event_text(const std::optional<Event>& event) { return event ? describe(*event) : "nothing"; }

std::string settlement_text(const Run& run) {
  if (!run.settlement) return "not settled: running or killed, counts in full";
  return fmt::format("settled, stop {}", name(run.settlement->stopping));
}

/// Promises are each run's own: together the runs cost more, and that is said beside them.
std::string kept_verdict(const Audit& audit) {
  if (audit.runs.empty()) return "nothing was released";
  const auto promises = std::count_if(audit.runs.begin(), audit.runs.end(), [](const auto& audited) { return audited.kept.has_value(); });
  const auto together = fmt::format("epsilon <= {} at delta = {}", rounded_up(audit.epsilon.upper), audit.delta);
  if (promises == 0) return fmt::format("no promise was made; what was released costs {}", together);
  if (audit.runs.size() == 1) return "every promise is kept";
  return fmt::format("each of {} promise{} is kept by itself; together the {} runs cost {}", promises, promises == 1 ? "" : "s",
                     audit.runs.size(), together);
}

/// Enclosures as texts. Those of many runs are alike, and writing a number that was rounded takes longer than all else of a line.
class EnclosureTexts {
 public:
  [[nodiscard]] const std::string& of(const Enclosure& enclosure) {
    auto& known = known_[{enclosure.lower, enclosure.upper}];
    if (known.empty()) known = text(enclosure);
    return known;
  }

 private:
  std::map<std::pair<double, double>, std::string> known_;
};

std::string lines_of(const RunAudit& audited, EnclosureTexts& texts) {
  const auto& run = audited.run;
  auto lines = safe_format("run {:<8} {}  {}\n", run.id.value, run.created, one_line(run.plan.note));
  lines += safe_format("  charged    {} ({})\n", event_text(run.charged()), settlement_text(run));
  if (const auto& promise = run.plan.promise) {
    lines += safe_format("  promise    epsilon = {} at delta = {}: {}, epsilon in {}, delta in {}\n", promise->epsilon, promise->delta,
                         *audited.kept ? "kept" : "BROKEN", texts.of(*audited.epsilon), texts.of(*audited.delta));
  }
  if (audited.recorded_in_one_order) lines += safe_format("  recorded   {}\n", RunAudit::in_one_order);
  if (run.plan.not_private) lines += "  NOT PRIVATE: its noise was replayed from a known seed\n";
  return lines;
}

/// Behind what is spent of a limit: the sum of epsilons, where a renyi filter compares that as well, and which of the two rules admitted the runs.
std::string rule_words(const Balance& balance) {
  if (!balance.spent_epsilon) return "";
  const auto rules = admitting_rules(balance);
  return fmt::format(", epsilon {} of {}: {}", rounded_up(balance.spent_epsilon->upper, 6), balance.budget.target.epsilon,
                     rules.size() > 1             ? "within both rules, of which one is enough"
                     : rules.front() == "epsilon" ? "admitted by the sum of epsilons, as long as every run promises one"
                                                  : "admitted by the divergence");
}

std::string count_of(const Room& room) {
  return room.runs == Room::most ? fmt::format("at least {}", room.runs) : fmt::format("{}", room.runs);
}

/// What a budget still admits; empty where no filter can say.
std::string left_text(const Standing& stands) {
  std::string left;
  if (const auto& last = stands.like_the_last)
    left = fmt::format("{} more run{} like the last", count_of(*last), last->runs == 1 ? "" : "s");
  if (const auto& counts = stands.counts) {
    left += fmt::format("{}{} count{} at epsilon {:.6g}", left.empty() ? "" : ", or ", count_of(*counts), counts->runs == 1 ? "" : "s",
                        epsilon_of_count(stands.balance->budget));
  }
  return left;
}

}  // namespace

std::string filter_words(const Budget& budget) {
  const auto filter = name(budget.filter);
  return budget.order ? fmt::format("{} filter at order {:.6g}", filter, budget.order->value()) : fmt::format("{} filter", filter);
}

bool is_kept(const Audit& audit, const std::optional<Epsilon>& asked) {
  return audit.kept && (!asked || audit.epsilon.upper <= asked->value());
}

std::string report_text(const Audit& audit, const std::optional<Epsilon>& asked) {
  std::string lines;
  const auto add = [&](std::string_view field, std::string_view value) { lines += report_line(field, value); };
  add("adjacency", name(audit.adjacency));
  add("unit", describe(audit.unit));
  add("released", event_text(audit.event));
  add("epsilon", fmt::format("in {} at delta = {} by {}", text(audit.epsilon), audit.delta, audit.accountant));
  if (audit.independent_accountant != Audit::nobody) {
    add("independent", fmt::format("epsilon <= {} by {}", rounded_up(audit.independent.upper), audit.independent_accountant));
  }
  EnclosureTexts texts;
  for (const auto& audited : audit.runs) lines += lines_of(audited, texts);
  if (const auto& balance = audit.balance) {
    const auto& target = balance->budget.target;
    add("budget", fmt::format("epsilon = {} at delta = {}; {} spent in {} of {} ({}){}", target.epsilon, target.delta, balance->unit,
                              text(balance->spent), text(balance->limit), filter_words(balance->budget), rule_words(*balance)));
  }
  if (asked) add("asked", fmt::format("epsilon <= {}: {}", *asked, audit.epsilon.upper <= asked->value() ? "kept" : "BROKEN"));
  add("verdict", is_kept(audit, asked) ? kept_verdict(audit)
                 : audit.not_private   ? "NOT PRIVATE: noise was replayed from a known seed"
                                       : "a promise is BROKEN");
  return lines;
}

std::string report_text(const Standing& stands) {
  std::string lines;
  const auto add = [&](std::string_view field, std::string_view value) { lines += report_line(field, value); };
  add("adjacency", name(stands.adjacency));
  add("unit", describe(stands.unit));
  add("runs", fmt::format("{}", stands.runs));
  if (!stands.balance) {
    add("budget", "none: nothing bounds what later runs may cost together");
    return lines;
  }
  const auto& balance = *stands.balance;
  const auto& target = balance.budget.target;
  add("budget", fmt::format("epsilon = {} at delta = {} ({})", target.epsilon, target.delta, filter_words(balance.budget)));
  add("spent", fmt::format("{} {} of {}{}", balance.unit, rounded_up(balance.spent.upper, 6), rounded_down(balance.limit.lower, 6),
                           rule_words(balance)));
  if (const auto left = left_text(stands); !left.empty()) add("left", left);
  if (balance.odometer) {
    add("so far", fmt::format("epsilon <= {} surely, but for a probability of {}", rounded_up(balance.odometer->upper, 6), target.delta));
  }
  return lines;
}

std::string report_text(const Run& run, RunCosts& costs) {
  const auto& plan = run.plan;
  std::string lines;
  const auto add = [&](std::string_view field, std::string_view value) { lines += report_line(field, value); };
  add("run", fmt::format("{}", run.id.value));
  add("note", one_line(plan.note));
  add("created", run.created);
  add("unit", describe(plan.unit));
  add("planned", describe(plan.event));
  if (run.settlement) {
    add("settled", "yes");
    add("released", event_text(run.settlement->released));
    add("stop", name(run.settlement->stopping));
  } else {
    add("settled", "no: running or killed, counts in full");
  }
  if (plan.promise) add("promise", fmt::format("epsilon = {} at delta = {}", plan.promise->epsilon, plan.promise->delta));
  if (const auto cost = costs.of(run)) add("epsilon", fmt::format("in {} at delta = {}", text(*cost), plan.promise->delta));
  add("noise", plan.not_private ? "NOT PRIVATE: replayed from a known seed" : "fresh");
  return lines;
}

std::string line_of(const Run& run, RunCosts& costs) {
  const auto cost = costs.of(run);
  return safe_format("{:>4}  {}  {:<8}  {}{}{}  # {}\n", run.id.value, run.created, state_of(run), event_text(run.charged()),
                     cost ? fmt::format("  epsilon <= {} at delta = {}", rounded_up(cost->upper, 6), run.plan.promise->delta) : "",
                     run.plan.not_private ? "  NOT PRIVATE" : "", one_line(run.plan.note));
}

}  // namespace surety::accounting
