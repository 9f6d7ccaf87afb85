// Directions drawn for instances, the same on every machine that has the same library.
#pragma once

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

namespace surety::experiments {

/// Uniform on the unit sphere of `dimension` coordinates. \param normal kept between calls, for it draws two numbers at a time
[[nodiscard]] inline std::vector<double> point_of_sphere(std::mt19937_64& words, std::normal_distribution<double>& normal,
                                                         std::size_t dimension) {
  std::vector<double> point(dimension);
  double squares = 0;
  for (double& x : point) {
    x = normal(words);
    squares += x * x;
  }
  for (double& x : point) x /= std::sqrt(squares);
  return point;
}

}  // namespace surety::experiments
