#include "plans.h"

#include <fmt/format.h>

#include <string_view>
#include <type_traits>

#include <surety/accounting/events/json.h>
#include <surety/accounting/events/json_values.h>
#include <surety/base/text/error.h>
#include <surety/base/text/escaped_text.h>
#include <surety/jobs/plans/plan_json.h>

namespace surety::python {
namespace {

/// A field as a keyword of Python: "empty_unit".
std::string keyword(std::string field) {
  for (char& c : field) {
    if (c == '-') c = '_';
  }
  return field;
}

/// A help with names of fields as keywords.
std::string help_in_keywords(const std::string& help) {
  std::string text;
  bool is_name = false;
  for (const char c : help) {
    is_name = c == '@' || (is_name && (c == '-' || (c >= 'a' && c <= 'z')));
    if (c != '@') text += is_name && c == '-' ? '_' : c;
  }
  return text;
}

std::string kind_of(const jobs::Field& field) {
  return std::visit(
      [](const auto& value) -> std::string {
        using Value = std::remove_cv_t<std::remove_pointer_t<std::remove_cvref_t<decltype(value)>>>;
        if constexpr (std::is_same_v<Value, bool>) {
          return "flag";
        } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
          return "texts";
        } else if constexpr (std::is_same_v<Value, double> || std::is_same_v<Value, std::optional<double>>) {
          return "number";
        } else if constexpr (std::is_same_v<Value, std::uint64_t> || std::is_same_v<Value, std::optional<std::uint64_t>>) {
          return "count";
        } else {
          return "text";
        }
      },
      field.value());
}

}  // namespace

FieldRow row_of(const jobs::Field& field) {
  auto standard = field.standard();
  if (standard) {
    standard = help_in_keywords(*standard);
  } else if (const auto held = jobs::held_by(field); held.is_string() || held.is_number()) {
    standard = held.is_string() ? accounting::text_of(held, field.name()) : held.dump();
  }
  return {keyword(field.name()), help_in_keywords(field.help()), standard, kind_of(field)};
}

std::vector<FieldRow> rows_of(const jobs::FieldTable& table) {
  std::vector<FieldRow> rows;
  for (const auto& group : table.groups()) {
    for (const auto& field : group.fields) rows.push_back(row_of(field));
  }
  return rows;
}

Error in_keywords(const jobs::PlanError& error) {
  const std::string_view text = error.in_keywords();
  // The text of the plan was made of arguments.
  constexpr std::string_view of_text{"options: "};
  if (!text.starts_with(of_text)) return {error.code(), std::string{text}};
  return {ErrorCode::invalid_argument, std::string{text.substr(of_text.size())}};
}

void require_said_unit(const jobs::WrittenPlan& written, const UnitOfPrivacy& unit) {
  if (!written.said.contains("unit") && !unit.is_row()) {
    invalid(fmt::format("unit is None, must be the one of the schema, {}", describe(unit)));
  }
}

std::string text_with(const jobs::WrittenPlan& written, const UnitOfPrivacy& unit, const Event& event, double noise) {
  auto json = nlohmann::json::parse(written.text);
  json["unit"] = to_json(unit);
  json["event"] = to_json(event);
  json["noise"] = noise;
  if (written.schema_sha256) json["schema_sha256"] = *written.schema_sha256;
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

ChargedLedger::ChargedLedger(const LedgerOfRun& ledger, bool must_exist) {
  if (const auto* const handle = std::get_if<LedgerHandle>(&ledger)) {
    handle_ = *handle;
    static_cast<void>(handle_->found());  // it is open
  } else {
    named_.emplace(std::get<std::filesystem::path>(ledger), must_exist);
    path_ = std::get<std::filesystem::path>(ledger).string();
  }
}

void ChargedLedger::ask(const accounting::Plan& charge) {
  if (named_) return named_->check(charge);
  if (const auto ledger = handle_->found()) ledger->check(charge);
}

accounting::Reservation ChargedLedger::reserve(const accounting::Plan& charge) {
  if (!named_) used_ = handle_->open_for(charge.event.adjacency(), charge.unit);
  auto reservation = named_ ? named_->reserve(charge) : used_->reserve(charge);
  charged_ = reservation.id().value;
  return reservation;
}

std::string report_text(nlohmann::json report) {
  report["version"] = 1;
  return json_for_terminals(report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace surety::python
