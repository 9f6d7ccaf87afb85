// Means of groups that nobody listed as a part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/statistics/estimates.h>
#include <surety/statistics/group_means.h>
#include <surety/statistics/keys.h>
#include <surety/statistics/noise.h>
#include <surety/statistics/part.h>
#include <surety/statistics/reading.h>
#include <surety/statistics/totals.h>

namespace surety::statistics {

/// Means of groups that nobody listed: of those whose noisy count is above a threshold.
class GroupMeansPart : public Part {
 public:
  /// \param noise laplace or gaussian, as of KeysPart. \throws Error{invalid_argument} as `Statistic::validate`.
  GroupMeansPart(const Statistic& statistic, const Event& noise, double confidence);
  /// One that adds alone.
  explicit GroupMeansPart(const Statistic& statistic) : means_{statistic} {}

  void start(Rows& rows) override;
  void add(Rows& rows) override;
  [[nodiscard]] QueryTotal total() const override { return means_.total(); }
  void add_total(const QueryTotal& total, std::uint64_t records) override;
  [[nodiscard]] Event event() const override;
  [[nodiscard]] PartFacts facts() const override;
  /// The intervals of a mean and of the number of its units hold them given that the group is shown.
  [[nodiscard]] std::vector<Answer> release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t records) override;

 private:
  GroupMeans means_;
  std::optional<StatisticNoise> noise_;
  std::int64_t threshold_ = 0;
  std::optional<GroupMeanIntervals> intervals_;
  std::optional<NumberReader> numbers_;
  std::optional<KeyFinder> key_;
  std::optional<OwnerReader> owner_;
  std::optional<data::RowCondition> where_;
};

}  // namespace surety::statistics
