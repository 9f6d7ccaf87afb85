// What the machine says of its processor, for reports of measurements.
#pragma once

#include <string>

namespace surety {

/// The model name in /proc/cpuinfo. Empty where that cannot be read.
[[nodiscard]] std::string processor_name();
/// The frequency governor of the first processor in /sys, "performance". Empty where that cannot be read, as in most virtual machines.
[[nodiscard]] std::string frequency_governor();

}  // namespace surety
