#include <surety/data/csv/record_splitter.h>

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::data::record_splitter_test {
namespace {

using Texts = std::vector<std::string>;

struct Record {
  std::string text;
  std::size_t line;
  friend bool operator==(const Record&, const Record&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Record& record) { return out << record.line << ": " << record.text << "\n"; }
};
using Records = std::vector<Record>;

const std::uint64_t usual = CsvFormat{}.quoted_lines;

Records records_of(const std::filesystem::path& path, RecordEnd end, std::size_t most_bytes = 1 << 20, std::uint64_t quoted_lines = usual) {
  RecordSplitter splitter{path, end, most_bytes, {.csv = {.quoted_lines = quoted_lines}}};
  Records records;
  for (std::string record; splitter.next(record);) records.push_back({record + (splitter.is_too_long() ? "..." : ""), splitter.line()});
  return records;
}

Texts split(const std::filesystem::path& path, RecordEnd end, std::size_t most_bytes = 1 << 20, std::uint64_t quoted_lines = usual) {
  Texts texts;
  for (auto& record : records_of(path, end, most_bytes, quoted_lines)) texts.push_back(std::move(record.text));
  return texts;
}

/// Where the record that starts at `begin` ends: at a line end, or at the end of the text. What data_policy.h says, one byte after the other.
std::size_t end_of_record(const std::string& text, std::size_t begin, RecordEnd end, std::size_t most_bytes, std::uint64_t quoted_lines) {
  if (end == RecordEnd::line) return std::min(text.find('\n', begin), text.size());
  for (std::size_t k = begin; k < text.size(); ++k) {
    if (text[k] == '\n') return k;
    if (text[k] != '"' || (k > begin && text[k - 1] != ',')) continue;
    // A cell in quotes: its line ends, up to the quote that closes it.
    std::size_t first = std::string::npos;
    std::uint64_t lines = 0;
    for (++k; k < text.size(); ++k) {
      if (text[k] == '\n' && ++lines == 1) first = k;
      if (lines > quoted_lines || (lines > 0 && k + 1 - begin > most_bytes)) return first;
      if (text[k] != '"') continue;
      const bool is_doubled = k + 1 < text.size() && text[k + 1] == '"';
      if (!is_doubled) break;
      if (lines > 0 && k + 2 - begin > most_bytes) return first;
      ++k;
    }
    // What stands between the quote and the delimiter is text.
    while (k + 1 < text.size() && text[k + 1] != ',' && text[k + 1] != '\n') ++k;
  }
  return text.size();
}

Records expected(const std::string& text, RecordEnd end, std::size_t most_bytes = 1 << 20, std::uint64_t quoted_lines = usual) {
  Records records;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t stop = end_of_record(text, begin, end, most_bytes, quoted_lines);
    auto record = text.substr(begin, stop - begin);
    const auto line = static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin), '\n')) + 1;
    if (record.size() > most_bytes) {
      record = record.substr(0, most_bytes) + "...";
    } else if (stop < text.size() && record.ends_with('\r')) {
      record.pop_back();
    }
    records.push_back({record, line});
    begin = stop + 1;
  }
  return records;
}

// Also where a record reaches over the reader's buffer of 2^16 bytes, and where a cell holds more line ends than one may.
RC_GTEST_PROP(RecordSplitter, EndsRecordsWhereThePolicySays, ()) {
  const TemporaryFolder folder;
  std::string text;
  const auto piece = rc::gen::weightedElement<std::string>(
      {{6, "a"}, {6, "\n"}, {6, "\""}, {4, ","}, {2, "\r\n"}, {2, "\r"}, {2, "\"\""}, {1, ""}, {2, "\",\""}, {1, std::string(1, '\0')}});
  for (int part = 0; part < 3; ++part) {
    for (const auto& bytes : *rc::gen::container<Texts>(piece)) text += bytes;
    constexpr std::size_t buffer = 1 << 16;
    if (*rc::gen::inRange(0, 3) == 0) text.resize((text.size() / buffer + 1) * buffer - *rc::gen::inRange<std::size_t>(0, 4), 'x');
  }
  const auto path = folder.write("data", text);
  const auto most = *rc::gen::element<std::size_t>(1 << 20, 1 << 20, 1 << 16, 20, 5);
  const auto lines = *rc::gen::element<std::uint64_t>(0, 1, 2, 3, 5, 100);
  for (const auto end : {RecordEnd::line, RecordEnd::line_outside_quotes})
    RC_ASSERT(records_of(path, end, most, lines) == expected(text, end, most, lines));
}

TEST(RecordSplitter, AnUnclosedQuoteTakesInNoMoreLinesThanACellMayHold) {
  const TemporaryFolder folder;
  const auto file = [&](const std::string& broken, std::size_t behind) {
    std::string text = "a,1\na,1\n" + broken + "\n";
    for (std::size_t k = 0; k < behind; ++k) text += "a,1\n";
    return folder.write("data", text);
  };
  // The cell ends with the text where that comes first, and the piece behind the last line end is one of its lines.
  EXPECT_EQ(split(file("\"a,1", 99), RecordEnd::line_outside_quotes).size(), 3U);
  EXPECT_EQ(split(file("\"a,1", 100), RecordEnd::line_outside_quotes).size(), 103U);
  for (const std::size_t behind : {100, 101, 250, 20'000}) {
    const auto records = records_of(file("b,\"a\r", behind), RecordEnd::line_outside_quotes);
    ASSERT_EQ(records.size(), behind + 3);
    EXPECT_EQ(records[2], (Record{"b,\"a", 3}));
    EXPECT_EQ(records[3], (Record{"a,1", 4}));
    EXPECT_EQ(records.back(), (Record{"a,1", behind + 3}));
  }
  // Earlier cells of the record stay its own.
  const auto path = folder.write("data", "\"x\ny\",\"a\n1\n2\n3\n");
  EXPECT_EQ(split(path, RecordEnd::line_outside_quotes, 1 << 20, 2), (Texts{"\"x\ny\",\"a", "1", "2", "3"}));
  EXPECT_EQ(split(path, RecordEnd::line_outside_quotes, 1 << 20, 4), (Texts{"\"x\ny\",\"a\n1\n2\n3\n"}));
}

// Each byte is read at most twice, wherever quotes stand: a reader that went back to the beginning of a record would take hours here.
TEST(RecordSplitter, ReadsOnBehindTheLineWhereTheCellBegins) {
  const TemporaryFolder folder;
  std::string text;
  constexpr std::size_t lines = 200'000;
  for (std::size_t k = 0; k < lines; ++k) text += "\"a\"b,\"\n";
  for (std::size_t k = 0; k < 200; ++k) text += "\n";
  const auto records = split(folder.write("data", text), RecordEnd::line_outside_quotes, std::size_t{1} << 22);
  EXPECT_EQ(records.size(), 201U);
  EXPECT_EQ(records.front().size(), lines * 7 - 1);
}

TEST(RecordSplitter, KeepsAnEmptyRecordAndNotThePieceBehindTheLastEnd) {
  const TemporaryFolder folder;
  for (const auto end : {RecordEnd::line, RecordEnd::line_outside_quotes}) {
    EXPECT_EQ(split(folder.write("data", ""), end), Texts{});
    EXPECT_EQ(split(folder.write("data", "\n"), end), Texts{""});
    EXPECT_EQ(split(folder.write("data", "a"), end), Texts{"a"});
    EXPECT_EQ(split(folder.write("data", "a\r\n\nb\n\r\n"), end), (Texts{"a", "", "b", ""}));
  }
}

TEST(RecordSplitter, KeepsTheBeginningOfALongRecordAndGoesOnBehindIt) {
  const TemporaryFolder folder;
  const auto path = folder.write("data", "12345\n123456\n\"" + std::string(200'000, ',') + "\"\n1\r\n12345\r\n123456");
  EXPECT_EQ(split(path, RecordEnd::line_outside_quotes, 5), (Texts{"12345", "12345...", "\",,,,...", "1", "12345...", "12345..."}));
  // What may yet be records of its own is kept, so a record takes in no lines beyond the bytes that are.
  EXPECT_EQ(split(folder.write("data", "\"a\n1\"\n\"ab\n1\"\n2"), RecordEnd::line_outside_quotes, 5),
            (Texts{"\"a\n1\"", "\"ab", "1\"", "2"}));
}

RC_GTEST_PROP(SplitCells, CutsAtCommas, (const std::vector<std::string>& parts)) {
  RC_PRE(!parts.empty());
  std::string record;
  Texts cells;
  for (const auto& part : parts) {
    std::string cell;
    for (const char c : part) cell += c == ',' || c == '"' || c == '\r' || c == '\n' ? 'x' : c;
    record += (cells.empty() ? "" : ",") + cell;
    cells.push_back(cell);
  }
  Texts found{"old", "cells"};
  const auto [count, fault] = split_cells(record, 1000, found);
  RC_ASSERT(fault == CsvFault::none);
  RC_ASSERT(count == cells.size());
  RC_ASSERT(found == cells);
  RC_ASSERT(split_cells(record, 2, found).count == cells.size());
  cells.resize(std::min<std::size_t>(cells.size(), 2));
  RC_ASSERT(found == cells);
  RC_ASSERT(split_cells("\"a\"," + record, 1, found).count == parts.size() + 1);
  RC_ASSERT(found == Texts{"a"});
}

TEST(SplitCells, SaysWhatIsWrong) {
  Texts cells;
  const auto fault = [&](std::string_view record) { return split_cells(record, 10, cells).fault; };
  EXPECT_EQ(fault("a,\"b\"\"\n,\",c"), CsvFault::none);
  EXPECT_EQ(cells, (Texts{"a", "b\"\n,", "c"}));
  EXPECT_EQ(fault("a\"b\""), CsvFault::quote_inside);
  EXPECT_EQ(fault("\"a\"b"), CsvFault::text_after_quote);
  EXPECT_EQ(fault("\"a\" ,b"), CsvFault::text_after_quote);
  EXPECT_EQ(fault("a,\"b"), CsvFault::unclosed_quote);
  EXPECT_EQ(fault("a,\"b\"\""), CsvFault::unclosed_quote);
  EXPECT_EQ(fault("a\r,b"), CsvFault::carriage_return);
  EXPECT_EQ(fault("\"a\r\n\""), CsvFault::none);
  EXPECT_EQ(fault("\"a\"\r"), CsvFault::text_after_quote);
}

}  // namespace
}  // namespace surety::data::record_splitter_test
