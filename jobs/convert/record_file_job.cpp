#include <surety/jobs/convert/record_file_job.h>

#include <vector>

#include <surety/base/system/new_file.h>
#include <surety/jobs/algorithms/reading.h>
#include <surety/jobs/plans/plan_error.h>
#include <surety/optimizers/models/model.h>

namespace surety::jobs {

Converted convert(const TrainingSource& source, const std::string& output, Overwrite overwrite) {
  auto [records, features] = open_stream(source);
  if (has_private_ranges(features)) {
    refuse(ErrorCode::unsupported, "private ranges of columns are for a training, which charges them; give {}", "bounds"_field);
  }
  optimizers::require_writable_names(features, source.label);
  data::RecordFileText text{{.features = features, .label = source.label}};
  NewFile file{Place{output}, 0, NewFile::Method::nameless, NewFile::Readers::owner_alone};
  const auto write = [&] {
    file.write(text.text());
    text.forget_text();
  };
  const AnyLabel any;
  Converted converted{.features = features.features()};
  std::vector<double> dense;
  for (; records.next(any); ++converted.records) {
    const bool is_damaged = records.damaged() > converted.damaged;
    converted.damaged = records.damaged();
    const auto row = records.row();
    if (row.is_sparse()) {
      dense.assign(converted.features, 0.0);
      row.add_scaled_to(1, dense);
      text.add(dense, records.label(), is_damaged);
    } else {
      text.add(row.values, records.label(), is_damaged);
    }
    if (!text.text().empty()) write();
  }
  converted.damaged = records.damaged();
  text.finish();
  write();
  file.replace(record_file, overwrite);
  return converted;
}

}  // namespace surety::jobs
