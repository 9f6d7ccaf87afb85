// Which rows of an Arrow stream are kept where a promise protects owners of several rows, of which at most K are used.
//
// *The rule.* Of a unit's rows the K with the least priority are kept. A row's priority is SipHash-128, under a secret key, of the row's encoding;
// of rows of the unit whose encodings have the same hash, that of the r-th (r = 1, 2, ... behind the first) is the hash of that hash and of r. So what is
// kept of a unit is a function of that unit's rows and the key, as it is for CSV files (unit_selection.h), whose rows are hashed by their bytes:
// the same rows are kept in law, others in fact.
//
// *The encoding* is of the columns that are looked at, but for the owner's, in the order of their names, each cell as `ArrowCells::encode` writes it
// (docs/proofs/units.md#arrow). It knows nothing of batches, dictionaries and types of columns.
//
// *The identifier* is the cell of the owner's column as a text. A null, an empty text and a row that is null as a whole have none. Where several columns name
// the unit, the identifier is the combination of their texts (`combine`). The encoding then includes these columns, because rows without an identifier can
// differ in them.
#pragma once

#include <cstddef>
#include <span>

#include <surety/data/arrow/arrow_stream.h>
#include <surety/data/reading/data_policy.h>
#include <surety/data/units/unit_selection.h>

namespace surety::data {

/// How rows of units are chosen: the rule is public, the key is not.
struct ArrowUnits {
  UnitRule rule;
  UnitKey key;
  UnitSelectionOptions options = {};
};

/// \param owners the positions of the rule's columns, in their order \param content the positions of the encoded columns, in the order of their names
/// \return the rows that are kept, counted through all batches. \throws Error{bad_data} for a batch that lies; where the form is public, also for a row without
///         an identifier, with its number.
/// \complexity O(n) for n rows, and O(m log m) for an owner of m > K rows, of which rows that are equal are read twice. Where the rows need more than
///         `units.options.memory`, owners are looked for in further passes over their column, at most 256. Memory: 24 bytes for each row, of so many rows at a time
///         as that holds, n bits; of one of 256 parts 16 bytes for each row, 64 where rows are equal, and 120 for each owner; the text of each identifier that is no
///         number; and 16 bytes for each row kept and 8 for each unit where they are listed.
/// \source docs/proofs/units.md#arrow
[[nodiscard]] KeptRows select_rows(std::span<const ArrowBatch> batches, std::span<const std::size_t> owners,
                                   std::span<const std::size_t> content, const ArrowUnits& units, RecordForm form = RecordForm::is_private);

}  // namespace surety::data
