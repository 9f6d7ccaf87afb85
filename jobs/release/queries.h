// What a release is asked, as fields of its plan: queries in words, or as JSON objects.
//
//   query 'mean(age)', bounds 18,90, where 'smoker==yes'
//   query 'mean(age)', query 'sum(visits)', bounds age=18,90, bounds visits=0,20
//   query 'mean(age) where smoker==yes', bounds 18,90
//   query '{"function": "mean", "column": "age", "bounds": [18, 90], "where": "smoker==yes", "by": "sex", "keys": ["f", "m"], "weight": 2}'
//   query '{"function": "count", "by": ["sex", "age"], "keys": [["f", "m"], {"bounds": [18, 90], "bins": 6}]}'
//   query '{"query": "quantile(age, 0.5)", "bounds": [18, 90]}', on the command line and in plans of version 1
//   queries FILE, a list of such objects
//
// The fields beside a query in words are its own; where there are several in words, each takes those that it needs. An object says all
// itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <surety/jobs/plans/fields.h>
#include <surety/jobs/release/query_context.h>
#include <surety/statistics/parts.h>

namespace surety::jobs {

/// For who runs a plan of version 1.
inline constexpr std::string_view note_of_version_1 =
    "the plan is of version 1: its queries are texts, in which a name cannot stand in quotes; print it to get version 2";

struct QueryFields {
  QueryGrammar grammar = QueryGrammar::command;
  std::vector<std::string> queries = {};
  std::shared_ptr<const nlohmann::json> list = {};  ///< in the place of `queries`: a list of objects and texts, as JSON has it
  std::optional<std::string> file = {};
  std::optional<std::string> where = {};
  std::vector<std::string> bounds = {};  ///< "18,90", or of one column "age=18,90"
  std::optional<std::string> clip_unit_sum = {};
  std::optional<std::uint64_t> bins = {};
  std::optional<std::string> edges = {};
  std::optional<std::string> categories = {};
  std::optional<std::uint64_t> top = {};
  std::optional<std::uint64_t> candidates = {};
  bool interval = false;
  std::optional<std::uint64_t> most_keys = {};
  std::optional<std::string> by = {};
  std::optional<std::string> keys = {};
  std::optional<std::string> key_bounds = {};
  std::optional<std::uint64_t> key_bins = {};
  std::optional<std::string> key_edges = {};
  std::optional<std::uint64_t> most_per_group = {};

  /// `query` and `queries`, of which one is said, and what goes beside them.
  void add(FieldTable& table);
  /// Takes the objects of the file, if there is one. \throws Error{bad_data} for a file that is no list of objects.
  void take_file();
  [[nodiscard]] bool has_queries() const noexcept { return list != nullptr || !queries.empty(); }
};

/// Where a query says no bounds, categories or keys, those of its columns in the schema hold. Keys that nobody listed share half of the
/// promised delta, or a tenth of it where a mean of such groups is asked, in equal parts, for the chance that a key of one unit alone appears.
/// \throws PlanError naming the query, for what is missing, out of place or no query.
[[nodiscard]] std::vector<statistics::WeightedStatistic> parse_queries(const QueryFields& said, const QueryContext& context);

}  // namespace surety::jobs
