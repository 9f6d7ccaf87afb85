#include <surety/jobs/pictures/bar_picture.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <surety/jobs/pictures/svg.h>

namespace surety::jobs {
namespace {

using namespace drawing;

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

}  // namespace surety::jobs
