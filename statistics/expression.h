// Arithmetic expressions of columns, such as `weight * income` or `log(income + 1)`: the number that a statistic reads of one row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <surety/data/features/features.h>

namespace surety::statistics {

/// Numbers, columns, + - * /, a unary minus, parentheses and `functions`. `year` is that of a day since 1970-01-01, as columns of dates have them. A name is letters, digits, underscores and points and does not begin with a
/// digit; any other name stands in double quotes, each quote inside twice.
class Expression {
 public:
  enum class Operation : std::uint8_t {
    column,
    constant,
    negate,
    add,
    subtract,
    multiply,
    divide,
    log,
    exp,
    sqrt,
    abs,
    minimum,
    maximum,
    year
  };
  struct Function {
    std::string_view name;
    Operation operation;
    std::size_t arguments;
  };
  static constexpr std::array functions{Function{"log", Operation::log, 1},     Function{"exp", Operation::exp, 1},
                                        Function{"sqrt", Operation::sqrt, 1},   Function{"abs", Operation::abs, 1},
                                        Function{"min", Operation::minimum, 2}, Function{"max", Operation::maximum, 2},
                                        Function{"year", Operation::year, 1}};
  static constexpr std::size_t deepest = 24;           ///< parentheses, functions and signs inside each other
  static constexpr std::size_t most_operations = 200;  ///< with columns and constants

  /// \throws Error{invalid_argument} naming `text` for one that is no expression, reads no column, or is larger than the limits; and for an operator
  ///         that stands between two names or numbers without a blank: `km/h` may be one name.
  [[nodiscard]] static Expression parse(std::string_view text);

  /// What `parse` reads as the same expression, with blanks around operators and without needless parentheses.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  /// The columns that are read, each once, in the order of their first use.
  [[nodiscard]] const std::vector<std::string>& columns() const noexcept { return columns_; }
  /// The value of one row, in doubles that are rounded to nearest: a function of `cells` alone. Nothing where a cell, a step or the value is not finite.
  /// \param cells the numbers of `columns()`, in their order \complexity linear in the operations
  [[nodiscard]] std::optional<double> value(std::span<const double> cells) const noexcept;
  /// Bounds of the exact value where each column is within its own, by interval arithmetic rounded outward. Where each column occurs once they are
  /// tight to the rounding; a part that has no number for some cells is bounded where it has one.
  /// \param bounds of `columns()`, in their order \throws Error{invalid_argument} for a divisor that may be 0, a logarithm of what may be 0 or less,
  ///        a part without any number, and numbers beyond doubles
  [[nodiscard]] data::Bounds bounds(std::span<const data::Bounds> bounds) const;

  friend bool operator==(const Expression& a, const Expression& b) noexcept { return a.text_ == b.text_; }

 private:
  class Parser;
  /// An operation follows its operands.
  struct Step {
    Operation operation = Operation::constant;
    double constant = 0;
    std::size_t column = 0;
  };
  Expression() = default;
  [[nodiscard]] std::string printed() const;

  std::string text_;
  std::vector<std::string> columns_;
  std::vector<Step> steps_;
};

/// Whether `text`, the argument of a function in the text of a query, has the signs of an expression: one of * / + outside quotes, a minus sign at the
/// front or with a blank or parenthesis next to it, a parenthesis at the front, or one behind a word as in `log(x)`. `hours-per-week` and `wage (USD)` have none.
[[nodiscard]] bool has_signs_of_expression(std::string_view text);

}  // namespace surety::statistics
