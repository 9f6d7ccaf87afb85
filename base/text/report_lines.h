// Reports for people: lines in which no text of others ends a line or moves a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

namespace surety {

namespace detail {
/// A text that is put into a line; numbers stay what they are.
template <class Value>
using Inserted = std::conditional_t<std::is_convertible_v<const Value&, std::string_view>, std::string, const Value&>;
[[nodiscard]] std::string inserted(std::string_view text);
template <class Value>
[[nodiscard]] Inserted<Value> as_inserted(const Value& value) {
  if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
    return inserted(value);
  } else {
    return value;
  }
}
}  // namespace detail

/// What fmt::format makes, but that a text among `values` is put in as `one_line` has it, at its whole length: the lines are those of `pattern`.
template <class... Values>
[[nodiscard]] std::string safe_format(fmt::format_string<const detail::Inserted<Values>&...> pattern, const Values&... values) {
  return [&](const auto&... safe) { return fmt::vformat(pattern, fmt::make_format_args(safe...)); }(detail::as_inserted(values)...);
}

/// "promise      epsilon = 1 at delta = 1e-05\n": what a line is of, in at least 12 columns, and its value.
[[nodiscard]] std::string report_line(std::string_view field, std::string_view value);

/// Texts in columns, a line a row: each column is as wide as its widest text, but the last of a row, which may be as long as it likes. A row may have
/// fewer cells than others.
class ReportTable {
 public:
  struct Style {
    std::size_t gap = 2;                ///< blanks between columns
    std::string_view numbers = {};      ///< the column whose head, in the first row, is this stands at the right
    std::size_t width_of_numbers = 12;  ///< of that column, at least
  };
  ReportTable() = default;
  explicit ReportTable(Style style) : style_{style} {}

  /// Each text as `one_line` has it, at its whole length.
  void add(std::vector<std::string> cells);
  /// Without blanks at the end of a line. \complexity linear in the table
  [[nodiscard]] std::string text() const;

 private:
  Style style_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace surety
