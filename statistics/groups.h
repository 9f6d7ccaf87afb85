// Groups of records, by public cells of one column or of up to three: one group for each tuple of their cells, in one of which a record is, or in none. And the
// tuples of texts that nobody listed, each as one key.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <surety/statistics/cells.h>

namespace surety::statistics {

inline constexpr std::size_t most_group_columns = 3;

/// One of several columns of groups.
struct GroupColumn {
  std::string column;
  Cells keys;
  friend bool operator==(const GroupColumn&, const GroupColumn&) = default;
};

/// The statistic once for the records of each cell of a column, or of each tuple of cells of several.
struct Groups {
  std::string column;
  Cells keys;
  std::vector<GroupColumn> beside = {};  ///< the further columns; the groups are all tuples, in which the last column runs fastest
  friend bool operator==(const Groups&, const Groups&) = default;
};

/// \throws Error{invalid_argument} for cells as their `validate`, for more than `most_group_columns`, and for a column that is named twice.
void validate(const Groups& groups);
/// That no column is empty or named twice, and that they are at most `most_group_columns`. \throws Error{invalid_argument}
void validate_columns(const std::vector<std::string>& columns);

[[nodiscard]] std::vector<std::string> columns_of(const Groups& groups);
/// How many: the product of the numbers of cells.
[[nodiscard]] std::size_t number_of(const Groups& groups) noexcept;

/// What a group is called.
struct GroupName {
  std::string text;                     ///< the cell, or "Rome, f" of several columns, as `tuple_text`
  std::vector<std::string> texts = {};  ///< the cell of each column, where there are several
};
[[nodiscard]] std::vector<GroupName> names_of(const Groups& groups);

/// Texts of several columns as one for people, which says where each ends: "Rome, \"a, b\"". One text is itself.
[[nodiscard]] std::string tuple_text(std::span<const std::string> texts);

/// Texts of several columns as one key: other tuples have other keys, and keys ascend as the tuples do. Empty where one of them is. A key of one text is
/// that text; of several it has 2 bytes more between two of them, and one more for each zero byte in them.
[[nodiscard]] std::string tuple_key(std::span<const std::string> texts);
/// The texts that a key was made of. \pre it was made of so many
[[nodiscard]] std::vector<std::string> texts_of_key(const std::string& key, std::size_t columns);

}  // namespace surety::statistics
