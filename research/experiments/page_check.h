// The fixed part of a result page: numbers that a program makes in a second or so with replayed noise, and lines that the page must show.
// NAME.check.json stores the numbers, and hashes of the page and of the CSV files that it links: a page that was changed by hand differs
// from its hash, and a page that its program no longer makes differs from the numbers or the lines.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace surety::experiments {

/// How far a number may be from the kept one, relative to the larger. The noise is replayed exactly and no operation is fused, so on one
/// machine nothing moves; another mathematical library (or one that picks other instructions for another processor) may move the last digits
/// of a logarithm, and cancellation makes those the tenth digits of a gap.
inline constexpr double tolerance = 1e-6;

class FixedPart {
 public:
  /// \throws Error{invalid_argument} when the name was used before or the value is not a number; infinity is one.
  void add(std::string name, double value);
  /// A piece of text that the page must contain as it stands.
  void show(std::string text);
  /// A file of the page, and the SHA-256 of its text without times, in hexadecimal digits.
  void add_file(std::string name, std::string hash);

  [[nodiscard]] const std::vector<std::pair<std::string, double>>& numbers() const noexcept { return numbers_; }
  [[nodiscard]] const std::vector<std::string>& shown() const noexcept { return shown_; }
  [[nodiscard]] const std::map<std::string, std::string>& files() const noexcept { return files_; }

 private:
  std::vector<std::pair<std::string, double>> numbers_;
  std::vector<std::string> shown_;
  std::map<std::string, std::string> files_;
};

/// Adds the page and each CSV file that it links.
/// \throws Error{environment} when one of these files cannot be read.
void add_files(FixedPart& part, const std::filesystem::path& page);

/// The text of a page (separator '|') or of a CSV file (separator ',') without the cells of its columns of times. A column holds times
/// where its header has the word "ms" or "seconds": these cells alone differ from run to run, so no hash covers them.
[[nodiscard]] std::string without_times(std::string_view text, char separator);

/// The numbers and the hashes as JSON, one a line, with digits that give back the same doubles.
[[nodiscard]] std::string to_json(const FixedPart& made);
/// Reads what `to_json` wrote; shows nothing. \throws Error{invalid_argument} when the text is something else.
[[nodiscard]] FixedPart from_json(std::string_view text);

/// A table of comma-separated values as lines of Markdown, as a page shows them.
[[nodiscard]] std::string lines_of_table(std::string_view csv);

/// What is wrong, a line each, none when nothing is: numbers and files that are not as kept, that are kept and were not made, that were made
/// and are not kept, and lines that `page` does not show.
[[nodiscard]] std::vector<std::string> differences(const FixedPart& kept, const FixedPart& made, std::string_view page);

/// The main program of a page.
///     PROGRAM [ARGUMENT...]     prints the page
///     PROGRAM --numbers PAGE.md prints the numbers of its fixed part and the hashes of the files of PAGE.md: PAGE.check.json
///     PROGRAM --check PAGE.md   compares PAGE.check.json with the fixed part made again and with the files of PAGE.md, and prints what differs
/// \return the exit code: 1 when something differs, 2 when a file cannot be read or anything throws.
int main_of_page(std::span<char* const> arguments, const std::function<int(std::span<char* const> arguments)>& print_page,
                 const std::function<void(FixedPart&)>& make_fixed_part);

}  // namespace surety::experiments
