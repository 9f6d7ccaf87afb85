// The length of two sides at a right angle.
#pragma once

#include <complex>

namespace surety {

/// sqrt(x^2 + y^2) without overflow on the way: std::hypot by the name that every C library has. With <cmath>'s a program would ask for the symbol
/// of glibc 2.35, and a wheel would run on fewer systems than all else in it does. Within 1 unit of the last place, as hypot.
[[nodiscard]] inline double hypotenuse(double x, double y) { return std::abs(std::complex<double>{x, y}); }

}  // namespace surety
