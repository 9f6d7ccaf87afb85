// Statistics of a table as a job: a plan is a value, prepared it has its noise and its cost before any record is read, and run it charges a
// ledger before it draws.
//
//   jobs::ReleaseJob job{{.target = {Epsilon{1}, Delta{0}, Adjacency::replace_one}, .queries = {{.statistic = ...}}}};
//   const auto released = jobs::run(std::move(job), "table.csv", ledger, {.bits = bits});
//
// The order is the guarantee: what follows from public things is refused first, the ledger is asked, records are read, the charge is made durable, and
// then alone noise is drawn. Whoever takes the steps apart (`read`, `Ledger::reserve`, `release`) cannot draw without a reservation that holds the event.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <surety/accounting/calibration/solve.h>
#include <surety/accounting/events/unit.h>
#include <surety/accounting/events/units.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/data/arrow_stream.h>
#include <surety/data/data_policy.h>
#include <surety/jobs/release/released_statistics.h>
#include <surety/jobs/release/shared_noise.h>
#include <surety/jobs/run/kept_units.h>
#include <surety/jobs/run/run_context.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/statistics/parts.h>

namespace surety::jobs {

/// What is to be released, of any table. All of it is public.
struct ReleasePlan {
  Target target;                                       ///< of all queries together
  std::vector<statistics::WeightedStatistic> queries;  ///< of the target's adjacency and of the unit
  UnitOfPrivacy unit = {};                             ///< `unit_of_column` where it is not one row
  NoiseChoice noise = NoiseChoice::best;
  double confidence = 0.95;       ///< of each interval alone, between 0 and 1
  data::DataPolicy reading = {};  ///< how a file becomes records
  std::string note = {};          ///< for the ledger; empty: the queries
  static constexpr std::size_t most_queries = 4096;
  friend bool operator==(const ReleasePlan&, const ReleasePlan&) = default;
};

/// Looks at the header alone: whether the columns that the queries read are there. It is cheap, calibration need not be. Of standard input, pipes and
/// what is no file nothing is read. \throws Error{bad_data} for a column that is missing, and as `data::CsvReader`.
void require_columns(const ReleasePlan& plan, const std::filesystem::path& path);

/// The same of the schema of a stream, of which nothing is read. \throws Error{bad_data} also for a column of another type, and as `data::ArrowReader`.
void require_columns(const ReleasePlan& plan, const data::ArrowStream& stream);

/// Records that were read, and nothing released. It can be released once.
class ReadStatistics {
 public:
  /// Spends, then draws, query by query. From here on nothing depends on data but the values.
  /// \throws Error{budget_exceeded} when the reservation does not hold the events; Error{environment} when the bits fail.
  ///         Error{stopped} where `context` calls it off, and what was released by then is charged.
  [[nodiscard]] ReleasedStatistics release(accounting::Reservation& reservation, mechanisms::BitsRef bits,
                                           const RunContext& context = {}) &&;

 private:
  friend class ReleaseJob;
  ReadStatistics(ReleasePlan plan, CalibratedQueries noise, std::uint64_t records);
  [[nodiscard]] ReleasedStatistics released_by(accounting::Reservation& reservation, mechanisms::BitsRef bits, const RunContext& context);

  ReleasePlan plan_;
  CalibratedQueries noise_;
  std::uint64_t records_;
};

/// A plan with its noise. It can be read for once.
class ReleaseJob {
 public:
  /// Calibrates. \throws Error{invalid_argument} for a plan without queries or with more than `most_queries`, for queries of another adjacency or unit, for
  ///         a confidence out of range, and as `WeightedStatistic::validate`; Error{unreachable, unsupported} as `choose_noise`; Error{stopped} where
  ///         `context` calls it off.
  explicit ReleaseJob(ReleasePlan plan, const RunContext& context = {});

  [[nodiscard]] const ReleasePlan& plan() const noexcept { return plan_; }
  /// The common scale, the event that it makes, and what that costs.
  [[nodiscard]] const Solution& cost() const noexcept { return noise_.cost; }
  [[nodiscard]] statistics::NoiseFamily family() const noexcept { return noise_.family; }
  /// What a ledger is asked for. \param not_private whether the bits are a replay
  [[nodiscard]] accounting::Plan charge(bool not_private) const;

  /// Reads the records: once, and where the unit is not one row twice. Nothing is released. `-` is standard input.
  /// \param bits of which the key is drawn that chooses among the rows of a unit
  /// \throws Error{bad_data, environment} as `statistics::read_parts` and `keep_units`.
  /// \complexity linear in the bytes of the file; memory does not grow with the rows but for those of units.
  [[nodiscard]] ReadStatistics read(const std::filesystem::path& path, mechanisms::BitsRef bits, const RunContext& context = {}) &&;
  /// The same from a table of another program. What the plan says of how text is written means nothing here (arrow_reader.h).
  [[nodiscard]] ReadStatistics read(data::ArrowStream stream, mechanisms::BitsRef bits, const RunContext& context = {}) &&;
  /// In its place, where the records were read in parts: what they add up to, query by query. \throws Error{invalid_argument} where `records` records
  /// cannot do so; Error{bad_data} for no records where their number is public.
  [[nodiscard]] ReadStatistics add_up(const std::vector<statistics::QueryTotal>& totals, std::uint64_t records) &&;

 private:
  ReleasePlan plan_;
  CalibratedQueries noise_;
};

/// Where a job's random bits come from.
struct Bits {
  mechanisms::BitsRef bits;
  bool not_private = false;  ///< they are a replay
};

/// All of it: asks the ledger, reads, charges, releases, settles.
/// \throws as `Ledger::check`, `ReleaseJob::read`, `Ledger::reserve` and `ReadStatistics::release`. What fails before the charge has cost nothing and released
///         nothing; where the settlement cannot be written, nothing is returned and all that was planned stays charged.
[[nodiscard]] ReleasedStatistics run(ReleaseJob job, const std::filesystem::path& path, accounting::Ledger& ledger, const Bits& bits,
                                     const RunContext& context = {});
[[nodiscard]] ReleasedStatistics run(ReleaseJob job, data::ArrowStream stream, accounting::Ledger& ledger, const Bits& bits,
                                     const RunContext& context = {});

}  // namespace surety::jobs
