// A document as one HTML file.
#pragma once

#include <string>
#include <string_view>

#include <surety/base/system/place.h>
#include <surety/jobs/report/document.h>

namespace surety::jobs {

/// A report as a file.
inline constexpr FileKind html_report_file{"a report of Surety in HTML", "<!DOCTYPE html>\n<!-- A report of Surety -->\n"};

/// The text of an element, or of an attribute in double quotes: & < > " and ' are entities, and it is on one line without what turns the direction of
/// writing, as `one_line` has it. \param most bytes of `text`, before "..."
[[nodiscard]] std::string html_text(std::string_view text, std::size_t most = 1000);

/// A complete HTML file in UTF-8, with its pictures as inline SVG. It has no script, no link and no external resource, and its content security policy
/// allows no request. Every text of the document is escaped; no text of the document stands in an attribute.
/// \complexity linear in the document
[[nodiscard]] std::string html(const Document& document);

}  // namespace surety::jobs
