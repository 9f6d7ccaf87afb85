#include <surety/jobs/report/html.h>

#include <cstddef>

#include <surety/base/numbers/overload.h>
#include <surety/base/text/safe_text.h>

namespace surety::jobs {
namespace {

/// Text that is written as it is: a literal of this file, which the compiler checks.
class Markup {
 public:
  template <std::size_t n>
  consteval Markup(const char (&literal)[n]) : text_{literal, n - 1} {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

/// HTML in the making: what is no literal is escaped.
class Writer {
 public:
  Writer& markup(Markup markup) {
    text_ += markup.text();
    return *this;
  }
  Writer& text(const std::string& text) {
    text_ += html_text(text);
    return *this;
  }
  Writer& line(const Line& line) {
    for (const auto& piece : line.pieces()) {
      if (piece.is_foreign) {
        markup("<bdi>").text(piece.text).markup("</bdi>");
      } else {
        text(piece.text);
      }
    }
    return *this;
  }
  /// `Paper` escapes the texts of a picture.
  void picture(const std::variant<CurvePicture, BarPicture>& picture) {
    text_ += std::visit([](const auto& one) { return svg(one); }, picture);
  }
  [[nodiscard]] std::string finish() && { return std::move(text_); }

 private:
  std::string text_;
};

void write(Writer& to, const Table& table) {
  to.markup("<table>\n<tr>");
  for (const auto& cell : table.head) to.markup("<th>").line(cell).markup("</th>");
  to.markup("</tr>\n");
  for (const auto& row : table.rows) {
    to.markup("<tr>");
    for (const auto& cell : row) to.markup("<td>").line(cell).markup("</td>");
    to.markup("</tr>\n");
  }
  to.markup("</table>\n");
}

void write(Writer& to, const Block& block) {
  std::visit(Overload{[&](const Heading& heading) { to.markup("<h2>").line(heading.text).markup("</h2>\n"); },
                      [&](const Verdict& verdict) {
                        verdict.is_good ? to.markup("<p class=\"good\">") : to.markup("<p class=\"bad\">");
                        to.line(verdict.text).markup("</p>\n");
                      },
                      [&](const Paragraph& paragraph) { to.markup("<p>").line(paragraph.text).markup("</p>\n"); },
                      [&](const BulletList& list) {
                        to.markup("<ul>\n");
                        for (const auto& item : list.items) to.markup("<li>").line(item).markup("</li>\n");
                        to.markup("</ul>\n");
                      },
                      [&](const Table& table) { write(to, table); },
                      [&](const Figure& figure) {
                        to.markup("<figure>\n").picture(figure.picture);
                        to.markup("</figure>\n");
                      }},
             block);
}

}  // namespace

std::string html_text(std::string_view text, std::size_t most) {
  std::string result;
  for (const char c : one_line(text, most)) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&#39;"; break;
      default: result += c;
    }
  }
  return result;
}

std::string html(const Document& document) {
  static_assert(html_report_file.beginning == "<!DOCTYPE html>\n<!-- A report of Surety -->\n");
  Writer to;
  to.markup("<!DOCTYPE html>\n<!-- A report of Surety -->\n")
      .markup("<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
      .markup("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n")
      .markup("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>")
      .text(document.title)
      .markup("</title>\n<style>\n")
      .markup("body { font-family: sans-serif; line-height: 1.45; max-width: 56em; margin: 2em auto; padding: 0 1em; color: #111; }\n")
      .markup("h2 { margin-top: 1.8em; border-bottom: 1px solid #ccc; }\n")
      .markup("table { border-collapse: collapse; margin: 1em 0; }\n")
      .markup("th, td { border: 1px solid #bbb; padding: 0.3em 0.6em; text-align: left; vertical-align: top; overflow-wrap: anywhere; }\n")
      .markup("th { background: #f2f2f2; }\n")
      .markup("bdi { font-family: monospace; background: #f6f6f6; }\n")
      .markup("figure { margin: 1em 0; overflow-x: auto; }\n")
      .markup(".good, .bad { padding: 0.7em 1em; border-left: 0.5em solid; font-weight: bold; }\n")
      .markup(".good { border-color: #1b7837; background: #e8f4ea; }\n")
      .markup(".bad { border-color: #b2182b; background: #fbe9e7; }\n")
      .markup("</style>\n</head>\n<body>\n<h1>")
      .text(document.title)
      .markup("</h1>\n");
  for (const auto& block : document.blocks) write(to, block);
  to.markup("</body>\n</html>\n");
  return std::move(to).finish();
}

}  // namespace surety::jobs
