// Conditions that no record can meet.
#pragma once

#include <optional>
#include <string>

#include <surety/data/csv/csv.h>
#include <surety/data/reading/condition.h>

namespace surety::jobs {

/// Why no record meets the condition, whatever its cells are: "no cell meets both 'age>5' and 'not age>3'". Nothing where one may, and for long conditions.
/// \complexity 3^n for n comparisons, of which there are at most 7
[[nodiscard]] std::optional<std::string> contradiction_in(const data::Condition& condition, const data::CsvFormat& format);

}  // namespace surety::jobs
