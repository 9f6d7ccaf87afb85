#include <surety/data/reading/cell_text.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>

#include <surety/data/reading/text_reader.h>

namespace surety::data::cell_text_test {
namespace {

constexpr auto least = std::numeric_limits<std::int64_t>::min();
constexpr auto largest = std::numeric_limits<std::int64_t>::max();

template <class Number>
std::string written(Number number) {
  std::string text = "what was there";
  write_number(number, text);
  return text;
}

TEST(CellText, KnowsIntegers) {
  for (const double whole : {0.0, -0.0, 7.0, -7.0, 0x1p53, -0x1p53}) EXPECT_EQ(integer_in(whole), static_cast<std::int64_t>(whole));
  for (const double other : {0.5, 0x1p53 + 2, -1e300, HUGE_VAL, std::nan("")}) EXPECT_FALSE(integer_in(other)) << other;
  for (const auto whole : {std::int64_t{0}, std::int64_t{-12}, least, largest})
    EXPECT_EQ(integer_in(std::string_view{std::to_string(whole)}), whole);
  for (const char* const other : {"", "-", "-0", "007", "+7", " 7", "7 ", "7.0", "0x7", "9223372036854775808", "-9223372036854775809"}) {
    EXPECT_FALSE(integer_in(std::string_view{other})) << other;
  }
}

TEST(CellText, WritesEqualNumbersAlike) {
  EXPECT_EQ(written(7.0), "7");
  EXPECT_EQ(written(-0.0), "0");
  EXPECT_EQ(written(std::int64_t{7}), written(std::uint64_t{7}));
  EXPECT_EQ(written(least), "-9223372036854775808");
  EXPECT_EQ(written(~std::uint64_t{0}), "18446744073709551615");
  EXPECT_EQ(written(0x1p53), "9007199254740992");
  for (const double nameless : {0x1p53 + 2, 1e300, -HUGE_VAL, std::nan("")}) EXPECT_EQ(written(nameless), "");
  std::mt19937_64 random{3};
  for (int k = 0; k < 10'000; ++k) {
    const double number = std::ldexp(static_cast<double>(random() >> 11), -static_cast<int>(random() % 200) - 1);
    if (number >= 0x1p53) continue;
    EXPECT_EQ(parse_number(written(number)).value, number);
  }
}

// A point of time has one double and one text, whatever its unit.
TEST(CellText, CountsTimesInDays) {
  std::mt19937_64 random{5};
  for (int k = 0; k < 1000; ++k) {
    const std::int64_t seconds = static_cast<std::int64_t>(random() % 8'000'000'000) - 4'000'000'000;
    const double days = days_of(seconds, 1);
    EXPECT_NEAR(days, static_cast<double>(seconds) / 86400, 1e-10);
    std::string text;
    write_instant(instant_of(seconds, 1), text);
    for (const std::int64_t units : {std::int64_t{1000}, std::int64_t{1'000'000}, std::int64_t{1'000'000'000}}) {
      EXPECT_EQ(days_of(seconds * units, units), days);
      std::string other;
      write_instant(instant_of(seconds * units, units), other);
      EXPECT_EQ(other, text);
    }
  }
  EXPECT_EQ(days_of(-86'400, 1), -1);
  EXPECT_EQ(days_of(129'600'000, 1000), 1.5);
  for (const auto end : {least, largest}) {
    const auto instant = instant_of(end, 1'000'000'000);
    EXPECT_TRUE(instant.nanoseconds >= 0 && instant.nanoseconds < nanoseconds_of_day);
  }
  std::string text;
  write_instant(instant_of(-1, 1'000'000'000), text);
  EXPECT_EQ(text, "1969-12-31 23:59:59.999999999");
  write_instant(instant_of(largest, 1), text);
  EXPECT_EQ(text, "");
  write_time_of_day(3'600'500'000'000, text);
  EXPECT_EQ(text, "01:00:00.5");
}

}  // namespace
}  // namespace surety::data::cell_text_test
