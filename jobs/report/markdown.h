// A document as one Markdown file.
#pragma once

#include <string>
#include <string_view>

#include <surety/base/system/place.h>
#include <surety/jobs/report/document.h>

namespace surety::jobs {

/// A report as a file.
inline constexpr FileKind markdown_report_file{"a report of Surety in Markdown", "# Privacy report of a ledger\n\nMade by Surety"};

/// Words in a paragraph, a list or a cell of a table, of CommonMark and of GitHub's dialect: each ASCII punctuation with a meaning has a backslash before it.
/// \pre they hold no address of the web and no e-mail address, which GitHub's dialect makes links of
[[nodiscard]] std::string markdown_text(std::string_view text);

/// A text of anybody as a code span, in which nothing has a meaning: `escaped`, with a backtick and a vertical bar as \x60 and \x7c, so no two texts
/// look the same. An empty text is "(empty)". \param most bytes of the text, before "..."
[[nodiscard]] std::string markdown_code(std::string_view text, std::size_t most = 1000);

/// A complete Markdown file in UTF-8, with tables of numbers in the place of pictures. It has no link and no HTML.
/// \complexity linear in the document
[[nodiscard]] std::string markdown(const Document& document);

}  // namespace surety::jobs
