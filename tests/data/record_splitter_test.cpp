#include <surety/data/record_splitter.h>

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::data::record_splitter_test {
namespace {

using Texts = std::vector<std::string>;

Texts split(const std::filesystem::path& path, RecordEnd end, std::size_t most_bytes = 1 << 20) {
  RecordSplitter splitter{path, end, most_bytes, {}};
  Texts records;
  for (std::string record; splitter.next(record);) records.push_back(record + (splitter.is_too_long() ? "..." : ""));
  return records;
}

/// What data_policy.h says, one byte after the other.
Texts expected(const std::string& text, RecordEnd end) {
  Texts records;
  std::string record;
  bool is_quoted = false;
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char byte = text[k];
    if (byte == '\n' && !is_quoted) {
      if (record.ends_with('\r')) record.pop_back();
      records.push_back(record);
      record.clear();
      continue;
    }
    const bool starts_cell = record.empty() || record.back() == ',';
    record += byte;
    if (end == RecordEnd::line || byte != '"') continue;
    if (is_quoted && k + 1 < text.size() && text[k + 1] == '"') {
      record += text[++k];
    } else if (is_quoted) {
      is_quoted = false;
    } else {
      is_quoted = starts_cell;
    }
  }
  if (!record.empty()) records.push_back(record);
  return records;
}

// Also where a record reaches over the reader's buffer of 2^16 bytes.
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
  for (const auto end : {RecordEnd::line, RecordEnd::line_outside_quotes}) RC_ASSERT(split(path, end) == expected(text, end));
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
  const auto path = folder.write("data", "12345\n123456\n\"" + std::string(200'000, '\n') + "\"\n1\r\n12345\r\n123456");
  EXPECT_EQ(split(path, RecordEnd::line_outside_quotes, 5), (Texts{"12345", "12345...", "\"\n\n\n\n...", "1", "12345...", "12345..."}));
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
