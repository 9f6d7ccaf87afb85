// The text of a query, as the command line has it: a function with its columns, and maybe a condition behind it.
//
//   mean(age)     count(distinct town)     quantile(age, 0.25, 0.5)     distinct(town, sex)     count() where age>40
//   mean("age, 0.5")     mean(" pad")     mean("5"" pipe")     count(distinct "a) where b")
//
// A name in double quotes, which are doubled inside, is what stands in the quotes, to the last blank. A name without quotes does not begin with a
// quote and has no blanks around it. It ends where the query does: at the last parenthesis, or at ") where "; of a quantile the numbers behind the
// last commas are fractions; of `distinct` it ends at a comma. JSON, C and Python have no such text: there each name is a value of its own.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace surety::jobs {

enum class Function : std::uint8_t { count, count_units, count_distinct, sum, mean, variance, median, quantile, histogram, keys, distinct };
/// As JSON and Python write them.
inline constexpr std::array<std::pair<std::string_view, Function>, 11> function_names{{{"count", Function::count},
                                                                                       {"count_units", Function::count_units},
                                                                                       {"count_distinct", Function::count_distinct},
                                                                                       {"sum", Function::sum},
                                                                                       {"mean", Function::mean},
                                                                                       {"variance", Function::variance},
                                                                                       {"median", Function::median},
                                                                                       {"quantile", Function::quantile},
                                                                                       {"histogram", Function::histogram},
                                                                                       {"keys", Function::keys},
                                                                                       {"distinct", Function::distinct}}};

/// What is asked of which columns.
struct AskedFunction {
  Function function = Function::count;
  std::vector<std::string> columns = {};  ///< none of `count` and `count_units`, several of `distinct`, else one
  std::vector<double> fractions = {};     ///< of `quantile`
};

struct QueryText {
  AskedFunction asked = {};
  std::optional<std::string> where = {};  ///< the text of the condition behind it
  FieldText fault = {};                   ///< "query is '...', must ..."; empty where nothing is wrong
};
/// \param may_have_condition whether a condition may stand behind the function. \throws PlanError as `parse_values`
[[nodiscard]] QueryText parse_query_text(std::string_view text, bool may_have_condition);

/// A text of a plan of version 1, in which a quote is a character like others (but of `distinct`), as the text of today that means the same.
[[nodiscard]] std::string query_text_of_version_1(std::string_view text, bool may_have_condition);

/// The text that `parse_query_text` reads as the same.
[[nodiscard]] std::string describe(const AskedFunction& asked);

}  // namespace surety::jobs
