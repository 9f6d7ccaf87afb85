#include <surety/data/record_splitter.h>

#include <algorithm>

#include <surety/accounting/numbers/error.h>

namespace surety::data {

namespace {

/// How far into its cell a byte of a CSV record is.
enum class Place { at_start, in_text, in_quotes, behind_quote };

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
      most_bytes_{most_bytes} {}

bool RecordSplitter::next(std::string& record) {
  record.clear();
  is_too_long_ = false;
  line_ = text_.line();
  bool is_empty = true;
  bool has_quotes = false;  // in what was read of this record
  Place place = Place::at_start;
  for (;;) {
    const std::string_view bytes = text_.available();
    if (bytes.empty()) return !is_empty;
    is_empty = false;
    // Up to the next line end, which mostly is the record's; only where there are quotes do single bytes matter.
    std::size_t length = std::min(bytes.find('\n'), bytes.size());
    bool is_ended = length < bytes.size();
    if (end_ == RecordEnd::line_outside_quotes && (has_quotes || bytes.substr(0, length).find('"') != std::string_view::npos)) {
      has_quotes = true;
      is_ended = false;
      for (length = 0; length < bytes.size(); ++length) {
        is_ended = bytes[length] == '\n' && place != Place::in_quotes;
        if (is_ended) break;
        place = after(place, bytes[length], delimiter_);
      }
    } else if (length > 0) {
      place = after(Place::in_text, bytes[length - 1], delimiter_);
    }
    const std::size_t kept = std::min(length, most_bytes_ - record.size());
    is_too_long_ = is_too_long_ || kept < length;
    record.append(bytes.substr(0, kept));
    text_.skip(length + (is_ended ? 1 : 0));
    if (!is_ended) continue;
    if (!is_too_long_ && record.ends_with('\r')) record.pop_back();
    return true;
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
