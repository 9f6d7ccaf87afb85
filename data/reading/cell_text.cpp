#include <surety/data/reading/cell_text.h>

#include <array>
#include <charconv>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include <surety/data/reading/condition.h>

namespace surety::data {
namespace {

template <class Integer>
void write_integer(Integer number, std::string& out) {
  std::array<char, 24> digits{};
  out.assign(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

void append_time_of_day(std::int64_t nanoseconds, std::string& out) {
  constexpr std::int64_t of_second = 1'000'000'000;
  const std::int64_t seconds = nanoseconds / of_second;
  const std::int64_t rest = nanoseconds % of_second;
  fmt::format_to(std::back_inserter(out), "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
  if (rest == 0) return;
  fmt::format_to(std::back_inserter(out), ".{:09}", rest);
  out.erase(out.find_last_not_of('0') + 1);
}

}  // namespace

std::optional<std::int64_t> integer_in(double number) noexcept {
  constexpr double most = 0x1p53;
  if (!(number >= -most && number <= most)) return std::nullopt;
  const auto whole = static_cast<std::int64_t>(number);
  return static_cast<double>(whole) == number ? std::optional{whole} : std::nullopt;
}

std::optional<std::int64_t> integer_in(std::string_view text) noexcept {
  const auto digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || (digits.front() == '0' && text != "0")) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional{value} : std::nullopt;
}

void write_number(std::int64_t number, std::string& out) { write_integer(number, out); }
void write_number(std::uint64_t number, std::string& out) { write_integer(number, out); }

void write_number(double number, std::string& out) {
  if (const auto whole = integer_in(number)) return write_integer(*whole, out);
  out.clear();
  // What is beyond 2^53 is whole, or no number.
  if (std::abs(number) < 0x1p53) fmt::format_to(std::back_inserter(out), "{}", number);
}

Instant instant_of(std::int64_t units, std::int64_t units_of_second) noexcept {
  const std::int64_t of_day = seconds_of_day * units_of_second;
  std::int64_t days = units / of_day;
  std::int64_t rest = units % of_day;
  if (rest < 0) {
    --days;
    rest += of_day;
  }
  return {days, rest * (1'000'000'000 / units_of_second)};
}

double days_of(std::int64_t units, std::int64_t units_of_second) noexcept {
  const std::int64_t of_day = seconds_of_day * units_of_second;
  // The rest of a day and a day are exact in doubles of every unit, so their quotient is rounded alike.
  return static_cast<double>(units / of_day) + static_cast<double>(units % of_day) / static_cast<double>(of_day);
}

void write_instant(Instant instant, std::string& out) {
  out.clear();
  const auto date = date_of_days(instant.days);
  if (!date) return;
  out = describe(*date);
  if (instant.nanoseconds == 0) return;
  out += ' ';
  append_time_of_day(instant.nanoseconds, out);
}

void write_time_of_day(std::int64_t nanoseconds, std::string& out) {
  out.clear();
  append_time_of_day(nanoseconds, out);
}

}  // namespace surety::data
