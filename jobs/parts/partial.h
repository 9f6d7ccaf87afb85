// What some parts of a table add up to: of a single part, or of several that were merged. Equal parts are equal bytes, in whatever order they were merged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <surety/data/units/owner_buckets.h>
#include <surety/jobs/parts/ticket.h>
#include <surety/statistics/totals.h>

namespace surety::jobs {

/// From what the rows came by which rows of a unit are told apart: which of them are kept follows from their bytes there.
enum class PartSource : std::uint8_t {
  any = 0,  ///< a unit is one row, and all are kept
  csv = 1,
  arrow = 2,
};

struct Partial {
  TicketNumber ticket;
  std::uint32_t parts;  ///< of the ticket
  PartSource source = PartSource::any;
  std::vector<std::uint32_t> numbers;  ///< of the parts that are in it, ascending
  data::OwnerBuckets buckets;          ///< of owners; none where a unit is one row
  std::uint64_t records = 0;           ///< that are kept
  std::vector<statistics::QueryTotal> totals;
  friend bool operator==(const Partial&, const Partial&) = default;
};

/// The one form of it: every count in as many bytes as ever, lists ascending. \throws Error{environment} where OpenSSL fails.
[[nodiscard]] std::string partial_bytes(const Partial& partial);
/// \throws Error{bad_data} for what is no partial, is cut short, was changed, or holds what no parts have. \complexity linear
[[nodiscard]] Partial read_partial(std::string_view bytes);

/// \throws Error{invalid_argument} for partials of two tickets or sources, a part that is in both, and an owner's bucket that is in both; names no bucket.
[[nodiscard]] Partial merged(Partial a, const Partial& b);

}  // namespace surety::jobs
