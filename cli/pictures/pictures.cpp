#include <surety/cli/pictures/pictures.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include <surety/accounting/numbers/error.h>
#include <surety/accounting/numbers/safe_text.h>

namespace surety::cli {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double font_size = 12;
constexpr double line_height = 16;
constexpr double edge = 12;  ///< white around everything
constexpr std::size_t most_title_lines = 4;

// ---- Texts --------------------------------------------------------------------------------------------------------------------------------

/// The length of the UTF-8 character that starts with `byte`.
std::size_t length_of_character(char byte) {
  const auto bits = static_cast<unsigned char>(byte);
  return bits < 0xc0 ? 1 : bits < 0xe0 ? 2 : bits < 0xf0 ? 3 : 4;
}

/// At least what the usual fonts without serifs need, in pixels.
double width_of(std::string_view text) {
  double width = 0;
  for (std::size_t k = 0; k < text.size(); k += length_of_character(text[k])) {
    const char c = text[k];
    if (length_of_character(c) > 1) {
      width += 1.05;
    } else if (std::string_view{"ijlI.,:;'|!()[] "}.find(c) != std::string_view::npos) {
      width += 0.42;
    } else if (std::string_view{"mwMW@%+<=>#~^&"}.find(c) != std::string_view::npos) {
      width += 1.02;
    } else {
      width += c >= 'A' && c <= 'Z' ? 0.79 : 0.66;
    }
  }
  return width * font_size;
}

/// `text` in at most `most` lines, broken at blanks where there are some, with "..." where something is left out.
std::vector<std::string> wrapped(const std::string& text, double width, std::size_t most) {
  std::string rest = one_line(text, 1000);
  std::vector<std::string> lines;
  while (!rest.empty()) {
    const bool is_last = lines.size() + 1 == most;
    const double room = width_of(rest) <= width ? width : is_last ? width - width_of("...") : width;
    std::size_t end = 0;
    std::size_t blank = 0;
    while (end < rest.size()) {
      const std::size_t next = end + length_of_character(rest[end]);
      if (width_of(rest.substr(0, next)) > room) break;
      if (rest[end] == ' ') blank = end;
      end = next;
    }
    end = std::max<std::size_t>(end, 1);
    if (end < rest.size() && is_last) {
      lines.push_back(rest.substr(0, end) + "...");
      return lines;
    }
    if (end < rest.size() && blank > 0) end = blank;
    lines.push_back(rest.substr(0, end));
    rest.erase(0, std::min(rest.find_first_not_of(' ', end), rest.size()));
  }
  return lines;
}

/// The same on one line.
std::string fitting(const std::string& text, double width) {
  const auto lines = wrapped(text, width, 1);
  return lines.empty() ? "" : lines.front();
}

/// A text of an element: no other way leads a text into a picture.
std::string in_xml(const std::string& text) {
  std::string result;
  for (const char c : one_line(text, 1000)) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  }
  // The two characters of Unicode's first 2^16 that are UTF-8 and may not be in XML.
  for (const std::string_view none : {"\xef\xbf\xbe", "\xef\xbf\xbf"}) {
    for (std::size_t at = 0; (at = result.find(none, at)) != std::string::npos;) result.replace(at, none.size(), "\xef\xbf\xbd");
  }
  return result;
}

// ---- Axes ---------------------------------------------------------------------------------------------------------------------------------

struct Tick {
  double at;  ///< on the axis: the number or its logarithm
  std::string label;
};

/// A number at a tick; `step` is the distance to the next.
std::string tick_label(double value, double step) {
  if (value == 0) return "0";
  const double magnitude = std::max(std::abs(value), step);
  if (magnitude >= 1e6 || magnitude < 1e-3) {
    const int digits = std::max(0, static_cast<int>(std::floor(std::log10(std::abs(value))) - std::floor(std::log10(step))));
    return fmt::format("{:.{}e}", value, std::min(digits, 12));
  }
  return fmt::format("{:.{}f}", value, std::clamp(static_cast<int>(-std::floor(std::log10(step))), 0, 12));
}

/// An axis from `low` to `high`, in pixels from `start` to `end`; a logarithmic one holds logarithms to the base 10.
class Axis {
 public:
  /// Around all of `values`, which are finite, and positive on a logarithmic axis.
  Axis(const std::vector<double>& values, bool logarithmic, std::size_t most_ticks) : logarithmic_{logarithmic} {
    low_ = infinity;
    high_ = -infinity;
    for (const double value : values) {
      low_ = std::min(low_, place(value));
      high_ = std::max(high_, place(value));
    }
    if (!(low_ <= high_)) low_ = high_ = 0;
    // One number alone stands in the middle.
    if (high_ - low_ <= std::max(1e-12 * std::max(std::abs(low_), std::abs(high_)), 1 / largest)) {
      const double room = logarithmic ? 0.5 : std::max(0.1 * std::abs(low_), low_ == 0 ? 1 : 1e-290);
      low_ -= room;
      high_ += room;
    }
    make_ticks(most_ticks);
  }

  void stretch(double start, double end) {
    start_ = start;
    end_ = end;
  }
  [[nodiscard]] double pixel(double value) const { return pixel_of_place(place(value)); }
  [[nodiscard]] double pixel(const Tick& tick) const { return pixel_of_place(tick.at); }
  [[nodiscard]] const std::vector<Tick>& ticks() const noexcept { return ticks_; }
  [[nodiscard]] double widest_label() const {
    double widest = 0;
    for (const auto& tick : ticks_) widest = std::max(widest, width_of(tick.label));
    return widest;
  }

 private:
  [[nodiscard]] double place(double value) const { return logarithmic_ ? std::log10(value) : std::clamp(value, -largest, largest); }
  [[nodiscard]] double pixel_of_place(double at) const {
    // Halves, so that the widest axis does not overflow.
    return start_ + (end_ - start_) * ((at / 2 - low_ / 2) / (high_ / 2 - low_ / 2));
  }

  /// At multiples of 1, 2 or 5 times a power of ten; the axis grows to the ticks around it.
  void make_ticks(std::size_t most) {
    const double span = high_ / 2 - low_ / 2;
    double step = std::max(std::pow(10, std::floor(std::log10(span)) - 1), 1 / largest);
    if (logarithmic_) step = std::max(step, 1.0);
    const auto count = [&] { return std::ceil(high_ / step) - std::floor(low_ / step) + 1; };
    for (std::size_t k = 0; count() > static_cast<double>(most); ++k) step *= k % 3 == 1 ? 2.5 : 2;
    const double first = std::floor(low_ / step);
    const double last = std::ceil(high_ / step);
    for (double k = first; k <= last; ++k) {
      const double at = k * step;
      ticks_.push_back({at, logarithmic_ ? fmt::format("1e{:.0f}", at) : tick_label(at, step)});
    }
    low_ = first * step;
    high_ = last * step;
  }

  /// Beyond it ticks would leave the doubles.
  static constexpr double largest = 1e300;

  bool logarithmic_;
  double low_;
  double high_;
  double start_ = 0;
  double end_ = 1;
  std::vector<Tick> ticks_;
};

// ---- Paper --------------------------------------------------------------------------------------------------------------------------------

struct Pen {
  const char* colour;
  double width = 1;
  const char* dashes = "none";
};
constexpr Pen black{"black"};
constexpr Pen thick{"black", 1.5};
constexpr Pen grey{"#e4e4e4"};
constexpr Pen upper_pen{"#b2182b", 1.5};
constexpr Pen lower_pen{"#2166ac", 1.5, "5 5"};  ///< drawn over the other, which is seen between the dashes

/// SVG in the making.
class Paper {
 public:
  Paper(double width, double height, const std::string& title) {
    fmt::format_to(
        std::back_inserter(text_),
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
        "font-family=\"sans-serif\" font-size=\"{2}\">\n<title>{3}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        width, height, font_size, in_xml(title));
  }

  void line(double x0, double y0, double x1, double y1, const Pen& pen) {
    fmt::format_to(std::back_inserter(text_), "<line x1=\"{:.2f}\" y1=\"{:.2f}\" x2=\"{:.2f}\" y2=\"{:.2f}\" {}/>\n", x0, y0, x1, y1,
                   strokes(pen));
  }
  void rectangle(double x, double y, double width, double height, const char* fill, const char* stroke) {
    fmt::format_to(std::back_inserter(text_),
                   "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\" stroke=\"{}\"/>\n", x, y, width, height,
                   fill, stroke);
  }
  using Corners = std::vector<std::pair<double, double>>;
  void polyline(const Corners& corners, const Pen& pen) {
    if (corners.size() > 1) path("polyline", corners, fmt::format("fill=\"none\" {}", strokes(pen)));
  }
  void polygon(const Corners& corners, const char* fill) {
    if (corners.size() > 2) path("polygon", corners, fmt::format("fill=\"{}\"", fill));
  }
  /// `anchor` is start, middle or end.
  void write(double x, double y, const char* anchor, const std::string& text) {
    fmt::format_to(std::back_inserter(text_), "<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, in_xml(text));
  }
  /// Below `y`.
  void write_lines(double x, double y, const std::vector<std::string>& lines) {
    for (const auto& line : lines) write(x, (y += line_height) - line_height + font_size, "start", line);
  }
  /// From below to above, around (x, y).
  void write_upwards(double x, double y, const std::string& text) {
    fmt::format_to(std::back_inserter(text_),
                   "<text x=\"{0:.2f}\" y=\"{1:.2f}\" text-anchor=\"middle\" transform=\"rotate(-90 {0:.2f} {1:.2f})\">{2}</text>\n", x, y,
                   in_xml(text));
  }

  [[nodiscard]] std::string finish() && {
    text_ += "</svg>\n";
    return std::move(text_);
  }

 private:
  static std::string strokes(const Pen& pen) {
    return fmt::format("stroke=\"{}\" stroke-width=\"{}\" stroke-dasharray=\"{}\"", pen.colour, pen.width, pen.dashes);
  }
  void path(const char* element, const Corners& corners, const std::string& look) {
    std::string places;
    for (const auto& corner : corners) fmt::format_to(std::back_inserter(places), "{:.2f},{:.2f} ", corner.first, corner.second);
    fmt::format_to(std::back_inserter(text_), "<{} {} points=\"{}\"/>\n", element, look, places);
  }

  std::string text_;
};

/// Ticks below the frame, each with its number where there is room, and the title of the axis below them.
void draw_across(Paper& paper, const Axis& axis, const AxisTitle& title, double top, double bottom, double left, double right) {
  double free_from = 0;
  for (const auto& tick : axis.ticks()) {
    const double x = axis.pixel(tick);
    paper.line(x, top, x, bottom, grey);
    paper.line(x, bottom, x, bottom + 5, black);
    const double half = width_of(tick.label) / 2;
    if (x - half < free_from) continue;
    free_from = x + half + 6;
    paper.write(x, bottom + 9 + font_size, "middle", tick.label);
  }
  paper.write((left + right) / 2, bottom + 9 + 2 * line_height + 4, "middle", fitting(title.text, right - left));
}

constexpr double below = 9 + 2 * line_height + 8;  ///< what `draw_across` needs

bool is_shown(double value, const AxisTitle& axis) { return std::isfinite(value) && (!axis.logarithmic || value > 0); }

/// The pieces of one end of a curve: it breaks where it is not shown.
template <class End>
std::vector<Paper::Corners> pieces(const CurvePicture& picture, const Axis& across, const Axis& up, End end) {
  std::vector<Paper::Corners> result(1);
  for (const auto& point : picture.points) {
    if (is_shown(end(point), picture.up)) {
      result.back().emplace_back(across.pixel(point.x), up.pixel(end(point)));
    } else if (!result.back().empty()) {
      result.emplace_back();
    }
  }
  return result;
}

}  // namespace

std::string svg(const CurvePicture& picture) {
  constexpr double width = 720;
  std::vector<double> xs;
  std::vector<double> ys;
  for (const auto& point : picture.points) {
    xs.push_back(point.x);
    for (const double y : {point.lower, point.upper}) {
      if (is_shown(y, picture.up)) ys.push_back(y);
    }
  }
  Axis across{xs, picture.across.logarithmic, 11};
  Axis up{ys, picture.up.logarithmic, 9};
  const double left = edge + line_height + 8 + up.widest_label() + 8;
  const double right = width - edge - across.widest_label() / 2;
  const auto title = wrapped(picture.title, width - 2 * edge, most_title_lines);
  const double top = edge + line_height * static_cast<double>(title.size() + 1) + 8;
  const double bottom = top + 330;
  const double height = bottom + below + edge;
  across.stretch(left, right);
  up.stretch(bottom, top);

  Paper paper{width, height, picture.title};
  paper.write_lines(edge, edge, title);
  draw_across(paper, across, picture.across, top, bottom, left, right);
  for (const auto& tick : up.ticks()) {
    const double y = up.pixel(tick);
    paper.line(left, y, right, y, grey);
    paper.line(left - 5, y, left, y, black);
    paper.write(left - 8, y + 4, "end", tick.label);
  }
  paper.write_upwards(edge + font_size, (top + bottom) / 2, fitting(picture.up.text, bottom - top));
  paper.rectangle(left, top, right - left, bottom - top, "none", "#888");
  const auto lower = [](const CurvePicture::Point& point) { return point.lower; };
  const auto upper = [](const CurvePicture::Point& point) { return point.upper; };
  for (const auto& piece : pieces(picture, across, up, upper)) paper.polyline(piece, upper_pen);
  for (const auto& piece : pieces(picture, across, up, lower)) paper.polyline(piece, lower_pen);
  // What the pens mean, above the frame.
  double x = left;
  for (const auto& [pen, text] : {std::pair{upper_pen, "upper bound"}, std::pair{lower_pen, "lower bound"}}) {
    paper.line(x, top - 12, x + 25, top - 12, pen);
    paper.write(x + 31, top - 8, "start", text);
    x += 31 + width_of(text) + 20;
  }
  return std::move(paper).finish();
}

namespace {

constexpr double bar_height = 22;

/// Where a panel stands, and its axis.
struct PlacedPanel {
  Axis across;
  double left;
  double right;
  double top;  ///< of the frame
  double bottom;
};

/// \param start where its title begins.
PlacedPanel placed(const BarPanel& panel, double widest_name, double width, double start) {
  std::vector<double> numbers{0};
  double names = 0;
  for (const auto& bar : panel.bars) {
    names = std::max(names, width_of(fitting(bar.name, widest_name)));
    numbers.push_back(bar.value);
    for (const double end : {bar.lower, bar.upper}) {
      if (bar.has_interval && std::isfinite(end)) numbers.push_back(end);
    }
  }
  Axis across{numbers, false, 8};
  const double left = edge + std::max(names + 8, across.widest_label() / 2);
  const double right = width - edge - across.widest_label() / 2;
  across.stretch(left, right);
  const double top = start + line_height + 4;
  return {std::move(across), left, right, top, top + bar_height * static_cast<double>(panel.bars.size()) + 8};
}

void draw_bars(Paper& paper, const BarPanel& panel, const PlacedPanel& at, double widest_name) {
  const double zero = at.across.pixel(0);
  double y = at.top + 4;
  for (const auto& bar : panel.bars) {
    const double middle = y + bar_height / 2;
    y += bar_height;
    const double end = at.across.pixel(bar.value);
    paper.rectangle(std::min(zero, end), middle - bar_height / 2 + 4, std::abs(end - zero), bar_height - 8, "#9ecae1", "none");
    paper.write(at.left - 8, middle + 4, "end", fitting(bar.name, widest_name));
    if (!bar.has_interval) continue;
    const double low = std::isfinite(bar.lower) ? at.across.pixel(bar.lower) : at.left;
    const double high = std::isfinite(bar.upper) ? at.across.pixel(bar.upper) : at.right;
    paper.line(low, middle, high, middle, thick);
    const auto draw_end = [&](double x, bool is_closed, double outward) {
      if (is_closed) {
        paper.line(x, middle - 4, x, middle + 4, thick);
      } else {
        paper.polygon({{x, middle}, {x - outward * 7, middle - 4}, {x - outward * 7, middle + 4}}, "black");
      }
    };
    draw_end(low, std::isfinite(bar.lower), -1);
    draw_end(high, std::isfinite(bar.upper), 1);
  }
  paper.line(zero, at.top, zero, at.bottom, black);
}

}  // namespace

std::string svg(const BarPicture& picture) {
  constexpr double width = 720;
  constexpr double widest_name = 220;
  std::vector<BarPanel> panels;
  std::size_t left_out = 0;
  std::size_t shown = 0;
  for (const auto& panel : picture.panels) {
    const std::size_t room = BarPicture::most_bars - shown;
    auto kept = panel;
    if (kept.bars.size() > room) {
      left_out += kept.bars.size() - room;
      kept.bars.resize(room);
    }
    shown += kept.bars.size();
    if (!kept.bars.empty() || panel.bars.empty()) panels.push_back(std::move(kept));
  }
  const std::string note = (left_out > 0 ? fmt::format("Not shown: {} more. ", left_out) : std::string{}) + picture.note;

  const auto title = wrapped(picture.title, width - 2 * edge, most_title_lines);
  const auto note_lines = wrapped(note, width - 2 * edge, most_title_lines);
  std::vector<PlacedPanel> places;
  double y = edge + line_height * static_cast<double>(title.size()) + 10;
  for (const auto& panel : panels) {
    places.push_back(placed(panel, widest_name, width, y));
    y = places.back().bottom + below + 8;
  }
  Paper paper{width, y + line_height * static_cast<double>(note_lines.size()) + edge, picture.title};
  paper.write_lines(edge, edge, title);
  for (std::size_t k = 0; k < panels.size(); ++k) {
    const auto& at = places[k];
    paper.write(edge, at.top - 8, "start", fitting(panels[k].title, width - 2 * edge));
    draw_across(paper, at.across, panels[k].across, at.top, at.bottom, at.left, at.right);
    draw_bars(paper, panels[k], at, widest_name);
    paper.rectangle(at.left, at.top, at.right - at.left, at.bottom - at.top, "none", "#888");
  }
  paper.write_lines(edge, y, note_lines);
  return std::move(paper).finish();
}

}  // namespace surety::cli
