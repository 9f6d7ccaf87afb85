#include <surety/jobs/release/release_fields.h>

#include <memory>

#include <nlohmann/json.hpp>

namespace surety::jobs {

template <>
struct Choices<NoiseChoice> {
  static constexpr std::array all{NoiseChoice::best, NoiseChoice::laplace, NoiseChoice::gaussian};
};

ReleaseFields::ReleaseFields() {
  table_.group("Data");
  table_.add("data", data_, "A CSV file, plain or compressed by gzip, zstd or bzip2");
  table_.group("Query");
  queries_.add(table_);
  words_.add_confidence(table_);
  reading_.add_missing(table_);
  reading_.add_complete(table_);
  reading_.add_schema(table_);
  reading_.add_csv(table_);
  reading_.add_form(table_);
  reading_.add_limits(table_);
  table_.group("Privacy");
  unit_.add(table_);
  words_.add_noise(table_);
  run_.add(table_);
  table_.group("Output");
  table_.add("svg", picture_, "Where to write a picture");
}

void ReleaseFields::set_queries(const nlohmann::json& queries) {
  if (queries.empty()) return;  // an empty list has none
  queries_.list = std::make_shared<const nlohmann::json>(queries.is_array() ? queries : nlohmann::json::array({queries}));
}

void ReleaseWords::add_confidence(FieldTable& table) {
  table.add("confidence", confidence, "Of the interval that holds the statistic of the clamped records", AnyNumber{});
}

void ReleaseWords::add_noise(FieldTable& table) {
  table.add("noise", noise, "laplace, gaussian, or best: the one of smaller standard deviation (laplace at delta = 0)");
}

WrittenRelease ReleaseFields::written(const Target& target) {
  reading_.load_schema();
  if (reading_.schema) unit_.take_schema(*reading_.schema);
  const auto unit = unit_of_records(unit_, reading_);
  const auto policy = reading_.policy();
  queries_.take_file();
  if (!queries_.has_queries()) refuse_option("{} is missing, must say what is released", "query"_field);
  WrittenRelease result{{},
                        {.target = target,
                         .queries = parse_queries(queries_, {.target = target,
                                                             .unit = unit,
                                                             .schema = reading_.schema ? &*reading_.schema : nullptr,
                                                             .format = policy.csv,
                                                             .shares_among_columns = queries_.grammar == QueryGrammar::plan_1}),
                         .unit = unit,
                         .period = period_of(unit_, unit),
                         .noise = words_.noise,
                         .confidence = words_.confidence,
                         .reading = policy,
                         .note = run_.note.value_or("")},
                        data_,
                        picture_};
  result.schema_sha256 = reading_.schema_sha256();
  run_.write_to(result);
  return result;
}

}  // namespace surety::jobs
