#include <surety/base/text/error.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace surety::error_test {
namespace {

TEST(Error, CarriesItsCodeAndItsLine) {
  const Error error{ErrorCode::bad_data, "row 3: label is 7"};
  EXPECT_EQ(error.code(), ErrorCode::bad_data);
  EXPECT_STREQ(error.what(), "row 3: label is 7");
}

// Written into other languages, exit codes and logs: a code that moved would be read as another.
TEST(Error, CodesKeepTheirNumbers) {
  const std::vector<ErrorCode> in_order{
      ErrorCode::invalid_argument, ErrorCode::unsupported, ErrorCode::bad_data, ErrorCode::budget_exceeded, ErrorCode::damaged_ledger,
      ErrorCode::environment,      ErrorCode::unreachable, ErrorCode::memory,   ErrorCode::internal,        ErrorCode::stopped};
  for (std::size_t i = 0; i < in_order.size(); ++i) EXPECT_EQ(static_cast<std::size_t>(in_order[i]), i);
}

TEST(Error, IsCaughtAsAnExceptionOfTheStandardLibrary) {
  try {
    throw Error{ErrorCode::memory, "too little"};
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "too little");
    EXPECT_NE(dynamic_cast<const Error*>(&error), nullptr);
  }
}

TEST(OneLine, LeavesShortTextAlone) {
  EXPECT_EQ(one_line(""), "");
  EXPECT_EQ(one_line("gaussian(2), \xc3\xa9"), "gaussian(2), \xc3\xa9");
  EXPECT_EQ(one_line(std::string(200, 'x')), std::string(200, 'x'));
}

TEST(OneLine, CutsLongTextAndSaysSo) {
  const std::string cut = one_line(std::string(201, 'x'));
  EXPECT_EQ(cut.substr(0, 200), std::string(200, 'x'));
  EXPECT_EQ(cut.substr(200), "...");
  EXPECT_EQ(one_line(std::string(1'000'000, 'x')).size(), 203U);
}

TEST(OneLine, LeavesNoControlCharacter) {
  std::string all;
  for (int c = 0; c < 128; ++c) all += static_cast<char>(c);
  const auto line = one_line(all);
  ASSERT_EQ(line.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(line[i], i < 32 || i == 127 ? ' ' : all[i]) << i;
}

TEST(OneLine, LeavesNothingThatATerminalObeys) {
  // The eight-bit form of ESC [, the end of a line as a character, and marks that reverse the direction of writing.
  EXPECT_EQ(one_line("a\xc2\x9b"
                     "31mb"),
            "a 31mb");
  EXPECT_EQ(one_line("a\xe2\x80\xa8"
                     "b\xe2\x80\xae"
                     "c\xe2\x81\xa6"
                     "d"),
            "a b c d");
  EXPECT_EQ(one_line("\x1b]0;title\x07"), " ]0;title ");
}

TEST(OneLine, ShowsBytesThatAreNoText) {
  EXPECT_EQ(one_line("gr\xf6\xdf"
                     "e"),
            "gr\\xf6\\xdfe");
  EXPECT_EQ(one_line("\xc3"), "\\xc3");
  EXPECT_EQ(one_line("\xc0\xaf\xed\xa0\x80\xf5\x80\x80\x80"), "\\xc0\\xaf\\xed\\xa0\\x80\\xf5\\x80\\x80\\x80");
  EXPECT_LE(one_line(std::string(1000, '\xff')).size(), 203U);
}

TEST(OneLine, CutsBetweenCharacters) {
  std::string text(199, 'x');
  EXPECT_EQ(one_line(text + "\xc3\xa9"), text + "...");
  EXPECT_EQ(one_line("\xc3\xa9\xc3\xa9", 3), "\xc3\xa9...");
}

TEST(IsUtf8, KnowsTheEdges) {
  for (const char* text :
       {"", "abc", "\xc3\xa9", "\xed\x9f\xbf", "\xee\x80\x80", "\xf4\x8f\xbf\xbf", "\xc2\x80", "\xe0\xa0\x80", "\xf0\x90\x80\x80"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
  for (const char* text :
       {"\x80", "\xc3", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xff", "a\xe2\x82"}) {
    EXPECT_FALSE(is_utf8(text));
  }
}

}  // namespace
}  // namespace surety::error_test
