// Numbers on paper, rounded in the direction that keeps them true.
#pragma once

#include <string>

#include <surety/base/numbers/enclosure.h>

namespace surety {

/// `value` to `digits` significant digits, rounded down or up, so that an enclosure stays one on paper.
[[nodiscard]] std::string rounded_down(double value, int digits = 10);
[[nodiscard]] std::string rounded_up(double value, int digits = 10);
/// "[0.1234, 0.1235]", rounded outward.
[[nodiscard]] std::string text(const Enclosure& enclosure);

}  // namespace surety
