#include <surety/data/reading/text_reader.h>

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <bzlib.h>
#include <zstd.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <limits>
#include <string>
#include <thread>

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
  for (unsigned i = 0; i < 15'000; ++i) text += fmt::format("{} {}\n", i, i * 2654435761U);
  return text;
}

/// `content` as one frame, with a checksum.
std::string zstd(std::string_view content) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string result(ZSTD_compressBound(content.size()), '\0');
  result.resize(ZSTD_compress2(context, result.data(), result.size(), content.data(), content.size()));
  ZSTD_freeCCtx(context);
  return result;
}

/// `content` as one stream.
std::string bzip2(std::string_view content) {
  std::string input{content};
  std::string result(content.size() + content.size() / 100 + 600, '\0');
  auto length = static_cast<unsigned>(result.size());
  EXPECT_EQ(BZ2_bzBuffToBuffCompress(result.data(), &length, input.data(), static_cast<unsigned>(input.size()), 9, 0, 0), BZ_OK);
  result.resize(length);
  return result;
}

struct Format {
  std::string name;
  std::function<std::string(std::string_view)> compress;
};
const std::vector<Format> formats{{"gzip", gzip}, {"zstd", zstd}, {"bzip2", bzip2}};

TEST(TextReader, ReadsPlainAndCompressedAlike) {
  const TemporaryFolder folder;
  for (const auto& [name, compress] : formats) {
    for (const std::string& text : {std::string{}, std::string{"x"}, std::string{"a\r\nb"}, long_text(), std::string(1 << 17, 'x')}) {
      EXPECT_EQ(read(folder.write("plain", text)), text);
      EXPECT_EQ(read(folder.write("compressed", compress(text))), text) << name;
    }
    EXPECT_EQ(read(folder.write("members", compress("one ") + compress("") + compress("two") + compress(long_text()))),
              "one two" + long_text())
        << name;
    EXPECT_EQ(read(folder.write("compressed mark", compress("\xef\xbb\xbfx"))), "x");
  }
  EXPECT_EQ(read(folder.write("mark", "\xef\xbb\xbfx")), "x");
  // A frame that is skipped, and texts that begin as compressed files do.
  EXPECT_EQ(read(folder.write("skipped", zstd("one ") + std::string{"\x50\x2a\x4d\x18\x03\0\0\0abc", 11} + zstd("two"))), "one two");
  for (const std::string text : {"BZh1", "BZh9,x\n1,2\n", "BZh0", "(\xb5/x", "B", "\x1f", "BZh91AY&S"}) {
    EXPECT_EQ(read(folder.write("text", text)), text) << text;
  }
}

// A stream hands its bytes on as they come: no more of them are awaited than tell what the file is.
TEST(TextReader, AwaitsNoMoreThanTellsTheFormat) {
  const TemporaryFolder folder;
  for (const auto& format : formats) {
    const auto pipe = folder / (format.name + " pipe");
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    std::thread writer{[&] {
      const int file = open(pipe.c_str(), O_WRONLY | O_CLOEXEC);
      for (const char byte : format.compress("one\ntwo\n")) static_cast<void>(!write(file, &byte, 1));
      close(file);
    }};
    EXPECT_EQ(read(pipe), "one\ntwo\n") << format.name;
    writer.join();
  }
  const auto pipe = folder / "plain pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int writer = open(pipe.c_str(), O_RDWR | O_CLOEXEC);  // which stays open, so that a reader would wait
  ASSERT_EQ(write(writer, "x\n", 2), 2);
  TextReader reader{pipe};
  EXPECT_EQ(reader.get(), 'x');
  EXPECT_EQ(reader.get(), '\n');
  close(writer);
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
  for (const auto& format : formats) {
    const auto path = folder.write("data.gz", format.compress(std::string(200'000, 'x')));
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
    EXPECT_EQ(length({.factor = 100'000, .unsuspicious = 0}), 200'000U);
    EXPECT_TRUE(refuses([&] { length({.factor = 100, .unsuspicious = 199'999}); }, ErrorCode::bad_data,
                        {"data.gz", "more than 100 times its size", "--no-limits"}));
  }
}

TEST(TextReader, RefusesDamage) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& content, std::string_view reason) {
    const auto path = folder.write("data.gz", content);
    return refuses([&] { read(path); }, ErrorCode::bad_data, {"data.gz", reason});
  };
  for (const auto& [name, compress] : formats) {
    const std::string whole = compress(long_text());
    for (const std::size_t length : {std::size_t{10}, std::size_t{18}, whole.size() / 2, whole.size() - 4, whole.size() - 1}) {
      EXPECT_TRUE(refused(whole.substr(0, length), name + " stream is truncated")) << name << " " << length;
      EXPECT_TRUE(refused(compress("x") + whole.substr(0, length), "truncated")) << name << " " << length;
    }
    std::string damaged = whole;
    damaged[damaged.size() - 6] = static_cast<char>(damaged[damaged.size() - 6] ^ 1);
    EXPECT_TRUE(refused(damaged, name + " stream is damaged")) << name;
    EXPECT_TRUE(refused(whole + "tail", "damaged")) << name;
    EXPECT_TRUE(refused(whole + compress("x") + "xx,1\n", "damaged")) << name;
    // Another format behind the first is no member of it.
    EXPECT_TRUE(refused(whole + (name == "gzip" ? zstd("x") : gzip("x")), "damaged")) << name;
    // Whatever byte changes, the text is refused or what it was: each of the three has a checksum of the text.
    const std::string text = "x,y\n1,2\n3,4\n";
    const std::string small = compress(text);
    for (std::size_t k = 10; k < small.size(); ++k) {
      std::string changed = small;
      changed[k] = static_cast<char>(changed[k] ^ 0x10);
      const auto path = folder.write("data.gz", changed);
      try {
        EXPECT_EQ(read(path), text) << name << " byte " << k;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::bad_data);
      }
    }
  }
  EXPECT_TRUE(refused(gzip("x").substr(0, 2), "truncated"));
  EXPECT_TRUE(refused(zstd("x").substr(0, 4), "truncated"));
  EXPECT_TRUE(refused(std::string{"\x28\xb5\x2f\xfd\x00\xff\x01\x00\x00", 9}, "damaged")) << "a window of more than 2^27 bytes";
  EXPECT_TRUE(refuses([&] { read(folder / "none"); }, ErrorCode::bad_data, {"none", "No such file"}));
  EXPECT_TRUE(refuses([&] { read(folder / ""); }, ErrorCode::bad_data, {"directory"}));
}

TEST(TextReader, TellsAWrongPathFromAMachineThatRefuses) {
  const TemporaryFolder folder;
  for (const auto& path : {folder / "nothing", folder / "", folder.write("file", "x") / "below", folder / std::string(300, 'x')}) {
    EXPECT_TRUE(refuses([&] { static_cast<void>(read(path)); }, ErrorCode::bad_data, {"cannot be"})) << path;
  }
  // The memory of a process at 0, which is not mapped, is a read error, as of a failing disk.
  EXPECT_TRUE(refuses([&] { static_cast<void>(read("/proc/self/mem")); }, ErrorCode::environment,
                      {"/proc/self/mem: cannot be read (Input/output error)"}));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  const auto path = folder / "file";
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto refused = refuses([&] { static_cast<void>(read(path)); }, ErrorCode::environment, {"cannot be opened (Too many open files)"});
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(refused);
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

TEST(ParseNumber, ReadsGroupsOfThousandsByAStrictGrammar) {
  const NumberFormat commas{.point = '.', .thousands = ','};
  for (const auto& [text, number] : std::vector<std::pair<std::string, double>>{{"1,234.50", 1234.5},
                                                                                {"999.50", 999.5},
                                                                                {"1234.5", 1234.5},
                                                                                {" +12,345,678 ", 12345678},
                                                                                {"-123,456.", -123456},
                                                                                {"1e3", 1000},
                                                                                {"0.5", 0.5}}) {
    EXPECT_EQ(parse_number(text, commas).fault, NumberFault::none) << text;
    EXPECT_EQ(parse_number(text, commas).value, number) << text;
  }
  // What could be a decimal comma, a list or a slip is no number.
  for (const auto* const text :
       {",",         ",123",    "1,",        "1,2",    "1,23",   "1,2345",  "1234,567", "1,234,56", "1,,234", "0,123",  "00,123",
        "1,234.5,6", "1,234e5", "1,234.5e1", "1 ,234", "1, 234", "+-1,234", "--1,234",  "a,123",    "1,2a4",  "1,234,", "1.5,000"}) {
    EXPECT_EQ(parse_number(text, commas).fault, NumberFault::not_a_number) << text;
  }
  const NumberFormat points{.point = ',', .thousands = '.'};
  EXPECT_EQ(parse_number("1.234,5", points).value, 1234.5);
  EXPECT_EQ(parse_number("1.234", points).value, 1234);
  EXPECT_EQ(parse_number("1.5", points).fault, NumberFault::not_a_number);
  for (const char separator : {' ', '\'', '_'}) {
    const NumberFormat format{.point = ',', .thousands = separator};
    EXPECT_EQ(parse_number(fmt::format("12{0}345{0}678,25", separator), format).value, 12345678.25) << separator;
    EXPECT_EQ(parse_number("1.234", format).fault, NumberFault::not_a_number);
  }
  EXPECT_EQ(parse_number(std::string(1, '9') + std::string(400, '9'), commas).fault, NumberFault::out_of_range);
  EXPECT_EQ(parse_number("1,234").fault, NumberFault::not_a_number) << "nobody said that there are separators";
}

/// Each number, written in groups, is the number without them.
RC_GTEST_PROP(ParseNumber, GroupsAreTheNumberWithoutThem, (std::int64_t number)) {
  const auto plain = fmt::format("{}", number);
  std::string grouped;
  const std::size_t digits = plain.size() - (plain.starts_with('-') ? 1 : 0);
  for (std::size_t k = 0; k < plain.size(); ++k) {
    grouped += plain[k];
    const std::size_t left = plain.size() - 1 - k;
    if (plain[k] != '-' && left > 0 && left % 3 == 0 && left < digits) grouped += '\'';
  }
  const auto [parsed, fault] = parse_number(grouped + ".5", {.thousands = '\''});
  RC_ASSERT(fault == NumberFault::none);
  RC_ASSERT(parsed == parse_number(plain + ".5").value);
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
