// Sums as parts: counts, sums, means and histograms, sums of what units add, and the number of all units where that is public.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/statistics/costs.h>
#include <surety/statistics/estimates.h>
#include <surety/statistics/groups.h>
#include <surety/statistics/integer_sum.h>
#include <surety/statistics/noise.h>
#include <surety/statistics/part.h>
#include <surety/statistics/reading.h>
#include <surety/statistics/totals.h>

namespace surety::statistics {

/// A count, sum, mean or histogram with the noise of an event: an integer vector with noise on each coordinate.
class SumPart : public Part {
 public:
  /// \param reach `reach_of` this noise at the confidence of each interval alone. \pre the noise is that of an event for `sum`
  SumPart(StatisticSum sum, StatisticNoise noise, NoiseReach reach);
  /// One that adds alone.
  explicit SumPart(StatisticSum sum) : sum_{std::move(sum)} {}

  void start(Rows& rows) override { reader_.emplace(sum_, rows); }
  void add(Rows& rows) override { reader_->add(rows); }
  [[nodiscard]] QueryTotal total() const override { return sum_.total(); }
  void add_total(const QueryTotal& total, std::uint64_t records) override;
  [[nodiscard]] bool add_batch(const data::ArrowReader& batch) override { return reader_->add_batch(batch); }
  [[nodiscard]] Event event() const override { return event_of(noise()); }
  [[nodiscard]] PartFacts facts() const override;
  [[nodiscard]] std::vector<Answer> release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t records) override;

  [[nodiscard]] const StatisticSum& sum() const noexcept { return sum_; }
  [[nodiscard]] const StatisticNoise& noise() const { return noise_.value(); }

 protected:
  void add_to_count_times(std::uint64_t count) { sum_.add_to_count_times(count); }
  void add_unit(std::span<const StatisticSum::OfGroup> sums) { sum_.add_unit(sums); }

 private:
  StatisticSum sum_;
  std::optional<StatisticNoise> noise_;
  std::optional<NoiseReach> reach_;
  std::optional<SumReader> reader_;
};

/// The sum of what units add, each clipped, with noise.
class UnitSumPart final : public SumPart {
 public:
  using SumPart::SumPart;

  void start(Rows& rows) override;
  void add(Rows& rows) override;
  [[nodiscard]] bool add_batch(const data::ArrowReader& /*batch*/) override { return false; }
  [[nodiscard]] QueryTotal total() const override;
  [[nodiscard]] std::vector<Answer> release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t records) override;

 private:
  std::optional<NumberReader> numbers_;
  std::optional<OwnerReader> owner_;
  std::optional<data::RowCondition> where_;
  std::optional<GroupFinder> groups_;
  std::unordered_map<std::string, std::vector<StatisticSum::OfGroup>> of_unit_;  ///< what its numbers add up to so far, in steps
};

/// The number of all units, or of all records, where it is public: no noise, and no charge.
class PublicCountPart final : public Part {
 public:
  /// \pre `is_public(statistic)`
  explicit PublicCountPart(const Statistic& statistic) : sum_{statistic, grid_for(statistic, NoiseMultiplier{1})} {}

  void start(Rows& rows) override { reader_.emplace(sum_, rows); }
  void add(Rows& rows) override { reader_->add(rows); }
  [[nodiscard]] QueryTotal total() const override { return sum_.total(); }
  void add_total(const QueryTotal& total, std::uint64_t records) override;
  [[nodiscard]] Event event() const override { return free_event(sum_.statistic().adjacency); }
  [[nodiscard]] PartFacts facts() const override;
  [[nodiscard]] std::vector<Answer> release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t records) override;

 private:
  StatisticSum sum_;
  std::optional<SumReader> reader_;
};

}  // namespace surety::statistics
