// What the terminal is like that the command prints to.
#pragma once

#include <cstddef>

namespace surety::cli {

/// Columns for text: those of the variable COLUMNS, else of the terminal that standard output is, else 80; from 50 to 120.
[[nodiscard]] std::size_t columns_of_output();
/// Whether this descriptor is a terminal that shows colour: the variable NO_COLOR is not set, or empty, and TERM is not "dumb".
[[nodiscard]] bool has_colour(int descriptor);

}  // namespace surety::cli
