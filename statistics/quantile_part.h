// Quantiles as a part: choices among candidates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/statistics/groups.h>
#include <surety/statistics/part.h>
#include <surety/statistics/quantile.h>
#include <surety/statistics/quantile_intervals.h>
#include <surety/statistics/reading.h>
#include <surety/statistics/totals.h>

namespace surety::statistics {

/// Quantiles: choices whose privacy loss has the range, or the bound, of their event at each level.
class QuantilePart : public Part {
 public:
  /// `level` is exponential(e), or for permute-and-flip pure(e), and so is what the counts of intervals cost.
  /// \throws Error{invalid_argument} as `Statistic::validate`, `QuantileMechanism` and `QuantileIntervals`.
  QuantilePart(const Statistic& statistic, const Event& level, const std::optional<Event>& counts, double confidence);
  /// One that adds alone.
  explicit QuantilePart(const Statistic& statistic);

  void start(Rows& rows) override;
  void add(Rows& rows) override;
  /// The places of one group behind those of another.
  [[nodiscard]] QueryTotal total() const override;
  void add_total(const QueryTotal& total, std::uint64_t records) override;
  [[nodiscard]] Event event() const override;
  [[nodiscard]] PartFacts facts() const override;
  [[nodiscard]] std::vector<Answer> release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t records) override;

 private:
  [[nodiscard]] const Candidates& candidates() const noexcept { return counts_.front().candidates(); }

  Statistic statistic_;
  std::vector<RankCounts> counts_;  ///< of each group
  std::optional<QuantileMechanism> mechanism_;
  std::vector<double> rank_errors_;  ///< of each fraction
  std::optional<QuantileIntervals> intervals_;
  std::optional<NumberReader> numbers_;
  std::optional<data::RowCondition> where_;
  std::optional<GroupFinder> groups_;
  std::optional<GroupPlaces> places_;
};

}  // namespace surety::statistics
