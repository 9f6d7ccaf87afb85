// The settings of the PLD accountant.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace surety::accounting {

/// The PLD accountant: privacy loss distributions on a grid.
struct Pld {
  static constexpr std::string_view name = "privacy-loss";  ///< in output

  double width = 1e-4;                          ///< of the enclosure of epsilon to aim at; of delta, what this means at its slope
  std::size_t memory = std::size_t{256} << 20;  ///< bytes that may be used
  double step = 0;                              ///< if not 0, one run with this grid step instead of as many as `width` needs
  bool upper_only = false;                      ///< the lower end is 0: a quarter of the work, and far less where delta(epsilon) is flat
  /// With upper_only: who asks compares the upper end with this alone. One much farther from it than it can still move need not be narrowed.
  std::optional<double> level{};
  bool looks_again = true;  ///< whether rare rounds, of which one grid knows little, are searched for narrower bounds, which takes seconds
};

}  // namespace surety::accounting
