// A page of text, tables and pictures, before it is HTML or Markdown.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <surety/jobs/pictures/bar_picture.h>
#include <surety/jobs/pictures/curve_picture.h>

namespace surety::jobs {

/// A piece of text. Both kinds are escaped; a foreign one is also set apart from the words of the page.
struct Piece {
  std::string text;
  bool is_foreign = false;  ///< from a ledger: a note, a column, a time, an event
};

/// One line of text, of several pieces.
class Line {
 public:
  Line() = default;
  Line(const char* own) : pieces_{{own}} {}             // NOLINT(google-explicit-constructor): a line is written where a text is
  Line(std::string own) : pieces_{{std::move(own)}} {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] static Line foreign(std::string text);

  Line& operator+=(const Line& other);
  friend Line operator+(Line a, const Line& b) { return std::move(a += b); }
  [[nodiscard]] const std::vector<Piece>& pieces() const noexcept { return pieces_; }

 private:
  std::vector<Piece> pieces_;
};

struct Heading {
  Line text;
};
/// A result that stands out.
struct Verdict {
  Line text;
  bool is_good = false;
};
struct Paragraph {
  Line text;
};
struct BulletList {
  std::vector<Line> items;
};
/// Every row has as many cells as the head.
struct Table {
  std::vector<Line> head;
  std::vector<std::vector<Line>> rows;
};
/// A picture, and the table of its numbers for a form without pictures.
struct Figure {
  std::variant<CurvePicture, BarPicture> picture;
  Table numbers;
};
using Block = std::variant<Heading, Verdict, Paragraph, BulletList, Table, Figure>;

struct Document {
  std::string title;
  std::vector<Block> blocks;
};

}  // namespace surety::jobs
