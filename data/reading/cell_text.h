// The texts of cells that are no texts: one for each value, whatever the type of its column, so that no cell decides how others are written.
//
//   7, 7.0, a decimal 7.00     "7"
//   a decimal 1.50             "1.5"; all digits, no zeros behind the last one that is none
//   1.5, 0.1, 1e-7             "1.5", "0.1", "1e-07": the shortest decimal that is read as the same double, as Python's `repr` writes it
//   a day, a time              "2017-06-01", "2017-06-01 13:30:00.5"; at midnight the day alone
//
// A float beyond 2^53 or an infinity has no text: two names of owners may have become one float.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace surety::data {

/// The integer that a float is, up to 2^53; nothing for other floats.
[[nodiscard]] std::optional<std::int64_t> integer_in(double number) noexcept;
/// The integer whose digits a text is: "-12", but neither "007" nor "-0".
[[nodiscard]] std::optional<std::int64_t> integer_in(std::string_view text) noexcept;

/// Replaces `out` by the text of a number; empty where it has none.
void write_number(double number, std::string& out);
void write_number(std::int64_t number, std::string& out);
void write_number(std::uint64_t number, std::string& out);

/// A point of time, of UTC where its column has a zone.
struct Instant {
  std::int64_t days;         ///< since 1970-01-01
  std::int64_t nanoseconds;  ///< of the day, from 0 on
};
constexpr std::int64_t nanoseconds_of_day = 86'400'000'000'000;
constexpr std::int64_t seconds_of_day = 86'400;

/// `units` of which a second has `units_of_second`: 1, 1000, 10^6 or 10^9.
[[nodiscard]] Instant instant_of(std::int64_t units, std::int64_t units_of_second) noexcept;
/// In days, within an ulp. The double depends on how long they are alone, not on their unit.
[[nodiscard]] double days_of(std::int64_t units, std::int64_t units_of_second) noexcept;
/// Replaces `out` by its text; empty beyond the years 0000 to 9999.
void write_instant(Instant instant, std::string& out);
/// Replaces `out` by "13:30:00.5". \pre 0 <= nanoseconds < nanoseconds_of_day
void write_time_of_day(std::int64_t nanoseconds, std::string& out);

}  // namespace surety::data
