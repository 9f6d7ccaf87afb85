// Pictures as SVG text: a curve between two bounds, and bars with their intervals. They know nothing of privacy.
//
// Nothing is cut off: the room for a text is reckoned from how wide its characters can be in the usual fonts without serifs, margins grow
// with it, and a text that would need more than its share ends in "...". Axes have ticks at round numbers and say what they measure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <surety/accounting/system/place.h>

namespace surety::cli {

/// A picture as a file.
inline constexpr accounting::FileKind picture_file{"a picture of Surety", "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\""};

/// What an axis measures, and how.
struct AxisTitle {
  std::string text;          ///< with its unit: "epsilon", "visits a year"
  bool logarithmic = false;  ///< numbers that are not greater than 0 are then not shown
};

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
/// \pre at least two points.
[[nodiscard]] std::string svg(const CurvePicture& picture);

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
[[nodiscard]] std::string svg(const BarPicture& picture);

}  // namespace surety::cli
