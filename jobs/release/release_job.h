// Statistics of a table as a job: a plan is a value, prepared it has its noise and its cost before any record is read, and run it charges a
// ledger before it draws.
//
//   jobs::ReleaseJob job{{.target = {Epsilon{1}, Delta{0}, Adjacency::replace_one}, .queries = {{.statistic = ...}}}};
//   const auto released = jobs::run(std::move(job), "table.csv", ledger, {.bits = bits});
//
// The order is the guarantee: what follows from public things is refused first, the ledger is asked, records are read, the charge is made durable, and
// then alone noise is drawn. Whoever takes the steps apart (`read`, `Ledger::reserve`, `release`) cannot draw without a reservation that holds the event.
#pragma once

#include <filesystem>

#include <surety/accounting/ledger/ledger.h>
#include <surety/data/arrow/arrow_stream.h>
#include <surety/jobs/release/prepared_release.h>
#include <surety/jobs/release/release_plan.h>
#include <surety/jobs/release/released_statistics.h>
#include <surety/jobs/run/run_context.h>

namespace surety::jobs {

/// Looks at the header alone: whether the columns that the queries read are there. It is cheap, calibration need not be. Of standard input, pipes and
/// what is no file nothing is read. \throws Error{bad_data} for a column that is missing, and as `data::CsvReader`.
void require_columns(const ReleasePlan& plan, const std::filesystem::path& path);

/// The same of the schema of a stream, of which nothing is read. \throws Error{bad_data} also for a column of another type, and as `data::ArrowReader`.
void require_columns(const ReleasePlan& plan, const data::ArrowStream& stream);

/// All of it: asks the ledger, reads, charges, releases, settles.
/// \throws as `Ledger::check`, `ReleaseJob::read`, `Ledger::reserve` and `ReadStatistics::release`. What fails before the charge has cost nothing and released
///         nothing; where the settlement cannot be written, nothing is returned and all that was planned stays charged.
[[nodiscard]] ReleasedStatistics run(ReleaseJob job, const std::filesystem::path& path, accounting::Ledger& ledger, const Bits& bits,
                                     const RunContext& context = {});
[[nodiscard]] ReleasedStatistics run(ReleaseJob job, data::ArrowStream stream, accounting::Ledger& ledger, const Bits& bits,
                                     const RunContext& context = {});

}  // namespace surety::jobs
