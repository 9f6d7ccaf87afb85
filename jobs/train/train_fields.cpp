#include <surety/jobs/train/train_fields.h>

namespace surety::jobs {

TrainFields::TrainFields(const Algorithm& algorithm) {
  plan_.algorithm = algorithm.standard();
  table_.group("Data");
  table_.add("data", records_.data, "A CSV, LIBSVM or record file; may be compressed by gzip, zstd or bzip2; - for standard input");
  records_.add(table_, {DataFormat::csv, DataFormat::libsvm, DataFormat::records});
  reading_.add_missing(table_);
  reading_.add_schema(table_);
  reading_.add_csv(table_);
  reading_.add_limits(table_);
  table_.group("Problem and algorithm");
  add_problem(table_, plan_.problem);
  table_.group("Privacy");
  unit_.add(table_);
  run_.add(table_);
  table_.group("Output");
  table_.add("model", model_, "Where to write the model");
  algorithm.add_fields(table_, plan_.algorithm, plan_);
}

WrittenTraining TrainFields::written(const Target& target, NamedRecords named) {
  if (records_.data.empty() && (named == NamedRecords::always || records_.format == DataFormat::records)) {
    refuse_option("{} is missing, must name the records", "data"_field);
  }
  reading_.load_schema();
  if (reading_.schema) {
    records_.take_schema(*reading_.schema);
    unit_.take_schema(*reading_.schema);
  }
  WrittenTraining result{{}, plan_};
  result.plan.target = target;
  result.plan.unit = unit_of_records(unit_, reading_);
  result.plan.period = period_of(unit_, result.plan.unit);
  const bool form_is_public = plan_.source.form_is_public;
  result.plan.source = source_of(records_, {.reading = reading_,
                                            .said_unit = unit_,
                                            .has_unit = result.plan.has_unit(),
                                            .classes = plan_.problem.classes,
                                            .weight = plan_.source.weight,
                                            .weight_bound = plan_.source.weight_bound});
  result.plan.source.form_is_public = form_is_public;
  result.model = model_;
  run_.write_to(result);
  result.schema_sha256 = reading_.schema_sha256();
  return result;
}

}  // namespace surety::jobs
