// A schema: what a user knows of a file of records before anybody looks into it, as one JSON file that commands share.
//
//   {"surety_schema": 1, "delimiter": ",", "decimal": ".", "header": true,
//    "columns": [{"name": "age", "type": "number", "bounds": [18, 90], "categories": null, "missing": "40", "complete": null,
//                 "drop": false}, ...],
//    "label": "smoker==yes", "unit": "person", "most": 3, "empty_unit": "one"}
//
// Every value but the version and the names may be null or left out, which says nothing. Reading is strict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <surety/accounting/events/unit.h>

namespace surety::jobs {

struct SchemaColumn {
  std::string name;
  std::optional<std::string> type = {};  ///< number, text or date
  struct Ends {
    double lower;
    double upper;
  };
  std::optional<Ends> bounds = {};
  std::optional<std::vector<std::string>> categories = {};
  std::optional<std::string> missing = {};
  bool is_complete = false;
  bool is_dropped = false;
};

struct Schema {
  std::string file;
  std::string sha256;  ///< of its bytes, in hexadecimal digits
  std::optional<std::string> delimiter = {};
  std::optional<std::string> decimal = {};
  std::optional<std::string> thousands = {};
  bool has_header = true;
  std::vector<SchemaColumn> columns = {};
  std::optional<std::string> label = {};
  std::optional<std::string> unit = {};  ///< as `parse_unit` reads it
  std::optional<std::uint64_t> most = {};
  std::optional<EmptyUnit> empty_unit = {};

  /// nullptr where it says nothing of that column.
  [[nodiscard]] const SchemaColumn* find(std::string_view column) const;
};

/// \throws Error{bad_data} naming the file for what is no schema: another version, an unknown, missing or repeated field, a value of another
///         form, a column named twice, bounds that do not ascend, a column with both bounds and categories, or complete and with
///         missing cells that count, or values that its type excludes.
[[nodiscard]] Schema read_schema(const std::string& file);

/// The text of a schema that says names and form alone, for people to fill in. \throws Error{bad_data} for a name that is not UTF-8, the only
/// text that JSON has.
[[nodiscard]] std::string schema_text(const std::string& data, std::string_view delimiter, char decimal, bool has_header,
                                      const std::vector<std::string>& columns);

}  // namespace surety::jobs
