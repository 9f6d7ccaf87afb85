// What the commands share that read records: how much may be known of them and how large a file may be, and lists of values in an option.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <surety/data/data_policy.h>
#include <surety/jobs/plans/fields.h>
#include <surety/jobs/plans/text_lists.h>

#include "files.h"
#include "options.h"
#include "schema_file.h"

namespace surety::cli {

/// The options that say how a file of records is read.
struct DataOptions {
  bool form_is_public = false;
  bool no_limits = false;
  std::optional<std::string> delimiter;
  std::optional<std::string> decimal;
  std::optional<std::string> columns;
  std::vector<std::string> missing;
  std::optional<std::string> complete;
  std::optional<std::uint64_t> quoted_lines;
  std::optional<std::string> schema_file;
  std::optional<Schema> schema;  ///< what `load_schema` read

  void add_schema_to(OptionTable& table);
  /// Reads --schema, whose words hold from then on where no option says otherwise. \throws Error{bad_data} as `read_schema`.
  void load_schema();
  [[nodiscard]] std::optional<std::string> schema_sha256() const { return schema ? std::optional{schema->sha256} : std::nullopt; }
  /// These and the schema's file, for `require_separate`.
  [[nodiscard]] std::vector<NamedFile> with_schema(std::vector<NamedFile> inputs) const;
  /// What the schema says of a column; nullptr where it says nothing.
  [[nodiscard]] const SchemaColumn* schema_column(std::string_view column) const { return schema ? schema->find(column) : nullptr; }

  /// How a CSV file is written.
  void add_csv_to(OptionTable& table);
  /// For commands that say what becomes of cells.
  void add_missing_to(OptionTable& table);
  /// For commands that leave out missing cells.
  void add_complete_to(OptionTable& table);
  /// One of these was given.
  [[nodiscard]] bool is_about_csv() const noexcept {
    return delimiter || decimal || columns || !missing.empty() || quoted_lines || schema_file;
  }
  /// \throws Error{invalid_argument} naming the option.
  [[nodiscard]] data::CsvFormat csv() const;
  /// "age=40, town=\"New York, NY\"": what missing cells count as, for a report; empty where nothing was said. By column in JSON.
  [[nodiscard]] std::string missing_text() const;
  [[nodiscard]] nlohmann::json missing_json() const;

  /// For commands that keep records private.
  void add_form_to(OptionTable& table);
  void add_limits_to(OptionTable& table);
  [[nodiscard]] data::DataLimits limits() const;
  [[nodiscard]] data::DataPolicy policy() const;
};

}  // namespace surety::cli
