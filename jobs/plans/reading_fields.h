// How a file of records is read, as fields of a plan.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <surety/data/reading/data_policy.h>
#include <surety/jobs/plans/fields.h>
#include <surety/jobs/plans/schema.h>

namespace surety::jobs {

struct ReadingFields {
  bool form_is_public = false;
  bool no_limits = false;
  std::optional<std::string> delimiter = {};
  std::optional<std::string> decimal = {};
  std::optional<std::string> thousands = {};
  std::optional<std::string> columns = {};
  std::vector<std::string> missing = {};
  std::optional<std::string> complete = {};
  std::optional<std::uint64_t> quoted_lines = {};
  std::optional<std::string> schema_file = {};
  std::optional<Schema> schema = {};  ///< what `load_schema` read

  // In the order of the help; each adds fields to the heading at hand.
  void add_form(FieldTable& table);
  void add_limits(FieldTable& table);
  /// How a CSV file is written.
  void add_csv(FieldTable& table);
  /// For plans that say what becomes of cells.
  void add_missing(FieldTable& table);
  /// For plans that leave out missing cells.
  void add_complete(FieldTable& table);
  void add_schema(FieldTable& table);

  /// Reads the schema's file, whose words hold from then on where no field says otherwise. \throws Error{bad_data} as `read_schema`.
  void load_schema();
  [[nodiscard]] std::optional<std::string> schema_sha256() const { return schema ? std::optional{schema->sha256} : std::nullopt; }
  /// What the schema says of a column; nullptr where it says nothing.
  [[nodiscard]] const SchemaColumn* schema_column(std::string_view column) const { return schema ? schema->find(column) : nullptr; }

  /// One of those that are about CSV was said.
  [[nodiscard]] bool is_about_csv() const noexcept {
    return delimiter || decimal || thousands || columns || !missing.empty() || quoted_lines || schema_file;
  }
  /// \throws PlanError.
  [[nodiscard]] data::CsvFormat csv() const;
  [[nodiscard]] data::DataLimits limits() const { return no_limits ? data::DataLimits::none() : data::DataLimits{}; }
  /// \throws PlanError.
  [[nodiscard]] data::DataPolicy policy() const;
};

/// "age=40, town=New York": as what value missing cells of columns count, for a report; empty where nothing was said.
[[nodiscard]] std::string missing_text(const std::map<std::string, std::string>& missing);

}  // namespace surety::jobs
