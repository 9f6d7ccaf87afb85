#include <surety/jobs/search/answer_time.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/jobs/plans/plan_error.h>

namespace surety::jobs {
namespace {

using namespace std::chrono;

/// Takes what is expected from the front of a text.
class Front {
 public:
  explicit Front(std::string_view text) : text_{text} {}

  [[nodiscard]] bool is_end() const { return text_.empty(); }
  bool take(char wanted) {
    if (text_.empty() || text_.front() != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }
  /// So many digits, of which `most` is the largest number.
  std::optional<int> digits(std::size_t count, int most) {
    int value = 0;
    if (text_.size() < count) return std::nullopt;
    for (const char c : text_.substr(0, count)) {
      if (std::isdigit(static_cast<unsigned char>(c)) == 0) return std::nullopt;
      value = 10 * value + (c - '0');
    }
    text_.remove_prefix(count);
    return value <= most ? std::optional{value} : std::nullopt;
  }
  /// One to six digits.
  std::optional<int> number() {
    int value = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + std::min<std::size_t>(text_.size(), 6), value);
    if (error != std::errc{} || text_.front() == '-') return std::nullopt;
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return value;
  }

 private:
  std::string_view text_;
};

std::optional<seconds> parse_duration(Front front) {
  seconds sum{0};
  bool is_empty = true;
  std::optional<int> number = front.number();
  for (const auto& [unit, length] : {std::pair{'d', 86'400}, {'h', 3'600}, {'m', 60}, {'s', 1}}) {
    if (!number || !front.take(unit)) continue;
    sum += *number * seconds{length};
    is_empty = false;
    number = front.is_end() ? std::nullopt : front.number();
  }
  if (is_empty || number || !front.is_end()) return std::nullopt;
  return sum;
}

std::optional<sys_seconds> parse_time(Front front) {
  const auto year_read = front.digits(4, 9999);
  if (!year_read || !front.take('-')) return std::nullopt;
  const auto month_read = front.digits(2, 12);
  if (!month_read || !front.take('-')) return std::nullopt;
  const auto day_read = front.digits(2, 31);
  if (!day_read || !front.take('T')) return std::nullopt;
  const auto hour = front.digits(2, 23);
  if (!hour || !front.take(':')) return std::nullopt;
  const auto minute = front.digits(2, 59);
  if (!minute) return std::nullopt;
  std::optional<int> second = 0;
  if (front.take(':')) second = front.digits(2, 59);
  const year_month_day date{year{*year_read}, month{static_cast<unsigned>(*month_read)}, day{static_cast<unsigned>(*day_read)}};
  if (!second || !date.ok()) return std::nullopt;
  minutes ahead{0};
  if (!front.take('Z')) {
    const bool is_east = front.take('+');
    if (!is_east && !front.take('-')) return std::nullopt;
    const auto hours_ahead = front.digits(2, 23);
    if (!hours_ahead || !front.take(':')) return std::nullopt;
    const auto minutes_ahead = front.digits(2, 59);
    if (!minutes_ahead) return std::nullopt;
    ahead = (is_east ? 1 : -1) * (hours{*hours_ahead} + minutes{*minutes_ahead});
  }
  if (!front.is_end()) return std::nullopt;
  return sys_days{date} + hours{*hour} + minutes{*minute} + seconds{*second} - ahead;
}

}  // namespace

Instant parse_answer_time(std::string_view text, Instant now) {
  Front front{text};
  std::optional<sys_seconds> found;
  if (front.take('+')) {
    if (const auto duration = parse_duration(front)) found = ceil<seconds>(now + *duration);
  } else {
    found = parse_time(front);
  }
  if (!found) {
    refuse_plan(
        "{} is '{}', must be a time with its offset, as 2026-11-24T06:00Z or 2026-11-24T06:00:00+01:00, or how long from now, as +90m or +1d12h",
        "answer-at"_field, one_line(text));
  }
  if (*found <= now) refuse_plan("{} is {}, must be later than now, {}", "answer-at"_field, text_of(*found), text_of(now));
  if (*found > now + days{366}) refuse_plan("{} is {}, must be within 366 days", "answer-at"_field, text_of(*found));
  return *found;
}

std::string text_of(Instant time) {
  const auto day = floor<days>(time);
  const year_month_day date{day};
  const hh_mm_ss clock{floor<seconds>(time) - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()), clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

void AnswerTime::require_room(std::uint64_t runs, milliseconds longest) const {
  const double left = duration<double>(at_ - wall_clock_now()).count();
  const double needed = static_cast<double>(runs) * duration<double>(longest).count();
  if (needed <= left) return;
  refuse_plan("{} is {}, must leave room for {} runs, of which one on made-up records took {:.3g} s: {:.3g} s, there are {:.3g} s",
              "answer-at"_field, text_of(at_), runs, duration<double>(longest).count(), needed, std::max(left, 0.0));
}

void AnswerTime::require_early() const {
  if (wall_clock_now() < at_) return;
  throw Error{
      ErrorCode::environment,
      fmt::format("the search was not done at {}, when it had to answer: nothing is published, and all that was planned stays charged",
                  text_of(at_))};
}

void AnswerTime::wait() const {
  require_early();
  wait_until(at_);
}

}  // namespace surety::jobs
