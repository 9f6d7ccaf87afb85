#include "private_run.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <span>

#include <nlohmann/json.hpp>

#include <surety/accounting/accountants/best.h>
#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>
#include <surety/accounting/events/releases.h>

#include "command.h"
#include "files.h"
#include "output.h"
#include "validators.h"

namespace surety::cli {

using accounting::Ledger;

double parse_double(std::string_view text, std::string_view option) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    invalid(fmt::format("{} has '{}', must be a number there", option, one_line(text)));
  return value;
}

void PrivateRunOptions::add_promise_to(OptionTable& table, bool delta_is_required) {
  table.add("--epsilon", epsilon, "The promise's epsilon", number()).required().essential();
  table.add("--delta", delta, "The promise's delta", number()).required(delta_is_required).essential();
  table.add("--adjacency", adjacency, "add-or-remove-one, replace-one or zero-out").essential();
}

void PrivateRunOptions::add_unit_to(OptionTable& table) {
  table
      .add(
          "--unit", unit_column,
          "CSV: the column that names the owner of a row. What is promised is then promised to an owner with all rows, of which --most are "
          "used; names are compared byte by byte")
      .standard("one row");
  table.add("--most", most, "How many rows of a --unit are used, at most: chosen by a secret hash of that unit's rows alone",
            whole_number(1, std::uint64_t{1} << 53));
  table
      .add("--empty-unit", empty_unit,
           "What records are whose --unit is empty, as in damaged ones: one, all of them are one unit, or each, each is a unit",
           one_of({"one", "each"}))
      .standard("one");
}

void PrivateRunOptions::take_schema(const Schema& schema) {
  if (unit_column || !schema.unit) return;
  unit_column = schema.unit;
  if (!most) most = schema.most;
}

UnitOfPrivacy unit_of(const std::optional<std::string>& column, const std::optional<std::uint64_t>& most) {
  if (column.has_value() != most.has_value()) {
    invalid(column ? "--most is missing: --unit needs a public number of rows, of which no more are used of a unit"
                   : "--unit is missing: --most is the number of rows that are used of a unit, so name its column");
  }
  if (!column) return {};
  // "row" is the name of a row itself.
  constexpr std::string_view prefix = "column ";
  const bool is_ambiguous = *column == UnitOfPrivacy::row || column->starts_with(prefix);
  return {is_ambiguous ? std::string{prefix} + *column : *column, Count{*most}};
}

void PrivateRunOptions::take_unit() {
  unit = unit_of(unit_column, most);
  if (empty_unit && !unit_column) invalid("--empty-unit is for --unit, which is missing");
}

void UnitsRead::keep_only(data::CsvReader& reader) const { reader.keep_only({rows, &rows->is_kept}, column); }

std::optional<UnitsRead> read_units(const std::string& path, const PrivateRunOptions& options, const data::DataPolicy& policy,
                                    RunBits& bits, const data::UnitSelectionOptions& selection) {
  if (!options.has_unit()) {
    if (!(options.unit == UnitOfPrivacy{})) throw Error{ErrorCode::internal, "a unit without its column"};
    return std::nullopt;
  }
  if (options.unit == UnitOfPrivacy{}) throw Error{ErrorCode::internal, "a unit that was not taken"};
  if (policy.csv.missing.contains(*options.unit_column)) {
    invalid(
        fmt::format("what a missing cell of column '{}' counts as is said, must not be: it names the unit, for which --empty-unit says it",
                    one_line(*options.unit_column)));
  }
  data::UnitKey key;
  bits.source().fill(std::as_writable_bytes(std::span{key}));
  data::FileReadTwice file{path};
  const data::UnitRule rule{.column = *options.unit_column,
                            .most = options.unit.most(),
                            .empty = options.empty_unit == "each" ? data::EmptyUnit::each : data::EmptyUnit::one};
  auto rows = std::make_shared<const data::KeptRows>(data::select_rows(path, rule, policy, key, selection));
  file.rewind();
  return UnitsRead{.column = *options.unit_column, .rows = std::move(rows), .file = std::move(file)};
}

void PrivateRunOptions::add_ledger_to(OptionTable& table) {
  table.add("--ledger", ledger, "The ledger's file, made when missing").required().essential();
  table.add("--ledger-must-exist", ledger_must_exist, "Refuse to make a new ledger, as a mistyped path would");
  table.add("--note", note, "A word about this run for the ledger");
  table.add("--replay-seed", replay_seed, "Replay noise from this seed: NOT PRIVATE, for experiments", whole_number());
}

void PrivateRunOptions::add_plan_to(OptionTable& table) {
  table.add("--plan", plan_file, "Run the plan in this file, which --print-plan wrote").essential();
  table.add("--print-plan", print_plan, "Calibrate and print the plan as JSON; reads no records and charges nothing").essential();
}

bool PrivateRunOptions::is_only_planned(const PlannedRun& plan) const {
  if (expected) require_as_expected(*expected, plan);
  if (print_plan) print(to_json(plan));
  return print_plan;
}

std::vector<NamedFile> PrivateRunOptions::inputs(std::vector<NamedFile> others) const {
  if (expected) others.push_back({"--plan", expected->file});
  return others;
}

Target PrivateRunOptions::target() const {
  return {.epsilon = Epsilon{epsilon}, .delta = Delta{delta}, .adjacency = parse_adjacency(adjacency)};
}

accounting::Plan PrivateRunOptions::plan(const Event& event, const std::string& said) const {
  return {.event = event, .unit = unit, .promise = target(), .note = note.empty() ? said : note, .not_private = replay_seed.has_value()};
}

void PrivateRunOptions::check(const accounting::Plan& plan) const {
  if (!ledger_must_exist && !std::filesystem::exists(ledger)) return;
  *opened_ = Ledger::open(ledger);
  (*opened_)->check(plan);
}

accounting::Reservation PrivateRunOptions::reserve(const accounting::Plan& plan) const {
  if (!*opened_) *opened_ = ledger_must_exist ? Ledger::open(ledger) : Ledger::open_or_create(ledger, plan.event.adjacency(), plan.unit);
  return (*opened_)->reserve(plan);
}

std::string PrivateRunOptions::ledger_and(accounting::RunId run) const {
  return fmt::format("{}{}, run {}", shown(ledger), opened_->value().is_new() ? " (new)" : "", run.value);
}

nlohmann::json PrivateRunOptions::charge_json(accounting::RunId run) const {
  const Ledger& used = opened_->value();
  return {{"ledger", ledger}, {"ledger_is_new", used.is_new()}, {"run", run.value}, {"unit", to_json(used.unit())}};
}

int report_and_settle(accounting::Reservation& reservation, const std::string& ledger, const std::function<void()>& report) {
  std::exception_ptr lost;
  try {
    report();
    finish_output();
  } catch (...) {
    lost = std::current_exception();
  }
  try {
    reservation.settle(accounting::Stopping::data_independent);
  } catch (const Error& error) {
    return fail(exit_code_of(error.code()),
                fmt::format("run {} of '{}' could not be settled, so all that it planned stays charged; what was "
                            "{} is released: {}",
                            reservation.id().value, ledger, lost ? "computed" : "printed", error.what()));
  }
  if (lost) std::rethrow_exception(lost);
  return exit_code::fine;
}

std::string as_charged(const Event& event) { return describe(accounting::Releases::of(event).event().value_or(event)); }

Released released_by(const accounting::Reservation& reservation, const Event& plan, const Enclosure& epsilon, Delta delta) {
  const auto planned = as_charged(plan);
  const auto event = reservation.released().event();
  if (!event) return {planned, "nothing", {0, 0}};
  const auto text = describe(*event);
  return {planned, text, text == planned ? epsilon : accounting::quick_epsilon(*event, delta)};
}

RunBits::RunBits(const std::optional<std::uint64_t>& replay_seed) {
  if (replay_seed) {
    replay_.emplace(*replay_seed);
  } else {
    system_.emplace();
  }
}

}  // namespace surety::cli
