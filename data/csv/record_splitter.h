// The records of a text file, one at a time, before anybody looks into them: what a record is (data_policy.h) is decided here alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <surety/data/reading/data_policy.h>
#include <surety/data/reading/text_reader.h>

namespace surety::data {

/// Where records end.
enum class RecordEnd {
  line,                 ///< at every line end
  line_outside_quotes,  ///< at every line end outside quotes, of which a cell holds no more than `CsvFormat::quoted_lines` line ends
};

class RecordSplitter {
 public:
  /// Opens a file. Of a record with more than `most_bytes` the first of them are kept, and no cell in quotes takes a line end to get there; how far
  /// a compressed file may grow is limited where its form is public. \throws Error{bad_data} when the file cannot be opened or read.
  RecordSplitter(const std::filesystem::path& path, RecordEnd end, std::size_t most_bytes, const DataPolicy& policy);

  /// Reads the next record, without its line end; false at the end of the file. Reads nothing behind that line end, but where a cell in quotes
  /// holds line ends: so far that it is known whether they are the cell's.
  /// \throws Error{bad_data} when the file itself cannot be read on (damaged compressed data, a read error).
  [[nodiscard]] bool next(std::string& record);

  /// The record that was read last has more bytes than were kept.
  [[nodiscard]] bool is_too_long() const noexcept { return is_too_long_; }
  /// The line on which it starts, from 1.
  [[nodiscard]] std::size_t line() const noexcept { return line_; }

  void set_most_bytes(std::size_t most_bytes) noexcept { most_bytes_ = most_bytes; }

  /// \throws Error{bad_data} "<file>: <reason>", always.
  [[noreturn]] void refuse_file(std::string_view reason) const { text_.refuse_file(reason); }
  /// "<file>: <reason>".
  [[nodiscard]] std::string about_file(std::string_view reason) const { return text_.about_file(reason); }

 private:
  class Reading;

  /// As those of `text_`, behind what is to be read again.
  [[nodiscard]] std::string_view available();
  void skip(std::size_t count);
  /// Puts `ahead` back, of which nothing is in a record.
  void read_again(std::string_view ahead);

  TextReader text_;
  RecordEnd end_;
  char delimiter_;
  std::size_t most_bytes_;
  std::uint64_t quoted_lines_;
  std::size_t line_ = 1;
  bool is_too_long_ = false;
  std::string again_;  ///< from `again_begin_` on, with so many line ends
  std::size_t again_begin_ = 0;
  std::size_t again_lines_ = 0;
};

/// What is wrong with the text of a CSV record, whatever the header.
enum class CsvFault { none, quote_inside, text_after_quote, unclosed_quote, carriage_return };

/// " has a quote that is never closed" and so on, for messages.
[[nodiscard]] std::string_view describe(CsvFault fault);

struct CsvCells {
  std::size_t count;  ///< how many cells the record has; those beyond the most that were asked for are counted alone
  CsvFault fault;     ///< the first one; the cells are then without meaning
};

/// The cells of the CSV record `record`, at most `most` of them, in `cells`. Cells may be quoted, "" inside quotes is one quote.
CsvCells split_cells(std::string_view record, std::size_t most, std::vector<std::string>& cells, char delimiter = ',');

}  // namespace surety::data
