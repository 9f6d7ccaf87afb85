#include <surety/optimizers/record_stream.h>

#include <surety/accounting/error.h>

namespace surety::optimizers {

bool RecordStream::read() {
  indices_.clear();
  values_.clear();
  damaged_now_ = false;
  return std::visit(
      [&]<class Records>(Records& records) {
        constexpr bool is_csv = std::is_same_v<Records, CsvRecords>;
        try {
          if constexpr (is_csv) return records.next(values_, label_);
          if constexpr (!is_csv) {
            if (!records.next(record_)) return false;
            std::swap(indices_, record_.indices);
            std::swap(values_, record_.values);
            label_ = record_.label;
            return true;
          }
        } catch (const Error& error) {
          if (error.code() != ErrorCode::bad_data || records.is_broken()) throw;
          if constexpr (is_csv) records.skip_line();
          damaged_now_ = true;
          return true;
        }
      },
      records_);
}

}  // namespace surety::optimizers
