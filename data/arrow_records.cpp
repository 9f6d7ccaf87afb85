#include <surety/data/arrow_records.h>

#include <utility>

#include <surety/data/named_records.h>

namespace surety::data {

FeatureMap arrow_features(ArrowReader& reader, const LabelRule& label, const CsvOptions& options) {
  return named_features(reader, label, options);
}

ArrowRecords::ArrowRecords(ArrowReader reader, const FeatureMap& features, const std::optional<LabelRule>& label)
    : reader_{std::move(reader)}, record_{std::make_unique<NamedRecord>(reader_, features, label)} {}
ArrowRecords::ArrowRecords(ArrowRecords&&) noexcept = default;
ArrowRecords& ArrowRecords::operator=(ArrowRecords&&) noexcept = default;
ArrowRecords::~ArrowRecords() = default;

bool ArrowRecords::next(std::vector<double>& row, double& label) {
  row.clear();
  label = 0;
  if (!reader_.next()) return false;
  is_damaged_ = reader_.is_damaged() || !record_->make(reader_, row, label);
  if (is_damaged_) {
    row.clear();
    label = 0;
  }
  return true;
}

}  // namespace surety::data
