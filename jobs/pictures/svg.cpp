#include <surety/jobs/pictures/svg.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <surety/base/text/safe_text.h>

namespace surety::jobs::drawing {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The length of the UTF-8 character that starts with `byte`.
std::size_t length_of_character(char byte) {
  const auto bits = static_cast<unsigned char>(byte);
  return bits < 0xc0 ? 1 : bits < 0xe0 ? 2 : bits < 0xf0 ? 3 : 4;
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

/// Beyond it ticks would leave the doubles.
constexpr double largest = 1e300;

std::string strokes(const Pen& pen) {
  return fmt::format("stroke=\"{}\" stroke-width=\"{}\" stroke-dasharray=\"{}\"", pen.colour, pen.width, pen.dashes);
}

}  // namespace

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

std::string fitting(const std::string& text, double width) {
  const auto lines = wrapped(text, width, 1);
  return lines.empty() ? "" : lines.front();
}

Axis::Axis(const std::vector<double>& values, bool logarithmic, std::size_t most_ticks) : logarithmic_{logarithmic} {
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

double Axis::widest_label() const {
  double widest = 0;
  for (const auto& tick : ticks_) widest = std::max(widest, width_of(tick.label));
  return widest;
}

double Axis::place(double value) const { return logarithmic_ ? std::log10(value) : std::clamp(value, -largest, largest); }

double Axis::pixel_of_place(double at) const {
  // Halves, so that the widest axis does not overflow.
  return start_ + (end_ - start_) * ((at / 2 - low_ / 2) / (high_ / 2 - low_ / 2));
}

/// At multiples of 1, 2 or 5 times a power of ten; the axis grows to the ticks around it.
void Axis::make_ticks(std::size_t most) {
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

Paper::Paper(double width, double height, const std::string& title) {
  fmt::format_to(
      std::back_inserter(text_),
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"{2}\">\n<title>{3}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      width, height, font_size, in_xml(title));
}

void Paper::line(double x0, double y0, double x1, double y1, const Pen& pen) {
  fmt::format_to(std::back_inserter(text_), "<line x1=\"{:.2f}\" y1=\"{:.2f}\" x2=\"{:.2f}\" y2=\"{:.2f}\" {}/>\n", x0, y0, x1, y1,
                 strokes(pen));
}

void Paper::rectangle(double x, double y, double width, double height, const char* fill, const char* stroke) {
  fmt::format_to(std::back_inserter(text_),
                 "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\" stroke=\"{}\"/>\n", x, y, width, height,
                 fill, stroke);
}

void Paper::polyline(const Corners& corners, const Pen& pen) {
  if (corners.size() > 1) path("polyline", corners, fmt::format("fill=\"none\" {}", strokes(pen)));
}

void Paper::polygon(const Corners& corners, const char* fill, double opacity) {
  const auto seen_through = opacity < 1 ? fmt::format(" fill-opacity=\"{}\"", opacity) : std::string{};
  if (corners.size() > 2) path("polygon", corners, fmt::format("fill=\"{}\"{}", fill, seen_through));
}

void Paper::write(double x, double y, const char* anchor, const std::string& text) {
  fmt::format_to(std::back_inserter(text_), "<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, in_xml(text));
}

void Paper::write_lines(double x, double y, const std::vector<std::string>& lines) {
  for (const auto& line : lines) write(x, (y += line_height) - line_height + font_size, "start", line);
}

void Paper::write_upwards(double x, double y, const std::string& text) {
  fmt::format_to(std::back_inserter(text_),
                 "<text x=\"{0:.2f}\" y=\"{1:.2f}\" text-anchor=\"middle\" transform=\"rotate(-90 {0:.2f} {1:.2f})\">{2}</text>\n", x, y,
                 in_xml(text));
}

std::string Paper::finish() && {
  text_ += "</svg>\n";
  return std::move(text_);
}

void Paper::path(const char* element, const Corners& corners, const std::string& look) {
  std::string places;
  for (const auto& corner : corners) fmt::format_to(std::back_inserter(places), "{:.2f},{:.2f} ", corner.first, corner.second);
  fmt::format_to(std::back_inserter(text_), "<{} {} points=\"{}\"/>\n", element, look, places);
}

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

}  // namespace surety::jobs::drawing
