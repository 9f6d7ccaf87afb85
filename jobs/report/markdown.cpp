#include <surety/jobs/report/markdown.h>

#include <cstddef>

#include <surety/base/numbers/overload.h>
#include <surety/base/text/characters.h>
#include <surety/base/text/escaped_text.h>
#include <surety/base/text/safe_text.h>

namespace surety::jobs {
namespace {

std::string text_of(const Line& line) {
  std::string text;
  for (const auto& piece : line.pieces()) text += piece.is_foreign ? markdown_code(piece.text) : markdown_text(piece.text);
  return text;
}

std::string row_of(const std::vector<Line>& cells) {
  std::string row = "|";
  for (const auto& cell : cells) row += " " + text_of(cell) + " |";
  return row + "\n";
}

std::string text_of(const Table& table) {
  std::string text = row_of(table.head) + "|";
  for (std::size_t k = 0; k < table.head.size(); ++k) text += " --- |";
  text += "\n";
  for (const auto& row : table.rows) text += row_of(row);
  return text;
}

std::string text_of(const Block& block) {
  return std::visit(
      Overload{[](const Heading& heading) { return "## " + text_of(heading.text) + "\n"; },
               [](const Verdict& verdict) { return "**" + text_of(verdict.text) + "**\n"; },
               [](const Paragraph& paragraph) { return text_of(paragraph.text) + "\n"; },
               [](const BulletList& list) {
                 std::string items;
                 for (const auto& item : list.items) items += "* " + text_of(item) + "\n";
                 return items;
               },
               [](const Table& table) { return text_of(table); }, [](const Figure& figure) { return text_of(figure.numbers); }},
      block);
}

}  // namespace

std::string markdown_text(std::string_view text) {
  std::string result;
  for (const char c : one_line(text, std::string_view::npos)) {
    if (std::string_view{"\\`*_[]<>|&~$#!"}.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

std::string markdown_code(std::string_view text, std::size_t most) {
  if (text.empty()) return "(empty)";
  bool is_cut = false;
  if (text.size() > most) {
    is_cut = true;
    // At the end of a character.
    std::size_t end = 0;
    while (true) {
      const auto length = std::max<std::size_t>(first_of(text.substr(end)).length, 1);
      if (end + length > most) break;
      end += length;
    }
    text = text.substr(0, end);
  }
  std::string result = "`";
  for (const char c : escaped(text)) {
    if (c == '`') {
      result += "\\x60";
    } else if (c == '|') {
      result += "\\x7c";
    } else {
      result += c;
    }
  }
  return result + (is_cut ? "...`" : "`");
}

std::string markdown(const Document& document) {
  std::string text = "# " + markdown_text(document.title) + "\n";
  for (const auto& block : document.blocks) text += "\n" + text_of(block);
  return text;
}

}  // namespace surety::jobs
