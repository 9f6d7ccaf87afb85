// Which records count: a condition on the cells of one record, public and parsed once.
//
//   visits>0                                   a number in a column: == != < <= > >=
//   class==yes   class!='New York, NY'         a text: == and != alone
//   smoker==yes and (age>=40 or not (age<18))  and, or, not, parentheses; `not` binds closest, then `and`, then `or`
//
//   missing(age)   present(age) and age!=40    whether the cell is missing
//   admission>=2017-06-01                      a date, of one or of a timestamp; behind > >= < <= in quotes, too
//
// A cell is *missing* where it is empty or blank; in a column of numbers (which is known to be one, or whose numbers the same condition compares)
// also where it is no number, in one of dates where it is no date. `CsvFormat::missing` changes nothing of that.
//
// The literal decides: one that is written as a number, without quotes, compares numbers ('07' and '7.0' are 7), and one that is written as a date, without
// quotes or behind > >= < <=, compares dates: a timestamp stands for its day. Every other one compares
// the whole text of the cell, byte by byte, as categories do ("7" in quotes is not '07'). Where one comparison with a column is of dates, all are. A text that begins with a letter and has no blanks,
// quotes, operators, parentheses, commas or semicolons needs no quotes. Quotes are single or double, and doubled inside themselves. The name
// of a column is what stands before the operator without blanks around it; one that begins with a quote, a parenthesis or the word `not`, or with
// `missing(` or `present(`, or holds one of < > = !, stands in quotes. Which columns hold dates can be said beside the text, too (`CellKind`).
//
// **Three values.** A comparison with a damaged cell (data_policy.h; of texts: an empty or blank one) is neither met nor missed but
// unknown; so is whether a cell of a damaged record is missing. `not` of unknown is unknown, `and` is the least and `or` the greatest of its sides in the order missed < unknown < met, and a
// record meets a condition where that comes out as met. So a record whose cells are all damaged, as an empty line's are, meets no condition:
// each comparison and each question of it is unknown, hence so is whatever `not`, `and` and `or` make of them, by induction (a condition has no constants).
// Two values, in which `not (age<18)` and `age!=3` would hold for an empty line, would break what zero-out means for counts
// (docs/proofs/data.md#conditions).
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace surety::data {

/// How a cell is compared, or whether there is one.
enum class Relation { greater, at_least, less, at_most, equal, not_equal, missing, present };
[[nodiscard]] inline bool is_about_presence(Relation relation) noexcept {
  return relation == Relation::missing || relation == Relation::present;
}

/// A day, which is written 2017-06-01.
struct Date {
  std::int32_t days;  ///< since 1970-01-01
  friend auto operator<=>(const Date&, const Date&) = default;
};
/// A text, without blanks around it, that is a day of the years 0000 to 9999 of the Gregorian calendar in the form YYYY-MM-DD.
[[nodiscard]] std::optional<Date> parse_date(std::string_view text);
/// The day in the text of a cell: a day, or one with a time of day behind it, as programs write timestamps: "2017-06-01 13:30", "2017-06-01T13:30:00.5Z",
/// "2017-06-01 00:30:00+02:00", whose day is that of UTC.
[[nodiscard]] std::optional<Date> date_in(std::string_view text);
/// Nothing beyond the years 0000 to 9999.
[[nodiscard]] std::optional<Date> date_of_days(std::int64_t days) noexcept;
[[nodiscard]] std::string describe(Date date);

/// What a column holds.
enum class CellKind : std::uint8_t { number, text, date };
/// What a cell is asked for: its number, its text, its date, or whether there is one.
enum class CellUse : std::uint8_t { number, text, date, presence };
/// That missing cells of a column count as a value of this use. \throws Error{invalid_argument} for one that is no number or no date.
void require_missing_value(const std::string& column, const std::string& value, CellUse use);
/// What is known of columns by name.
using ColumnKinds = std::map<std::string, CellKind, std::less<>>;

/// What is declared of a column: by a schema, or beside a condition.
inline constexpr std::array<std::string_view, 5> column_types{"number", "text", "date", "integer", "boolean"};
/// \pre `type` is one of them
[[nodiscard]] CellKind kind_of_type(std::string_view type);

/// A column, and what its cell is compared with.
struct CellComparison {
  std::string column;
  Relation relation;
  std::variant<double, std::string, Date> value;  ///< a text with equal and not_equal alone; of a presence its kind alone matters

  [[nodiscard]] CellKind kind() const noexcept { return static_cast<CellKind>(value.index()); }

  friend bool operator==(const CellComparison&, const CellComparison&) = default;
};

/// In this order.
enum class Truth : std::uint8_t { missed, unknown, met };

/// Whether a number stands in the relation to another; neither is a NaN.
[[nodiscard]] bool holds(double cell, Relation relation, double value);
[[nodiscard]] bool holds(Date cell, Relation relation, Date value);
/// Of the date in a cell, nothing where it is damaged. \pre the comparison's value is a date
[[nodiscard]] Truth compare_dates(const CellComparison& comparison, std::optional<Date> cell);
/// Of the number in a cell, nothing where it is damaged. \pre the comparison's value is a number
[[nodiscard]] Truth compare(const CellComparison& comparison, std::optional<double> cell);
/// Of the text of a cell; an empty or blank one is unknown. \pre the comparison's value is a text
[[nodiscard]] Truth compare(const CellComparison& comparison, std::string_view cell);

class Condition {
 public:
  static constexpr std::size_t most_bytes = 4096;
  static constexpr std::size_t deepest = 32;  ///< parentheses and nots inside each other

  /// In the order in which they were written.
  [[nodiscard]] const std::vector<CellComparison>& comparisons() const noexcept { return comparisons_; }
  /// Whether a record with these values of `comparisons()` meets it. \pre as many as there are. O(length), no memory is taken.
  [[nodiscard]] bool is_met(std::span<const Truth> values) const noexcept;

  friend bool operator==(const Condition&, const Condition&) = default;

 private:
  friend class ConditionParser;
  friend std::string describe(const Condition& condition);

  enum class Step : std::uint8_t { comparison, negation, both, either };
  std::vector<Step> steps_;  // postfix; each comparison is the next of comparisons_
  std::vector<CellComparison> comparisons_;
};

/// \throws Error{invalid_argument} "<what> is '<text>', must ..." for what is no condition, is longer than `Condition::most_bytes` or nested
///         deeper than `Condition::deepest`, or compares a column of dates with something else, too.
[[nodiscard]] Condition parse_condition(std::string_view text, std::string_view what = "the condition", const ColumnKinds& kinds = {});
/// A single comparison of numbers or texts, without and, or, not and parentheses, whose names may begin with those. \throws as `parse_condition`.
[[nodiscard]] CellComparison parse_comparison(std::string_view text, std::string_view what = "the comparison");

/// Why a comparison of the condition holds for no cell of its column's type, so that the answer would be 0 whatever the data: "has 'age==forty', which no
/// cell of column 'age' can meet: ...". Nothing where all may hold, as each `!=` does. \param types by column, as declared: no record
/// has a say
[[nodiscard]] std::optional<std::string> why_never(const Condition& condition, const std::map<std::string, std::string>& types);

/// Whether some cell of a column of this type, one of `column_types`, may meet the comparison, as far as `why_never` knows it of a condition that is this
/// comparison alone.
[[nodiscard]] bool may_be_met(const CellComparison& comparison, std::string_view type);

/// Texts that parse as what they were made of, where the same is known of columns.
[[nodiscard]] std::string describe(const Condition& condition);
[[nodiscard]] std::string describe(const CellComparison& comparison);
/// The name of a column as it stands in such a text: in quotes where it needs them.
[[nodiscard]] std::string column_text(std::string_view column);
/// The inverse, for a text that is a name and nothing else; nothing where quotes are left open or something follows them.
[[nodiscard]] std::optional<std::string> parse_column(std::string_view text);

}  // namespace surety::data
