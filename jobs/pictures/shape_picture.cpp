#include <surety/jobs/pictures/shape_picture.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include <surety/jobs/pictures/svg.h>

namespace surety::jobs {
namespace {

using namespace drawing;

constexpr double width = 720;
constexpr double panel_height = 130;
constexpr std::array<const char*, ShapePicture::most_curves> colours{"#2166ac", "#b2182b", "#1b7837", "#762a83",
                                                                     "#b35806", "#01665e", "#4d4d4d", "#c51b7d"};

/// What the colours mean, on as many lines as they need; returns where they end.
double write_names(Paper& paper, const std::vector<std::string>& names, double y) {
  double x = edge;
  for (std::size_t k = 0; k < names.size(); ++k) {
    const auto text = fitting(names[k], width / 3);
    const double needs = 31 + width_of(text) + 20;
    if (x > edge && x + needs > width - edge) {
      x = edge;
      y += line_height;
    }
    paper.line(x, y - 4, x + 25, y - 4, {colours.at(k), 1.5});
    paper.write(x + 31, y, "start", text);
    x += needs;
  }
  return y + line_height;
}

/// Forth above the curve, and back below it.
void draw_band(Paper& paper, const ShapePicture::Panel& panel, const Axis& across, const Axis& up) {
  Paper::Corners corners;
  for (std::size_t j = 0; j < panel.half_widths.size(); ++j) {
    corners.emplace_back(across.pixel(panel.at[j]), up.pixel(panel.curves.front()[j] + panel.half_widths[j]));
  }
  for (std::size_t j = panel.half_widths.size(); j-- > 0;) {
    corners.emplace_back(across.pixel(panel.at[j]), up.pixel(panel.curves.front()[j] - panel.half_widths[j]));
  }
  paper.polygon(corners, colours.front(), 0.25);
}

}  // namespace

std::string svg(const ShapePicture& picture) {
  std::vector<double> all{0};
  const std::size_t panels = std::min(picture.panels.size(), ShapePicture::most_panels);
  const std::size_t curves = std::min(picture.curves.size(), ShapePicture::most_curves);
  const std::vector<std::string> names(picture.curves.begin(), picture.curves.begin() + static_cast<std::ptrdiff_t>(curves));
  for (std::size_t k = 0; k < panels; ++k) {
    const auto& own = picture.panels[k];
    for (const auto& curve : own.curves) all.insert(all.end(), curve.begin(), curve.end());
    for (std::size_t j = 0; j < own.half_widths.size(); ++j) {
      all.push_back(own.curves.front()[j] - own.half_widths[j]);
      all.push_back(own.curves.front()[j] + own.half_widths[j]);
    }
  }
  std::vector<std::string> note_lines;
  if (panels < picture.panels.size()) note_lines.push_back(fmt::format("Not shown: {} more columns", picture.panels.size() - panels));
  if (curves < picture.curves.size()) note_lines.push_back(fmt::format("Not shown: {} more classes", picture.curves.size() - curves));
  for (auto& line : wrapped(picture.note, width - 2 * edge, most_title_lines)) note_lines.push_back(std::move(line));
  Axis up{all, false, 5};
  const auto title = wrapped(picture.title, width - 2 * edge, most_title_lines);
  const double left = edge + up.widest_label() + 8;
  const double start = edge + line_height * static_cast<double>(title.size()) + line_height;
  // Names take no more lines than there are names.
  const double panels_start = start + line_height * static_cast<double>(names.size()) + 8;
  const double panel = line_height + 4 + panel_height + below + 8;
  const double notes = panels_start + panel * static_cast<double>(panels);
  Paper paper{width, notes + line_height * static_cast<double>(note_lines.size()) + edge, picture.title};
  paper.write_lines(edge, edge, title);
  write_names(paper, names, start + font_size);
  for (std::size_t k = 0; k < panels; ++k) {
    const auto& own = picture.panels[k];
    const double top = panels_start + panel * static_cast<double>(k) + line_height + 4;
    const double bottom = top + panel_height;
    Axis across{own.at, false, 9};
    const double right = width - edge - across.widest_label() / 2;
    across.stretch(left, right);
    up.stretch(bottom, top);
    paper.write(edge, top - 8, "start", fitting(own.title, width - 2 * edge));
    draw_across(paper, across, {.text = ""}, top, bottom, left, right);
    for (const auto& tick : up.ticks()) {
      const double y = up.pixel(tick);
      paper.line(left, y, right, y, grey);
      paper.line(left - 5, y, left, y, black);
      paper.write(left - 8, y + 4, "end", tick.label);
    }
    paper.rectangle(left, top, right - left, bottom - top, "none", "#888");
    draw_band(paper, own, across, up);
    for (std::size_t c = 0; c < own.curves.size() && c < ShapePicture::most_curves; ++c) {
      Paper::Corners corners;
      for (std::size_t j = 0; j < own.at.size(); ++j) corners.emplace_back(across.pixel(own.at[j]), up.pixel(own.curves[c][j]));
      paper.polyline(corners, {colours.at(c), 1.5});
    }
  }
  paper.write_lines(edge, notes, note_lines);
  return std::move(paper).finish();
}

}  // namespace surety::jobs
