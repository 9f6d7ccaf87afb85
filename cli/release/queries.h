// What `release` is asked: queries as words of the command line, or as JSON.
//
//   --query 'mean(age)' --bounds 18,90 --where 'smoker==yes'
//   --query 'mean(age) where smoker==yes' --bounds 18,90
//   --query '{"query": "mean(age)", "bounds": [18, 90], "where": "smoker==yes", "by": "sex", "keys": ["f", "m"], "weight": 2}'
//   --queries FILE, a list of such objects
//
// The options beside a query in words are its own; where there are several in words, each takes those that it needs. An object says all
// itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <surety/data/data_policy.h>
#include <surety/statistics/parts.h>

#include <surety/jobs/plans/schema.h>
#include "../options.h"

namespace surety::cli {

struct QueryOptions {
  static constexpr std::size_t most_queries = 4096;

  std::vector<std::string> queries;
  std::optional<std::string> file;
  std::optional<std::string> where;
  std::optional<std::string> bounds;
  std::optional<std::uint64_t> bins;
  std::optional<std::string> categories;
  std::optional<std::uint64_t> candidates;
  std::optional<std::uint64_t> most_keys;
  std::optional<std::string> by;
  std::optional<std::string> keys;
  std::optional<std::string> key_bounds;
  std::optional<std::uint64_t> key_bins;

  /// \return the options that ask, of which exactly one must be given
  std::vector<std::string> add_to(OptionTable& table);
  /// Puts the objects of --queries in the place of that option, so that a plan holds them.
  /// \throws Error{bad_data} for a file that is no list of objects.
  void take_file(OptionTable& given);
};

/// What all queries share.
struct QueryContext {
  Target target;
  UnitOfPrivacy unit;
  std::optional<statistics::KeysOf::Owner> owner = {};  ///< of a row, where the unit is none
  const jobs::Schema* schema = nullptr;
  data::CsvFormat format = {};  ///< which says what missing cells of a column are
};

/// Where a query says no bounds, categories or keys, those of its columns in the schema hold. Keys that nobody listed share half of the
/// promised delta, in equal parts, for the chance that a key of one unit alone appears.
/// \throws Error{invalid_argument} naming the query, for what is missing, out of place or no query.
[[nodiscard]] std::vector<statistics::WeightedStatistic> parse_queries(const QueryOptions& options, const QueryContext& context);

}  // namespace surety::cli
