// One query as a user writes it, in words or as a JSON object: a function of columns, and options.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <surety/base/text/error.h>
#include <surety/jobs/plans/field_text.h>
#include <surety/jobs/plans/fields.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/jobs/release/query_text.h>
#include <surety/statistics/cells.h>
#include <surety/statistics/parts.h>
#include <surety/statistics/quantile.h>

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
  std::optional<statistics::Edges> edges = {};
  std::optional<data::Categories> categories = {};
  std::optional<std::uint64_t> top = {};
  std::optional<std::uint64_t> candidates = {};
  bool interval = false;
  std::optional<std::uint64_t> most_keys = {};
  std::vector<std::string> by = {};
  QueryKeys keys = {};
  std::optional<data::Bounds> key_bounds = {};
  std::optional<std::uint64_t> key_bins = {};
  std::optional<statistics::Edges> key_edges = {};
  std::optional<std::uint64_t> most_per_group = {};
};

/// What is declared of an option, once for all forms of a query: options at the command, help, JSON, schemas and checks are made of this.
struct QueryOption {
  FieldName field;
  std::string_view help;                  ///< of the option of the command; each {} stands for one of `named`
  std::array<FieldName, 4> named = {};    ///< the fields that the help names, in their order
  std::optional<WholeNumber> count = {};  ///< the range of a number; other options are texts
  bool is_of_values = false;              ///< whether the text lists values, one of which a plan may write as a number

  operator FieldName() const noexcept { return field; }  // NOLINT(google-explicit-constructor): refusals and checks name the option
};
[[nodiscard]] FieldText help_of(const QueryOption& option);
[[nodiscard]] Constraint constraint_of(const QueryOption& option);

namespace query_options {

inline constexpr QueryOption where{
    .field = "where"_field,
    .help =
        "Only records that meet a condition: comparisons of a column with a number or a text, with and, or, not and parentheses, such as 'visits>0' or 'class==\"New York, NY\" and not (age<18)'. A damaged cell meets no comparison, nor its not; missing(column) and present(column) ask for it. A column that {} calls a date is compared with days: 'admission>=2017-06-01'",
    .named = {"schema"_field}};
inline constexpr QueryOption bounds{
    .field = "bounds"_field,
    .help =
        "lower,upper, known without looking at the data: numbers are clamped to them. Where queries clamp several columns, column=lower,upper for each; may be repeated. Those of an expression follow from those of all its columns, too"};
inline constexpr QueryOption clip_unit_sum{
    .field = "clip-unit-sum"_field,
    .help =
        "Sum, in the place of {}: lower,upper, known without looking at the data, to which what all used rows of a unit add up to is clipped",
    .named = {"bounds"_field}};
inline constexpr QueryOption bins{.field = "bins"_field,
                                  .help = "Histogram: this many cells of equal width between the bounds",
                                  .count = WholeNumber{2, statistics::most_cells}};
inline constexpr QueryOption edges{
    .field = "edges"_field,
    .help =
        "Histogram: number,number,...: in the place of {} and {}, the edges of its cells, ascending and known without looking at the data. A cell has its lower edge and not its upper one, the last has both; numbers outside are in the outer cells",
    .named = {"bounds"_field, "bins"_field},
    .is_of_values = true};
inline constexpr QueryOption categories{
    .field = "categories"_field,
    .help =
        "Histogram and mode: text,text,...: one cell for each text, known without looking at the data; others are in no cell. Blanks around a text do not count, and one with a comma stands in quotes: 'Rome, \"New York, NY\"'",
    .is_of_values = true};
inline constexpr QueryOption top{
    .field = "top"_field,
    .help =
        "Mode: so many of the most frequent texts of {} are released, the most frequent first; 1 unless given. Each is a choice of its own, and they share the charge",
    .named = {"categories"_field},
    .count = WholeNumber{1, statistics::most_cells - 1}};
inline constexpr QueryOption candidates{
    .field = "candidates"_field,
    .help =
        "Median and quantile: choose one of this many equally spaced numbers from one bound to the other; some 16,000 unless given, with whole numbers among them where both bounds are",
    .count = WholeNumber{2, statistics::Candidates::most}};
inline constexpr QueryOption interval{
    .field = "interval"_field,
    .help =
        "Median and quantile: also an interval in the unit of the column and a rank error that is measured. It costs as much again as the choices and one more: the choice of a median is left a third of the epsilon, three or five fractions 2/5 or 3/7"};
inline constexpr QueryOption most_keys{
    .field = "most-keys"_field,
    .help =
        "Keys, discovered groups and different texts: how many of a unit count, at most; as many as its rows unless given. Keys are texts that nobody listed, each shown where more units hold it than a threshold, at delta > 0",
    .count = WholeNumber{1, std::uint64_t{1} << 20}};
inline constexpr QueryOption by{
    .field = "by"_field,
    .help =
        "Each statistic for each group of this column, or of up to three: 'sex,region', where {}, or of one column {} and {} or {}, say which there are. A name with a comma stands in quotes",
    .named = {"keys"_field, "key-bounds"_field, "key-bins"_field, "key-edges"_field}};
inline constexpr QueryOption keys{
    .field = "keys"_field,
    .help =
        "text,text,...: the groups, known without looking at the data and written as {}; others are in none. Of several columns a list each, with ; between: 'f,m; north,south' are four groups. Or, for a mean and count(units), discovered: the groups that nobody listed, each shown where more units are in it than a threshold, at delta > 0; the mean is that of its units' own means. Of a unit {} groups count",
    .named = {"categories"_field, "most-keys"_field},
    .is_of_values = true};
inline constexpr QueryOption key_bounds{.field = "key-bounds"_field,
                                        .help = "lower,upper of groups by a number; those beyond are in the outer groups"};
inline constexpr QueryOption key_bins{.field = "key-bins"_field,
                                      .help = "This many groups of equal width between {}",
                                      .named = {"key-bounds"_field},
                                      .count = WholeNumber{2, statistics::most_cells}};
inline constexpr QueryOption key_edges{.field = "key-edges"_field,
                                       .help = "number,number,...: groups by a number between these edges, as {} of a histogram",
                                       .named = {"edges"_field},
                                       .is_of_values = true};
inline constexpr QueryOption most_per_group{
    .field = "most-per-group"_field,
    .help = "The largest number of rows of a unit that count in each listed group, the first ones; all used rows unless given",
    .count = WholeNumber{1, std::uint64_t{1} << 53}};

}  // namespace query_options

/// Visits each option: `visit(query_options::bins, options.bins...)`. All forms of a query have members of these names.
template <class Visit, class... Options>
void for_each_option(const Visit& visit, Options&... options) {
  visit(query_options::where, options.where...);
  visit(query_options::bounds, options.bounds...);
  visit(query_options::clip_unit_sum, options.clip_unit_sum...);
  visit(query_options::bins, options.bins...);
  visit(query_options::edges, options.edges...);
  visit(query_options::categories, options.categories...);
  visit(query_options::top, options.top...);
  visit(query_options::candidates, options.candidates...);
  visit(query_options::interval, options.interval...);
  visit(query_options::most_keys, options.most_keys...);
  visit(query_options::by, options.by...);
  visit(query_options::keys, options.keys...);
  visit(query_options::key_bounds, options.key_bounds...);
  visit(query_options::key_bins, options.key_bins...);
  visit(query_options::key_edges, options.key_edges...);
  visit(query_options::most_per_group, options.most_per_group...);
}

template <class Value>
[[nodiscard]] bool is_given(const std::optional<Value>& option) noexcept {
  return option.has_value();
}
template <class Value>
[[nodiscard]] bool is_given(const std::vector<Value>& option) noexcept {
  return !option.empty();
}
[[nodiscard]] inline bool is_given(bool option) noexcept { return option; }
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
