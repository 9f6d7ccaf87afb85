// Which vector of noise is drawn: a magnitude for each coordinate, a radius, and whether the norm is divided by.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace surety::mechanisms {

/// Coordinate j is sign_j x scale x radius x magnitude_j, divided by the norm of all magnitudes where the vector is a radius times a direction.
struct VectorLaw {
  enum class Shape {
    exponential,
    normal,
    uniform,
    power,  ///< density proportional to exp(-g^r), divided by the norm in l_r
  };
  enum class Radial {
    none,                ///< 1
    gamma,               ///< a sum of `radial_count` exponentials
    root_of_chi_square,  ///< of `radial_count` degrees of freedom
    sphere,              ///< 1, divided by the norm in l2
    ball,                ///< exp(-E / dimension), divided by the norm in l2
  };

  Shape shape;
  double r;  ///< of `power`, and 2 otherwise
  Radial radial;
  std::uint64_t radial_count;
  std::array<double, 3> scale;  ///< its exact product is b, sigma or the radius in grid steps
  std::size_t dimension;

  [[nodiscard]] bool is_normalized() const { return shape == Shape::power || radial == Radial::sphere || radial == Radial::ball; }
  /// How many exponentials the radius is made of, and whether there is one normal variable, too.
  [[nodiscard]] std::uint64_t exponentials() const {
    return radial == Radial::gamma                ? radial_count
           : radial == Radial::root_of_chi_square ? radial_count / 2
           : radial == Radial::ball               ? 1
                                                  : 0;
  }
  [[nodiscard]] bool has_normal() const { return radial == Radial::root_of_chi_square && radial_count % 2 != 0; }
};

}  // namespace surety::mechanisms
