// Numbers and lists of values in the text of a field.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace surety::jobs {

/// The number that is all of `text`. \throws PlanError naming the field.
[[nodiscard]] double parse_double(std::string_view text, std::string_view field);

/// The values of "Rome,\"New York, NY\", 3": between commas, without blanks around them. A value with a comma or a quote in it, or with
/// blanks around it, stands in quotes; "" inside quotes is one quote. One value more than there are commas outside quotes.
/// \throws PlanError naming the field for a quote that is not closed, or one where none may be.
[[nodiscard]] std::vector<std::string> parse_values(std::string_view text, std::string_view field);

/// The lists of "f,m; north,south": each between semicolons that stand in no quotes, as `parse_values`, where a value with a semicolon in it stands in quotes,
/// too. \throws PlanError as that.
[[nodiscard]] std::vector<std::vector<std::string>> parse_lists(std::string_view text, std::string_view field);

/// "\"a\",\"New York, NY\"", of which `parse_values` makes the same values. None at all have no text: "" is one that is empty.
[[nodiscard]] std::string list_text(const std::vector<std::string>& values);

/// The column of "name=rest", and the rest. A name with '=' in it stands in quotes, as a value of a list does; without them it ends at the
/// first '=', or at the last where the rest has none. \throws PlanError naming the field: "must be <form>".
[[nodiscard]] std::pair<std::string, std::string> split_at_column(std::string_view text, std::string_view field, std::string_view form,
                                                                  bool at_first);

/// Both columns of "first:second". A name with ':' in it stands in quotes, as a value of a list does. \throws PlanError naming the field.
[[nodiscard]] std::pair<std::string, std::string> split_pair(std::string_view text, std::string_view field);
/// "\"first\":\"second\"", of which `split_pair` makes the same names.
[[nodiscard]] std::string pair_text(const std::string& first, const std::string& second);

/// lower and upper of "18, 90". \throws PlanError naming the field.
struct Ends {
  double lower;
  double upper;
};
[[nodiscard]] Ends parse_ends(std::string_view text, std::string_view field);

}  // namespace surety::jobs
