// What reading a query needs to know: the grammar of its source, and the promise, unit and schema that all queries share.
#pragma once

#include <cstdint>
#include <string_view>

#include <surety/accounting/events/unit.h>
#include <surety/accounting/events/units.h>
#include <surety/data/reading/data_policy.h>
#include <surety/jobs/plans/schema.h>

namespace surety::jobs {

/// In the place of a list of keys: the groups that nobody listed. A list of that one text is written in quotes, or in JSON as a list.
inline constexpr std::string_view discovered = "discovered";

/// How a query says its function and columns.
enum class QueryGrammar : std::uint8_t {
  command,  ///< as text (query_text.h), also in the member "query" of an object, or as members "function", "column" or "expression", and "fractions"
  plan_1,  ///< as text alone, in which no name stands in quotes
  plan_2   ///< as members alone: no name is parsed
};

/// What all queries share.
struct QueryContext {
  Target target;
  UnitOfPrivacy unit;
  const Schema* schema = nullptr;
  data::CsvFormat format = {};  ///< which says what missing cells of a column are
  /// One pair of bounds, one clip or one list of categories may be of several columns. So plans of version 1 mean it; said by hand it is a slip.
  bool shares_among_columns = false;
};

}  // namespace surety::jobs
