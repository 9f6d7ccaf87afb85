#include <surety/jobs/run/kept_units.h>

#include <fmt/format.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include <surety/base/text/error.h>
#include <surety/base/text/safe_text.h>

namespace surety::jobs {

UnitOfPrivacy unit_of_column(const std::string& column, Count most, const OwnerRule& rule) { return unit_of_columns({column}, most, rule); }

void KeptUnits::keep_only(data::CsvReader& reader) const { reader.keep_only({rows, &rows->is_kept}, columns); }

data::UnitKey draw_unit_key(mechanisms::BitsRef bits) {
  data::UnitKey key;
  bits.fill(std::as_writable_bytes(std::span{key}));
  return key;
}

data::ArrowUnits units_of_stream(const UnitOfPrivacy& unit, const data::DataPolicy& policy, const data::UnitKey& key) {
  auto columns = columns_of(unit);
  if (columns.empty()) throw Error{ErrorCode::internal, "rows of one row are to be kept"};
  for (const auto& column : columns) {
    if (!policy.csv.missing.contains(column)) continue;
    invalid(fmt::format(
        "what a missing cell of column '{}' counts as is said, must not be: it names the unit, whose rule says it for rows without a name",
        one_line(column)));
  }
  return {
      .rule = {.column = columns.front(), .most = unit.most(), .empty = unit.rule().empty, .beside = {columns.begin() + 1, columns.end()}},
      .key = key,
      .options = {}};
}

data::ArrowUnits units_of_stream(const UnitOfPrivacy& unit, const data::DataPolicy& policy, mechanisms::BitsRef bits) {
  return units_of_stream(unit, policy, draw_unit_key(bits));
}

KeptUnits keep_units(const std::filesystem::path& path, const UnitOfPrivacy& unit, const data::DataPolicy& policy, mechanisms::BitsRef bits,
                     const data::UnitSelectionOptions& selection) {
  return keep_units(path, unit, policy, draw_unit_key(bits), selection);
}

KeptUnits keep_units(const std::filesystem::path& path, const UnitOfPrivacy& unit, const data::DataPolicy& policy, const data::UnitKey& key,
                     const data::UnitSelectionOptions& selection) {
  auto units = units_of_stream(unit, policy, key);
  data::FileReadTwice file{path};
  auto rows = std::make_shared<const data::KeptRows>(data::select_rows(path, units.rule, policy, units.key, selection));
  file.rewind();
  return {.columns = units.rule.columns(), .rows = std::move(rows), .file = std::move(file)};
}

}  // namespace surety::jobs
