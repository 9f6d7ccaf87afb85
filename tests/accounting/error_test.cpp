#include <surety/accounting/error.h>

#include <gtest/gtest.h>

#include <string>

#include <surety/accounting/event.h>
#include <surety/accounting/units.h>

namespace surety {
namespace {

TEST(Error, CarriesItsCodeAndItsLine) {
  const Error error{ErrorCode::bad_data, "row 3: label is 7"};
  EXPECT_EQ(error.code(), ErrorCode::bad_data);
  EXPECT_STREQ(error.what(), "row 3: label is 7");
}

TEST(Error, IsCaughtAsAnExceptionOfTheStandardLibrary) {
  try {
    throw Error{ErrorCode::memory, "too little"};
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "too little");
    EXPECT_NE(dynamic_cast<const Error*>(&error), nullptr);
  }
}

// A refusal names the parameter, its value and the constraint.
TEST(Error, OfAParameterNamesValueAndConstraint) {
  try {
    static_cast<void>(Epsilon{-0.5});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_STREQ(error.what(), "epsilon is -0.5, must be finite and at least 0");
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

// A hostile event text does not break the message into lines.
TEST(OneLine, KeepsAMessageOnOneLine) {
  try {
    static_cast<void>(event_from_json("{\"version\": \"a\\nb\", \"adjacency\": \"replace-one\", \"event\": {}}"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string{error.what()}.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace surety
