#include <surety/cli/commands/logs.h>

#include <fmt/format.h>

#include <string>

#include <nlohmann/json.hpp>

#include <surety/accounting/calibration/solve.h>
#include <surety/accounting/logs/log_audit.h>
#include <surety/accounting/logs/log_json.h>
#include <surety/accounting/logs/log_report.h>
#include <surety/base/text/error.h>
#include <surety/cli/commands/command.h>
#include <surety/cli/files/files.h>
#include <surety/cli/print/output.h>
#include <surety/jobs/plans/small_text.h>

namespace surety::cli {
namespace {

accounting::RunLog read_log(const std::string& file, const accounting::NeededFields& needed) {
  require_separate({.inputs = {NamedFile{"--log", file}}});
  const auto text = jobs::read_text(file, accounting::largest_log, "a log");
  try {
    return accounting::run_log_from_json(text, needed);
  } catch (const Error& error) {
    throw Error{ErrorCode::bad_data, fmt::format("{}: {}", one_line(file), error.what())};
  }
}

accounting::LogQuestion question_of(const LogOptions& options) {
  accounting::LogQuestion question{.effort = {.width = options.width}};
  if (!options.adjacency.empty()) question.adjacency = parse_adjacency(options.adjacency);
  if (options.epsilon) question.epsilon = Epsilon{*options.epsilon};
  if (options.delta) question.delta = Delta{*options.delta};
  for (const auto& word : options.readings) {
    question.only.push_back(accounting::parse_logged_sampler(word));
    if (question.only.back() == accounting::LoggedSampler::unknown) invalid("--reading is unknown, must be a way to draw batches");
  }
  return question;
}

int print_json(nlohmann::json object, const LogOptions& options, int code) {
  object["log"] = options.file;
  print(object);
  return code;
}

}  // namespace

int audit_log(const LogOptions& options) {
  const auto question = question_of(options);
  const auto audit = accounting::audit_log(read_log(options.file, accounting::needed_by_audit(question)), question);
  const int code = audit.kept() ? exit_code::fine : exit_code::broken;
  if (options.json) return print_json(accounting::to_json(audit), options, code);
  say_line("log", shown(options.file));
  say_lines(accounting::report_text(audit));
  return code;
}

int audit_log_risk(const LogOptions& options, const accounting::RiskQuestions& questions) {
  const auto question = question_of(options);
  const auto risk = accounting::risk_of_log(read_log(options.file, accounting::needed_by_risk(question)), question, questions);
  if (options.json) return print_json(accounting::to_json(risk, questions), options, exit_code::fine);
  say_line("log", shown(options.file));
  say_lines(accounting::report_text(risk, questions));
  return exit_code::fine;
}

int calibrate_log(const LogOptions& options) {
  const auto question = question_of(options);
  const auto found = accounting::calibrate_log(read_log(options.file, accounting::needed_by_calibration(question)), question);
  const auto* const proved = found.proved();
  if (options.require_tight && proved != nullptr && !proved->is_tight()) {
    throw Error{ErrorCode::unreachable, fmt::format("the answer {:g} is not tight, as --require-tight asks: {}",
                                                    proved->multiplier->value(), not_tight(proved->gap))};
  }
  constexpr int code = exit_code::fine;
  if (options.json) return print_json(accounting::to_json(found), options, code);
  say_line("log", shown(options.file));
  say_lines(accounting::report_text(found));
  return code;
}

}  // namespace surety::cli
