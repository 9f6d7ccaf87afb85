// What pictures have in common.
#pragma once

#include <string>

#include <surety/base/system/place.h>

namespace surety::jobs {

/// A picture as a file.
inline constexpr FileKind picture_file{"a picture of Surety", "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\""};

/// What an axis measures, and how.
struct AxisTitle {
  std::string text;          ///< with its unit: "epsilon", "visits a year"
  bool logarithmic = false;  ///< numbers that are not greater than 0 are then not shown
};

}  // namespace surety::jobs
