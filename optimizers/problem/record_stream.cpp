#include <surety/optimizers/problem/record_stream.h>

#include <cmath>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/base/text/safe_text.h>

namespace surety::optimizers {

bool RecordStream::read() {
  return std::visit(
      [&]<class Records>(Records& records) {
        if constexpr (requires { records.next(values_, label_); }) {
          if (!records.next(values_, label_)) return false;
        } else {
          if (!records.next(record_)) return false;
          std::swap(indices_, record_.indices);
          std::swap(values_, record_.values);
          label_ = record_.label;
        }
        is_damaged_ = records.is_damaged();
        if constexpr (requires { records.weight(); }) weight_ = records.weight();
        return true;
      },
      records_);
}

bool RecordStream::next(ObjectiveRef objective) {
  if (!read()) return false;
  if (!is_damaged_) {
    if (const auto label = objective.encode_label(label_)) {
      label_ = *label;
      return true;
    }
    require_private_form(objective);
  }
  ++damaged_;
  indices_.clear();
  values_.clear();
  label_ = 0;
  weight_ = 0;
  return true;
}

void RecordStream::require_private_form(ObjectiveRef objective) const {
  std::visit(
      [&](const auto& records) {
        if (records.form() == data::RecordForm::is_public) {
          records.refuse_record(fmt::format(": label is {}, {} for {} loss", label_, objective.label_constraint(), objective.name()));
        }
      },
      records_);
}

void RecordCollector::add(const RowView& row, double label, double weight) {
  data_.add(row, label, weight);
  if (data_.size() > most_numbers_ / numbers_a_record_) {
    throw Error{ErrorCode::bad_data,
                fmt::format("the data hold more than {} numbers (records times features), must hold fewer unless --no-limits is given",
                            most_numbers_)};
  }
}

Dataset read_all(RecordStream& stream, ObjectiveRef objective, std::size_t features, std::uint64_t most_numbers,
                 std::size_t mapped_features) {
  RecordCollector collector{features, stream.is_sparse(), most_numbers, mapped_features, stream.has_weights()};
  while (stream.next(objective)) collector.add(stream.row(), stream.label(), stream.weight());
  return std::move(collector).finish();
}

RecordsInFile read_in_place(std::shared_ptr<const data::RecordFile> file, ObjectiveRef objective, data::RecordForm form) {
  std::uint64_t damaged = 0;
  const auto label_of = [&](std::size_t record, double label) -> std::optional<double> {
    if (!std::isnan(label)) {
      if (const auto known = objective.encode_label(label)) return known;
    }
    if (form == data::RecordForm::is_public) {
      const std::string what = std::isnan(label)
                                   ? "was damaged when the file was converted"
                                   : fmt::format("label is {}, {} for {} loss", label, objective.label_constraint(), objective.name());
      throw data::DamagedRecord{fmt::format("{}: record {}: {}", one_line(file->path().string()), record + 1, what)};
    }
    ++damaged;
    return std::nullopt;
  };
  Dataset data = Dataset::in_file(file, label_of);
  return {.data = std::move(data), .damaged = damaged};
}

}  // namespace surety::optimizers
