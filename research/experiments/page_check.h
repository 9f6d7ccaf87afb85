// The fixed part of a result page: numbers made in a second or so with replayed noise, kept beside the page as NAME.check.json, and lines
// that the page must show. Made again, they say whether the page is still what its program makes.
#pragma once

#include <filesystem>
#include <functional>
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

  [[nodiscard]] const std::vector<std::pair<std::string, double>>& numbers() const noexcept { return numbers_; }
  [[nodiscard]] const std::vector<std::string>& shown() const noexcept { return shown_; }

 private:
  std::vector<std::pair<std::string, double>> numbers_;
  std::vector<std::string> shown_;
};

/// The numbers as JSON, one a line, with digits that give back the same doubles.
[[nodiscard]] std::string to_json(const FixedPart& made);
/// Reads what `to_json` wrote; shows nothing. \throws Error{invalid_argument} when the text is something else.
[[nodiscard]] FixedPart from_json(std::string_view text);

/// A table of comma-separated values as lines of Markdown, as a page shows them.
[[nodiscard]] std::string lines_of_table(std::string_view csv);

/// What is wrong, a line each, none when nothing is: numbers that are not as kept, that are kept and were not made, that were made and are
/// not kept, and lines that `page` does not show.
[[nodiscard]] std::vector<std::string> differences(const FixedPart& kept, const FixedPart& made, std::string_view page);

/// The main program of a page.
///     PROGRAM [ARGUMENT...]     prints the page
///     PROGRAM --numbers         prints the numbers of its fixed part
///     PROGRAM --check PAGE.md   holds PAGE.check.json and PAGE.md, with the tables of values that it links, beside the fixed part made again,
///                               and says what differs
/// \return the exit code: 1 when something differs, 2 when a file cannot be read or anything throws.
int main_of_page(std::span<char* const> arguments, const std::function<int(std::span<char* const> arguments)>& print_page,
                 const std::function<void(FixedPart&)>& make_fixed_part);

}  // namespace surety::experiments
