// Which rows of a CSV file are kept where a promise protects owners of several rows, of which at most K are used.
//
// *The rule.* Of a unit's rows the K with the least keyed hash are kept: SipHash-128, under a fresh secret key, of the row's bytes and of its
// rank among the unit's equal rows. So what is kept of a unit is a function of that unit's rows and the key: neither other units, nor where
// rows stand, nor how many there are decide anything (two rows of one unit whose hashes are equal by chance are kept in their order). It is
// applied once, to whole rows, before anything else looks at them.
//
// *The identifier* is the text of one cell, as the reader gives it: quotes taken off, blanks kept, compared byte by byte. '7', '07' and ' 7'
// are three units. Identifiers themselves are compared, not their hashes, so different units stay different. Where several columns name the unit, the identifier
// is the combination of their texts. A row with an empty text among them has no identifier.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <surety/accounting/events/unit.h>
#include <surety/accounting/events/units.h>
#include <surety/data/features/dataset.h>
#include <surety/data/reading/data_policy.h>
#include <surety/data/units/owner_buckets.h>

namespace surety::data {

/// All public.
struct UnitRule {
  std::string column;
  Count most{1};  ///< K
  EmptyUnit empty = EmptyUnit::one;
  std::vector<std::string> beside = {};  ///< the further columns of a combination

  [[nodiscard]] std::vector<std::string> columns() const;
};

/// The identifier of a combination: each text behind its length in bytes and a colon, "2:ab" and "1:7" as "2:ab1:7"; empty where a text is. Different
/// combinations without an empty text have different identifiers. \source docs/proofs/units.md#combinations
void combine(std::span<const std::string_view> texts, std::string& identifier);
/// The first text of an identifier that `combine` made; empty of the empty one.
[[nodiscard]] std::string_view first_of_combination(std::string_view identifier);

struct UnitSelectionOptions {
  std::size_t memory = std::size_t{1} << 29;  ///< bytes for entries of rows, 40 each; what is beyond them goes into an unlinked file
  bool lists_units = false;                   ///< whether `unit_of` and `words` are wanted
  std::uint64_t public_seed = 0;              ///< of the words
  bool finds_buckets = false;                 ///< whether `buckets` is wanted
};

/// What was found. Everything but `rows` and `units` is private, and these are as public as the adjacency says.
struct KeptRows {
  std::vector<bool> is_kept;  ///< row by row, without the header
  std::uint64_t kept = 0;
  std::uint64_t units = 0;
  /// For each row that is kept, in their order, the place of its unit in `words`.
  std::vector<std::uint64_t> unit_of = {};
  /// For each unit 64 bits that are a function of its identifier and the public seed alone.
  std::vector<std::uint64_t> words = {};
  /// Those of all owners, by the first text of a combination; a row that is a unit of its own has none.
  OwnerBuckets buckets = {};
};

using UnitKey = std::array<unsigned char, 16>;

/// One pass over a file. \param key uniform, fresh, and kept by nobody.
/// \throws Error{bad_data} for a column that is missing or a file that cannot be read; where its form is public, also for a damaged record or
///         an identifier that is empty; Error{environment} when OpenSSL or the unlinked file fails.
/// \complexity O(n log n) for n rows; memory: that of the options, n bits, K entries at a time, 16 bytes and the text for each identifier of
///         more than 15 bytes, and 16 bytes for each row kept and 8 for each unit where they are listed.
/// \source docs/proofs/units.md#selection
[[nodiscard]] KeptRows select_rows(const std::filesystem::path& path, const UnitRule& rule, const DataPolicy& policy, const UnitKey& key,
                                   const UnitSelectionOptions& options = {});

/// A public pseudo-random split of the rows that were kept: a unit is held out with all its rows, or not at all. Which side it is on is a function of
/// its identifier and the seed alone, so the training part is, unit by unit, a function of that unit: where it is held out, it is one that adds
/// nothing. How many units are trained on is private where one may be replaced. Rows of a unit stand together.
struct UnitSplit {
  Split parts;
  std::vector<std::size_t> unit_ends;      ///< in the training part, behind the last row of each unit
  std::vector<std::size_t> held_out_ends;  ///< in the other, likewise
};
/// \param data the rows kept, in their order. \pre found.unit_of is listed, one for each record of `data`. \throws Error{invalid_argument} unless 0 <=
/// held_out_fraction < 1. \source docs/proofs/units.md#split
[[nodiscard]] UnitSplit split_units(const Dataset& data, const KeptRows& found, double held_out_fraction);

/// A file that is to be read twice, standing still meanwhile. Standard input that is no file is copied into an unlinked one of mode 0600 in
/// $TMPDIR (or /tmp), which becomes the process's standard input.
class FileReadTwice {
 public:
  /// \throws Error{bad_data} for what cannot be read twice (a pipe by its name); Error{environment} when the copy fails.
  explicit FileReadTwice(std::filesystem::path path);
  /// Before the second pass.
  void rewind() const;
  /// Behind the second pass. \throws Error{bad_data} when another file is there now, or its size or time of change is another.
  void require_unchanged() const;

 private:
  struct State {
    std::uint64_t device;
    std::uint64_t file;
    std::int64_t size;
    std::int64_t seconds;
    std::int64_t nanoseconds;
    friend bool operator==(const State&, const State&) = default;
  };
  [[nodiscard]] State state() const;

  std::filesystem::path path_;
  bool is_standard_input_;
  std::int64_t start_ = 0;
  State found_{};
};

}  // namespace surety::data
