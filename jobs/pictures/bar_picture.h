// Numbers with their intervals as bars, as SVG text.
//
// Nothing is cut off: the room for a text is reckoned from how wide its characters can be in the usual fonts without serifs, margins grow
// with it, and a text that would need more than its share ends in "...". Axes have ticks at round numbers and say what they measure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <surety/jobs/pictures/picture.h>

namespace surety::jobs {

/// Numbers with intervals on one axis, each a bar from 0.
struct BarPanel {
  struct Bar {
    std::string name;
    double value;  ///< finite
    double lower;  ///< infinite: an arrow
    double upper;
    bool has_interval = true;
  };
  std::string title;
  AxisTitle across;  ///< linear
  std::vector<Bar> bars;
};

/// Panels one below the other.
struct BarPicture {
  std::string title;
  std::vector<BarPanel> panels;
  std::string note;  ///< below: what the intervals mean

  /// A picture shows so many bars and says how many more there are.
  static constexpr std::size_t most_bars = 500;
};

/// One SVG document. Texts may be of anybody: they are escaped, on one line each. \complexity linear in the bars, of which `most_bars` are drawn
[[nodiscard]] std::string svg(const BarPicture& picture);

}  // namespace surety::jobs
