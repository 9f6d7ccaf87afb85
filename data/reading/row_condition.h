// A condition on the rows of one table, wherever they come from.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include <surety/data/reading/condition.h>

namespace surety::data {

class RowCondition {
 public:
  /// \param table has `position(column, use)`. \throws what that throws, of a column that is not there
  template <class Table>
  RowCondition(Condition condition, Table& table) : condition_{std::move(condition)} {
    for (const auto& comparison : condition_.comparisons()) positions_.push_back(table.position(comparison.column, use_of(comparison)));
    values_.resize(positions_.size());
  }

  /// Whether a row meets the condition. Looks at every column that it compares.
  /// \param row has `is_damaged()`, and by position `number`, `text`, `date` and, with a kind, `is_missing`: those of CsvRow and ArrowReader
  /// \throws Error{bad_data} where the form is public for a damaged cell that is compared with a number.
  template <class Row>
  [[nodiscard]] bool is_met(Row& row) {
    for (std::size_t k = 0; k < positions_.size(); ++k) values_[k] = value(row, condition_.comparisons()[k], positions_[k]);
    return condition_.is_met(values_);
  }

 private:
  static CellUse use_of(const CellComparison& comparison) {
    if (is_about_presence(comparison.relation)) return CellUse::presence;
    switch (comparison.kind()) {
      case CellKind::number: return CellUse::number;
      case CellKind::text: return CellUse::text;
      case CellKind::date: break;
    }
    return CellUse::date;
  }

  template <class Row>
  static Truth value(Row& row, const CellComparison& comparison, std::size_t position) {
    switch (use_of(comparison)) {
      case CellUse::number: return compare(comparison, row.number(position));
      case CellUse::text: return compare(comparison, std::string_view{row.text(position)});
      case CellUse::date: return compare_dates(comparison, row.date(position));
      case CellUse::presence: break;
    }
    // Of a damaged record nothing is known, so that a zeroed one meets no condition.
    if (row.is_damaged()) return Truth::unknown;
    return row.is_missing(position, comparison.kind()) == (comparison.relation == Relation::missing) ? Truth::met : Truth::missed;
  }

  Condition condition_;
  std::vector<std::size_t> positions_;
  std::vector<Truth> values_;
};

}  // namespace surety::data
