#include "data_options.h"

#include <string_view>
#include <variant>

#include <nlohmann/json.hpp>

#include <surety/accounting/numbers/overload.h>
#include <surety/jobs/plans/plan_error.h>

namespace surety::cli {
namespace {

constexpr std::string_view mark_of_options = "--";

Check check_of(const jobs::Constraint& constraint) {
  if (std::holds_alternative<jobs::AnyText>(constraint)) return {};
  return [constraint](const std::string& text) { return jobs::fault_of(constraint, text); };
}

}  // namespace

void add_fields(OptionTable& table, const jobs::FieldTable& fields) {
  for (const auto& group : fields.groups()) {
    if (!group.heading.empty()) table.group(group.heading);
    for (const auto& field : group.fields) {
      const auto add = [&](auto* value) {
        auto& option =
            table.add("--" + field.name(), *value, jobs::with_marks(field.help(), mark_of_options), check_of(field.constraint()));
        if (field.standard()) option.standard(jobs::with_marks(*field.standard(), mark_of_options));
      };
      std::visit(add, field.value());
    }
  }
}

void DataOptions::add_schema_to(OptionTable& table) {
  add_fields_here(table, [this](auto& fields) { add_schema(fields); });
}
void DataOptions::add_csv_to(OptionTable& table) {
  add_fields_here(table, [this](auto& fields) { add_csv(fields); });
}
void DataOptions::add_missing_to(OptionTable& table) {
  add_fields_here(table, [this](auto& fields) { add_missing(fields); });
}
void DataOptions::add_complete_to(OptionTable& table) {
  add_fields_here(table, [this](auto& fields) { add_complete(fields); });
}
void DataOptions::add_form_to(OptionTable& table) {
  add_fields_here(table, [this](auto& fields) { add_form(fields); });
}
void DataOptions::add_limits_to(OptionTable& table) {
  add_fields_here(table, [this](auto& fields) { add_limits(fields); });
}

std::vector<NamedFile> DataOptions::with_schema(std::vector<NamedFile> inputs) const {
  if (schema_file) inputs.push_back({"--schema", *schema_file});
  return inputs;
}

nlohmann::json DataOptions::missing_json() const { return csv().missing; }

}  // namespace surety::cli
