// Several queries in one charge as parts: those of a list of queries, and the one pass over a table that they share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <surety/data/arrow/arrow_stream.h>
#include <surety/data/csv/csv.h>
#include <surety/statistics/costs.h>
#include <surety/statistics/group_means.h>
#include <surety/statistics/keys.h>
#include <surety/statistics/part.h>
#include <surety/statistics/quantile.h>

namespace surety::statistics {

using Parts = std::vector<std::unique_ptr<Part>>;

/// The parts of queries at the common scale, before any row, of which those with equal noise share what its sampler needs.
/// \param confidence of each interval alone. \throws Error{invalid_argument} as StatisticSum and `noise_for`.
[[nodiscard]] Parts parts_of(const std::vector<WeightedStatistic>& queries, NoiseFamily family, double scale, double confidence);

/// The same that add alone: what they total is that of the others, and no sampler is made. They have no noise: `event`, `facts` and `release` throw
/// std::bad_optional_access.
[[nodiscard]] Parts adding_parts_of(const std::vector<WeightedStatistic>& queries, NoiseFamily family, double scale);

/// Looks at the header alone, for all parts. \throws Error{bad_data, invalid_argument} as `read_parts` before its first row.
void check_header(data::CsvReader reader, const Parts& parts);
void check_header(data::ArrowReader reader, const Parts& parts);

/// Reads the rows that `reader` has not read yet, once for all parts. \return the number of records.
/// \throws Error{bad_data} as `read_statistic`. \complexity one pass; memory does not grow with the rows.
[[nodiscard]] std::uint64_t read_parts(data::CsvReader reader, const Parts& parts, bool number_is_public);
/// \param units where a unit is an owner of several rows: then the stream is held until it was read. \param buckets of owners, where the options of `units` ask for them
[[nodiscard]] std::uint64_t read_parts(data::ArrowReader reader, const Parts& parts, bool number_is_public,
                                       const std::optional<data::ArrowUnits>& units = std::nullopt, data::OwnerBuckets* buckets = nullptr);

}  // namespace surety::statistics
