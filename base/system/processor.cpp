#include <surety/base/system/processor.h>

#include <fstream>

namespace surety {

std::string processor_name() {
  std::ifstream file{"/proc/cpuinfo"};
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const auto colon = line.find(": ");
    return colon == std::string::npos ? "" : line.substr(colon + 2);
  }
  return {};
}

std::string frequency_governor() {
  std::ifstream file{"/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"};
  std::string governor;
  std::getline(file, governor);
  return governor;
}

}  // namespace surety
