// What a record of a file is, what becomes of one that is damaged, and how large a file may be. All readers share this: of CSV and LIBSVM
// text, of whole files and of streams, for training and for statistics.
//
// *A record* is what lies between two record ends, and nothing that it holds makes it more than one or none:
//   CSV     a record ends at a line end outside quotes, a cell at a delimiter (`CsvFormat`) outside them. A quote opens at the start of a cell and closes at the next quote that is not
//           doubled, so a line end inside quotes belongs to its cell, which holds at most `quoted_lines` of them. Where a
//           cell would hold more, and where its record would pass the limit of bytes before it is closed, the line on which the cell begins is the
//           record's last one: the record has an unclosed quote, and what follows is read as records of its own. Where a quote is not closed and
//           less than that follows, all that follows is one record.
//   LIBSVM  a record ends at every line end; '#' starts a comment that lasts to it. Of a sparse matrix in memory a row is a record (sparse_matrix.h).
// A line end is LF or CR LF. An empty line, and one with nothing but a comment, is a record like any other; only the empty piece behind
// the last line end is none. So a record that gives way to another text of one record leaves all others and their number as they are. (A
// text with an odd quote at the start of a cell may not be that of one record: it takes in lines up to the next such quote, at most as many as a cell
// may hold. Writers of CSV double quotes.)
//
//   Arrow  a row of a batch is a record (arrow_stream.h says what its cells are). A null or a NaN is a missing cell, as an empty one is, and a row that is null
//          as a whole a damaged record.
//
// *A damaged record* has a wrong number of cells (an empty line, too), an unclosed quote, a quote where none may be, a carriage return
// that ends no line, or more bytes than the limit: all its cells count as missing. *A damaged cell* is one of a column of numbers that is
// missing, empty, not a number, not finite or beyond the largest double (what is nearer to 0 than the smallest one reads as 0). They
// count as follows:
//   training   a record with a damaged cell in a used column, or with a label that the loss does not know, is a record of zeros: it is
//              still one record, is sampled and charged like any, and adds nothing to any gradient.
//   statistic  a record with a damaged cell in its column is none of that statistic; in a histogram it is in no cell, and it meets no
//              comparison. Where the user promises that there is none (`CsvFormat::complete`), or says what such cells count as and the whole
//              record is damaged, it counts as 0, clamped to the bounds; but under zero-out it is no record of a quantile, a variance or a
//              mean of a private count: a zeroed record has such a cell.
// In a column of categories every text is one, whatever its bytes; one that is not listed is in no category. A condition is met by
// comparisons with cells that are not damaged alone, in three values (condition.h); for those with a text, an empty or blank cell is one, for
// those with a date one that is no date. Whether a cell is missing can be asked of a record that is not damaged as a whole.
//
// *What a missing cell counts as* can be said of a column (`CsvFormat::missing`): a damaged cell of numbers, or an empty or blank one of
// texts, then counts as that, everywhere. Where the form is public only an empty or blank one does, and other damage is an error. A cell of
// a damaged record never does: such a record, of which an empty line is the plainest, stays one of zeros, in no cell, that meets no
// condition, and is what a zeroed record is under zero-out. Where a column names the owner of rows, so is a record with nothing in it but that.
//
// Nothing else becomes of it: no error, no message, no number that is not labelled as private. Only a user who says that the form of the
// file is public is told where it is damaged. Not covered: how long a run takes and how much memory it needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <surety/base/text/error.h>

namespace surety::data {

/// Whether it may be known that a record is damaged.
enum class RecordForm {
  is_private,  ///< nothing that a record holds stops a reader, and damage counts as said above
  is_public,   ///< the user says so: damage is Error{bad_data} with its row, line, column and cell
};

/// A damaged record where the form is public: Error{bad_data} with its row. The reader that threw it stands behind the record and can be
/// asked for the next one.
class __attribute__((visibility("default"))) DamagedRecord : public Error {
 public:
  explicit DamagedRecord(const std::string& message) : Error{ErrorCode::bad_data, message} {}
};

/// What is refused before memory is exhausted. Of public things (the header, options, models) as Error{bad_data}; a record that is too
/// long counts as damaged. Each message says that --no-limits, the command's option, lifts the limit.
struct DataLimits {
  std::size_t header_bytes = std::size_t{1} << 24;
  std::size_t columns = std::size_t{1} << 20;
  std::uint32_t features = std::uint32_t{1} << 22;  ///< of LIBSVM files
  std::size_t record_bytes = std::size_t{1} << 26;
  std::uint64_t numbers = std::uint64_t{1} << 32;  ///< records times features of a whole file, where the number of records is public
  std::size_t model_bytes = std::size_t{1} << 27;  ///< decompressed
  double expansion = 200;  ///< times the size of a compressed file, beyond `unsuspicious_bytes` and where the form is public
  std::uint64_t unsuspicious_bytes = std::uint64_t{1} << 24;

  /// No limits but those of the machine.
  [[nodiscard]] static DataLimits none() noexcept {
    constexpr auto all = std::numeric_limits<std::size_t>::max();
    return {.header_bytes = all,
            .columns = all,
            .features = std::numeric_limits<std::uint32_t>::max(),
            .record_bytes = all,
            .numbers = std::numeric_limits<std::uint64_t>::max(),
            .model_bytes = all,
            .expansion = std::numeric_limits<double>::infinity()};
  }
  friend bool operator==(const DataLimits&, const DataLimits&) = default;
};

/// How a number in a cell is written. Public.
struct NumberFormat {
  char point = '.';    ///< or a comma: what stands before the decimals
  char thousands = 0;  ///< what stands between groups of three digits: one of `thousands_separators`; 0: nothing does
  friend bool operator==(const NumberFormat&, const NumberFormat&) = default;
};
inline constexpr std::string_view thousands_separators{",. '_"};

/// How a CSV file is written, and what its missing cells count as. Public: it comes from the user, never from a record.
struct CsvFormat {
  char delimiter = ',';  ///< a byte of ASCII, and no quote, carriage return, line feed or zero byte
  /// The names of the columns of a file that has no header: its first record is one like any other. Empty: the first record is the header.
  std::vector<std::string> columns = {};
  std::map<std::string, std::string> missing = {};  ///< by column: a number as a text, or a text
  char decimal = '.';                               ///< or a comma: what stands before the decimals of a number in a cell
  char thousands = 0;  ///< what stands between groups of three digits of a number in a cell (`NumberFormat`), another one than `decimal`
  /// Columns of which no cell is missing, as the user promises; that is checked where the form of the file is public.
  std::set<std::string> complete = {};
  std::uint64_t quoted_lines = 100;  ///< how many line ends a cell in quotes holds at most
  [[nodiscard]] NumberFormat numbers() const noexcept { return {.point = decimal, .thousands = thousands}; }
  friend bool operator==(const CsvFormat&, const CsvFormat&) = default;
};

struct DataPolicy {
  RecordForm form = RecordForm::is_private;
  DataLimits limits = {};
  CsvFormat csv = {};
  friend bool operator==(const DataPolicy&, const DataPolicy&) = default;
};

/// For data whose form everybody may know: the strict reading.
inline const DataPolicy public_form{.form = RecordForm::is_public};

}  // namespace surety::data
