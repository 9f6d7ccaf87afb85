#include <surety/cli/commands/private_run.h>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>
#include <surety/cli/commands/command.h>
#include <surety/cli/files/files.h>
#include <surety/cli/print/output.h>
#include <surety/cli/print/progress.h>
#include <surety/data/reading/text_reader.h>
#include <surety/jobs/run/kept_units.h>

namespace surety::cli {

std::string shown_ledger(const std::string& path, bool is_of_variable) {
  return shown(path) + (is_of_variable ? fmt::format(" (from {})", ledger_variable) : "");
}

void PrivateRunOptions::add_promise_to(OptionTable& table, bool delta_is_required, const std::string& replacement) {
  auto& option = table.add("--epsilon", epsilon, "The promise's epsilon", number()).essential();
  replacement.empty() ? option.required() : option.required_unless(replacement);
  table.add("--delta", delta, "The promise's delta", number()).required(delta_is_required).essential();
  table.add("--adjacency", adjacency, "add-or-remove-one, replace-one or zero-out").standard("the ledger's, else replace-one").essential();
}

void PrivateRunOptions::add_unit_to(OptionTable& table) {
  table.add_fields([this](auto& fields) { said_unit.add(fields); });
}

void PrivateRunOptions::take_ledger(const OptionTable& given) {
  const auto* const found = named_ledger().existing();
  if (found == nullptr) return;
  const auto* const said = given.find("--adjacency");
  if (said == nullptr || !said->is_given()) adjacency = name(found->adjacency());
  const auto& of_ledger = found->unit();
  if (of_ledger.is_row()) return;
  has_unit_of_ledger = !said_unit.column;
  if (has_unit_of_ledger) said_unit.column = columns_text(columns_of(of_ledger));
  if (said_unit.columns() != columns_of(of_ledger)) return;
  if (!said_unit.most) said_unit.most = of_ledger.most().value();
  if (!said_unit.empty) said_unit.empty = of_ledger.rule().empty;
}

void PrivateRunOptions::take_unit(const jobs::ReadingFields& reading) {
  unit = jobs::unit_of_records(said_unit, reading);
  period = jobs::period_of(said_unit, unit);
}

void PrivateRunOptions::add_ledger_to(OptionTable& table) {
  table.add_fields([this](auto& fields) { RunFields::add(fields); });
  table.find("--ledger")->required().essential().or_variable(ledger_variable, is_ledger_of_variable);
}

void PrivateRunOptions::add_plan_to(OptionTable& table) {
  table.add("--plan", plan_file, "Run the plan in this file, which --print-plan wrote").essential();
  table.add("--print-plan", print_plan, "Calibrate and print the plan as JSON; reads no records and charges nothing").essential();
}

bool PrivateRunOptions::is_only_planned(const PlannedRun& plan) const {
  if (expected) require_as_expected(*expected, plan);
  if (print_plan) {
    const auto printed = to_json(plan);
    prints_json_version_2() ? print_document("", printed) : print(printed);
  }
  return print_plan;
}

std::vector<NamedFile> PrivateRunOptions::inputs(std::vector<NamedFile> others, const jobs::ReadingFields& reading) const {
  if (reading.schema_file) others.push_back({"--schema", *reading.schema_file});
  if (expected) others.push_back({"--plan", expected->file});
  return others;
}

Target PrivateRunOptions::target() const {
  return {.epsilon = Epsilon{epsilon}, .delta = Delta{delta}, .adjacency = parse_adjacency(adjacency)};
}

accounting::Plan PrivateRunOptions::plan(const Event& event, const std::string& said) const {
  return {.event = event,
          .unit = unit,
          .promise = target(),
          .note = note.value_or("").empty() ? said : *note,
          .not_private = replay_seed.has_value()};
}

jobs::NamedLedger& PrivateRunOptions::named_ledger() const {
  if (!*ledger_) ledger_->emplace(ledger_file(), ledger_must_exist);
  return ledger_->value();
}

void PrivateRunOptions::check(const accounting::Plan& plan) const { named_ledger().check(plan); }

accounting::Reservation PrivateRunOptions::reserve(const accounting::Plan& plan) const {
  stop_progress_clock();
  return named_ledger().reserve(plan);
}

std::string PrivateRunOptions::ledger_and(accounting::RunId run) const {
  return fmt::format("{}{}, run {}", shown_ledger(ledger_file(), is_ledger_of_variable), named_ledger().charged().is_new() ? " (new)" : "",
                     run.value);
}

nlohmann::json PrivateRunOptions::charge_json(accounting::RunId run) const {
  nlohmann::json object{
      {"ledger", ledger_file()}, {"ledger_is_new", named_ledger().charged().is_new()}, {"run", run.value}, {"unit", to_json(unit)}};
  if (is_ledger_of_variable) object["ledger_from"] = ledger_variable;
  return object;
}

namespace {

/// A report in a file says no later time than the ledger does: how long a run took is nobody's business.
void show_change_of_output(std::time_t reserved) {
  struct stat status {};
  if (::fstat(STDOUT_FILENO, &status) != 0 || !S_ISREG(status.st_mode)) return;
  const timespec time{.tv_sec = reserved, .tv_nsec = 0};
  const std::array<timespec, 2> of_access_and_change{time, time};
  static_cast<void>(::futimens(STDOUT_FILENO, of_access_and_change.data()));  // another user's file keeps its own
}

}  // namespace

void CommandSteps::report(const accounting::Reservation& reservation) {
  print(reservation);
  finish_output();
  show_change_of_output(reservation.time());
}

void CommandSteps::not_settled(const accounting::Reservation& reservation, const Error& error, bool was_told) {
  code_ = fail(exit_code_of(error.code()),
               fmt::format("run {} of '{}' could not be settled, so all that it planned stays charged; what was {} is released: {}",
                           reservation.id().value, options_.ledger_file(), was_told ? "printed" : "computed", error.what()));
}

int CommandSteps::run() {
  jobs::run_in_order(*this);
  return code_;
}

}  // namespace surety::cli
