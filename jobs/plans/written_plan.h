// What the text of a plan says beside the plan itself: what every plan that charges a ledger may say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <surety/jobs/plans/field_names.h>

namespace surety::jobs {

struct WrittenPlan {
  SaidFields said = {};                    ///< fields that stand in it
  std::optional<std::string> ledger = {};  ///< where its charge is to be written
  bool ledger_must_exist = false;
  std::string note = {};                          ///< for the ledger
  std::optional<std::uint64_t> replay_seed = {};  ///< NOT PRIVATE
  std::optional<std::string> schema_sha256 = {};  ///< of the schema that it names
  std::string text = {};                          ///< as it was read
  std::vector<std::string> notes = {};            ///< for who runs it: that an older version is read by its own rules
};

/// Which command a plan is for, as it says: "train" or "release". \throws PlanError{bad_data} where it says none of them, or is no JSON object.
[[nodiscard]] std::string command_of(std::string_view plan);

}  // namespace surety::jobs
