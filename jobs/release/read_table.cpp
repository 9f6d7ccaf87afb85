#include <surety/jobs/release/read_table.h>

#include <utility>

#include <surety/data/arrow/arrow_reader.h>
#include <surety/data/csv/csv.h>
#include <surety/jobs/run/kept_units.h>

namespace surety::jobs {

ReadTable read_table(const std::filesystem::path& path, const ReleasePlan& plan, const std::optional<data::UnitKey>& key,
                     const statistics::Parts& parts, const TableOptions& options) {
  std::optional<KeptUnits> units;
  if (key) units = keep_units(path, plan.unit, plan.reading, *key, options.selection);
  data::CsvReader reader{path, plan.reading};
  if (units) units->keep_only(reader);
  const auto records = statistics::read_parts(std::move(reader), parts, !options.may_be_empty);
  if (units) units->file.require_unchanged();
  return {.records = records, .buckets = units ? units->rows->buckets : data::OwnerBuckets{}};
}

ReadTable read_table(data::ArrowStream stream, const ReleasePlan& plan, const std::optional<data::UnitKey>& key,
                     const statistics::Parts& parts, const TableOptions& options) {
  std::optional<data::ArrowUnits> units;
  if (key) {
    units = units_of_stream(plan.unit, plan.reading, *key);
    units->options = options.selection;
  }
  ReadTable read{.records = 0, .buckets = {}};
  read.records =
      statistics::read_parts(data::ArrowReader{std::move(stream), plan.reading}, parts, !options.may_be_empty, units, &read.buckets);
  return read;
}

}  // namespace surety::jobs
