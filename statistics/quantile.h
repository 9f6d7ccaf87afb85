// Quantiles of a column by the exponential mechanism on a public grid of candidates.
//
// Candidates are equally spaced from one bound to the other. Every number is clamped and rounded to the nearest candidate, so an atom of the
// data is one of a candidate, and the data are counted in one pass and O(candidates) memory. Candidate c has
//
//   rank error  e(c) = max(0, #{x < c} - q n, q n - #{x <= c}),
//
// the number of records by which its rank misses the one that is asked for: 0 for a quantile. A candidate is chosen with probability
// proportional to exp(-epsilon e(c) / (2 Delta)), Delta being how far one unit moves a rank error:
//
//   K max(q, 1 - q)   under add-or-remove-one and zero-out, for a unit of K rows
//   K                 under replace-one
//
// The scores are whole billionths of a record, exact in doubles, so is the law (docs/proofs/quantiles.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <surety/accounting/events/unit.h>
#include <surety/accounting/events/units.h>
#include <surety/data/features.h>
#include <surety/mechanisms/choices/selection.h>
#include <surety/statistics/totals.h>

namespace surety::statistics {

/// q of a q-quantile, in whole billionths: 0.9 is exactly 9/10.
class Fraction {
 public:
  static constexpr std::int64_t whole = 1'000'000'000;

  /// \throws Error{invalid_argument} unless `value` is within 10^-15 of a whole number of billionths above 0 and below 1.
  explicit Fraction(double value);
  [[nodiscard]] static Fraction median() { return Fraction{0.5}; }
  [[nodiscard]] std::int64_t billionths() const noexcept { return billionths_; }
  [[nodiscard]] double value() const noexcept { return static_cast<double>(billionths_) / static_cast<double>(whole); }
  friend bool operator==(Fraction, Fraction) = default;

 private:
  std::int64_t billionths_;
};

/// `count` equally spaced candidates, the first and the last at the bounds. Public.
class Candidates {
 public:
  static constexpr std::size_t most = std::size_t{1} << 22;

  /// \throws Error{invalid_argument} for bounds that do not ascend or are beyond +-2^900, and for fewer than 2 or more than `most`
  ///         candidates, or more than doubles between the bounds can tell apart.
  Candidates(data::Bounds bounds, std::size_t count);
  /// As many as serve: some 2^14, so that where both bounds are whole numbers at most 2^14 apart, every whole number is one.
  [[nodiscard]] static Candidates between(data::Bounds bounds);

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] const data::Bounds& bounds() const noexcept { return bounds_; }
  /// \pre index < count().
  [[nodiscard]] double operator[](std::size_t index) const noexcept;
  /// The candidate nearest to a number, clamped; a NaN counts as the lower bound. Ascends with the number.
  [[nodiscard]] std::size_t nearest(double number) const noexcept;

 private:
  data::Bounds bounds_;
  std::size_t count_;
};

/// How many numbers were rounded to each candidate.
class RankCounts {
 public:
  explicit RankCounts(const Candidates& candidates) : candidates_{candidates}, counts_(candidates.count()) {}

  /// One record. Never throws. O(1).
  void add(double number) noexcept { ++counts_[candidates_.nearest(number)]; }
  /// One record whose cell is damaged: 0, clamped.
  void add_damaged() noexcept { add(0); }

  /// How many numbers each candidate has, and those of at most `records` other records beside them. \throws Error{invalid_argument} for what no such
  /// records have.
  [[nodiscard]] RankTotal total() const;
  void add_total(const RankTotal& total, std::uint64_t records);

  [[nodiscard]] const Candidates& candidates() const noexcept { return candidates_; }
  /// Minus the rank error of each candidate, in billionths of a record; ranks that miss by more than 2^23 records count as that many.
  /// O(candidates).
  [[nodiscard]] std::vector<double> scores(Fraction fraction) const;

 private:
  Candidates candidates_;
  std::vector<std::uint64_t> counts_;
};

/// One quantile as a choice: `epsilon` is the range of its privacy loss, its event exponential(epsilon).
class QuantileMechanism {
 public:
  /// Rank errors are told apart up to so many records.
  static constexpr std::int64_t largest_rank_error = std::int64_t{1} << 23;

  /// \throws Error{invalid_argument} for a unit of more than 2^20 rows.
  QuantileMechanism(Fraction fraction, const Candidates& candidates, Epsilon epsilon, Adjacency adjacency, const UnitOfPrivacy& unit = {});

  [[nodiscard]] Event event() const { return choice_.event(); }
  [[nodiscard]] const mechanisms::ExponentialMechanism& choice() const noexcept { return choice_; }

  /// The chosen candidate. \pre `counts` has the candidates of this mechanism. \throws Error{environment} when the bits fail.
  /// O(candidates), 40 to 70 nanoseconds each.
  [[nodiscard]] double release(const RankCounts& counts, mechanisms::BitsRef bits) const;

  /// The rank error of what is released is below this many records with probability at least 1 - `exceeded`, whatever the data: it is a
  /// quantile of the clamped and rounded numbers for some rank so near to q n. Infinite where that is more than `largest_rank_error`.
  /// Attained by data whose rank is missed by just so much at all candidates but one. \pre 0 < exceeded < 1.
  [[nodiscard]] double rank_error(double exceeded) const;

 private:
  Fraction fraction_;
  Candidates candidates_;
  mechanisms::ExponentialMechanism choice_;
};

}  // namespace surety::statistics
