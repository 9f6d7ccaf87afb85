// A curve between two bounds as SVG text.
//
// Nothing is cut off: the room for a text is reckoned from how wide its characters can be in the usual fonts without serifs, margins grow
// with it, and a text that would need more than its share ends in "...". Axes have ticks at round numbers and say what they measure.
#pragma once

#include <string>
#include <vector>

#include <surety/jobs/pictures/picture.h>

namespace surety::jobs {

/// A curve that is known to lie between two others.
struct CurvePicture {
  struct Point {
    double x;
    double lower;
    double upper;
  };
  std::string title;
  AxisTitle across;
  AxisTitle up;
  std::vector<Point> points;  ///< by ascending x; an end that is infinite is not shown
};

/// One SVG document. Texts may be of anybody: they are escaped, on one line each. \pre at least two points. \complexity linear in the points
[[nodiscard]] std::string svg(const CurvePicture& picture);

}  // namespace surety::jobs
