#include <surety/jobs/pictures/curve_picture.h>

#include <cmath>
#include <utility>

#include <surety/jobs/pictures/svg.h>

namespace surety::jobs {
namespace {

using namespace drawing;

constexpr Pen upper_pen{"#b2182b", 1.5};
constexpr Pen lower_pen{"#2166ac", 1.5, "5 5"};  ///< drawn over the other, which is seen between the dashes

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

}  // namespace surety::jobs
