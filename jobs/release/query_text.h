// The text of a query, as the command line has it: a function with its columns, and maybe a condition behind it.
//
//   mean(age)     count(distinct town)     quantile(age, 0.25, 0.5)     distinct(town, sex)     count() where age>40
//   mean("age, 0.5")     mean(" pad")     mean("5"" pipe")     count(distinct "a) where b")
//   sum(weight * income)     mean(log(income + 1))     quantile(income / "household size", 0.9)
//
// Where a function takes numbers, a text with the signs of an expression (statistics/expression.h) is one. It is a name where it stands in quotes, or where the schema
// or the bounds name a column so.
//
// A name in double quotes, which are doubled inside, is what stands in the quotes, to the last blank. A name without quotes does not begin with a
// quote and has no blanks around it. It ends where the query does: at the last parenthesis, or at ") where "; of a quantile the numbers behind the
// last commas are fractions; of `distinct` it ends at a comma. JSON, C and Python have no such text: there each name is a value of its own.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <surety/jobs/plans/field_text.h>
#include <surety/statistics/expression.h>

namespace surety::jobs {

enum class Function : std::uint8_t {
  count,
  count_units,
  count_distinct,
  sum,
  mean,
  variance,
  median,
  quantile,
  histogram,
  mode,
  keys,
  distinct
};
struct FunctionForm {
  std::string_view name;  ///< in JSON and Python
  Function function;
  std::string_view text;  ///< at the command
};
/// Each function once: parsers, writers, messages, help and the schema of plans are made of this list.
inline constexpr std::array function_forms{FunctionForm{"count", Function::count, "count()"},
                                           FunctionForm{"count_units", Function::count_units, "count(units)"},
                                           FunctionForm{"count_distinct", Function::count_distinct, "count(distinct column)"},
                                           FunctionForm{"sum", Function::sum, "sum(column)"},
                                           FunctionForm{"mean", Function::mean, "mean(column)"},
                                           FunctionForm{"variance", Function::variance, "variance(column)"},
                                           FunctionForm{"median", Function::median, "median(column)"},
                                           FunctionForm{"quantile", Function::quantile, "quantile(column, fraction, ...)"},
                                           FunctionForm{"histogram", Function::histogram, "histogram(column)"},
                                           FunctionForm{"mode", Function::mode, "mode(column)"},
                                           FunctionForm{"keys", Function::keys, "keys(column)"},
                                           FunctionForm{"distinct", Function::distinct, "distinct(column, ...)"}};

/// One member of each form, such as all names, with this text before the last one: "count(), sum(column) or keys(column)".
[[nodiscard]] std::string listed_functions(std::string_view FunctionForm::*member, std::string_view before_last = " or ");

/// What is asked of which columns.
struct AskedFunction {
  Function function = Function::count;
  std::vector<std::string> columns = {};                  ///< none of `count` and `count_units`, several of `distinct`, else one
  std::vector<double> fractions = {};                     ///< of `quantile`
  std::optional<statistics::Expression> expression = {};  ///< whose text is then the column
};

/// Whether a function computes with numbers of one column, in whose place an expression may stand.
[[nodiscard]] bool takes_expression(Function function) noexcept;

struct QueryText {
  AskedFunction asked = {};
  std::optional<std::string> where = {};  ///< the text of the condition behind it
  FieldText fault = {};                   ///< "query is '...', must ..."; empty where nothing is wrong
};
/// Whether a column of that name is known without the data.
using IsColumn = std::function<bool(const std::string&)>;
/// \param may_have_condition whether a condition may stand behind the function \param is_column what it is true of is a name, whatever signs it has
/// \throws PlanError as `parse_values`
[[nodiscard]] QueryText parse_query_text(std::string_view text, bool may_have_condition, const IsColumn& is_column = {});

/// A text of a plan of version 1, in which a quote is a character like others (but of `distinct`) and no text is an expression, as the text of today that means the same.
[[nodiscard]] std::string query_text_of_version_1(std::string_view text, bool may_have_condition);

/// The text that `parse_query_text` reads as the same.
[[nodiscard]] std::string describe(const AskedFunction& asked);

}  // namespace surety::jobs
