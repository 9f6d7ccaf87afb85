// What pictures are drawn with: texts that fit, axes with ticks at round numbers, and SVG in the making. It knows nothing of what is drawn.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <surety/jobs/pictures/picture.h>

namespace surety::jobs::drawing {

// All lengths are in pixels.
inline constexpr double font_size = 12;
inline constexpr double line_height = 16;
inline constexpr double edge = 12;  ///< white around everything
inline constexpr std::size_t most_title_lines = 4;

/// At least what the usual fonts without serifs need.
[[nodiscard]] double width_of(std::string_view text);
/// `text` in at most `most` lines, broken at blanks where there are some, with "..." where something is left out.
[[nodiscard]] std::vector<std::string> wrapped(const std::string& text, double width, std::size_t most);
/// The same on one line.
[[nodiscard]] std::string fitting(const std::string& text, double width);

struct Tick {
  double at;  ///< on the axis: the number or its logarithm
  std::string label;
};

/// An axis from `low` to `high`, in pixels from `start` to `end`; a logarithmic one holds logarithms to the base 10.
class Axis {
 public:
  /// Around all of `values`, which are finite, and positive on a logarithmic axis.
  Axis(const std::vector<double>& values, bool logarithmic, std::size_t most_ticks);

  void stretch(double start, double end) {
    start_ = start;
    end_ = end;
  }
  [[nodiscard]] double pixel(double value) const { return pixel_of_place(place(value)); }
  [[nodiscard]] double pixel(const Tick& tick) const { return pixel_of_place(tick.at); }
  [[nodiscard]] const std::vector<Tick>& ticks() const noexcept { return ticks_; }
  [[nodiscard]] double widest_label() const;

 private:
  [[nodiscard]] double place(double value) const;
  [[nodiscard]] double pixel_of_place(double at) const;
  void make_ticks(std::size_t most);

  bool logarithmic_;
  double low_;
  double high_;
  double start_ = 0;
  double end_ = 1;
  std::vector<Tick> ticks_;
};

struct Pen {
  const char* colour;
  double width = 1;
  const char* dashes = "none";
};
inline constexpr Pen black{"black"};
inline constexpr Pen thick{"black", 1.5};
inline constexpr Pen grey{"#e4e4e4"};

/// SVG in the making. Every text that is written is escaped, on one line.
class Paper {
 public:
  using Corners = std::vector<std::pair<double, double>>;

  Paper(double width, double height, const std::string& title);

  void line(double x0, double y0, double x1, double y1, const Pen& pen);
  void rectangle(double x, double y, double width, double height, const char* fill, const char* stroke);
  /// Nothing of a single corner.
  void polyline(const Corners& corners, const Pen& pen);
  /// Nothing of one or two.
  void polygon(const Corners& corners, const char* fill, double opacity = 1);
  /// `anchor` is start, middle or end.
  void write(double x, double y, const char* anchor, const std::string& text);
  /// Below `y`.
  void write_lines(double x, double y, const std::vector<std::string>& lines);
  /// From below to above, around (x, y).
  void write_upwards(double x, double y, const std::string& text);

  [[nodiscard]] std::string finish() &&;

 private:
  void path(const char* element, const Corners& corners, const std::string& look);

  std::string text_;
};

/// Ticks below the frame, each with its number where there is room, and the title of the axis below them.
void draw_across(Paper& paper, const Axis& axis, const AxisTitle& title, double top, double bottom, double left, double right);
inline constexpr double below = 9 + 2 * line_height + 8;  ///< what `draw_across` needs

}  // namespace surety::jobs::drawing
