// What the commands share that read records: how much may be known of them and how large a file may be.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <surety/jobs/plans/reading_fields.h>

#include "files.h"
#include "options.h"

namespace surety::cli {

/// Fields of a plan as options of the same names.
void add_fields(OptionTable& table, const jobs::FieldTable& fields);
/// Those that `add` puts into a table, under the heading at hand.
template <class Add>
void add_fields_here(OptionTable& table, Add add) {
  jobs::FieldTable fields;
  add(fields);
  add_fields(table, fields);
}

/// The options that say how a file of records is read.
struct DataOptions : jobs::ReadingFields {
  void add_schema_to(OptionTable& table);
  void add_csv_to(OptionTable& table);
  void add_missing_to(OptionTable& table);
  void add_complete_to(OptionTable& table);
  void add_form_to(OptionTable& table);
  void add_limits_to(OptionTable& table);

  /// These and the schema's file, for `require_separate`.
  [[nodiscard]] std::vector<NamedFile> with_schema(std::vector<NamedFile> inputs) const;
  /// What missing cells count as, by column.
  [[nodiscard]] nlohmann::json missing_json() const;
};

}  // namespace surety::cli
