// A release that is prepared: it has its noise and its cost before any record is read. Step by step, for who puts steps of their own between them;
// release_job.h takes all of them in their order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include <surety/accounting/calibration/solve.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/data/arrow/arrow_stream.h>
#include <surety/jobs/release/release_plan.h>
#include <surety/jobs/release/released_statistics.h>
#include <surety/jobs/release/shared_noise.h>
#include <surety/jobs/run/released.h>
#include <surety/jobs/run/run_context.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/statistics/parts.h>

namespace surety::jobs {

/// The plan. \throws Error{invalid_argument} as `ReleaseJob`.
[[nodiscard]] ReleasePlan checked(ReleasePlan plan);

/// Records that were read, and nothing released. It can be released once.
class ReadStatistics {
 public:
  /// Spends, then draws, query by query. From here on nothing depends on data but the values.
  /// \throws Error{budget_exceeded} when the reservation does not hold the events; Error{environment} when the bits fail.
  ///         Error{stopped} where `context` calls it off, and what was released by then is charged.
  [[nodiscard]] ReleasedStatistics release(accounting::Reservation& reservation, mechanisms::BitsRef bits,
                                           const RunContext& context = {}) &&;
  /// Notes about the promise, from public numbers: among them the number of records, where it is public.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  friend class ReleaseJob;
  ReadStatistics(ReleasePlan plan, CalibratedQueries noise, std::uint64_t records);
  [[nodiscard]] ReleasedStatistics released_by(accounting::Reservation& reservation, mechanisms::BitsRef bits, const RunContext& context);

  ReleasePlan plan_;
  CalibratedQueries noise_;
  std::uint64_t records_;
  std::optional<OverPeriods> over_time_;
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
  /// \throws Error{bad_data, environment} as `statistics::read_parts` and `keep_units`; Error{stopped} where `context` calls it off.
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

}  // namespace surety::jobs
