// The unit of privacy: what a promise protects. Neighbours of an adjacency differ in one unit.
//
// Of owners of several rows it is defined by all that says whose a row is: the owner's column, K, and the rule below. Two runs whose units differ
// in any of these have other neighbours, and what one hides the other may show: a ledger takes runs of one unit alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <surety/accounting/events/units.h>

namespace surety {

/// What rows are whose owner has no name: the cell is empty, as each is in a damaged record.
enum class EmptyUnit {
  one,   ///< the rows of one unit
  each,  ///< each is a unit of its own
};
/// "one", "each".
[[nodiscard]] std::string_view name(EmptyUnit empty);
/// The inverse. \throws Error{invalid_argument} listing both.
[[nodiscard]] EmptyUnit parse_empty_unit(std::string_view text);

/// How the owner of a row is found in a file of text. With it, whose a row is follows from the row alone. Names are compared byte by byte.
struct OwnerRule {
  EmptyUnit empty = EmptyUnit::one;
  char delimiter = ',';  ///< between cells
  /// Of the owner's column, from 1, among all.
  struct Place {
    std::uint64_t column;
    std::uint64_t columns;
    std::vector<std::uint64_t> further = {};  ///< the places of a combination's further columns, in their order
    friend bool operator==(const Place&, const Place&) = default;
  };
  /// Where the file has no header: its first line is then a row as well. Nothing: the header names the column.
  std::optional<Place> place = std::nullopt;
  static constexpr std::uint64_t standard_record_bytes = std::uint64_t{1} << 26;
  std::optional<std::uint64_t> record_bytes = standard_record_bytes;  ///< a longer record is damaged; nothing: none is too long
  static constexpr std::uint64_t standard_quoted_lines = 100;
  std::uint64_t quoted_lines = standard_quoted_lines;  ///< how many line ends a cell in quotes holds; beyond, its first line is the record
  friend bool operator==(const OwnerRule&, const OwnerRule&) = default;
};

/// One row of the data, or all rows of one owner, of which there are at most `most`: {"patient", 5}. An owner may be a combination of the values of two or
/// three columns, such as a user and a day (`unit_of_columns`).
class UnitOfPrivacy {
 public:
  static constexpr std::string_view row = "row";
  static constexpr std::size_t longest_name = 64;  ///< bytes; of a combination, of each column's name
  static constexpr std::size_t most_columns = 3;

  /// One row.
  UnitOfPrivacy() = default;
  /// \param name as `unit_of_columns` makes it of columns
  /// \throws Error{invalid_argument} unless `name` is 1 to 64 bytes of printable UTF-8, or that of a combination; for "row", unless `most` is 1 and the rule is the standard
  ///         one, which rows have no use for; for a delimiter that is a quote, a line end or no ASCII, and a place that is none, or not one for each column.
  UnitOfPrivacy(std::string name, Count most, const OwnerRule& rule = {});
  /// One that was written down before units said their rule, which is taken for the standard one. \throws as the constructor.
  [[nodiscard]] static UnitOfPrivacy without_rule(std::string name, Count most);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] Count most() const noexcept { return most_; }
  [[nodiscard]] const OwnerRule& rule() const noexcept { return rule_; }
  [[nodiscard]] bool says_rule() const noexcept { return says_rule_; }
  [[nodiscard]] bool is_row() const noexcept { return name_ == row; }
  /// The same neighbours, where both have the rule that they are taken for.
  friend bool operator==(const UnitOfPrivacy& a, const UnitOfPrivacy& b) {
    return a.name_ == b.name_ && a.most_ == b.most_ && a.rule_ == b.rule_;
  }

 private:
  std::string name_{row};
  Count most_{1};
  OwnerRule rule_;
  bool says_rule_ = true;
};

/// The unit that these columns name: with one column an owner, with two or three a combination of their values. The name of an owner is that of the column, with
/// "column " before it where it is "row" or starts with "column "; the name of a combination is "column " and `columns_text`.
/// \throws Error{invalid_argument} for no column or more than `most_columns`, one that is named twice, and as the constructor
/// \source docs/proofs/units.md#combinations
[[nodiscard]] UnitOfPrivacy unit_of_columns(const std::vector<std::string>& columns, Count most, const OwnerRule& rule = {});
/// The columns of which `unit_of_columns` made a unit; none of one row.
[[nodiscard]] std::vector<std::string> columns_of(const UnitOfPrivacy& unit);
/// "user,day": the names with commas between them. A name that holds a comma, a quote or a bar, or has a blank at its ends, stands in double quotes, in which
/// quotes are doubled; so does a first one that starts with "column ". Different lists have different texts.
[[nodiscard]] std::string columns_text(const std::vector<std::string>& columns);

/// For people: "one row", "one patient of at most 5 rows (names byte by byte, rows without one: one unit)", "one combination of user,day of at
/// most 5 rows (...)". The form of the file is given where it is not the standard one.
[[nodiscard]] std::string describe(const UnitOfPrivacy& unit);

/// In what two units differ, for people: "the rows without a name, the delimiter". Empty where they are equal.
[[nodiscard]] std::string difference(const UnitOfPrivacy& a, const UnitOfPrivacy& b);
}  // namespace surety
