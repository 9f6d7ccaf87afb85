// One query as a user writes it, in words or as a JSON object: a function of columns, and options.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <surety/base/text/error.h>
#include <surety/jobs/plans/field_text.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/jobs/release/query_text.h>
#include <surety/statistics/parts.h>

namespace surety::jobs {

/// The groups of a query: a list for each column, or the groups that nobody listed.
struct QueryKeys {
  std::vector<statistics::Cells> of_columns = {};
  bool are_discovered = false;
};

/// What a query may have besides its function, columns and fractions.
struct QueryOptions {
  std::optional<std::string> where = {};
  std::optional<data::Bounds> bounds = {};
  std::optional<data::Bounds> clip_unit_sum = {};  ///< in the place of bounds
  std::optional<std::uint64_t> bins = {};
  std::optional<data::Categories> categories = {};
  std::optional<std::uint64_t> candidates = {};
  std::optional<std::uint64_t> most_keys = {};
  std::vector<std::string> by = {};
  QueryKeys keys = {};
  std::optional<data::Bounds> key_bounds = {};
  std::optional<std::uint64_t> key_bins = {};
  std::optional<std::uint64_t> most_per_group = {};
};

/// Visits each option by the name of its field: `visit("bins"_field, options.bins...)`. All forms of a query have members of these names, so that
/// parsers, writers and checks share this list.
template <class Visit, class... Options>
void for_each_option(const Visit& visit, Options&... options) {
  visit("where"_field, options.where...);
  visit("bounds"_field, options.bounds...);
  visit("clip-unit-sum"_field, options.clip_unit_sum...);
  visit("bins"_field, options.bins...);
  visit("categories"_field, options.categories...);
  visit("candidates"_field, options.candidates...);
  visit("most-keys"_field, options.most_keys...);
  visit("by"_field, options.by...);
  visit("keys"_field, options.keys...);
  visit("key-bounds"_field, options.key_bounds...);
  visit("key-bins"_field, options.key_bins...);
  visit("most-per-group"_field, options.most_per_group...);
}

template <class Value>
[[nodiscard]] bool is_given(const std::optional<Value>& option) noexcept {
  return option.has_value();
}
template <class Value>
[[nodiscard]] bool is_given(const std::vector<Value>& option) noexcept {
  return !option.empty();
}
[[nodiscard]] inline bool is_given(const QueryKeys& keys) noexcept { return !keys.of_columns.empty() || keys.are_discovered; }

/// The member of an object that has a field's name: "most_keys".
[[nodiscard]] std::string member_name(std::string field);

/// One query, with what its refusals name.
struct Query : QueryOptions {
  AskedFunction asked = {};
  std::map<std::string, std::string> types = {};  ///< of columns
  double weight = 1;
  std::string function = {};  ///< its name, as it was written
  std::string text = {};      ///< for messages
  FieldText place = {};       ///< before each message: "query 2: "
  bool is_object = false;     ///< in JSON

  /// \throws PlanError, always, by a pattern as that of `field_text`. The names of an object's members are the same at every front end.
  template <class... Values>
  [[noreturn]] void refuse(fmt::format_string<const Values&...> pattern, const Values&... values) const {
    auto reason = field_text<Values...>(pattern, values...);
    if (is_object) reason = reason.printed(member_name);
    throw PlanError{{.code = ErrorCode::invalid_argument, .text = field_text("{}{}", place, reason)}};
  }
};

/// What `action` makes. What it refuses, `refuse` refuses for the same reason.
template <class Action, class Refuse>
auto or_refused(const Action& action, const Refuse& refuse) {
  try {
    return action();
  } catch (const Error& error) {
    refuse(error.what());
    throw;
  }
}

/// Whether the function releases texts or groups, of which a unit has a largest number.
[[nodiscard]] bool has_most_keys(Function function) noexcept;
[[nodiscard]] bool is_quantile(Function function) noexcept;

/// Why the query has no use for an option, as a text behind which "is not for mean()" follows: "bins", or "bounds beside categories". Empty for
/// an option that it takes. It says nothing of "where", nor of the columns of groups.
[[nodiscard]] FieldText unused_option(const Query& query, FieldName option);

}  // namespace surety::jobs
