// Columns whose bounds a training releases before it learns: how rows are read before the bounds are known, and mapped afterwards.
//
// The plan has a feature map with `PrivateRange` columns. Rows are read with `map_before_ranges`, which keeps the numbers of these columns. Once bounds
// are released, `with_ranges` puts them into the map, and `rows_with_ranges` makes the rows that reading with that map would have made, to the last bit.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <surety/data/features/dataset.h>
#include <surety/data/features/features.h>

namespace surety::data {

/// The map with which rows are read while ranges are not known: columns with a `PrivateRange` as numbers without hat functions, no pairs, rows not
/// scaled, and an intercept, which is 0 only in rows of damaged records. A map without private ranges stays as it is.
[[nodiscard]] FeatureMap map_before_ranges(const FeatureMap& map);

/// The map with signed logarithms in place of the private ranges: for models that use no column.
[[nodiscard]] FeatureMap without_private_ranges(FeatureMap map);

/// In rows of `map_before_ranges(map)`, the places of the numbers whose ranges are released, in the order of the columns.
[[nodiscard]] std::vector<std::size_t> places_of_ranges(const FeatureMap& map);

/// The map with released bounds in place of the private ranges. \pre as many ranges as the map has private ones; each is finite and ascends
[[nodiscard]] FeatureMap with_ranges(FeatureMap map, std::span<const Bounds> ranges);

/// Rows as a table read with `with_ranges(map, ranges)` has them; of damaged records rows of zeros. Labels stay.
/// \param rows read with `map_before_ranges(map)`, dense and in memory \throws Error{unsupported} otherwise
/// \complexity O(numbers of the result).
[[nodiscard]] Dataset rows_with_ranges(const Dataset& rows, const FeatureMap& map, std::span<const Bounds> ranges);

}  // namespace surety::data
