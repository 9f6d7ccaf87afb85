// Keys as parts: how many different ones there are, those that nobody listed with their counts, and those without.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/statistics/key_selection.h>
#include <surety/statistics/keys.h>
#include <surety/statistics/noise.h>
#include <surety/statistics/part.h>
#include <surety/statistics/reading.h>
#include <surety/statistics/sum_parts.h>
#include <surety/statistics/totals.h>

namespace surety::statistics {

/// Gives the texts of a column to the counts of their keys, each to its unit.
class KeyReader {
 public:
  /// `counts` must stay where it is. \pre `statistic` is of keys or of different texts. \throws Error{bad_data} for a column that is missing.
  KeyReader(KeyCounts& counts, const Statistic& statistic, Rows& rows);
  /// The row in hand.
  void add(Rows& rows);

 private:
  KeyCounts& counts_;
  KeyFinder key_;
  OwnerReader owner_;
  std::optional<data::RowCondition> where_;
};

/// How many different texts a column holds, with noise.
class DistinctPart final : public SumPart {
 public:
  /// As SumPart, of a sum over no texts.
  DistinctPart(StatisticSum sum, StatisticNoise noise, NoiseReach reach);
  /// One that adds alone.
  explicit DistinctPart(StatisticSum sum);

  void start(Rows& rows) override { reader_.emplace(counts_, sum().statistic(), rows); }
  void add(Rows& rows) override { reader_->add(rows); }
  [[nodiscard]] bool add_batch(const data::ArrowReader& /*batch*/) override { return false; }
  [[nodiscard]] QueryTotal total() const override { return counts_.total(); }
  void add_total(const QueryTotal& total, std::uint64_t records) override;
  [[nodiscard]] std::vector<Answer> release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t records) override;

 private:
  KeyCounts counts_;
  std::optional<KeyReader> reader_;
};

/// Keys that nobody listed: those whose noisy count is above a threshold.
class KeysPart : public Part {
 public:
  /// \param noise laplace or gaussian, beside which `event` has the chance of a key of one unit alone. \throws Error{invalid_argument} as `Statistic::validate`.
  KeysPart(const Statistic& statistic, const Event& noise, double confidence);
  /// One that adds alone.
  explicit KeysPart(const Statistic& statistic);

  void start(Rows& rows) override { reader_.emplace(counts_, statistic_, rows); }
  void add(Rows& rows) override { reader_->add(rows); }
  [[nodiscard]] QueryTotal total() const override { return counts_.total(); }
  void add_total(const QueryTotal& total, std::uint64_t records) override;
  [[nodiscard]] Event event() const override;
  [[nodiscard]] PartFacts facts() const override;
  [[nodiscard]] std::vector<Answer> release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t records) override;

 private:
  Statistic statistic_;
  KeyCounts counts_;
  std::optional<StatisticNoise> noise_;
  std::int64_t threshold_ = 0;
  std::optional<KeyIntervals> intervals_;
  std::optional<KeyReader> reader_;
};

/// Keys that nobody listed, without their counts: each chosen by itself.
class SelectedKeysPart : public Part {
 public:
  /// \param event repeat(l, approx(e, d)), of which each key has one. \throws Error{invalid_argument} as `Statistic::validate`; Error{unsupported} for another event.
  SelectedKeysPart(const Statistic& statistic, const Event& event);

  void start(Rows& rows) override { reader_.emplace(counts_, statistic_, rows); }
  void add(Rows& rows) override { reader_->add(rows); }
  [[nodiscard]] QueryTotal total() const override { return counts_.total(); }
  void add_total(const QueryTotal& total, std::uint64_t records) override;
  [[nodiscard]] Event event() const override { return event_; }
  [[nodiscard]] PartFacts facts() const override;
  [[nodiscard]] std::vector<Answer> release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t records) override;

 private:
  Statistic statistic_;
  KeyCounts counts_;
  Event event_;
  KeySelection rule_;
  std::optional<KeyReader> reader_;
};

}  // namespace surety::statistics
