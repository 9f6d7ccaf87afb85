#include <surety/data/arrow/arrow_records.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include <surety/data/features/named_records.h>

namespace surety::data {

FeatureMap arrow_features(ArrowReader& reader, const LabelRule& label, const CsvOptions& options) {
  return named_features(reader, label, options);
}

ArrowRecords::ArrowRecords(ArrowReader reader, const FeatureMap& features, const std::optional<LabelRule>& label,
                           const std::optional<WeightRule>& weight)
    : reader_{std::move(reader)},
      record_{std::make_unique<NamedRecord>(reader_, features, label, weight)},
      has_weights_{weight.has_value()} {}
ArrowRecords::ArrowRecords(ArrowRecords&&) noexcept = default;
ArrowRecords& ArrowRecords::operator=(ArrowRecords&&) noexcept = default;
ArrowRecords::~ArrowRecords() = default;

namespace {

constexpr std::size_t rows_of_block = 128;

}  // namespace

void ArrowRecords::make_block() {
  const std::size_t first = reader_.place_in_batch();
  const std::size_t rows = std::min(rows_of_block, reader_.stored_rows() - first);
  block_first_ = reader_.row();
  block_end_ = block_first_ + rows;
  block_.resize(record_->columns() * rows_of_block, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t k = 0; k < record_->columns(); ++k) {
    const auto* const map = record_->map_of_numbers(k);
    if (map == nullptr) continue;
    const auto column = std::span{block_}.subspan(k * rows_of_block, rows);
    reader_.numbers_or_nan(record_->position(k), first, column);
    map_numbers(*map, column);
  }
}

bool ArrowRecords::next(std::vector<double>& row, double& label) {
  row.clear();
  label = 0;
  if (!reader_.next()) return false;
  is_damaged_ = reader_.is_damaged();
  if (!is_damaged_) {
    if (reader_.row() >= block_end_) make_block();
    const double* const made = block_.data() + (reader_.row() - block_first_);
    is_damaged_ = !record_->make(reader_, row, label, [&](std::size_t column) { return made[column * rows_of_block]; });
    const auto weight = is_damaged_ ? std::nullopt : record_->weight(reader_);
    is_damaged_ = !weight;
    weight_ = weight.value_or(0);
  }
  if (is_damaged_) {
    row.clear();
    label = 0;
    weight_ = 0;
  }
  return true;
}

}  // namespace surety::data
