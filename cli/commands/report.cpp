// surety report: what a ledger proves, as one page for people who do not see the data.
#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/json.h>
#include <surety/accounting/events/json_values.h>
#include <surety/base/system/new_file.h>
#include <surety/cli/commands/command.h>
#include <surety/cli/commands/private_run.h>
#include <surety/cli/commands/risk.h>
#include <surety/cli/files/files.h>
#include <surety/cli/print/output.h>
#include <surety/jobs/plans/small_text.h>
#include <surety/jobs/report/checklist.h>
#include <surety/jobs/report/html.h>
#include <surety/jobs/report/ledger_report.h>
#include <surety/jobs/report/markdown.h>
#include <surety/jobs/report/registry.h>
#include <surety/jobs/report/report_document.h>

namespace surety::cli {
namespace {

struct Format {
  std::string_view name;
  std::string_view ending;
  const FileKind* kind;
  std::string (*text)(const nlohmann::json& report);  ///< null of the registry, whose entry needs facts, too
};
constexpr std::array formats{
    Format{"html", ".html", &jobs::html_report_file, [](const nlohmann::json& report) { return jobs::html(jobs::document_of(report)); }},
    Format{"md", ".md", &jobs::markdown_report_file,
           [](const nlohmann::json& report) { return jobs::markdown(jobs::document_of(report)); }},
    Format{"json", ".json", &jobs::json_report_file, jobs::json_text}, Format{"registry", ".yaml", &jobs::registry_entry_file, nullptr}};

struct ReportOptions {
  std::string ledger;
  bool is_of_variable = false;  ///< whether SURETY_LEDGER names the ledger; the report names it by its checksum
  std::optional<std::string> output;
  std::optional<std::string> format;
  std::optional<double> delta;
  std::optional<double> prior;
  std::string checklist;
  std::optional<std::string> facts;
  bool json = false;
  OverwriteOption overwrite;
};

const Format& format_of(const ReportOptions& options) {
  if (options.json && options.format && *options.format != "json") invalid("cannot combine --json with another --format; remove one");
  const auto& path = options.output;
  const auto named = options.json ? std::optional<std::string>{"json"} : options.format;
  for (const auto& format : formats) {
    if (named ? format.name == *named : path ? path->ends_with(format.ending) : format.name == "html") return format;
  }
  invalid(fmt::format("--output is '{}', must end in .html, .md, .json or .yaml, or be given with --format", one_line(*path)));
}

/// What makes the same report again, of any copy of the ledger.
std::string command_of(const ReportOptions& options) {
  std::string command = "surety report LEDGER --output REPORT";
  if (options.delta) command += fmt::format(" --delta {}", *options.delta);
  if (options.prior) command += fmt::format(" --prior {}", *options.prior);
  if (!options.checklist.empty()) command += fmt::format(" --checklist {}", options.checklist);
  return command;
}

/// Null without the option.
nlohmann::json facts_of(const std::optional<std::string>& path) {
  constexpr std::size_t largest_facts = std::size_t{1} << 20;
  if (!path) return nullptr;
  return accounting::parse_strict_json(jobs::read_text(*path, largest_facts, "facts"), 8, "--facts");
}

int report(const ReportOptions& options) {
  const auto& format = format_of(options);
  const bool is_registry = format.text == nullptr;
  if (options.facts && !is_registry)
    invalid("--facts is only read with --format registry; remove one of them, or name an output that ends in .yaml");
  if (is_registry && !options.checklist.empty()) invalid("cannot combine --checklist with --format registry; remove one");
  Files files{.ledger = NamedFile{"the ledger", options.ledger}};
  if (options.facts) files.inputs.push_back({"--facts", *options.facts});
  if (options.output) files.outputs.push_back({{"--output", *options.output}, *format.kind, options.overwrite.said()});
  require_separate(files);
  const auto facts = facts_of(options.facts);
  const jobs::ReportQuestions questions{.delta = options.delta ? std::optional{Delta{*options.delta}} : std::nullopt,
                                        .risk = risk_questions(options.prior),
                                        .checklist = options.checklist};
  const auto report = jobs::report_of_file(options.ledger, questions,
                                           {.program = "surety " SURETY_VERSION, .command = command_of(options), .ledger_sha256 = {}});
  jobs::RegistryEntry entry;
  if (is_registry) entry = jobs::registry_entry_of(report, facts);
  const auto text = is_registry ? entry.yaml : format.text(report);
  const bool kept = jobs::is_kept(report);
  if (options.output) {
    NewFile file{Place{*options.output}, text.size()};
    file.write(text);
    file.replace(*format.kind, options.overwrite.said());
    say_line("report", shown(*options.output));
    if (options.is_of_variable) say_line("ledger", shown_ledger(options.ledger, true));
    say_line("verdict", accounting::text_of(report["verdict"], "verdict"));
    if (is_registry) say_line("questions", fmt::format("{} fields have no value, {} of them required", entry.questions, entry.required));
  } else if (options.json) {
    print_document(text, report);
  } else {
    say_lines(text);
  }
  return kept ? exit_code::fine : exit_code::broken;
}

}  // namespace

Command report_command() {
  const auto describe = [](Command& command, OptionTable& table, ReportOptions& options) {
    table.add("ledger", options.ledger, "The ledger's file").required().or_variable(ledger_variable, options.is_of_variable);
    table.add("--output", options.output, "The file to write, instead of standard output: .html, .md, .json or .yaml").also("-o");
    table
        .add("--format", options.format, "html, md or json; registry: an entry of the public registry of deployments, in YAML",
             one_of({"html", "md", "json", "registry"}))
        .standard("by the ending of --output; html without one");
    table.add("--delta", options.delta, "Report epsilon at this delta; without it that of the budget, or the largest of the promises",
              number());
    table.add("--prior", options.prior, "The probability that the record is there, for the attacker's accuracy; default 0.5", number());
    table.add("--checklist", options.checklist,
              "Add the questions of a reviewer, with the answers that the ledger has: nist-800-226, by the topics of NIST SP 800-226",
              one_of({std::string{jobs::nist_800_226}}));
    table.add(
        "--facts", options.facts,
        "A JSON file with fields of the registry's entry that no ledger has, such as {\"deployment\": {\"basic\": {\"name\": \"Trips\"}}}");
    table.add("--json", options.json, "The same as --format json");
    options.overwrite.add_to(table);
    command.footer =
        R"(The report states what is promised to whom, what was spent and what remains, what an attacker gains, the releases, the assumptions and what is not covered.
Only the ledger is read, nothing is charged, and the page needs no network and no script. Equal ledgers give equal reports.
Exit code 1 after the report is written: a promise is broken, or noise was replayed.
Examples:
  surety report run.db -o report.html
  surety report run.db --delta 1e-6 --format md --checklist nist-800-226
  surety report run.db --facts facts.json -o entry.yaml
  surety report run.db --json)";
  };
  return make_command("report", "Write what a ledger proves as one page for data protection officers and reviewers", report, describe);
}

}  // namespace surety::cli
