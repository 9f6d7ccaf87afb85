// All that can be said of a release, as fields of its plan.
#pragma once

#include <optional>
#include <string>

#include <surety/jobs/plans/fields.h>
#include <surety/jobs/plans/plan_json.h>
#include <surety/jobs/plans/reading_fields.h>
#include <surety/jobs/plans/unit_fields.h>
#include <surety/jobs/release/queries.h>
#include <surety/jobs/release/release_plan.h>

namespace surety::jobs {

/// What all queries of a release share, as it is said.
struct ReleaseWords {
  double confidence = 0.95;
  NoiseChoice noise = NoiseChoice::best;

  void add_confidence(FieldTable& table);
  void add_noise(FieldTable& table);
};

/// Fields, and where they are kept.
class ReleaseFields {
 public:
  ReleaseFields();
  ReleaseFields(const ReleaseFields&) = delete;
  ReleaseFields& operator=(const ReleaseFields&) = delete;

  [[nodiscard]] FieldTable& table() noexcept { return table_; }
  /// Reads queries as plans of this version have them. Without it they are read as on the command line.
  void set_version(int version) { queries_.grammar = version == 1 ? QueryGrammar::plan_1 : QueryGrammar::plan_2; }
  /// Takes queries as JSON has them: an object, a text, or a list of them.
  void set_queries(const nlohmann::json& queries);
  /// \throws PlanError as `read_release_plan`.
  [[nodiscard]] WrittenRelease written(const Target& target);

 private:
  std::optional<std::string> data_;
  QueryFields queries_;
  ReleaseWords words_;
  ReadingFields reading_;
  UnitFields unit_;
  RunFields run_;
  std::optional<std::string> picture_;
  FieldTable table_;
};

}  // namespace surety::jobs
