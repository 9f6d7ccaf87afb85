// The help of a command, from its tables.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <surety/cli/parser/options.h>

namespace surety::cli {

/// How a help is laid out.
struct HelpForm {
  std::size_t width = 80;  ///< columns of a line, but for examples
  bool is_short = false;   ///< as for -h: one line for each option that everyone needs
};

/// `text` in lines of at most `width` columns, of which the first begins after `begin` and the others after `left` blanks. Ends with a line end.
[[nodiscard]] std::string wrapped(std::string begin, std::string_view text, std::size_t left, std::size_t width);

/// \param path the words that call it: "surety ledger create"
[[nodiscard]] std::string help_of(const Command& command, const std::string& path, const HelpForm& form);

/// Whether `line` of a help is a heading, such as "Output:".
[[nodiscard]] bool is_heading(std::string_view line);

/// The notes of a footer on one line, and the examples behind them as they are.
struct Footer {
  std::string notes;
  std::string examples;
};
[[nodiscard]] Footer footer_of(const Command& command);

}  // namespace surety::cli
