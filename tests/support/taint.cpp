#include <support/taint.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace surety::optimizers {

bool same_bits(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<std::uint64_t>(a[i]) != std::bit_cast<std::uint64_t>(b[i])) return false;
  }
  return true;
}

double query_distance(const GridVector& a, const GridVector& b) {
  long double sum = 0;
  for (std::size_t j = 0; j < a.steps.size(); ++j) {
    const auto difference = static_cast<long double>(a.steps[j]) - static_cast<long double>(b.steps[j]);
    sum += difference * difference;
  }
  return static_cast<double>(std::sqrt(sum)) * a.grid.step();
}

double range_of_changes(std::span<const double> a, std::span<const double> b) {
  double least = std::numeric_limits<double>::infinity();
  double largest = -least;
  for (std::size_t i = 0; i < a.size(); ++i) {
    least = std::min(least, a[i] - b[i]);
    largest = std::max(largest, a[i] - b[i]);
  }
  return largest - least;
}

}  // namespace surety::optimizers
