#include <surety/cli/print/terminal.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace surety::cli {
namespace {

/// Empty where there is none.
std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing sets it
  return value == nullptr ? std::string_view{} : std::string_view{value};
}

}  // namespace

std::size_t columns_of_output() {
  constexpr std::size_t least = 50;
  constexpr std::size_t most = 120;
  constexpr std::size_t usual = 80;
  const auto said = variable("COLUMNS");
  std::size_t columns = 0;
  const auto [end, error] = std::from_chars(said.data(), said.data() + said.size(), columns);
  if (error != std::errc{} || end != said.data() + said.size()) columns = 0;
  winsize size{};
  if (columns == 0 && ::isatty(STDOUT_FILENO) != 0 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  return columns == 0 ? usual : std::clamp(columns, least, most);
}

bool has_colour(int descriptor) { return ::isatty(descriptor) != 0 && variable("NO_COLOR").empty() && variable("TERM") != "dumb"; }

}  // namespace surety::cli
