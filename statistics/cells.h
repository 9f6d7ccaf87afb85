// Public cells of a column: of a histogram, or of groups. A record is in one of them or in none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include <surety/data/features/features.h>

namespace surety::statistics {

/// `count` cells of equal width: [e_0, e_1), [e_1, e_2), ..., the last one closed. Numbers beyond the bounds fall into the outer cells.
struct Bins {
  data::Bounds bounds;
  std::size_t count;
  friend bool operator==(const Bins&, const Bins&) = default;
};
/// Cells between given edges: [e_0, e_1), [e_1, e_2), ..., the last one closed. Numbers outside the first and last edge fall into the outer cells.
struct Edges {
  std::vector<double> numbers;  ///< strictly ascending
  friend bool operator==(const Edges&, const Edges&) = default;
};
/// One cell per category, whose text must be the whole cell of the file; records with other texts are in no cell.
using Cells = std::variant<data::Categories, Bins, Edges>;

inline constexpr std::size_t most_cells = std::size_t{1} << 20;
inline constexpr double largest_bound = 0x1p900;
inline constexpr double smallest_width = 0x1p-800;

/// \throws Error{invalid_argument} for bins fewer than 2, more than `most_cells` or narrower than doubles can tell apart, their bounds as
///         `validate(Bounds)`; for edges fewer than 3, more than `most_cells` + 1, outside +-2^900 or not strictly ascending; for categories that
///         are none, empty or listed twice.
void validate(const Cells& cells);
/// Of statistics: ascending, within +-2^900 and at least 2^-800 apart. \throws Error{invalid_argument}
void validate(const data::Bounds& bounds);

/// The inner ends of the cells and the two bounds, ascending: bins.count + 1 numbers.
[[nodiscard]] std::vector<double> edges(const Bins& bins);
/// The same of cells of numbers; empty for categories.
[[nodiscard]] std::vector<double> edges(const Cells& cells);

/// Whether records fall into cells by their numbers, not by their texts.
[[nodiscard]] inline bool are_of_numbers(const Cells& cells) noexcept { return !std::holds_alternative<data::Categories>(cells); }

[[nodiscard]] std::size_t number_of(const Cells& cells) noexcept;
/// The category, or "[0, 2)".
[[nodiscard]] std::vector<std::string> names_of(const Cells& cells);

/// Finds the cell of a record. Never throws after it was made. O(1).
class CellFinder {
 public:
  explicit CellFinder(const Cells& cells);

  /// Whether texts are looked for, else numbers.
  [[nodiscard]] bool is_text() const noexcept { return ends_.empty(); }
  /// \pre is_text()
  [[nodiscard]] std::optional<std::size_t> find(const std::string& text) const;
  /// A NaN counts as the lower bound. \pre !is_text()
  [[nodiscard]] std::size_t find(double number) const noexcept {
    // Of bins of equal width this is the one or its neighbour; the edges decide, whatever was guessed. A NaN is below no edge, nor above.
    const double guess = (number - lower_) * bins_per_unit_;
    // Within the cells, as an integer with a sign: processors have no quick way to one without.
    auto cell = static_cast<std::size_t>(static_cast<std::int64_t>(std::min(guess > 0 ? guess : 0.0, last_)));
    cell -= number < ends_[cell] ? 1 : 0;
    cell += number >= ends_[cell + 1] ? 1 : 0;
    if (number < ends_[cell] || number >= ends_[cell + 1]) [[unlikely]]
      return searched(number);
    return cell;
  }

 private:
  /// The same by binary search.
  [[nodiscard]] std::size_t searched(double number) const noexcept;

  std::vector<double> ends_;  ///< of numbers: the inner edges between -infinity and a NaN; empty for texts
  double last_ = 0;           ///< the number of the last cell
  double lower_ = 0;
  double bins_per_unit_ = 0;  ///< 0 where widths differ
  std::unordered_map<std::string, std::size_t> category_;
};

}  // namespace surety::statistics
