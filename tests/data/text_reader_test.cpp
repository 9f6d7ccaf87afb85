#include <surety/data/text_reader.h>

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <limits>
#include <string>

#include <fmt/format.h>

#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::data::text_reader_test {
namespace {

std::string read(const std::filesystem::path& path) {
  TextReader reader{path};
  std::string text;
  for (int byte = reader.get(); byte != TextReader::end; byte = reader.get()) text.push_back(static_cast<char>(byte));
  return text;
}

/// Longer than several buffers, and not trivially compressible.
std::string long_text() {
  std::string text;
  for (unsigned i = 0; i < 60'000; ++i) text += fmt::format("{} {}\n", i, i * 2654435761U);
  return text;
}

TEST(TextReader, ReadsPlainAndCompressedAlike) {
  const TemporaryFolder folder;
  for (const std::string& text : {std::string{}, std::string{"x"}, std::string{"a\r\nb"}, long_text()}) {
    EXPECT_EQ(read(folder.write("plain", text)), text);
    EXPECT_EQ(read(folder.write("compressed", gzip(text))), text);
  }
  EXPECT_EQ(read(folder.write("members", gzip("one ") + gzip("") + gzip("two"))), "one two");
  EXPECT_EQ(read(folder.write("mark", "\xef\xbb\xbfx")), "x");
  EXPECT_EQ(read(folder.write("compressed mark", gzip("\xef\xbb\xbfx"))), "x");
}

TEST(TextReader, CountsLines) {
  const TemporaryFolder folder;
  TextReader reader{folder.write("lines", "a\nb\n")};
  EXPECT_EQ(reader.line(), 1U);
  reader.get();
  reader.get();
  EXPECT_EQ(reader.line(), 2U);
  EXPECT_EQ(reader.peek(), 'b');
}

TEST(TextReader, StopsWhereACompressedFileGrowsTooMuch) {
  const TemporaryFolder folder;
  const auto path = folder.write("data.gz", gzip(std::string(200'000, 'x')));
  const auto length = [&](const ExpansionLimit& limit) {
    TextReader reader{path, limit};
    std::size_t sum = 0;
    for (auto bytes = reader.available(); !bytes.empty(); bytes = reader.available()) {
      sum += bytes.size();
      reader.skip(bytes.size());
    }
    return sum;
  };
  EXPECT_EQ(length({}), 200'000U);
  EXPECT_EQ(length({.factor = 100, .unsuspicious = 200'000}), 200'000U);
  EXPECT_EQ(length({.factor = 10'000, .unsuspicious = 0}), 200'000U);
  EXPECT_TRUE(refuses([&] { length({.factor = 100, .unsuspicious = 199'999}); }, ErrorCode::bad_data,
                      {"data.gz", "more than 100 times its size", "--no-limits"}));
}

TEST(TextReader, RefusesDamage) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& content, std::string_view reason) {
    const auto path = folder.write("data.gz", content);
    return refuses([&] { read(path); }, ErrorCode::bad_data, {"data.gz", reason});
  };
  const std::string whole = gzip(long_text());
  for (const std::size_t length : {std::size_t{2}, std::size_t{9}, std::size_t{18}, whole.size() / 2, whole.size() - 4, whole.size() - 1}) {
    EXPECT_TRUE(refused(whole.substr(0, length), "truncated")) << length;
  }
  std::string damaged = whole;
  damaged[damaged.size() - 6] = static_cast<char>(damaged[damaged.size() - 6] ^ 1);
  EXPECT_TRUE(refused(damaged, "damaged"));
  EXPECT_TRUE(refused(whole + "tail", "damaged"));
  EXPECT_TRUE(refuses([&] { read(folder / "none"); }, ErrorCode::bad_data, {"none", "No such file"}));
  EXPECT_TRUE(refuses([&] { read(folder / ""); }, ErrorCode::bad_data, {"directory"}));
}

TEST(ParseNumber, ReadsDecimalNumbersOnly) {
  EXPECT_EQ(parse_number(" +1.5e3\t").value, 1500);
  EXPECT_EQ(parse_number("-0.1").value, -0.1);
  for (const auto* const text : {"", " ", "+", "+-1", "++1", "1,5", "0x10", "1 2", "1e", "abc", "1e5x"}) {
    EXPECT_EQ(parse_number(text).fault, NumberFault::not_a_number) << text;
  }
  for (const auto* const text : {"nan", "-inf", "infinity", "+nan"}) EXPECT_EQ(parse_number(text).fault, NumberFault::not_finite) << text;
  for (const auto* const text : {"1e309", "-1e999", "1e99999999999999999999", "0.001e400"}) {
    EXPECT_EQ(parse_number(text).fault, NumberFault::out_of_range) << text;
  }
  EXPECT_EQ(parse_number(std::string(400, '9')).fault, NumberFault::out_of_range);
  for (const std::string& text : {std::string{"1e-400"}, std::string{"-1e-400"}, std::string{"1000e-9999999999999999999"},
                                  "0." + std::string(3000, '0') + "7", "0." + std::string(3000, '0') + "7e2000", std::string{"0e999"}}) {
    EXPECT_EQ(parse_number(text).fault, NumberFault::none) << text;
    EXPECT_EQ(parse_number(text).value, 0) << text;
  }
  EXPECT_EQ(parse_number("5e-324").value, 5e-324);
}

RC_GTEST_PROP(ParseNumber, InvertsShortestFormatting, (double value)) {
  const auto [parsed, fault] = parse_number(fmt::format("{}", value));
  RC_ASSERT(fault == NumberFault::none);
  RC_ASSERT(parsed == value);
}

TEST(InQuotes, KeepsMessagesOnOneShortLine) {
  EXPECT_EQ(in_quotes("a\nb"), "'a b'");
  EXPECT_EQ(in_quotes(std::string(100, 'x')), "'" + std::string(60, 'x') + "...'");
}

}  // namespace
}  // namespace surety::data::text_reader_test
