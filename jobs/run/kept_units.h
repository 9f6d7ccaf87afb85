// Units of several rows in a job: by whose column they are named, and which of their rows are kept.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <surety/accounting/events/unit.h>
#include <surety/data/arrow/arrow_units.h>
#include <surety/data/csv/csv.h>
#include <surety/data/reading/data_policy.h>
#include <surety/data/units/unit_selection.h>
#include <surety/mechanisms/bits/bits_ref.h>

namespace surety::jobs {

/// The unit whose owners a column of this name names. \throws Error{invalid_argument} as UnitOfPrivacy.
[[nodiscard]] UnitOfPrivacy unit_of_column(const std::string& column, Count most, const OwnerRule& rule);

/// The rows that are kept, for the second pass over a file, which stays open and must stand still.
struct KeptUnits {
  std::vector<std::string> columns;  ///< that name the owner of a row
  std::shared_ptr<const data::KeptRows> rows;
  data::FileReadTwice file;

  /// Lets the reader of the second pass see them alone.
  void keep_only(data::CsvReader& reader) const;
};

/// The first pass over a file of a unit's rows: after it nothing but kept rows is looked at. Draws the secret key by which they are chosen.
/// \pre the unit is not one row. \throws Error{invalid_argument} where it is said what a missing cell of the unit's column counts as; Error{bad_data,
///         environment} as `data::select_rows` and `data::FileReadTwice`; what the bits throw. \source docs/proofs/units.md#selection
[[nodiscard]] KeptUnits keep_units(const std::filesystem::path& path, const UnitOfPrivacy& unit, const data::DataPolicy& policy,
                                   mechanisms::BitsRef bits, const data::UnitSelectionOptions& selection = {});
/// The same by a key that was drawn before. \throws as above, but for the bits
[[nodiscard]] KeptUnits keep_units(const std::filesystem::path& path, const UnitOfPrivacy& unit, const data::DataPolicy& policy,
                                   const data::UnitKey& key, const data::UnitSelectionOptions& selection = {});
/// A fresh key of these bits. \throws what they throw.
[[nodiscard]] data::UnitKey draw_unit_key(mechanisms::BitsRef bits);

/// How rows of a stream are kept, with a secret key that is drawn, as `keep_units` draws it. \pre and \throws as that, but for what is about files.
[[nodiscard]] data::ArrowUnits units_of_stream(const UnitOfPrivacy& unit, const data::DataPolicy& policy, mechanisms::BitsRef bits);
/// The same by a key that was drawn before.
[[nodiscard]] data::ArrowUnits units_of_stream(const UnitOfPrivacy& unit, const data::DataPolicy& policy, const data::UnitKey& key);

}  // namespace surety::jobs
