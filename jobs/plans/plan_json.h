// Texts of plans as JSON, for those who read them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/unit.h>
#include <surety/accounting/events/units.h>
#include <surety/data/reading/data_policy.h>
#include <surety/jobs/plans/fields.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/jobs/plans/written_plan.h>

namespace surety::jobs {

/// The version of the plans that a command prints. In version 2 statistics of a release are objects, and a training counts usable records by default.
/// Version 1 is read, too.
inline constexpr int plan_version = 2;

/// \throws PlanError{bad_data} by a pattern as `refuse`.
template <class... Values>
[[noreturn]] void refuse_text(fmt::format_string<const Values&...> pattern, const Values&... values) {
  refuse<Values...>(ErrorCode::bad_data, pattern, values...);
}
/// The same, of one of its options. Of a plan that was made of arguments, it is the argument that is wrong.
template <class... Values>
[[noreturn]] void refuse_option(fmt::format_string<const Values&...> pattern, const Values&... values) {
  throw PlanError{{.code = ErrorCode::bad_data, .text = field_text<Values...>(pattern, values...), .is_of_plan_text = true}};
}

/// The plan of a command, of which everything is there that must be, and nothing that is unknown but in its options.
/// \throws PlanError{bad_data} naming the path.
[[nodiscard]] nlohmann::json parse_plan(std::string_view text, std::string_view command);
/// \throws PlanError{bad_data}; Error{invalid_argument} for numbers that are no promise.
[[nodiscard]] Target target_in(const nlohmann::json& plan);

/// Says in the options of a training whether usable records are counted, as a plan of version 2 says it. A plan of version 1 without `count-records` is without
/// the count, and so is `"count-records": false` in every version. \param known the fields of its algorithm
void set_count(nlohmann::json& plan, FieldTable& known);

/// The same text as JSON, with nothing in it that follows from the rest.
[[nodiscard]] nlohmann::json plan_json(std::string_view command, nlohmann::json options, const Target& target);

/// \throws PlanError{bad_data} for a value of another type than the field has: a number in the place of a path or a name, or a list of one value
void require_type(const Field& field, const nlohmann::json& value);
/// What stands in the options of a plan as a text. \throws PlanError{bad_data} for what is neither a text nor a number, nor the object of a query.
[[nodiscard]] std::string text_in(const std::string& field, const nlohmann::json& value);
/// What a field holds; null where nothing is said.
[[nodiscard]] nlohmann::json held_by(const Field& field);
/// Sets a field to what stands in a plan. \throws PlanError{bad_data} for a value of another type; PlanError for one out of its range.
void set_field(const Field& field, const nlohmann::json& value);
/// Refuses a field that no row knows. \throws PlanError{bad_data}, always.
[[noreturn]] void refuse_unknown_field(const std::string& name, const FieldTable& known);

/// Adds what is said of how records are read, and of whom they belong to, to the fields of a plan: nothing where it is what holds where nothing is said.
/// Limits that are neither the usual ones nor none have no words, and count as none.
void write_reading(nlohmann::json& options, const data::DataPolicy& reading);
void write_unit(nlohmann::json& options, const UnitOfPrivacy& unit, const std::optional<std::string>& period);
/// A plan of which no text is made. \throws Error{unsupported}, always.
[[noreturn]] void has_no_text(std::string_view what);

/// What says where a run is written and with which bits it is done.
struct RunFields {
  std::optional<std::string> ledger = {};
  bool ledger_must_exist = false;
  std::optional<std::string> note = {};
  std::optional<std::uint64_t> replay_seed = {};

  void add(FieldTable& table);
  void write_to(WrittenPlan& written) const;
};

/// What follows from the fields of a plan.
struct Follows {
  const UnitOfPrivacy& unit;
  const Event& event;
  double noise;
};
/// \throws PlanError where the text says an event, a noise, a unit or a schema that does not follow from its other fields.
void require_follows(const WrittenPlan& written, const Follows& follows);

}  // namespace surety::jobs
