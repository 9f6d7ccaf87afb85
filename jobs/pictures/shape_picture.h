// Curves of several columns, one below the other, as SVG text.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <surety/jobs/pictures/picture.h>

namespace surety::jobs {

/// What each of some columns adds to a score.
struct ShapePicture {
  static constexpr std::size_t most_panels = 40;  ///< that are shown
  static constexpr std::size_t most_curves = 8;

  struct Panel {
    std::string title;
    std::vector<double> at;                   ///< ascending, at least two
    std::vector<std::vector<double>> curves;  ///< a value at each of them; all panels have as many
    std::vector<double> half_widths = {};     ///< of a band around the only curve, at each of them; none where there is no band
  };
  std::string title;
  std::vector<std::string> curves;  ///< what they are of, where they are several
  std::vector<Panel> panels;
  std::string note;  ///< below
};

/// One SVG document, whose panels have one scale up. Texts may be of anybody: they are escaped, on one line each. \pre all numbers are finite
/// \complexity linear in the numbers
[[nodiscard]] std::string svg(const ShapePicture& picture);

}  // namespace surety::jobs
