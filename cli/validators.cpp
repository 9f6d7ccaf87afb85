#include "validators.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include <surety/accounting/events/words.h>
#include <surety/accounting/numbers/error.h>

#include "options.h"

namespace surety::cli {
namespace {

template <class T>
std::errc read_all(const std::string& text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end != text.data() + text.size()) return std::errc::invalid_argument;
  return error;
}

}  // namespace

Check number() {
  return [](const std::string& text) -> std::string {
    double value = 0;
    const auto error = read_all(text, value);
    if (error == std::errc{}) return {};
    return fmt::format("is '{}', must be a number{}", one_line(text),
                       error == std::errc::result_out_of_range ? " within the range of double" : "");
  };
}

Check whole_number(std::uint64_t least, std::uint64_t most) {
  return [least, most](const std::string& text) -> std::string {
    std::uint64_t value = 0;
    if (read_all(text, value) == std::errc{} && value >= least && value <= most) return {};
    return fmt::format("is '{}', must be a whole number from {} to {}", one_line(text), least, most);
  };
}

Check one_of(std::vector<std::string> words) {
  return [words = std::move(words)](const std::string& text) -> std::string {
    if (std::find(words.begin(), words.end(), text) != words.end()) return {};
    return fmt::format("is '{}', must be {}{}", one_line(text), fmt::join(words, " or "),
                       did_you_mean(text, std::vector<std::string_view>{words.begin(), words.end()}));
  };
}

}  // namespace surety::cli
