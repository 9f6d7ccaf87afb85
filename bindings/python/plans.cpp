#include "plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <type_traits>

#include <surety/accounting/events/json.h>
#include <surety/accounting/events/json_values.h>
#include <surety/base/text/error.h>
#include <surety/base/text/escaped_text.h>
#include <surety/jobs/plans/other_words.h>
#include <surety/jobs/plans/plan_json.h>

namespace surety::python {
namespace {

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

std::string keyword(std::string field) {
  std::replace(field.begin(), field.end(), '-', '_');
  return field;
}

std::string meaning_of(const std::string& word, std::vector<std::string> keywords) {
  for (auto& known : keywords) std::replace(known.begin(), known.end(), '_', '-');
  return jobs::meaning_of(word, std::vector<std::string_view>{keywords.begin(), keywords.end()}).printed(keyword);
}

FieldRow row_of(const jobs::Field& field) {
  std::optional<std::string> standard;
  if (field.standard()) {
    standard = field.standard()->printed(keyword);
  } else if (const auto held = jobs::held_by(field); held.is_string() || held.is_number()) {
    standard = held.is_string() ? accounting::text_of(held, field.name()) : held.dump();
  }
  return {keyword(field.name()), field.help().printed(keyword), standard, kind_of(field)};
}

std::vector<FieldRow> rows_of(const jobs::FieldTable& table) {
  std::vector<FieldRow> rows;
  for (const auto& group : table.groups()) {
    for (const auto& field : group.fields) rows.push_back(row_of(field));
  }
  return rows;
}

Error in_keywords(const jobs::PlanRefusal& refusal) {
  // The text of the plan was made of arguments.
  return {refusal.is_of_plan_text ? ErrorCode::invalid_argument : refusal.code, refusal.text.printed(keyword)};
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

accounting::Reservation ChargedLedger::reserve_once(const accounting::Plan& charge, std::string_view mark) {
  if (!named_) used_ = handle_->open_for(charge.event.adjacency(), charge.unit);
  auto reservation = named_ ? named_->reserve_once(charge, mark) : used_->reserve_once(charge, mark);
  charged_ = reservation.id().value;
  return reservation;
}

std::string report_text(nlohmann::json report) {
  report["version"] = 1;
  return json_for_terminals(report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace surety::python
