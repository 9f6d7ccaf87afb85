#include <surety/jobs/report/report_document.h>

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/json_values.h>
#include <surety/base/numbers/rounded_text.h>
#include <surety/base/text/error.h>
#include <surety/jobs/report/report_values.h>

namespace surety::jobs {
namespace {

using namespace report_values;
using nlohmann::json;

constexpr int digits = 6;
constexpr double infinity = std::numeric_limits<double>::infinity();

Line foreign_or(const json& value, const char* otherwise, const char* field) {
  return value.is_null() ? Line{otherwise} : Line::foreign(accounting::text_of(value, field));
}

/// A page as it grows.
class Page {
 public:
  explicit Page(std::string title) { document_.title = std::move(title); }
  void add(Block block) { document_.blocks.push_back(std::move(block)); }
  void heading(const char* text) { add(Heading{text}); }
  void paragraph(Line text) { add(Paragraph{std::move(text)}); }
  void list(const json& texts) {
    BulletList list;
    for (auto& text : accounting::texts_of(texts, "report")) list.items.emplace_back(std::move(text));
    add(std::move(list));
  }
  [[nodiscard]] Document finish() && { return std::move(document_); }

 private:
  Document document_;
};

/// A table of facts: what, and its value.
Table facts() { return {.head = {"What", "Value"}, .rows = {}}; }

void add_verdict(Page& page, const json& report) {
  const auto verdict = text_at(report, "verdict");
  const auto runs = list_at(report, "runs").size();
  const auto& spent = at(report, "spent");
  const auto cost = fmt::format("epsilon {} at delta = {}", upper_words(enclosure_at(spent, "epsilon")),
                                plain(number_at(at(report, "promise"), "delta")));
  const auto total = runs == 1 ? fmt::format("1 run costs {}", cost) : fmt::format("{} runs together cost {}", runs, cost);
  if (verdict == "kept") {
    page.add(Verdict{fmt::format("Kept: every promise is kept. {}.", total), true});
  } else if (verdict == "no promise") {
    page.add(Verdict{fmt::format("No promise was made. {}.", total), false});
  } else if (verdict == "nothing released") {
    page.add(Verdict{"Nothing was released.", true});
  } else if (verdict == "not private") {
    page.add(Verdict{"NOT PRIVATE: noise was replayed from a known seed. Do not publish.", false});
  } else if (verdict == "broken") {
    page.add(Verdict{"A promise is BROKEN. Do not publish.", false});
  } else {
    invalid("verdict of a report must be kept, no promise, nothing released, not private or broken");
  }
}

void add_promise(Page& page, const json& report) {
  const auto& promise = at(report, "promise");
  page.heading("What is promised, and to whom");
  page.paragraph(
      "The promise: for any two neighbouring data sets, every result is about as probable with one as with the other. Epsilon limits by how much, delta is the probability of an exception.");
  auto table = facts();
  const auto row = [&](const char* name, Line value) { table.rows.push_back({name, std::move(value)}); };
  row("Unit of privacy", Line::foreign(text_at(at(promise, "unit"), "words")));
  row("Adjacency", adjacency_words(text_at(promise, "adjacency")));
  const auto& budget = at(promise, "budget");
  row("Budget of all runs",
      budget.is_null()
          ? Line{"none: nothing limits what later runs may cost"}
          : Line{fmt::format("{} ({} filter{})", target_words(budget), text_at(budget, "filter"),
                             budget.contains("order") ? fmt::format(" at order {:.6g}", number_at(budget, "order")) : std::string{})});
  row("Promises of single runs", "see the table of releases");
  const auto from = text_at(promise, "delta_from");
  row("Delta of this report", plain(number_at(promise, "delta")) + (from == "option"   ? " (given for the report)"
                                                                    : from == "budget" ? " (of the budget)"
                                                                                       : " (the largest of the promises)"));
  row("Data set", foreign_or(at(report, "data"), "not recorded", "data"));
  page.add(std::move(table));
}

void add_spent(Page& page, const json& report) {
  const auto& spent = at(report, "spent");
  page.heading("What has been spent");
  auto table = facts();
  const auto row = [&](const char* name, Line value) { table.rows.push_back({name, std::move(value)}); };
  const auto delta = plain(number_at(at(report, "promise"), "delta"));
  row("Epsilon of all runs", fmt::format("{} at delta = {}", words_of(enclosure_at(spent, "epsilon")), delta));
  row("Computed by", fmt::format("accountant {}", text_at(spent, "accountant")));
  const auto& independent = at(spent, "independent");
  row("Confirmed independently",
      independent.is_null()
          ? Line{"no: the number rests on one method"}
          : Line{fmt::format("epsilon {} by {}", upper_words(enclosure_at(independent, "epsilon")), text_at(independent, "accountant"))});
  const auto& budget = at(spent, "budget");
  if (!budget.is_null()) {
    row("Used of the budget",
        fmt::format("{} at most {} of {}", text_at(budget, "unit"), rounded_up(enclosure_at(budget, "spent").upper, digits),
                    rounded_down(enclosure_at(budget, "limit").lower, digits)));
    if (!at(budget, "spent_epsilon").is_null()) {
      row("Sum of the epsilons of all runs", fmt::format("{} of {}", upper_words(enclosure_at(budget, "spent_epsilon")),
                                                         plain(number_at(at(at(report, "promise"), "budget"), "epsilon"))));
    }
    if (list_at(budget, "admitted_by").empty()) row("Budget", "EXCEEDED");
    if (!at(budget, "odometer").is_null()) {
      row("So far, for any choice of runs",
          fmt::format("epsilon {} except with probability {}", upper_words(enclosure_at(budget, "odometer")),
                      plain(number_at(at(at(report, "promise"), "budget"), "delta"))));
    }
  }
  row("Everything released", foreign_or(at(spent, "event"), "nothing", "event"));
  page.add(std::move(table));
  page.paragraph("The exact epsilon lies between the two bounds. The upper bound counts; the distance shows how much is unknown.");
}

Line room_words(const json& room) {
  const auto runs = count_at(room, "runs");
  return Line{fmt::format("{}{} more run{} of ", is_true_at(room, "or_more") ? "at least " : "", runs, runs == 1 ? "" : "s")} +
         Line::foreign(text_at(room, "event"));
}

void add_remaining(Page& page, const json& report) {
  page.heading("What remains");
  const auto& remaining = at(report, "remaining");
  if (remaining.is_null()) {
    page.paragraph("There is no budget: the ledger admits any further run, and nothing limits the total.");
    return;
  }
  auto table = facts();
  const auto& last = at(remaining, "like_the_last");
  if (!last.is_null()) table.rows.push_back({"Like the last run", room_words(last)});
  const auto& counts = at(remaining, "counts");
  if (!counts.is_null()) table.rows.push_back({fmt::format("Counts at epsilon {:.6g}", number_at(counts, "epsilon")), room_words(counts)});
  if (table.rows.empty()) {
    page.paragraph("The filter of the budget has no rule for such runs.");
    return;
  }
  page.paragraph("The ledger would still admit one of these, if nothing else is released:");
  page.add(std::move(table));
}

void add_risk(Page& page, const json& report) {
  page.heading("What an attacker gains");
  const auto& risk = at(report, "risk");
  if (risk.is_null()) {
    page.paragraph(text_at(report, "verdict") == "not private"
                       ? "Nothing limits the gain of an attacker: noise was replayed from a known seed."
                       : "Nothing was released, so an attacker gains nothing.");
    return;
  }
  const auto prior = number_at(risk, "prior");
  page.paragraph(
      "The attacker sees everything that was released, knows all data except those of one unit, has no limit on computing, and decides which of two neighbouring data sets was used. No attacker does better than this:");
  auto table = facts();
  table.rows.push_back(
      {fmt::format("Right decisions before the release (prior {})", plain(prior)), percent_of(prior < 0.5 ? 1 - prior : prior)});
  table.rows.push_back({"Right decisions after the release", "at most " + percent_at_most(enclosure_at(risk, "accuracy").upper)});
  for (const auto& rate : list_at(risk, "true_positive_rates")) {
    table.rows.push_back({fmt::format("True positives, at {} false positives", percent_of(number_at(rate, "false_positive_rate"))),
                          "at most " + percent_at_most(enclosure_at(rate, "true_positive_rate").upper)});
  }
  table.rows.push_back({"True positives minus false positives", "at most " + percent_at_most(enclosure_at(risk, "advantage").upper)});
  // At every epsilon rare batches have the mu of the whole data set, which says little about them.
  table.rows.push_back({fmt::format("Gaussian differential privacy where delta is at least {} (mu)", plain(number_at(risk, "floor"))),
                        upper_words(enclosure_at(risk, "mu_above_floor"))});
  page.add(std::move(table));
  page.paragraph(
      "A true positive: the attacker says that the data of the unit were used, and they were. A false positive: the attacker says so, and they were not.");
  page.paragraph("Compare these numbers with the harm that a right decision does. No epsilon is safe by itself.");
}

void add_curve(Page& page, const json& report) {
  page.heading("Epsilon at other deltas");
  const auto& curve = at(report, "curve");
  if (curve.is_null()) {
    page.paragraph("There is no curve.");
    return;
  }
  Figure figure;
  CurvePicture picture{.title = "Epsilon of everything released, by delta", .across = {"delta", true}, .up = {"epsilon"}, .points = {}};
  figure.numbers.head = {"Delta", "Epsilon"};
  for (const auto& point : accounting::list_of(curve, "curve")) {
    const auto epsilon = enclosure_at(point, "epsilon");
    const double delta = number_at(point, "delta");
    picture.points.push_back({delta, epsilon.lower, epsilon.upper});
    figure.numbers.rows.push_back({plain(delta), words_of(epsilon)});
  }
  if (picture.points.size() < 2) invalid("curve of a report has fewer than 2 points");
  figure.picture = std::move(picture);
  page.paragraph("At each computed delta the exact epsilon lies between the two bounds. Where they meet, it is known.");
  page.add(std::move(figure));
}

/// The day of a time in ISO 8601.
std::string day_of(const std::string& time) { return time.substr(0, 10); }

void add_releases(Page& page, const json& report) {
  page.heading("Releases over time");
  const auto& runs = list_at(report, "runs");
  if (runs.empty()) {
    page.paragraph("There is none.");
    return;
  }
  const auto delta = plain(number_at(at(report, "promise"), "delta"));
  Figure figure;
  BarPanel panel{.title = "", .across = {fmt::format("epsilon at delta = {}, upper bound", delta)}, .bars = {}};
  figure.numbers.head = {"After run", "Time", fmt::format("Epsilon of all runs so far at delta = {}", delta)};
  for (const auto& point : list_at(report, "growth")) {
    const auto epsilon = enclosure_at(point, "epsilon");
    const auto run = count_at(point, "run");
    const auto created = text_at(point, "created");
    panel.bars.push_back({.name = fmt::format("after run {}, {}", run, day_of(created)),
                          .value = epsilon.upper == infinity ? epsilon.lower : epsilon.upper,
                          .lower = epsilon.lower,
                          .upper = epsilon.upper});
    figure.numbers.rows.push_back({fmt::format("{}", run), Line::foreign(created), words_of(epsilon)});
  }
  figure.picture = BarPicture{.title = "Epsilon of all runs so far", .panels = {std::move(panel)}, .note = {}};
  page.add(std::move(figure));
  Table table{.head = {"Run", "Time (UTC)", "Note", "Charged", "Promise", "Cost at the promise's delta", "State"}, .rows = {}};
  for (const auto& run : runs) {
    const auto& promise = at(run, "promise");
    const bool has_promise = !promise.is_null();
    Line state{is_true_at(run, "settled") ? "settled" : "not settled: stopped or still running, its full plan counts"};
    if (has_promise) state += is_true_at(run, "kept") ? ", promise kept" : ", promise BROKEN";
    if (is_true_at(run, "not_private")) state += ", NOT PRIVATE: replayed noise";
    table.rows.push_back({fmt::format("{}", count_at(run, "run")), Line::foreign(text_at(run, "created")),
                          Line::foreign(text_at(run, "note")), foreign_or(at(run, "charged"), "nothing", "charged"),
                          has_promise ? Line{target_words(promise)} : Line{"none"},
                          has_promise ? Line{"epsilon " + words_of(enclosure_at(run, "epsilon"))} : Line{"none"}, std::move(state)});
  }
  page.add(std::move(table));
  page.paragraph("Notes are what the runs or their users wrote; nothing checks them. A publication without a run is not in the total.");
}

void add_checklist(Page& page, const json& report) {
  const auto& checklist = at(report, "checklist");
  if (checklist.is_null()) return;
  Table answered{.head = {"Topic", "Question", "Answer", "Evidence in this report (JSON)"}, .rows = {}};
  Table open{.head = {"Topic", "Question"}, .rows = {}};
  for (const auto& item : list_at(checklist, "items")) {
    const auto topic = text_at(item, "topic");
    const auto question = text_at(item, "question");
    if (at(item, "answer").is_null()) {
      open.rows.push_back({topic, question});
      continue;
    }
    Line answer{text_at(item, "answer")};
    if (!at(item, "quoted").is_null()) answer += Line{" "} + Line::foreign(text_at(item, "quoted"));
    answered.rows.push_back({topic, question, std::move(answer), text_at(item, "evidence")});
  }
  page.add(Heading{fmt::format("Checklist by the topics of {}", text_at(checklist, "title"))});
  page.paragraph("The questions are in the words of Surety. The ledger answers these:");
  page.add(std::move(answered));
  page.paragraph("The ledger does not answer these. Ask the sender:");
  page.add(std::move(open));
}

void add_origin(Page& page, const json& report) {
  const auto& about = at(report, "about");
  page.heading("How to reproduce this report");
  auto table = facts();
  const auto& checksum = at(about, "ledger_sha256");
  table.rows.push_back({"Ledger (SHA-256 of the file)",
                        checksum.is_null() ? Line{"not in a file"} : Line::foreign(accounting::text_of(checksum, "ledger_sha256"))});
  table.rows.push_back({"Program", Line::foreign(text_at(about, "program"))});
  table.rows.push_back({"Command", Line::foreign(text_at(about, "reproduce"))});
  page.add(std::move(table));
  page.paragraph("Equal ledgers and commands give equal reports, byte for byte. The command reads no data and charges nothing.");
}

}  // namespace

Document document_of(const json& report) {
  Page page{"Privacy report of a ledger"};
  page.paragraph(
      Line{fmt::format("Made by Surety: what a ledger proves about {} run{}. Numbers are computed from the ledger alone, without the data.",
                       list_at(report, "runs").size(), list_at(report, "runs").size() == 1 ? "" : "s")});
  add_verdict(page, report);
  add_promise(page, report);
  add_spent(page, report);
  add_remaining(page, report);
  add_risk(page, report);
  add_curve(page, report);
  add_releases(page, report);
  page.heading("Assumptions");
  page.list(at(report, "assumptions"));
  page.heading("What is not covered");
  page.list(at(report, "not_covered"));
  add_checklist(page, report);
  add_origin(page, report);
  return std::move(page).finish();
}

}  // namespace surety::jobs
