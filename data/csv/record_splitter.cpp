#include <surety/data/csv/record_splitter.h>

#include <algorithm>
#include <optional>

#include <surety/base/text/error.h>

namespace surety::data {

namespace record_places {

/// How far into its cell a byte of a CSV record is.
enum class Place { at_start, in_text, in_quotes, behind_quote };

}  // namespace record_places

namespace {

using record_places::Place;

Place after(Place place, char byte, char delimiter) {
  switch (place) {
    case Place::in_quotes: return byte == '"' ? Place::behind_quote : Place::in_quotes;
    case Place::behind_quote:
      if (byte == '"') return Place::in_quotes;
      break;
    case Place::at_start:
      if (byte == '"') return Place::in_quotes;
      break;
    case Place::in_text: break;
  }
  return byte == delimiter ? Place::at_start : Place::in_text;
}

}  // namespace

RecordSplitter::RecordSplitter(const std::filesystem::path& path, RecordEnd end, std::size_t most_bytes, const DataPolicy& policy)
    : text_{path, policy.form == RecordForm::is_private
                      ? ExpansionLimit{}
                      : ExpansionLimit{.factor = policy.limits.expansion, .unsuspicious = policy.limits.unsuspicious_bytes}},
      end_{end},
      delimiter_{policy.csv.delimiter},
      most_bytes_{most_bytes},
      quoted_lines_{policy.csv.quoted_lines} {}

std::string_view RecordSplitter::available() {
  return again_begin_ < again_.size() ? std::string_view{again_}.substr(again_begin_) : text_.available();
}

void RecordSplitter::skip(std::size_t count) {
  if (again_begin_ == again_.size()) {
    text_.skip(count);
    return;
  }
  const auto begin = again_.begin() + static_cast<std::ptrdiff_t>(again_begin_);
  again_lines_ -= static_cast<std::size_t>(std::count(begin, begin + static_cast<std::ptrdiff_t>(count), '\n'));
  again_begin_ += count;
}

void RecordSplitter::read_again(std::string_view ahead) {
  again_lines_ += static_cast<std::size_t>(std::count(ahead.begin(), ahead.end(), '\n'));
  again_ = std::string{ahead}.append(again_, again_begin_);
  again_begin_ = 0;
}

/// One record as it is read.
class RecordSplitter::Reading {
 public:
  Reading(RecordSplitter& from, std::string& record) : from_{from}, record_{record} {}

  /// Takes the next bytes into account; nothing where the record goes on.
  std::optional<bool> go_on() {
    const std::string_view bytes = from_.available();
    if (bytes.empty()) {
      keep_ahead();
      return !is_empty_;
    }
    is_empty_ = false;
    // Up to the next line end, which mostly is the record's; only where there are quotes do single bytes matter.
    const std::size_t length = std::min(bytes.find('\n'), bytes.size());
    const bool is_at_line_end = length < bytes.size();
    const std::string_view part = bytes.substr(0, length);
    has_quotes_ = has_quotes_ || (from_.end_ == RecordEnd::line_outside_quotes && part.find('"') != std::string_view::npos);
    if (!has_quotes_) {
      if (length > 0) place_ = after(Place::in_text, part.back(), from_.delimiter_);
      keep(part);
    } else if (is_beyond(part, is_at_line_end)) {
      from_.skip(length);
      return cut();
    }
    from_.skip(length + (is_at_line_end ? 1 : 0));
    if (!is_at_line_end) return std::nullopt;
    if (place_ != Place::in_quotes) return finish();
    ahead_ += '\n';
    ++lines_;
    if (lines_ > from_.quoted_lines_ || record_.size() + ahead_.size() > from_.most_bytes_) return cut();
    return std::nullopt;
  }

 private:
  /// Keeps a part of a record with quotes, or puts it ahead; says whether its cell takes a line end to more bytes than are kept.
  bool is_beyond(std::string_view part, bool is_at_line_end) {
    std::size_t in_cell = part.size();  // how many bytes of the part are the cell's that `ahead_` is of
    for (std::size_t k = 0; k < part.size(); ++k) {
      place_ = after(place_, part[k], from_.delimiter_);
      if (place_ == Place::at_start || place_ == Place::in_text) in_cell = std::min(in_cell, k);
    }
    const bool is_closed = in_cell < part.size() || (is_at_line_end && place_ != Place::in_quotes);
    const bool beyond = lines_ > 0 && record_.size() + ahead_.size() + in_cell > from_.most_bytes_;
    if (lines_ > 0 && (beyond || !is_closed)) {
      ahead_.append(part);
    } else {
      keep_ahead();
      keep(part);
    }
    return beyond;
  }

  void keep(std::string_view bytes) {
    const std::size_t kept = std::min(bytes.size(), from_.most_bytes_ - record_.size());
    from_.is_too_long_ = from_.is_too_long_ || kept < bytes.size();
    record_.append(bytes.substr(0, kept));
  }
  void keep_ahead() {
    keep(ahead_);
    ahead_.clear();
    lines_ = 0;
  }
  bool finish() {
    if (!from_.is_too_long_ && record_.ends_with('\r')) record_.pop_back();
    return true;
  }
  /// The record ends where its cell first reaches over a line end, and what follows is read by itself.
  bool cut() {
    from_.read_again(std::string_view{ahead_}.substr(1));
    return finish();
  }

  RecordSplitter& from_;
  std::string& record_;
  bool is_empty_ = true;
  bool has_quotes_ = false;  // in what was read of this record
  record_places::Place place_ = Place::at_start;
  std::string ahead_;        // where the cell in hand holds line ends: what comes from the first of them on, which may not be the record's
  std::uint64_t lines_ = 0;  // how many there are in it
};

bool RecordSplitter::next(std::string& record) {
  record.clear();
  is_too_long_ = false;
  line_ = text_.line() - again_lines_;
  Reading reading{*this, record};
  for (;;) {
    if (const auto is_read = reading.go_on()) return *is_read;
  }
}

std::string_view describe(CsvFault fault) {
  switch (fault) {
    case CsvFault::none: return "";
    case CsvFault::quote_inside: return " has a quote inside a cell that does not start with one";
    case CsvFault::text_after_quote: return " has text after a closing quote";
    case CsvFault::unclosed_quote: return " has a quote that is never closed";
    case CsvFault::carriage_return: return " has a carriage return that does not end the line";
  }
  throw Error{ErrorCode::internal, "a fault without a description"};
}

namespace {

/// The cells of a record without quotes and carriage returns.
CsvCells split_plain_cells(std::string_view record, std::size_t most, std::vector<std::string>& cells, char delimiter) {
  std::size_t count = 0;
  for (std::size_t begin = 0; begin <= record.size(); ++count) {
    const std::size_t end = std::min(record.find(delimiter, begin), record.size());
    if (count < most) {
      if (cells.size() == count) cells.emplace_back();
      cells[count].assign(record, begin, end - begin);
    }
    begin = end + 1;
  }
  cells.resize(std::min(count, most));
  return {count, CsvFault::none};
}

}  // namespace

CsvCells split_cells(std::string_view record, std::size_t most, std::vector<std::string>& cells, char delimiter) {
  const bool is_plain = record.find('"') == std::string_view::npos && record.find('\r') == std::string_view::npos;
  if (is_plain) return split_plain_cells(record, most, cells, delimiter);
  std::size_t count = 0;
  std::string beyond;
  const auto open_cell = [&]() -> std::string* {
    if (count++ >= most) {
      beyond.clear();
      return &beyond;
    }
    if (cells.size() < count) cells.emplace_back();
    cells[count - 1].clear();
    return &cells[count - 1];
  };
  std::string* cell = open_cell();
  Place place = Place::at_start;
  for (const char byte : record) {
    const Place before = place;
    place = after(place, byte, delimiter);
    switch (before) {
      case Place::in_quotes:
        if (byte != '"') cell->push_back(byte);
        continue;
      case Place::behind_quote:
        if (byte != '"' && byte != delimiter) return {count, CsvFault::text_after_quote};
        break;
      case Place::at_start:
        if (byte == '"') continue;
        break;
      case Place::in_text:
        if (byte == '"') return {count, CsvFault::quote_inside};
        break;
    }
    if (byte == delimiter) {
      cell = open_cell();
    } else if (byte == '\r') {
      return {count, CsvFault::carriage_return};
    } else {
      cell->push_back(byte);
    }
  }
  if (place == Place::in_quotes) return {count, CsvFault::unclosed_quote};
  cells.resize(std::min(count, most));
  return {count, CsvFault::none};
}

}  // namespace surety::data
