#include <surety/data/features/sparse_matrix.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/data/reading/called_off.h>

namespace surety::data {
namespace {

[[noreturn]] void invalid_matrix(const std::string& reason) { invalid("sparse matrix: " + reason); }

}  // namespace

void SparseMatrix::validate() const {
  const auto entries = std::visit([](const auto& all) { return all.size(); }, indices);
  if (entries != values.size()) invalid_matrix("it has not as many column indices as values, must have one for each");
  if (ends.empty() || ends.front() != 0) invalid_matrix("the ends of its rows do not begin with 0, must do so");
  if (!std::is_sorted(ends.begin(), ends.end())) invalid_matrix("the ends of its rows descend, must ascend");
  if (static_cast<std::uint64_t>(ends.back()) > entries) invalid_matrix("its rows end beyond its values, must end within them");
  if (!labels.empty() && labels.size() != rows()) {
    invalid_matrix("it has not as many labels as rows, must have one for each");
  }
}

SparseRows::SparseRows(SparseMatrix matrix, const FeatureMap& features, RecordForm form)
    : matrix_{std::move(matrix)}, features_{features}, form_{form} {
  matrix_.validate();
  const auto count = count_of_sparse(features);
  if (matrix_.columns != count)
    invalid_matrix(fmt::format("it has {} columns, must have {}, one for each feature", matrix_.columns, count));
}

bool SparseRows::next(SparseRecord& record) {
  if (row_ == matrix_.rows()) return false;
  require_not_called_off();
  const auto fault = read(record);
  ++row_;
  is_damaged_ = !fault.empty();
  if (!is_damaged_) {
    finish_record(features_, record);
    return true;
  }
  if (form_ == RecordForm::is_public) refuse_record(fault);
  record = {};
  return true;
}

std::string SparseRows::read(SparseRecord& record) {
  record.label = matrix_.labels.empty() ? 0 : matrix_.labels[row_];
  record.indices.clear();
  record.values.clear();
  if (!std::isfinite(record.label)) return ": the label is not finite";
  entries_.clear();
  bool are_columns = true;
  std::visit(
      [&](const auto& indices) {
        for (auto k = static_cast<std::size_t>(matrix_.ends[row_]); k < static_cast<std::size_t>(matrix_.ends[row_ + 1]); ++k) {
          const std::int64_t column = indices[k];
          are_columns = are_columns && column >= 0 && static_cast<std::uint64_t>(column) < matrix_.columns;
          entries_.emplace_back(static_cast<std::uint32_t>(column), matrix_.values[k]);
        }
      },
      matrix_.indices);
  if (!are_columns) return fmt::format(": a column index is not from 0 to {}", matrix_.columns - 1);
  const auto by_column = [](const auto& one, const auto& other) { return one.first < other.first; };
  if (!std::is_sorted(entries_.begin(), entries_.end(), by_column)) std::stable_sort(entries_.begin(), entries_.end(), by_column);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto column = entry->first;
    double sum = entry->second;
    while (++entry != entries_.end() && entry->first == column) sum += entry->second;
    if (!std::isfinite(sum)) return fmt::format(": the value in column {} is not finite", column);
    if (sum == 0) continue;
    record.indices.push_back(column);
    record.values.push_back(sum);
  }
  return {};
}

void SparseRows::refuse_record(const std::string& reason) const {
  throw DamagedRecord{fmt::format("sparse matrix: row {}{}", row_, reason)};
}

}  // namespace surety::data
